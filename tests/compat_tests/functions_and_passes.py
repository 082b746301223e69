import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import arith, te, tir
from tvm.ir import assert_structural_equal as same
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


def test_buffer_basic():
    m, n = te.size_var("m"), te.size_var("n")
    A = tir.decl_buffer((m, n), "float32")
    p = A.access_ptr("rw")
    assert (
        p.args[1].same_as(A.data)
        and p.args[4].value == 3
        and arith.Analyzer().can_prove_equal(p.args[3], m * n)
    )
    p = A.access_ptr("w")
    assert p.args[4].value == 2


def test_buffer_offset():
    A = tir.decl_buffer((16, 16), "float32")
    p = A.access_ptr("rw", offset=te.var("v"))
    assert p.args[2].name == "v"


def test_buffer_extent():
    A = tir.decl_buffer((16, 16), "float32")
    p = A.access_ptr("rw", extent=10)
    assert p.args[3] == 10
    p = A.access_ptr("rw", offset=100, extent=10)
    assert p.args[2] == 100 and p.args[3] == 10


def test_buffer_ptrtype():
    A = tir.decl_buffer((16, 16), "float32")
    p = A.access_ptr("r", content_lanes=4)
    assert p.args[0].dtype == "float32x4"


def test_buffer_offset_of():
    A = tir.decl_buffer((16, 16), "float32")
    assert [int(v) for v in A.offset_of([2, 3])] == [35]


def test_buffer_flat():
    A = tir.decl_buffer((16, 4, 8), "float32")
    f = A.get_flattened_buffer()
    assert [int(v) for v in f.shape] == [512] and f.data.same_as(A.data)


def test_buffer_flat_sep():
    A = tir.decl_buffer((16, 4, 8), "float32", axis_separators=[1])
    f = A.get_flattened_buffer()
    assert [int(v) for v in f.shape] == [16, 32] and [int(v) for v in f.axis_separators] == [1]


def test_buffer_vload():
    A = tir.decl_buffer((10, n := te.size_var("n")), "float32")
    l = A.vload([0, 0], "float32x4")
    assert l.dtype == "float32x4"


def test_buffer_strides():
    A = tir.decl_buffer((16, 16), strides=[32, 1])
    assert [int(v) for v in A.offset_of([1, 2])] == [34]


def test_buffer_bcast():
    A = tir.decl_buffer((1, 4), buffer_type="auto_broadcast")
    assert len(A.strides) == 2


def test_buffer_region():
    A = tir.decl_buffer((16, 16))
    r = A[0:4, 2:6]
    assert isinstance(r, tir.BufferRegion) and r.region[1].extent == 4


def test_buffer_scope():
    A = tir.decl_buffer((16,), scope="shared")
    assert A.scope() == "shared" and A.data.type_annotation.storage_scope == "shared"


def nest():
    x = tir.Var("x", "int32")
    A = tir.decl_buffer((4,))
    return tir.For(x, 0, 4, 0, tir.BufferStore(A, 1.0, [x])), x, A


def test_functor_post():
    s, x, A = nest()
    seen = []
    tir.stmt_functor.post_order_visit(s, lambda n: seen.append(type(n).__name__))
    assert seen[-1] == "For" and "BufferStore" in seen and "FloatImm" in seen


def test_functor_pre():
    s, x, A = nest()
    seen = []

    def f(n):
        seen.append(type(n).__name__)
        return not isinstance(n, tir.BufferStore)

    tir.stmt_functor.pre_order_visit(s, f)
    assert seen[0] == "For" and "FloatImm" not in seen


def test_functor_sub():
    s, x, A = nest()
    b = tir.stmt_functor.substitute(s.body, {x: tir.IntImm("int32", 2)})
    assert int(b.indices[0]) == 2


def test_functor_trans():
    s, x, A = nest()
    r = tir.stmt_functor.ir_transform(
        s, None, lambda n: tir.BufferStore(n.buffer, 2.0, n.indices), ["tir.BufferStore"]
    )
    assert r.body.value.value == 2.0


def test_functor_pret():
    s, x, A = nest()
    r = tir.stmt_functor.ir_transform(
        s, lambda n: tir.Evaluate(0) if isinstance(n, tir.For) else None, None, ["tir.For"]
    )
    assert isinstance(r, tir.Evaluate)


def test_functor_renew():
    r = tir.stmt_functor.renew_defs(elementwise)
    same(r, elementwise)
    assert not r.params[0].same_as(elementwise.params[0])


@T.prim_func
def mm(a: T.handle, b: T.handle, n: T.int32) -> None:
    m = T.int32()
    A = T.match_buffer(a, (m, n))
    B = T.match_buffer(b, (m, n))
    for i, j in T.grid(m, n):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj]


def test_specialize_var():
    f = mm.specialize({mm.params[2]: 16})
    assert len(f.params) == 2 and int(f.buffer_map[f.params[0]].shape[1]) == 16


def test_specialize_buf():
    f = mm.specialize({mm.params[0]: tir.decl_buffer((128, 64))})
    assert len(f.params) == 2 or len(f.params) == 3
    assert int(f.buffer_map[f.params[1]].shape[0]) == 128


def test_specialize_expr():
    x = tir.Var("x", "int32")
    f = mm.specialize({mm.params[2]: x * 4})
    assert "* 4" in str(f)


def test_specialize_err():
    with pytest.raises((ValueError, tvm.TVMError)):
        elementwise.specialize({elementwise.params[0]: tir.decl_buffer((1,))})
    with pytest.raises(Exception):
        mm.specialize({tir.Var("q", "int32"): 3})


def test_specialize_chain():
    f = mm.specialize({mm.params[2]: 16})
    m = f.buffer_map[f.params[0]].shape[0]
    g = f.specialize({f.params[0]: tir.decl_buffer((8, 16))})
    assert int(g.buffer_map[g.params[1]].shape[0]) == 8


def test_specialize_loads():
    f = mm.specialize(
        {mm.params[0]: tir.decl_buffer((8, 4)), mm.params[1]: tir.decl_buffer((8, 4))}
    )
    assert "T.grid(8, 4)" in str(f)


def test_pass_current():
    with tvm.transform.PassContext(opt_level=3, config={"tir.disable_vectorize": True}) as c:
        assert tvm.transform.PassContext.current().opt_level == 3


def test_pass_pass():
    @tvm.tir.transform.prim_func_pass(opt_level=1)
    def p(f, mod, ctx):
        return f.with_attr("seen", 1)

    m = p(tvm.IRModule({"main": elementwise}))
    assert m["main"].attrs["seen"] == 1 and p.info.opt_level == 1 and p.info.name == "p"


def test_pass_class():
    @tvm.tir.transform.prim_func_pass(opt_level=1, name="Named")
    class P:
        def __init__(self, v):
            self.v = v

        def transform_function(self, f, mod, ctx):
            return f.with_attr("v", self.v)

    m = P(3)(tvm.IRModule({"main": elementwise}))
    assert m["main"].attrs["v"] == 3


def test_pass_modpass():
    @tvm.transform.module_pass(opt_level=0)
    def p(mod, ctx):
        return mod

    assert p(tvm.IRModule({"main": elementwise})) is not None


def test_pass_seq():
    m = tvm.transform.Sequential(
        [tvm.tir.transform.LowerInitBlock(), tvm.tir.transform.Simplify()]
    )(tvm.IRModule({"main": elementwise}))
    assert "main" in [g.name_hint for g, _ in m.functions.items()]


def test_pass_filter():
    m = tvm.IRModule({"a": elementwise.with_attr("k", 1), "b": elementwise})
    r = tvm.tir.transform.Filter(lambda f: "k" in f.attrs)(m)
    assert [g.name_hint for g, _ in r.functions.items()] == ["a"]


def test_pass_badcfg():
    with pytest.raises((AttributeError, tvm.TVMError, ValueError)):
        with tvm.transform.PassContext(config={"tir.no_such": 1}):
            pass


def test_pass_instr():
    @tvm.instrument.pass_instrument
    class C:
        def __init__(self):
            self.n = 0

        def run_before_pass(self, mod, info):
            self.n += 1

    c = C()
    with tvm.transform.PassContext(instruments=[c]):
        tvm.tir.transform.Simplify()(tvm.IRModule({"main": elementwise}))
    assert c.n == 1


def test_a_function_of_the_host_as_text():
    @tvm.register_func("test.plus_one", override=True)
    def plus_one(x):
        return x + 1

    function = tvm.ir.EnvFunc.get("test.plus_one")
    back = tvm.ir.load_json(tvm.ir.save_json(function))
    assert back == function and back(3) == 4
    assert tvm.ir.load_json(tvm.ir.save_json([function]))[0] == function


def test_what_a_block_loads_is_not_handed_on():
    block = elementwise.body.block.body[1].body.body.block
    known = {buffer.data: buffer for buffer in (block.reads[0].buffer, block.writes[0].buffer)}
    reads, writes, opaque = tir.analysis.get_block_access_region(block, known)
    assert [each.buffer.name for each in (*reads, *writes)] == ["B", "C"] and not opaque


X = tir.transform


@T.prim_func
def rows(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (8, 32))
    B = T.match_buffer(b, (8,))
    for i in T.thread_binding(8, "blockIdx.x"):
        for k in T.thread_binding(32, "threadIdx.x"):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0.0
                B[vi] = B[vi] + A[vi, vk]


def test_passes_make_of_a_reduction_over_threads_what_runs():
    mod = tvm.IRModule({"main": rows})
    passes = (X.LowerCrossThreadReduction(), X.LowerInitBlock(), X.ConvertBlocksToOpaque(),
              X.LowerOpaqueBlock(), X.UnifyThreadBinding(), X.ThreadSync("shared"),
              X.FlattenBuffer(), X.MergeSharedMemoryAllocations(), X.NarrowDataType(32),
              X.InjectPrefetch(), X.InjectDoubleBuffer(), X.HoistIfThenElse(), X.HoistExpression(),
              X.LowerIntrin(), X.RemoveNoOp())  # fmt: skip
    text = tvm.transform.Sequential(passes)(mod).script()
    assert "T.block" not in text and "T.tvm_storage_sync" in text and text.count("threadIdx.x") == 1


def test_pipelines_are_made_of_blocks():
    @T.prim_func
    def stages(a: T.Buffer((8, 4), "float32"), c: T.Buffer((8, 4), "float32")):
        for k in T.serial(8, annotations={"software_pipeline_stage": [0, 1],
                                          "software_pipeline_order": [0, 1]}):  # fmt: skip
            with T.block("body"):
                vk = T.axis.opaque(8, k)
                B = T.alloc_buffer((4,))
                for j in range(4):
                    with T.block("load"):
                        vj = T.axis.spatial(4, j)
                        B[vj] = a[vk, vj] + 1.0
                for j in range(4):
                    with T.block("use"):
                        vj = T.axis.spatial(4, j)
                        c[vk, vj] = B[vj] * 2.0

    done = X.InjectSoftwarePipeline()(tvm.IRModule({"main": stages}))
    assert "T.block" not in done.script() and "(2, 4)" in done.script()
    x = np.random.default_rng(0).standard_normal((8, 4)).astype("float32")
    y = tvm.nd.array(np.zeros_like(x))
    tvm.build(done)(tvm.nd.array(x), y)
    np.testing.assert_allclose(y.numpy(), (x + 1) * 2, rtol=1e-6)


def test_a_pass_over_loops_says_that_blocks_are_there():
    mod = tvm.IRModule({"main": rows})
    for made in (X.ThreadSync("shared"), X.UnifyThreadBinding(), X.InjectVirtualThread()):
        with pytest.raises(tvm.TVMError, match="looks at loops, and block B is still there: run"):
            made(mod)
    for made in (X.ConvertBlocksToOpaque(), X.LowerOpaqueBlock()):
        with pytest.raises(tvm.TVMError, match="block B still has an init"):
            made(mod)
    for wrong in (lambda: X.ThreadSync("global"), lambda: X.NarrowDataType(16)):
        with pytest.raises(TypeError, match="takes no such options here"):
            wrong()


@T.prim_func
def marked(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.int32):
    T.evaluate(T.assume(n > 3))
    assert n > 4, "too small"
    for i in range(8):
        with T.block("x"):
            vi = T.axis.spatial(8, i)
            A[vi] = T.undef(dtype="float32")
            B[vi] = 1.0


def test_passes_that_leave_statements_out():
    mod = tvm.IRModule({"main": marked})
    assert "assert" not in X.SkipAssert()(mod).script()
    assert "T.assume" in X.SkipAssert()(mod).script()
    assert "T.assume" not in X.RemoveAssume()(mod).script()
    assert "T.undef" not in X.RemoveStoreUndef()(mod).script()
    bare = X.ConvertBlocksToOpaque()(mod)["main"].script()
    assert "T.axis" not in bare and "B[i] = T.float32(1)" in bare


def test_passes_that_look_at_the_target():
    is_entry = X.AnnotateEntryFunc()(tvm.IRModule({"main": elementwise}))["main"].attrs
    assert is_entry["tir.is_entry_func"]
    both = X.AnnotateEntryFunc()(tvm.IRModule({"a": elementwise, "b": elementwise}))
    assert "tir.is_entry_func" not in both["a"].attrs
    for_gpu = tvm.IRModule({"main": elementwise.with_attr("target", tvm.target.Target("cuda"))})
    with pytest.raises(
        RuntimeError, match="Memory verification failed.*\n.*Did you forget to bind?"
    ):
        X.VerifyMemory()(for_gpu)
    scheduled = X.DefaultGPUSchedule()(for_gpu)
    assert scheduled["main"].script().count("threadIdx.x") == 1
    X.VerifyMemory()(scheduled)
    for_cpu = tvm.IRModule({"main": elementwise})
    same(X.DefaultGPUSchedule()(X.VerifyMemory()(for_cpu)), for_cpu)


def test_functions_of_the_host_get_arrays():
    @tvm.register_func("test.scale_by", override=True)
    def scale_by(x, out):
        assert x.shape == (4,) and x.device == tvm.cpu()
        tvm.nd.array(x.asnumpy() * 3).copyto(out)
        out.copyfrom(out.numpy() + 1)
        assert x.copyto(tvm.cpu()).numpy().tolist() == [0, 1, 2, 3]

    @tvm.register_func
    def doubled_number(x):
        return 2 * x

    assert tvm.get_global_func("doubled_number")(4) == 8
    A = te.placeholder((4,), name="A")
    B = te.extern((4,), [A], lambda i, o: tir.call_packed("test.scale_by", i[0], o[0]), name="B")
    a, b = tvm.nd.array(range(4)), tvm.nd.empty((4,))
    tvm.build(te.create_schedule(B.op), [A, B])(tvm.nd.array(a.numpy().astype("float32")), b)
    assert b.numpy().tolist() == [1, 4, 7, 10]


def test_options_of_unrolling():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] * 2.0, name="B")
    schedule = te.create_schedule(B.op)

    def loops(steps):
        with tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_step": steps}}):
            lowered = tvm.lower(schedule, [A, B])
            whole = X.UnrollLoop()(X.LowerOpaqueBlock()(tvm.IRModule({"main": rising})))
        return lowered.script().count("for "), whole.script().count("for ")

    assert (loops(3), loops(16)) == ((1, 1), (0, 0))
    with pytest.raises(AttributeError, match=r"'tir.UnrollLoop'\]\['auto_max_size'\] is not pro"):
        tvm.transform.PassContext(config={"tir.UnrollLoop": {"auto_max_size": 2}})


@T.prim_func
def rising(A: T.Buffer((4,), "int32")):
    for i in range(4):
        A[i] = i


def test_files_that_are_no_modules_here():
    assert tvm.ir.base.assert_structural_equal is same
    assert tvm.tir.op.const(1).value == 1 and tvm.te.tensor.Tensor is te.Tensor
    with pytest.raises(AttributeError, match="tvm.ir.nothing is not provided"):
        tvm.ir.nothing


def test_arithmetic_of_a_block_is_compared_by_what_it_is():
    @T.prim_func
    def flat(A: T.Buffer((8, 16), "int32"), B: T.Buffer((128,), "int32")):
        for i, j in T.grid(8, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi * 16 + vj] = A[(vj + vi * 16) // 16, (vj + vi * 16) % 16]

    @T.prim_func
    def plain(A: T.Buffer((8, 16), "int32"), B: T.Buffer((128,), "int32")):
        for i, j in T.grid(8, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi * 16 + vj] = A[vi, vj]

    same(flat, plain)
    from tvm.tir.schedule.testing import assert_structural_equal_gs

    assert_structural_equal_gs(flat, plain)


def test_functions_of_the_host_get_arrays_of_bfloat16():
    @tvm.register_func("test.copy_of", override=True)
    def copy_of(x, out):
        assert x.dtype == "bfloat16" and x.device == tvm.cpu()
        out.copyfrom(x)

    A = te.placeholder((4,), "bfloat16", name="A")
    B = te.extern((4,), [A], lambda i, o: tir.call_packed("test.copy_of", i[0], o[0]), name="B",
                  dtype="bfloat16")  # fmt: skip
    a, b = tvm.nd.empty((4,), "bfloat16"), tvm.nd.empty((4,), "bfloat16")
    a.copyfrom(np.arange(4))
    tvm.build(te.create_prim_func([A, B]))(a, b)
    assert b.numpy().tolist() == [0, 1, 2, 3]


if __name__ == "__main__":
    tvm.testing.main()
