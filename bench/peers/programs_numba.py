# SPDX-License-Identifier: Apache-2.0
"""The workloads as loops that Numba compiles, as people write them."""

from __future__ import annotations

import os
from typing import Any

import numba
import numpy as np
from numba import prange
from workloads import EPSILON, GELU

numba.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
ONE_SEVENTH, THIRD, FIFTH = np.float32(1 / 7), np.float32(1 / 3), np.float32(0.2)
ROOT, CUBIC, HALF, ONE = map(np.float32, (GELU, 0.044715, 0.5, 1))
SMALL = np.float32(EPSILON)


def version() -> str:
    """Return which Numba."""
    return f"Numba {numba.__version__}"


def loops(function: Any) -> Any:
    """Compile loops, the outermost in parallel, and sums in any order."""
    made = numba.njit(parallel=True, fastmath=True)(function)

    def prepare(*arrays: Any, **_: Any) -> Any:
        return lambda: made(*arrays)

    return prepare


def _product(a: Any, b: Any, c: Any) -> None:
    for i in prange(c.shape[0]):
        for j in range(c.shape[1]):
            c[i, j] = 0
        for k in range(a.shape[1]):
            for j in range(c.shape[1]):
                c[i, j] += a[i, k] * b[k, j]


def product(*arrays: Any, layout: str = "nn", batch: int = 0, **_: int) -> Any:
    """Return plain products alone."""
    return loops(_product)(*arrays) if layout == "nn" and not batch else None


def _softmax(a: Any, out: Any) -> None:
    for i in prange(a.shape[0]):
        top = a[i, 0]
        for j in range(a.shape[1]):
            top = max(top, a[i, j])
        total = np.float32(0)
        for j in range(a.shape[1]):
            out[i, j] = np.exp(a[i, j] - top)
            total += out[i, j]
        for j in range(a.shape[1]):
            out[i, j] /= total


def _layer_norm(a: Any, out: Any) -> None:
    for i in prange(a.shape[0]):
        total = np.float32(0)
        for j in range(a.shape[1]):
            total += a[i, j]
        mean = total / np.float32(a.shape[1])
        squares = np.float32(0)
        for j in range(a.shape[1]):
            squares += (a[i, j] - mean) * (a[i, j] - mean)
        scale = ONE / np.sqrt(squares / np.float32(a.shape[1]) + SMALL)
        for j in range(a.shape[1]):
            out[i, j] = (a[i, j] - mean) * scale


def _gelu(a: Any, b: Any, out: Any) -> None:
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            x = a[i, j] + b[j]
            out[i, j] = HALF * x * (ONE + np.tanh(ROOT * (x + CUBIC * x * x * x)))


def _add(a: Any, b: Any, out: Any) -> None:
    for i in prange(a.shape[0]):
        out[i] = a[i] + b[i]


def _row_sums(a: Any, out: Any) -> None:
    for i in prange(a.shape[0]):
        total = np.float32(0)
        for j in range(a.shape[1]):
            total += a[i, j]
        out[i] = total


def _transpose(a: Any, out: Any) -> None:
    for i in prange(a.shape[1]):
        for j in range(a.shape[0]):
            out[i, j] = a[j, i]


def _jacobi(a: Any, out: Any) -> None:
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            middle = a[i + 1, j] + a[i + 1, j + 1] + a[i + 1, j + 2]
            out[i, j] = FIFTH * (middle + a[i, j + 1] + a[i + 2, j + 1])


def _heat(a: Any, out: Any) -> None:
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            for k in range(out.shape[2]):
                row = a[i + 1, j + 1, k] + a[i + 1, j + 1, k + 1] + a[i + 1, j + 1, k + 2]
                sides = a[i + 1, j, k + 1] + a[i + 1, j + 2, k + 1]
                ends = a[i, j + 1, k + 1] + a[i + 2, j + 1, k + 1]
                out[i, j, k] = ONE_SEVENTH * (row + sides + ends)


def _blur(a: Any, out: Any) -> None:
    for i in prange(out.shape[0]):
        row = (a[i] + a[i + 1] + a[i + 2]) * THIRD
        for j in range(out.shape[1]):
            out[i, j] = (row[j] + row[j + 1] + row[j + 2]) * THIRD


def _prefix_sum(a: Any, out: Any) -> None:
    total = np.float32(0)
    for i in range(a.shape[0]):
        total += a[i]
        out[i] = total


PROGRAMS = {
    "product": product,
    "softmax": loops(_softmax),
    "layer norm": loops(_layer_norm),
    "gelu": loops(_gelu),
    "add": loops(_add),
    "row sums": loops(_row_sums),
    "transpose": loops(_transpose),
    "jacobi": loops(_jacobi),
    "heat": loops(_heat),
    "blur": loops(_blur),
    "prefix sum": loops(_prefix_sum),
}
