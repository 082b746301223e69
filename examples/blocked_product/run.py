# SPDX-License-Identifier: Apache-2.0
"""A matrix product, blocked in all three dimensions by hand.

For each block of the sum, a panel of B is copied to where it lies together; for each tile of C, the
tile is loaded, updated by that block, and stored.
"""

from __future__ import annotations

import time

import numpy as np

import loopsmith as ls
from loopsmith import tir


def product(size: int) -> tir.PrimFunc:
    """Return C = A @ B, of float32 matrices."""
    shape = f"T.Buffer(({size}, {size}))"
    return ls.from_source(f"""
@T.prim_func
def product(A: {shape}, B: {shape}, C: {shape}):
    for i, j, k in T.grid({size}, {size}, {size}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")


def blocked(
    func: tir.PrimFunc, panel: tuple[int, int] = (64, 256), tile: tuple[int, int] = (4, 16)
) -> tir.Schedule:
    """Block a product: panels of `panel` elements of B (rows, columns), tiles of `tile` of C."""
    sch = tir.Schedule(func)
    i, j, k = sch.get_loops("C")
    i_block, i_tile = sch.split(i, [None, tile[0]])
    j_panel, j_block, j_tile = sch.split(j, [None, panel[1] // tile[1], tile[1]])
    k_panel, k_inner = sch.split(k, [None, panel[0]])
    sch.decompose_reduction("C", i_block)
    sch.reorder(k_panel, j_panel, j_block, i_block, k_inner, i_tile, j_tile)
    copy = sch.cache_read("C_update", "B", "global")
    sch.compute_at(copy, j_panel)
    load, store = sch.cache_inplace("C_update", "C", "local")
    sch.reverse_compute_at(store, i_block)
    sch.compute_at(load, i_block)
    sch.unroll(i_tile)
    sch.vectorize(j_tile)
    for block in (copy, load, store):
        sch.vectorize(sch.split(sch.get_loops(block)[-1], [None, tile[1]])[1])
    return sch


def seconds(run: object, repeats: int = 7) -> float:
    """Return the median time of a call."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()  # type: ignore[operator]
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main(size: int = 512) -> None:
    """Multiply, check, and print the times."""
    func = product(size)
    plain = ls.build(func, default_schedule=False)
    fast = ls.build(blocked(func))
    random = np.random.default_rng(0)
    a, b = (random.random((size, size), "float32") for _ in range(2))
    c = np.empty_like(a)
    fast(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    as_written = seconds(lambda: plain(a, b, c), 1)
    scheduled = seconds(lambda: fast(a, b, c))
    flops = 2 * size**3
    print(f"as written {flops / as_written / 1e9:6.1f} GFLOP/s")
    print(f"blocked    {flops / scheduled / 1e9:6.1f} GFLOP/s, on one core")


if __name__ == "__main__":
    main()
