# SPDX-License-Identifier: Apache-2.0
"""Scalars in kernels mean what docs/semantics.md says: the same as in code for the processor."""

from __future__ import annotations

from typing import Any

import gpu_devices
import ml_dtypes
import numpy as np
import pytest

import loopsmith as ls

COUNT = 512
NUMPY = {"bfloat16": ml_dtypes.bfloat16, "float8_e4m3": ml_dtypes.float8_e4m3fn}
NUMPY |= {"float8_e5m2": ml_dtypes.float8_e5m2}

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float32", "float64", "float16", "bfloat16", "float8_e4m3", "float8_e5m2"]

OF_INTEGERS = [
    "a + b", "a - b", "a * b", "T.truncdiv(a, b)", "T.truncmod(a, b)", "a // b", "a % b",
    "T.min(a, b)", "T.max(a, b)", "a & b", "a | b", "a ^ b", "T.shift_left(a, b)",
    "T.shift_right(a, b)", "T.popcount(a)", "T.clz(a)", "T.Select(a < b, a, b)",
]  # fmt: skip
OF_FLOATS = [
    "a + b", "a - b", "a * b", "a / b", "T.min(a, b)", "T.max(a, b)", "T.sqrt(T.fabs(a))",
    "T.floor(a)", "T.ceil(a)", "T.trunc(a)", "T.round(a)", "T.nearbyint(a)",
    "T.copysign(a, T.Select(T.isnan(b), a, b))", "T.Select(a < b, a, b)", "T.exp(a)", "T.tanh(b)",
]  # fmt: skip


def elements(dtype: str) -> np.ndarray:
    """Return what is near the ends and the middle of a type, and random bits."""
    kind = np.dtype(NUMPY.get(dtype, dtype))
    bits = np.random.default_rng(3).integers(0, 256, COUNT * kind.itemsize, "uint8").view(kind)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        ends = [0, 1, 2, 3, 7, 31, 63, info.max, info.max - 1, info.min, info.min + 1]
        bits[: len(ends)] = np.array(ends, kind)
        return bits
    ends = [0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 448, 1e-3]
    bits[: len(ends)] = np.array(ends).astype(kind)
    return bits


def program(dtype: str, results: list[tuple[str, str]], loop: str) -> Any:
    """Return a function that computes each expression, of its type, for all pairs of elements."""
    outputs = ", ".join(f'R{i}: T.Buffer(({COUNT},), "{to}")' for i, (_, to) in enumerate(results))
    lines = "\n".join(f"            R{i}[v] = {text}" for i, (text, _) in enumerate(results))
    return ls.from_source(f"""
@T.prim_func
def main(A: T.Buffer(({COUNT},), "{dtype}"), B: T.Buffer(({COUNT},), "{dtype}"), {outputs}):
    for i in {loop}:
        with T.block("R"):
            v = T.axis.spatial({COUNT}, i)
            a: T.{dtype} = A[v]
            b: T.{dtype} = B[v]
{lines}
""")


def compare(target: str, dtype: str, results: list[tuple[str, str]]) -> None:
    gpu_devices.require(target)
    threads = program(dtype, results, f'T.thread_binding({COUNT}, thread="threadIdx.x")')
    a = elements(dtype)
    b = np.roll(a, 5)[::-1].copy()
    made = [np.zeros(COUNT, NUMPY.get(to, to)) for _, to in results]
    ls.build(threads, target=target, contract=False, default_schedule=False)(a, b, *made)
    expected = [np.zeros_like(each) for each in made]
    serial = program(dtype, results, f"range({COUNT})")
    ls.build(serial, contract=False, default_schedule=False)(a, b, *expected)
    for (text, to), got, right in zip(results, made, expected):
        if got.dtype.kind in "iu":
            np.testing.assert_array_equal(got, right, err_msg=f"{text} of {dtype} as {to}")
            continue
        with np.errstate(invalid="ignore"):  # NaN of types that NumPy does not know.
            got, right = got.astype("float64"), right.astype("float64")
        np.testing.assert_array_equal(got, right, err_msg=f"{text} of {dtype} as {to}")


@gpu_devices.both
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(target: str, dtype: str) -> None:
    compare(target, dtype, [(text, dtype) for text in OF_INTEGERS])


@gpu_devices.both
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(target: str, dtype: str) -> None:
    compare(target, dtype, [(text, dtype) for text in OF_FLOATS])


@gpu_devices.both
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_casts(target: str, dtype: str) -> None:
    types = [*INTEGERS, *FLOATS]
    compare(target, dtype, [(f'T.cast(a, "{to}")', to) for to in types])
