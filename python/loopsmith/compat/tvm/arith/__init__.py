# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith``: what is known of integers."""

from __future__ import annotations

import loopsmith.arith

from ...missing import other_names
from . import _ffi_api, analyzer, int_set, int_solver, iter_affine_map, pattern
from . import int_set as intset
from .analyzer import Analyzer, ConstIntBound, Extension
from .int_set import (
    IntervalSet,
    IntSet,
    deduce_bound,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from .int_solver import (
    IntConstraints,
    IntConstraintsTransform,
    IntGroupBounds,
    solve_linear_equations,
    solve_linear_inequalities,
)
from .iter_affine_map import (
    IterMapExpr,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    normalize_iter_map_to_expr,
    subspace_divide,
)
from .pattern import detect_common_subexpr

# Names of the first generations.
DeduceBound = deduce_bound
DetectLinearEquation = loopsmith.arith.detect_linear_equation
DetectClipBound = loopsmith.arith.detect_clip_bound
_IntervalSet = intset_interval = IntervalSet
intset_vector = IntSet.vector

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "DeduceBound",
    "DetectClipBound",
    "DetectLinearEquation",
    "Extension",
    "IntConstraints",
    "IntConstraintsTransform",
    "IntGroupBounds",
    "IntSet",
    "IntervalSet",
    "IterMapExpr",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "_ffi_api",
    "analyzer",
    "deduce_bound",
    "detect_common_subexpr",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "int_set",
    "int_solver",
    "intset",
    "intset_interval",
    "intset_vector",
    "iter_affine_map",
    "normalize_iter_map_to_expr",
    "pattern",
    "solve_linear_equations",
    "solve_linear_inequalities",
    "subspace_divide",
]

__getattr__ = other_names("tvm.arith", loopsmith.arith)
