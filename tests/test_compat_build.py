# SPDX-License-Identifier: Apache-2.0
"""Compiled modules, targets, rules and searches, as programs of all generations use them."""

# mypy: ignore-errors

from __future__ import annotations

from pathlib import Path
from typing import Any

import loopsmith._core
import numpy as np
import pytest


def add_one(tvm: Any, size: int = 1024) -> Any:
    """Return a function that adds 1."""
    A = tvm.te.placeholder((size,), name="A")
    B = tvm.te.compute((size,), lambda i: A[i] + 1.0, name="B")
    return tvm.te.create_prim_func([A, B])


def test_kernels_are_in_a_module_of_the_device(tvm: Any) -> None:
    sch = tvm.tir.Schedule(add_one(tvm))
    (i,) = sch.get_loops(sch.get_block("B"))
    outer, inner = sch.split(i, [None, 64])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    built = tvm.build(sch.mod, target="opencl")
    (kernels,) = built.imported_modules
    assert kernels.type_key == built.imports[0].kind == "opencl"
    assert "__kernel" in kernels.get_source() and kernels.get_source() == built.get_source()
    assert tvm.build(add_one(tvm), target="llvm").imported_modules == []


def test_threads_that_a_statement_launches_are_built(tvm: Any) -> None:
    def kernel(ins: Any, outs: Any) -> Any:
        ib = tvm.tir.ir_builder.create()
        bx, tx = tvm.te.thread_axis("blockIdx.x"), tvm.te.thread_axis("threadIdx.x")
        ib.scope_attr(bx, "thread_extent", (ins[0].shape[0] + 31) // 32)
        ib.scope_attr(tx, "thread_extent", 32)
        place = bx.var * 32 + tx.var
        a, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.if_scope(ib.likely(place < ins[0].shape[0])):
            c[place] = a[place] + 1.0
        return ib.get()

    A = tvm.te.placeholder((tvm.te.var("n"),), name="A")
    C = tvm.te.extern(A.shape, [A], kernel, name="C", dtype="float32")
    built = tvm.build(tvm.te.create_schedule(C.op), [A, C], "opencl")
    assert "get_group_id(0)" in built.imported_modules[0].get_source()


def test_two_axes_of_virtual_threads_may_nest(tvm: Any) -> None:
    A = tvm.te.placeholder((64, 64), name="A")
    B = tvm.te.compute((64, 64), lambda i, j: A[i, j] * 2.0, name="B")
    s = tvm.te.create_schedule(B.op)
    rows, columns = (s[B].split(axis, nparts=2) for axis in B.op.axis)
    s[B].reorder(rows[0], columns[0], rows[1], columns[1])
    for (outer, inner), x in ((rows, "y"), (columns, "x")):
        s[B].bind(outer, tvm.te.thread_axis((0, 2), "vthread", name=f"v{x}"))
        s[B].bind(inner, tvm.te.thread_axis((0, 32), f"threadIdx.{x}"))
    source = tvm.build(s, [A, B], "opencl").imported_modules[0].get_source()
    assert "get_local_id(1)" in source and "vthread" not in source


def test_a_function_that_the_process_lacks_is_told_at_the_call(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def calls(A: T.Buffer((4,), "float64")):
        T.evaluate(T.call_extern("int32", "no_such_function", A.data))

    built = tvm.build(calls, target="llvm")
    assert "no_such_function" in built.get_source()
    with pytest.raises(tvm.TVMError, match="this process has no function no_such_function"):
        built(np.zeros(4))


def test_later_generations_compile(tvm: Any, tmp_path: Path) -> None:
    built = tvm.compile(add_one(tvm), target=tvm.target.Target({"kind": "llvm"}))
    assert isinstance(built, tvm.runtime.Executable)
    a = tvm.runtime.tensor(range(1024), dtype="float32", device=tvm.cpu())
    b = tvm.runtime.empty((1024,), "float32")
    built.jit()["main"](a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(1, 1025))
    assert "define" in built.mod.inspect_source("ll")
    path = str(tmp_path / "library.so")
    built.export_library(path)
    tvm.runtime.load_module(path)["main"](b, a)
    assert a.numpy()[0] == 2
    with pytest.raises(AttributeError, match=r"tvm\.tir\.pipeline\.own is not provided"):
        tvm.compile(add_one(tvm), target="llvm", tir_pipeline="own")
    seen = []
    tvm.compile(add_one(tvm), target="llvm", tir_pipeline=lambda mod: seen.append(mod) or mod)
    assert len(seen) == 1


def test_rules_schedule_for_the_current_target(tvm: Any) -> None:
    from tvm import dlight as dl
    from tvm.s_tir import dlight as later

    assert later.gpu.Fallback is dl.gpu.Fallback
    apply = dl.ApplyDefaultSchedule(dl.gpu.Matmul(), dl.gpu.Fallback())
    module = tvm.IRModule({"main": add_one(tvm)})
    with pytest.raises(ValueError, match="there is no current target"):
        apply(module)
    with tvm.target.Target("cuda"):
        text = apply(module).script()
    assert 'thread="threadIdx.x"' in text and '"tir.is_scheduled": True' in text

    def own(func: Any, target: Any, tunable: bool) -> Any:
        sch = tvm.tir.Schedule(func)
        sch.parallel(sch.get_loops(sch.get_block("B"))[0])
        return sch

    with tvm.target.Target("llvm"):
        made = dl.ApplyDefaultSchedule(lambda *_: None, own)(module)
    assert "T.parallel" in made.script()


def test_a_search_gives_a_schedule(tvm: Any, tmp_path: Path) -> None:
    from tvm import meta_schedule as ms

    A, B = (tvm.te.placeholder((32, 32), name=name) for name in "AB")
    k = tvm.te.reduce_axis((0, 32), name="k")
    C = tvm.te.compute((32, 32), lambda i, j: tvm.te.sum(A[i, k] * B[k, j], axis=k), name="C")
    product = tvm.te.create_prim_func([A, B, C])

    def space(sch: Any) -> None:
        j = sch.get_loops(sch.get_block("C"))[1]
        sch.split(j, sch.sample_perfect_tile(j, n=2, max_innermost_factor=16))

    target = tvm.target.Target("llvm --num-cores=1")
    given = {"mod": product, "target": target, "work_dir": str(tmp_path), "max_trials_global": 2}
    found = ms.tune_tir(**given, num_trials_per_iter=2, space=ms.space_generator.ScheduleFn(space))
    sch = ms.tir_integration.compile_tir(found, product, target)
    assert len(sch.get_loops(sch.get_block("C"))) == 4
    other = tvm.IRModule({"main": add_one(tvm)})
    assert ms.database.JSONDatabase(work_dir=tmp_path).query_schedule(other, target) is None
    with pytest.raises(AttributeError, match=r"tune_tir\(colour=\.\.\.\) is not provided"):
        ms.tune_tir(**given, colour="blue")


def test_functions_have_variants_for_targets(tvm: Any) -> None:
    @tvm.target.generic_func
    def lanes(x: int) -> int:
        return x

    @lanes.register(["cuda", "gpu"])
    def _(x: int) -> int:
        return 32 * x

    with tvm.target.Target("llvm"):
        assert lanes(2) == 2
    with tvm.target.Target("cuda"):
        assert lanes(2) == 64
    with pytest.raises(ValueError, match="lanes: there is a variant for gpu already"):
        lanes.register("gpu", lambda x: x)

    @tvm.target.override_native_generic_func("own_schedule")
    def own(x: int) -> int:
        return x + 1

    assert own(1) == tvm.target.get_native_generic_func("own_schedule")(1) == 2
    assert tvm.target.Target.from_device(tvm.cpu()).mcpu == "native"
    with pytest.raises(ValueError, match="'gpuu' is not a kind of target"):
        tvm.target.Target("gpuu")


def test_instruments_are_told_of_the_passes_of_a_lowering(tvm: Any) -> None:
    from tvm.ir.instrument import PassTimingInstrument

    @tvm.instrument.pass_instrument
    class Names:
        def __init__(self) -> None:
            self.names: list[str] = []

        def run_before_pass(self, mod: Any, info: Any) -> None:
            assert "main" in mod
            self.names.append(info.name)

    names, timing = Names(), PassTimingInstrument()
    with tvm.transform.PassContext(instruments=[names, timing]):
        tvm.build(tvm.IRModule({"main": add_one(tvm)}), target="llvm")
    assert "tir.vectorize_loops" in names.names
    assert timing.render().count("us\n") == len(names.names)

    @tvm.instrument.pass_instrument
    class Skips:
        def should_run(self, mod: Any, info: Any) -> bool:
            return False

    with tvm.transform.PassContext(instruments=[Skips()]):
        with pytest.raises(AttributeError, match="should_run"):
            tvm.lower(add_one(tvm))


def test_functions_of_python_and_texts_are_as_programs_expect(tvm: Any) -> None:
    called = tvm.runtime.convert(lambda *args: len(args))
    assert isinstance(called, tvm.runtime.PackedFunc) and called(1, "a") == 2
    tvm.register_func("own.function", called, override=True)
    assert "own.function" in tvm._ffi.registry.list_global_func_names()
    text = add_one(tvm).script(tir_prefix="tir")
    assert "@tir.prim_func" in text and "T." not in text.replace("tir.", "")
    assert tvm.tir.decl_buffer((4,)).elem_offset.value == 0
    assert tvm.tir.SeqStmt([tvm.tir.Evaluate(1), tvm.tir.Evaluate(2)]).size == 2


def test_intrinsics_of_llvm_are_called_as_in_any_generation(tvm: Any) -> None:
    from tvm.script import tir as T
    from tvm.target import codegen

    @T.prim_func
    def main(A: T.Buffer((2,), "int32")):
        T.evaluate(T.call_llvm_intrin("", "llvm.assume", A[0] > 0))
        A[1] = T.call_llvm_pure_intrin("int32", "llvm.ctlz", A[0], T.bool(False))
        A[0] = T.call_llvm_pure_intrin("int32", "llvm.bitreverse", T.uint32(1), A[0])

    x = tvm.nd.array(np.array([1, 0], "int32"))
    tvm.build(main)(x)
    assert x.numpy().tolist() == [-(2**31), 31]
    assert tvm.tir.call_llvm_intrin("", "llvm.assume", tvm.tir.const(1, "bool")).dtype == "void"
    with pytest.raises(AssertionError, match=r"llvm\.nothing is not an LLVM intrinsic"):
        tvm.tir.call_llvm_pure_intrin("int32", "llvm.nothing", 1)
    number = codegen.llvm_lookup_intrinsic_id("llvm.ctlz")
    assert number > 0 and codegen.llvm_get_intrinsic_name(number) == "llvm.ctlz"
    assert codegen.llvm_lookup_intrinsic_id("llvm.nothing") == 0
    assert codegen.llvm_version_major() == int(loopsmith._core.llvm_version().split(".")[0])
    assert codegen.target_has_features("avx2", "llvm -mcpu=haswell")
    assert not codegen.target_has_features(["avx2", "avx512f"], "llvm -mcpu=haswell")
    assert codegen.llvm_get_system_cpu() and "-" in codegen.llvm_get_system_triple()
    with pytest.raises(AttributeError, match=r"codegen\.llvm_get_targets is not provided"):
        codegen.llvm_get_targets


def test_any_number_is_a_flag(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def main(arg: T.bool) -> T.int32:
        if arg:
            return 10
        return 20

    built = tvm.compile(main)
    for call in (built, built["main"]):
        assert [call(each) for each in (1, 2, 0, True)] == [10, 10, 20, 10]
