# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Attention with online softmax, in one nest
#
# Attention is a product, a softmax of its rows, and a second product. Between them stand the
# scores, as many as tokens squared. Online softmax needs no row of them as a whole: for a block of
# keys it takes the maximum so far, scales what was added up before by the power of the difference,
# and goes on. So a block of rows of the result is one pass over the keys and values, and what is
# between stays in the first cache.
#
# Times are those of a core of Zen 4 (AVX-512) beside other work: medians of processor time, in
# turns.

# %%
from __future__ import annotations

import math
from typing import Any

import numpy as np
from step_by_step import Tutorial, as_written, lanes, numbers

import loopsmith as ls
from loopsmith import te, tir


def in_stages(heads: int, tokens: int, width: int) -> tir.PrimFunc:
    q, k, v = (te.placeholder((heads, tokens, width), name=name) for name in "QKV")
    r, t = te.reduce_axis((0, width), "r"), te.reduce_axis((0, tokens), "t")
    m, n = te.reduce_axis((0, tokens), "m"), te.reduce_axis((0, tokens), "n")
    square = (heads, tokens, tokens)
    scores = te.compute(
        square, lambda h, i, j: te.sum(q[h, i, r] * k[h, j, r], axis=r), name="scores"
    )
    scaled = te.compute(
        square, lambda h, i, j: scores[h, i, j] * (1.0 / math.sqrt(width)), name="scaled"
    )
    rows = (heads, tokens)
    top = te.compute(rows, lambda h, i: te.max(scaled[h, i, m], axis=m), name="top")
    power = te.compute(square, lambda h, i, j: te.exp(scaled[h, i, j] - top[h, i]), name="power")
    total = te.compute(rows, lambda h, i: te.sum(power[h, i, n], axis=n), name="total")
    share = te.compute(square, lambda h, i, j: power[h, i, j] / total[h, i], name="share")
    mix = te.compute(
        (heads, tokens, width),
        lambda h, i, d: te.sum(share[h, i, t] * v[h, t, d], axis=t),
        name="O",
    )
    return te.create_prim_func([q, k, v, mix])


def by_numpy(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.swapaxes(1, 2) * q.dtype.type(1 / math.sqrt(q.shape[2]))
    power = np.exp(scores - scores.max(axis=2, keepdims=True))
    return power / power.sum(axis=2, keepdims=True) @ v


# %% [markdown]
# ## 1. In stages (229 ms as written at 8 x 512 x 64; by default 6.7, NumPy 11)
# By default, each stage is scheduled as what it is: two packed products, and the rows of a softmax
# between them.

# %% [markdown]
# ## 2. Online, as it is written (204 ms)
# The same, as a script: blocks of rows, and inside of them blocks of keys. It is another program,
# not another schedule, since it uses that exp(a + b) = exp(a) exp(b). Memory for a block of rows is
# used again for the next one.


# %%
def online(heads: int, tokens: int, width: int, rows: int, keys: int) -> tir.PrimFunc:
    """Blocks of `rows` rows and of `keys` keys cover the tokens."""
    shape = f"({heads}, {tokens}, {width})"
    return ls.from_source(f"""
@T.prim_func
def online(
    Q: T.Buffer({shape}), K: T.Buffer({shape}), V: T.Buffer({shape}), O: T.Buffer({shape})
):
    scores = T.alloc_buffer(({rows}, {keys}))
    power = T.alloc_buffer(({rows}, {keys}))
    sums = T.alloc_buffer(({rows}, {width}))
    high = T.alloc_buffer(({rows},))
    top = T.alloc_buffer(({rows},))
    factor = T.alloc_buffer(({rows},))
    part = T.alloc_buffer(({rows},))
    total = T.alloc_buffer(({rows},))
    for h, b in T.grid({heads}, {tokens // rows}):
        for r in range({rows}):
            with T.block("start"):
                vr = T.axis.spatial({rows}, r)
                top[vr] = T.float32(-1e30)
                total[vr] = T.float32(0)
        for r, d in T.grid({rows}, {width}):
            with T.block("zeros"):
                vr, vd = T.axis.remap("SS", [r, d])
                sums[vr, vd] = T.float32(0)
        for t in range({tokens // keys}):
            for r, c, d in T.grid({rows}, {keys}, {width}):
                with T.block("scores"):
                    vh, vb, vt, vr, vc, vd = T.axis.remap("SSSSSR", [h, b, t, r, c, d])
                    with T.init():
                        scores[vr, vc] = T.float32(0)
                    scores[vr, vc] = (
                        scores[vr, vc]
                        + Q[vh, vb * {rows} + vr, vd] * K[vh, vt * {keys} + vc, vd]
                    )
            for r, c in T.grid({rows}, {keys}):
                with T.block("high"):
                    vr, vc = T.axis.remap("SR", [r, c])
                    with T.init():
                        high[vr] = T.float32(-1e30)
                    high[vr] = T.max(high[vr], scores[vr, vc])
            for r in range({rows}):
                with T.block("factor"):
                    vr = T.axis.spatial({rows}, r)
                    high[vr] = T.max(high[vr] * T.float32({1 / math.sqrt(width)}), top[vr])
                    factor[vr] = T.exp(top[vr] - high[vr])
                    top[vr] = high[vr]
            for r, c in T.grid({rows}, {keys}):
                with T.block("power"):
                    vr, vc = T.axis.remap("SS", [r, c])
                    power[vr, vc] = T.exp(
                        scores[vr, vc] * T.float32({1 / math.sqrt(width)}) - top[vr]
                    )
            for r, c in T.grid({rows}, {keys}):
                with T.block("part"):
                    vr, vc = T.axis.remap("SR", [r, c])
                    with T.init():
                        part[vr] = T.float32(0)
                    part[vr] = part[vr] + power[vr, vc]
            for r in range({rows}):
                with T.block("total"):
                    vr = T.axis.spatial({rows}, r)
                    total[vr] = total[vr] * factor[vr] + part[vr]
            for r, d in T.grid({rows}, {width}):
                with T.block("rescale"):
                    vr, vd = T.axis.remap("SS", [r, d])
                    sums[vr, vd] = sums[vr, vd] * factor[vr]
            for r, d, c in T.grid({rows}, {width}, {keys}):
                with T.block("mix"):
                    vh, vt, vr, vd, vc = T.axis.remap("SSSSR", [h, t, r, d, c])
                    sums[vr, vd] = sums[vr, vd] + power[vr, vc] * V[vh, vt * {keys} + vc, vd]
        for r, d in T.grid({rows}, {width}):
            with T.block("O"):
                vh, vb, vr, vd = T.axis.remap("SSSS", [h, b, r, d])
                O[vh, vb * {rows} + vr, vd] = sums[vr, vd] / total[vr]
""")


# %% [markdown]
# ## 3. Products in registers, rows in vectors (5.9 ms)
# Both products keep a tile of four rows by four vectors in registers. For the scores, keys go into
# vectors, so K is copied for each head with its keys innermost, transposed in registers. Maxima and
# sums of a row run along its keys, vectorized on the axis of the reduction: each lane has a result
# of its own until the row is done.


# %%
def in_vectors(sch: tir.Schedule, *blocks: str) -> None:
    for block in blocks:
        sch.vectorize(sch.split(sch.get_loops(block)[-1], [None, lanes()])[1])


def tile(sch: tir.Schedule, block: str, columns: str, steps: str) -> None:
    """Keep four rows and four vectors of columns in registers while the steps run."""
    row, *_ = sch.get_loops(block, "r")
    (column,), (step,) = sch.get_loops(block, columns), sch.get_loops(block, steps)
    row, inner = sch.split(row, [None, 4])
    column, vector, lane = sch.split(column, [None, 4, lanes()])
    sch.reorder(column, row, step, inner, vector, lane)
    sch.unroll(inner)
    sch.unroll(vector)
    sch.vectorize(lane)


def in_registers(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    head = sch.get_loops("scores")[0]
    copy = sch.reindex_cache_read("scores", "K", "global", lambda h, b, t, r, c, d: (h, t, d, c))
    sch.compute_at(copy, head)
    key, d = sch.get_loops(copy)[-2:]
    key, key_lane = sch.split(key, [None, lanes()])
    d, d_lane = sch.split(d, [None, lanes()])
    sch.reorder(key, d, d_lane, key_lane)
    sch.vectorize(d_lane)
    sch.vectorize(key_lane)

    zeros = sch.decompose_reduction("scores", sch.get_loops("scores", "r")[0])
    sch.vectorize(sch.split(sch.get_loops(zeros)[-1], [None, lanes()])[1])
    tile(sch, "scores_update", "c", "d")
    tile(sch, "mix", "d", "c")
    in_vectors(sch, "start", "zeros", "factor", "power", "total", "rescale", "O")
    for block in ("high", "part"):
        sch.decompose_reduction(block, sch.get_loops(block)[-1])
        in_vectors(sch, f"{block}_update")
    return sch


# %% [markdown]
# ## 4. On all threads
# Heads are independent. That each has the memory of its blocks for itself is proved by what fills
# it.


# %%
def on_all_threads(func: tir.PrimFunc) -> tir.Schedule:
    sch = in_registers(func)
    sch.parallel(sch.get_loops("mix")[0])
    return sch


# %%
def operands(heads: int, tokens: int, width: int, *_: int) -> list[Any]:
    return [numbers(heads, tokens, width, seed=seed) for seed in range(3)]


TUTORIALS = [
    Tutorial(
        "attention in stages",
        in_stages,
        [as_written],
        operands,
        by_numpy,
        sizes=(8, 512, 64),
        small_sizes=[(2, 32, 16), (3, 10, 7)],
    ),
    Tutorial(
        "attention online",
        online,
        [as_written, in_registers, on_all_threads],
        operands,
        by_numpy,
        sizes=(8, 512, 64, 32, 128),
        small_sizes=[(2, 32, 16, 8, 16), (3, 24, 7, 4, 12)],
    ),
]

if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.measure()
