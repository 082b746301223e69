# SPDX-License-Identifier: Apache-2.0
"""The workloads by NumPy, whose products OpenBLAS computes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from workloads import EPSILON, GELU


def version() -> str:
    """Return which NumPy, and which kernel its BLAS has chosen."""
    try:
        from threadpoolctl import threadpool_info

        blas = [f"{info['internal_api']} {info['architecture']}" for info in threadpool_info()]
    except (ImportError, KeyError):
        blas = []
    return " ".join([f"NumPy {np.__version__}", *blas])


def product(a: Any, b: Any, out: Any, layout: str = "nn", **_: int) -> Any:
    """C = A @ B."""
    left = a.swapaxes(-1, -2) if layout[0] == "t" else a
    right = b.swapaxes(-1, -2) if layout[1] == "t" else b
    return lambda: np.matmul(left, right, out=out)


def softmax(a: Any, out: Any, **_: int) -> Any:
    """Softmax of rows."""

    def call() -> None:
        np.subtract(a, a.max(axis=-1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.divide(out, out.sum(axis=-1, keepdims=True), out=out)

    return call


def layer_norm(a: Any, out: Any, **_: int) -> Any:
    """Rows less their mean, over their deviation."""

    def call() -> None:
        np.subtract(a, a.mean(axis=-1, keepdims=True), out=out)
        variance = np.square(out).mean(axis=-1, keepdims=True)
        np.multiply(out, 1 / np.sqrt(variance + np.float32(EPSILON)), out=out)

    return call


def gelu(a: Any, b: Any, out: Any, **_: int) -> Any:
    """Gelu of A with a bias, by tanh."""

    def call() -> None:
        x = a + b
        y = x * x * x
        y *= np.float32(0.044715)
        y += x
        y *= np.float32(GELU)
        np.tanh(y, out=y)
        y += 1
        x *= np.float32(0.5)
        np.multiply(y, x, out=out)

    return call


def attention(q: Any, k: Any, v: Any, out: Any, d: int, **_: int) -> Any:
    """Softmax of the scores, by the values."""
    scores = np.empty((q.shape[0], q.shape[1], k.shape[1]), np.float32)
    normalize = softmax(scores, scores)

    def call() -> None:
        np.matmul(q, k.swapaxes(-1, -2), out=scores)
        np.multiply(scores, np.float32(1 / math.sqrt(d)), out=scores)
        normalize()
        np.matmul(scores, v, out=out)

    return call


def jacobi(a: Any, out: Any, **_: int) -> Any:
    """Mean of five neighbours."""

    def call() -> None:
        np.add(a[1:-1, 1:-1], a[:-2, 1:-1], out=out)
        for part in (a[2:, 1:-1], a[1:-1, :-2], a[1:-1, 2:]):
            np.add(out, part, out=out)
        np.multiply(out, np.float32(0.2), out=out)

    return call


def heat(a: Any, out: Any, **_: int) -> Any:
    """Mean of seven neighbours."""
    c = slice(1, -1)

    def call() -> None:
        np.add(a[c, c, c], a[:-2, c, c], out=out)
        for part in (a[2:, c, c], a[c, :-2, c], a[c, 2:, c], a[c, c, :-2], a[c, c, 2:]):
            np.add(out, part, out=out)
        np.multiply(out, np.float32(1 / 7), out=out)

    return call


PROGRAMS = {
    "product": product,
    "softmax": softmax,
    "layer norm": layer_norm,
    "gelu": gelu,
    "add": lambda a, b, out, **_: lambda: np.add(a, b, out=out),
    "row sums": lambda a, out, **_: lambda: np.sum(a, axis=1, out=out),
    "column sums": lambda a, out, **_: lambda: np.sum(a, axis=0, out=out),
    "transpose": lambda a, out, **_: lambda: np.copyto(out, a.T),
    "attention": attention,
    "jacobi": jacobi,
    "heat": heat,
    "prefix sum": lambda a, out, **_: lambda: np.cumsum(a, out=out),
}
