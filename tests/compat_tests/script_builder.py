import pytest
import tvm
import tvm.testing
from tvm import tir
from tvm.ir import assert_structural_equal as same
from tvm.script import tir as T
from tvm.script.ir_builder import IRBuilder
from tvm.script.ir_builder import ir as IB
from tvm.script.ir_builder import tir as TB


def test_builder_primfunc_base():
    with IRBuilder() as ib:
        with TB.prim_func():
            TB.evaluate(0)
    f = ib.get()
    assert isinstance(f, tir.PrimFunc)

    @T.prim_func(private=True)
    def g():
        T.evaluate(0)

    same(f, g)


def test_builder_primfunc_complete():
    with IRBuilder() as ib:
        with TB.prim_func():
            TB.func_name("test")
            TB.func_attr({"key": "value"})
            a = TB.arg("a", TB.handle())
            b = TB.arg("b", TB.int64())
            c = TB.arg("c", TB.Buffer((128, 128), "float32"))
            d = TB.match_buffer(a, (64, 64), "int64")
            TB.func_ret(tvm.ir.PrimType("int64"))
            TB.evaluate(0)
    f = ib.get()
    assert len(f.params) == 3 and f.attrs["key"] == "value"
    assert f.buffer_map[f.params[0]].dtype == "int64"
    assert f.ret_type.dtype == "int64"


def test_builder_block_base():
    with IRBuilder() as ib:
        with TB.block("block"):
            TB.evaluate(0)
    r = ib.get()
    assert isinstance(r, tir.BlockRealize) and r.block.name_hint == "block"


def test_builder_block_complete():
    with IRBuilder() as ib:
        a = TB.int64()
        b = TB.Buffer((128, 128), "float32")
        c = TB.Buffer((128, 128), "float32")
        d = TB.int32()
        e = TB.Buffer((128, 128), "float32")
        f = TB.int32()
        with TB.block("block"):
            TB.where(a > 1)
            TB.reads(b[0:16, 0:16])
            TB.writes(c[d:128, d:128])
            TB.block_attr({"key": "value"})
            g = TB.alloc_buffer((128, 128))
            h = TB.match_buffer(e[0:32, 0:32], (32, 32))
            TB.axis.spatial(128, f)
            TB.evaluate(0)
    r = ib.get()
    assert (
        len(r.block.reads) == 1
        and len(r.block.match_buffers) == 1
        and len(r.block.alloc_buffers) == 1
    )
    assert r.block.annotations["key"] == "value"


def test_builder_axis():
    with IRBuilder() as ib:
        a, b, c, d = TB.int32(), TB.int32(), TB.int32(), TB.int32()
        with TB.block("b"):
            s = TB.axis.spatial(8, a)
            r = TB.axis.reduce(16, b)
            sc = TB.axis.scan(32, c)
            o = TB.axis.opaque(64, d)
            TB.evaluate(0)
    r = ib.get()
    assert [v.iter_type for v in r.block.iter_vars] == [0, 2, 3, 4]


def test_builder_remap():
    with IRBuilder() as ib:
        with TB.grid(16, 8) as (i, j):
            with TB.block("b"):
                vi, vj = TB.axis.remap("SR", [i, j])
                TB.evaluate(vi + vj)
    l = ib.get()
    assert isinstance(l, tir.For)


@pytest.mark.parametrize("k", ["serial", "parallel", "vectorized", "unroll"])
def test_builder_for(k):
    with IRBuilder() as ib:
        with getattr(TB, k)(0, 128) as i:
            TB.evaluate(0)
    assert int(ib.get().kind) == {"serial": 0, "parallel": 1, "vectorized": 2, "unroll": 3}[k]


def test_builder_thread_binding():
    with IRBuilder() as ib:
        with TB.thread_binding(0, 32, thread="blockIdx.x") as i:
            TB.evaluate(0)
    f = ib.get()
    assert f.thread_binding.thread_tag == "blockIdx.x" and f.kind == tir.ForKind.THREAD_BINDING


def test_builder_assert():
    with IRBuilder() as ib:
        with TB.Assert(TB.int32() == 0, message="a is 0"):
            TB.evaluate(0)
    a = ib.get()
    assert isinstance(a, tir.AssertStmt) and a.message.value == "a is 0"


def test_builder_let():
    with IRBuilder() as ib:
        with TB.LetStmt(TB.int32(2)) as v:
            TB.evaluate(v)
    assert isinstance(ib.get(), tir.LetStmt)


def test_builder_let_var():
    v = tir.Var("v", "int32")
    with IRBuilder() as ib:
        with TB.LetStmt(tir.IntImm("int32", 2), var=v):
            TB.evaluate(v)
    same(ib.get(), tir.LetStmt(v, tir.IntImm("int32", 2), tir.Evaluate(v)), True)


def test_builder_realize():
    buf = TB.Buffer((128, 128), "float32")
    with IRBuilder() as ib:
        with TB.realize(buf[0:128, 0:128], "test_storage_scope", True):
            TB.evaluate(0)
    assert isinstance(ib.get(), tir.BufferRealize)


def test_builder_launch_thread():
    with IRBuilder() as ib:
        br = TB.env_thread("blockIdx.y")
        with TB.launch_thread(br, 4):
            TB.evaluate(0)
    a = ib.get()
    assert a.attr_key == "thread_extent" and a.value == 4


def test_builder_launch_thread_str():
    with IRBuilder() as ib:
        with TB.launch_thread("threadIdx.x", 4) as tx:
            TB.evaluate(tx)
    assert isinstance(ib.get(), tir.AttrStmt)


def test_builder_allocate():
    with IRBuilder() as ib:
        with TB.allocate([10], "float32", scope="local"):
            TB.evaluate(1)
    a = ib.get()
    assert isinstance(a, tir.Allocate) and a.extents[0] == 10


def test_builder_allocate_const():
    with IRBuilder() as ib:
        with TB.allocate_const([1, 1, 1, 1, 1], "int32", [5]):
            TB.evaluate(1)
    assert isinstance(ib.get(), tir.AllocateConst)


def test_builder_while():
    with IRBuilder() as ib:
        with TB.While(TB.int32() > 2):
            TB.evaluate(0)
    assert isinstance(ib.get(), tir.While)


def test_builder_if():
    with IRBuilder() as ib:
        with TB.If(TB.int32() < 12):
            with TB.Then():
                TB.evaluate(0)
            with TB.Else():
                TB.evaluate(1)
    i = ib.get()
    assert i.else_case is not None


def test_builder_buffer_store():
    a = TB.Buffer((10, 10), "float32")
    i = tir.Var("x", "int32")
    with IRBuilder() as ib:
        TB.buffer_store(a, 0.1, [0, i])
    same(ib.get(), tir.BufferStore(a, 0.1, [0, i]), True)


def test_builder_store_scalable():
    a = TB.Buffer((30,), "float32")
    with IRBuilder() as ib:
        TB.buffer_store(
            a,
            tir.Broadcast(tir.FloatImm("float32", 1), 4 * tir.vscale()),
            [tir.Ramp(0, 1, 4 * tir.vscale())],
        )
    assert ib.get().value.dtype == "float32xvscalex4"


def test_builder_store_predicate():
    a = TB.Buffer((30,), "float32")
    with IRBuilder() as ib:
        TB.buffer_store(
            a,
            tir.Broadcast(tir.FloatImm("float32", 1), 4),
            [tir.Ramp(0, 1, 4)],
            tir.Broadcast(tir.IntImm("bool", 1), 4),
        )
    assert ib.get().predicate is not None


def test_builder_prefetch():
    with IRBuilder() as ib:
        a = TB.Buffer((128, 128), "float32")
        TB.prefetch(a, [tvm.ir.Range(0, 64), tvm.ir.Range(0, 64)])
    assert isinstance(ib.get(), tir.Prefetch)


def test_builder_evaluate():
    with IRBuilder() as ib:
        TB.evaluate(0)
    same(ib.get(), tir.Evaluate(0))


def test_builder_decl_buffer():
    with IRBuilder() as ib:
        with TB.decl_buffer([128, 128]) as b:
            TB.evaluate(0)
    assert "128" in str(ib.get())


def test_builder_module():
    with IRBuilder() as ib:
        with IB.ir_module():
            with TB.prim_func():
                TB.func_name("foo")
                TB.evaluate(0)
            with TB.prim_func():
                TB.func_name("bar")
                TB.evaluate(1)
    m = ib.get()
    assert sorted(g.name_hint for g, _ in m.functions.items()) == ["bar", "foo"]



def test_builder_current():
    with pytest.raises(ValueError):
        IRBuilder.current()
    with IRBuilder() as ib:
        assert IRBuilder.current().same_as(ib)
        assert IRBuilder.is_in_scope()
        TB.evaluate(0)



def test_builder_addressof():
    A = TB.Buffer((128, 128), "float32")
    assert TB.address_of(A[0, 0]).op.name == "tir.address_of"


def test_builder_attr():
    with IRBuilder() as ib:
        with TB.attr(tir.IntImm("int32", 0), "k", 1):
            TB.evaluate(0)
    assert ib.get().attr_key == "k"


def test_builder_init():
    with IRBuilder() as ib:
        with TB.block("b"):
            with TB.init():
                TB.evaluate(0)
            TB.evaluate(1)
    assert ib.get().block.init is not None


def test_variables_with_names():
    with IRBuilder() as ib:
        with TB.While(TB.var("int32", "steps") > 0):
            TB.evaluate(0)
    assert str(ib.get().condition) == "steps > 0"
    assert TB.var(name="rows").name == "rows"


if __name__ == "__main__":
    tvm.testing.main()
