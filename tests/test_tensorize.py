# SPDX-License-Identifier: Apache-2.0
"""Tensor intrinsics as a user of Python sees them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from random_schedules import scaled

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T

CPU_FLAGS = Path("/proc/cpuinfo").read_text().split()


def u8_matmul(n: int, m: int, k: int) -> tir.PrimFunc:
    """Return C[i, j] = A[i, :] . B[:, j], u8 by i8, B packed in tiles of 16 columns by 4 rows."""
    a = te.placeholder((n, k), "uint8", name="A")
    b = te.placeholder((m // 16, k // 4, 16, 4), "int8", name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (n, m),
        lambda i, j: te.sum(
            a[i, r].astype("int32") * b[j // 16, r // 4, j % 16, r % 4].astype("int32"), axis=r
        ),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def bfloat16_matmul(n: int, m: int, k: int) -> tir.PrimFunc:
    """Return C[i, j] = A[i, :] . B[:, j] in float32, B packed in tiles of 16 columns by 2 rows."""
    a = te.placeholder((n, k), "bfloat16", name="A")
    b = te.placeholder((m // 16, k // 2, 16, 2), "bfloat16", name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (n, m),
        lambda i, j: te.sum(
            a[i, r].astype("float32") * b[j // 16, r // 2, j % 16, r % 2].astype("float32"), axis=r
        ),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def packed(b: np.ndarray, depth: int) -> np.ndarray:
    """Return the rows of b in tiles of 16 columns by `depth` rows, each tile by columns."""
    k, m = b.shape
    return np.ascontiguousarray(b.reshape(k // depth, depth, m // 16, 16).transpose(2, 0, 3, 1))


def tensorized(func: tir.PrimFunc, intrin: str, depth: int = 4) -> tir.Schedule:
    sch = tir.Schedule(func, debug_mask="all")
    i, j, k = sch.get_loops("C")
    jo, ji = sch.split(j, factors=[None, 16])
    ko, ki = sch.split(k, factors=[None, depth])
    sch.reorder(i, jo, ko, ji, ki)
    sch.tensorize(ji, intrin)
    return sch


def bytes_for(n: int, m: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (n, k), dtype=np.uint8)
    b = rng.integers(-128, 128, (k, m), dtype=np.int8)
    return a, b, a.astype(np.int32) @ b.astype(np.int32)


@pytest.mark.parametrize("intrin", ["dot_16x4_vnni", "dot_16x4_avx512"])
@pytest.mark.parametrize("target", ["llvm -mcpu=native", "llvm -mcpu=x86-64"])
def test_a_product_of_bytes_is_right_on_every_processor(intrin: str, target: str):
    a, b, expected = bytes_for(8, 48, 20)
    c = np.zeros_like(expected)
    sch = tensorized(u8_matmul(8, 48, 20), intrin)
    ls.build(sch, target=target)(a, packed(b, 4), c)
    np.testing.assert_array_equal(c, expected)
    assert sch.verify()


@pytest.mark.skipif("avx512_vnni" not in CPU_FLAGS, reason="the processor has no AVX-512 VNNI")
def test_a_product_of_bytes_is_the_instruction():
    module = ls.build(tensorized(u8_matmul(8, 48, 20), "dot_16x4_vnni"))
    assert "vpdpbusd" in module.inspect().asm


def test_sums_of_a_tile_are_as_large_as_the_tile():
    sch = tir.Schedule(u8_matmul(24, 96, 20))
    sums = sch.get_block("C")
    write = sch.cache_write(sums, 0, "local")
    i, j = sch.get_loops(write)
    i, rows = sch.split(i, [None, 6])
    j, columns = sch.split(j, [None, 32])
    sch.reorder(i, j, rows, columns)
    sch.compute_at(sums, j)
    rows, columns, k = sch.get_loops(sums)[-3:]
    vectors, lanes = sch.split(columns, [None, 16])
    k, products = sch.split(k, [None, 4])
    sch.reorder(k, rows, vectors, lanes, products)
    dot = sch.blockize(lanes)
    sch.decompose_reduction(dot, k)
    sch.tensorize(dot, "dot_16x4_vnni")
    assert 'C_local = T.decl_buffer((192,), "int32"' in ls.lower(sch).script()
    a, b, expected = bytes_for(24, 96, 20)
    np.testing.assert_array_equal(ls.build(sch)(a, packed(b, 4)), expected)


@pytest.mark.skipif("avx512_bf16" not in CPU_FLAGS, reason="the processor has no AVX-512 BF16")
def test_a_product_of_bfloat16_is_right_within_rounding_and_the_instruction():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    n, m, k = 8, 32, 24
    sch = tensorized(bfloat16_matmul(n, m, k), "dot_16x2_avx512bf16", 2)
    module = ls.build(sch)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, k)).astype(ml_dtypes.bfloat16)
    y = rng.standard_normal((k, m)).astype(ml_dtypes.bfloat16)
    z = np.zeros((n, m), np.float32)
    module(x, packed(y, 2), z)
    np.testing.assert_allclose(z, x.astype(np.float32) @ y.astype(np.float32), rtol=1e-5, atol=1e-5)
    assert "vdpbf16ps" in module.inspect().asm
    assert sch.verify()


@T.prim_func
def copy_desc(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("copy"):
            vi = T.axis.spatial(8, i)
            Y[vi] = X[vi]


@T.prim_func
def copy_impl(X: T.Buffer((8,), "float32"), Y: T.Buffer((8,), "float32")):
    with T.block("root"):
        T.reads(X[0:8])
        T.writes(Y[0:8])
        Y[0:8] = X[0:8]


def test_an_intrinsic_of_ones_own_is_registered_and_used():
    tir.TensorIntrin.register("test_copy_8", copy_desc, copy_impl)
    with pytest.raises(ValueError, match="test_copy_8 has already been registered"):
        tir.TensorIntrin.register("test_copy_8", copy_desc, copy_impl)
    tir.TensorIntrin.register("test_copy_8", copy_desc, copy_impl, override=True)
    intrin = tir.TensorIntrin.get("test_copy_8")
    assert intrin is not None and ls.structural_equal(intrin.desc, copy_desc)
    assert tir.TensorIntrin.get("no_such_intrinsic", allow_missing=True) is None
    with pytest.raises(ValueError, match="there is no tensor intrin no_such_intrinsic"):
        tir.TensorIntrin.get("no_such_intrinsic")

    a = te.placeholder((4, 24), "float32", name="A")
    b = te.compute((4, 24), lambda i, j: a[i, j], name="B")
    func = te.create_prim_func([a, b])
    sch = tir.Schedule(func)
    _, j = sch.get_loops("B")
    _, ji = sch.split(j, factors=[None, 8])
    sch.tensorize(ji, "test_copy_8")
    assert sch.verify()
    x, y = np.random.default_rng(0).random((2, 4, 24), dtype=np.float32)
    ls.build(sch)(x, y)
    np.testing.assert_array_equal(x, y)

    # Its text names the intrinsic, its JSON has it inside.
    assert 'tensor_intrin="test_copy_8"' in str(sch.trace)
    again = tir.Schedule(func)
    tir.Trace.apply_json_to_schedule(sch.trace.as_json(), again)
    assert ls.structural_equal(again.mod, sch.mod)


def test_a_tile_that_differs_is_refused_with_the_reasons():
    sch = tir.Schedule(u8_matmul(8, 48, 24))
    i, j, k = sch.get_loops("C")
    jo, ji = sch.split(j, factors=[None, 12])
    ko, ki = sch.split(k, factors=[None, 4])
    sch.reorder(i, jo, ko, ji, ki)
    with pytest.raises(ls.ScheduleError, match="the extent of loop j_1 is 12, not 16"):
        sch.tensorize(ji, "dot_16x4_vnni")
    assert not sch.can_apply("tensorize", ji, "dot_16x4_vnni")


def test_loops_and_blocks_become_a_block():
    sch = tir.Schedule(u8_matmul(8, 48, 24))
    i, _, _ = sch.get_loops("C")
    outer = sch.blockize(i)
    assert outer.name == "C_o"
    around = sch.blockize([outer])
    assert [block.name for block in sch.get_child_blocks(around)] == ["C_o"]
    assert sch.verify()


def test_an_einsum_is_padded_to_whole_tiles():
    x, y, expected = bytes_for(5, 20, 6)
    a = te.placeholder((5, 6), "uint8", name="A")
    b = te.placeholder((20, 6), "int8", name="B")
    r = te.reduce_axis((0, 6), name="k")
    c = te.compute(
        (5, 20),
        lambda i, j: te.sum(a[i, r].astype("int32") * b[j, r].astype("int32"), axis=r),
        name="C",
    )
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    sch.pad_einsum("C", [1, 16, 4])
    assert [str(sch.get(loop).extent) for loop in sch.get_loops("C")] == ["5", "32", "8"]
    sch.transform_layout("C", "B_pad", lambda j, k: (j // 16, k // 4, j % 16, k % 4))
    i, j, k = sch.get_loops("C")
    jo, ji = sch.split(j, factors=[None, 16])
    ko, ki = sch.split(k, factors=[None, 4])
    sch.reorder(i, jo, ko, ji, ki)
    sch.tensorize(ji, "dot_16x4_vnni")
    assert sch.verify()
    z = np.zeros_like(expected)
    ls.build(sch)(x, np.ascontiguousarray(y.T), z)
    np.testing.assert_array_equal(z, expected)


def test_padding_is_divided_into_a_constant_and_what_is_in_bounds():
    a = te.placeholder((64,), "float32", name="A")
    b = te.compute(
        (70,), lambda i: tir.if_then_else(tir.all([i >= 3, i < 67]), a[i - 3], 0.0), name="B"
    )
    sch = tir.Schedule(te.create_prim_func([a, b]))
    (i,) = sch.get_loops("B")
    constant = sch.decompose_padding("B", i)
    assert constant.name == "B_pad_const"
    assert str(sch.get(i).extent) == "64"
    assert sch.verify()
    x, y = np.random.default_rng(0).random(64, dtype=np.float32), np.ones(70, np.float32)
    ls.build(sch)(x, y)
    np.testing.assert_array_equal(y, np.pad(x, 3))


def test_pointers_of_an_implementation_lead_to_its_tile() -> None:
    """As ``offset_factor=1`` makes the field believe, whether or not ``elem_offset`` is named."""

    @T.prim_func
    def by_pointer(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (4,), "float32", offset_factor=1)
        B = T.match_buffer(b, (4,), "float32", offset_factor=1)
        with T.block("root"):
            T.reads(A[0:4])
            T.writes(B[0:4])
            T.call_packed("scale", A.access_ptr("r"), B.access_ptr("w"))

    @T.prim_func
    def by_buffer(a: T.handle, b: T.handle) -> None:
        A = T.match_buffer(a, (4,), "float32")
        B = T.match_buffer(b, (4,), "float32")
        with T.block("root"):
            T.reads(A[0:4])
            T.writes(B[0:4])
            T.call_packed("scale", A, B)

    x = te.placeholder((8, 16), name="X")
    y = te.compute((8, 16), lambda i, j: x[i, j] * 2.0 + 1.0, name="Y")
    functions = {"scale": lambda a, b: np.add(a * 2, 1, out=b)}
    values = np.arange(128, dtype=np.float32).reshape(8, 16)
    for number, implementation in enumerate((by_pointer, by_buffer)):
        name = f"test.pointers.{number}"
        tir.TensorIntrin.register(name, scaled, implementation)
        sch = tir.Schedule(te.create_prim_func([x, y]))
        _, j = sch.get_loops(sch.get_block("Y"))
        _, inner = sch.split(j, [None, 4])
        sch.tensorize(inner, name)
        assert sch.verify(functions=functions)
        for target in ("llvm -mcpu=native", "c"):
            out = np.zeros_like(values)
            ls.build(sch, target, functions=functions)(values, out)
            np.testing.assert_array_equal(out, values * 2 + 1)
