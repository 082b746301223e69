import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import arith, te, tir
from tvm.ir import assert_structural_equal as same
from tvm.script import ir as I
from tvm.script import tir as T


@T.prim_func
def elementwise(a: T.handle, c: T.handle) -> None:
    A = T.match_buffer(a, (128, 128))
    C = T.match_buffer(c, (128, 128))
    B = T.alloc_buffer((128, 128))
    for i, j in T.grid(128, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(128, 128):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0



def test_index_map_sep():
    m, s = tir.IndexMap.from_func_with_separators(
        lambda i: [i // 4, tir.IndexMap.AXIS_SEPARATOR, i % 4]
    )
    assert list(s) == [1] and len(m.final_indices) == 2



def test_index_map_inv():
    m = tir.IndexMap.from_func(lambda i, j: [j, i])
    assert m.inverse([4, 8]).is_equivalent_to(tir.IndexMap.from_func(lambda i, j: [j, i]))


def test_index_map_inv2():
    m = tir.IndexMap.from_func(lambda i: [i // 4, i % 4])
    e = tir.IndexMap.from_func(lambda i, j: [i * 4 + j])
    assert m.inverse([16]).is_equivalent_to(e)


def test_index_map_shape():
    m = tir.IndexMap.from_func(lambda i: [i // 4, i % 4])
    assert [int(v) for v in m.map_shape([16])] == [4, 4]


def test_index_map_nonsurj():
    m = tir.IndexMap.from_func(lambda i: [i // 4, i % 4])
    inv, p = m.non_surjective_inverse([14])
    assert "3" in str(p)


def test_index_map_nd():
    m = tir.IndexMap.from_func(lambda i, j: [j, i])
    a = tvm.nd.array(np.arange(6, dtype="float32").reshape(2, 3))
    np.testing.assert_array_equal(m.map_ndarray(a).numpy(), a.numpy().T)



def test_index_map_sch():
    s = tir.Schedule(elementwise)
    s.transform_layout("B", ("write", 0), lambda i, j: [i, tir.IndexMap.AXIS_SEPARATOR, j])
    assert "axis_separators" in str(s.mod)


def test_index_map_setsep():
    s = tir.Schedule(elementwise)
    s.set_axis_separator("B", ("write", 0), [1])
    assert "axis_separators=[1]" in str(s.mod)


@T.prim_func
def retn(x: T.int32) -> T.int32:
    T.ret(x * 2)


def test_returned_ret():
    f = tvm.build(retn)
    assert f(21) == 42


def test_returned_float():
    @T.prim_func
    def g(x: T.float32) -> T.float32:
        T.ret(x + T.float32(0.5))

    assert tvm.build(g)(1.0) == 1.5


def test_returned_if():
    @T.prim_func
    def g(x: T.int32) -> T.int32:
        if x > 0:
            T.ret(1)
        else:
            T.ret(0)

    h = tvm.build(g)
    assert (h(3), h(-3)) == (1, 0)


def test_returned_buf():
    @T.prim_func
    def g(A: T.Buffer((4,), "int32")) -> T.int32:
        T.ret(A[0] + A[3])

    assert tvm.build(g)(tvm.nd.array(np.array([1, 2, 3, 4], "int32"))) == 5


def test_returned_call():
    @I.ir_module
    class M:
        @T.prim_func
        def main(x: T.int32) -> T.int32:
            T.ret(M.sub(x) + 1)

        @T.prim_func(private=True)
        def sub(x: T.int32) -> T.int32:
            T.ret(x * 3)

    assert tvm.build(M)["main"](2) == 7


def test_scalable_vscale():
    assert tir.vscale().op.name == "tir.vscale" and tir.vscale().dtype == "int32"



def test_scalable_simpl():
    assert arith.Analyzer().can_prove(tir.vscale() * 4 >= 4) and arith.Analyzer().can_prove(
        tir.vscale() * 4 * 2 == tir.vscale() * 8
    )


def test_scalable_dt():
    d = tvm.DataType("float32xvscalex4")
    assert d.bits == 32



def test_scalable_parse():
    f = tvm.script.from_source("""
@T.prim_func
def main(A: T.Buffer((50,),"int32"), B: T.Buffer((50,),"int32")):
    A[T.Ramp(11, 1, 4*T.vscale())] = B[T.Ramp(11,1,4*T.vscale())]
""")
    same(tvm.script.from_source(f.script()), f)


def test_macro_basic():
    @T.macro
    def m(A, i):
        A[i] = A[i] + 1.0

    @T.prim_func(private=True)
    def f(A: T.Buffer((4,), "float32")):
        for i in range(4):
            m(A, i)

    @T.prim_func(private=True)
    def g(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] + 1.0

    same(f, g)


def test_macro_kwargs():
    @T.macro
    def m(*args, **kw):
        T.evaluate(args[0] + kw["k"])

    @T.prim_func(private=True)
    def f():
        m(1, k=2)

    @T.prim_func(private=True)
    def g():
        T.evaluate(3)

    same(f, g)


def test_macro_hyg():
    x = 10

    @T.macro(hygienic=True)
    def m():
        T.evaluate(x)

    x = 20

    @T.prim_func(private=True)
    def f():
        for x in range(3):
            m()

    assert "10" in str(f) or "20" in str(f)


def test_macro_nonhyg():
    @T.macro(hygienic=False)
    def m():
        T.evaluate(x)

    @T.prim_func(private=True)
    def f():
        for x in range(3):
            m()

    assert "T.evaluate(x)" in str(f)


def test_macro_alloc():
    def helper(n):
        return T.alloc_buffer((n,), "float32")

    @T.prim_func(private=True)
    def f(A: T.Buffer((4,), "float32")):
        B = helper(4)
        for i in range(4):
            B[i] = A[i]

    assert "alloc_buffer" in str(f)


def test_macro_meta():
    @T.prim_func(private=True)
    def f(A: T.Buffer((4,), "int32")):
        p = T.meta_var((1, 2))
        A[0] = p[0] + p[1]

    assert "3" in str(f)


def test_macro_metavar2():
    @T.prim_func(private=True)
    def f(a: T.int32):
        i = T.meta_var(a)
        T.evaluate(i + 1)

    assert "T.evaluate(a + 1)" in str(f)


def test_layout_basic():
    l = tir.layout("NCHW16c")
    assert (
        l.name == "NCHW16c"
        and len(l) == 5
        and "c" in l
        and l.index_of("c") == 4
        and l.factor_of("C") == 16
    )


def test_layout_bij():
    b = tir.bijective_layout("NCHW", "NCHW16c")
    assert [int(v) for v in b.forward_shape([1, 32, 7, 7])] == [1, 2, 7, 7, 16]
    assert [int(v) for v in b.backward_shape([1, 2, 7, 7, 16])] == [1, 32, 7, 7]


def test_layout_idx():
    b = tir.bijective_layout("NCHW", "NCHW4c")
    r = b.forward_index([0, 9, 2, 3])
    assert [int(v) for v in r] == [0, 2, 2, 3, 1]
    assert [int(v) for v in b.backward_index([0, 2, 2, 3, 1])] == [0, 9, 2, 3]


def test_layout_err():
    with pytest.raises((tvm.TVMError, ValueError)):
        tir.layout("N16")
    with pytest.raises((tvm.TVMError, ValueError)):
        tir.layout("NN")


def test_schedule_shared_threads():
    @T.prim_func
    def f(A: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")):
        B = T.alloc_buffer((128,))
        for i in range(128):
            with T.block("B"):
                v = T.axis.spatial(128, i)
                B[v] = A[v] * 2.0
        for i in range(128):
            with T.block("C"):
                v = T.axis.spatial(128, i)
                C[v] = B[v] + 1.0

    s = tir.Schedule(f)
    o, i = s.split(s.get_loops("C")[0], [None, 32])
    s.bind(o, "blockIdx.x")
    s.bind(i, "threadIdx.x")
    s.set_scope("B", 0, "shared")
    s.compute_at("B", o)
    s.bind(s.get_loops("B")[-1], "threadIdx.x")


def test_schedule_revcompute_unit():
    @T.prim_func
    def f(A: T.Buffer((1, 128), "float32"), C: T.Buffer((1, 128), "float32")):
        B = T.alloc_buffer((1, 128))
        for i, j in T.grid(1, 128):
            with T.block("B"):
                v, w = T.axis.remap("SS", [i, j])
                B[v, w] = A[v, w] * 2.0
        for i, j in T.grid(1, 128):
            with T.block("C"):
                v, w = T.axis.remap("SS", [i, j])
                C[v, w] = B[v, w] + 1.0

    s = tir.Schedule(f)
    s.reverse_compute_at("C", s.get_loops("B")[1])


def test_schedule_cacheread_one():
    s = tir.Schedule(elementwise)
    b = s.cache_read("C", 0, "shared", consumer_blocks=["C"])
    s.compute_at(b, s.get_loops("C")[0])


def test_schedule_reads_own():
    @T.prim_func
    def f(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
        for i, k in T.grid(8, 8):
            with T.block("C"):
                v, w = T.axis.remap("SR", [i, k])
                T.reads(C[v], A[v, w])
                T.writes(C[v])
                with T.init():
                    C[v] = 0.0
                C[v] = C[v] + A[v, w]

    s = tir.Schedule(f)
    s.decompose_reduction("C", s.get_loops("C")[1])




def test_schedule_const():
    @T.prim_func
    def f(C: T.Buffer((4,), "int32")):
        K = T.allocate_const([1, 2, 3, 4], "int32", [4])
        KB = T.decl_buffer((4,), "int32", data=K)
        for i in range(4):
            with T.block("C"):
                v = T.axis.spatial(4, i)
                C[v] = KB[v]

    s = tir.Schedule(f)
    s.vectorize(s.get_loops("C")[0])


if __name__ == "__main__":
    tvm.testing.main()
