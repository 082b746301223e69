# SPDX-License-Identifier: Apache-2.0
"""``tvm.arith.int_solver``: linear systems, with their parts as maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import loopsmith.arith as core
from loopsmith import tir

from ...missing import other_names

__all__ = [
    "IntConstraints",
    "IntConstraintsTransform",
    "IntGroupBounds",
    "solve_linear_equations",
    "solve_linear_inequalities",
]


class IntGroupBounds:
    """What is known of ``coef * x``: values that it has, and its least and greatest ones.

    Parameters
    ----------
    coef
        The factor.
    lower
        Ends below: it is at least each of them.
    equal
        Values that it has.
    upper
        Ends above, included.
    """

    def __init__(
        self, coef: Any, lower: Sequence[Any], equal: Sequence[Any], upper: Sequence[Any]
    ) -> None:
        self.coef = tir.const(coef)
        self.lower, self.equal, self.upper = list(lower), list(equal), list(upper)

    @staticmethod
    def from_range(rng: tir.Range) -> IntGroupBounds:
        """Return the bounds of what runs through a range."""
        if isinstance(rng.extent, tir.IntImm) and int(rng.extent) == 1:
            return IntGroupBounds(1, [], [rng.min], [])
        last = core.Analyzer().simplify(rng.min + rng.extent - 1)
        return IntGroupBounds(1, [rng.min], [], [last])

    def find_best_range(self, ranges: Mapping[Any, Any] | None = None) -> tir.Range | None:
        """Return the smallest range of ``x`` between two known ends; None where there is none.

        Parameters
        ----------
        ranges
            Of the variables in the ends.
        """
        analyzer = core.Analyzer()
        for var, known in (ranges or {}).items():
            analyzer.bind(var, known)
        best: tuple[int, tir.Range] | None = None
        for low in [*self.lower, *self.equal]:
            for high in [*self.upper, *self.equal]:
                first = tir.ceildiv(low, self.coef)
                count = analyzer.simplify(tir.floordiv(high, self.coef) - first + 1)
                size = analyzer.const_int_bound(count).max_value
                if best is None or size < best[0]:
                    best = size, tir.Range(analyzer.simplify(first), count)
        return best[1] if best else None


class IntConstraints:
    """Conditions on variables: `ranges` of some of them, and `relations`."""

    def __init__(
        self,
        variables: Sequence[Any],
        ranges: Mapping[Any, Any] | None = None,
        relations: Sequence[Any] = (),
    ) -> None:
        self.variables = list(variables)
        self.ranges = dict(ranges or {})
        self.relations = list(relations)


class IntConstraintsTransform:
    """The same solutions, told by other variables."""

    def __init__(
        self,
        src: IntConstraints,
        dst: IntConstraints,
        src_to_dst: Mapping[Any, Any],
        dst_to_src: Mapping[Any, Any],
    ) -> None:
        self.src, self.dst = src, dst
        self.src_to_dst, self.dst_to_src = dict(src_to_dst), dict(dst_to_src)


def _constraints(known: Any) -> IntConstraints:
    return IntConstraints(known.variables, dict(known.ranges), known.relations)


def _transform(known: Any) -> IntConstraintsTransform:
    return IntConstraintsTransform(
        _constraints(known.src),
        _constraints(known.dst),
        dict(known.src_to_dst),
        dict(known.dst_to_src),
    )


def _relations(given: Any) -> list[Any]:
    return [given] if isinstance(given, tir.Expr) else list(given)


def solve_linear_equations(
    equations: Any,
    variables: Sequence[Any] | None = None,
    ranges: Mapping[Any, Any] | None = None,
) -> IntConstraintsTransform:
    """Solve linear equations; see `loopsmith.arith`."""
    if isinstance(equations, IntConstraints):
        return solve_linear_equations(equations.relations, equations.variables, equations.ranges)
    solved = core.solve_linear_equations(_relations(equations), variables or [], ranges or {})
    return _transform(solved)


def solve_linear_inequalities(
    equations: Any,
    variables: Sequence[Any] | None = None,
    ranges: Mapping[Any, Any] | None = None,
    deskew_range: bool = False,
) -> Any:
    """Find the range of each variable in terms of those after it; see `loopsmith.arith`."""
    if isinstance(equations, IntConstraints):
        variables, ranges = equations.variables, equations.ranges
        equations = equations.relations
    solved = core.solve_linear_inequalities(
        _relations(equations), variables or [], ranges or {}, deskew_range
    )
    return _transform(solved) if deskew_range else _constraints(solved)


__getattr__ = other_names("tvm.arith.int_solver", core)
