# SPDX-License-Identifier: Apache-2.0
"""Programs that are no products and no stencils of the textbook, and schedules that make them fast.

Each entry of `PROGRAMS` has the program as anybody writes it, the steps that schedule it, its
arguments for a size, and what NumPy says of the result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import loopsmith as ls
from loopsmith import tir

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from long_tail import factorizations, graphs, rows, sorting, sweeps
from long_tail.program import Array, Program, numbers

PROGRAMS: dict[str, Program] = {}


# ---- Programs of the form in which they are found ----


def halves(sch: tir.Schedule) -> None:
    """Cut the only loop into tiles, and let several threads share them."""
    outer, inner = sch.split(sch.get_loops("block")[0], [None, 32])
    sch.parallel(outer)
    sch.vectorize(inner)


PROGRAMS["start_at_one"] = Program(
    """
def start_at_one(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float16")
    B = T.match_buffer(b, (n,), "float16")
    for i_ in range(1, n):
        with T.block("block"):
            i = T.axis.remap("S", [i_])
            B[i] = A[i] + T.float16(1)
""",
    halves,
    lambda n: [numbers(n, "float16"), np.zeros(n, "float16")],
    lambda given: [given[0], np.concatenate([given[1][:1], given[0][1:] + np.float16(1)])],
    types=("float16", "float32", "float64", "int32"),
)

PROGRAMS["in_place"] = Program(
    """
def in_place(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float16")
    B = T.match_buffer(b, (n,), "float16")
    for i_ in range(n):
        with T.block("block"):
            i = T.axis.remap("S", [i_])
            B[i] = B[i] + A[i]
""",
    halves,
    lambda n: [numbers(n, "float16"), numbers(n, "float16", 1)],
    lambda given: [given[0], given[1] + given[0]],
    types=("float16", "float32", "float64", "int64"),
)


def mixed(sch: tir.Schedule) -> None:
    """Bring the nest into normal form; then it splits and runs concurrently like any other."""
    sch.normalize_nest("i")
    rows, columns = sch.get_loops("block1")
    _, lanes = sch.split(columns, [None, 64])
    sch.vectorize(lanes)
    sch.parallel(rows)


PROGRAMS["mixed_nest"] = Program(
    """
def mixed_nest(a: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "float16")
    for i in range(n):
        if i % 2 == 0:
            for j in range(n):
                with T.block("block1"):
                    A[i, j] = T.float16(1)
        else:
            for j in range(n):
                with T.block("block2"):
                    A[i, j] = T.float16(2)
""",
    mixed,
    lambda n: [numbers((n, n), "float16")],
    lambda given: [
        np.repeat((1 + np.arange(len(given[0])) % 2)[:, None], len(given[0]), 1).astype("float16")
    ],
    types=("float16", "float32", "int32"),
)


# ---- Scans: each iteration takes over a value ----


# Iterations whose values fit into the caches of two processors: they are read twice.
BLOCK = 1 << 18
# Of a part: so long that memory is read ahead most of the time.
PART = 1 << 14


def side_by_side(sch: tir.Schedule, parts: tir.LoopRV, streams: int = 4) -> None:
    """Let a thread run parts side by side: where one waits for its last sum, the others go on."""
    groups, part = sch.split(parts, [None, streams])
    if sch.can_apply("distribute", part):  # From what each part starts with.
        *_, part = sch.distribute(part)
    (place,) = sch.get_child_loops(part)
    sch.reorder(place, part)
    sch.unroll(part)
    sch.parallel(groups)


def scan(sch: tir.Schedule) -> None:
    """Cut a recurrence into parts that run concurrently, block by block."""
    _, place = sch.split("i", [None, BLOCK])
    _, _, parts = sch.parallel_scan(place, length=PART)
    side_by_side(sch, parts)


def linear_scan(streams: int) -> Callable[[tir.Schedule], None]:
    """Return the same of a linear recurrence, of which the totals are recurrences, too.

    A thread runs so many parts side by side.
    """

    def steps(sch: tir.Schedule) -> None:
        _, place = sch.split("i", [None, BLOCK])
        totals, _, parts = sch.parallel_scan(place, length=PART)
        side_by_side(sch, totals, streams)
        side_by_side(sch, parts, streams)

    return steps


def prefix_sum(dtype: str) -> str:
    """Return a prefix sum in that type."""
    return f"""
def prefix_sum(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "{dtype}")
    B = T.match_buffer(b, (n + 1,), "{dtype}")
    B[0] = T.{dtype}(0)
    for i in range(n):
        B[i + 1] = B[i] + A[i]
"""


def summed(given: list[Array]) -> list[Array]:
    """Return the prefix sum of the first argument."""
    return [given[0], np.concatenate([[0], np.cumsum(given[0])]).astype(given[1].dtype)]


PROGRAMS["prefix_sum"] = Program(
    prefix_sum("float64"),
    scan,
    lambda n: [numbers(n, "float64"), np.zeros(n + 1)],
    summed,
    types=("float64", "float32", "int32"),
)
PROGRAMS["prefix_sum_int64"] = Program(
    prefix_sum("int64"),
    scan,
    lambda n: [numbers(n, "int64"), np.zeros(n + 1, "int64")],
    summed,
)


def differences(n: int) -> Array:
    """Return differences of small numbers, whose sums are exact in any order."""
    return np.diff(numbers(n, "int32") % 4, prepend=0).astype("float16")


PROGRAMS["prefix_sum_float16"] = Program(
    prefix_sum("float16"),
    scan,
    lambda n: [differences(n), np.zeros(n + 1, "float16")],
    summed,
)

PROGRAMS["running_maximum"] = Program(
    """
def running_maximum(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    top = T.alloc_buffer((1,), "float32")
    top[0] = T.min_value("float32")
    for i in range(n):
        top[0] = T.max(top[0], A[i])
        B[i] = top[0]
""",
    scan,
    lambda n: [numbers(n), np.zeros(n, "float32")],
    lambda given: [given[0], np.maximum.accumulate(given[0])],
    types=("float32", "float64", "float16", "int32", "int64"),
)


def smoothed(given: list[Array]) -> list[Array]:
    """Return a recurrence of first order, one number after another."""
    result = np.zeros_like(given[1])
    value = given[0].dtype.type(0)
    for i, x in enumerate(given[0]):
        value = given[0].dtype.type(0.9) * value + given[0].dtype.type(0.1) * x
        result[i] = value
    return [given[0], result]


PROGRAMS["moving_average"] = Program(
    """
def moving_average(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "float64")
    B = T.match_buffer(b, (n,), "float64")
    value = T.alloc_buffer((1,), "float64")
    value[0] = T.float64(0)
    for i in range(n):
        value[0] = T.float64(0.9) * value[0] + T.float64(0.1) * A[i]
        B[i] = value[0]
""",
    linear_scan(streams=4),
    lambda n: [numbers(n, "float64"), np.zeros(n)],
    smoothed,
    types=("float64", "float32"),
)

PROGRAMS["segmented_sum"] = Program(
    """
def segmented_sum(a: T.handle, s: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int64")
    Starts = T.match_buffer(s, (n,), "int32")
    B = T.match_buffer(b, (n + 1,), "int64")
    B[0] = T.int64(0)
    for i in range(n):
        B[i + 1] = T.Select(Starts[i] > 90, A[i], B[i] + A[i])
""",
    linear_scan(streams=2),
    lambda n: [numbers(n, "int64"), numbers(n, "int32", 1), np.zeros(n + 1, "int64")],
    lambda given: [given[0], given[1], segmented(given[0], given[1] > 90)],
    types=("int64", "int32", "float32", "float64"),
)


def segmented(values: Array, starts: Array) -> Array:
    """Return sums that start anew where `starts` says so."""
    result = np.zeros(len(values) + 1, values.dtype)
    for i, value in enumerate(values):
        result[i + 1] = value if starts[i] else result[i] + value
    return result


# ---- Loops that have to be taken apart ----


def fission(sch: tir.Schedule) -> None:
    """Part the recurrence from what uses it; then each has a schedule of its own."""
    sch.expand_scalar("scaled", "i")
    recurrence, scaled, sums = sch.distribute("i")
    blocks, place = sch.split(sch.merge_siblings(scaled, sums), [None, 4096])
    sch.vectorize(place)
    sch.parallel(blocks)
    totals, _, parts = sch.parallel_scan(recurrence, length=2032)
    side_by_side(sch, totals)
    side_by_side(sch, parts)


PROGRAMS["fission"] = Program(
    """
def fission(a: T.handle, b: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n + 1,), "float64")
    B = T.match_buffer(b, (n,), "float64")
    C = T.match_buffer(c, (n,), "float64")
    scaled = T.alloc_buffer((1,), "float64")
    for i in range(n):
        A[i + 1] = A[i] * T.float64(0.5) + B[i]
        scaled[0] = A[i] * T.float64(2)
        C[i] = scaled[0] + B[i]
""",
    fission,
    lambda n: [numbers(n + 1, "float64"), numbers(n, "float64", 1), np.zeros(n)],
    lambda given: parted(given),
    types=("float64", "float32"),
)


def parted(given: list[Array]) -> list[Array]:
    """Return a recurrence, and what is made of its values."""
    a = given[0].copy()
    for i, b in enumerate(given[1]):
        a[i + 1] = a[i] * 0.5 + b
    return [a, given[1], a[:-1] * 2 + given[1]]


# ---- Updates through computed indices, loops of unknown length ----


def counts_apart(streams: int) -> Callable[[tir.Schedule], None]:
    """Return the steps that count parts at once, each into bins of its own, and add these up.

    A thread counts some parts side by side: numbers that are equal wait for each other only within
    a part. Bins that are many have no room in a cache more than a few times. A few numbers are left
    over, so that the parts are of one length, and none asks where it ends.
    """

    def steps(sch: tir.Schedule) -> None:
        whole, _ = sch.peel("i", first=0, align_end=2 * streams)
        part, _ = sch.split(whole, [2 * streams, None])
        _, merge = sch.privatize(part, "H")
        side_by_side(sch, part, streams)
        bins, copies = sch.get_loops(merge)
        blocks, block, lanes = sch.split(bins, [None, 64, 64])
        sch.reorder(blocks, block, copies, lanes)
        sch.vectorize(lanes)
        sch.parallel(blocks)

    return steps


def equal_work(sch: tir.Schedule) -> None:
    """Let threads share the numbers, whatever row they are in; add up sixteen at once."""
    _, sums = sch.distribute("i")
    sch.parallel(sums)
    sch.inspect_split(sums, parts=32, cut_iterations=True)
    *_, aligned = sch.peel("k", align=16)
    _, lanes = sch.split(aligned, [None, 16])
    sch.vectorize(lanes)


def without_borders(sch: tir.Schedule) -> None:
    """Peel the borders off, where indices wrap around; what is left runs in vectors."""
    sch.peel("j", first=1, last=1)
    sch.vectorize("j")
    sch.parallel("i")


def histogram(bins: int, streams: int) -> Program:
    """Return the counting of numbers below `bins`, so many parts of them in each thread."""
    return Program(
        f"""
def histogram(a: T.handle, H: T.Buffer(({bins},), "int32")):
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    for i in range(n):
        H[A[i]] = H[A[i]] + 1
""",
        counts_apart(streams),
        lambda n: [
            (np.random.default_rng(0).random(n) ** 4 * bins).astype("int32"),
            np.zeros(bins, "int32"),
        ],
        lambda given: [given[0], np.bincount(given[0], minlength=bins).astype("int32")],
        types=("int32", "int64"),
    )


PROGRAMS["histogram_256"] = histogram(256, streams=4)
PROGRAMS["histogram_65536"] = histogram(65536, streams=3)


def sparse_matrix(n: int) -> list[Array]:
    """Return a matrix with rows of very different lengths by its rows, a vector, and a result."""
    generator = np.random.default_rng(0)
    lengths = np.minimum(generator.zipf(1.7, n), max(n, 1)).astype("int32")
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype("int32")
    columns = generator.integers(0, max(n, 1), starts[-1]).astype("int32")
    values = generator.random(starts[-1]).astype("float32")
    return [starts, columns, values, numbers(n), np.zeros(n, "float32")]


def sparse_product(given: list[Array]) -> list[Array]:
    """Return the product, by sums of the rows."""
    starts, columns, values, x, _ = given
    products = np.concatenate([[0], np.cumsum(values.astype("float64") * x[columns])])
    return [*given[:4], (products[starts[1:]] - products[starts[:-1]]).astype("float32")]


PROGRAMS["sparse_product"] = Program(
    """
def sparse_product(p: T.handle, c: T.handle, v: T.handle, x: T.handle, y: T.handle):
    n = T.int32()
    m = T.int32()
    Starts = T.match_buffer(p, (n + 1,), "int32")
    Columns = T.match_buffer(c, (m,), "int32")
    Values = T.match_buffer(v, (m,), "float32")
    X = T.match_buffer(x, (n,), "float32")
    Y = T.match_buffer(y, (n,), "float32")
    for i in range(n):
        Y[i] = T.float32(0)
        for k in range(Starts[i], Starts[i + 1]):
            Y[i] = Y[i] + Values[k] * X[Columns[k]]
""",
    equal_work,
    sparse_matrix,
    sparse_product,
    rtol=1e-4,
    types=("float32", "float64"),
)

PROGRAMS["game_of_life"] = Program(
    """
def game_of_life(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n), "int32")
    B = T.match_buffer(b, (n, n), "int32")
    for i in range(n):
        for j in range(n):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.Select(
                    A[(vi + n - 1) % n, vj] + A[(vi + 1) % n, vj]
                    + A[vi, (vj + n - 1) % n] + A[vi, (vj + 1) % n] == 2,
                    1,
                    0,
                )
""",
    without_borders,
    lambda n: [numbers((n, n), "int32") % 2, np.zeros((n, n), "int32")],
    lambda given: [
        given[0],
        (sum(np.roll(given[0], s, k) for s in (1, -1) for k in (0, 1)) == 2).astype("int32"),
    ],
    types=("int32", "int64"),
)


for family in (factorizations, graphs, rows, sorting, sweeps):
    PROGRAMS.update(family.PROGRAMS)


def median_time(run: Callable[[], object], repeats: int = 5) -> float:
    """Return the median time of a call, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return sorted(times)[repeats // 2]


SIZES = {
    "mixed_nest": 2000,
    "gauss_seidel": 2000,
    "edit_distance": 2000,
    "game_of_life": 2000,
    "lu": 600,
    "triangular_solve": 600,
    "cholesky": 600,
    "in_place_transpose": 3000,
    "floyd_warshall": 500,
    "smith_waterman": 2000,
    "recursive_blur": 2000,
    "box_suppression": 6000,
    "connected_components": 200_000,
    "hooked_components": 200_000,
    "top_8": 50_000,
    "welford": 50_000,
    "layer_norm": 50_000,
    "online_softmax": 50_000,
    "newton_roots": 500_000,
    "bitonic_sort": 1 << 18,
    "sparse_product": 100_000,
}


def main(scale: float = 1) -> None:
    """Check each program, and say how long it takes as it is written and as it is scheduled."""
    for name, program in PROGRAMS.items():
        size = int(SIZES.get(name, 2_000_000) * scale)
        given = program.arguments(size)
        times = {}
        for what, compiled in {"plain": program.func, "scheduled": program.schedule()}.items():
            run = ls.build(compiled)
            arrays = [array.copy() for array in given]
            run(*arrays)
            times[what] = median_time(lambda run=run, arrays=arrays: run(*arrays))
        ratio = times["plain"] / times["scheduled"]
        print(
            f"{name:18} {size:8}  plain {times['plain'] * 1e3:8.2f} ms  "
            f"scheduled {times['scheduled'] * 1e3:8.2f} ms  {ratio:5.2f} x"
        )


if __name__ == "__main__":
    main()
