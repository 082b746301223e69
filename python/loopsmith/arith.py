# SPDX-License-Identifier: Apache-2.0
"""What is known of integers: bounds, simplification, sets, iteration maps, linear systems.

Iterators are given as ``{var: Range}``: independent variables, each of which runs through a range.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core
from ._core import (
    Analyzer,
    ConstIntBound,
    IndexMap,
    IntConstraints,
    IntConstraintsTransform,
    IntSet,
    IterMapLevel,
    IterMapResult,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    ModularSet,
    ProofStrength,
    Range,
    Var,
)
from .argument_errors import explained

if TYPE_CHECKING:
    from ._core import Expr, ExprLike

Iterators = Mapping[Var, Range]
"""Independent variables, each of which runs through a range."""

Level = Union[IterMapLevel, str]
"""A level, or its name in any case: ``"bijective"``, ``"surjective"``, ``"nocheck"``."""

__all__ = [
    "Analyzer",
    "ConstIntBound",
    "IntConstraints",
    "IntConstraintsTransform",
    "IntSet",
    "IntervalSet",
    "IterMapLevel",
    "IterMapResult",
    "IterMark",
    "IterSplitExpr",
    "IterSumExpr",
    "ModularSet",
    "ProofStrength",
    "deduce_bound",
    "detect_clip_bound",
    "detect_iter_map",
    "detect_linear_equation",
    "estimate_region_lower_bound",
    "estimate_region_strict_bound",
    "estimate_region_upper_bound",
    "index_map",
    "int_set",
    "inverse_affine_iter_map",
    "iter_map_simplify",
    "normalize_iter_map_to_expr",
    "normalize_to_iter_sum",
    "solve_linear_equations",
    "solve_linear_inequalities",
    "subspace_divide",
    "union_lower_bound",
]

IntervalSet = IntSet


def _level(level: Level) -> IterMapLevel:
    if isinstance(level, IterMapLevel):
        return level
    for known in (IterMapLevel.Bijective, IterMapLevel.Surjective, IterMapLevel.NoCheck):
        if known.name.lower() == level.replace("_", "").lower():
            return known
    raise ValueError(f"there is no level {level!r}: say bijective, surjective or nocheck")


def _pairs(ranges: Mapping[Var, Any] | None) -> list[tuple[Var, Any]]:
    return [] if ranges is None else list(ranges.items())


@explained
def int_set(analyzer: Analyzer, expr: ExprLike, dom_map: Mapping[Var, IntSet]) -> IntSet:
    """Return a set with all values of `expr` while the variables run through their sets.

    Variables that `dom_map` leaves out stay in the ends of the set.
    """
    return _core.arith_int_set(analyzer, expr, _pairs(dom_map))


@explained
def deduce_bound(
    var: Var,
    cond: ExprLike,
    hint_map: Mapping[Var, IntSet],
    relax_map: Mapping[Var, IntSet],
) -> IntSet:
    """Return the values of `var` for which a comparison holds, whatever the relaxed variables are.

    Parameters
    ----------
    var
        It occurs once in `cond`, under ``+ - *`` and ``//`` only.
    cond
        One comparison, not ``!=``.
    hint_map
        Sets that tell the signs of symbolic factors.
    relax_map
        Variables for all of whose values the condition is to hold.

    Returns
    -------
    IntSet
        The set of nothing where no value will do, or none is known.
    """
    return _core.arith_deduce_bound(var, cond, _pairs(hint_map), _pairs(relax_map))


@explained
def detect_linear_equation(expr: ExprLike, vars: Sequence[Var]) -> list[Expr]:
    """Return ``[c0, ..., base]``: `expr` is ``c0 * vars[0] + ... + base``; empty if not linear."""
    return _core.arith_linear_equation(expr, vars)


@explained
def detect_clip_bound(cond: ExprLike, vars: Sequence[Var]) -> list[Expr | None]:
    """Return ``[min0, max0, ...]``, between which a conjunction of comparisons may hold.

    Each comparison is of one of the variables, with a coefficient of 1 or -1; for any other the
    list is empty. None says that there is no limit.
    """
    return _core.arith_clip_bound(cond, vars)


@explained
def detect_iter_map(
    indices: Sequence[ExprLike],
    input_iters: Iterators,
    predicate: ExprLike = True,
    check_level: Level = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> IterMapResult:
    """Find indices as sums of digits of iterators.

    Parameters
    ----------
    indices
        Sums, products with constants, ``//`` and ``%`` of the iterators.
    input_iters
        The iterators and their ranges; these may not mention other iterators.
    predicate
        What holds of the iterators: a conjunction of comparisons of sums of digits.
    check_level
        Bijective: each point of the box of indices is reached exactly once. Surjective: each is
        reached, but for those that the padding predicate tells. NoCheck: each index has the form.
    simplify_trivial_iterators
        An iterator that runs through one value is that value.
    analyzer
        What is known of other variables; None: nothing.

    Returns
    -------
    IterMapResult
        One sum of at most one term for each index; or no index, and the errors that say why.
    """
    return _core.arith_detect_iter_map(
        indices,
        _pairs(input_iters),
        predicate,
        _level(check_level),
        simplify_trivial_iterators,
        analyzer,
    )


@explained
def iter_map_simplify(
    indices: Sequence[ExprLike],
    input_iters: Iterators,
    predicate: ExprLike = True,
    check_level: Level = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[Expr]:
    """Return the indices in the simplest form that their digits give where the predicate holds.

    An index that has no such form comes back as it is. The level is there for the sake of other
    libraries: simplification holds at any.
    """
    _level(check_level)
    return _core.arith_iter_map_simplify(
        indices, _pairs(input_iters), predicate, simplify_trivial_iterators, analyzer
    )


@explained
def normalize_to_iter_sum(
    index: ExprLike, input_iters: Iterators, analyzer: Analyzer | None = None
) -> IterSumExpr:
    """Return an index as a sum of digits, large scales first; what is none is in its base."""
    return _core.arith_normalize_to_iter_sum(index, _pairs(input_iters), analyzer)


@explained
def normalize_iter_map_to_expr(expr: IterSumExpr, dtype: str = "int32") -> Expr:
    """Return the expression of type `dtype` that a sum of digits stands for."""
    return _core.arith_iter_map_to_expr(expr, dtype)


@explained
def inverse_affine_iter_map(
    iter_map: Sequence[IterSumExpr], outputs: Sequence[ExprLike]
) -> dict[Var, Expr]:
    """Return what the iterators of a bijective map are where its indices are `outputs`.

    Raises
    ------
    UserError
        When windows overlap, so that there is no inverse, or the numbers of indices differ.
    """
    return dict(_core.arith_inverse_affine_iter_map(iter_map, outputs))


@explained
def subspace_divide(
    bindings: Sequence[ExprLike],
    input_iters: Iterators,
    sub_iters: Sequence[Var],
    predicate: ExprLike = True,
    check_level: Level = IterMapLevel.Surjective,
    simplify_trivial_iterators: bool = True,
    analyzer: Analyzer | None = None,
) -> list[tuple[Any, Any]]:
    """Divide bindings into what the iterators outside and inside a subspace do.

    Returns
    -------
    list
        For each binding an outer and an inner `IterMark`, so that the binding is
        ``outer * inner.extent + inner``; then the conditions on the outer and the inner iterators.
        Empty where the inner iterators are not the digits that change fastest, or a condition is
        about both.
    """
    return _core.arith_subspace_divide(
        bindings,
        _pairs(input_iters),
        sub_iters,
        predicate,
        _level(check_level),
        simplify_trivial_iterators,
        analyzer,
    )


@explained
def estimate_region_strict_bound(
    region: Sequence[Range], var_dom: Iterators, predicate: ExprLike = True
) -> list[IntSet] | None:
    """Return the exact box that a region covers while iterators run; None where none is known."""
    return _core.arith_region_strict_bound(region, _pairs(var_dom), predicate)


@explained
def estimate_region_lower_bound(
    region: Sequence[Range], var_dom: Iterators, predicate: ExprLike = True
) -> list[IntSet] | None:
    """Return a box within what a region covers while iterators run; None where none is known."""
    return _core.arith_region_lower_bound(region, _pairs(var_dom), predicate)


@explained
def estimate_region_upper_bound(
    region: Sequence[Range], var_dom: Iterators, predicate: ExprLike = True
) -> list[IntSet]:
    """Return a box around what a region covers while iterators run; unknown sides are open."""
    return _core.arith_region_upper_bound(region, _pairs(var_dom), predicate)


@explained
def union_lower_bound(sets: Sequence[IntSet]) -> IntSet:
    """Return an interval within the union of sets: the first, and what is known to continue it."""
    return _core.arith_union_lower_bound(sets)


@explained
def solve_linear_equations(
    equations: Sequence[ExprLike] | Expr,
    variables: Sequence[Var],
    ranges: Mapping[Var, Range] | None = None,
) -> IntConstraintsTransform:
    """Solve linear equations over the integers by as many new variables as are free.

    Returns
    -------
    IntConstraintsTransform
        Its `dst` has the new variables, their ranges, and what else has to hold; the relation
        False alone where there is no solution.

    Raises
    ------
    UserError
        When a coefficient leaves 64 bits.
    """
    relations = equations if isinstance(equations, Sequence) else [equations]
    return _core.arith_solve_linear_equations(relations, variables, _pairs(ranges))


@explained
def solve_linear_inequalities(
    inequalities: Sequence[ExprLike] | Expr,
    variables: Sequence[Var],
    ranges: Mapping[Var, Range] | None = None,
    deskew_range: bool = False,
) -> IntConstraints | IntConstraintsTransform:
    """Find the best range of each variable, in terms of those after it.

    With `deskew_range`, the same in terms of new variables that start at 0: what has one value is
    that value, what has no range stays itself.

    Raises
    ------
    UserError
        When more than 4000 inequalities arise, or a coefficient leaves 64 bits.
    """
    relations = inequalities if isinstance(inequalities, Sequence) else [inequalities]
    solve = _core.arith_solve_deskewed if deskew_range else _core.arith_solve_linear_inequalities
    return solve(relations, variables, _pairs(ranges))


@explained
def index_map(
    function: Callable[..., Any],
    ndim: int | None = None,
    inverse_index_map: IndexMap | Callable[..., Any] | None = None,
    *,
    index_dtype: str = "int64",
) -> IndexMap:
    """Return the map from indices to indices that a Python function computes.

    Parameters
    ----------
    function
        Takes one index for each dimension and returns one or several; its parameters name the
        indices. ``*args`` takes what is left of `ndim`, parameters by keyword alone come last.
    ndim
        How many indices there are; needed for ``*args``.
    inverse_index_map
        The map back, where it is no sum of digits.
    index_dtype
        Of the indices.

    Raises
    ------
    ValueError
        When ``*args`` is used without `ndim`, or `ndim` is not the number of parameters.
    """
    kinds = inspect.Parameter
    first: list[str] = []
    last: list[str] = []
    rest = None
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is kinds.VAR_POSITIONAL:
            rest = name
        elif parameter.kind is kinds.KEYWORD_ONLY:
            last.append(name)
        elif parameter.kind is kinds.VAR_KEYWORD:
            raise ValueError(f"an index map takes no **{name}")
        else:
            first.append(name)
    named = len(first) + len(last)
    if rest is None and ndim not in (None, named):
        raise ValueError(f"the function takes {named} indices, ndim is {ndim}")
    if rest is not None and (ndim is None or ndim < named):
        raise ValueError(f"pass ndim, at least {named}: the function takes *{rest}")
    middle = [] if rest is None else [f"{rest}_{i}" for i in range((ndim or 0) - named)]
    variables = {name: Var(name, index_dtype) for name in first + middle + last}
    results = function(
        *(variables[name] for name in first + middle), **{name: variables[name] for name in last}
    )
    if not isinstance(results, (list, tuple)):
        results = [results]
    if inverse_index_map is not None and not isinstance(inverse_index_map, IndexMap):
        inverse_index_map = index_map(inverse_index_map, len(results), index_dtype=index_dtype)
    return IndexMap(
        initial_indices=list(variables.values()),
        final_indices=list(results),
        inverse_index_map=inverse_index_map,
    )
