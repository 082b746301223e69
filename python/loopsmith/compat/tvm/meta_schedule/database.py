# SPDX-License-Identifier: Apache-2.0
"""``tvm.meta_schedule.database``: what searches have found."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from loopsmith._core import program_key
from loopsmith.tuning import Records
from loopsmith.tuning.records.machine import target_key

from ...missing import other_names
from ..target import Target
from ..tir.prim_func import as_module

__all__ = ["Database", "JSONDatabase", "MemoryDatabase", "create"]


def key_for(target: Any) -> str:
    """Return what records of a target are found by."""
    return str(target_key(str(target), "free", contract=True, fast_math=None, num_threads=None))


class Database:
    """The quickest schedules that searches have found, by program and target.

    Parameters
    ----------
    path
        Their file, which is made where there is none; without, they are forgotten at the end.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        if path is None:
            self._folder = tempfile.TemporaryDirectory(prefix="loopsmith")
            path = Path(self._folder.name) / "records.db"
        self.records = Records(path)
        self._found: dict[tuple[str, str], Any] = {}

    def keep(self, target: Any, tuned: Any) -> None:
        """Remember what a search has found, also where it is no quicker than the default."""
        self._found[program_key(tuned.func), str(target)] = tuned.schedule

    def query_schedule(self, mod: Any, target: Any, workload_name: str = "main") -> Any:
        """Return the quickest schedule of the only function of a module; None: none is known."""
        (func,) = as_module(mod).functions
        aim = Target(target)
        found = self._found.get((program_key(func), str(aim)))
        if found is not None:
            return found.copy()
        record = self.records.best(func, key_for(aim))
        return None if record is None else record.schedule(func)

    def query_ir_module(self, mod: Any, target: Any, workload_name: str = "main") -> Any:
        """Return the module of the quickest schedule; None: none is known."""
        found = self.query_schedule(mod, target, workload_name)
        return None if found is None else found.mod

    def __len__(self) -> int:
        return len(self.records)


def JSONDatabase(
    path_workload: str | None = None,
    path_tuning_record: str | None = None,
    *,
    work_dir: str | os.PathLike[str] | None = None,
    **_: Any,
) -> Database:
    """Return the database of a folder, where a search with the same ``work_dir`` has put it."""
    folder = Path(work_dir or Path(path_tuning_record or ".").parent)
    folder.mkdir(parents=True, exist_ok=True)
    return Database(folder / "records.db")


def MemoryDatabase(**_: Any) -> Database:
    """Return a database that is forgotten at the end."""
    return Database()


def create(kind: str = "json", **options: Any) -> Database:
    """Return a database of a kind, ``"json"`` or ``"memory"``."""
    return MemoryDatabase() if kind == "memory" else JSONDatabase(**options)


__getattr__ = other_names("tvm.meta_schedule.database")
