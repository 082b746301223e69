# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Products of bytes and of bfloat16
#
# Processors with VNNI multiply four bytes by four bytes in each lane of a vector, and add all to an
# int32; those with AVX512-BF16 do so with pairs of bfloat16 and float32. Such an instruction wants
# four (two) rows of B beside each other. A schedule rearranges B as it packs it, and `tensorize`
# puts the instruction in the place of loops that do what it does. On a processor without it, the
# same schedule computes the same by other means.
#
# Times are those of a core of Zen 4 (AVX-512) beside other work: medians of processor time, in
# turns.

# %%
from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from step_by_step import Tutorial, as_written, numbers

from loopsmith import te, tir


def byte_product(m: int, n: int, k: int) -> tir.PrimFunc:
    a, b = te.placeholder((m, k), "uint8", name="A"), te.placeholder((k, n), "int8", name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(a[i, r].astype("int32") * b[r, j].astype("int32"), axis=r),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def bytes_of(m: int, n: int, k: int) -> list[Any]:
    random = np.random.default_rng(0)
    return [random.integers(0, 256, (m, k), "uint8"), random.integers(-128, 128, (k, n), "int8")]


# %% [markdown]
# ## 1. As it is written (90 ms at 512 x 512 x 512)

# %% [markdown]
# ## 2. In lanes of int32 (8.9 ms)
# Sixteen columns at once, each byte extended to four.


# %%
def in_lanes(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    i, j, k = sch.get_loops("C")
    columns, lane = sch.split(j, [None, 16])
    sch.reorder(i, columns, k, lane)
    sch.vectorize(lane)
    return sch


# %% [markdown]
# ## 3. The instruction, and B as it wants it (0.65 ms; by default 0.61)
# `reindex_cache_read` copies B into vectors of 16 columns by 4 rows; those of a panel of columns
# are made where it is needed. A tile of C stays in registers, as for float32: axes that are no
# whole tiles are padded. The innermost loops, over 16 columns and 4 products, are what the
# instruction does, and `tensorize` says so.


# %%
def with_instruction(
    func: tir.PrimFunc, intrin: str, depth: int, rows: int = 6, vectors: int = 4
) -> tir.Schedule:
    """Tile by `rows` and `vectors` of 16 columns; `depth` products are summed by an instruction."""
    sch = tir.Schedule(func)
    sums = sch.get_block("C")
    write = sch.cache_write(sums, 0, "local")
    sch.pad_axes(sums, [rows, vectors * 16, 1])
    copy = sch.reindex_cache_read(
        sums, "B", "global", lambda i, j, k: (j // 16, k // depth, j % 16, k % depth)
    )
    i, j = sch.get_loops(write)
    i, row = sch.split(i, [None, rows])
    panel, vector, lane = sch.split(j, [None, vectors, 16])
    sch.reorder(panel, i, row, vector, lane)
    sch.compute_at(sums, i, preserve_unit_loops=True)
    row, column, k = sch.get_loops(sums)[-3:]
    vector, lane = sch.split(column, [None, 16])
    k, product = sch.split(k, [None, depth])
    sch.reorder(k, row, vector, lane, product)
    dot = sch.blockize(lane)
    zeros = sch.decompose_reduction(dot, k)
    sch.compute_at(copy, panel, preserve_unit_loops=True)
    sch.tensorize(dot, intrin)
    row, vector = sch.get_loops(dot)[-2:]
    for loop in (row, vector, *sch.get_loops(zeros)[-2:], *sch.get_loops(write)[-3:-1]):
        sch.unroll(loop)
    (lane,) = sch.get_loops(sch.get_child_blocks(zeros)[0])
    sch.vectorize(lane)
    sch.vectorize(sch.get_loops(write)[-1])
    columns, k = sch.get_loops(copy)[-2:]
    vector, lane = sch.split(columns, [None, 16])
    k, product = sch.split(k, [None, depth])
    sch.reorder(vector, k, lane, product)
    sch.vectorize(lane)
    sch.vectorize(product)
    return sch


def by_vnni(func: tir.PrimFunc) -> tir.Schedule:
    return with_instruction(func, "dot_16x4_vnni", 4)


# %% [markdown]
# ## 4. On all threads (0.31 ms; by default 0.31)
# Panels of columns are independent: each fills its part of the copy of B, and reads no other.


# %%
def by_vnni_on_all(func: tir.PrimFunc) -> tir.Schedule:
    sch = by_vnni(func)
    sch.parallel(sch.get_loops("C_local")[0])
    return sch


# %% [markdown]
# ## Products of bfloat16 (145 ms as written, 9.3 in lanes, 1.3 by the instruction, by default 2.4)
# The steps are the same; the instruction takes two products in place of four, and adds in float32.
# It takes denormal numbers for zero, so that the default schedule uses it only where that is
# allowed: 1.2 ms with `build(..., fast_math="no_denormals")`.


# %%
def bfloat16_product(m: int, n: int, k: int) -> tir.PrimFunc:
    a, b = te.placeholder((m, k), "bfloat16", "A"), te.placeholder((k, n), "bfloat16", "B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(a[i, r].astype("float32") * b[r, j].astype("float32"), axis=r),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def by_bfloat16(func: tir.PrimFunc) -> tir.Schedule:
    sch = with_instruction(func, "dot_16x2_avx512bf16", 2)
    sch.parallel(sch.get_loops("C_local")[0])
    return sch


def bfloat16_operands(m: int, n: int, k: int) -> list[Any]:
    return [
        numbers(m, k).astype(ml_dtypes.bfloat16),
        numbers(k, n, seed=1).astype(ml_dtypes.bfloat16),
    ]


# %%
TUTORIALS = [
    Tutorial(
        "uint8 by int8",
        byte_product,
        [as_written, in_lanes, by_vnni, by_vnni_on_all],
        bytes_of,
        lambda a, b: a.astype("int32") @ b.astype("int32"),
        sizes=(512, 512, 512),
        small_sizes=[(12, 64, 32), (7, 50, 20)],
    ),
    Tutorial(
        "bfloat16 by bfloat16",
        bfloat16_product,
        [as_written, in_lanes, by_bfloat16],
        bfloat16_operands,
        lambda a, b: a.astype("float32") @ b.astype("float32"),
        sizes=(512, 512, 512),
        small_sizes=[(12, 64, 32), (7, 50, 20)],
    ),
]

if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.measure()
