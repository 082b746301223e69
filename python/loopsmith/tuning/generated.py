# SPDX-License-Identifier: Apache-2.0
"""A space for any program: its choices are samples, and what is refused is left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from .._core import BlockRV, LoopRV, Schedule
from ..errors import ScheduleError

Result = TypeVar("Result")

VECTOR_EXTENTS = (4, 8, 16, 32, 64)
MAX_INNERMOST = 64


def generated(sch: Schedule) -> None:
    """Take the steps of the generated space on a schedule.

    Blocks are visited from the last to the first, so that a block finds its consumers tiled:
    elementwise ones may be inlined; reductions are tiled on several levels, may be computed into a
    cache and read packed copies, or are factored; the others are tiled, computed at a loop of a
    consumer, made parallel and vectorized. Which of these is a sample.
    """
    for block in reversed(sch.get_child_blocks("root")):
        if _is_inlined(sch, block):
            continue
        if _is_computed_at_consumer(sch, block):
            _vectorize_innermost(sch, block)
        elif _reduction_axes(sch, block):
            _schedule_reduction(sch, block)
        else:
            _schedule_spatial(sch, block)


def attempt(step: Callable[[], Result]) -> Result | None:
    """Take a step; None where it is refused."""
    try:
        return step()
    except ScheduleError:
        return None


def choose(sch: Schedule, candidates: Sequence[int]) -> int:
    """Sample one of some numbers, each with the same chance."""
    weights = [1.0 / len(candidates)] * len(candidates)
    return int(sch.get(sch.sample_categorical(list(candidates), weights)))


def _is_inlined(sch: Schedule, block: BlockRV) -> bool:
    if not sch.can_apply("compute_inline", block):
        return False
    if choose(sch, [0, 1, 1, 1]) == 0:
        return False
    sch.compute_inline(block)
    return True


def _is_computed_at_consumer(sch: Schedule, block: BlockRV) -> bool:
    if not attempt(lambda: sch.get_consumers(block)) or _reduction_axes(sch, block):
        return False
    place = attempt(lambda: sch.sample_compute_location(block))
    if place is None:
        return False
    before = len(sch.get_loops(block))
    attempt(lambda: sch.compute_at(block, place))
    return len(sch.get_loops(block)) > before


def _reduction_axes(sch: Schedule, block: BlockRV) -> list[int]:
    axes = sch.get(block).iter_vars
    return [number for number, axis in enumerate(axes) if axis.iter_type == "comm_reduce"]


def _constant_extent(sch: Schedule, loop: LoopRV) -> int | None:
    try:
        return int(sch.get(loop).extent)
    except TypeError:
        return None


def _tiled(sch: Schedule, loop: LoopRV, count: int) -> list[LoopRV]:
    """Split a loop on `count` levels, by sampled factors."""
    extent = _constant_extent(sch, loop)
    if extent is not None and _splits_evenly(extent):
        factors: Any = sch.sample_perfect_tile(loop, n=count, max_innermost_factor=MAX_INNERMOST)
    else:
        inner = [choose(sch, [1, 2, 4, 8]) for _ in range(count - 2)]
        factors = [None, *inner, choose(sch, VECTOR_EXTENTS)]
    return list(sch.split(loop, factors=factors))


def _splits_evenly(extent: int) -> bool:
    """Whether there are divisors to choose between."""
    return extent <= 4 or any(extent % size == 0 and size < extent for size in (4, 6, 7, 9, 10))


def _schedule_reduction(sch: Schedule, block: BlockRV) -> None:
    loops = sch.get_loops(block)
    axes = sch.get(block).iter_vars
    reduced = set(_reduction_axes(sch, block))
    if len(loops) != len(axes):
        attempt(lambda: sch.parallel(loops[0]))
        return
    spatial = [loop for number, loop in enumerate(loops) if number not in reduced]
    reduction = [loop for number, loop in enumerate(loops) if number in reduced]
    if not spatial or (len(spatial) <= 2 and choose(sch, [0, 1]) == 1):
        _schedule_factored(sch, block, spatial, reduction)
        return
    tiles = [_tiled(sch, loop, 4) for loop in spatial]
    steps = [_tiled(sch, loop, 2) for loop in reduction]
    order = [tile[0] for tile in tiles] + [tile[1] for tile in tiles] + [step[0] for step in steps]
    order += [tile[2] for tile in tiles] + [step[1] for step in steps] + [tile[3] for tile in tiles]
    if attempt(lambda: sch.reorder(*order)) is None and len(order) > 1:
        pass  # The order of the splits stays.
    stored = _written_through_cache(sch, block, tiles)
    _packed(sch, block, [step[0] for step in steps][-1])
    outer = attempt(lambda: sch.fuse(*[tile[0] for tile in tiles])) or tiles[0][0]
    attempt(lambda: sch.parallel(outer))
    attempt(lambda: sch.vectorize(tiles[-1][3]))
    if choose(sch, [0, 1]) == 1:
        for tile in tiles[:-1]:
            attempt(lambda tile=tile: sch.unroll(tile[3]))  # type: ignore[misc]
    start = attempt(lambda: sch.decompose_reduction(block, steps[0][0]))
    for other in (start, stored):
        if other is not None:
            _vectorize_innermost(sch, other)


def _written_through_cache(
    sch: Schedule, block: BlockRV, tiles: list[list[LoopRV]]
) -> BlockRV | None:
    level = choose(sch, [0, 1, 2])
    if level == 0:
        return None
    stored = attempt(lambda: sch.cache_write(block, 0, "global"))
    if stored is not None:
        attempt(lambda: sch.reverse_compute_at(stored, tiles[-1][level - 1]))
    return stored


def _packed(sch: Schedule, block: BlockRV, place: LoopRV) -> None:
    """Copy what is read, or not, where the loop over it starts."""
    for number in range(len(sch.get(block).reads)):
        if choose(sch, [0, 0, 1]) == 0:
            continue
        copy = attempt(lambda number=number: sch.cache_read(block, number, "global"))  # type: ignore[misc]
        if copy is not None:
            attempt(lambda copy=copy: sch.compute_at(copy, place))  # type: ignore[misc]
            _vectorize_innermost(sch, copy)


def _schedule_factored(
    sch: Schedule, block: BlockRV, spatial: list[LoopRV], reduction: list[LoopRV]
) -> None:
    """Keep several partial results, as many as a vector has lanes."""
    whole = reduction[0] if len(reduction) == 1 else attempt(lambda: sch.fuse(*reduction))
    if whole is None:
        return
    lanes = choose(sch, VECTOR_EXTENTS)
    _, inner = sch.split(whole, [None, lanes])
    partial = attempt(lambda: sch.rfactor(inner, len(spatial)))
    if partial is not None:
        own = sch.get_loops(partial)
        attempt(lambda: sch.reorder(own[-2], own[-1]))
        if spatial:
            attempt(lambda: sch.compute_at(partial, spatial[-1]))
        start = attempt(lambda: sch.decompose_reduction(partial, sch.get_loops(partial)[-2]))
        for each in (partial, start):
            if each is not None:
                _vectorize_innermost(sch, each)
    if spatial:
        attempt(lambda: sch.parallel(spatial[0]))


def _schedule_spatial(sch: Schedule, block: BlockRV) -> None:
    loops = list(sch.get_loops(block))
    if not loops:
        return
    lanes = choose(sch, VECTOR_EXTENTS)
    if len(loops) == 1:
        rows = choose(sch, [1, 8, 64, 512])
        parts = attempt(lambda: sch.split(loops[0], [None, rows, lanes]))
        if parts is not None:
            attempt(lambda: sch.parallel(parts[0]))
            attempt(lambda: sch.vectorize(parts[2]))
        return
    columns = attempt(lambda: sch.split(loops[-1], [None, lanes]))
    if columns is None:
        return
    height = choose(sch, [1, 2, 4, 8, 16])
    rows_of = attempt(lambda: sch.split(loops[-2], [None, height])) if height > 1 else None
    outer = list(loops[:-2])
    if rows_of is not None:
        attempt(lambda: sch.reorder(rows_of[0], columns[0], rows_of[1], columns[1]))
        outer.append(rows_of[0])
    else:
        outer.append(loops[-2])
    first = (attempt(lambda: sch.fuse(*outer)) if len(outer) > 1 else None) or outer[0]
    attempt(lambda: sch.parallel(first))
    attempt(lambda: sch.vectorize(columns[1]))


def _vectorize_innermost(sch: Schedule, block: BlockRV) -> None:
    loops = sch.get_loops(block)
    if not loops:
        return
    extent = _constant_extent(sch, loops[-1])
    if extent is not None and 1 < extent <= MAX_INNERMOST:
        attempt(lambda: sch.vectorize(loops[-1]))
    elif extent is None or extent > MAX_INNERMOST:
        parts = attempt(lambda: sch.split(loops[-1], [None, 16]))
        if parts is not None:
            attempt(lambda: sch.vectorize(parts[1]))
