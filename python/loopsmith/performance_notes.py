# SPDX-License-Identifier: Apache-2.0
"""Where compiled code leaves the fast road: as data, each with a fix, tried where there is one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .errors import UserError
from .loop_facts import CACHE_LINE, Access
from .notes import Note

if TYPE_CHECKING:
    from ._core import Schedule
    from .report import LoopReport

MIN_SHARE = 0.02
"""Loops that do less of the operations and accesses of a program are not told."""
MIN_SPILLS = 4
"""So many operands on the stack in an innermost loop are told."""
MIN_ITERATIONS = 8
"""Loops that are shorter may stay scalar."""


Steps = Sequence[tuple[str, ...]]
"""Calls of primitives: a name, then names of loops."""


@dataclass(frozen=True)
class Finding:
    """A note, and steps that may mend what it says, the best first."""

    note: Note
    fixes: Sequence[Steps] = ()

    def tried(self, sch: Schedule) -> Note:
        """Return the note with the first fix that a copy of a schedule accepts, if any."""
        for steps in self.fixes:
            trial = sch.copy()
            try:
                for name, *loops in steps:
                    getattr(trial, name)(*loops)
            except UserError:
                continue
            calls = (f"sch.{name}({', '.join(map(_quoted, loops))})" for name, *loops in steps)
            return dataclasses.replace(self.note, fix="; ".join(calls))
        return self.note


def _quoted(name: str) -> str:
    return f'"{name}"'


def findings_on(loops: Sequence[LoopReport]) -> list[Finding]:
    """Return what the loops of a program lose, those that do little left out."""
    work = [_work(loop) for loop in loops]
    total = sum(each for each in work if each is not None)
    found = []
    for loop, amount in zip(loops, work):
        if not loop.facts.loops or (amount is not None and amount < MIN_SHARE * total):
            continue
        found += [finding for find in FINDERS if (finding := find(loop)) is not None]
    return found


def _work(loop: LoopReport) -> float | None:
    """Return how much a loop does, in operations and accesses of 4 bytes; None if not known."""
    facts = loop.facts
    if facts.flops is None or facts.loaded is None or facts.stored is None:
        return None
    return facts.flops + (facts.loaded + facts.stored) / 4


def _finding(code: str, loop: LoopReport, problem: str, *fixes: Steps) -> Finding:
    text = f"loop {loop.name} {problem}"
    return Finding(Note(code, loop.facts.loops[-1], text, source=loop.source), fixes)


def _gathers(loop: LoopReport) -> Finding | None:
    gathered = [each for each in loop.facts.accesses if each.is_gather]
    if not gathered:
        return None
    names = ", ".join(dict.fromkeys(each.buffer for each in gathered))
    how = "gathers" if not gathered[0].is_store else "scatters"
    return _finding(
        "vectors_are_contiguous",
        loop,
        f"{how} the elements of {len(gathered)} vectors of {names}: they do not lie side by side; "
        "vectorize the loop of the last index, or change the layout of the buffer",
    )


def _scalar(loop: LoopReport) -> Finding | None:
    facts = loop.facts
    does_little = not facts.flops and facts.flops is not None and not facts.stored
    is_short = facts.extent is not None and facts.extent < MIN_ITERATIONS
    if not facts.is_innermost or facts.lanes > 1 or does_little or is_short or facts.calls:
        return None
    if not any(each.strides for each in facts.accesses):
        return None
    fixes: list[Steps] = [[("vectorize", facts.loops[-1])]]
    outer = _contiguous_loop(facts.loops[:-1], [each for each in facts.accesses if each.is_store])
    if outer and not any(facts.loops[-1] in each.strides for each in facts.accesses
                         if each.is_store):  # fmt: skip
        # The inner loop is a reduction: lanes that each have a result need no sum at the end.
        fixes.insert(0, [("reorder", facts.loops[-1], outer), ("vectorize", outer)])
    return _finding(
        "inner_loop_is_vectorized",
        loop,
        "computes one element at a time: vectorize it, or a loop around it",
        *fixes,
    )


def _contiguous_loop(loops: Sequence[str], accesses: Sequence[Access]) -> str:
    """Return the innermost loop whose iterations are neighbours in memory; empty: none is."""
    for name in reversed(loops):
        moves = [abs(each.strides.get(name) or 0) for each in accesses]
        if any(0 < move < CACHE_LINE for move in moves):
            return name
    return ""


def _spills(loop: LoopReport) -> Finding | None:
    if loop.code is None or loop.code.spills < MIN_SPILLS:
        return None
    return _finding(
        "accumulators_fit_registers",
        loop,
        f"has {loop.code.spills} vector operands on the stack: the tile needs more registers than "
        "there are; make it smaller",
    )


def _strides(loop: LoopReport) -> Finding | None:
    facts = loop.facts
    if not facts.is_innermost:
        return None
    inner = facts.loops[-1]
    for each in facts.accesses:
        moved = each.strides.get(inner, 0)
        if moved is not None and abs(moved) >= CACHE_LINE and each.lanes == 1:
            near = _contiguous_loop(facts.loops[:-1], [each])
            advice = (
                f"move loop {near}, in which it moves less, inside"
                if near
                else "change the layout of the buffer, or copy a tile of it with cache_read"
            )
            return _finding(
                "inner_access_is_contiguous",
                loop,
                f"moves {abs(moved)} bytes in {each.buffer} in each iteration, a new cache line "
                f"each time: {advice}",
                *([[("reorder", inner, near)]] if near else []),
            )
    return None


def _guards(loop: LoopReport) -> Finding | None:
    facts = loop.facts
    if not facts.guards or not facts.is_innermost:
        return None
    return _finding(
        "guard_left_loop",
        loop,
        f"keeps {facts.guards} condition{'s' if facts.guards > 1 else ''} in each iteration: "
        "choose factors that divide the extents, or pad them",
    )


def _false_sharing(loop: LoopReport) -> Finding | None:
    facts = loop.facts
    if not facts.parallel:
        return None
    for each in facts.accesses:
        moved = each.strides.get(facts.parallel, 0)
        inner = facts.loops[facts.loops.index(facts.parallel) + 1 :]
        stays = inner and not any(each.strides.get(name, 0) for name in inner)
        if each.is_store and moved and abs(moved) < CACHE_LINE and stays:
            return _finding(
                "threads_write_own_lines",
                loop,
                f"stores to {each.buffer} again and again, and iterations of the parallel loop "
                f"{facts.parallel} do so {abs(moved)} bytes apart: threads share a cache line; "
                "accumulate in a buffer of the iteration, with cache_write",
            )
    return None


FINDERS: tuple[Callable[[LoopReport], Finding | None], ...] = (
    _gathers,
    _scalar,
    _spills,
    _strides,
    _guards,
    _false_sharing,
)
