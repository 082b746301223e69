# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A product of matrices, from three loops to the libraries' speed
#
# Each function takes the schedule of the one before a step further. `python examples/cpu/gemm.py
# 250 1000 127` runs them all, and prints their times.
#
# Times are those of a core of Zen 4 (AVX-512) at 512 x 512 x 512, beside other work. By default it
# takes 2.5 ms (109 GFLOP/s), NumPy's BLAS 2.7.

# %%
from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import loopsmith as ls
from loopsmith import tir


class Size(NamedTuple):
    """How many rows and columns C has, and how many products are summed for each element."""

    m: int
    n: int
    k: int


# %% [markdown]
# ## How it is cut
# For 16 registers of 8 float32, a tile of 6 x 2 vectors is 12 sums, each with a chain of additions
# of its own: a multiply-add takes 4 cycles, and two begin in each. Two vectors of B and an element
# of A are left, which makes 15 registers. With 32 registers of 16, 6 x 4 vectors are 24 sums. `k` x
# `columns` elements of B are a quarter of a second cache of 512 kB, or half of one of 1 MB.


# %%
class Blocks(NamedTuple):
    """How the product is cut: for 16 registers of 8 float32, and a second cache of 512 kB."""

    rows: int = 6
    vectors: int = 2
    lanes: int = 8
    k: int = 512
    columns: int = 64

    @property
    def width(self) -> int:
        """How many columns a tile has."""
        return self.vectors * self.lanes


def blocks() -> Blocks:
    """Return how the product is cut for this processor."""
    has_many_registers = ls.Target("llvm -mcpu=native").vector_bits == 512
    return Blocks(6, 4, 16, 512, 256) if has_many_registers else Blocks()


def product(size: Size) -> tir.PrimFunc:
    """Return C = A @ B, of float32 matrices, as it is written."""
    m, n, k = size
    return ls.from_source(f"""
@T.prim_func
def product(A: T.Buffer(({m}, {k})), B: T.Buffer(({k}, {n})), C: T.Buffer(({m}, {n}))):
    for i, j, k in T.grid({m}, {n}, {k}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")


# %% [markdown]
# ## 1. As it is written (300 ms)
# Each step of the innermost loop goes to another row of B.


# %%
def as_written(size: Size, _: Blocks) -> tir.Schedule:
    """Three loops."""
    sch = tir.Schedule(product(size))
    sch.annotate("i", "step", "as written")  # A step, so that no rule schedules the program.
    return sch


# %% [markdown]
# ## 2. Along rows (8.3 ms)
# The innermost loop runs along rows of B and C, a vector at a time.


# %%
def along_rows(size: Size, cut: Blocks) -> tir.Schedule:
    """Let the innermost loop be vectors of columns."""
    sch = as_written(size, cut)
    _, lanes = sch.split("j", [None, cut.lanes])
    sch.reorder("i", "k", "j_0", lanes)
    sch.vectorize(lanes)
    return sch


# %% [markdown]
# ## 3. In registers (2.4 ms)
# A tile of C is summed in registers, where each element that is loaded is used several times. The
# sums are a buffer of their own, `local`, as large as a tile. Its axes are padded to whole tiles:
# what is beyond the last row and column repeats them, and is not copied to C, so that the loop over
# k has no condition. Odd sizes cost what their tiles cost.


# %%
def in_registers(size: Size, cut: Blocks) -> tir.Schedule:
    """Sum tiles of C in registers."""
    sch = tir.Schedule(product(size))
    sums = sch.get_block("C")
    write = sch.cache_write(sums, 0, "local")
    sch.pad_axes(sums, [cut.rows, cut.width, 1])
    tile_result(sch, write, cut)
    sum_in_tile(sch, write, sums, cut)
    return sch


def tile_result(sch: tir.Schedule, write: tir.BlockRV, cut: Blocks) -> None:
    """Cut the loops over C into panels of columns, rows of tiles, and tiles.

    Columns are cut into tiles first and tiles into panels, so that where the last panel has fewer
    tiles, that is a condition on tiles alone.
    """
    i, j, *k = sch.get_loops(write)
    i_tile, rows = sch.split(i, [None, cut.rows])
    j_tile, columns = sch.split(j, [None, cut.width])
    panel, j_tile = sch.split(j_tile, [None, cut.columns // cut.width])
    vectors, lanes = sch.split(columns, [None, cut.lanes])
    sch.reorder(panel, *k, i_tile, j_tile, rows, vectors, lanes)


def sum_in_tile(sch: tir.Schedule, write: tir.BlockRV, block: tir.BlockRV, cut: Blocks) -> None:
    """Compute the sums of a tile where it is written: set to zero, summed over k, stored.

    What is left of conditions is on rows and columns of C as it is written, once for a tile. No
    copy of the loops without them is worth its code, which the hint says.
    """
    tile = sch.get_loops(write)[-4]
    sch.compute_at(block, tile, preserve_unit_loops=True)
    rows, columns, k = sch.get_loops(block)[-3:]
    vectors, lanes = sch.split(columns, [None, cut.lanes])
    sch.reorder(k, rows, vectors, lanes)
    init = sch.decompose_reduction(block, k)
    for each in (block, init, write):
        rows, vectors, lanes = sch.get_loops(each)[-3:]
        sch.unroll(rows)
        sch.unroll(vectors)
        sch.vectorize(lanes)
    for loop in sch.get_loops(write)[:-3]:
        sch.annotate(loop, "pragma_loop_partition_hint", 0)


# %% [markdown]
# ## 4. Packed (2.4 ms; at 250 x 1000 x 127 0.59 in place of 3.5)
# The columns of B that a tile needs are copied to where they lie one after the other. A panel is
# copied once and read by all rows of tiles, from the second cache, in the order in which it lies:
# no page is touched for a few elements, and no two rows compete for one set. `reindex_cache_read`
# copies what the block reads by its axes, the last column's repeats, too.


# %%
def packed(size: Size, cut: Blocks) -> tir.Schedule:
    """Read columns of B from copies of panels."""
    sch = tir.Schedule(product(size))
    sums = sch.get_block("C")
    write = sch.cache_write(sums, 0, "local")
    sch.pad_axes(sums, [cut.rows, cut.width, 1])
    width = cut.width
    copy = sch.reindex_cache_read(sums, "B", "global", lambda i, j, k: (j // width, k, j % width))
    tile_result(sch, write, cut)
    sum_in_tile(sch, write, sums, cut)
    copy_panels(sch, copy, sch.get_loops(write)[0], cut)
    return sch


def copy_panels(sch: tir.Schedule, copy: tir.BlockRV, place: tir.LoopRV, cut: Blocks) -> None:
    """Copy a panel of B where it is needed, tile by tile, rows of a tile as vectors."""
    sch.compute_at(copy, place, preserve_unit_loops=True)
    columns, k = sch.get_loops(copy)[-2:]
    tiles, vectors, lanes = sch.split(columns, [None, cut.vectors, cut.lanes])
    sch.reorder(tiles, k, vectors, lanes)
    sch.unroll(vectors)
    sch.vectorize(lanes)


# %% [markdown]
# ## 5. Blocked (2.4 ms)
# Long sums are cut, so that a panel stays in the second cache, and a tile's in the first. `rfactor`
# makes the blocks of a sum results of their own, which are added up in C. Sums of blocks are also
# nearer to the truth than one long sum. One block, as here, needs none of this; at 1024 x 1024 x
# 1024 two reach 105 GFLOP/s. C is set to zero before, so that no tile asks whether it is the first.


# %%
def blocked(size: Size, cut: Blocks) -> tir.Schedule:
    """Sum blocks of k one after the other."""
    count = -(-size.k // cut.k)
    if count == 1:
        return packed(size, cut)
    sch = tir.Schedule(product(size))
    k_block, _ = sch.split("k", [None, -(-size.k // count)])
    part = sch.rfactor(k_block, 0)
    sch.set_scope(part, 0, "local")
    sch.pad_axes(part, [1, cut.rows, cut.width, 1])
    width = cut.width
    copy = sch.reindex_cache_read(
        part, "B", "global", lambda o, i, j, k: (o, j // width, k, j % width)
    )
    write = sch.get_block("C")
    tile_result(sch, write, cut)
    sum_in_tile(sch, write, part, cut)
    copy_panels(sch, copy, sch.get_loops(write)[1], cut)
    sch.decompose_reduction(write, sch.get_loops(write)[1])
    return sch


# %% [markdown]
# ## 6. On all cores
# Panels are independent, which the schedule proves before it accepts the step.


# %%
def on_all_cores(size: Size, cut: Blocks) -> tir.Schedule:
    """Share panels among threads."""
    sch = blocked(size, cut)
    write = sch.get_output_blocks("root")[0]
    sch.parallel(sch.get_loops(write)[0])
    return sch


# %%
STEPS: list[Callable[[Size, Blocks], tir.Schedule]] = [
    as_written,
    along_rows,
    in_registers,
    packed,
    blocked,
    on_all_cores,
]


def main(*sizes: int) -> None:
    """Run all steps, check their results, and print their times beside the default schedule's."""
    size = Size(*sizes)
    random = np.random.default_rng(0)
    a = random.random((size.m, size.k), "float32")
    b = random.random((size.k, size.n), "float32")
    cut = blocks()
    modules = {step.__name__: ls.build(step(size, cut), num_threads=1) for step in STEPS[:-1]}
    modules[on_all_cores.__name__] = ls.build(on_all_cores(size, cut))
    modules["by default, one thread"] = ls.build(product(size), num_threads=1)
    for name, module in modules.items():
        c = np.full((size.m, size.n), np.nan, "float32")
        module(a, b, c)
        np.testing.assert_allclose(c, a @ b, rtol=1e-4)
        timing = module.time(a, b, c)
        print(f"{name:<24} {timing.median * 1e3:9.3f} ms  {timing.gflops:7.1f} GFLOP/s")


if __name__ == "__main__":
    main(*(map(int, sys.argv[1:4]) if len(sys.argv) > 3 else (512, 512, 512)))
