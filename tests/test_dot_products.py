# SPDX-License-Identifier: Apache-2.0
"""Products of bytes and of bfloat16 by default: the instructions for them, and exact results."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import ml_dtypes
import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir

VNNI = "llvm -mcpu=cascadelake"
SIGNS = [("uint8", "int8"), ("int8", "int8"), ("int8", "uint8")]
SIZES = [(64, 64, 64), (67, 101, 37), (13, 16, 4), (40, 300, 5), (9, 48, 4100), (24, 70, 3)]


class Form(NamedTuple):
    """How operands are stored: A by its columns, B by its columns."""

    a_across: bool = False
    b_across: bool = False


FORMS = [Form(*each) for each in itertools.product((False, True), repeat=2)]


def sum_type(dtype: str) -> str:
    return "float32" if dtype == "bfloat16" else "int32"


def product(sizes: tuple[int, int, int], types: tuple[str, str], form: Form) -> tir.PrimFunc:
    m, n, k = sizes
    a = te.placeholder((k, m) if form.a_across else (m, k), types[0], name="A")
    b = te.placeholder((n, k) if form.b_across else (k, n), types[1], name="B")
    r = te.reduce_axis((0, k), "k")
    kind = sum_type(types[0])

    def element(i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        left = a[r, i] if form.a_across else a[i, r]
        right = b[j, r] if form.b_across else b[r, j]
        return te.sum(left.astype(kind) * right.astype(kind), axis=r)

    return te.create_prim_func([a, b, te.compute((m, n), element, name="C")])


def operand(shape: tuple[int, ...], dtype: str, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    if dtype == "bfloat16":
        return random.standard_normal(shape, "float32").astype(ml_dtypes.bfloat16)
    kind = np.iinfo(dtype)
    values = random.integers(kind.min, kind.max + 1, shape, dtype)
    values.flat[: values.size // 3] = kind.min  # Where sums of 16 bits would saturate.
    return values


def run(
    program: tir.PrimFunc | tir.Schedule, func: tir.PrimFunc, form: Form, **options: object
) -> None:
    """Compare what a program computes of random operands with NumPy; bytes exactly."""
    shapes = [[int(n) for n in each.shape] for each in func.buffer_map.values()]
    types = [str(each.dtype) for each in func.buffer_map.values()]
    a, b = operand(tuple(shapes[0]), types[0], 0), operand(tuple(shapes[1]), types[1], 1)
    m, n = shapes[2]
    left = (a.T if form.a_across else a).astype(types[2])
    right = (b.T if form.b_across else b).astype(types[2])
    found = np.full((m, n), -7, types[2])
    ls.build(program, **options)(a, b, found)
    if types[2] == "int32":
        np.testing.assert_array_equal(found, left @ right)
    else:
        np.testing.assert_allclose(found, left @ right, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("types", SIGNS, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_products_of_bytes_are_exact(
    sizes: tuple[int, int, int], types: tuple[str, str], form: Form
):
    func = product(sizes, types, form)
    run(func, func, form)
    # Here with the instruction, where the machine has it, or with what it means.
    run(ls.default_schedule(func, target=VNNI), func, form)


@pytest.mark.parametrize("sizes", [(0, 64, 8), (64, 0, 8), (8, 64, 0), (1, 64, 8), (1, 1, 1)])
def test_small_and_empty_products(sizes: tuple[int, int, int]):
    for types in (*SIGNS, ("uint8", "uint8")):
        func = product(sizes, types, Form())
        a = np.ones((sizes[0], sizes[2]), types[0])
        b = np.ones((sizes[2], sizes[1]), types[1])
        found = np.full(sizes[:2], -7, "int32")
        ls.build(func)(a, b, found)
        np.testing.assert_array_equal(found, np.full(sizes[:2], sizes[2]))


@pytest.mark.parametrize("types", SIGNS, ids=str)
def test_bytes_take_the_instruction_by_default(types: tuple[str, str]):
    func = product((64, 64, 64), types, Form())
    assert "vnni" in str(ls.default_schedule(func, target=VNNI).trace)
    module = ls.build(func, target=VNNI)
    assert "vpdpbusd" in module.inspect().asm


def test_processors_without_the_instruction_take_pairs():
    func = product((64, 64, 64), ("uint8", "int8"), Form())
    assert "tensorize" not in str(ls.default_schedule(func, target="llvm -mcpu=haswell").trace)
    assert "vpmaddwd" in ls.build(func, target="llvm -mcpu=haswell").inspect().asm


def test_steps_that_groups_do_not_cover_are_padded():
    func = product((64, 64, 37), ("int8", "int8"), Form())
    trace = ls.default_schedule(func, target=VNNI).trace
    assert "pad_einsum" in str(trace) and "tensorize" in str(trace)
    again = tir.Schedule(func)
    trace.apply_to_schedule(again)
    ls.assert_structural_equal(again.mod, ls.default_schedule(func, target=VNNI).mod)


def test_results_of_less_than_a_vector_are_left():
    func = product((64, 7, 64), ("int8", "int8"), Form())
    assert "tensorize" not in str(ls.default_schedule(func, target=VNNI).trace)


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("sizes", SIZES[:4], ids=str)
def test_bfloat16_is_summed_in_float32(sizes: tuple[int, int, int], form: Form):
    func = product(sizes, ("bfloat16", "bfloat16"), form)
    run(func, func, form)
    run(func, func, form, fast_math="no_denormals")


def test_bfloat16_takes_the_instruction_where_denormals_may_be_zero():
    func = product((64, 64, 64), ("bfloat16", "bfloat16"), Form())
    target = "llvm -mcpu=cooperlake"
    for options, has_it in (
        ({}, False),
        ({"fast_math": "no_denormals"}, True),
        ({"fast_math": True}, True),
        ({"fast_math": "no_denormals", "contract": False}, False),
        ({"fast_math": "reassociate"}, False),
    ):
        module = ls.build(func, target=target, **options)
        assert ("vdpbf16ps" in module.inspect().asm) == has_it, options


def test_denormal_products_of_bfloat16_are_kept_by_default():
    func = product((64, 64, 64), ("bfloat16", "bfloat16"), Form())
    a = np.full((64, 64), 2.0**-130, ml_dtypes.bfloat16)
    b = np.full((64, 64), 1.0, ml_dtypes.bfloat16)
    found = np.empty((64, 64), "float32")
    ls.build(func)(a, b, found)
    np.testing.assert_array_equal(found, np.full((64, 64), 2.0**-124, "float32"))


def test_a_convolution_of_bytes_sums_channels():
    rows, columns, channels, filters = 9, 11, 8, 40
    x = te.placeholder((2, rows, columns, channels), "uint8", name="X")
    w = te.placeholder((3, 3, channels, filters), "int8", name="W")
    p, q, c = (te.reduce_axis((0, n), name) for n, name in ((3, "p"), (3, "q"), (channels, "c")))
    y = te.compute(
        (2, rows - 2, columns - 2, filters),
        lambda b, i, j, f: te.sum(
            x[b, i + p, j + q, c].astype("int32") * w[p, q, c, f].astype("int32"), axis=[p, q, c]
        ),
        name="Y",
    )
    func = te.create_prim_func([x, w, y])
    sch = ls.default_schedule(func, target=VNNI)
    assert "tensorize" in str(sch.trace)
    pixels = operand((2, rows, columns, channels), "uint8", 0)
    weights = operand((3, 3, channels, filters), "int8", 1)
    found = np.full((2, rows - 2, columns - 2, filters), -7, "int32")
    ls.build(sch)(pixels, weights, found)
    windows = np.lib.stride_tricks.sliding_window_view(pixels.astype("int32"), (3, 3), axis=(1, 2))
    expected = np.einsum("bijcpq,pqcf->bijf", windows, weights.astype("int32"))
    np.testing.assert_array_equal(found, expected)
