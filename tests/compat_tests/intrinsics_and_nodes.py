import pytest
import tvm
import tvm.testing
from tvm import te, tir
from tvm.ir import assert_structural_equal as same

INTR = [
    "T.exp(x, dtype='float32')",
    "T.call_extern('float32','f',x)",
    "T.call_intrin('float32','tir.exp',x)",
    "T.tvm_stack_alloca('array', 1, dtype='handle')",
    "T.tvm_access_ptr(T.type_annotation('float32'), A.data, 0, 4, 1, dtype='handle')",
    "T.ptx_ldmatrix(T.bool(True), 4, '.b16', A.data, 0, A.data, 0, dtype='float16')",
    "T.if_then_else(n > 0, x, x, dtype='float32')",
    "T.floor(x, dtype='float32')",
    "T.tvm_load_matrix_sync(A.data, 16,16,16, 0, A.data, 16, 'row_major', dtype='handle')",
    "T.call_llvm_pure_intrin('float32', 'llvm.fabs', T.uint32(1), x)",
    "T.call_packed('p', 1, dtype='int32')",
    "T.tvm_call_packed('p', A.data, dtype='int32')",
    "T.max_value('int32')",
    "T.min_value('int8')",
    "T.shift_left(n, 2, dtype='int32')",
    "T.popcount(n, dtype='int32')",
    "T.q_multiply_shift(n, 3, 31, 1, dtype='int32')",
    "T.ret(0, dtype='int32')",
    "T.address_of(A[0], dtype='handle')",
    "T.lookup_param('p0', dtype='handle')",
    "T.reinterpret(n, dtype='float32')",
    "T.undef(dtype='int32')",
    "T.tvm_thread_allreduce(T.uint32(1), x, T.bool(True), A[0], 1, dtype='handle')",
    "T.vectorlow(T.Broadcast(x,8), dtype='float32x4')",
    "T.vectorcombine(T.Broadcast(x,4),T.Broadcast(x,4), dtype='float32x8')",
    "T.tvm_struct_get(A.data, 0, 1, dtype='handle')",
    "T.tvm_struct_get(A.data, 0, 5, 'int32')",
    "T.mma_fill(8, A.data, 0, dtype='float32')",
    "T.ptx_cp_async(A.data,0,A.data,0,16,dtype='float16')",
    "T.ptx_wait_group(0, dtype='')",
    "T.ptx_commit_group(dtype='')",
    "T.tvm_storage_sync('shared', dtype='int32')",
    "T.start_profile_intrinsic(5, dtype='handle')",
    "T.atan2(x, x, dtype='float32')",
    "T.pow(x, x, dtype='float32')",
    "T.fmod(x,x,dtype='float32')",
    "T.call_pure_extern('float32','g', x)",
    "T.erf(x, dtype='float32')",
]


@pytest.mark.parametrize("e", INTR)
def test_intrinsic_parses(e):
    src = f"""
# from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((16,), "float32"), n: T.int32, x: T.float32):
    T.evaluate({e})
"""
    f = tvm.script.from_source(src)
    same(tvm.script.from_source(f.script()), f)


def test_node_equal():
    x, y = te.var("x"), te.var("y")
    assert isinstance(x.equal(y), tir.EQ) and isinstance((x == y).asobject(), tir.EQ)
    assert bool(x == x) and not bool(x == y)


def test_node_itervar():
    x = tir.Var("x", "int32")
    v = tir.IterVar((0, 10), x, tir.IterVar.DataPar)
    assert v.iter_type == 0
    v = tir.IterVar(tvm.ir.Range(0, 10), "x", 2, "tag")
    assert v.thread_tag == "tag" and v.var.name == "x"


def test_node_hash():
    x, y = te.var("x"), te.var("y")
    assert tvm.ir.structural_hash(x + 1, map_free_vars=True) == tvm.ir.structural_hash(
        y + 1, map_free_vars=True
    )


def test_node_max_axis():
    k = te.reduce_axis((0, 10), "k")
    A = te.placeholder((10,), name="A")
    r = te.max(A[k], axis=k)
    assert isinstance(r, tir.Reduce)
    assert isinstance(tir.max(A[k], axis=k), tir.Reduce)


def test_node_map_items():
    m = tvm.runtime.convert({"a": 1, "b": 2})
    assert sorted(k for k, _ in m.items()) == ["a", "b"] and "a" in m and len(m) == 2


def test_node_array():
    a = tvm.runtime.convert([1, 2, 3])
    assert a[1] == 2
    assert len(a[:-1]) == 2 and a[-1] == 3


def test_node_for_kind():
    x = tir.Var("x", "int32")
    f = tir.For(x, 0, 10, tir.ForKind.UNROLLED, tir.Evaluate(0))
    assert f.kind == tir.ForKind.UNROLLED
    assert tir.stmt.ForKind.SERIAL == 0


def test_node_range():
    r = tvm.ir.Range(1, 5)
    assert r.extent == 4
    assert tvm.ir.Range.from_min_extent(1, 5).extent == 5
    assert tvm.ir.Range(10).extent == 10


def test_node_call_attrs():
    c = tir.Call("float32", "tir.exp", [tir.FloatImm("float32", 1)])
    assert c.op.name == "tir.exp" and len(c.args) == 1


def test_node_select_ramp():
    x = te.var("x")
    s = tir.Select(x > 0, x, 0)
    assert s.true_value.same_as(x)
    r = tir.Ramp(x, 1, 4)
    assert (r.base.same_as(x), r.stride.value, r.lanes) == (True, 1, 4)
    sh = tir.Shuffle([tir.Ramp(0, 1, 4)], [0, 1])
    assert sh.dtype == "int32x2"


def test_node_shuffle():
    a = tir.Var("a", "int32")
    s = tir.Shuffle([a], [0])
    assert s.indices[0].value == 0


def test_node_reduce_ctor():
    x, y = te.var("x"), te.var("y")
    c = tir.CommReducer([x], [y], [x + y], [tir.const(0, "int32")])
    k = te.reduce_axis((0, 4))
    r = tir.Reduce(c, [k.var], [k], tir.const(True), 0)
    assert r.value_index == 0 and len(r.axis) == 1


def test_node_block_ctor():
    A = tir.decl_buffer((4,))
    x = tir.Var("x", "int32")
    iv = tir.IterVar(tvm.ir.Range(0, 4), x, 0)
    b = tir.Block(
        [iv],
        [],
        [tir.BufferRegion(A, [tvm.ir.Range.from_min_extent(x, 1)])],
        "b",
        tir.BufferStore(A, 1.0, [x]),
    )
    r = tir.BlockRealize([tir.IntImm("int32", 0)], True, b)
    assert r.predicate


def test_node_buffer_region():
    A = tir.decl_buffer((4, 4))
    r = tir.BufferRegion(A, [tvm.ir.Range(0, 4), tvm.ir.Range(1, 2)])
    assert tir.MatchBufferRegion(tir.decl_buffer((4, 1)), r).source.same_as(r)
    assert A.__getitem__((slice(0, 4), 0)) is not None


def test_node_int_imm():
    assert (
        int(tir.IntImm("int32", 5)) == 5
        and tir.IntImm("int32", 5) == 5
        and hash(tir.IntImm("int32", 5)) is not None
    )
    with pytest.raises(Exception):
        tir.IntImm("int8", 300)


def test_node_string():
    s = tir.StringImm("hello")
    assert s.value == "hello" and s == "hello" and s != "x"


def test_node_let():
    x = tir.Var("x", "int32")
    l = tir.Let(x, 1, x + 1)
    assert l.var.same_as(x)


def test_node_attrs():
    a = tvm.ir.make_node("ir.DictAttrs", x=1, y=10, name="xyz")
    assert a["x"] == 1


def test_node_convert():
    assert tvm.runtime.convert(1) is not None
    assert tvm.runtime.convert("a") == "a"


def test_node_expr_cmp():
    a = te.var("a")
    assert (
        str(a < 1) == "a < 1"
        and str(tir.any(a < 1, a > 3)) == "a < 1 or a > 3"
        and str(tir.all(a < 1, a > 3)) == "a < 1 and a > 3"
    )


def test_node_bool_raises():
    a = te.var("a")
    for f in (lambda: bool(a < 1), lambda: not a, lambda: a < 1 and a > 2):
        with pytest.raises(ValueError):
            f()


def test_node_dtype():
    d = tvm.DataType("float32x4")
    assert (d.bits, d.lanes) == (32, 4)
    assert tvm.runtime.DataType("int8").bits == 8 and str(d) == "float32x4"


def test_node_bitwise():
    x = te.var("x")
    assert [e.op.name for e in (x << 10, x & 3, ~x)] == [
        "tir.shift_left",
        "tir.bitwise_and",
        "tir.bitwise_not",
    ]
    with pytest.raises(tvm.TVMError):
        te.var("z", "float32") << 10


def test_node_cast():
    x = te.var("x")
    assert (
        x.astype("float32").dtype == "float32"
        and x.astype("int32") is x
        or x.astype("int32").same_as(x)
    )


def test_node_producer():
    A = te.placeholder((4,), name="A")
    l = A[0]
    assert isinstance(l, tir.ProducerLoad) and l.producer == A


def test_node_primfunc_ctor():
    x = tir.Var("x", "int32")
    A = tir.decl_buffer((4,))
    f = tir.PrimFunc([x, A], tir.Evaluate(x))
    assert len(f.params) == 2 and len(f.buffer_map) == 1
    assert (
        f.with_attr("a", 1).attrs["a"] == 1 and f.with_body(tir.Evaluate(0)).body.value.value == 0
    )
    assert f.with_attr({"a": 1, "b": 2}).without_attr("a").attrs["b"] == 2


def test_the_op_of_a_call_is_an_op():
    call = tir.exp(tir.Var("x", "float32"))
    assert isinstance(call.op, tvm.ir.Op) and call.op.same_as(tvm.ir.Op.get("tir.exp"))


def test_a_loop_takes_no_wider_bounds():
    i = tir.Var("i", "int32")
    with pytest.raises(tvm.TVMError):
        tir.For(i, 0, tir.const(10, "int64"), tir.ForKind.SERIAL, tir.Evaluate(0))
    loop = tir.For(tir.Var("i", "int64"), 0, 10, tir.ForKind.SERIAL, tir.Evaluate(0))
    assert loop.extent.dtype == "int64"


def test_the_options_of_a_target():
    target = tvm.target.Target("llvm -mcpu=skylake -mattr=+avx2,+fma")
    assert target.mcpu == "skylake" and target.mattr == ["+avx2", "+fma"]
    assert tvm.target.Target({"kind": "cuda", "arch": "sm_80"}).arch == "sm_80"


def test_a_text_says_where_its_words_are_from():
    f = tir.PrimFunc([], tir.Evaluate(0)).with_attr("global_symbol", "f")
    assert f.script().startswith("# from tvm.script import tir as T\n\n@T.prim_func")
    assert f.script() == tvm.script.from_source(f.script()).script()
    module = tvm.IRModule({"f": f})
    assert "# from tvm.script import ir as I\n" in module.script()
    assert "loopsmith" not in module.script()


def test_a_loop_by_the_words_of_its_generation():
    i = tir.Var("i", "int32")
    kind = tir.ForKind.PARALLEL
    by_name = tir.For(loop_var=i, min_val=2, extent=5, kind=kind, body=tir.Evaluate(i))
    assert tvm.ir.structural_equal(by_name, tir.For(i, 2, 5, kind, tir.Evaluate(i)))


if __name__ == "__main__":
    tvm.testing.main()
