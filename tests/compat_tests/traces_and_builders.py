import numpy as np
import pytest
import tvm
import tvm.testing
from tvm import te, tir
from tvm.ir import assert_structural_equal as same
from tvm.script import tir as T
from tvm.tir.schedule import BlockRV, Instruction, InstructionKind, LoopRV, Trace


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


def _get_block(name, out):
    return Instruction(
        kind=InstructionKind.get("GetBlock"), inputs=[], attrs=[name, "main"], outputs=[out]
    )


def _get_loops(b, outs):
    return Instruction(kind=InstructionKind.get("GetLoops"), inputs=[b], attrs=[], outputs=outs)


def test_trace_kind():
    k = InstructionKind.get("EnterPostproc")
    assert k.name == "EnterPostproc" and not k.is_pure
    assert InstructionKind.get("GetBlock").is_pure


def test_trace_str():
    b = BlockRV()
    i = _get_block("block", b)
    s = str(i)
    assert "get_block" in s and '"block"' in s


def test_trace_fields():
    b = BlockRV()
    i = _get_block("block", b)
    assert (
        i.kind.name == "GetBlock" and list(i.attrs) == ["block", "main"] and i.outputs[0].same_as(b)
    )


def test_trace_trace0():
    t = Trace([], {})
    assert len(t.insts) == 0 and len(t.decisions) == 0


def test_trace_trace_str():
    t = Trace([_get_block("B", b := BlockRV())], {})
    t2 = str(t)
    assert "def apply_trace(sch" in t2


def test_trace_loops():
    b = BlockRV()
    l = [LoopRV(), LoopRV()]
    t = Trace([_get_block("B", b), _get_loops(b, l)], {})
    assert "l1, l2 = sch.get_loops" in str(t) or "get_loops(block=b0)" in str(t)


def test_trace_apply():
    b = BlockRV()
    t = Trace(
        [_get_block("B", b), Instruction(InstructionKind.get("ComputeInline"), [b], [], [])], {}
    )
    s = tir.Schedule(elementwise)
    t.apply_to_schedule(s, remove_postproc=False)
    assert "B" not in [x.name_hint for x in [s.get(s.get_block("C"))]]
    s2 = tir.Schedule(elementwise)
    s2.compute_inline(s2.get_block("B"))
    same(s.mod, s2.mod)


def test_trace_append_pop():
    t = Trace([], {})
    b = BlockRV()
    t.append(_get_block("B", b))
    assert len(t.insts) == 1
    i = t.pop()
    assert i.kind.name == "GetBlock" and t.pop() is None


def test_trace_json():
    s = tir.Schedule(elementwise)
    s.compute_inline("B")
    j = s.trace.as_json()
    s2 = tir.Schedule(elementwise)
    Trace.apply_json_to_schedule(j, s2)
    same(s.mod, s2.mod)


def test_trace_simplified():
    b, b2 = BlockRV(), BlockRV()
    t = Trace(
        [
            _get_block("B", b),
            _get_block("C", b2),
            Instruction(InstructionKind.get("ComputeInline"), [b], [], []),
            Instruction(InstructionKind.get("EnterPostproc"), [], [], []),
        ],
        {},
    )
    r = t.simplified(remove_postproc=True)
    assert [i.kind.name for i in r.insts] == ["GetBlock", "ComputeInline"]


def test_trace_decision():
    s = tir.Schedule(elementwise, seed=1)
    l = s.get_loops("B")[0]
    s.sample_perfect_tile(l, n=4)
    t = s.trace
    i = [k for k in t.insts if k.kind.name == "SamplePerfectTile"][0]
    assert len(t.get_decision(i)) == 4
    t2 = t.with_decision(i, [1, 1, 1, 128], remove_postproc=True)
    k = [k for k in t2.insts if k.kind.name == "SamplePerfectTile"][0]
    assert [int(v) for v in t2.get_decision(k)] == [1, 1, 1, 128]


def test_trace_split_hand():
    b = BlockRV()
    l = [LoopRV(), LoopRV()]
    o = [LoopRV(), LoopRV()]
    t = Trace(
        [
            _get_block("B", b),
            _get_loops(b, l),
            Instruction(
                InstructionKind.get("Split"),
                [l[0], None, tir.IntImm("int32", 32)],
                [True, False],
                o,
            ),
        ],
        {},
    )
    s = tir.Schedule(elementwise)
    t.apply_to_schedule(s, remove_postproc=False)
    assert len(s.get_loops("B")) == 3


def test_trace_exprrv():
    s = tir.Schedule(elementwise, seed=1)
    l = s.get_loops("B")[0]
    a, b = s.sample_perfect_tile(l, n=2)
    x = s.split(l, [a, b])
    assert int(s.get(a * b)) == 128


def test_trace_exprrv2():
    s = tir.Schedule(elementwise, seed=1)
    v = s.sample_categorical([1, 2, 4], [0.1, 0.1, 0.8])
    l = s.get_loops("B")[0]
    s.split(l, [None, v * 2])
    assert len(s.get_loops("B")) == 3


def test_ir_builder_else_err():
    ib = tvm.tir.ir_builder.create()
    with pytest.raises(RuntimeError):
        with ib.else_scope():
            ib.emit(1)


def test_ir_builder_while():
    ib = tvm.tir.ir_builder.create()
    A = ib.allocate("int32", 1, name="A")
    A[0] = 0
    with ib.while_loop(A[0] < 10):
        A[0] += 1
    assert "while" in str(ib.get())


def test_ir_builder_kind():
    ib = tvm.tir.ir_builder.create()
    for k in ("parallel", "vectorize", "unroll"):
        with ib.for_range(0, 4, kind=k) as i:
            ib.emit(i)
    with pytest.raises(ValueError):
        with ib.for_range(0, 4, kind="foo") as i:
            ib.emit(i)


def test_ir_builder_nd():
    ib = tvm.tir.ir_builder.create()
    A = tir.decl_buffer((10, 10), "float32")
    p = ib.buffer_ptr(A)
    with ib.for_range(0, 10) as i:
        p[i, i] = p[i, 0] + 1.0
    assert isinstance(ib.get().body, tir.BufferStore)


def test_ir_builder_let():
    ib = tvm.tir.ir_builder.create()
    v = ib.let("v", tir.const(3))
    ib.emit(v)
    assert isinstance(ib.get(), tir.LetStmt)


def test_ir_builder_attr():
    ib = tvm.tir.ir_builder.create()
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", 8)
    ib.emit(1)
    assert ib.get().attr_key == "thread_extent"


def test_ir_builder_dtype():
    ib = tvm.tir.ir_builder.create()
    A = ib.allocate("float32", 4)
    with pytest.raises(ValueError):
        A[0] = tir.IntImm("int32", 1)


def test_ir_builder_min():
    ib = tvm.tir.ir_builder.create()
    with ib.for_range(2, 10) as i:
        ib.emit(i)
    f = ib.get()
    assert f.min.value == 2 and f.extent.value == 8


def test_ir_builder_run():
    n = 16

    def gen(ins, outs):
        ib = tvm.tir.ir_builder.create()
        a = ib.buffer_ptr(ins[0])
        b = ib.buffer_ptr(outs[0])
        with ib.for_range(0, n) as i:
            with ib.if_scope(ib.likely(i < 8)):
                b[i] = a[i] * 2.0
            with ib.else_scope():
                b[i] = a[i]
        return ib.get()

    A = te.placeholder((n,), name="A")
    B = te.extern((n,), [A], gen, dtype="float32")
    s = te.create_schedule(B.op)
    f = tvm.build(s, [A, B])
    a = np.arange(n, dtype="float32")
    b = tvm.nd.empty((n,))
    f(tvm.nd.array(a), b)
    np.testing.assert_allclose(b.numpy(), np.where(a < 8, a * 2, a))


def test_ir_builder_open():
    ib = tvm.tir.ir_builder.create()
    c = ib.for_range(0, 2)
    c.__enter__()
    with pytest.raises(RuntimeError):
        ib.get()


def test_a_handle_that_no_schedule_has_made():
    sch = tir.Schedule(elementwise)
    for handle in (LoopRV(), BlockRV()):
        with pytest.raises(IndexError):
            sch.get(handle)


def test_what_a_builder_allocates_is_around_the_rest():
    ib = tir.ir_builder.create()
    n = te.size_var("n")
    A = ib.allocate("float32", n, name="A", scope="global")
    with ib.for_range(0, n, name="i") as i:
        A[i] = A[i] + 1.0
    body = ib.get()
    assert isinstance(body, tir.Allocate) and isinstance(body.body, tir.For)


def test_a_function_of_a_builder_uses_what_it_allocates():
    n = te.size_var("n")
    buffer = tir.decl_buffer((n,), "float32", name="A")
    ib = tir.ir_builder.create()
    A, kept = ib.buffer_ptr(buffer), ib.allocate("float32", (2,), name="kept")
    with ib.for_range(0, n, name="i") as i:
        kept[1] = A[i]
        A[i] = kept[1] * 2.0
    f = tir.PrimFunc([buffer], ib.get()).with_attr("global_symbol", "f")
    a = tvm.nd.array(np.ones(5, "float32"))
    tvm.build(tvm.IRModule.from_expr(f), target="llvm")(a)
    assert a.numpy().sum() == 10


def test_an_extern_stage_uses_what_it_allocates():
    def reversed_twice(ins, outs):
        ib = tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        kept = ib.allocate("float32", (10,), name="kept")
        with ib.for_range(0, 10, name="i") as i:
            kept[9 - i] = source[i]
        with ib.for_range(0, 10, name="j") as j:
            target[j] = kept[9 - j]
        return ib.get()

    A = te.placeholder((10,), name="A")
    B = te.extern((10,), [A], reversed_twice, name="B", dtype="float32")
    a, b = tvm.nd.array(np.arange(10, dtype="float32")), tvm.nd.empty((10,))
    tvm.build(te.create_schedule(B.op), [A, B], "llvm")(a, b)
    tvm.testing.assert_allclose(b.numpy(), np.arange(10))


def test_places_in_sequences():
    state = tir.ScheduleState(elementwise)
    root = state.mod["main"].body.block
    assert [state.get_sref(each).seq_index for each in root.body] == [0, 1]
    inside = state.get_sref(root.body[1].body)
    assert inside.seq_index == -1 and state.get_sref(root).seq_index == -1
    assert inside.parent.same_as(state.get_sref(root.body[1]))


def test_outputs_and_decisions():
    sch = tir.Schedule(elementwise, seed=1)
    assert [sch.get(block).name_hint for block in sch.get_output_blocks()] == ["C"]
    drawn = sch.get(sch.sample_categorical([5, 7], [0.5, 0.5]))
    (decision,) = sch.trace.decisions.values()
    assert [5, 7][decision.value] == drawn


REFUSED = {
    "ancestor of block": lambda sch, b, c: sch.compute_at(b, sch.get_loops(b)[0]),
    "requires all the producer": lambda sch, b, c: sch.reverse_compute_at(b, sch.get_loops(c)[0]),
    "is out of range": lambda sch, b, c: sch.cache_read(b, 5, "local"),
    "storage scope .* is invalid": lambda sch, b, c: sch.cache_read(b, 0, "nowhere"),
    "not allocated by a block": lambda sch, b, c: sch.set_scope(c, 0, "local"),
    "-1 or none": lambda sch, b, c: sch.split(sch.get_loops(b)[0], [None, None]),
    "reorder indices are invalid": lambda sch, b, c: sch.reorder_block_iter_var(b, [0, 0]),
    "does not operate on the root": lambda sch, b, c: sch.compute_inline(sch.get_block("root")),
    "violates condition": lambda sch, b, c: sch.rfactor(sch.get_loops(b)[0], 0),
    "introduce padding": lambda sch, b, c: sch.transform_layout(
        b, ("write", 0), lambda i, j: (i // 5, i % 5, j)
    ),
    'The "bind" cannot be fulfilled': lambda sch, b, c: sch.bind(
        sch.get_loops(sch.get_block("sum"))[0], "blockIdx.x"
    ),
}


@T.prim_func
def summed(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), C: T.Buffer((), "float32")):
    D = T.alloc_buffer((8,))
    for k in range(8):
        with T.block("sum"):
            vk = T.axis.reduce(8, k)
            with T.init():
                C[()] = 0.0
            C[()] = C[()] + A[vk]
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            D[vi] = A[vi]
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            B[vi] = D[vi]


@pytest.mark.parametrize("words", REFUSED)
def test_refusals_have_the_words_that_tests_look_for(words):
    sch = tir.Schedule(summed if "bind" in words else elementwise)
    blocks = sch.get_block("B"), sch.get_block("C")
    with pytest.raises(tir.ScheduleError, match=words):
        REFUSED[words](sch, *blocks)


if __name__ == "__main__":
    tvm.testing.main()
