# SPDX-License-Identifier: Apache-2.0
"""Schedules of records, for programs that have none."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ..._core import PrimFunc
from .machine import target_key
from .records import Records


def recorded(
    records: Records | str | os.PathLike[str],
    target: str,
    options: Mapping[str, Any],
    numerics: str,
) -> Callable[[PrimFunc], PrimFunc]:
    """Return a function that gives a function the schedule of its quickest record.

    Parameters
    ----------
    records
        The records, or their file.
    target, options, numerics
        What is compiled for, and how; records of others are not used.
    """
    store = records if isinstance(records, Records) else Records(records)
    key = target_key(target, numerics, **options)

    def scheduled(func: PrimFunc) -> PrimFunc:
        if "tir.is_scheduled" in (func.attrs or {}):
            return func
        record = store.best(func, key)
        if record is None:
            return func
        made = record.scheduled(func, target, numerics)
        return made.with_attr("global_symbol", func.name)

    return scheduled
