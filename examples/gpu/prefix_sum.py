# SPDX-License-Identifier: Apache-2.0
"""A prefix sum by tiles: their totals, a scan of these, which is short, and the tiles.

The array is read twice and written once, each time by neighbouring threads side by side. Inside of
a tile each thread has some neighbours for itself; for that the tile is in shared memory.
"""

from __future__ import annotations

import numpy as np
from on_devices import Example, bind, main

import loopsmith as ls
from loopsmith import tir


def in_tiles(tiles: int, threads: int, own: int) -> tir.PrimFunc:
    """Sums of tiles of `threads` times `own` elements, and what is made of them.

    The sums of threads are added up in steps: after step d, thread x has the sum of the 2^d threads
    up to it.
    """
    length = threads * own
    steps = threads.bit_length() - 1
    adding = "".join(
        f"""
        for x in range({threads}):
            with T.block("step{d}"):
                vx = T.axis.spatial({threads}, x)
                upto{d + 1}[vx] = upto{d}[vx] + T.if_then_else(
                    vx >= {2**d}, upto{d}[T.max(vx - {2**d}, 0)], T.float32(0)
                )"""
        for d in range(steps)
    )
    memory = "".join(
        f"""
    upto{d} = T.alloc_buffer(({threads},))"""
        for d in range(steps + 1)
    )
    return ls.from_source(f"""
@T.prim_func
def prefix_sum(A: T.Buffer(({tiles * length},)), S: T.Buffer(({tiles * length},))):
    total = T.alloc_buffer(({tiles},))
    before = T.alloc_buffer(({tiles + 1},))
    tile = T.alloc_buffer(({threads}, {own}))
    start = T.alloc_buffer(({threads},))
    sums = T.alloc_buffer(({threads}, {own})){memory}
    for b, k in T.grid({tiles}, {length}):
        with T.block("total"):
            vb, vk = T.axis.remap("SR", [b, k])
            with T.init():
                total[vb] = T.float32(0)
            total[vb] = total[vb] + A[vb * {length} + vk]
    with T.block("first"):
        before[0] = T.float32(0)
    for b in range({tiles}):
        with T.block("before"):
            vb = T.axis.reduce({tiles}, b)
            before[vb + 1] = before[vb] + total[vb]
    for b in range({tiles}):
        for x, e in T.grid({threads}, {own}):
            with T.block("tile"):
                vb, vx, ve = T.axis.remap("SSS", [b, x, e])
                tile[vx, ve] = A[vb * {length} + vx * {own} + ve]
        for x, e in T.grid({threads}, {own}):
            with T.block("part"):
                vx, ve = T.axis.remap("SR", [x, e])
                with T.init():
                    upto0[vx] = T.float32(0)
                upto0[vx] = upto0[vx] + tile[vx, ve]{adding}
        for x in range({threads}):
            with T.block("start"):
                vb, vx = T.axis.remap("SS", [b, x])
                start[vx] = before[vb] + T.if_then_else(
                    vx >= 1, upto{steps}[T.max(vx - 1, 0)], T.float32(0)
                )
        for x, e in T.grid({threads}, {own}):
            with T.block("sums"):
                vx, ve = T.axis.remap("SR", [x, e])
                start[vx] = start[vx] + tile[vx, ve]
                sums[vx, ve] = start[vx]
        for x, e in T.grid({threads}, {own}):
            with T.block("S"):
                vb, vx, ve = T.axis.remap("SSS", [b, x, e])
                S[vb * {length} + vx * {own} + ve] = sums[vx, ve]
""")


def by_tiles(tiles: int = 6, threads: int = 64, own: int = 8) -> Example:
    """What goes from thread to thread is in shared memory, in rows of odd length (no bank twice).

    What tiles begin with is a scan as well, of few elements: `parallel_scan` cuts it into parts.
    """
    sch = tir.Schedule(in_tiles(tiles, threads, own))
    block, k = sch.get_loops("total")
    bind(sch, blockIdx_x=block, threadIdx_x=sch.split(k, [None, threads])[1])
    totals, carries, parts = sch.parallel_scan(sch.get_loops("before")[0], threads)
    for loop in (totals, parts):
        blocks, thread = sch.split(loop, [None, 32])
        bind(sch, blockIdx_x=blocks, threadIdx_x=thread)
    sch.bind(sch.add_unit_loop(carries), "threadIdx.x")
    sch.bind(sch.add_unit_loop("first"), "threadIdx.x")
    steps = [f"step{d}" for d in range(threads.bit_length() - 1)]
    for name in ("tile", "part", *steps):
        sch.set_scope(name, 0, "shared")
    sch.set_scope("sums", 1, "shared")
    sch.set_scope("start", 0, "local")
    sch.bind(sch.get_loops("S")[0], "blockIdx.x")
    for name in ("tile", "S"):
        whole = sch.fuse(*sch.get_loops(name)[1:])
        bind(sch, threadIdx_x=sch.split(whole, [None, threads])[1])
    for name in ("part", *steps, "start", "sums"):
        sch.bind(sch.get_loops(name)[1], "threadIdx.x")
    for name, number in (("tile", 0), ("sums", 1)):
        sch.storage_align(name, number, axis=-2, factor=2, offset=1)
    operand = np.random.default_rng(1).random(tiles * threads * own, "float32")
    return Example(sch, [operand], operand.cumsum(dtype="float64").astype("float32"))


EXAMPLES = [by_tiles]

if __name__ == "__main__":
    main(EXAMPLES)
