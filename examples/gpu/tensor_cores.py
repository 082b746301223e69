# SPDX-License-Identifier: Apache-2.0
"""A product of float16 matrices on tensor cores, step by step.

Each function takes the schedule of the one before a step further. Called as a program, it prints
the kernel for CUDA; on a device with OpenCL all steps run, without tensor cores.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import loopsmith as ls
from loopsmith import te, tir


def product(n: int) -> tir.PrimFunc:
    """C = A @ B in float32, of operands in float16."""
    a = te.placeholder((n, n), "float16", name="A")
    b = te.placeholder((n, n), "float16", name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute(
        (n, n),
        lambda i, j: te.sum(a[i, k].astype("float32") * b[k, j].astype("float32"), axis=k),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def put_on_tiles(sch: tir.Schedule, block: tir.BlockRV, intrinsic: str) -> None:
    """Put a tensor intrinsic in the place of each tile of 16 x 16 that a block copies."""
    rows, columns = sch.get_loops(block)[-2:]
    i0, i1 = sch.split(rows, [None, 16])
    j0, j1 = sch.split(columns, [None, 16])
    sch.reorder(i0, j0, i1, j1)
    sch.tensorize(i1, intrinsic)


def fragments(n: int, warps: int = 2, width: int = 2) -> tir.Schedule:
    """A block of `warps` warps, along y, makes 16 rows by 16 * `width` columns each.

    The 32 threads of a warp, along x, hold tiles of both operands and of the sums in registers:
    that is memory in `wmma.matrix_a`, `wmma.matrix_b` and `wmma.accumulator`. Tensor intrinsics
    load, multiply, fill and store them.
    """
    sch = tir.Schedule(product(n))
    i, j, k = sch.get_loops("C")
    i0, i1, i2 = sch.split(i, [None, warps, 16])
    j0, j1, j2 = sch.split(j, [None, width, 16])
    k0, k1, k2 = sch.split(k, [None, 2, 16])
    sch.reorder(i0, j0, i1, k0, k1, j1, i2, j2, k2)
    for loop, axis in ((i0, "blockIdx.y"), (j0, "blockIdx.x"), (i1, "threadIdx.y")):
        sch.bind(loop, axis)
    sums = sch.cache_write("C", 0, "wmma.accumulator")
    sch.reverse_compute_at(sums, i1)
    operands = {}
    for number, side in ((0, "a"), (1, "b")):
        tile = sch.cache_read("C", number, "shared")
        sch.compute_at(tile, k0)
        _, y, x, lanes = sch.split(sch.fuse(*sch.get_loops(tile)[-2:]), [None, warps, 32, 8])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lanes)
        operand = sch.cache_read("C", number, f"wmma.matrix_{side}")
        sch.compute_at(operand, k1)
        operands[side] = operand
    first = sch.decompose_reduction("C", k0)
    for side, operand in operands.items():
        put_on_tiles(sch, operand, f"wmma_load_16x16x16_f16_{side}_shared")
    put_on_tiles(sch, first, "wmma_fill_16x16x16_f32")
    sch.tensorize(i2, "wmma_sync_16x16x16_f16f16f32")
    put_on_tiles(sch, sums, "wmma_store_16x16x16_f32_global")
    return sch


def aligned(n: int) -> tir.Schedule:
    """Rows in shared memory lie 16 bytes further apart, so that loads meet no bank twice."""
    sch = fragments(n)
    for name in ("A_shared", "B_shared"):
        sch.storage_align(name, 0, axis=-2, factor=32, offset=8)
    return sch


def pipelined(n: int, stages: int = 3) -> tir.Schedule:
    """Tiles are on their way into shared memory while those that came before are multiplied."""
    sch = aligned(n)
    k0 = sch.get_loops("A_shared")[3]
    sch.annotate(k0, "software_pipeline_stage", [0, 0, stages - 1])
    sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
    sch.annotate(k0, "software_pipeline_async_stages", [0])
    return sch


def in_warpgroups(n: int, columns: int = 128, stages: int = 4) -> tir.Schedule:
    """On Hopper (`sm_90a`): two groups of four warps multiply 128 rows from shared memory.

    Each warp has 16 rows of the sums, for all columns; nothing is loaded into fragments. How the
    tiles of the operands lie in memory is the instruction's business, not the schedule's.
    """
    warps = 8
    sch = tir.Schedule(product(n))
    i, j, k = sch.get_loops("C")
    i0, warp, i1 = sch.split(i, [None, warps, 16])
    j0, j1 = sch.split(j, [None, columns])
    k0, k1 = sch.split(k, [None, 64])
    sch.reorder(i0, j0, warp, k0, i1, j1, k1)
    for loop, axis in ((i0, "blockIdx.y"), (j0, "blockIdx.x"), (warp, "threadIdx.y")):
        sch.bind(loop, axis)
    sums = sch.cache_write("C", 0, "wmma.accumulator")
    sch.reverse_compute_at(sums, warp)
    for number in (0, 1):
        tile = sch.cache_read("C", number, "shared.dyn")
        sch.compute_at(tile, k0)
        _, y, x, lanes = sch.split(sch.fuse(*sch.get_loops(tile)[-2:]), [None, warps, 32, 8])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lanes)
    first = sch.decompose_reduction("C", k0)
    sch.tensorize(i1, f"wgmma_sync_16x{columns}x64_f16f16f32")
    put_on_tiles(sch, first, "wmma_fill_16x16x16_f32")
    put_on_tiles(sch, sums, "wmma_store_16x16x16_f32_global")
    sch.annotate(k0, "software_pipeline_stage", [0, 0, stages - 1])
    sch.annotate(k0, "software_pipeline_order", [0, 1, 2])
    sch.annotate(k0, "software_pipeline_async_stages", [0])
    return sch


STEPS: list[Callable[[int], tir.Schedule]] = [fragments, aligned, pipelined]


def main(n: int = 128) -> None:
    """Print the kernel of the last step, and compare all with NumPy where OpenCL runs them."""
    print(ls.build(pipelined(n), target="cuda -arch=sm_80").source("cuda"))
    if not ls.device("opencl").exists:
        print("no driver for OpenCL is here: install pocl-opencl-icd")
        return
    a, b = (np.random.default_rng(seed).random((n, n)).astype("float16") for seed in (1, 2))
    for step in STEPS:
        c = np.zeros((n, n), "float32")
        ls.build(step(n), target="opencl")(a, b, c)
        np.testing.assert_allclose(c, a.astype("float32") @ b.astype("float32"), rtol=1e-3)
        print(f"{step.__name__:10} is right")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
