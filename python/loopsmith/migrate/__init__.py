# SPDX-License-Identifier: Apache-2.0
"""Programs with schedules of tensor expressions, rewritten to schedules of TensorIR.

>>> migrated = loopsmith.migrate.migrate("old.py")
>>> print(migrated.text)
>>> for note in migrated.notes: ...
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from .. import _core
from .recording import record
from .rewriting import rewrite

__all__ = ["Migrated", "migrate"]


class Migrated(NamedTuple):
    """A program that was migrated."""

    text: str
    """The new program."""
    notes: list[str]
    """What stayed as it was, and why; ``line 12: ...``."""


def migrate(path: str | os.PathLike[str]) -> Migrated:
    """Run a program, and rewrite it to schedules of TensorIR.

    Each call of ``lower`` or ``build`` that was made with a schedule of tensor expressions gets a
    ``tir.Schedule`` that starts from ``te.create_prim_func`` and takes the steps that the schedule
    amounts to. Definitions and all else stay; so does a call for which that is not possible.

    Parameters
    ----------
    path
        A file of Python. It is run once, as ``loopsmith run`` does; a program that imports `tvm`
        gets the aliases of `loopsmith.compat`.

    Raises
    ------
    UserError
        The program lowers and builds no schedule of tensor expressions.
    """
    text = Path(path).read_text(encoding="utf-8")
    recorded, stopped = record(path)
    if not recorded:
        reason = f": it {stopped}" if stopped else ""
        _core.fail(
            "UserError",
            "program_lowers_schedules",
            f"migrate: {os.fspath(path)} lowers and builds no schedule of tensor expressions"
            f"{reason}",
            hint="name a program that calls te.create_schedule, and lower or build",
        )
    new_text, notes = rewrite(text, recorded)
    return Migrated(new_text, [*([f"the program {stopped}"] if stopped else []), *notes])
