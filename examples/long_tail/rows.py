# SPDX-License-Identifier: Apache-2.0
"""Rows that are done in one pass each, by numbers that are carried along."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from loopsmith import tir

from .program import Array, Program, numbers

PROGRAMS: dict[str, Program] = {}


def rows_in_lanes(lanes: int) -> Callable[[tir.Schedule], None]:
    """Return the steps that run that many rows as lanes of vectors, which threads share."""

    def steps(sch: tir.Schedule) -> None:
        rows, row = sch.split("i", [None, lanes])
        sch.vectorize(row)
        sch.parallel(rows)

    return steps


PROGRAMS["welford"] = Program(
    """
def welford(a: T.handle, m: T.handle, v: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 128), "float32")
    Mean = T.match_buffer(m, (n,), "float32")
    Variance = T.match_buffer(v, (n,), "float32")
    for i in range(n):
        mean = T.float32(0)
        squares = T.float32(0)
        for k in range(128):
            away = A[i, k] - mean
            mean += away / T.Cast("float32", k + 1)
            squares += away * (A[i, k] - mean)
        Mean[i] = mean
        Variance[i] = squares / T.float32(128)
""",
    rows_in_lanes(32),
    lambda n: [numbers((n, 128)), np.zeros(n, "float32"), np.zeros(n, "float32")],
    lambda given: [given[0], given[0].mean(1), given[0].astype("float64").var(1).astype("f")],
    rtol=1e-4,
    types=("float32", "float64"),
)


def normalized(given: list[Array]) -> list[Array]:
    """Return each row with mean 0 and variance 1."""
    a = given[0].astype("float64")
    away = a - a.mean(1, keepdims=True)
    return [given[0], (away / np.sqrt((away**2).mean(1, keepdims=True) + 1e-5)).astype("float32")]


def rows_in_vectors(sch: tir.Schedule) -> None:
    """Sum 64 parts of a row at once, and write it in vectors; let threads share the rows.

    Four vectors of sums at a time: each addition waits for the one before it.
    """
    for loop, lanes in (("k", 64), ("j", 16)):
        _, vector = sch.split(loop, [None, lanes])
        sch.vectorize(vector)
    sch.parallel("i")


PROGRAMS["layer_norm"] = Program(
    """
def layer_norm(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 256), "float32")
    B = T.match_buffer(b, (n, 256), "float32")
    for i in range(n):
        total = T.float32(0)
        squares = T.float32(0)
        for k in range(256):
            total += A[i, k]
            squares += A[i, k] * A[i, k]
        mean = total / T.float32(256)
        scale = T.rsqrt(squares / T.float32(256) - mean * mean + T.float32(1e-5))
        for j in range(256):
            B[i, j] = (A[i, j] - mean) * scale
""",
    rows_in_vectors,
    lambda n: [numbers((n, 256)), np.zeros((n, 256), "float32")],
    normalized,
    rtol=1e-4,
    types=("float32", "float64"),
)


def softmax(given: list[Array]) -> list[Array]:
    """Return the softmax of each row."""
    powers = np.exp(given[0] - given[0].max(1, keepdims=True))
    return [given[0], powers / powers.sum(1, keepdims=True)]


PROGRAMS["online_softmax"] = Program(
    """
def online_softmax(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 96), "float32")
    B = T.match_buffer(b, (n, 96), "float32")
    for i in range(n):
        top = T.min_value("float32")
        total = T.float32(0)
        for k in range(96):
            higher = T.max(top, A[i, k])
            total = total * T.exp(top - higher) + T.exp(A[i, k] - higher)
            top = higher
        for j in range(96):
            B[i, j] = T.exp(A[i, j] - top) / total
""",
    rows_in_lanes(32),
    lambda n: [numbers((n, 96)), np.zeros((n, 96), "float32")],
    softmax,
    types=("float32", "float64"),
)


def roots(given: list[Array]) -> list[Array]:
    """Return square roots."""
    return [given[0], np.sqrt(given[0])]


PROGRAMS["newton_roots"] = Program(
    """
def newton_roots(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float64")
    B = T.match_buffer(b, (n,), "float64")
    for i in range(n):
        x = T.float64(1)
        while T.abs(x * x - A[i]) > T.float64(1e-12):
            x = T.float64(0.5) * (x + A[i] / x)
        B[i] = x
""",
    rows_in_lanes(8),
    lambda n: [numbers(n, "float64") + 0.1, np.zeros(n)],
    roots,
)


def blurred(given: list[Array]) -> list[Array]:
    """Return a recursive filter, there and back."""
    image, result = given[0], given[1].copy()
    for row, out in zip(image, result, strict=True):
        value = 0.0
        for j, x in enumerate(row):
            value = 0.6 * value + 0.4 * x
            out[j] = value
        value = 0.0
        for j in reversed(range(len(row))):
            value = 0.6 * value + 0.4 * out[j]
            out[j] = value
    return [image, result]


PROGRAMS["recursive_blur"] = Program(
    """
def recursive_blur(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float64")
    B = T.match_buffer(b, (n, n), "float64")
    for i in range(n):
        there = T.float64(0)
        for j in range(n):
            there = T.float64(0.6) * there + T.float64(0.4) * A[i, j]
            B[i, j] = there
        back = T.float64(0)
        for k in range(n):
            back = T.float64(0.6) * back + T.float64(0.4) * B[i, n - 1 - k]
            B[i, n - 1 - k] = back
""",
    rows_in_lanes(16),
    lambda n: [numbers((n, n), "float64"), np.zeros((n, n))],
    blurred,
    types=("float64", "float32"),
)
