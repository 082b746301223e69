# SPDX-License-Identifier: Apache-2.0
"""Factorizations in place: each step needs the one before, its rows do not need each other."""

from __future__ import annotations

import numpy as np

from loopsmith import tir

from .program import Array, Program, numbers

PROGRAMS: dict[str, Program] = {}


def in_vectors(sch: tir.Schedule, loop: str) -> None:
    """Cut a loop into vectors of eight, and a rest."""
    _, lanes = sch.split(loop, [None, 8])
    sch.vectorize(lanes)


def rows_at_once(sch: tir.Schedule) -> None:
    """Update the rows below at once, each in vectors."""
    in_vectors(sch, "j")
    sch.parallel("i")


def dominant(n: int) -> Array:
    """Return a matrix that needs no pivots."""
    return numbers((n, n), "float64") + n * np.eye(n)


def factored(given: list[Array]) -> list[Array]:
    """Return L below the diagonal, U on it and above."""
    a = given[0].copy()
    for k in range(len(a)):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return [a]


PROGRAMS["lu"] = Program(
    """
def lu(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float64")
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] = A[i, k] / A[k, k]
            for j in range(k + 1, n):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]
""",
    rows_at_once,
    lambda n: [dominant(n)],
    factored,
    rtol=1e-8,
)


def symmetric(n: int) -> Array:
    """Return a positive definite matrix."""
    a = numbers((n, n), "float64")
    return a @ a.T + n * np.eye(n)


PROGRAMS["cholesky"] = Program(
    """
def cholesky(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float64")
    for k in range(n):
        A[k, k] = T.sqrt(A[k, k])
        for s in range(k + 1, n):
            A[s, k] = A[s, k] / A[k, k]
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                A[i, j] = A[i, j] - A[i, k] * A[j, k]
""",
    lambda sch: sch.parallel("i"),
    lambda n: [symmetric(n)],
    lambda given: [np.tril(np.linalg.cholesky(given[0])) + np.triu(given[0], 1)],
    rtol=1e-8,
)

PROGRAMS["in_place_transpose"] = Program(
    """
def in_place_transpose(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float32")
    for i in range(n):
        for j in range(i + 1, n):
            kept = A[i, j]
            A[i, j] = A[j, i]
            A[j, i] = kept
""",
    lambda sch: sch.parallel("i"),
    lambda n: [numbers((n, n))],
    lambda given: [given[0].T.copy()],
)


def substituted(sch: tir.Schedule) -> None:
    """Let threads share the columns, which do not need each other, sixteen of them a vector."""
    parts = []
    for column in ("c", "d"):
        part, lanes = sch.split(column, [None, 16])
        sch.vectorize(lanes)
        parts.append(part)
    sch.reorder(parts[0], "k")
    columns = sch.merge_siblings(parts)
    sch.reorder(columns, "i")
    sch.parallel(columns)


PROGRAMS["triangular_solve"] = Program(
    """
def triangular_solve(l: T.handle, x: T.handle):
    n = T.int32()
    L = T.match_buffer(l, (n, n), "float64")
    X = T.match_buffer(x, (n, 64), "float64")
    for i in range(n):
        for k in range(i):
            for c in range(64):
                X[i, c] = X[i, c] - L[i, k] * X[k, c]
        for d in range(64):
            X[i, d] = X[i, d] / L[i, i]
""",
    substituted,
    lambda n: [np.tril(dominant(n)), numbers((n, 64), "float64", seed=1)],
    lambda given: [given[0], np.linalg.solve(given[0], given[1])],
    rtol=1e-8,
)
