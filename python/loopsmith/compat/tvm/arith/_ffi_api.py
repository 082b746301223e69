# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith._ffi_api``: functions without a wrapper in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import loopsmith.arith as core

from ...missing import other_names
from .int_solver import solve_linear_inequalities

__all__ = ["SolveInequalitiesAsCondition"]


def SolveInequalitiesAsCondition(
    variables: Sequence[Any], ranges: Mapping[Any, Any], inequalities: Sequence[Any]
) -> list[Any]:
    """Return what inequalities ask of each variable, the last variable first."""
    return core.solve_linear_inequalities_as_conditions(inequalities, variables, ranges)


__getattr__ = other_names("tvm.arith._ffi_api")
