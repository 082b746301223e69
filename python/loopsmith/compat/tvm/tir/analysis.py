# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.analysis``: questions about programs."""

from __future__ import annotations

from typing import Any

import loopsmith as ls
from loopsmith import tir

from ...missing import other_names
from .checks import (
    OOBChecker,
    assert_pure_function,
    is_pure_function,
    verify_gpu_code,
    verify_memory,
    verify_ssa,
)
from .costs import calculate_allocated_bytes, estimate_tir_flops
from .regions import (
    detect_buffer_access_lca,
    get_block_access_region,
    get_block_read_write_region,
)

__all__ = [
    "OOBChecker",
    "UndefinedVars",
    "assert_pure_function",
    "calculate_allocated_bytes",
    "calculate_workspace_bytes",
    "detect_buffer_access_lca",
    "estimate_tir_flops",
    "expr_deep_equal",
    "get_block_access_region",
    "get_block_read_write_region",
    "is_pure_function",
    "undefined_vars",
    "verify_gpu_code",
    "verify_memory",
    "verify_ssa",
    "verify_well_formed",
]


def verify_well_formed(obj: Any, assert_mode: bool = True) -> bool:
    """Return whether a function or module is well formed; raise where it is not, if asked to."""
    if not assert_mode:
        return tir.is_well_formed(obj)
    try:
        tir.verify_well_formed(obj)
    except ls.UserError as error:
        raise ValueError(f"Well-formedness check failed: {error}") from error
    return True


def expr_deep_equal(lhs: Any, rhs: Any) -> bool:
    """Return whether two expressions have one structure and the same variables."""
    return ls.structural_equal(tir.const(lhs), tir.const(rhs))


def undefined_vars(node: Any, defs: Any = ()) -> list[Any]:
    """Return the variables that a tree uses and neither it nor `defs` defines."""
    known = [*defs]
    defined: list[Any] = []
    used: list[Any] = []

    def visit(each: Any) -> None:
        for field in ("loop_var", "var", "buffer_var"):
            if isinstance(getattr(each, field, None), tir.Var):
                defined.append(getattr(each, field))
        if isinstance(each, tir.Var):
            used.append(each)

    tir.post_order_visit(node, visit)
    found: list[Any] = []
    for var in used:
        if not any(var.same_as(other) for other in (*known, *defined, *found)):
            found.append(var)
    return found


UndefinedVars = undefined_vars
calculate_workspace_bytes = calculate_allocated_bytes

__getattr__ = other_names("tvm.tir.analysis")
