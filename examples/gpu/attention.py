# SPDX-License-Identifier: Apache-2.0
"""Attention as one kernel on tensor cores, by online softmax: no score leaves its warp.

A block has 16 rows of the result for each of its warps, and goes over the keys in steps. Where
a row's largest score has grown, what is added up so far is scaled down (`examples/cpu/attention.py`
does the same on processors). Scores, exponentials and sums are fragments, elements of which lie in
the registers of the warp's threads: a loop over the 32 threads may compute with them, if each
thread uses those that it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from on_devices import Example, bind, main, numbers, soft

import loopsmith as ls
from loopsmith import tir

ROWS = 16


def online(heads: int, tokens: int, width: int, keys: int, warps: int) -> tir.PrimFunc:
    """The rows of each warp, by steps of `keys` keys.

    Thread 4 a + q of a warp holds elements of two rows of a tile, a and a + 8, which are `s` here,
    and of pairs of neighbouring columns, 8 columns between pairs, of which q is the number. So
    four threads share a row, and each knows what is known of it.
    """
    shape = f'({heads}, {tokens}, {width}), "float16"'
    scale = math.log2(math.e) / math.sqrt(width)
    score = "scores[vs * 8 + vx // 4, vc * 8 + vx % 4 * 2 + ve]"
    weight = "power[vs * 8 + vx // 4, vc * 8 + vx % 4 * 2 + ve]"
    result = "sums[vs * 8 + vx // 4, vc * 8 + vx % 4 * 2 + ve]"
    return ls.from_source(f"""
@T.prim_func
def online(
    Q: T.Buffer({shape}), K: T.Buffer({shape}), V: T.Buffer({shape}), O: T.Buffer({shape})
):
    scores = T.alloc_buffer(({ROWS}, {keys}))
    power = T.alloc_buffer(({ROWS}, {keys}), "float16")
    sums = T.alloc_buffer(({ROWS}, {width}))
    high = T.alloc_buffer(({warps}, 2, 32))
    top = T.alloc_buffer((2, 32))
    factor = T.alloc_buffer((2, 32))
    part = T.alloc_buffer((2, 32))
    total = T.alloc_buffer(({warps}, 2, 32))
    for h, b, w in T.grid({heads}, {tokens // (warps * ROWS)}, {warps}):
        for x, s in T.grid(32, 2):
            with T.block("start"):
                vx, vs = T.axis.remap("SS", [x, s])
                top[vs, vx] = T.float32(-1e30)
                part[vs, vx] = T.float32(0)
        for r, d in T.grid({ROWS}, {width}):
            with T.block("zeros"):
                vr, vd = T.axis.remap("SS", [r, d])
                sums[vr, vd] = T.float32(0)
        for t in range({tokens // keys}):
            for r, c, d in T.grid({ROWS}, {keys}, {width}):
                with T.block("scores"):
                    vh, vb, vw, vt, vr, vc, vd = T.axis.remap("SSSSSSR", [h, b, w, t, r, c, d])
                    with T.init():
                        scores[vr, vc] = T.float32(0)
                    scores[vr, vc] = scores[vr, vc] + T.cast(
                        Q[vh, vb * {warps * ROWS} + vw * {ROWS} + vr, vd], "float32"
                    ) * T.cast(K[vh, vt * {keys} + vc, vd], "float32")
            for x, s, c, e in T.grid(32, 2, {keys // 8}, 2):
                with T.block("high"):
                    vw, vx, vs, vc, ve = T.axis.remap("SSSRR", [w, x, s, c, e])
                    with T.init():
                        high[vw, vs, vx] = T.float32(-1e30)
                    high[vw, vs, vx] = T.max(high[vw, vs, vx], {score})
            for x, s in T.grid(32, 2):
                with T.block("factor"):
                    vw, vx, vs = T.axis.remap("SSS", [w, x, s])
                    factor[vs, vx] = T.max(
                        T.max(high[vw, vs, vx // 4 * 4], high[vw, vs, vx // 4 * 4 + 1]),
                        T.max(high[vw, vs, vx // 4 * 4 + 2], high[vw, vs, vx // 4 * 4 + 3]),
                    )
            for x, s in T.grid(32, 2):
                with T.block("top"):
                    vx, vs = T.axis.remap("SS", [x, s])
                    new: T.float32 = T.max(top[vs, vx], factor[vs, vx] * T.float32({scale}))
                    factor[vs, vx] = T.exp2(top[vs, vx] - new)
                    top[vs, vx] = new
                    part[vs, vx] = part[vs, vx] * factor[vs, vx]
            for x, s, c, e in T.grid(32, 2, {keys // 8}, 2):
                with T.block("power"):
                    vx, vs, vc, ve = T.axis.remap("SSSS", [x, s, c, e])
                    {weight} = T.cast(
                        T.exp2({score} * T.float32({scale}) - top[vs, vx]), "float16"
                    )
            for x, s, c, e in T.grid(32, 2, {keys // 8}, 2):
                with T.block("part"):
                    vx, vs, vc, ve = T.axis.remap("SSRR", [x, s, c, e])
                    part[vs, vx] = part[vs, vx] + T.cast({weight}, "float32")
            for x, s, c, e in T.grid(32, 2, {width // 8}, 2):
                with T.block("rescale"):
                    vx, vs, vc, ve = T.axis.remap("SSSS", [x, s, c, e])
                    {result} = {result} * factor[vs, vx]
            for r, d, c in T.grid({ROWS}, {width}, {keys}):
                with T.block("mix"):
                    vh, vt, vr, vd, vc = T.axis.remap("SSSSR", [h, t, r, d, c])
                    sums[vr, vd] = sums[vr, vd] + T.cast(power[vr, vc], "float32") * T.cast(
                        V[vh, vt * {keys} + vc, vd], "float32"
                    )
        for x, s in T.grid(32, 2):
            with T.block("total"):
                vw, vx, vs = T.axis.remap("SSS", [w, x, s])
                total[vw, vs, vx] = part[vs, vx]
        for x, s, c, e in T.grid(32, 2, {width // 8}, 2):
            with T.block("O"):
                vh, vb, vw, vx, vs, vc, ve = T.axis.remap("SSSSSSS", [h, b, w, x, s, c, e])
                O[
                    vh,
                    vb * {warps * ROWS} + vw * {ROWS} + vs * 8 + vx // 4,
                    vc * 8 + vx % 4 * 2 + ve,
                ] = T.cast(
                    {result}
                    / (
                        total[vw, vs, vx // 4 * 4] + total[vw, vs, vx // 4 * 4 + 1]
                        + total[vw, vs, vx // 4 * 4 + 2] + total[vw, vs, vx // 4 * 4 + 3]
                    ),
                    "float16",
                )
""")


def put_on_tiles(sch: tir.Schedule, block: tir.BlockRV, intrinsic: str) -> None:
    """Put a tensor intrinsic in the place of each tile of 16 x 16, in the last two loops."""
    rows, columns = sch.get_loops(block)[-2:]
    i0, i1 = sch.split(rows, [None, 16])
    j0, j1 = sch.split(columns, [None, 16])
    sch.reorder(i0, j0, i1, j1)
    sch.tensorize(i1, intrinsic)


def in_tiles(sch: tir.Schedule, block: str, columns: str, steps: str) -> tuple[tir.LoopRV, ...]:
    """Cut a product into those of tiles: the loops over tiles, and the first of those inside."""
    (row,) = sch.get_loops(block, "r")
    outer, inner = zip(
        *(sch.split(sch.get_loops(block, each)[0], [None, 16]) for each in (columns, steps))
    )
    sch.reorder(*outer, row, *inner)
    return (*outer, row)


def share_out(sch: tir.Schedule, copy: tir.BlockRV, warps: int) -> None:
    """Let all threads of a block copy a tile, 16 bytes each at a time."""
    whole = sch.fuse(*sch.get_loops(copy)[-2:])
    _, y, x, lanes = sch.split(whole, [None, warps, 32, 8])
    bind(sch, threadIdx_y=y, threadIdx_x=x)
    sch.vectorize(lanes)


def in_fragments(heads: int, tokens: int, width: int, keys: int, warps: int) -> tir.Schedule:
    """Both products by tensor cores; keys and values are copied into memory of the block."""
    sch = tir.Schedule(online(heads, tokens, width, keys, warps))
    sch.set_scope("scores", 0, "wmma.accumulator")
    sch.set_scope("power", 0, "wmma.matrix_a")
    sch.set_scope("zeros", 0, "wmma.accumulator")
    for block in ("high", "total"):
        sch.set_scope(block, 0, "shared")
    for block in ("start", "factor", "part"):
        sch.set_scope(block, 0, "local")
    h, b, w, t = sch.get_loops("mix")[:4]
    bind(sch, blockIdx_y=h, blockIdx_x=b, threadIdx_y=w)

    # Operands: from memory of the device into that of the block, from there into fragments.
    q = sch.cache_read("scores", "Q", "shared")
    sch.compute_at(q, b)
    k = sch.cache_read("scores", "K", "shared")
    sch.compute_at(k, t)
    v = sch.cache_read("mix", "V", "shared")
    sch.compute_at(v, t)
    for copy in (q, k, v):
        share_out(sch, copy, warps)
    for name in ("Q_shared", "K_shared", "V_shared"):
        # Rows that are loaded into a fragment together lie in different banks.
        sch.storage_align(name, 0, axis=-2, factor=32, offset=8)
    sch.compute_at(sch.cache_read("scores", "Q_shared", "wmma.matrix_a"), w)
    key, width_, first = in_tiles(sch, "scores", "c", "d")
    sch.compute_at(sch.cache_read("scores", "K_shared", "wmma.matrix_b"), width_)
    _, steps, second = in_tiles(sch, "mix", "d", "c")
    sch.compute_at(sch.cache_read("mix", "V_shared", "wmma.matrix_b"), steps)
    zeros = sch.decompose_reduction("scores", key)
    for block, intrinsic in (
        ("zeros", "wmma_fill_16x16x16_f32"),
        (zeros, "wmma_fill_16x16x16_f32"),
        ("Q_shared_wmma_matrix_a", "wmma_load_16x16x16_f16_a_shared"),
        ("K_shared_wmma_matrix_b", "wmma_load_16x16x16_f16_b_trans_shared"),
        ("V_shared_wmma_matrix_b", "wmma_load_16x16x16_f16_b_shared"),
    ):
        put_on_tiles(sch, block, intrinsic)
    sch.tensorize(first, "wmma_sync_16x16x16_f16f16f32_trans")
    sch.tensorize(second, "wmma_sync_16x16x16_f16f16f32")

    # Each thread computes with the elements that it holds.
    for block in ("start", "high", "factor", "top", "power", "part", "rescale", "total", "O"):
        (thread,) = sch.get_loops(block, "x")
        sch.bind(thread, "threadIdx.x")
        for loop in sch.get_loops(block)[sch.get_loops(block).index(thread) + 1 :]:
            sch.unroll(loop)
    return sch


def pipelined(heads: int, tokens: int, width: int, keys: int, warps: int) -> tir.Schedule:
    """Keys and values of the next step are on their way (`cp.async`) while those here are used."""
    sch = in_fragments(heads, tokens, width, keys, warps)
    t = sch.get_loops("K_shared")[3]
    # The copy of keys, eight statements, the copy of values, and the second product.
    sch.annotate(t, "software_pipeline_stage", [0, *[1] * 8, 0, 1])
    sch.annotate(t, "software_pipeline_order", [0, *range(2, 10), 1, 10])
    sch.annotate(t, "software_pipeline_async_stages", [0])
    return sch


def example(step: Callable[..., tir.Schedule], sizes: Sequence[int]) -> Example:
    """A step with its operands."""
    heads, tokens, width, *_ = sizes
    operands = [numbers(heads, tokens, width, dtype="float16", seed=seed) for seed in range(3)]
    q, k, v = (each.astype("float32") for each in operands)
    scores = q @ k.swapaxes(1, 2) / math.sqrt(width)
    return Example(step(*sizes), operands, (soft(scores) @ v).astype("float16"), 1e-2)


def one_kernel(
    heads: int = 2, tokens: int = 128, width: int = 32, keys: int = 32, warps: int = 2
) -> Example:
    """As `in_fragments` makes it."""
    return example(in_fragments, (heads, tokens, width, keys, warps))


def copies_ahead(
    heads: int = 2, tokens: int = 128, width: int = 32, keys: int = 32, warps: int = 2
) -> Example:
    """As `pipelined` makes it."""
    return example(pipelined, (heads, tokens, width, keys, warps))


EXAMPLES = [one_kernel, copies_ahead]

if __name__ == "__main__":
    main(EXAMPLES)
