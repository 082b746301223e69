# SPDX-License-Identifier: Apache-2.0
"""Integer analysis as programs that import tvm ask for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import loopsmith.compat
import pytest


@pytest.fixture
def tvm() -> Iterator[Any]:
    was_there = loopsmith.compat.install()
    import tvm as module
    import tvm.testing

    yield module
    if not was_there:
        loopsmith.compat.uninstall()


def test_sets_have_ends_that_are_values(tvm: Any) -> None:
    arith, te, tir = tvm.arith, tvm.te, tvm.tir
    x, y = te.var("x"), te.var("y")
    analyzer = arith.Analyzer()
    found = analyzer.int_set(x + y, {x: arith.IntervalSet(0, 10)})
    assert analyzer.can_prove_equal(found.min_value, y)
    assert analyzer.can_prove_equal(found.max_value, y + 10)
    lanes = arith.IntSet.vector(tir.Ramp(10, 3, 4))
    assert (lanes.min_value.value, lanes.max_value.value) == (10, 19)
    endless = arith.IntSet.vector(tir.Ramp(5, 2, tir.vscale() * 4))
    assert endless.max_value.same_as(arith.int_set.pos_inf())
    below = arith.IntervalSet(arith.int_set.neg_inf(), 0)
    both = arith.int_set.union_lower_bound([below, arith.IntervalSet(1, arith.int_set.pos_inf())])
    assert both.is_everything()
    empty = arith.IntervalSet(arith.int_set.pos_inf(), arith.int_set.neg_inf())
    assert empty.is_nothing()
    nothing = arith.deduce_bound(x, x + y, {}, {})
    assert (str(nothing.min_value), str(nothing.max_value)) == ("pos_inf", "neg_inf")
    limit = arith.deduce_bound(x, x * 4 + y < 20, {}, {y: arith.IntervalSet(0, 3)})
    assert limit.max_value.value == 4


def test_divided_maps_end_with_their_conditions(tvm: Any) -> None:
    arith, tir = tvm.arith, tvm.tir
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    loops = {x: tvm.ir.Range(0, 4), y: tvm.ir.Range(0, 8)}
    parts = arith.subspace_divide([x * 8 + y], loops, [y], x < 3)
    assert [str(mark.extent) for mark in parts[-1]] == ["x < 3", "T.bool(True)"]
    total = arith.normalize_to_iter_sum(x * 8 + y, loops)
    assert str(arith.normalize_iter_map_to_expr(total)) == "x * 8 + y"
    assert arith.Analyzer().can_prove_equal(tir.Var("n", "int64") * 0, 0)


def test_simplification_has_options_of_which_some_are_always_done(tvm: Any) -> None:
    options = {"transitively_prove_inequalities": True, "convert_boolean_to_and_of_ors": False}
    builder = tvm.tir.ir_builder.create()
    a = builder.pointer("float32", name="a")
    lane = tvm.te.thread_axis("threadIdx.x")
    builder.scope_attr(lane, "thread_extent", 8)
    with builder.if_scope(lane < 12):
        a[lane] = 1.0
    module = tvm.IRModule.from_expr(tvm.tir.PrimFunc([a], builder.get()))
    with tvm.transform.PassContext(config={"tirx.Simplify": options}):
        body = tvm.tir.transform.Simplify()(module)["main"].body
    # Neither the declaration of `a` nor the condition is in the way.
    assert isinstance(body, tvm.tir.AttrStmt)
    assert isinstance(body.body, tvm.tir.BufferStore)
    options["convert_boolean_to_and_of_ors"] = True
    with pytest.raises(AttributeError, match=r"\['convert_boolean_to_and_of_ors'\] is not prov"):
        tvm.transform.PassContext(config={"tir.Simplify": options})


def test_analyzers_remember_what_was_bound(tvm: Any) -> None:
    arith = tvm.arith
    x = tvm.te.var("x", "int64")
    analyzer = arith.Analyzer()
    assert not analyzer.const_int_bound_is_bound(x)
    bound = analyzer.const_int_bound(x)
    assert (bound.min_value, bound.max_value) == (
        arith.ConstIntBound.NEG_INF,
        arith.ConstIntBound.POS_INF,
    )
    analyzer.bind(x, tvm.ir.Range(0, 10))
    assert analyzer.const_int_bound_is_bound(x)
    analyzer.bind(x, tvm.ir.Range(0, 5), allow_override=True)
    assert analyzer.can_prove(x < 5)
    with pytest.raises(RuntimeError, match="'x' with a different const bound"):
        analyzer.bind(x, tvm.ir.Range(0, 3))
    analyzer.enabled_extensions = arith.Extension.ComparisonOfProductAndSum
    assert isinstance(analyzer.const_int_bound(x), arith.ConstIntBound)


def test_forms_are_close_to_what_was_written(tvm: Any) -> None:
    tir = tvm.tir
    x, y = tvm.te.var("x"), tvm.te.var("y")
    analyzer = tvm.arith.Analyzer()
    assert repr(analyzer.rewrite_simplify(x * 4 <= 40)) == "x <= 10"
    assert repr(analyzer.rewrite_simplify(x * 5 - (y + x - y) * 5)) == "0"
    assert repr(analyzer.canonical_simplify(x * 3 - 4 * x + 1)) == "1 - x"
    with analyzer.constraint_scope(x >= 0):
        assert repr(analyzer.rewrite_simplify(tir.truncdiv(x * 4 + 6, 2))) == "x * 2 + 3"
    doubled = tir.Ramp(x, 1, tir.vscale() * 4) * 2
    assert repr(analyzer.rewrite_simplify(doubled)) == "T.Ramp(x * 2, 2, T.vscale() * 4)"


def test_systems_are_solved_into_maps(tvm: Any) -> None:
    arith, tir = tvm.arith, tvm.tir
    x, y = tvm.te.var("x"), tvm.te.var("y")
    solved = arith.solve_linear_equations([tir.EQ(x + y, 20), tir.EQ(x - y, 10)], [x, y])
    assert (solved.src_to_dst[x].value, solved.src_to_dst[y].value) == (15, 5)
    assert solved.dst.variables == []
    ranges = {x: tvm.ir.Range(-10, 10), y: tvm.ir.Range(0, 10)}
    problem = [tir.LE(x + y, 8), tir.GE(x - y, 1)]
    found = arith.solve_linear_inequalities(problem, [x, y], ranges)
    assert tvm.ir.structural_equal(found.ranges[x].min, y + 1)
    again = arith.solve_linear_inequalities(arith.IntConstraints([x, y], ranges, problem))
    assert tvm.ir.structural_equal(again.ranges[x].min, y + 1)
    relations = [tir.EQ(x * 3 + y * 2, 6), tir.LE(x - y, 4)]
    tvm.testing.check_int_constraints_trans_consistency(
        arith.solve_linear_equations(relations, [x, y], ranges)
    )
    conditions = tir.all(*arith._ffi_api.SolveInequalitiesAsCondition([x, y], ranges, problem))
    tvm.testing.check_bool_expr_is_true(tir.all(*problem), ranges, conditions)
    tvm.testing.check_bool_expr_is_true(conditions, ranges, tir.all(*problem))
    with pytest.raises(AssertionError, match=r"Counterexample: x = -10, y = 0"):
        tvm.testing.check_bool_expr_is_true(x > y, ranges)


def test_conditions_are_narrowed_to_hold_for_all_values(tvm: Any) -> None:
    tir = tvm.tir
    i, n = tvm.te.var("i"), tvm.te.var("n")
    ranges = {n: tvm.ir.Range(0, 8)}

    def narrowed(condition: Any) -> str:
        return repr(tvm.arith._ffi_api.NarrowPredicateExpression(condition, ranges))

    assert narrowed(i > n) == "i > 7"
    assert narrowed(n < i) == "7 < i"
    assert narrowed(tir.Not(i < n)) == "not i < 7"
    assert narrowed(i // 4 > n) == "i // 4 > 7"
    assert narrowed(i % 8 == n) == "T.bool(False)"
    buffer = tir.decl_buffer((16,), "int32")
    assert narrowed(tir.And(buffer.vload(i) > 0, i <= n)) == "T.And(T.bool(False), i <= 0)"


def test_common_parts_are_counted(tvm: Any) -> None:
    x, y, z = (tvm.te.var(name) for name in "xyz")
    part = tvm.tir.floor(x + y + 0.5)
    counts = tvm.arith.detect_common_subexpr(part + x + z * tvm.tir.floor(x + y + 0.5), 2)
    assert part in counts
    assert counts[part] == 2


def test_passes_of_the_first_generations_simplify(tvm: Any) -> None:
    x = tvm.var("x")
    assert tvm.ir_pass.Equal(tvm.ir_pass.Simplify(x + 1 - 1), x)
    assert repr(tvm.ir_pass.CanonicalSimplify(x * 2 - x)) == "x"
    assert tvm.ir_pass.ExprUseVar(x + 1, x)
    assert repr(tvm.ir_pass.Substitute(x + 1, {x: tvm.const(3)})) == "T.Add(3, 1)"
    assert tvm.arith.DetectLinearEquation(x * 4 + 7, [x])[0].value == 4
    assert repr(tvm.tir.ir_pass.RemoveNoOp(tvm.tir.Evaluate(0))) == repr(tvm.tir.Evaluate(0))


def test_divisions_round_as_they_were_written(tvm: Any) -> None:
    x = tvm.te.var("x")
    analyzer = tvm.arith.Analyzer()
    analyzer.update(x, tvm.arith.ConstIntBound(0, 1000))
    tdiv, tmod, equal = tvm.tir.truncdiv, tvm.tir.truncmod, tvm.ir.structural_equal
    assert equal(analyzer.canonical_simplify(tmod(x * 8, 16)), tmod(x, 2) * 8)
    assert equal(analyzer.rewrite_simplify(tdiv(x * 2, 4)), tdiv(x, 2))
    assert equal(analyzer.rewrite_simplify(x * 2 // 4), x // 2)


def test_casts_of_constants_are_constants(tvm: Any) -> None:
    analyzer = tvm.arith.Analyzer()
    for source in ("float32", "float16", "int32", "int8"):
        for target in ("float32", "float16", "int32", "int8"):
            cast = tvm.tir.Cast(target, tvm.tir.const(3, source))
            found = analyzer.canonical_simplify(cast)
            assert tvm.ir.structural_equal(found, tvm.tir.const(3, target)), (source, target)
    assert analyzer.simplify(tvm.tir.Cast("bool", tvm.tir.const(0.5, "float32"))).value == 1


def test_multiples_are_compared_by_what_they_are_multiples_of(tvm: Any) -> None:
    x, y = tvm.te.var("x"), tvm.te.var("y")
    analyzer = tvm.arith.Analyzer()
    for before, after in [
        (x * 64 < y * 64 + 20, x <= y),
        (x * 64 < y * 64 - 20, x < y),
        (x * 64 + 63 < y * 64, x < y),
        (x * 64 + 64 < y * 64, x + 1 < y),
    ]:
        assert tvm.ir.structural_equal(analyzer.rewrite_simplify(before), after), before


def test_a_variable_leaves_a_remainder(tvm: Any) -> None:
    analyzer, x = tvm.arith.Analyzer(), tvm.te.var("x")
    analyzer.update(x, tvm.arith.ModularSet(8, 3))
    assert analyzer.modular_set(x * 2) == tvm.arith.ModularSet(16, 6)
    assert analyzer.modular_set(x + 1) == tvm.arith.ModularSet(8, 12)
