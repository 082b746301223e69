# SPDX-License-Identifier: Apache-2.0
"""``tvm.meta_schedule.tir_integration``: searches for schedules of functions."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import loopsmith as ls

from ...missing import MissingName, other_names
from ..target import Target
from ..tir.prim_func import as_module
from .database import Database, JSONDatabase

__all__ = ["ScheduleFn", "compile_tir", "tune_tir"]

_OF_THE_SEARCH = {
    "builder", "cost_model", "max_trials_per_task", "measure_callbacks", "module_equality",
    "num_trials_per_iter", "num_tuning_cores", "post_optimization", "runner", "strategy",
    "task_scheduler",
}  # fmt: skip
"""Options that say how a search is done, and not what it searches; this one has its own way."""


def ScheduleFn(sch_fn: Callable[..., Any], **_: Any) -> Callable[..., None]:
    """Return a space of schedules: a function that takes steps, some of which sample.

    Parameters
    ----------
    sch_fn
        The function; what it returns may be None, or the schedule.
    """

    @functools.wraps(sch_fn)
    def steps(sch: Any) -> None:
        sch_fn(sch)

    return steps


def tune_tir(
    mod: Any,
    target: Any,
    work_dir: str | os.PathLike[str],
    max_trials_global: int,
    *,
    database: Any = "json",
    space: Any = "post-order-apply",
    seed: int | None = None,
    special_space: Any = None,
    **options: Any,
) -> Database:
    """Search for quick schedules of the functions of a module, each by itself.

    Parameters
    ----------
    mod
        A function or a module.
    target
        What it is for; it must run here.
    work_dir
        The folder of what is found.
    max_trials_global
        How many candidates are measured at most.
    database
        Where what is found is put; by default, a file in the folder.
    space
        What is searched: a function of a schedule, or `ScheduleFn`; by default, what Loopsmith
        generates.
    seed
        Of the search.
    """
    unknown = sorted(set(options) - _OF_THE_SEARCH)
    if unknown or special_space:
        raise MissingName(f"tvm.meta_schedule.tune_tir({(unknown or ['special_space'])[0]}=...)")
    if isinstance(space, str) and space != "post-order-apply":
        raise MissingName(f"tvm.meta_schedule.tune_tir(space={space!r})")
    own = database if isinstance(database, Database) else JSONDatabase(work_dir=work_dir)
    aim = Target(target)
    functions = list(as_module(mod).functions)
    for func in functions:
        tuned = ls.tune(
            func,
            str(aim),
            space=None if isinstance(space, str) else space,
            trials=max(1, max_trials_global // len(functions)),
            records=own.records,
            seed=seed or 0,
        )
        own.keep(aim, tuned)
    return own


def compile_tir(database: Database, mod: Any, target: Any) -> Any:
    """Return the quickest schedule of a function that a search has found; None: none is known."""
    return database.query_schedule(mod, target)


__getattr__ = other_names("tvm.meta_schedule.tir_integration")
