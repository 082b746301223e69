# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith._ffi_api``: functions without a wrapper in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import loopsmith.arith as core

from ...missing import other_names
from .narrow import narrowed

__all__ = ["DomainTouched", "NarrowPredicateExpression", "SolveInequalitiesAsCondition"]


def SolveInequalitiesAsCondition(
    variables: Sequence[Any], ranges: Mapping[Any, Any], inequalities: Sequence[Any]
) -> list[Any]:
    """Return what inequalities ask of each variable, the last variable first."""
    solved: Any = core.solve_linear_inequalities(inequalities, variables, ranges)
    conditions: list[Any] = []
    bounds = dict(solved.ranges)
    for var in reversed(list(variables)):
        if var in bounds:
            known = bounds[var]
            conditions += [known.min <= var, var < known.min + known.extent]
    return [*conditions, *solved.relations]


def DomainTouched(stmt: Any, buffer: Any, consider_loads: bool, consider_stores: bool) -> list[Any]:
    """Return the least box around what a statement loads, or stores, of a buffer."""
    from ..tir.regions import touched_regions

    return touched_regions(stmt, buffer, consider_loads, consider_stores)


def NarrowPredicateExpression(expr: Any, ranges: Mapping[Any, Any]) -> Any:
    """Return a condition without the variables of `ranges` that implies the given one."""
    return narrowed(expr, ranges)


__getattr__ = other_names("tvm.arith._ffi_api")
