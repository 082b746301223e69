# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Products with few rows, and with few results
#
# A product of one row, or of 16, by a large matrix reads that matrix once. There is nothing to gain
# from packing it: the question is in which order memory is asked for. A product of few rows by few
# columns has long sums, and no results to share among threads: its sums are cut.
#
# Times are those of a core of Zen 4 (AVX-512) beside other work: medians of processor time, in
# turns.

# %%
from __future__ import annotations

from step_by_step import Tutorial, as_written, lanes, numbers

from loopsmith import te, tir


def product(m: int, n: int, k: int) -> tir.PrimFunc:
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), "k")
    return te.create_prim_func(
        [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")]
    )


# %% [markdown]
# ## 1. As it is written (121 ms for 1 x 4096 by 4096 x 4096)
# Each result runs down a column of B: a line of the cache, and a page, for each element.

# %% [markdown]
# ## 2. A tile in registers (6.3 ms)
# What is right for square products: a few vectors of C stay in registers while k runs. B is then
# read in rows of 256 bytes, each on another page, and no prefetcher follows.


# %%
def in_registers(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    i, j, k = sch.get_loops("C")
    columns, vectors, lane = sch.split(j, [None, 4, lanes()])
    sch.reorder(columns, k, i, vectors, lane)
    sch.decompose_reduction("C", k)
    sch.unroll(i)
    sch.unroll(vectors)
    sch.vectorize(lane)
    return sch


# %% [markdown]
# ## 3. Along rows of B (2.5 ms, as by default; NumPy 2.5)
# Eight rows of B are read side by side, from their first to their last column. The sums go to the
# first cache and back, once for all eight. B passes by in as many streams as there are rows at a
# time, at the speed of memory.


# %%
def along_rows(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    i, j, k = sch.get_loops("C")
    k, rows = sch.split(k, [None, 8])
    columns, lane = sch.split(j, [None, lanes()])
    sch.reorder(k, columns, i, rows, lane)
    sch.decompose_reduction("C", k)
    sch.unroll(rows)
    sch.vectorize(lane)
    return sch


# %% [markdown]
# ## 4. On all threads
# A thread with some columns of its own would have shorter streams: at 2048 columns they cost 1.2
# times as much. `rfactor` gives each thread whole rows of B, and sums of its own, 16 kB, which a
# second block adds up.


# %%
def in_rows_of_threads(func: tir.PrimFunc, parts: int = 8) -> tir.Schedule:
    sch = tir.Schedule(func)
    _, _, k = sch.get_loops("C")
    part, _ = sch.split(k, [parts, None])
    sums = sch.rfactor(part, 0)
    i, j, part, k = sch.get_loops(sums)
    k, rows = sch.split(k, [None, 8])
    columns, lane = sch.split(j, [None, lanes()])
    sch.reorder(part, k, columns, i, rows, lane)
    zeros = sch.decompose_reduction(sums, k)
    sch.unroll(rows)
    sch.vectorize(lane)
    sch.vectorize(sch.get_loops(zeros)[-1])
    sch.parallel(part)
    add_parts(sch)
    return sch


def add_parts(sch: tir.Schedule) -> None:
    """Add the sums of all parts up, a vector of results at a time."""
    total = sch.get_block("C")
    i, j, part = sch.get_loops(total)
    columns, lane = sch.split(j, [None, lanes()])
    sch.reorder(i, columns, part, lane)
    sch.decompose_reduction(total, part)
    sch.vectorize(lane)


# %% [markdown]
# ## 4. Sixteen rows (6.6 ms for 16 x 4096 by 4096 x 4096, as by default; NumPy 14.7)
# Sixteen vectors of sums, one for each row of A, meet each vector of B. Their rows in C and in A
# are 16 kB apart, where all fall into one set of the first cache. So A is copied with its rows
# innermost, and the sums have a layout in which the vectors of all rows are neighbours; both are
# small beside B. `prefetch` asks for each stream a few vectors ahead, which helps where there are
# more of them than the processor follows.


# %%
def along_rows_for_many(func: tir.PrimFunc, depth: int = 16) -> tir.Schedule:
    sch = tir.Schedule(func)
    width = lanes()
    copy = sch.cache_read("C", "A", "global")
    sch.transform_layout(copy, 0, lambda i, k: (k, i))
    sums = sch.get_block("C")
    write = sch.cache_write(sums, 0, "global")
    sch.transform_layout(sums, 0, lambda i, j: (j // width, i, j % width), pad_value=0.0)
    i, j, k = sch.get_loops(sums)
    k, rows = sch.split(k, [None, depth])
    columns, lane = sch.split(j, [None, width])
    sch.reorder(k, columns, rows, i, lane)
    sch.prefetch(sums, "B", columns, 4)
    zeros = sch.decompose_reduction(sums, k)
    sch.unroll(i)
    sch.vectorize(lane)
    sch.vectorize(sch.get_loops(zeros)[-1])
    sch.vectorize(sch.split(sch.get_loops(write)[-1], [None, width])[1])
    return sch


# %% [markdown]
# ## Few results, long sums
# 32 x 65536 by 65536 x 32 has 1024 results: two tiles in registers. `rfactor` cuts the sums: each
# part of k has results of its own, tasks for threads, and a second block adds them up. Sums of
# parts are nearer to the truth, too.


# %%
def in_parts(func: tir.PrimFunc, parts: int = 16) -> tir.Schedule:
    sch = tir.Schedule(func)
    _, _, k = sch.get_loops("C")
    part, _ = sch.split(k, [parts, None])
    sums = sch.rfactor(part, 0)
    i, j, task, k = sch.get_loops(sums)
    tiles, rows = sch.split(i, [None, 8])
    columns, vectors, lane = sch.split(j, [None, 2, lanes()])
    sch.reorder(task, columns, tiles, k, rows, vectors, lane)
    sch.decompose_reduction(sums, k)
    sch.unroll(rows)
    sch.unroll(vectors)
    sch.vectorize(lane)
    sch.parallel(task)
    add_parts(sch)
    return sch


# %%
def operands(m: int, n: int, k: int) -> list[object]:
    return [numbers(m, k), numbers(k, n, seed=1)]


TUTORIALS = [
    Tutorial(
        "a row by a matrix",
        product,
        [as_written, in_registers, along_rows, in_rows_of_threads],
        operands,
        lambda a, b: a @ b,
        sizes=(1, 4096, 4096),
        small_sizes=[(1, 64, 32), (1, 70, 21)],
    ),
    Tutorial(
        "16 rows by a matrix",
        product,
        [along_rows, along_rows_for_many],
        operands,
        lambda a, b: a @ b,
        sizes=(16, 4096, 4096),
        small_sizes=[(16, 64, 32), (5, 70, 21)],
    ),
    Tutorial(
        "few results",
        product,
        [in_registers, in_parts],
        operands,
        lambda a, b: a @ b,
        sizes=(32, 32, 65536),
        small_sizes=[(32, 32, 64), (5, 7, 50)],
    ),
]

if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.measure()
