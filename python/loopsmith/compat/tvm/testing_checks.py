# SPDX-License-Identifier: Apache-2.0
"""Checks of expressions and of passes, as tests write them."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

import loopsmith as ls
import loopsmith.arith
from loopsmith import tir
from loopsmith.script.decorators import parse_definition

from .ir import IRModule, assert_written_alike

__all__ = [
    "CompareBeforeAfter",
    "assert_prim_expr_equal",
    "check_bool_expr_is_true",
    "check_int_constraints_trans_consistency",
]


def assert_prim_expr_equal(lhs: Any, rhs: Any) -> None:
    """Raise a ValueError unless two expressions are the same, or known to be equal."""
    left, right = tir.const(lhs), tir.const(rhs)
    if ls.structural_equal(left, right):
        return
    if not loopsmith.arith.Analyzer().can_prove_equal(left, right):
        raise ValueError(f"{left!r} and {right!r} are not equal")


def _values(expr: Any, ranges: Mapping[Any, Any]) -> np.ndarray:
    """Compute an expression for all values of its variables."""
    from loopsmith import te

    extents = [int(r.extent) for r in ranges.values()] or [1]

    def body(*indices: Any) -> Any:
        at = {var: i + r.min for (var, r), i in zip(ranges.items(), indices)}
        return tir.cast("int8", tir.substitute(expr, at) if at else expr)

    tensor = te.compute(extents, body, name="values")
    out = np.zeros(extents, "int8")
    ls.build([tensor])(out)
    return out


def check_bool_expr_is_true(bool_expr: Any, vranges: Mapping[Any, Any], cond: Any = None) -> None:
    """Raise an AssertionError with a counterexample unless a condition holds for all values."""
    claim = tir.const(bool_expr, "bool") if isinstance(bool_expr, bool) else bool_expr
    if cond is not None:
        claim = tir.any(tir.Not(cond), claim)
    found = _values(claim, vranges)
    if found.all():
        return
    place = np.argwhere(found == 0)[0]
    example = ", ".join(f"{v.name} = {int(i) + int(r.min)}" for (v, r), i in
                        zip(vranges.items(), place))  # fmt: skip
    raise AssertionError(f"Expression {claim!r} is not true\nCounterexample: {example}")


def check_int_constraints_trans_consistency(
    constraints_trans: Any, vranges: Mapping[Any, Any] | None = None
) -> None:
    """Raise an AssertionError unless both sides of a transform have the same solutions."""
    outside = dict(vranges or {})

    def check(here: Any, there: Any, to: Any, back: Any) -> None:
        analyzer = loopsmith.arith.Analyzer()
        ranges = {**outside, **dict(here.ranges)}
        same = [var == analyzer.simplify(tir.substitute(to[var], back)) for var in here.variables]
        same = [tir.EQ(each.a, each.b) for each in same]
        held = [tir.substitute(relation, back) for relation in there.relations]
        for var, r in dict(there.ranges).items():
            if any(var.same_as(each) for each in there.variables):
                inside = tir.all(r.min <= var, var < r.min + r.extent)
                held.append(tir.substitute(inside, back))
        true = tir.const(True, "bool")
        claim = tir.all(true, *same, *held)
        check_bool_expr_is_true(claim, ranges, tir.all(true, *here.relations))

    found = constraints_trans
    relations = found.dst.relations
    if len(relations) == 1 and isinstance(relations[0], tir.IntImm) and not relations[0].value:
        return
    check(found.src, found.dst, found.src_to_dst, found.dst_to_src)
    check(found.dst, found.src, found.dst_to_src, found.src_to_dst)


class CompareBeforeAfter:
    """A test of a pass: `transform` makes `expected` of `before`.

    Both are scripts, modules of scripts, functions that return one, fixtures, or, for `expected`,
    a class of errors.
    """

    check_well_formed = True

    def __init_subclass__(cls) -> None:
        """Read the scripts of the class."""
        frame = sys._getframe(1)
        for name in ("before", "expected"):
            if name in vars(cls):
                setattr(cls, name, _fixture(vars(cls)[name], frame, cls.check_well_formed))

    def test_compare(self, before: Any, expected: Any, transform: Any) -> None:
        """Compare what the pass makes."""
        import pytest

        if inspect.isclass(expected) and issubclass(expected, Exception):
            with pytest.raises(expected):
                transform(_module(before))
            return
        after = transform(_module(before))
        assert_written_alike(_module(after), _module(expected), map_free_vars=True)


def _module(program: Any) -> Any:
    if not isinstance(program, tir.PrimFunc):
        return program
    return IRModule.make({"main": program.with_attr("global_symbol", "main")})


def _fixture(given: Any, frame: Any, check_well_formed: bool) -> Any:
    import pytest

    is_value = isinstance(given, (tir.PrimFunc, tir.IRModule)) or (
        inspect.isclass(given) and issubclass(given, Exception)
    )
    if (
        hasattr(given, "_pytestfixturefunction")
        or type(given).__name__ == "FixtureFunctionDefinition"
    ):
        return given
    if is_value:
        return pytest.fixture(lambda self: given)
    if inspect.isclass(given):
        return pytest.fixture(lambda self: parse_definition(given, frame))
    names = list(inspect.signature(given).parameters)
    if names[:1] == ["self"]:
        return pytest.fixture(given)
    read = parse_definition(given, frame, check_well_formed=check_well_formed)
    return pytest.fixture(lambda self: read)
