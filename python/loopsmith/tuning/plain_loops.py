# SPDX-License-Identifier: Apache-2.0
"""The generated space of loops without blocks: recurrences, sweeps, updates, loops with conditions.

What is legal, the dependences decide: a step that is refused is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from .._core import LoopRV, Schedule
from .choices import LANES, attempt, choose

MAX_PARTS = 8


def schedule_plain_loop(sch: Schedule, loop: LoopRV) -> None:
    """Take one of some ways to run a loop in parallel or in vectors, or none.

    The loop may be brought into normal form or distributed over its statements first; then each
    part is a scan of several threads, a wavefront, parallel with or without chunks, interchanged,
    or left as it is. Innermost loops may become vectors.
    """
    for part in _parts(sch, loop):
        if not STRATEGIES[choose(sch, range(len(STRATEGIES)))](sch, part):
            for inner in sch.get_child_loops(part):
                schedule_plain_loop(sch, inner)
        _vectorize_inside(sch, part)


def _parts(sch: Schedule, loop: LoopRV) -> list[LoopRV]:
    way = choose(sch, [0, 0, 1, 2])
    parts = None
    if way == 1:
        parts = attempt(lambda: sch.distribute(loop))
    elif way == 2 and attempt(lambda: sch.get(loop)) is not None:
        before = len(sch.trace)
        attempt(lambda: sch.normalize_nest(loop))
        if len(sch.trace) != before and attempt(lambda: sch.get(loop)) is None:
            return sch.get_child_loops()[:MAX_PARTS]
    return list(parts)[:MAX_PARTS] if parts else [loop]


def _serial(sch: Schedule, loop: LoopRV) -> bool:
    del sch, loop
    return False


def _parallel(sch: Schedule, loop: LoopRV) -> bool:
    return _is_taken(sch, lambda: sch.parallel(loop))


def _parallel_chunks(sch: Schedule, loop: LoopRV) -> bool:
    chunk = choose(sch, [4, 16, 64, 256, 1024])
    parts = attempt(lambda: sch.split(loop, [None, chunk]))
    if parts is None:
        return False
    is_parallel = _is_taken(sch, lambda: sch.parallel(parts[0]))
    if not sch.get_child_loops(parts[1]):
        _vectorize(sch, parts[1])
    return is_parallel


def _scan(sch: Schedule, loop: LoopRV) -> bool:
    length = choose(sch, [512, 1024, 2048, 4096, 8192, 16384, 65536])
    return attempt(lambda: sch.parallel_scan(loop, length)) is not None


def _wavefront(sch: Schedule, loop: LoopRV) -> bool:
    """Let diagonals follow each other, and the iterations of one run at once."""
    inner = sch.get_child_loops(loop)
    if len(inner) != 1:
        return False
    attempt(lambda: sch.skew(loop, inner[0]))
    attempt(lambda: sch.reorder(inner[0], loop))
    return _is_taken(sch, lambda: sch.parallel(loop))


def _interchanged(sch: Schedule, loop: LoopRV) -> bool:
    inner = sch.get_child_loops(loop)
    if len(inner) != 1:
        return False
    attempt(lambda: sch.reorder(inner[0], loop))
    return _is_taken(sch, lambda: sch.parallel(inner[0]))


STRATEGIES: tuple[Callable[[Schedule, LoopRV], bool], ...] = (
    _serial,
    _parallel,
    _parallel_chunks,
    _scan,
    _wavefront,
    _interchanged,
)


def _is_taken(sch: Schedule, step: Callable[[], object]) -> bool:
    before = len(sch.trace)
    attempt(step)
    return len(sch.trace) > before


def _vectorize_inside(sch: Schedule, loop: LoopRV) -> None:
    inner = attempt(lambda: sch.get_child_loops(loop))
    for each in inner or []:
        if sch.get_child_loops(each):
            _vectorize_inside(sch, each)
        else:
            _vectorize(sch, each)


def _vectorize(sch: Schedule, loop: LoopRV) -> None:
    lanes = choose(sch, [0, *LANES])
    if lanes == 0:
        return
    parts = attempt(lambda: sch.split(loop, [None, lanes]))
    if parts is not None:
        attempt(lambda: sch.vectorize(parts[1]))
