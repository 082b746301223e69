# SPDX-License-Identifier: Apache-2.0
"""The errors that Loopsmith raises; C++ makes most of them, with the same names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


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


class UserError(_Report, Exception):
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
    and ``element`` that both touch; None where there is none."""
    fixes: Sequence[str] = ()
    """Calls that were tried on a copy and passed."""
    picture: str = ""
    """The program with the loops and blocks at fault underlined."""

    def to_dict(self) -> dict[str, Any]:
        """Return the parts of the error, ready for JSON."""
        return super().to_dict() | {
            "primitive": self.primitive,
            "subjects": list(self.subjects),
            "witness": self.witness,
            "fixes": list(self.fixes),
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
