# SPDX-License-Identifier: Apache-2.0
"""Tiles of tensor expressions that a C function computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir

GEMV = """
int gemv_init(float *c, int m) {
  for (int i = 0; i < m; ++i) c[i] = 0;
  return 0;
}
int gemv_update(float *c, const float *a, const float *b, int m, int l, int stride) {
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < l; ++j) c[i] += a[j] * b[i * stride + j];
  }
  return 0;
}
"""


def start_of(buffer: tir.Buffer) -> Any:
    return tir.address_of(buffer[(0,) * len(buffer.shape)])


def gemv(m: Any, length: Any, *, parts: bool = False) -> te.TensorIntrin:
    """Return c[i] = a . b[i]: as one call, or as an init and an update."""
    a = te.placeholder((length,), name="a")
    b = te.placeholder((m, length), name="b")
    k = te.reduce_axis((0, length), name="k")
    c = te.compute((m,), lambda i: te.sum(a[k] * b[i, k], axis=k), name="c")
    a_buffer = tir.decl_buffer(a.shape, a.dtype, name="A", offset_factor=1, strides=[1])
    b_buffer = tir.decl_buffer(
        b.shape, b.dtype, name="B", offset_factor=1, strides=[te.var("s1"), 1]
    )
    c_buffer = tir.decl_buffer(c.shape, c.dtype, name="C", offset_factor=1, strides=[1])

    def intrin_func(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> Any:
        aa, bb = ins
        (cc,) = outs
        update = tir.call_extern(
            "int32",
            "gemv_update",
            start_of(cc),
            start_of(aa),
            start_of(bb),
            m,
            length,
            bb.strides[0],
        )
        if not parts:
            return update
        return None, tir.call_extern("int32", "gemv_init", start_of(cc), m), update

    return te.decl_tensor_intrin(
        c.op, intrin_func, name="gemv", binds={a: a_buffer, b: b_buffer, c: c_buffer}
    )


def product(n: Any, m: Any, length: Any) -> tuple[te.Tensor, te.Tensor, te.Tensor]:
    A = te.placeholder((n, length), name="A")
    B = te.placeholder((m, length), name="B")
    k = te.reduce_axis((0, length), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    return A, B, C


GEMM = """
int gemm_init(float *c, int n, int m, int row) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j) c[i * row + j] = 0;
  return 0;
}
int gemm_update(float *c, const float *a, const float *b, int n, int m, int l, int c_row,
                int a_row, int b_row) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < m; ++j)
      for (int k = 0; k < l; ++k) c[i * c_row + j] += a[i * a_row + k] * b[j * b_row + k];
  return 0;
}
"""


def gemm(n: Any, m: Any, length: Any) -> te.TensorIntrin:
    """Return c = a b^T of a tile, as an init and an update."""
    a, b, c = product(n, m, length)
    rows = {
        tensor: tir.decl_buffer(
            tensor.shape, "float32", name, offset_factor=1, strides=[te.var(name + "_row"), 1]
        )
        for tensor, name in zip((a, b, c), "abc")
    }

    def intrin_func(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> Any:
        (aa, bb), (cc,) = ins, outs
        start = tir.call_extern("int32", "gemm_init", cc.access_ptr("w"), n, m, cc.strides[0])
        pointers = cc.access_ptr("rw"), aa.access_ptr("r"), bb.access_ptr("r")
        strides = cc.strides[0], aa.strides[0], bb.strides[0]
        return (
            None,
            start,
            tir.call_extern("int32", "gemm_update", *pointers, n, m, length, *strides),
        )

    return te.decl_tensor_intrin(c.op, intrin_func, name="gemm", binds=rows)


def run(
    s: te.Schedule,
    args: tuple[te.Tensor, te.Tensor, te.Tensor],
    sizes: tuple[int, int, int] = (8, 32, 16),
) -> None:
    rng = np.random.default_rng(1)
    n, m, length = sizes
    shapes = [(n, length), (m, length), (n, m)]
    a, b, c = (rng.integers(-3, 4, shape).astype("float32") for shape in shapes)
    for target in ("llvm", "c"):
        c[:] = 100
        ls.build(s, list(args), target)(a, b, c)
        np.testing.assert_array_equal(c, a @ b.T)


def test_a_tile_of_a_whole_reduction_is_one_call() -> None:
    A, B, C = product(8, 32, 16)
    s = te.create_schedule(C.op)
    x, y = C.op.axis
    yo, yi = s[C].split(y, factor=16)
    s[C].reorder(x, yo, yi, C.op.reduce_axis[0])
    s[C].tensorize(yi, gemv(16, 16))
    s[C].pragma(x, "import_c", GEMV)
    script = s.to_tir([A, B, C]).func.script()
    assert script.count('T.call_extern("int32", "gemv_update"') == 1
    assert "for k in" not in script
    run(s, (A, B, C))


def test_a_tile_of_a_split_reduction_is_an_init_and_an_update() -> None:
    A, B, C = product(8, 32, 24)
    s = te.create_schedule(C.op)
    x, y = C.op.axis
    yo, yi = s[C].split(y, factor=16)
    zo, zi = s[C].split(C.op.reduce_axis[0], factor=8)
    s[C].reorder(x, yo, zo, yi, zi)
    s[C].tensorize(yi, gemv(16, 8, parts=True))
    s[C].pragma(x, "import_c", GEMV)
    script = s.to_tir([A, B, C]).func.script()
    assert script.count('T.call_extern("int32", "gemv_init"') == 1
    assert script.count('T.call_extern("int32", "gemv_update"') == 1
    run(s, (A, B, C), (8, 32, 24))


@pytest.mark.parametrize("sizes", [(8, 16, 4), [te.size_var(name) for name in "nml"]])
def test_a_tile_of_a_product_is_a_call_of_a_function_in_c(sizes: Any) -> None:
    A, B, C = product(32, 32, 24)
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 8, 16)
    zo, zi = s[C].split(C.op.reduce_axis[0], factor=4)
    s[C].reorder(xo, yo, zo, xi, yi, zi)
    s[C].tensorize(xi, gemm(*sizes))
    s[C].pragma(xo, "import_c", GEMM)
    script = s.to_tir([A, B, C]).func.script()
    assert script.count('"gemm_init"') == script.count('"gemm_update"') == 1
    assert "8, 16, 4, c_row, a_row, b_row)" in script
    run(s, (A, B, C), (32, 32, 24))


@pytest.mark.parametrize("parts", [False, True])
def test_sizes_of_an_intrinsic_are_those_of_each_tile(parts: bool) -> None:
    intrin = gemv(te.size_var("rows"), te.size_var("columns"), parts=parts)
    A, B, C = product(8, 32, 16)
    s = te.create_schedule(C.op)
    x, y = C.op.axis
    _, yi = s[C].split(y, factor=16)
    s[C].tensorize(yi, intrin)
    s[C].pragma(x, "import_c", GEMV)
    script = s.to_tir([A, B, C]).func.script()
    assert "T.address_of(B_1[0, 0]), 16, 16, s1)" in script
    run(s, (A, B, C))


def test_sizes_of_an_intrinsic_may_be_symbolic_in_the_program() -> None:
    n, m, length = te.size_var("n"), te.size_var("m"), te.size_var("l")
    A, B, C = product(n, m, length)
    s = te.create_schedule(C.op)
    x, y = C.op.axis
    s[C].parallel(x)
    s[C].tensorize(y, gemv(te.size_var("rows"), te.size_var("columns")))
    s[C].pragma(x, "import_c", GEMV)
    for sizes in [(8, 32, 16), (3, 5, 7), (1, 1, 1)]:
        run(s, (A, B, C), sizes)


def test_a_size_of_an_intrinsic_is_one_in_all_of_a_tile() -> None:
    A, B, C = product(8, 32, 16)
    side = te.size_var("side")
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], gemv(side, side))
    with pytest.raises(ls.ScheduleError, match="the extent of loop k is 16, not 32"):
        s.to_tir([A, B, C])


def test_copies_are_made_of_what_an_intrinsic_reaches() -> None:
    A, B, C = product(8, 32, 16)
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], gemv(32, 16, parts=True))
    s[C].pragma(C.op.axis[0], "import_c", GEMV)
    sch = s.to_tir([A, B, C])
    sch.trust_calls(["gemv_init", "gemv_update"])
    init, update = sch.get_child_blocks(sch.get_block("root"))
    copy = sch.cache_read(update, "A", "local")
    sch.compute_at(copy, sch.get_loops(update)[0])
    sch.cache_write(init, 0, "global")
    assert "T.match_buffer(A_local[" in sch.func.script()
    assert sch.func.script().count("T.match_buffer(C_global[") == 2
    a, b, c = (np.ones(shape, "float32") for shape in [(8, 16), (32, 16), (8, 32)])
    ls.build(sch)(a, b, c)
    np.testing.assert_array_equal(c, a @ b.T)


def test_copies_in_other_memory_are_reached_by_pointers_of_views() -> None:
    A, B, C = product(32, 32, 24)
    s = te.create_schedule(C.op)
    xo, _, xi, _ = s[C].tile(*C.op.axis, 8, 16)
    s[C].tensorize(xi, gemm(8, 16, 24))
    s[C].pragma(xo, "import_c", GEMM)
    sch = s.to_tir([A, B, C])
    update = sch.get_child_blocks(sch.get_block("root"))[-1]
    with pytest.raises(ls.ScheduleError, match="buffer A is reached through its pointer"):
        sch.cache_read(update, "A", "local")
    sch.trust_calls(["gemm_update"])
    sch.cache_read(update, "A", "local")
    a, b, c = (np.ones(shape, "float32") for shape in [(32, 24), (32, 24), (32, 32)])
    ls.build(sch)(a, b, c)
    np.testing.assert_array_equal(c, a @ b.T)


def test_an_intrinsic_without_a_reduction_takes_the_tile() -> None:
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] * 2, name="B")
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: a[i] * 2, name="b")

    def twice(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> Any:
        return tir.call_extern("int32", "twice", start_of(ins[0]), start_of(outs[0]))

    s = te.create_schedule(B.op)
    s[B].tensorize(B.op.axis[1], te.decl_tensor_intrin(b.op, twice, name="twice"))
    code = (
        "int twice(float *a, float *b) { for (int i = 0; i < 16; ++i) b[i] = 2 * a[i]; return 0; }"
    )
    s[B].pragma(B.op.axis[0], "import_c", code)
    array = np.arange(128, dtype="float32").reshape(8, 16)
    result = np.zeros_like(array)
    ls.build(s, [A, B])(array, result)
    np.testing.assert_array_equal(result, 2 * array)


def test_a_tile_that_is_not_what_the_intrinsic_describes_is_refused() -> None:
    A, B, C = product(8, 32, 16)
    s = te.create_schedule(C.op)
    _, yi = s[C].split(C.op.axis[1], factor=8)
    s[C].tensorize(yi, gemv(16, 16))
    with pytest.raises(ls.ScheduleError, match="doesn't match the tensor intrin gemv: the extent"):
        s.to_tir([A, B, C])


def test_an_update_is_needed_inside_of_a_reduction() -> None:
    A, B, C = product(8, 32, 32)
    s = te.create_schedule(C.op)
    zo, zi = s[C].split(C.op.reduce_axis[0], factor=16)
    yo, yi = s[C].split(C.op.axis[1], factor=16)
    s[C].reorder(yo, zo, yi, zi)
    s[C].tensorize(yi, gemv(16, 16))
    with pytest.raises(ls.ScheduleError) as error:
        s.to_tir([A, B, C])
    assert (
        "tensorize: axis j.inner of stage C is inside its reduction, and intrinsic gemv has no "
        "reduce_update"
    ) in str(error.value)


def test_one_axis_is_tensorized_by_what_computes_all_of_it() -> None:
    A = te.placeholder((8, 16), name="A")
    B = te.compute((8, 16), lambda i, j: A[i, j] * 2, name="B")
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: a[i] * 2, name="b")
    call = tir.call_extern("int32", "f")
    whole = te.decl_tensor_intrin(b.op, lambda ins, outs: call, name="whole")
    s = te.create_schedule(B.op)
    s[B].tensorize(B.op.axis[0], whole)
    s[B].tensorize(B.op.axis[1], whole)
    with pytest.raises(ls.ScheduleError) as error:
        s.to_tir([A, B])
    assert "axes i and j of stage B are both to be computed by an intrinsic" in str(error.value)
    update = te.decl_tensor_intrin(b.op, lambda ins, outs: (None, None, call), name="update")
    s = te.create_schedule(B.op)
    s[B].tensorize(B.op.axis[1], update)
    with pytest.raises(
        ls.ScheduleError, match="tensorize: intrinsic update of stage B has no body"
    ):
        s.to_tir([A, B])


def test_declarations_that_do_not_fit_are_refused() -> None:
    a = te.placeholder((16,), name="a")
    b = te.compute((16,), lambda i: a[i] * 2, name="b")
    c = te.compute((16,), lambda i: b[i] + 1, name="c")

    def called(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> Any:
        return tir.call_extern("int32", "f")

    wrong = tir.decl_buffer((8,), "float32", name="W")
    for op, fcompute, binds, problem in [
        (a.op, called, {}, ": the operation is no compute"),
        (c.op, called, {}, "c reads b, which is computed itself"),
        (b.op, called, {a: wrong}, "buffer W is not of the type and shape of"),
        (b.op, lambda i, o: None, {}, ": there is no statement"),
        (b.op, lambda i, o: (None,) * 4, {}, "4 statements are given"),
        (b.op, lambda i, o: "x", {}, "a str is no statement"),
    ]:
        with pytest.raises(ls.UserError) as error:
            te.decl_tensor_intrin(op, fcompute, name="f", binds=binds)
        assert f"decl_tensor_intrin f: {problem.removeprefix(': ')}" in str(error.value)


def scaled_rows(factor: Any) -> tuple[te.Schedule, te.Tensor, te.Tensor]:
    """Return a schedule whose rows, each times `factor(i)`, an intrinsic computes; A and C."""
    scale, shift = te.var("scale", "float32"), te.var("shift", "float32")
    a = te.placeholder((8,), name="a")
    c = te.compute((8,), lambda i: a[i] * scale + shift, name="c")

    def rows(ins: Any, outs: Any, numbers: Any) -> Any:
        ib = tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, "lane") as lane:
            target[lane] = source[lane] * numbers[0] + numbers[1]
        return ib.get()

    intrin = te.decl_tensor_intrin(
        c.op,
        rows,
        "scaled",
        scalar_params=[scale, shift],
        default_buffer_params={"offset_factor": 1},
    )
    assert [each.name for each in intrin.scalar_params] == ["scale", "shift"]
    A = te.placeholder((4, 8), name="A")
    C = te.compute((4, 8), lambda i, j: A[i, j] * factor(i, j) + 3.0, name="C")
    s = te.create_schedule(C.op)
    s[C].tensorize(C.op.axis[1], intrin)
    return s, A, C


def test_numbers_of_an_intrinsic_are_what_stands_there_in_each_tile() -> None:
    s, A, C = scaled_rows(lambda i, j: (i * i).astype("float32"))
    text = ls.lower(s, [A, C], simple_mode=True).script()
    assert "lane in T.grid(4, 8)" in text and "i * i" in text
    a = np.random.default_rng(0).random((4, 8), "float32")
    c = np.empty_like(a)
    ls.build(s, [A, C], "llvm")(a, c)
    np.testing.assert_allclose(c, a * (np.arange(4, dtype="float32") ** 2)[:, None] + 3, rtol=1e-6)


def test_a_number_of_an_intrinsic_is_one_in_all_of_a_tile() -> None:
    s, A, C = scaled_rows(lambda i, j: (i * j).astype("float32"))
    with pytest.raises(ls.ScheduleError) as error:
        ls.lower(s, [A, C])
    assert "which is not one value in all of the tile" in str(error.value)
    assert "stands where the intrinsic has the number scale" in str(error.value)


def test_an_intrinsic_may_use_an_axis_of_its_stage() -> None:
    A = te.placeholder((129,), name="A")
    C = te.compute((129,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], 16)
    cached = s.cache_write(C, "global")
    outer, inner = cached.op.axis
    a = te.placeholder((16,), name="a")
    c = te.compute((16,), lambda i: te.if_then_else(outer * 16 + i < 129, a[i] + 1, 0.0), name="c")

    def rows(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 16, "lane") as lane, ib.if_scope(outer * 16 + lane < 129):
            target[lane] = source[lane] + 1.0
        return ib.get()

    intrin = te.decl_tensor_intrin(c.op, rows, default_buffer_params={"offset_factor": 1})
    s[cached].tensorize(inner, intrin)
    x, out = np.random.default_rng(0).random(129, "float32"), np.zeros(129, "float32")
    ls.build(s, [A, C])(x, out)
    np.testing.assert_allclose(out, x + 1)
    assert "lane" in ls.lower(s, [A, C], simple_mode=True).script()


def test_an_axis_that_an_intrinsic_computes_is_bound_to_no_thread() -> None:
    a = te.placeholder((16,), name="a")
    c = te.compute((16,), lambda i: a[i] + 1, name="c")

    def increment(ins: Any, outs: Any) -> Any:
        return tir.call_extern("int32", "inc", outs[0].access_ptr("w"), ins[0].access_ptr("r"))

    A = te.placeholder((16, 16), name="A")
    C = te.compute((16, 16), lambda i, j: A[i, j] + 1, name="C")
    i, j = C.op.axis
    intrin = te.decl_tensor_intrin(c.op, increment)
    for say, problem in [
        (
            lambda s: s[C].bind(j, te.thread_axis("threadIdx.x")),
            "bind: axis j of stage C is no loop, as an intrinsic computes all of axis j",
        ),
        (lambda s: s[C].prefetch(A, j, 1), "prefetch: axis j of stage C is no loop"),
    ]:
        s = te.create_schedule(C.op)
        s[C].tensorize(j, intrin)
        say(s)
        with pytest.raises(ls.ScheduleError) as error:
            s.to_tir([A, C])
        assert problem in str(error.value)
        assert "say it of an axis outside of the tensorized one" in str(error.value)
    s = te.create_schedule(C.op)
    s[C].tensorize(j, intrin)
    s[C].bind(i, te.thread_axis("threadIdx.x"))
    assert 'thread="threadIdx.x"' in s.to_tir([A, C]).func.script()
