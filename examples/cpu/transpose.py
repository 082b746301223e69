# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A transpose in registers
#
# A transpose computes nothing; all of its time is memory, and how it is asked for. What is read
# along rows is written along columns, so one side or the other goes through memory a line of the
# cache for each element.
#
# Times are those of a core of Zen 4 (AVX-512) beside other work: medians of processor time, in
# turns.

# %%
from __future__ import annotations

from step_by_step import Tutorial, as_written, lanes, numbers

from loopsmith import te, tir


def transpose(rows: int, columns: int) -> tir.PrimFunc:
    a = te.placeholder((rows, columns), name="A")
    return te.create_prim_func([a, te.compute((columns, rows), lambda i, j: a[j, i], name="B")])


# %% [markdown]
# ## 1. As it is written (1.1 ms at 1000 x 1000)
# Rows of the result are written as they lie; each element of them is read from another row of A. At
# 1000 x 1000 the lines that one row of the result touches are 64 kB, more than the first cache
# holds.

# %% [markdown]
# ## 2. In tiles (1.5 ms)
# A tile of 32 x 32 touches 64 lines on each side, each of which is used whole while it is there.
# Elements still go one by one, each with its address: memory was not what it waited for.


# %%
def in_tiles(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    i, j = sch.get_loops("B")
    i, i_inner = sch.split(i, [None, 32])
    j, j_inner = sch.split(j, [None, 32])
    sch.reorder(i, j, i_inner, j_inner)
    return sch


# %% [markdown]
# ## 3. In registers (0.25 ms)
# Two vectorized loops, one right inside the other, are a square that is transposed in registers:
# its rows are loaded as vectors, exchange lanes in log2(lanes) rounds of shuffles, and are stored
# as vectors. Where a square is not whole, smaller ones are asked, so that odd sizes need no loops
# of their own.


# %%
def in_registers(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    i, j = sch.get_loops("B")
    i, i_lane = sch.split(i, [None, lanes()])
    j, j_lane = sch.split(j, [None, lanes()])
    sch.reorder(i, j, i_lane, j_lane)
    sch.vectorize(i_lane)
    sch.vectorize(j_lane)
    return sch


# %% [markdown]
# ## 4. Down two lines (0.31 ms; by default 0.35, NumPy 1.0)
# Processors fetch lines in pairs. A task that goes down 32 columns of A reads both of a pair, one
# row after the other, and writes 32 rows of B, each of which goes on where it was. Tasks are
# independent.


# %%
def down_two_lines(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    i, j = sch.get_loops("B")
    task, square, i_lane = sch.split(i, [None, 32 // lanes(), lanes()])
    j, j_lane = sch.split(j, [None, lanes()])
    sch.reorder(task, j, square, i_lane, j_lane)
    sch.vectorize(i_lane)
    sch.vectorize(j_lane)
    sch.parallel(task)
    return sch


# %%
TUTORIALS = [
    Tutorial(
        "transpose",
        transpose,
        [as_written, in_tiles, in_registers, down_two_lines],
        lambda rows, columns: [numbers(rows, columns)],
        lambda a: a.T.copy(),
        sizes=(1000, 1000),
        small_sizes=[(64, 64), (33, 70), (5, 3)],
    )
]

if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.measure()
