# SPDX-License-Identifier: Apache-2.0
"""Programs that import tvm, on the aliases of loopsmith.compat."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import loopsmith.compat
import numpy as np
import pytest

import loopsmith as ls


def executed(path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a process of its own."""
    command = [sys.executable, "-m", "loopsmith.compat", str(path), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


# ---- Names that are not there ----


def test_names_that_are_not_there_say_what_to_do(tvm: Any) -> None:
    with pytest.raises(loopsmith.compat.MissingName) as caught:
        tvm.auto_scheduler.SearchTask
    assert str(caught.value) == (
        "tvm.auto_scheduler is not provided: schedules are not searched for here; ls.build "
        "schedules by rule what has no schedule"
    )
    assert not hasattr(tvm.te, "no_such_name")
    with pytest.raises(
        AttributeError, match=r"transform\.MakePackedAPI is not provided: ls.build ch"
    ):
        tvm.tir.transform.MakePackedAPI
    with pytest.raises(ImportError, match=r"there is no module tvm\.relay here: graphs of"):
        import tvm.relay
    with pytest.raises(ImportError, match=r"there is no module tvm\.autotvm here: schedules"):
        from tvm import autotvm
    with pytest.raises(AttributeError, match=r"config\['tir.use_async_copy'\] is not provided"):
        tvm.transform.PassContext(config={"tir.use_async_copy": True})


def test_integers_divide_as_in_c_while_it_is_installed(tvm: Any) -> None:
    x = tvm.te.var("x")
    assert str(x / 2) == str(ls.tir.truncdiv(x, 2))
    assert str(7 / x) == str(ls.tir.truncdiv(7, x))
    assert str((x.astype("float32") / 2).dtype) == "float32"
    loopsmith.compat.uninstall()
    with pytest.raises(ls.TypeMismatch, match="may round in two ways"):
        x / 2
    loopsmith.compat.install()


def test_another_tvm_is_not_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    if loopsmith.compat.is_installed():
        loopsmith.compat.uninstall()
    monkeypatch.setitem(sys.modules, "tvm", type(sys)("tvm"))
    with pytest.raises(ImportError, match="tvm has been imported already, from elsewhere"):
        loopsmith.compat.install()


# ---- Modules, one by one ----


def test_nodes_take_the_arguments_of_tvm(tvm: Any) -> None:
    tir = tvm.tir
    i = tir.Var("i", "int32")
    n = tir.SizeVar("n", "int32")
    assert isinstance(i, tir.Var)
    assert isinstance(i, tir.PrimExpr)
    assert not isinstance(i, tir.For)
    assert n.is_size
    A = tir.decl_buffer((n,), "float32", "A", scope="")
    store = tir.BufferStore(A, tir.const(1.0, "float32"), [i])
    loop = tir.For(i, 0, n, tir.ForKind.SERIAL, store)
    assert loop.same_as(loop)
    assert tir.For(i, 0, n, 1, store).kind == "parallel"
    func = tir.PrimFunc([A, n], loop)
    assert [param.name for param in func.params] == ["A_handle", "n"]
    out = np.zeros(3, np.float32)
    ls.build(func)(out, 3)
    assert out.tolist() == [1, 1, 1]
    assert [str(tvm.ir.Range(3, 7)), str(tvm.ir.Range(4))] == [
        str(ls.tir.Range(3, 4)),
        str(ls.tir.Range(0, 4)),
    ]
    axis = tir.IterVar((0, 8), "k", tir.IterVar.CommReduce)
    assert (axis.var.name, axis.iter_type, repr(axis.dom.extent)) == ("k", "comm_reduce", "8")
    assert axis.iter_type == tir.IterVar.CommReduce
    assert tir.IterVar((0, 8), "k", 0).iter_type == tir.IterVar.DataPar
    assert repr(i.equal(0)) == "i == 0"
    assert repr(tir.max(i, n)) == "T.max(i, n)"
    assert tir.decl_buffer((4,), offset_factor=1).elem_offset is not None


def test_structure_is_compared_with_the_errors_of_tvm(tvm: Any) -> None:
    x, y = tvm.tir.Var("x", "int32"), tvm.tir.Var("y", "int32")
    assert not tvm.ir.structural_equal(x, y)
    assert tvm.ir.structural_equal(x, y, map_free_vars=True)
    assert isinstance(tvm.ir.structural_hash(x + 1), int)
    with pytest.raises(
        ValueError, match=r"StructuralEqual check failed, caused by lhs at <root>\.b"
    ):
        tvm.ir.assert_structural_equal(x + 1, x + 2)
    root = tvm.ir.ObjectPath.root()
    both = tvm.ir.get_first_structural_mismatch(
        tvm.tir.SeqStmt([tvm.tir.Evaluate(x + 1), tvm.tir.Evaluate(x)]),
        tvm.tir.SeqStmt([tvm.tir.Evaluate(x + 1), tvm.tir.Evaluate(x + 1)]),
    )
    assert both is not None
    assert both[0] == root.attr("seq").array_index(1).attr("value")
    assert root.attr("seq").is_prefix_of(both[0])
    assert (str(both[0]), len(both[0])) == ("<root>.seq[1].value", 4)
    assert tvm.ir.get_first_structural_mismatch(x, x) is None
    assert tvm.ir.load_json(tvm.ir.save_json(x + 1)).a.name == "x"


def test_errors_have_the_classes_that_programs_catch(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                A[vi] = A[vi] + T.float32(1)

    sch = tvm.tir.Schedule(main)
    with pytest.raises(tvm.tir.ScheduleError, match="Cannot find a block with the name: C"):
        sch.get_block("C")
    with pytest.raises(tvm.TVMError, match="Cannot find a block with the name: C"):
        sch.get_block("C")
    with pytest.raises(tvm.error.DiagnosticError, match="has no attribute nothing"):
        tvm.script.from_source("@T.prim_func\ndef f():\n    T.nothing()\n")
    ib = tvm.tir.ir_builder.create()
    with pytest.raises(RuntimeError, match="else_scope"), ib.else_scope():
        pass
    with pytest.raises(ValueError, match="for_range"), ib.for_range(0, 4, kind="x"):
        pass
    with pytest.raises(ValueError, match="Cannot find global function"):
        tvm.get_global_func("no.such.function")
    assert tvm.get_global_func("no.such.function", allow_missing=True) is None
    with pytest.raises(AttributeError, match="Module has no function 'other'"):
        tvm.build(main, target="llvm")["other"]


def test_arrays_and_devices(tvm: Any) -> None:
    a = tvm.nd.array(np.arange(6).reshape(2, 3).astype("int32"))
    assert (a.shape, a.dtype, a.device, len(a)) == ((2, 3), "int32", tvm.cpu(0), 2)
    b = tvm.nd.empty((2, 3), "float32")
    b[:] = a
    np.testing.assert_array_equal(b.numpy(), a.asnumpy())
    a.copyto(b)
    with pytest.raises(ValueError, match="array shape does not match"):
        b.copyfrom(np.zeros(3))
    with pytest.raises(TypeError, match="has no elements to copy"):
        b.copyfrom(object())
    with pytest.raises(ValueError, match=r"only x\[:\] = value is possible"):
        b[0] = 1
    assert np.from_dlpack(b).shape == (2, 3)
    assert tvm.cpu(0).exist
    assert tvm.device("llvm", 0) == tvm.cpu(0)
    assert not tvm.cuda(0).exist
    with pytest.raises(tvm.TVMError, match=r"there is no cuda\(0\) here"):
        tvm.nd.empty((2,), device=tvm.cuda(0))
    with pytest.raises(ValueError, match="there is no device 'tpu'"):
        tvm.device("tpu")


def test_targets_are_said_in_many_ways(tvm: Any) -> None:
    Target = tvm.target.Target
    arm = Target("llvm -mcpu=cortex-a53 -device=arm_cpu -libs=cblas")
    assert (arm.keys, arm.mcpu, arm.libs) == (["arm_cpu", "cpu"], "cortex-a53", ["cblas"])
    assert str(arm) == "llvm -mcpu=cortex-a53"  # What code depends on.
    assert (arm.device_name, arm.model, arm.export()["device"]) == ("arm_cpu", "unknown", "arm_cpu")
    said = {"kind": "llvm", "keys": ["arm_cpu", "cpu"], "mattr": ["+neon", "-sve"]}
    for each in (said, json.dumps(said), Target(said).export()):
        target = Target(each)
        assert (target.keys, target.attrs["mattr"]) == (["arm_cpu", "cpu"], ["+neon", "-sve"])
    gpu = Target("nvidia/nvidia-a100", host="llvm -mcpu=native")
    assert (gpu.kind, gpu.arch, gpu.tag) == ("cuda", "sm_80", "nvidia/nvidia-a100")
    assert (gpu.thread_warp_size, gpu.max_threads_per_block) == (32, 1024)
    assert Target(gpu.export()).host.mcpu == "native"
    assert Target("cuda --host llvm").host.kind == "llvm"
    target, host = Target.canon_target_and_host("cuda -arch=sm_75", "llvm")
    assert (target.host.kind, host.kind) == ("llvm", "llvm")
    assert tvm.target.cuda(arch="sm_86").arch == "sm_86"
    assert tvm.target.arm_cpu("rasp4b", ["-mcpu=cortex-a72"]).mcpu == "cortex-a72"
    assert "cuda" in Target.list_kinds()
    with pytest.raises(ls.UserError, match="llvm has no option 'mfloat-abi'"):
        Target("llvm -mfloat-abi=hard")


def test_objects_are_linked_with_what_they_call(tvm: Any, tmp_path: Path) -> None:
    A = tvm.te.placeholder((8,), name="A")
    B = tvm.te.compute((8,), lambda i: A[i] + 1.0, name="B")
    built = tvm.build(tvm.te.create_schedule(B.op), [A, B], "llvm", name="add_one")
    code, library = tmp_path / "add.o", tmp_path / "add.so"
    built.save(str(code))
    from tvm.contrib import cc

    cc.create_shared(str(library), [str(code)])
    out = tvm.nd.array(np.zeros(8, "float32"))
    tvm.runtime.load_module(str(library))["add_one"](tvm.nd.array(np.ones(8, "float32")), out)
    np.testing.assert_array_equal(out.numpy(), np.full(8, 2.0))


def test_values_come_back_from_json(tvm: Any) -> None:
    array = tvm.nd.array(np.arange(4, dtype="float32"))
    back = tvm.ir.load_json(tvm.ir.save_json(array))
    np.testing.assert_array_equal(back.numpy(), array.numpy())
    assert tvm.ir.load_json(tvm.ir.save_json("xy")) == "xy"
    assert tvm.ir.load_json(tvm.ir.save_json(tvm.runtime.convert([1, 2])))[1].value == 2
    assert tvm.nd.from_dlpack(array.to_dlpack()).numpy().sum() == 6
    assert array.same_as(array)


def test_roundings_of_constants_and_integers_are_values(tvm: Any) -> None:
    tir = tvm.tir
    assert tvm.te.ceil(tir.const(3.55, "float32")).value == 4
    assert tir.round(tir.const(10, "int32")).value == 10
    i = tvm.te.var("i")
    assert tir.floor(i).same_as(i)
    assert (i + 0.5).astype("int").dtype == "int32"
    assert tir.if_then_else(i, 1, 2).dtype == "int32"


def test_modules_and_targets(tvm: Any, tmp_path: Path) -> None:
    from tvm import te

    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] * 2, name="B")
    func = te.create_prim_func([A, B]).with_attr("global_symbol", "twice")
    with tvm.target.Target({"kind": "llvm", "mcpu": "native"}) as target:
        assert tvm.target.Target.current() == target
        assert (str(target), target.keys) == ("llvm -mcpu=native", ["cpu"])
        assert (target.kind.name, target.kind) == ("llvm", "llvm")
        module = tvm.build(tvm.IRModule({"twice": func}))
    assert tvm.target.Target.current() is None
    a, b = tvm.nd.array(np.ones(16, "float32")), tvm.nd.empty((16,))
    module["twice"](a, b)
    assert b.numpy().tolist() == [2] * 16
    result = module.time_evaluator("twice", tvm.cpu(0), number=3, repeat=2)(a, b)
    assert len(result.results) == 2
    assert result.min <= result.mean <= result.max
    assert "mean (ms)" in str(result)
    assert "define" in module.get_source()
    assert ".text" in module.get_source("asm")
    with pytest.raises(ValueError, match="get_source: there is no form 'ptx'"):
        module.get_source("ptx")
    path = tmp_path / "twice.so"
    module.export_library(str(path))
    b[:] = 0
    tvm.runtime.load_module(path)["twice"](a, b)
    assert b.numpy().tolist() == [2] * 16


def test_operators_agree_with_numpy(tvm: Any) -> None:
    from tvm import te, topi

    def computed(result: Any, *inputs: tuple[Any, np.ndarray]) -> np.ndarray:
        out = np.zeros([int(extent) for extent in result.shape], result.dtype)
        module = ls.build([*(tensor for tensor, _ in inputs), result])
        module(*(array for _, array in inputs), out)
        return out

    rng = np.random.default_rng(0)
    x, y = rng.random((3, 4), np.float32), rng.random((4,), np.float32)
    X, Y = te.placeholder((3, 4), name="X"), te.placeholder((4,), name="Y")
    both = ((X, x), (Y, y))
    np.testing.assert_allclose(computed(topi.add(X, Y), *both), x + y, rtol=1e-6)
    np.testing.assert_allclose(computed(topi.maximum(X, 0.5), (X, x)), np.maximum(x, 0.5))
    np.testing.assert_allclose(computed(topi.exp(X), (X, x)), np.exp(x), rtol=1e-6)
    np.testing.assert_allclose(computed(topi.sum(X, axis=1), (X, x)), x.sum(1), rtol=1e-6)
    kept = computed(topi.max(X, axis=0, keepdims=True), (X, x))
    np.testing.assert_allclose(kept, x.max(0, keepdims=True))
    np.testing.assert_allclose(computed(topi.mean(X, axis=-1), (X, x)), x.mean(1), rtol=1e-6)
    np.testing.assert_allclose(computed(topi.transpose(X), (X, x)), x.T)
    np.testing.assert_allclose(computed(topi.reshape(X, (2, -1)), (X, x)), x.reshape(2, -1))
    np.testing.assert_allclose(computed(topi.flip(X, 1), (X, x)), x[:, ::-1])
    wide = computed(topi.concatenate([X, X], axis=1), (X, x))
    np.testing.assert_allclose(wide, np.concatenate([x, x], 1))
    np.testing.assert_allclose(computed(topi.squeeze(topi.expand_dims(X, 1)), (X, x)), x)
    Z, z = te.placeholder((5, 4), name="Z"), rng.random((5, 4), np.float32)
    np.testing.assert_allclose(computed(topi.nn.dense(X, Z), (X, x), (Z, z)), x @ z.T, rtol=1e-5)
    np.testing.assert_allclose(
        computed(topi.matmul(X, Z, transp_b=True), (X, x), (Z, z)), x @ z.T, rtol=1e-5
    )
    soft = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(
        computed(topi.nn.softmax(X), (X, x)), soft / soft.sum(1, keepdims=True), rtol=1e-5
    )
    with pytest.raises(ValueError, match="add: extents 4 and 3 are neither equal nor 1"):
        topi.add(X, te.placeholder((3,)))


def test_convolution_agrees_with_numpy(tvm: Any) -> None:
    from tvm import te, topi

    data, weight = np.random.rand(1, 2, 5, 6), np.random.rand(3, 2, 3, 3)
    D = te.placeholder(data.shape, "float64", name="D")
    W = te.placeholder(weight.shape, "float64", name="W")
    C = topi.nn.conv2d_nchw(D, W, stride=2, padding=1, dilation=1)
    out = np.zeros((1, 3, 3, 3))
    ls.build([D, W, C])(data, weight, out)
    padded = np.pad(data, [(0, 0), (0, 0), (1, 1), (1, 1)])
    expected = np.zeros_like(out)
    for f, y, x in np.ndindex(3, 3, 3):
        expected[0, f, y, x] = (
            padded[0, :, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3] * weight[f]
        ).sum()
    np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_traces_are_replayed(tvm: Any) -> None:
    from tvm.script import tir as T
    from tvm.tir.schedule.testing import (
        assert_structural_equal_ignore_global_symbol,
        verify_trace_roundtrip,
    )

    @T.prim_func
    def main(A: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                A[vi] = A[vi] + T.float32(1)

    sch = tvm.tir.Schedule(main, debug_mask="all")
    sch.split(sch.get_loops(sch.get_block("B"))[0], factors=[None, 4])
    again = verify_trace_roundtrip(sch, main)
    assert len(again.trace) == len(sch.trace)
    with pytest.raises(ValueError, match="there is no form 'xml' of a trace"):
        verify_trace_roundtrip(sch, main, text_format="xml")
    other = main.with_attr({"global_symbol": "other"})
    assert_structural_equal_ignore_global_symbol(main, other)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        assert_structural_equal_ignore_global_symbol(sch.mod["main"], main)
    module = tvm.IRModule({"main": main, "other": other})
    assert [name.name_hint for name, _ in module.items()] == ["other", "main"]
    assert module[module.items()[0][0]].same_as(other)


def test_index_maps_say_where_axes_begin(tvm: Any) -> None:
    from tvm import te

    made, separators = tvm.tir.IndexMap.from_func_with_separators(
        lambda i, j: [i // 4, te.AXIS_SEPARATOR, j, i % 4]
    )
    assert separators == [1]
    assert [repr(index) for index in made.map_indices([5, 2])] == [
        "T.int64(1)",
        "T.int64(2)",
        "T.int64(1)",
    ]
    assert len(tvm.tir.IndexMap.from_func(lambda *i: i, ndim=3).final_indices) == 3


def test_parts_of_modules_are_imported(tvm: Any) -> None:
    from tvm._ffi.base import TVMError
    from tvm.ir.module import IRModule
    from tvm.runtime.ndarray import NDArray
    from tvm.te.tensor import Tensor
    from tvm.tir.function import PrimFunc

    assert (IRModule, NDArray, Tensor) == (tvm.IRModule, tvm.nd.NDArray, ls.te.Tensor)
    assert (PrimFunc, TVMError) == (tvm.tir.PrimFunc, ls.UserError)
    with pytest.raises(ImportError, match=r"there is no module tvm\.ir\.supply here"):
        import tvm.ir.supply


def test_words_build_functions(tvm: Any) -> None:
    from tvm.script.ir_builder import IRBuilder
    from tvm.script.ir_builder import tir as T

    with IRBuilder() as ib:
        with T.prim_func():
            T.func_name("main")
            A = T.arg("A", T.Buffer((4,), "float32"))
            with T.serial(4) as i:
                T.buffer_store(A, T.float32(2), [i])
    out = tvm.nd.empty((4,))
    tvm.build(ib.get(), target="llvm")(out)
    assert out.numpy().tolist() == [2] * 4


def test_walks_of_stmt_functor(tvm: Any) -> None:
    tir = tvm.tir
    x = tir.Var("x", "int32")
    expr = x + x * 2
    doubled = tir.stmt_functor.ir_transform(
        tir.Evaluate(expr), None, lambda e: tir.const(7), ["tir.Mul"]
    )
    assert repr(doubled.value) == "x + 7"
    assert repr(tir.stmt_functor.substitute(expr, {x: tir.const(3)})) == "3 + T.Mul(3, 2)"
    assert tir.analysis.undefined_vars(tir.Evaluate(expr)) == [x]
    assert tir.analysis.undefined_vars(tir.Evaluate(expr), [x]) == []


def test_scripts_of_2021_mean_what_they_meant(tvm: Any, tmp_path: Path) -> None:
    program = tmp_path / "old.py"
    program.write_text(
        textwrap.dedent(
            """
            import tvm
            from tvm import tir
            from tvm.script import ty

            @tvm.script.module
            class Module:
                @tvm.script.tir
                def fill(a: ty.handle) -> None:
                    A = tir.match_buffer(a, [4, 4], "float32")
                    for i in tir.serial(0, 4):
                        with tir.block([4], "row") as [j]:
                            tir.bind(j, i)
                            A[j, j] = tir.float32(1)

            print(tvm.script.asscript(Module["fill"]))
            """
        )
    )
    done = executed(program)
    assert done.returncode == 0, done.stderr
    assert 'with T.block("row"):' in done.stdout


def test_compiled_functions_return_numbers(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def twice(x: T.int32) -> T.int32:
        return x * 2

    @T.prim_func
    def half(x: T.float32) -> T.float32:
        T.ret(x * T.float32(0.5))

    @T.prim_func
    def sign(x: T.int32) -> T.int32:
        if x < 0:
            return -1
        return 1

    assert tvm.build(twice, target="llvm")(4) == 8
    assert tvm.build(half, target="llvm")(3.0) == 1.5
    assert [tvm.build(sign, target="llvm")(x) for x in (-3, 3)] == [-1, 1]
    module = tvm.build(tvm.IRModule({"twice": twice, "sign": sign}), target="llvm")
    assert (module["twice"](21), module["sign"](-1)) == (42, -1)

    @T.prim_func
    def first(A: T.Buffer((4,), "float32")) -> T.float32:
        return A[0]

    assert tvm.build(first, target="llvm")(tvm.nd.array(np.arange(4, dtype="float32") + 5)) == 5


def test_options_of_the_compiler_have_their_effect(tvm: Any) -> None:
    te = tvm.te
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1, name="B")
    sch = te.create_schedule(B.op)
    sch[B].vectorize(B.op.axis[0])

    def text() -> str:
        return str(tvm.lower(sch, [A, B], simple_mode=True))

    assert "B[0:16] = A[0:16]" in text()
    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        assert "for i in range(16)" in text()
        built = tvm.build(sch, [A, B], "llvm")
    b = tvm.nd.empty((16,))
    built(tvm.nd.array(np.arange(16, dtype="float32")), b)
    np.testing.assert_array_equal(b.numpy(), np.arange(16) + 1)
    seen = []

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def watch(func: Any, mod: Any, ctx: Any) -> Any:
        seen.append(func.script())
        return func

    with tvm.transform.PassContext(config={"tir.add_lower_pass": [(0, watch)]}):
        tvm.lower(sch, [A, B])
    assert len(seen) == 1
    assert "T.vectorized(16)" in seen[0]
    seen.clear()
    later = [(phase, watch) for phase in (3, 1, 2)]
    with tvm.transform.PassContext(config={"tir.add_lower_pass": later}):
        tvm.lower(sch, [A, B])
        tvm.build(sch, [A, B], "llvm")
    assert len(seen) == 6
    assert "T.vectorized(16)" in seen[0]
    assert "B[0:16] = A[0:16]" in seen[1]
    assert "B[0:16] = A[0:16]" in seen[2]
    with pytest.raises(AttributeError, match="is not provided"):
        tvm.transform.PassContext(config={"tir.nothing": 1})


def test_a_wrong_number_of_indices_is_a_wrong_value(tvm: Any) -> None:
    A = tvm.te.placeholder((16,), name="A")
    for index in (lambda: A[0, 1], lambda: A(0, 1)):
        with pytest.raises(ValueError, match="tensor A has 1 dimensions, 2 indices were given"):
            index()
