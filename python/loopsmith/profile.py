# SPDX-License-Identifier: Apache-2.0
"""Where the time of a compiled program goes, loop by loop.

>>> f = ls.build(sch, profile=True)
>>> f(a, b, c)
>>> print(f.profile())
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, display
from ._core import AttrStmt, BufferStore, For, PrimFunc
from .loop_facts import PROFILE_KEY, names_of_buffers
from .timing import seconds_text

if TYPE_CHECKING:
    from ._core import Module


@dataclass(frozen=True)
class LoopProfile:
    """What one loop has taken."""

    function: str
    number: int
    """Of the loop among those of the function that are timed; 0: the whole function."""
    loop: str
    """The variables of the loop and of those around it, outermost first: ``i/j``; empty of the
    whole function."""
    writes: tuple[str, ...]
    """The buffers that are written in it."""
    line: int
    """Where it stands in the lowered program, ``module.source("tir")``."""
    calls: int
    """How often the function was called."""
    runs: int
    """How often the loop was run, in all calls."""
    ticks: int
    """Of the clock that the code reads, those of all threads together."""
    seconds: float
    own_seconds: float
    """The same without loops inside that are timed, too; of a parallel loop, whose threads add up,
    the same as `seconds`."""
    share: float
    """Of the time of the function; inside of parallel loops it may be above 1."""
    is_threaded: bool
    """Whether it stands inside of a parallel loop."""


@dataclass(frozen=True)
class Profile:
    """The loops of a module that were timed, in the order of the program."""

    loops: list[LoopProfile]

    def to_dict(self) -> dict[str, Any]:
        """Return the profile as plain data, ready for JSON."""
        return {"loops": [dataclasses.asdict(loop) for loop in self.loops]}

    def rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Return the table's header and its rows."""
        header = ("function", "loop", "writes", "line", "runs", "time", "own time", "share")
        return header, [
            (
                loop.function,
                loop.loop or "(all)",
                ", ".join(loop.writes),
                str(loop.line),
                str(loop.runs),
                seconds_text(loop.seconds) + (" of threads" if loop.is_threaded else ""),
                seconds_text(loop.own_seconds),
                f"{loop.share:.1%}",
            )
            for loop in self.loops
        ]

    def __str__(self) -> str:
        """Return a table."""
        return display.table(*self.rows())

    def _repr_html_(self) -> str:
        return display.table_html(*self.rows())


def profile_of(module: Module, reset: bool = False) -> Profile:
    """Return what the loops of a module have taken since it was built, or since the last reset."""
    counted = {name: _core.loop_counters(module[name], reset) for name in module.names}
    if not any(counted.values()):
        _core.fail(
            "UserError",
            "module_is_profiled",
            "profile: the module was built without a profile",
            hint="pass profile=True to build",
        )
    loops: list[LoopProfile] = []
    for func in lowered_functions(module):
        if counters := counted.get(func.name):
            loops += _loops_of(func, counters)
    return Profile(loops)


def lowered_functions(module: Module) -> list[PrimFunc]:
    """Return the lowered functions of a module; their spans are places in ``source("tir")``."""
    from .script import definitions

    return list(dict(definitions(module.source("tir"), name="<lowered>")).values())


def _loops_of(func: PrimFunc, counters: list[tuple[int, int]]) -> list[LoopProfile]:
    """Return the profile of a function, of what its statements have counted, by their numbers."""
    found: list[LoopProfile] = []
    own = [ticks for _, ticks in counters]
    rate = _core.ticks_per_second()
    names = names_of_buffers(func)

    def walk(node: Any, around: tuple[For, ...], outer: tuple[int, bool] | None) -> None:
        def enter(inner: Any) -> bool:
            if isinstance(inner, AttrStmt) and inner.attr_key == PROFILE_KEY:
                number = int(inner.value)
                is_threaded = any(loop.kind == "parallel" for loop in around)
                note(inner, number, around, is_threaded)
                # Times of threads are no part of the time of the loop that starts them.
                if outer is not None and outer[1] == is_threaded:
                    own[outer[0]] -= counters[number][1]
                enter_loop(inner.body, around, (number, is_threaded))
                return False
            if isinstance(inner, For) and not inner.same_as(node):
                enter_loop(inner, around, outer)
                return False
            return True

        _core.pre_order_visit(node, enter)

    def enter_loop(node: Any, around: tuple[For, ...], outer: tuple[int, bool] | None) -> None:
        inside = (*around, node) if isinstance(node, For) else around
        walk(node.body if isinstance(node, For) else node, inside, outer)

    def note(mark: AttrStmt, number: int, around: tuple[For, ...], is_threaded: bool) -> None:
        loops = (*around, mark.body) if isinstance(mark.body, For) else around
        runs, ticks = counters[number]
        found.append(
            LoopProfile(
                func.name,
                number,
                "/".join(loop.loop_var.name for loop in loops) if number else "",
                written_in(mark, names),
                mark.body.span[1] if mark.body.span else 0,
                counters[0][0],
                runs,
                ticks,
                ticks / rate,
                0.0,
                ticks / counters[0][1] if counters[0][1] else 0.0,
                is_threaded,
            )
        )

    walk(func.body, (), None)
    return [dataclasses.replace(loop, own_seconds=own[loop.number] / rate) for loop in found]


def written_in(node: Any, names: dict[str, str]) -> tuple[str, ...]:
    """Return the names of the buffers that a statement writes; `names` are those of pointers."""
    written: dict[str, None] = {}

    def enter(inner: Any) -> bool:
        if isinstance(inner, BufferStore):
            written[names.get(inner.buffer.data.name, inner.buffer.name)] = None
        return True

    _core.pre_order_visit(node, enter)
    return tuple(written)
