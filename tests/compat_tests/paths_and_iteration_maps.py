import pytest
import tvm
import tvm.testing
from tvm import arith, te, tir
from tvm.ir import assert_structural_equal as same
from tvm.script import tir as T
from tvm.tir import floordiv as fld
from tvm.tir import floormod as flm

x, y, z = te.var("x"), te.var("y"), te.var("z")

from tvm.ir.base import get_first_structural_mismatch
from tvm.runtime import ObjectPath


def test_path_root():
    r = ObjectPath.root()
    assert isinstance(r, ObjectPath) and str(r) == "<root>" and len(r) == 1


def test_path_attr():
    p = ObjectPath.root().attr("foo")
    assert str(p) == "<root>.foo" and p.parent == ObjectPath.root()


def test_path_idx():
    p = ObjectPath.root().array_index(2)
    assert str(p) == "<root>[2]"


def test_path_map():
    p = ObjectPath.root().map_value("x")
    assert str(p) == '<root>["x"]'


def test_path_missing():
    assert str(ObjectPath.root().missing_array_element(1)) == "<root>[<missing element #1>]"
    assert str(ObjectPath.root().missing_map_entry()) == "<root>[<missing entry>]"


def test_path_prefix():
    p = ObjectPath.root().attr("a")
    q = p.attr("b")
    assert p.is_prefix_of(q) and not q.is_prefix_of(p)


def test_path_eqhash():
    a, b = ObjectPath.root().attr("a"), ObjectPath.root().attr("a")
    assert a == b and hash(a) == hash(b) and a != ObjectPath.root().attr("c")


def test_path_getprefix():
    p = ObjectPath.root().attr("a").attr("b")
    assert p.get_prefix(1) == ObjectPath.root() and p.get_prefix(3) == p
    with pytest.raises(IndexError):
        p.get_prefix(0)
    with pytest.raises(IndexError):
        p.get_prefix(4)


def pf(n):
    @T.prim_func
    def f(n: T.int32, A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(1)

    @T.prim_func
    def g(n: T.int32, A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(2)

    return (f, g) if n else (f, f)


def test_path_mismatch():
    f, g = pf(1)
    p = get_first_structural_mismatch(
        f.with_attr("global_symbol", "m"), g.with_attr("global_symbol", "m")
    )
    assert [str(q) for q in p] == ["<root>.body.body.value.value"] * 2, p


def test_path_same():
    f, g = pf(0)
    assert get_first_structural_mismatch(f, g) is None


def test_path_arrays():
    a = tvm.runtime.convert([1, 2, 3])
    b = tvm.runtime.convert([1, 9, 3])
    p = get_first_structural_mismatch(a, b)
    assert str(p[0]).startswith("<root>[1]")


def test_path_lens():
    a = tvm.runtime.convert([1, 2])
    b = tvm.runtime.convert([1])
    p = get_first_structural_mismatch(a, b)
    assert "missing element" in str(p[1])


def test_path_maps():
    a = tvm.runtime.convert({"a": 1, "b": 2})
    b = tvm.runtime.convert({"a": 1, "b": 3})
    p = get_first_structural_mismatch(a, b)
    assert str(p[0]).startswith('<root>["b"]')


def test_path_assert():
    f, g = pf(1)
    with pytest.raises(ValueError, match="<root>.body.body.value.value"):
        same(f.with_attr("global_symbol", "m"), g.with_attr("global_symbol", "m"))


def test_path_extents():
    a = tir.For(x, 0, 10, 0, tir.Evaluate(0))
    b = tir.For(x, 0, 11, 0, tir.Evaluate(0))
    p = get_first_structural_mismatch(a, b)
    assert str(p[0]) == "<root>.extent.value"


def test_path_params():
    a = tir.PrimFunc([x], tir.Evaluate(0))
    b = tir.PrimFunc([x, y], tir.Evaluate(0))
    p = get_first_structural_mismatch(a, b)
    assert "params" in str(p[0])


def dom(d):
    return {v: tvm.ir.Range(0, e) for v, e in d.items()}


def it(indices, d, exts, level="surjective", pred=True):
    r = arith.detect_iter_map(indices, dom(d), pred, check_level=level)
    if exts is None:
        assert len(r.indices) == 0
        return
    assert len(r.indices) == len(exts), r.errors
    for s, e in zip(r.indices, exts):
        e, sc, b = e if isinstance(e, tuple) else (e, 1, 0)
        if len(s.args) == 0:
            assert e == 1
            continue
        a = arith.Analyzer()
        assert (
            a.can_prove(s.args[0].extent == e)
            and a.can_prove(s.args[0].scale == sc)
            and a.can_prove(s.base == b)
        ), (s,)


IT = [
    ([x, y], {x: 3, y: 4}, [3, 4], "bijective"),
    ([x, z], {x: 3, z: 1, y: 4}, None, "bijective"),
    ([x, z], {x: 3, z: 1, y: 4}, [3, 1], "surjective"),
    ([x, x], {x: 3}, None, "surjective"),
    ([y * 3 + x + 1], {x: 3, y: 4}, [(12, 1, 1)], "surjective"),
    ([y * 4 + x], {x: 3, y: 4}, None, "surjective"),
    ([y * 2 + x], {x: 3, y: 4}, [9], "surjective"),
    ([x * 4 + y * 2], {x: 3, y: 2}, [(6, 2, 0)], "surjective"),
    ([fld(x, 8), flm(x, 8)], {x: 64}, [8, 8], "bijective"),
    ([fld(x, 6), fld(flm(x, 6), 2), flm(x, 2)], {x: 24}, [4, 3, 2], "bijective"),
    ([fld(x * 2, 4), flm(x * 2, 4)], {x: 8}, [4, (2, 2, 0)], "surjective"),
    ([x * 10 + y], {x: 13, y: 10}, [128], "surjective"),
]


@pytest.mark.parametrize("k", range(len(IT)))
def test_iter_map(k):
    r = IT[k]
    it(*r, pred=(x * 10 + y < 128) if k == 11 else True)


def test_iter_map_pred2():
    it([x * 10 + y], {x: 13, y: 10}, [(122, 1, 6)], pred=tir.all(x * 10 + y < 128, x * 10 + y >= 6))


def test_iter_map_sub():
    r = arith.subspace_divide([z * 12 + y * 3 + x], dom({x: 3, y: 4, z: 5}), [x])
    assert len(r) == 2


def test_iter_map_inverse():
    l = tir.Var("l", "int32")
    o = [tir.Var("o0", "int32"), tir.Var("o1", "int32")]
    m = arith.detect_iter_map([fld(l, 16), flm(l, 16)], dom({l: 64})).indices
    r = arith.inverse_affine_iter_map(m, o)
    assert arith.Analyzer().can_prove_equal(r[l], o[0] * 16 + o[1])


def test_iter_map_simplify():
    r = arith.iter_map_simplify(
        [fld(x * 4 + y, 4)],
        dom({x: 3, y: 4}),
        tir.const(True, "bool"),
        arith.IterMapLevel.Bijective,
    )
    assert str(r[0]) == "x"


def test_iter_map_norm():
    e = arith.normalize_to_iter_sum(x * 8 + y, dom({x: 3, y: 8}))
    assert isinstance(e, arith.IterSumExpr)


def test_iter_map_toexpr():
    m = arith.detect_iter_map([x], dom({x: 3})).indices[0]
    assert str(arith.normalize_iter_map_to_expr(m)) == "x"


def test_iter_map_pad():
    r = arith.detect_iter_map([fld(x, 7)], dom({x: 20}))
    assert len(r.indices) == 1 and r.padding_predicate is not None


def test_iter_map_deduce():
    r = arith.deduce_bound(x, (x * 4 + y < z), {y: arith.IntervalSet(y, y)}, {})
    assert r.max_value is not None


def test_iter_map_deduce2():
    r = arith.deduce_bound(x, tir.EQ(x * 5, -10), {}, {})
    assert r.min_value.value == -2 and r.max_value.value == -2


def test_iter_map_deduce3():
    r = arith.deduce_bound(
        x, x * 4 + y < z, {y: arith.IntervalSet(y, y)}, {y: arith.IntervalSet(0, 3)}
    )
    assert "pos_inf" not in str(r.max_value)


def test_iter_map_linear():
    m = arith.detect_linear_equation(x * 4 + y * 6 + 7, [x, y])
    assert [v.value for v in m] == [4, 6, 7]
    assert len(arith.detect_linear_equation(x * x, [x])) == 0


def test_iter_map_clip():
    m = arith.detect_clip_bound(tir.all(x * 1 < y * 6, x - 1 > 0), [x])
    assert len(m) == 2


def test_iter_map_region():
    r = arith.estimate_region_strict_bound(
        [tvm.ir.Range.from_min_extent(x * 8 + y, 1)], dom({x: 4, y: 8}), True
    )
    assert len(r) == 1 and r[0].max_value.value == 31
    r = arith.estimate_region_upper_bound(
        [tvm.ir.Range.from_min_extent(x * 8, 2)], dom({x: 4}), True
    )
    assert r[0] is not None


def test_iter_map_intset():
    a = arith.Analyzer()
    s = a.int_set(x + y, {x: arith.IntervalSet(0, 10)})
    assert str(s.min_value) == "y"


def test_iter_map_union():
    r = arith.int_set.union_lower_bound([arith.IntervalSet(0, 1), arith.IntervalSet(2, 3)])
    assert r.max_value.value == 3


def test_iter_map_solve():
    r = arith.solve_linear_equations([tir.EQ(x + y, 10), tir.EQ(x - y, 2)], [x, y])
    assert r.src_to_dst is not None


def test_iter_map_as_a_list():
    found = arith.detect_iter_map([x * 4 + y], {x: tvm.ir.Range(0, 3), y: tvm.ir.Range(0, 4)})
    assert len(found) == 1 and found[0].args[0].extent == 12
    assert len(arith.detect_iter_map([x * 5 + y], {x: tvm.ir.Range(0, 3), y: tvm.ir.Range(0, 4)})) == 0


if __name__ == "__main__":
    tvm.testing.main()
