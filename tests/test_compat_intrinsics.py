# SPDX-License-Identifier: Apache-2.0
"""Calls of intrinsics in tensor expressions, and functions, of programs that import tvm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest


def adds(tvm: Any, size: int) -> Any:
    """Return an intrinsic that adds vectors."""
    x, y = (tvm.te.placeholder((size,), name=name) for name in "xy")
    z = tvm.te.compute((size,), lambda i: x[i] + y[i], name="z")

    def body(ins: Any, outs: Any) -> Any:
        ib = tvm.tir.ir_builder.create()
        with ib.for_range(0, size, name="lane") as lane:
            ib.emit(outs[0].vstore([lane], ins[0].vload([lane]) + ins[1].vload([lane])))
        return ib.get()

    return tvm.te.decl_tensor_intrin(z.op, body, default_buffer_params={"offset_factor": 1})


def multiplies(tvm: Any, rows: int, columns: int) -> Any:
    """Return an intrinsic that multiplies a matrix by a vector."""
    w, x = tvm.te.placeholder((rows, columns), name="w"), tvm.te.placeholder((columns,), name="x")
    k = tvm.te.reduce_axis((0, columns), name="k")
    z = tvm.te.compute((rows,), lambda i: tvm.te.sum(w[i, k] * x[k], axis=k), name="z")

    def parts(ins: Any, outs: Any) -> Any:
        def of(starts: bool, adds: bool) -> Any:
            ib = tvm.tir.ir_builder.create()
            with ib.for_range(0, rows, name="r") as r:
                if starts:
                    ib.emit(outs[0].vstore([r], tvm.tir.const(0, "float32")))
                if adds:
                    with ib.for_range(0, columns, name="c") as c:
                        more = ins[0].vload([r, c]) * ins[1].vload([c])
                        ib.emit(outs[0].vstore([r], outs[0].vload([r]) + more))
            return ib.get()

        return of(True, True), of(True, False), of(False, True)

    return tvm.te.decl_tensor_intrin(z.op, parts, default_buffer_params={"offset_factor": 1})


def test_intrinsics_are_called_in_tensor_expressions(tvm: Any) -> None:
    A, B = tvm.te.placeholder((6, 16), name="A"), tvm.te.placeholder((6, 16), name="B")
    intrin = adds(tvm, 16)
    C = tvm.te.compute((6, 16), lambda i: intrin(A[i, 0:16], B[i, 0:16]), name="C")
    s = tvm.te.create_schedule(C.op)
    assert s[C].iter_var_attrs[C.op.axis[1]].tensor_intrin == intrin
    assert "lane" in tvm.lower(s, [A, B, C], simple_mode=True).script()
    given = [np.random.default_rng(0).random((6, 16), "float32") for _ in range(2)]
    a, b, c = (tvm.nd.array(each) for each in [*given, np.zeros((6, 16), "float32")])
    tvm.build(s, [A, B, C], "llvm")(a, b, c)
    np.testing.assert_allclose(c.numpy(), given[0] + given[1], rtol=1e-6)
    with pytest.raises(ValueError, match="takes regions of 2 tensors"):
        tvm.te.compute((6, 16), lambda i: intrin(A[i, 0:16]), name="C")


def test_calls_of_intrinsics_are_summed_up(tvm: Any) -> None:
    A = tvm.te.placeholder((3, 5, 4, 4), name="A")
    B = tvm.te.placeholder((2, 5, 4), name="B")
    k = tvm.te.reduce_axis((0, 5), name="k")
    intrin = multiplies(tvm, 4, 4)
    C = tvm.te.compute(
        (3, 2, 4), lambda i, j: intrin(A[i, k, 0:4, 0:4], B[j, k, 0:4], reduce_axis=k), name="C"
    )
    s = tvm.te.create_schedule(C.op)
    i, j, _ = s[C].op.axis
    s[C].reorder(j, i)
    shapes = ((3, 5, 4, 4), (2, 5, 4))
    given = [np.random.default_rng(1).random(shape, "float32") for shape in shapes]
    a, b, c = (tvm.nd.array(each) for each in [*given, np.zeros((3, 2, 4), "float32")])
    tvm.build(s, [A, B, C], "llvm")(a, b, c)
    np.testing.assert_allclose(c.numpy(), np.einsum("ikrc,jkc->ijr", *given), rtol=1e-5)


def test_functions_and_pointers_look_as_they_did(tvm: Any) -> None:
    T = tvm.script.tir

    @T.prim_func
    def five():
        T.evaluate(T.ret(5))

    @T.prim_func
    def also_five():
        return 5

    assert five.__name__ == "five"
    with pytest.raises(AttributeError, match="'PrimFunc' object has no attribute 'nothing'"):
        _ = five.nothing
    tvm.ir.assert_structural_equal(five.without_attr("global_symbol"), also_five)
    assert tvm.build(five, target="llvm")() == 5
    tagged = five.with_attr("calling_conv", 1)
    assert tagged.attrs["calling_conv"].value == 1 == tagged.attrs["calling_conv"]
    pointer = T.handle("int32", "shared")
    assert isinstance(pointer, tvm.tir.Var)
    assert pointer.type_annotation.storage_scope == "shared"


def test_padding_has_the_type_of_its_buffer(tvm: Any) -> None:
    T = tvm.script.tir

    @T.prim_func
    def main(A: T.Buffer((14,), "float32")):
        B = T.alloc_buffer((14,), "float32")
        for i in range(14):
            with T.block("B"):
                vi = T.axis.spatial(14, i)
                B[vi] = A[vi]

    for wrong in (0, tvm.tir.IntImm("int32", 0)):
        with pytest.raises(tvm.tir.ScheduleError, match="buffer B is float32"):
            tvm.tir.Schedule(main).transform_layout(
                "B", "B", lambda i: [i // 4, i % 4], pad_value=wrong
            )
    sch = tvm.tir.Schedule(main)
    sch.transform_layout("B", "B", lambda i: [i // 4, i % 4], pad_value=0.0)
    assert "T.alloc_buffer((4, 4))" in sch.mod["main"].script()


def test_intrinsics_take_whole_tensors_and_slices_without_points(tvm: Any) -> None:
    A = tvm.te.placeholder((3, 4, 4), name="A")
    B = tvm.te.placeholder((4,), name="B")
    intrin = multiplies(tvm, 4, 4)
    given = [np.random.default_rng(2).random(shape, "float32") for shape in ((3, 4, 4), (4,))]
    for part in (lambda: B, lambda: B[0:4]):
        C = tvm.te.compute((3, 4), lambda i, part=part: intrin(A[i, 0:4, 0:4], part()), name="C")
        s = tvm.te.create_schedule(C.op)
        a, b, c = (tvm.nd.array(each) for each in [*given, np.zeros((3, 4), "float32")])
        tvm.build(s, [A, B, C], "llvm")(a, b, c)
        np.testing.assert_allclose(c.numpy(), np.einsum("irc,c->ir", *given), rtol=1e-5)


def test_intrinsics_take_numbers_among_regions(tvm: Any) -> None:
    te = tvm.te
    x, v, w = te.placeholder((10,), name="x"), te.size_var("v"), te.size_var("w")
    z = te.compute((10,), lambda i: x[i] * v + w, name="z")

    def hardware(ins: Any, outs: Any, numbers: Any) -> Any:
        given = (numbers[0], numbers[1])
        return tvm.tir.call_packed("hardware", ins[0].data, outs[0].data, *given)

    params = {"offset_factor": 1}
    intrin = te.decl_tensor_intrin(
        z.op, hardware, scalar_params=[v, w], default_buffer_params=params
    )
    assert tuple(intrin.scalar_params) == (v, w)
    A = te.placeholder((10, 10), name="A")
    C = te.compute((10, 10), lambda i: intrin(i * i, A[i, 0:10], i + 1), name="C")
    text = tvm.lower(te.create_schedule(C.op), [A, C]).script()
    assert "hardware" in text and "i * i" in text and "i + 1" in text
    with pytest.raises(ValueError, match="takes 2 numbers"):
        te.compute((10, 10), lambda i: intrin(A[i, 0:10]), name="C")


def test_regions_may_start_at_an_axis(tvm: Any) -> None:
    te = tvm.te
    a = te.placeholder((te.var("m"), te.var("n")), name="a")
    c = te.compute((1, a.shape[1]), lambda i, j: a[0, j] + a[1, j], name="c")

    def add_rows(ins: Any, outs: Any) -> Any:
        return tvm.tir.call_packed("add_rows", ins[0].data, outs[0].data)

    intrin = te.decl_tensor_intrin(c.op, add_rows, default_buffer_params={"offset_factor": 1})
    A = te.placeholder((20, 20), name="A")
    C = te.compute((10, 20), lambda i: intrin(A[i : i + 2, 0:20]), name="C")
    assert str(C.op.body[0]) == "A[i, ax0] + A[i + 1, ax0]"


def test_a_call_of_an_intrinsic_stays_one(tvm: Any) -> None:
    te = tvm.te
    A = te.placeholder((3, 4, 4), name="A")
    B = te.placeholder((4,), name="B")
    intrin = multiplies(tvm, 4, 4)
    C = te.compute((3, 4), lambda i: intrin(A[i, 0:4, 0:4], B), name="C")
    s, again = te.create_schedule(C.op), te.create_schedule(C.op)
    again[C].tensorize(C.op.axis[0], intrin)
    assert again[C].iter_var_attrs[C.op.axis[0]].tensor_intrin is intrin
    assert tvm.lower(again, [A, B, C]).script() == tvm.lower(s, [A, B, C]).script()


def test_names_of_intrinsics_are_those_that_there_are(tvm: Any) -> None:
    from tvm.tir.tensor_intrin import cuda, dot_product_common

    group = cuda.get_wmma_intrin_group("shared", "global", "float16", "float32", trans_b=True)
    assert group["load_b"] == "wmma_load_16x16x16_f16_b_trans_shared"
    for name in [
        *group.values(),
        *map(dot_product_common.__dict__.get, dot_product_common.__all__),
    ]:
        assert tvm.tir.TensorIntrin.get(name).desc is not None
    with pytest.raises(AssertionError, match="there is no wmma_fill_16x16x16_f8"):
        cuda.get_wmma_intrin_group("shared", "global", "float16", "f8", trans_b=False)
