# SPDX-License-Identifier: Apache-2.0
"""Programs that import tvm by the names of other generations, and what these added."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopsmith as ls

SCALED = """
@T.prim_func
def scale(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    C = T.sblock_alloc_buffer((16,), "float32")
    for i in range(16):
        with T.sblock("double"):
            v = T.axis.spatial(16, i)
            T.sblock_attr({"kind": "first"})
            C[v] = A[v] * T.float32(2)
    for i in range(16):
        with T.sblock("add"):
            v = T.axis.spatial(16, i)
            B[v] = C[v] + T.float32(1)
"""


def test_blocks_of_schedules_have_a_name_of_their_own(tvm: Any) -> None:
    later = ls.from_source(SCALED)
    assert ls.structural_equal(later, ls.from_source(SCALED.replace("T.sblock_alloc", "T.alloc")
                                                     .replace("T.sblock", "T.block")))  # fmt: skip
    sch = tvm.s_tir.Schedule(later)
    sch.compute_inline(sch.get_sblock("double"))
    (i,) = sch.get_loops(sch.get_sblock("add"))
    sch.vectorize(i)
    assert isinstance(sch.get(sch.get_sblock("add")), tvm.s_tir.SBlock)
    a, b = np.arange(16, dtype="float32"), np.zeros(16, "float32")
    tvm.compile(sch.mod, target="llvm")(a, b)
    np.testing.assert_array_equal(b, a * 2 + 1)


def test_moved_modules_are_the_same_ones(tvm: Any) -> None:
    import tvm.s_tir.schedule.testing
    import tvm.tirx
    import tvm_ffi
    from tvm.ir.base import assert_structural_equal
    from tvm.s_tir.tensor_intrin import x86
    from tvm.script import tirx as words
    from tvm.script.ir_builder import tirx as builder
    from tvm.script.parser import tir as parsed
    from tvm_ffi.access_path import AccessPath

    assert tvm.tirx is tvm.tir
    assert tvm.s_tir is tvm.tir
    assert words is parsed
    assert builder.sblock is words.sblock
    assert x86.VNNI_DOT_16x4_INTRIN == "dot_16x4_vnni"
    assert AccessPath is tvm.ir.ObjectPath
    assert tvm_ffi.structural_equal(tvm.tir.const(1), tvm.tirx.const(1))
    assert assert_structural_equal is tvm.ir.assert_structural_equal
    assert tvm.runtime.tensor(np.arange(3)).shape == (3,)

    @words.prim_func(s_tir=True, check_well_formed=False)
    def free() -> None:
        a = words.int32()
        words.evaluate(a + 1)

    assert isinstance(free, tvm.tirx.PrimFunc)
    with pytest.raises(ImportError, match=r"there is no module tvm\.tir\.nothing here"):
        import tvm.s_tir.nothing


def test_what_is_wrong_with_a_script_is_told_as_data(tvm: Any) -> None:
    from tvm.ir.diagnostics import override_renderer

    seen: list[Any] = []
    override_renderer(lambda context: seen.extend(context.diagnostics))
    with pytest.raises(tvm.error.DiagnosticError):
        tvm.script.from_source("@T.prim_func\ndef f():\n    for i in T.nothing(4):\n        pass\n")
    override_renderer(None)
    with pytest.raises(tvm.error.DiagnosticError):
        tvm.script.from_source("@T.prim_func\ndef f():\n    return 'x'\n")
    (found,) = seen
    assert (found.span.line, found.span.column) == (3, 14)
    assert found.message == "T has no attribute nothing"


def test_index_maps_are_the_same_map_for_any_type_of_index(tvm: Any) -> None:
    narrow = tvm.tir.IndexMap.from_func(lambda i: [i // 4, i % 4], index_dtype="int32")
    wide = tvm.tir.IndexMap.from_func(lambda i: [i // 4, i - i // 4 * 4])
    other = tvm.tir.IndexMap.from_func(lambda i: [i // 4, i % 4 + 1])
    assert narrow.is_equivalent_to(wide)
    assert not narrow.is_equivalent_to(other)
    assert not narrow.is_equivalent_to(tvm.tir.IndexMap.from_func(lambda i: [i]))
    sizes = narrow.map_shape([tvm.tir.const(2**40, "int64")])
    assert [(int(each), each.dtype) for each in sizes] == [(2**38, "int64"), (4, "int64")]
    transposed = tvm.tir.IndexMap.from_func(lambda i, j, k: [k, i, j])
    values = np.random.default_rng(0).standard_normal((2, 3, 4)).astype("float16")
    moved = transposed.map_ndarray(tvm.nd.array(values)).numpy()
    np.testing.assert_array_equal(moved, values.transpose(2, 0, 1))


def test_numbers_that_a_schedule_chose_stand_in_index_maps(tvm: Any) -> None:
    sch = tvm.tir.Schedule(ls.from_source(SCALED))
    block = sch.get_block("double")
    (i,) = sch.get_loops(block)
    _, inner = sch.sample_perfect_tile(i, n=2, decision=[4, 4])
    sch.transform_layout(block, ("write", 0), lambda x: [x // inner, x % inner])
    (region,) = sch.get(sch.get_block("double")).writes
    assert [int(size) for size in region.buffer.shape] == [4, 4]


def test_a_layout_is_suggested_by_the_order_of_loops(tvm: Any) -> None:
    from tvm.tir.schedule.analysis import has_block, is_output_block, suggest_index_map

    tir = tvm.tir
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    loops = [tir.For(v, 0, n, tir.ForKind.SERIAL, tir.Evaluate(0)) for v, n in ((i, 8), (j, 6))]
    buffer = tir.decl_buffer([6, 8])
    suggested = suggest_index_map(buffer, [j, i], loops, True)
    assert suggested.is_equivalent_to(tir.IndexMap.from_func(lambda x, y: [y, x]))
    halves = suggest_index_map(tir.decl_buffer([48]), [i % 4 * 12 + j * 2 + i // 4], loops, True)
    assert halves.is_equivalent_to(tir.IndexMap.from_func(lambda x: [x % 2, x // 12, x // 2 % 6]))
    assert suggest_index_map(buffer, [i + j, j], loops, True) is None
    sch = tir.Schedule(ls.from_source(SCALED))
    assert is_output_block(sch, sch.get_block("add"))
    assert not is_output_block(sch, sch.get_block("double"))
    assert has_block(sch, "double")
    assert not has_block(sch, "triple")


def test_loops_of_a_block_are_mapped_to_those_of_an_intrinsic(tvm: Any) -> None:
    from tvm.meta_schedule.testing import te_workload
    from tvm.tir.schedule.analysis import (
        get_auto_tensorize_mapping_info,
        get_tensorize_loop_mapping,
    )

    tile = """
@T.prim_func
def tile(A: T.Buffer((16, 8)), B: T.Buffer((8, 4)), C: T.Buffer((16, 4))):
    with T.block("root"):
        T.reads(C[0:16, 0:4], A[0:16, 0:8], B[0:8, 0:4])
        T.writes(C[0:16, 0:4])
        for i, j, k in T.grid(16, 4, 8):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    desc = ls.from_source(tile)
    sch = tvm.tir.Schedule(tvm.te.create_prim_func(te_workload.matmul(64, 64, 64)))
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    sch.reorder(k, i, j)
    info = get_tensorize_loop_mapping(sch, block, desc)
    extents = {sch.get(ours).loop_var.name: int(its.extent) for ours, its in info.loop_map.items()}
    assert extents == {"i": 16, "j": 4, "k": 8}
    assert info.block_iter_paddings is None
    odd = tvm.tir.Schedule(tvm.te.create_prim_func(te_workload.matmul_relu(63, 64, 60)))
    assert get_tensorize_loop_mapping(odd, odd.get_block("C"), desc) is None
    padded = get_tensorize_loop_mapping(odd, odd.get_block("C"), desc, allow_padding=True)
    assert padded.block_iter_paddings == [16, 1, 8]
    conv = tvm.tir.Schedule(
        tvm.te.create_prim_func(te_workload.conv2d_nhwc(2, 8, 8, 16, 32, 3, 1, 1))
    )
    fused = get_auto_tensorize_mapping_info(conv, conv.get_block("conv2d_nhwc"), desc)
    expected = tvm.tir.IndexMap.from_func(
        lambda n, h, w, c, rh, rw, rc: (n * 64 + h * 8 + w, c, rh * 48 + rw * 16 + rc)
    )
    assert fused.mappings[0].is_equivalent_to(expected)


def test_values_beside_nodes_are_compared_and_hashed(tvm: Any) -> None:
    ir = tvm.ir
    one, two = (ir.make_node("attrs.Named", axis=axis, name="x") for axis in (1, 2))
    assert one.axis == 1
    assert ir.structural_equal(one, ir.make_node("ir.DictAttrs", name="x", axis=1))
    assert not ir.structural_equal(one, two)
    assert ir.structural_hash(one) == ir.structural_hash(
        ir.make_node("attrs.Named", name="x", axis=1)
    )
    row, table = (tvm.nd.array(np.arange(6).reshape(shape)) for shape in ((6,), (2, 3)))
    assert ir.structural_equal(row, tvm.nd.array(np.arange(6)))
    assert not ir.structural_equal(row, table)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        ir.assert_structural_equal(row, table)

    @tvm.register_func("test_compat_generations.increment", override=True)
    def increment(x: Any) -> Any:
        return x + 1

    func = ir.EnvFunc.get("test_compat_generations.increment")
    assert func(3) == 4
    assert ir.structural_equal(func, ir.EnvFunc.get("test_compat_generations.increment"))
    x, y = tvm.tir.Var("x", "int32"), tvm.tir.Var("y", "int32")
    assert ir.structural_hash(x + x) != ir.structural_hash(y + y)
    assert ir.structural_hash(x + x, True) == ir.structural_hash(y + y, True)


def test_a_way_leads_to_what_one_of_two_lists_has_not(tvm: Any) -> None:
    tir = tvm.tir
    x, y, z = (tir.Var(name, "int32") for name in "xyz")
    root = tvm.ir.ObjectPath.root()
    mismatch = tvm.ir.base.get_first_structural_mismatch
    less = tir.PrimFunc([x, y], tir.Evaluate(x))
    more = tir.PrimFunc([x, y, z], tir.Evaluate(x))
    has_not, has = root.attr("params").missing_array_element(2), root.attr("params").array_index(2)
    assert mismatch(less, more) == (has_not, has)
    assert mismatch(more, less) == (has, has_not)
    steps = [tir.Evaluate(x + k) for k in range(4)]
    shorter = tir.SeqStmt(steps[:3])
    assert mismatch(tir.SeqStmt(steps), shorter)[1] == root.attr("seq").missing_array_element(3)
    real = tir.PrimFunc([x, tir.Var("y", "float32")], tir.Evaluate(x))
    assert str(mismatch(less, real)[0]) == "<root>.params[1].dtype"
    module = ls.from_source("@I.ir_module\nclass M:\n    @T.prim_func\n    def f():\n"
                            "        for i in range(4):\n            T.evaluate(i)\n")  # fmt: skip
    other = ls.from_source(module.script().replace("range(4)", "range(5)"))
    where = str(mismatch(module, other)[0])
    assert where == '<root>.functions[I.GlobalVar("f")].body.extent.value'


def test_statements_for_memory_take_their_old_arguments(tvm: Any) -> None:
    tir = tvm.tir
    buffer = tir.decl_buffer((4,), "float32", name="B")
    realized = tir.BufferRealize(buffer, [tvm.ir.Range(0, 4)], True, tir.Evaluate(0))
    assert isinstance(realized, tir.BufferRealize)
    assert isinstance(realized.body, tir.Evaluate)  # Without the declaration of the memory.
    pointer = tir.Var("c", tvm.ir.PointerType(tvm.ir.PrimType("int32")))
    constants = tir.AllocateConst(pointer, "int32", [3], tvm.nd.array(np.arange(3, dtype="int32")),
                                  tir.Evaluate(0))  # fmt: skip
    assert "T.allocate_const([0, 1, 2]" in constants.script()
    assert [int(part.extent) for part in tir.Prefetch(buffer, []).bounds] == [4]
    view = tir.MatchBufferRegion(tir.decl_buffer((1,), "float32"), buffer[2])
    assert [int(part.min) for part in view.source.region] == [2]


def test_intrinsics_tell_their_buffers_and_broadcasts_are_inlined(tvm: Any) -> None:
    te = tvm.te
    x = te.placeholder((8,), name="x")
    doubled = te.compute((8,), lambda i: x[i] * 2.0, name="doubled")

    def call(ins: Any, outs: Any) -> Any:
        return tvm.tir.call_extern("int32", "double8", ins[0].data, outs[0].data)

    intrin = te.decl_tensor_intrin(doubled.op, call)
    assert list(intrin.inputs) == [x]
    assert [each.name for each in intrin.buffers] == ["x", "doubled"]
    row = te.placeholder((1,), name="row")
    wide = te.compute((4, 8), lambda i, j: x[j] * row[0], name="wide", tag="broadcast")
    total = te.compute((4, 8), lambda i, j: wide[i, j] + 1.0, name="total")
    s = te.create_schedule(total.op)
    te.schedule.AutoInlineBroadcast(s)
    assert s[wide].attach_type == 2
    both = te.extern([x.shape, x.shape], [x], lambda ins, outs: tvm.tir.Evaluate(0))
    assert [tuple(int(n) for n in each.shape) for each in both] == [(8,), (8,)]


def test_buffers_that_broadcast_or_have_strides(tvm: Any) -> None:
    te, tir = tvm.te, tvm.tir
    m, n, k = te.size_var("m"), te.size_var("n"), te.size_var("k")
    x = te.placeholder((m, n, k), name="x")
    b = te.placeholder([te.size_var(f"b{d}") for d in range(3)], name="b")
    y = te.compute((m, n, k), lambda *i: x(*i) + b(*i), name="y")
    binds = {b: tir.decl_buffer(b.shape, b.dtype, name="b", buffer_type="auto_broadcast")}
    add = tvm.build(te.create_schedule(y.op), [x, b, y], "llvm", binds=binds)
    small = np.arange(2, dtype="float32").reshape(2, 1, 1)
    large = np.arange(24, dtype="float32").reshape(2, 3, 4)
    result = tvm.nd.array(np.zeros_like(large))
    add(tvm.nd.array(large), tvm.nd.array(small), result)
    np.testing.assert_array_equal(result.numpy(), large + small)
    rows = tir.decl_buffer((4, 8), "float32", strides=[16, 1])
    assert int(tvm.arith.Analyzer().simplify(rows.access_ptr("r", offset=2).args[3])) == 62
    twice = [tir.call_extern("int32", "twice", n) for _ in range(2)]
    tvm.testing.assert_prim_expr_equal(*twice)


def test_options_of_the_first_generations(tvm: Any) -> None:
    n = tvm.convert(16)
    A, B = (tvm.placeholder((n,), name=name) for name in "AB")
    C = tvm.compute((n,), lambda i: A[i] + B[i], name="C")
    x, y = (tvm.placeholder((4,), name=name) for name in "xy")
    z = tvm.compute((4,), lambda i: x[i] + y[i], name="z")
    with tvm.build_config(offset_factor=2, data_alignment=16, auto_unroll_max_step=4):
        intrin = tvm.decl_tensor_intrin(
            z.op, lambda ins, outs: tvm.call_packed("add_of_four", *ins, *outs)
        )
    assert [each.offset_factor for each in intrin.buffers] == [2, 2, 2]
    schedule = tvm.create_schedule(C.op)
    schedule[C].tensorize(schedule[C].split(C.op.axis[0], factor=4)[1], intrin)

    @tvm.register_func
    def add_of_four(a: Any, b: Any, c: Any) -> None:
        c.copyfrom(a.numpy() + b.numpy())

    # A buffer may stand for the tensor that it is bound to.
    bound = tvm.decl_buffer(A.shape, A.dtype, elem_offset=tvm.var("begin"), offset_factor=8)
    add = tvm.build(schedule, [bound, B, C], "llvm", binds={A: bound})
    a, b = np.arange(16, dtype="float32"), np.ones(16, "float32")
    c = tvm.nd.array(np.zeros(16, "float32"))
    add(tvm.nd.array(a), tvm.nd.array(b), c)
    np.testing.assert_array_equal(c.asnumpy(), a + b)
    with pytest.raises(AttributeError, match=r"tvm.build_config\(dump_pass_ir=True\) is not prov"):
        tvm.build_config(dump_pass_ir=True)


def test_attributes_of_a_computation_may_be_read_as_nodes(tvm: Any) -> None:
    A = tvm.te.placeholder((8,), name="A")
    op = tvm.te.compute((8,), lambda i: A[i], attrs={"lanes": 4, "kind": "copy"}).op
    assert op.attrs["lanes"].value == op.attrs["lanes"] == 4 and "kind" in op.attrs


def test_an_annotation_says_that_a_name_keeps_its_value(tvm: Any) -> None:
    T = tvm.script.tirx

    @T.prim_func(s_tir=True)
    def func(A: T.Buffer((4,), "int32"), n: T.int32):
        twice: T.let[T.int32] = n * 2
        more: T.let = twice + 1
        A[0] = more

    assert isinstance(func.body, tvm.tir.LetStmt) and func.body.var.name == "twice"
    assert isinstance(func.body.body, tvm.tir.LetStmt) and func.body.body.var.dtype == "int32"
    array = np.zeros(4, "int32")
    tvm.build(func)(array, 4)
    assert array[0] == 9


def test_annotations_kept_as_text_see_the_functions_around(tvm: Any, tmp_path: Any) -> None:
    source = """
from __future__ import annotations
from tvm.script import tir as T

def outer(rows):
    def middle(columns):
        @T.prim_func
        def func(A: T.Buffer((rows, columns), "float32")):
            T.evaluate(0)
        return func
    return called(middle)

def called(make):
    rows = 99  # It runs the function, but is not around it.
    return make(8)
"""
    (tmp_path / "scopes.py").write_text(source)
    names: dict[str, Any] = {"__name__": "scopes"}
    exec(compile(source, str(tmp_path / "scopes.py"), "exec"), names)
    func = names["outer"](16)
    assert [int(extent) for extent in func.buffer_map[func.params[0]].shape] == [16, 8]


def test_code_of_clang_comes_along_with_a_loop(tvm: Any, tmp_path: Any) -> None:
    if not tvm.contrib.clang.find_clang(required=False):
        pytest.skip("there is no clang")
    code = """
    extern "C" float plus_one(float x) {
      return x + 1;
    }
    """
    path = tmp_path / "code.ll"
    with tvm.contrib.utils.tempdir() as folder:
        made = folder.relpath("code.ll")
        text = tvm.contrib.clang.create_llvm(code, output=made)
        path.write_text(Path(made).read_text())
    assert not Path(made).exists()
    assert path.read_text() == text and "@plus_one" in text
    A = tvm.te.placeholder((8,), name="A")
    B = tvm.te.compute((8,), lambda i: tvm.tir.call_pure_extern("float32", "plus_one", A[i]))
    s = tvm.te.create_schedule(B.op)
    s[B].pragma(B.op.axis[0], "import_llvm", text)
    x, out = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    built = tvm.build(s, [A, B])
    built(x, out)
    np.testing.assert_array_equal(out, x + 1)
    assert "plus_one" in built.inspect_source()
    built.write_to_file(str(tmp_path / "code.o"))
    assert (tmp_path / "code.o").stat().st_size > 0
    with pytest.raises(RuntimeError, match="create_llvm: "):
        tvm.contrib.clang.create_llvm("no C at all\n")
