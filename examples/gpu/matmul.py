# SPDX-License-Identifier: Apache-2.0
"""A product of matrices on a GPU, step by step: from a thread for each result to shared tiles.

Each function takes the schedule of the one before a step further. `python examples/gpu/matmul.py`
runs them all on the first device with OpenCL, and prints their times.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import loopsmith as ls
from loopsmith import te, tir


def product(n: int) -> tir.PrimFunc:
    """C = A @ B, which says nothing about threads."""
    a = te.placeholder((n, n), "float32", name="A")
    b = te.placeholder((n, n), "float32", name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def naive(n: int, tile: int = 16) -> tir.Schedule:
    """A thread for each result: `tile` x `tile` of them are a block.

    Each reads a row of A and a column of B from the device's memory by itself.
    """
    sch = tir.Schedule(product(n))
    i, j, _ = sch.get_loops("C")
    by, ty = sch.split(i, [None, tile])
    bx, tx = sch.split(j, [None, tile])
    sch.reorder(by, bx, ty, tx)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y")):
        sch.bind(loop, axis)
    sch.bind(tx, "threadIdx.x")
    return sch


def in_registers(n: int, tile: int = 16) -> tir.Schedule:
    """The sum is in memory of the thread, and written once."""
    sch = naive(n, tile)
    result = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(result, sch.get_loops("C")[3])
    return sch


def shared_tiles(n: int, tile: int = 16) -> tir.Schedule:
    """The threads of a block copy a tile of A and one of B together, and all read both.

    So each element is read from the device's memory once a block, not once a thread. The barriers
    around the copies are put there by `lower`.
    """
    sch = in_registers(n, tile)
    _, _, _, _, k = sch.get_loops("C")
    k0, _ = sch.split(k, [None, tile])
    for operand in (0, 1):
        copy = sch.cache_read("C", operand, "shared")
        sch.compute_at(copy, k0)
        rows, columns = sch.get_loops(copy)[-2:]
        sch.bind(rows, "threadIdx.y")
        sch.bind(columns, "threadIdx.x")
    return sch


def tiles_of_threads(n: int, tile: int = 16, own: int = 2) -> tir.Schedule:
    """Each thread computes `own` x `own` results, so that what it reads serves more than one."""
    sch = tir.Schedule(product(n))
    i, j, k = sch.get_loops("C")
    by, ty, iy = sch.split(i, [None, tile, own])
    bx, tx, ix = sch.split(j, [None, tile, own])
    k0, k1 = sch.split(k, [None, tile])
    sch.reorder(by, bx, ty, tx, k0, k1, iy, ix)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y")):
        sch.bind(loop, axis)
    sch.bind(tx, "threadIdx.x")
    result = sch.cache_write("C", 0, "local")
    sch.reverse_compute_at(result, tx)
    for operand in (0, 1):
        copy = sch.cache_read("C", operand, "shared")
        sch.compute_at(copy, k0)
        whole = sch.fuse(*sch.get_loops(copy)[-2:])
        _, y, x = sch.split(whole, [None, tile, tile])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    return sch


STEPS: list[Callable[[int], tir.Schedule]] = [naive, in_registers, shared_tiles, tiles_of_threads]


def main(n: int = 256) -> None:
    """Build each step, compare it with NumPy, and print how long it takes."""
    device = ls.device("opencl")
    if not device.exists:
        print("no driver for OpenCL is here: install pocl-opencl-icd")
        return
    a, b = (np.random.default_rng(seed).random((n, n), "float32") for seed in (1, 2))
    arrays = [ls.array(x, device=device) for x in (a, b)]
    for step in STEPS:
        matmul = ls.build(step(n), target="opencl")
        c = ls.empty((n, n), device=device)
        matmul(*arrays, c)
        np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-4)
        print(f"{step.__name__:18} {matmul.time(*arrays, c).median * 1e3:8.3f} ms")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
