# SPDX-License-Identifier: Apache-2.0
"""Sorting, selection, and coding by runs."""

from __future__ import annotations

import numpy as np

from loopsmith import tir

from .program import Array, Program, numbers

PROGRAMS: dict[str, Program] = {}


def exchanges_at_once(sch: tir.Schedule) -> None:
    """Exchange the pairs of a step in vectors; that no two pairs overlap, the shifts hide.

    The last five distances of each stage are known: 16, 8, 4, 2, and 1.
    """
    _, stage = sch.peel("s", first=4)
    (steps,) = sch.get_child_loops(stage)
    far, near = sch.peel(steps, first=0, last=5)
    (blocks,) = sch.get_child_loops(far)
    (pairs,) = sch.get_child_loops(blocks)
    sch.vectorize(pairs, assume_independent=True)
    sch.parallel(blocks, assume_independent=True)
    for _ in range(4):
        step, near = sch.peel(near, first=1)
        (blocks,) = sch.get_child_loops(step)
        (pairs,) = sch.get_child_loops(blocks)
        sch.vectorize(pairs)
        sch.parallel(blocks)
    # Neighbours: a vector of pairs.
    (blocks,) = sch.get_child_loops(near)
    (pair,) = sch.get_child_loops(blocks)
    blocks, lanes = sch.split(blocks, [None, 16])
    sch.reorder(blocks, pair, lanes)
    sch.vectorize(lanes)
    sch.parallel(blocks)


def power_of_two(n: int) -> int:
    """Return the least power of two that is no less."""
    return 1 << max(n - 1, 0).bit_length()


PROGRAMS["bitonic_sort"] = Program(
    """
def bitonic_sort(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    stages = T.alloc_buffer((1,), "int32")
    stages[0] = 0
    while (1 << stages[0]) < n:
        stages[0] = stages[0] + 1
    for s in range(stages[0]):
        for p in range(s + 1):
            half = 1 << (s - p)
            for b in range(n // (2 * half)):
                for t in range(half):
                    first = A[b * 2 * half + t]
                    second = A[b * 2 * half + half + t]
                    less = T.min(first, second)
                    more = T.max(first, second)
                    A[b * 2 * half + t] = T.Select(((b >> p) & 1) == 0, less, more)
                    A[b * 2 * half + half + t] = T.Select(((b >> p) & 1) == 0, more, less)
""",
    exchanges_at_once,
    lambda n: [numbers(power_of_two(n))],
    lambda given: [np.sort(given[0])],
    types=("float32", "float64", "float16", "int32"),
)


def large_numbers(n: int) -> Array:
    """Return numbers of 32 bits."""
    return np.random.default_rng(0).integers(0, 2**32, n, dtype="uint32")


def by_their_low_bits(numbers: Array) -> Array:
    """Return numbers in the order of all bits but the highest eight."""
    return numbers[np.argsort(numbers & 0xFFFFFF, kind="stable")]


def sort_by_bits(source: str, target: str, shift: int, number: int) -> str:
    """Return the lines that sort by eight bits: eight parts are counted, and then moved."""
    digit = f"T.Cast('int32', ({source}[i] >> T.uint32({shift})) & T.uint32(255))"
    part = "range(T.min({0} * length, n), T.min(({0} + 1) * length, n))"
    count, move = f"count_{number}", f"move_{number}"
    return f"""
    for {count} in range(8):
        for d in range(256):
            Places[{count}, d] = 0
        for i in {part.format(count)}:
            Places[{count}, {digit}] = Places[{count}, {digit}] + 1
    first[0] = 0
    for d in range(256):
        for p in range(8):
            found = Places[p, d]
            Places[p, d] = first[0]
            first[0] = first[0] + found
    for {move} in range(8):
        for i in {part.format(move)}:
            place = Places[{move}, {digit}]
            {target}[place] = {source}[i]
            Places[{move}, {digit}] = place + 1
"""


def parts_at_once(sch: tir.Schedule) -> None:
    """Count all parts at once, and move them: the counts give each number a place of its own."""
    for number in range(4):
        sch.parallel(f"count_{number}")
        sch.parallel(f"move_{number}", assume_independent=True)


PROGRAMS["radix_sort"] = Program(
    """
def radix_sort(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "uint32")
    B = T.match_buffer(b, (n,), "uint32")
    Places = T.alloc_buffer((8, 256), "int32")
    first = T.alloc_buffer((1,), "int32")
    length = (n + 7) // 8
"""
    + sort_by_bits("A", "B", 0, 0)
    + sort_by_bits("B", "A", 8, 1)
    + sort_by_bits("A", "B", 16, 2)
    + sort_by_bits("B", "A", 24, 3),
    parts_at_once,
    lambda n: [large_numbers(n), np.zeros(n, "uint32")],
    lambda given: [np.sort(given[0]), by_their_low_bits(given[0])],
)


def largest(given: list[Array]) -> list[Array]:
    """Return the eight largest of each row, the largest first."""
    values = given[0].copy()
    found = np.full_like(given[1], -1)
    for r, row in enumerate(values):
        best = np.sort(row)[::-1][:8]
        found[r, : len(best)] = best
    return [given[0], found]


def networks_in_lanes(sch: tir.Schedule) -> None:
    """Sort into the eight best of 32 rows at once: the exchanges are the same in all of them."""
    rows, row = sch.split("r", [None, 32])
    sch.vectorize(row)
    for loop in ("start", "c", "place"):
        sch.unroll(loop)
    sch.parallel(rows)


PROGRAMS["top_8"] = Program(
    """
def top_8(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 64), "float32")
    B = T.match_buffer(b, (n, 8), "float32")
    for r in range(n):
        best = T.alloc_buffer((8,), "float32")
        for start in range(8):
            best[start] = T.float32(-1)
        for k in range(64):
            x = T.alloc_buffer((1,), "float32")
            x[0] = A[r, k]
            for c in range(8):
                larger = T.max(best[c], x[0])
                x[0] = T.min(best[c], x[0])
                best[c] = larger
        for place in range(8):
            B[r, place] = best[place]
""",
    networks_in_lanes,
    lambda n: [numbers((n, 64)), np.zeros((n, 8), "float32")],
    largest,
    types=("float32", "float64", "float16", "int32"),
)


def runs(given: list[Array]) -> list[Array]:
    """Return where each run starts and what it repeats, after the count of runs at each place."""
    values, counts, firsts, repeated = (array.copy() for array in given)
    is_first = np.ones(len(values), bool)
    is_first[1:] = values[1:] != values[:-1]
    counts[1:] = np.cumsum(is_first)
    places = np.flatnonzero(is_first)
    firsts[: len(places)] = places
    repeated[: len(places)] = values[places]
    return [values, counts, firsts, repeated]


def coded(sch: tir.Schedule) -> None:
    """Count the runs by a scan; then write each where it belongs, in vectors: none overlap."""
    sch.parallel_scan("i")
    chunks, places = sch.split("w", [None, 4096])
    sch.vectorize(places, assume_independent=True)
    sch.parallel(chunks, assume_independent=True)


PROGRAMS["run_lengths"] = Program(
    """
def run_lengths(a: T.handle, p: T.handle, f: T.handle, v: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    Counts = T.match_buffer(p, (n + 1,), "int32")
    Firsts = T.match_buffer(f, (n,), "int32")
    Values = T.match_buffer(v, (n,), "int32")
    Counts[0] = 0
    for i in range(n):
        Counts[i + 1] = Counts[i] + T.Select(i == 0 or A[i] != A[T.max(i - 1, 0)], 1, 0)
    for w in range(n):
        if Counts[w + 1] > Counts[w]:
            Firsts[Counts[w]] = w
            Values[Counts[w]] = A[w]
""",
    coded,
    lambda n: [
        numbers(n, "int32") // 40,
        np.zeros(n + 1, "int32"),
        np.zeros(n, "int32"),
        np.zeros(n, "int32"),
    ],
    runs,
    types=("int32", "int64"),
)
