# SPDX-License-Identifier: Apache-2.0
"""What is legal in a schedule, and cannot be meant: as data, each with a fix that was tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ._core import For, IntImm, Schedule
from .errors import UserError
from .tir.visitor import Visitor

if TYPE_CHECKING:
    from ._core import Target

MOST_STARTS = 64
"""How often a parallel region may start in a call before it is told."""
MOST_UNROLLED = 1024
"""How many copies of a statement unrolled loops may make before it is told."""


@dataclass(frozen=True)
class Note:
    """Something that costs time, and what to do about it."""

    code: str
    loop: str
    """The name of the loop that it is about."""
    problem: str
    fix: str = ""
    """Steps that a copy of the schedule accepted; empty where none was."""
    source: str = ""
    """Where the user wrote it: ``matmul.py:12``; empty where that is not known."""

    def __str__(self) -> str:
        """Return the problem, and the fix below it."""
        text = self.problem + (f" ({self.source})" if self.source else "")
        return text + (f"\n  fix: {self.fix}" if self.fix else "")


class Notes(list[Note]):
    """What was found."""

    def __str__(self) -> str:
        """Return one below the other."""
        return "\n".join(map(str, self)) or "nothing to note"


def notes(sch: Schedule, target: Target | str | None = None) -> Notes:
    """Return what is legal in a schedule and cannot be meant.

    With a target, the program is compiled as it is scheduled, and what the code loses is told, too.
    """
    finder = _Finder(sch)
    finder.visit(sch.func)
    found = Notes(finder.found)
    if target is not None:
        from .driver import build
        from .performance_notes import findings_on

        module = build(sch, target=target, default_schedule=False)
        found += [each.tried(sch) for each in findings_on(module.report().loops)]
    return found


class _Finder(Visitor):
    def __init__(self, sch: Schedule) -> None:
        self.sch = sch
        self.found: list[Note] = []
        self.around: list[For] = []

    def visit_For(self, loop: For) -> None:  # noqa: N802
        """Look at a loop and what is inside."""
        if loop.kind == "parallel":
            self._parallel(loop)
        if loop.kind == "unrolled" and all(each.kind != "unrolled" for each in self.around):
            self._unrolled(loop)
        self.around.append(loop)
        self.visit_children(loop)
        self.around.pop()

    def _parallel(self, loop: For) -> None:
        serial = [each for each in self.around if each.kind != "parallel"]
        starts = _product(serial)
        if len(serial) < len(self.around) or starts is None or starts <= MOST_STARTS:
            return
        name, outer = loop.loop_var.name, self.around[0].loop_var.name
        self.found.append(
            Note(
                "parallel_region_is_large",
                name,
                f"loop {name} is parallel inside of {', '.join(_names(serial))}: a call starts "
                f"{starts} parallel regions, and each start takes microseconds",
                self._tried(
                    lambda sch: _outer_parallel(sch, outer, name),
                    f'make "{outer}" parallel in the place of "{name}": sch.parallel("{outer}")',
                ),
            )
        )

    def _unrolled(self, loop: For) -> None:
        inside = _nested(loop)
        copies = _product([each for each in inside if each.kind == "unrolled"])
        if copies is None or copies <= MOST_UNROLLED:
            return
        name = loop.loop_var.name
        self.found.append(
            Note(
                "unrolled_code_is_small",
                name,
                f"loop {name} and those inside are unrolled into {copies} copies: the code does "
                "not fit the caches for instructions",
                self._tried(
                    lambda sch: sch.split(name, [None, 4]),
                    f'unroll a part: sch.split("{name}", [None, 4]) before it',
                ),
            )
        )

    def _tried(self, step: Callable[[Schedule], Any], text: str) -> str:
        try:
            step(_without_kinds(self.sch))
        except UserError:
            return ""
        return text


def _outer_parallel(sch: Schedule, outer: str, inner: str) -> None:
    sch.get_loop(inner)
    sch.parallel(outer)


def _without_kinds(sch: Schedule) -> Schedule:
    """Return the schedule with loops that run one iteration after the other, to try steps on."""
    from .tir import Rewriter, replace

    class Serial(Rewriter):
        def rewrite_For(self, node: For) -> For:  # noqa: N802
            inside: For = self.rewrite_children(node)
            kinds = ("parallel", "unrolled", "vectorized")
            return replace(inside, kind="serial") if node.kind in kinds else inside

    return Schedule(Serial().rewrite(sch.func))


def _nested(loop: For) -> list[For]:
    """Return a loop and those directly inside of it, outermost first."""
    loops = [loop]
    while isinstance(loops[-1].body, For):
        loops.append(loops[-1].body)
    return loops


def _names(loops: list[For]) -> list[str]:
    return [loop.loop_var.name for loop in loops]


def _product(loops: list[For]) -> int | None:
    product = 1
    for loop in loops:
        if not isinstance(loop.extent, IntImm):
            return None
        product *= int(loop.extent)
    return product
