# SPDX-License-Identifier: Apache-2.0
"""Sweeps: each element takes neighbours that are new."""

from __future__ import annotations

import numpy as np

from loopsmith import tir

from .program import Array, Program, numbers

PROGRAMS: dict[str, Program] = {}


def wavefront(sch: tir.Schedule) -> tir.LoopRV:
    """Let tiles of 32 rows follow each other along the diagonals, those of one diagonal at once.

    A tile runs in strips of eight rows, each row a column behind the one above: return the loop
    over eight elements that do not need each other.
    """
    tiles, i = sch.split("i", [None, 32])
    columns, j = sch.split("j", [None, 64])
    sch.reorder(tiles, columns, i, j)
    sch.skew(tiles, columns)
    sch.reorder(columns, tiles)

    _, row = sch.split(i, [None, 8])
    sch.skew(row, j)
    sch.reorder(j, row)
    sch.peel(j, first=7, last=7)
    sch.parallel(tiles)
    return row


def unrolled(sch: tir.Schedule) -> None:
    """Compute the eight elements one by one: half of what they need is new."""
    sch.unroll(wavefront(sch))


def in_lanes(sch: tir.Schedule) -> None:
    """Compute the eight elements as a vector: what they need, vectors before have computed."""
    sch.vectorize(wavefront(sch))


def swept(given: list[Array]) -> list[Array]:
    """Return one sweep of Gauss and Seidel."""
    grid = given[0].copy()
    for i in range(1, grid.shape[0] - 1):
        for j in range(1, grid.shape[1] - 1):
            grid[i, j] = (grid[i - 1, j] + grid[i, j - 1] + grid[i + 1, j] + grid[i, j + 1]) / 4
    return [grid]


PROGRAMS["gauss_seidel"] = Program(
    """
def gauss_seidel(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n + 2, n + 2), "float64")
    for i, j in T.grid(n, n):
        A[i + 1, j + 1] = (
            A[i, j + 1] + A[i + 1, j] + A[i + 2, j + 1] + A[i + 1, j + 2]
        ) * T.float64(0.25)
""",
    unrolled,
    lambda n: [numbers((n + 2, n + 2), "float64")],
    swept,
    types=("float64", "float32"),
)


def edit_distance(given: list[Array]) -> list[Array]:
    """Return the table of distances between all beginnings of two texts."""
    a, b, table = given
    distance = table.copy()
    for i in range(len(a)):
        for j in range(len(b)):
            distance[i + 1, j + 1] = min(
                distance[i, j] + (a[i] != b[j]), distance[i, j + 1] + 1, distance[i + 1, j] + 1
            )
    return [a, b, distance]


def borders(n: int) -> list[Array]:
    """Return two texts, and a table of which the borders are filled."""
    table = np.zeros((n + 1, n + 1), "int32")
    table[0] = table[:, 0] = np.arange(n + 1)
    return [numbers(n, "int32") % 4, numbers(n, "int32", 1) % 4, table]


PROGRAMS["edit_distance"] = Program(
    """
def edit_distance(a: T.handle, b: T.handle, d: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    D = T.match_buffer(d, (n + 1, n + 1), "int32")
    for i, j in T.grid(n, n):
        D[i + 1, j + 1] = T.min(
            D[i, j] + T.Select(A[i] == B[j], 0, 1), T.min(D[i, j + 1], D[i + 1, j]) + 1
        )
""",
    in_lanes,
    borders,
    edit_distance,
    types=("int32", "int64"),
)


def alignment(n: int) -> list[Array]:
    """Return two texts, and a table of zeros."""
    first, second = numbers(n, "int32") % 4, numbers(n, "int32", 1) % 4
    return [first, second, np.zeros((n + 1, n + 1), "int32")]


def aligned(given: list[Array]) -> list[Array]:
    """Return the scores of the best alignments that end at each pair."""
    a, b, table = given
    score = table.copy()
    for i in range(len(a)):
        for j in range(len(b)):
            score[i + 1, j + 1] = max(
                0,
                score[i, j] + (2 if a[i] == b[j] else -1),
                score[i, j + 1] - 1,
                score[i + 1, j] - 1,
            )
    return [a, b, score]


PROGRAMS["smith_waterman"] = Program(
    """
def smith_waterman(a: T.handle, b: T.handle, h: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    H = T.match_buffer(h, (n + 1, n + 1), "int32")
    for i, j in T.grid(n, n):
        H[i + 1, j + 1] = T.max(
            T.max(H[i, j] + T.Select(A[i] == B[j], 2, -1), 0),
            T.max(H[i, j + 1], H[i + 1, j]) - 1,
        )
""",
    in_lanes,
    alignment,
    aligned,
    types=("int32", "int64"),
)
