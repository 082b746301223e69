# SPDX-License-Identifier: Apache-2.0
"""Factorizations in place: each step needs the one before, its rows do not need each other."""

from __future__ import annotations

import numpy as np

from loopsmith import tir

from .program import Array, Program, numbers

PROGRAMS: dict[str, Program] = {}


def in_vectors(sch: tir.Schedule, loop: str | tir.LoopRV) -> tir.LoopRV:
    """Cut a loop into vectors of eight, and a rest; return the loop over the vectors."""
    vectors, lanes = sch.split(loop, [None, 8])
    sch.vectorize(lanes)
    return vectors


def eliminated(sch: tir.Schedule) -> None:
    """Eliminate in panels of 32 columns; what is right of each waits, and is updated in tiles."""
    i, j = sch.get_loop("i"), sch.get_loop("j")
    _, column = sch.split("k", [None, 32])
    # Rows and columns of the panel's square, and those that follow.
    square, _ = sch.peel(i, align=32)
    (right_of_square,) = sch.get_child_loops(square)
    sch.peel(right_of_square, align=32)
    in_panel, _ = sch.peel(j, align=32)
    *square_parts, right = sch.distribute(square)
    sch.merge_siblings(square_parts)
    *below_parts, rest = sch.distribute(i)
    below = sch.merge_siblings(below_parts)
    _, for_right, for_below, for_rest = sch.distribute(column)

    # Rows below the square do not need each other, nor do columns right of it.
    sch.reorder(below, for_below)
    in_vectors(sch, in_panel)
    sch.parallel(below)
    columns, column = sch.split(right_of_square, [None, 64])
    sch.reorder(columns, for_right, right, column)
    in_vectors(sch, column)
    sch.parallel(columns)

    # The rest: 32 products for each element of a tile, which stays in registers.
    rows, row = sch.split(rest, [None, 4])
    columns, column = sch.split(j, [None, 16])
    sch.reorder(rows, columns, for_rest, row, column)
    sch.unroll(in_vectors(sch, column))
    sch.unroll(row)
    sch.parallel(rows)


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
    eliminated,
    lambda n: [dominant(n)],
    factored,
    rtol=1e-8,
    types=("float64", "float32"),
)


def symmetric(n: int) -> Array:
    """Return a positive definite matrix."""
    a = numbers((n, n), "float64")
    return a @ a.T + n * np.eye(n)


def factored_in_panels(sch: tir.Schedule) -> None:
    """Factor panels of 32 columns, each kept as a row, then update what is right by tiles."""
    j = sch.get_loop("j")
    _, column = sch.split("k", [None, 32])
    sch.expand_scalar("column", column)
    # Rows of the panel's square, and rows below it; columns of the panel, and those right of it.
    sch.peel("i", align=32)
    in_panel, _ = sch.peel(j, align=32)
    sch.peel("s", align=32)
    below, right = sch.distribute("i")
    below = sch.merge_siblings(["s", below])
    _, columns, products = sch.distribute(column)

    # The rows below the square do not need each other. Parts of eight columns are divided in four
    # rows at once, and their products with those that follow are subtracted from tiles.
    part, column = sch.split(columns, [None, 8])
    _, behind = sch.peel(in_panel, align=8)
    *divided, updated = sch.distribute(below)
    column, factors = sch.distribute(column)
    rows, row = sch.split(sch.merge_siblings(divided), [None, 4])
    sch.reorder(rows, column, row)
    sch.unroll(row)
    rows_of_tiles, row = sch.split(updated, [None, 4])
    vectors = in_vectors(sch, behind)
    sch.reorder(rows_of_tiles, vectors, factors, row)
    sch.unroll(row)
    rows = sch.merge_siblings([rows, rows_of_tiles])
    sch.reorder(rows, part)
    sch.parallel(rows)

    # All that is right of the panel: 32 products for each element of a tile in registers.
    rows, row = sch.split(right, [None, 4])
    columns, column = sch.split(j, [None, 16])
    sch.reorder(rows, columns, products, row, column)
    sch.unroll(in_vectors(sch, column))
    sch.unroll(row)
    sch.parallel(rows)


PROGRAMS["cholesky"] = Program(
    """
def cholesky(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float64")
    column = T.alloc_buffer((n,), "float64")
    for k in range(n):
        A[k, k] = T.sqrt(A[k, k])
        for s in range(k + 1, n):
            A[s, k] = A[s, k] / A[k, k]
            column[s] = A[s, k]
        for i in range(k + 1, n):
            for j in range(k + 1, i + 1):
                A[i, j] = A[i, j] - A[i, k] * column[j]
""",
    factored_in_panels,
    lambda n: [symmetric(n)],
    lambda given: [np.tril(np.linalg.cholesky(given[0])) + np.triu(given[0], 1)],
    rtol=1e-8,
    types=("float64", "float32"),
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
    types=("float32", "float64", "float16", "int32", "int64"),
)


def substituted(sch: tir.Schedule) -> None:
    """Let threads share the columns; what is above four rows updates all of them at once.

    Columns do not need each other: sixteen are a vector, which stays in registers.
    """
    _, rest = sch.peel("i", first=0, align_end=4)
    blocks, row = sch.split("i", [None, 4])
    sch.peel(sch.get_child_loops(row)[0], first=0, align_end=4)
    above, within = sch.distribute(row)
    groups = [columns_outside(sch, rows) for rows in (above, within, rest)]
    (k,) = sch.get_child_loops(above)
    sch.reorder(k, above)
    sch.unroll(above)
    columns = sch.merge_siblings(groups[:2])
    sch.reorder(columns, blocks)
    sch.parallel(sch.merge_siblings(columns, groups[2]))


def columns_outside(sch: tir.Schedule, rows: tir.LoopRV) -> tir.LoopRV:
    """Take sixteen columns at a time through rows, as a vector; return the loop over these."""
    groups = []
    for loop in sch.get_child_loops(rows):
        columns = sch.get_child_loops(loop)
        group, lanes = sch.split(columns[0] if columns else loop, [None, 16])
        sch.vectorize(lanes)
        if columns:
            sch.reorder(group, loop)
        groups.append(group)
    group = sch.merge_siblings(groups) if len(groups) > 1 else groups[0]
    sch.reorder(group, rows)
    return group


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
    types=("float64", "float32"),
)
