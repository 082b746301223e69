# SPDX-License-Identifier: Apache-2.0
"""What is told about a schedule: its history, and whether it still computes the same."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, display
from .argument_errors import explained
from .ir import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ._core import IRModule, Schedule, Trace


class History(list["HistoryStep"]):
    """The steps of a schedule."""

    def __str__(self) -> str:
        """Return all calls and differences."""
        return "\n\n".join(map(str, self))

    def _repr_html_(self) -> str:
        return "".join(
            f"<details><summary><code>{display.escaped(f'{step.number}: {step.call}')}</code>"
            f"</summary>{display.difference_html(step.difference)}</details>"
            for step in self
        )


@dataclass(frozen=True)
class HistoryStep:
    """One step of a schedule, with the program around it."""

    number: int
    """Counted from 1, as errors and spans count."""
    call: str
    """The step as Python."""
    before: IRModule
    after: IRModule

    @property
    def difference(self) -> str:
        """The lines that the step took away (``-``) and added (``+``), with two around them."""
        lines = difflib.unified_diff(
            self.before.script().splitlines(), self.after.script().splitlines(), n=2, lineterm=""
        )
        return "\n".join(list(lines)[2:])

    def __str__(self) -> str:
        """Return the call and the difference."""
        difference = self.difference
        return f"# {self.number}: {self.call}" + (f"\n{difference}" if difference else "")


def history(sch: Schedule) -> History:
    """Return the steps of a schedule, each with the program before and after it."""
    programs = sch.programs()
    return History(
        HistoryStep(i + 1, call, programs[i], programs[i + 1])
        for i, call in enumerate(sch.trace.as_python())
    )


def html(sch: Schedule) -> str:
    """Return what notebooks show of a schedule: the program, and the trace below it."""
    return display.html(sch.mod) + display.code_html(str(sch.trace))


def reduced(sch: Schedule) -> tuple[Any, ...]:
    """Return how pickle makes a schedule again: the program, and its steps."""
    return replayed, (to_json(sch.original), sch.trace.as_json())


def trace_of(text: str) -> Trace:
    """Return the trace that pickle kept as JSON."""
    return _core.Trace.from_json(text)


def replayed(program: str, trace: Any) -> Schedule:
    """Return the schedule of a program in JSON after the steps of a trace in JSON."""
    sch = _core.Schedule(from_json(program))
    _core.Trace.apply_json_to_schedule(trace, sch)
    return sch


@dataclass(frozen=True)
class Verification:
    """Whether a schedule still computes what its program did; true when it does."""

    answer: str
    """``same``, ``different`` or ``undecided``."""
    reason: str
    """The first difference; what kept the two from being run; of programs that are too large to be
    run, how many of their elements were sampled."""
    buffer: str
    """The tensor of the first element that differs; empty where there is none."""
    index: list[int]
    """The place of that element."""

    def __bool__(self) -> bool:
        """Return whether the two are the same."""
        return self.answer == "same"


@explained
def verify(
    sch: Schedule, functions: Mapping[str, Callable[..., Any]] | None = None
) -> Verification:
    """Compare the program before and after its schedule on the reference interpreter.

    Parameters
    ----------
    sch
        The schedule.
    functions
        Functions of the host that the program calls, by their names, as `interp.assert_same` takes
        them.
    """
    return Verification(**sch.verdict(dict(functions or {})))
