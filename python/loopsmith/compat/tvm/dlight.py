# SPDX-License-Identifier: Apache-2.0
"""``tvm.dlight``: schedules by rule.

The rules of a kind of operators are those of Loopsmith, which knows by itself which one fits; so
all names of rules mean the same one, for a GPU or for a processor.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import loopsmith as ls
from loopsmith import tir

from ..missing import other_names
from .target import Target
from .transform import Pass

__all__ = ["ApplyDefaultSchedule", "ScheduleRule", "cpu", "gpu"]


class ScheduleRule:
    """A rule that gives a function a schedule: that of Loopsmith, or one of a program's own."""

    def apply(self, func: Any, target: Any, tunable: bool) -> Any:
        """Return the schedule of a function, a list of some, or None where it does not fit."""
        return ls.default_schedule(func, target, holes=tunable)


def _rules(names: str) -> SimpleNamespace:
    return SimpleNamespace(
        **{name: type(name, (ScheduleRule,), {"__doc__": ScheduleRule.__doc__})
           for name in names.split()},
        ScheduleRule=ScheduleRule,
    )  # fmt: skip


gpu = _rules("Fallback GEMV GeneralReduction LowBatchGEMV Matmul RMSNorm Reduction Transpose")
cpu = _rules("GEMV")


def ApplyDefaultSchedule(*rules: Any) -> Pass:
    """Return the pass that schedules what has no schedule, by the first rule that fits.

    Parameters
    ----------
    rules
        Objects with a method ``apply(func, target, tunable)``, or functions with these parameters.

    Raises
    ------
    ValueError
        From the pass: there is no current target.
    """

    def scheduled(func: tir.PrimFunc) -> tir.PrimFunc:
        if (func.attrs or {}).get("tir.is_scheduled"):
            return func
        target = Target.current(allow_none=False)
        for rule in rules:
            made = getattr(rule, "apply", rule)(func, target, False)
            first = made[0] if isinstance(made, (list, tuple)) else made
            if first is not None:
                known: tir.PrimFunc = first.func.with_attr("tir.is_scheduled", True)
                return known
        return func

    def run(mod: Any, _: Any = None) -> Any:
        return tir.IRModule(
            names=list(mod.names),
            functions=[scheduled(func) for func in mod.functions],
            attrs=mod.attrs,
        )

    return Pass("ApplyDefaultSchedule", run)


__getattr__ = other_names("tvm.dlight")
