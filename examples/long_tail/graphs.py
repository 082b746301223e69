# SPDX-License-Identifier: Apache-2.0
"""Graphs: shortest paths, components, boxes that overlap."""

from __future__ import annotations

import numpy as np

from loopsmith import tir

from .program import Array, Program, numbers

PROGRAMS: dict[str, Program] = {}


def rows_at_once(sch: tir.Schedule) -> None:
    """Update the rows at once, each in vectors."""
    sch.vectorize("j")
    sch.parallel("i")


def shortest(given: list[Array]) -> list[Array]:
    """Return the lengths of the shortest paths."""
    d = given[0].copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k, None] + d[k])
    return [d]


PROGRAMS["floyd_warshall"] = Program(
    """
def floyd_warshall(d: T.handle):
    n = T.int32()
    D = T.match_buffer(d, (n, n), "float32")
    row = T.alloc_buffer((n,), "float32")
    for k in range(n):
        for c in range(n):
            row[c] = D[k, c]
        for i in range(n):
            first = D[i, k]
            for j in range(n):
                D[i, j] = T.min(D[i, j], first + row[j])
""",
    rows_at_once,
    lambda n: [numbers((n, n))],
    shortest,
    types=("float32", "float64", "int32"),
)


def graph(n: int) -> list[Array]:
    """Return a graph by its neighbours, labels, and room for new ones."""
    generator = np.random.default_rng(0)
    edges = generator.integers(0, max(n, 1), (n // 2, 2))
    both = np.concatenate([edges, edges[:, ::-1]])
    both = both[np.argsort(both[:, 0], kind="stable")]
    starts = np.searchsorted(both[:, 0], np.arange(n + 1)).astype("int32")
    return [
        starts,
        both[:, 1].astype("int32"),
        np.zeros(n, "int32"),
        np.zeros(n, "int32"),
    ]


def components(given: list[Array]) -> list[Array]:
    """Return the least number of each component, in both arrays."""
    starts, neighbours, labels, _ = given
    labels = np.arange(len(labels), dtype="int32")
    while True:
        new = labels.copy()
        sources = np.repeat(np.arange(len(labels)), np.diff(starts))
        np.minimum.at(new, sources, labels[neighbours])
        if (new == labels).all():
            return [starts, neighbours, labels, new]
        labels = new


def labels_at_once(sch: tir.Schedule) -> None:
    """Let threads share the labels, and each keep what it has found itself."""
    sch.parallel("v")
    sch.parallel("w")


PROGRAMS["connected_components"] = Program(
    """
def connected_components(s: T.handle, c: T.handle, l: T.handle, m: T.handle):
    n = T.int32()
    e = T.int32()
    Starts = T.match_buffer(s, (n + 1,), "int32")
    Neighbours = T.match_buffer(c, (e,), "int32")
    Labels = T.match_buffer(l, (n,), "int32")
    New = T.match_buffer(m, (n,), "int32")
    changed = T.alloc_buffer((1,), "int32")
    for i in range(n):
        Labels[i] = i
    changed[0] = 1
    while changed[0] > 0:
        changed[0] = 0
        for v in range(n):
            New[v] = Labels[v]
            for k in range(Starts[v], Starts[v + 1]):
                New[v] = T.min(New[v], Labels[Neighbours[k]])
            changed[0] = T.max(changed[0], T.Select(New[v] < Labels[v], 1, 0))
        for w in range(n):
            Labels[w] = New[w]
""",
    labels_at_once,
    graph,
    components,
    types=("int32", "int64"),
)


def hooks_at_once(sch: tir.Schedule) -> None:
    """Let threads share the vertices; two that hook one label keep the lesser one."""
    sch.atomic("v")
    sch.parallel("w")
    sch.parallel("u")


PROGRAMS["hooked_components"] = Program(
    """
def hooked_components(s: T.handle, c: T.handle, l: T.handle, m: T.handle):
    n = T.int32()
    e = T.int32()
    Starts = T.match_buffer(s, (n + 1,), "int32")
    Neighbours = T.match_buffer(c, (e,), "int32")
    Labels = T.match_buffer(l, (n,), "int32")
    New = T.match_buffer(m, (n,), "int32")
    changed = T.alloc_buffer((1,), "int32")
    for i in range(n):
        Labels[i] = i
        New[i] = i
    changed[0] = 1
    while changed[0] > 0:
        changed[0] = 0
        for v in range(n):
            least = Labels[v]
            for k in range(Starts[v], Starts[v + 1]):
                least = T.min(least, Labels[Neighbours[k]])
            if least < Labels[v]:
                New[Labels[v]] = T.min(New[Labels[v]], least)
        for w in range(n):
            label = New[New[w]]
            changed[0] = T.max(changed[0], T.Select(label < Labels[w], 1, 0))
            Labels[w] = label
        for u in range(n):
            New[u] = Labels[u]
""",
    hooks_at_once,
    graph,
    components,
    types=("int32", "int64"),
)


def boxes(n: int) -> list[Array]:
    """Return boxes by falling score, and which are kept."""
    generator = np.random.default_rng(0)
    low = generator.random((n, 2)) * 4
    return [np.concatenate([low, low + 1], 1).astype("float32"), np.ones(n, "int32")]


def suppressed(given: list[Array]) -> list[Array]:
    """Return which boxes overlap none that is kept before them."""
    corners, kept = given[0].astype("float64"), given[1].copy()
    for i in range(len(kept)):
        if not kept[i]:
            continue
        low = np.maximum(corners[i, :2], corners[i + 1 :, :2])
        high = np.minimum(corners[i, 2:], corners[i + 1 :, 2:])
        both = np.prod(np.maximum(high - low, 0), 1)
        kept[i + 1 :][both > 0.5 * (2 - both)] = 0
    return [given[0], kept]


PROGRAMS["box_suppression"] = Program(
    """
def box_suppression(b: T.handle, k: T.handle):
    n = T.int32()
    B = T.match_buffer(b, (n, 4), "float32")
    Kept = T.match_buffer(k, (n,), "int32")
    for i in range(n):
        if Kept[i] == 1:
            for j in range(i + 1, n):
                width = T.max(T.min(B[i, 2], B[j, 2]) - T.max(B[i, 0], B[j, 0]), T.float32(0))
                height = T.max(T.min(B[i, 3], B[j, 3]) - T.max(B[i, 1], B[j, 1]), T.float32(0))
                both = width * height
                if both > T.float32(0.5) * (T.float32(2) - both):
                    Kept[j] = 0
""",
    lambda sch: sch.vectorize("j"),
    boxes,
    suppressed,
    types=("float32", "float64"),
)
