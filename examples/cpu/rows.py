# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Softmax and layer norm: rows that stay in the cache
#
# Both read each row more than once: to combine it, and to change each element by what was found. A
# row is a few kB, so the second time it is in the first cache, if the program comes back soon
# enough.
#
# Times are those of a core of Zen 4 (AVX-512) beside other work: medians of processor time, in
# turns.

# %%
from __future__ import annotations

from typing import Any

import numpy as np
from step_by_step import Tutorial, as_written, lanes, numbers

from loopsmith import te, tir


def softmax(rows: int, columns: int) -> tir.PrimFunc:
    shape = (rows, columns)
    a = te.placeholder(shape, name="A")
    k, m = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "m")
    top = te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="top")
    power = te.compute(shape, lambda i, j: te.exp(a[i, j] - top[i]), name="power")
    total = te.compute((rows,), lambda i: te.sum(power[i, m], axis=m), name="total")
    share = te.compute(shape, lambda i, j: power[i, j] / total[i], name="share")
    return te.create_prim_func([a, share])


def softmax_by_numpy(a: Any) -> Any:
    power = np.exp(a - a.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


# %% [markdown]
# ## 1. As it is written (5.4 ms at 1024 x 1024)
# Four passes over the whole matrix, one for each stage.

# %% [markdown]
# ## 2. Row by row (5.4 ms)
# `compute_at` brings the stages into the loop over rows of the last one. What is between them
# shrinks to a row: 4 kB in place of 4 MB. That is no gain yet: exponentials one by one take longer
# than memory.


# %%
def row_by_row(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    row = sch.get_loops("share")[0]
    for stage in ("total", "power", "top"):
        sch.compute_at(stage, row)
    return sch


# %% [markdown]
# ## 3. In vectors (0.48 ms)
# Elements of a row are independent. A maximum or a sum is not: each step waits for the one before.
# `rfactor` gives each lane of four vectors a result of its own, in registers, and combines these
# when the row is done. Where a row is no whole number of vectors, the last ones are masked.


# %%
def combine_in_lanes(sch: tir.Schedule, block: str, chains: int = 4) -> tir.BlockRV:
    """Combine a row in `chains` vectors of partial results; return the block that fills them."""
    _, lane = sch.split(sch.get_loops(block)[-1], [None, chains * lanes()])
    parts = sch.rfactor(lane, 0)
    sch.set_scope(parts, 0, "local")
    return parts


def move_to_row(sch: tir.Schedule, block: tir.BlockRV, row: tir.LoopRV, index: int = -1) -> None:
    """Fill the partial results of a row in its iteration, a step of all lanes after the other."""
    sch.compute_at(block, row, preserve_unit_loops=True, index=index)
    lane, same_row, step = sch.get_loops(block)[-3:]
    sch.reorder(same_row, step, lane)


def combine_vectors(sch: tir.Schedule, parts: tir.BlockRV, block: str, chains: int = 4) -> None:
    """Keep the partial results in registers."""
    total = sch.get_block(block)
    start = sch.decompose_reduction(parts, sch.get_loops(parts)[-2])
    sch.decompose_reduction(total, sch.get_loops(total)[-1])
    for each in (start, parts, total):
        chain, lane = sch.split(sch.get_loops(each)[-1], [chains, lanes()])
        sch.unroll(chain)
        sch.vectorize(lane)


def in_vectors(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    parts = {stage: combine_in_lanes(sch, stage) for stage in ("top", "total")}
    row = sch.get_loops("share")[0]
    sch.compute_at("total", row)
    move_to_row(sch, parts["total"], row)
    sch.compute_at("power", row)
    sch.compute_at("top", row)
    move_to_row(sch, parts["top"], row)
    for stage, block in parts.items():
        combine_vectors(sch, block, stage)
    for stage in ("power", "share"):
        sch.vectorize(sch.split(sch.get_loops(stage)[-1], [None, lanes()])[1])
    return sch


# %% [markdown]
# ## 4. Summed as they are made (0.45 ms; by default the same, NumPy 1.6)
# A vector of exponentials is added to the sum while it is in a register: `merge` makes one loop of
# both.


# %%
def summed_as_made(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    top = combine_in_lanes(sch, "top")
    total = combine_in_lanes(sch, "total", 1)
    row = sch.get_loops("share")[0]
    sch.compute_at("total", row)
    move_to_row(sch, total, row)
    sch.compute_at("power", row, preserve_unit_loops=True)
    sch.compute_at("top", row)
    move_to_row(sch, top, row)
    combine_vectors(sch, top, "top")
    vectors, lane = sch.split(sch.get_loops("power")[-1], [None, lanes()])
    sch.vectorize(lane)
    sch.merge(vectors, sch.get_loops(total)[-2])
    combine_vectors(sch, total, "total", 1)
    sch.vectorize(sch.split(sch.get_loops("share")[-1], [None, lanes()])[1])
    return sch


# %% [markdown]
# ## 5. On all threads


# %%
def on_all_threads(func: tir.PrimFunc) -> tir.Schedule:
    sch = summed_as_made(func)
    sch.parallel(sch.get_loops("share")[0])
    return sch


# %% [markdown]
# ## Layer norm (5.1 ms as written, 0.40 at its end, by default 0.43, NumPy 4.0 at 2048 x 1024)
# Mean and variance of a row need two sums, of the elements and of their squares. `merge` takes both
# in one pass, each in four vectors of its own; mean and deviation are computed once for a row, and
# the row is changed while it is in the first cache.


# %%
EPSILON = 1e-5


def layer_norm(rows: int, columns: int) -> tir.PrimFunc:
    a = te.placeholder((rows, columns), name="A")
    k, m = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "m")
    total = te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="total")
    squares = te.compute((rows,), lambda i: te.sum(a[i, m] * a[i, m], axis=m), name="squares")
    shape = (rows,)
    mean = te.compute(shape, lambda i: total[i] * (1.0 / columns), name="mean")
    scale = te.compute(
        shape,
        lambda i: te.rsqrt(squares[i] * (1.0 / columns) - mean[i] * mean[i] + EPSILON),
        name="scale",
    )
    norm = te.compute((rows, columns), lambda i, j: (a[i, j] - mean[i]) * scale[i], name="norm")
    return te.create_prim_func([a, norm])


def layer_norm_by_numpy(a: Any) -> Any:
    return (a - a.mean(axis=-1, keepdims=True)) / np.sqrt(a.var(axis=-1, keepdims=True) + EPSILON)


def norm_row_by_row(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    row = sch.get_loops("norm")[0]
    for stage in ("scale", "mean", "squares", "total"):
        sch.compute_at(stage, row)
    return sch


def norm_in_vectors(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    total, squares = (combine_in_lanes(sch, stage) for stage in ("total", "squares"))
    row = sch.get_loops("norm")[0]
    for block in ("scale", "mean", "squares", "total"):
        sch.compute_at(block, row)
    for block in (squares, total):
        move_to_row(sch, block, row, index=-2)  # As early as possible: one after the other.
    sch.merge(sch.get_loops(total)[-2], sch.get_loops(squares)[-2])
    combine_vectors(sch, total, "total")
    combine_vectors(sch, squares, "squares")
    sch.vectorize(sch.split(sch.get_loops("norm")[-1], [None, lanes()])[1])
    sch.parallel(row)
    return sch


# %%
TUTORIALS = [
    Tutorial(
        "softmax",
        softmax,
        [as_written, row_by_row, in_vectors, summed_as_made, on_all_threads],
        lambda rows, columns: [numbers(rows, columns)],
        softmax_by_numpy,
        sizes=(1024, 1024),
        small_sizes=[(4, 64), (3, 70), (2, 1)],
    ),
    Tutorial(
        "layer norm",
        layer_norm,
        [as_written, norm_row_by_row, norm_in_vectors],
        lambda rows, columns: [numbers(rows, columns)],
        layer_norm_by_numpy,
        sizes=(2048, 1024),
        small_sizes=[(4, 64), (3, 70), (2, 5)],
    ),
]

if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.measure()
