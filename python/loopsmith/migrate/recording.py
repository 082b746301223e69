# SPDX-License-Identifier: Apache-2.0
"""Which schedules a program lowers and builds, and where."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any, NamedTuple

from .. import compiled_program
from .._core import TeSchedule
from ..compat import run_program
from ..errors import UserError
from .steps import CannotWrite, Written, written


class Recorded(NamedTuple):
    """A schedule that was lowered or built."""

    line: int
    """Of the call in the program; 0 where the program did not make it itself."""
    steps: Written | None
    """What it amounts to; None where that cannot be written."""
    reason: str
    """Why not."""


def record(path: str | os.PathLike[str]) -> tuple[list[Recorded], str]:
    """Run a program; return the schedules that it lowers and builds, and why it stopped early.

    What it prints goes to the standard error.
    """
    recorded: list[Recorded] = []
    file = os.fspath(path)

    def observe(schedule: TeSchedule, args: Sequence[Any] | None, binds: Mapping[Any, Any]) -> None:
        line = _line_in(file, sys._getframe(1))
        try:
            recorded.append(Recorded(line, written(schedule, args, binds), ""))
        except UserError as error:
            recorded.append(Recorded(line, None, f"it is refused: {_problem(error)}"))
        except CannotWrite as error:
            recorded.append(Recorded(line, None, str(error)))

    stopped = ""
    with contextlib.redirect_stdout(sys.stderr), compiled_program.observed_schedules(observe):
        try:
            run_program(path)
        except SystemExit as end:
            stopped = "" if not end.code else f"stopped with exit code {end.code}"
        except Exception as error:
            stopped = f"stopped{_place(file, error)}: {type(error).__name__}: {_problem(error)}"
    return recorded, stopped


def _problem(error: Exception) -> str:
    lines = str(error).splitlines()
    return lines[0] if lines else ""


def _place(file: str, error: Exception) -> str:
    lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == file]
    return f" in line {lines[-1]}" if lines else ""


def _line_in(file: str, frame: FrameType | None) -> int:
    """The line of the program in which the innermost call stands."""
    while frame is not None:
        if frame.f_code.co_filename == file:
            return frame.f_lineno
        frame = frame.f_back
    return 0
