# SPDX-License-Identifier: Apache-2.0
"""The errors that Loopsmith raises; C++ makes most of them, with the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _core


class _Report:
    """What is wrong, what to do about it and where, as text (``str(error)``) and as data."""

    code: str = ""
    """A stable name of the rule that was broken."""
    problem: str = ""
    """The first part of the text, without hint and place."""
    hint: str = ""
    """What to do about it; may be empty."""
    span: dict[str, str | int] | None = None
    """Where: ``source``, ``line``, ``column``, ``length``, schedule ``step``; None if unknown."""

    def to_dict(self) -> dict[str, Any]:
        """Return the parts of the error, ready for JSON."""
        return {
            "kind": type(self).__name__,
            "code": self.code,
            "problem": self.problem,
            "hint": self.hint,
            "span": self.span,
        }


class UserError(_Report, RuntimeError):
    """The user's mistake, of any kind."""


class TypeMismatch(UserError, TypeError):
    """Types that do not go together."""


class BoundsError(UserError, IndexError):
    """An index or a shape out of range."""


class FormatError(UserError, ValueError):
    """Text or a file that does not read as what it should be."""


class ScriptError(UserError, ValueError):
    """A script that is not of the language."""


class ScheduleError(UserError, ValueError):
    """A schedule step that was refused; the schedule is as it was before."""

    primitive: str = ""
    """The step."""
    subjects: Sequence[str] = ()
    """What the problem speaks of: names of loops, blocks and buffers, numbers."""
    witness: dict[str, Any] | None = None
    """Two iterations that conflict: ``first`` and ``second`` with their ``loops``, the ``buffer``
    and ``element`` that both access; None where there is none."""
    question: str | None = None
    """What the program after the step would have to keep, where the code is ``step_keeps_results``:
    ``order``, ``cover``, ``repeat``, ``leave_out``, ``add``, ``coherence``, ``concurrency``,
    ``regroup``, or ``understood``, where the instances of one of the programs are not known."""
    is_known: bool | None = None
    """Whether it is known then that results would change; else it is not known that they stay."""
    _report: _core.RefusalReport | None = None
    """Makes the text, the fixes and the picture when they are asked for."""
    _made: tuple[Sequence[str], str] = ((), "")

    @property
    def fixes(self) -> list[str]:
        """Calls that could be made instead: Python that was tried on a copy and passed.

        None makes a promise in your name, as ``assume_independent`` is: ``hint`` speaks of those.
        """
        return self._report.fixes() if self._report else list(self._made[0])

    @property
    def picture(self) -> str:
        """The program with the loops and blocks at fault underlined."""
        return self._report.picture() if self._report else self._made[1]

    def __str__(self) -> str:
        """Return the problem, the hint, the place, the fixes and the picture."""
        return self._report.text() if self._report else super().__str__()

    def __reduce__(self) -> tuple[type[ScheduleError], tuple[str], dict[str, Any]]:
        """Return what pickle needs: all parts as they read now."""
        state = {name: value for name, value in vars(self).items() if name != "_report"}
        return type(self), (str(self),), state | {"_made": (self.fixes, self.picture)}

    def to_dict(self) -> dict[str, Any]:
        """Return the parts of the error, ready for JSON."""
        return super().to_dict() | {
            "primitive": self.primitive,
            "subjects": list(self.subjects),
            "witness": self.witness,
            "question": self.question,
            "is_known": self.is_known,
            "fixes": self.fixes,
        }


class LowerError(UserError, ValueError):
    """A program that cannot be lowered."""


class CallError(UserError, ValueError):
    """Arguments that a compiled function does not take."""


class InterpError(UserError, RuntimeError):
    """A mistake that the reference interpreter found while it ran a program."""


class InternalError(_Report, RuntimeError):
    """A bug in Loopsmith; please report it."""

    code = "internal_error"
    hint = "please report this"
