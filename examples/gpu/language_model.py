# SPDX-License-Identifier: Apache-2.0
"""What a server of language models runs for one token: weights of 4 bits, and pages of a cache.

Both kernels read each byte of weights or cache once and do little with it, so that they are as
fast as memory is, if enough threads ask for 16 bytes at a time.
"""

from __future__ import annotations

import numpy as np
from on_devices import Example, bind, main, numbers, soft

from loopsmith import te, tir

GROUP = 128
"""How many weights of a row have one scale."""


def quantised_product(columns: int, steps: int) -> tir.PrimFunc:
    """A row divided by the root of its mean square, times weights of 4 bits.

    Weights are from -8 to 7, plus 8, two in a byte, the first in its lower half.
    """
    x = te.placeholder((steps,), "float16", name="X")
    gain = te.placeholder((steps,), "float16", name="gain")
    packed = te.placeholder((columns, steps // 2), "uint8", name="W")
    scale = te.placeholder((columns, steps // GROUP), "float16", name="scale")
    k, m = te.reduce_axis((0, steps), "k"), te.reduce_axis((0, steps), "m")

    def wide(value: tir.PrimExpr) -> tir.PrimExpr:
        return value.astype("float32")

    squares = te.compute((1,), lambda _: te.sum(wide(x[m]) * wide(x[m]), axis=m), name="squares")
    normed = te.compute(
        (steps,),
        lambda i: wide(x[i]) * te.rsqrt(squares[0] / float(steps) + 1e-5) * wide(gain[i]),
        name="normed",
    )

    def weight(j: tir.PrimExpr, i: tir.PrimExpr) -> tir.PrimExpr:
        nibble = (packed[j, i // 2].astype("int32") >> (i % 2 * 4)) & 15
        return wide(nibble - 8) * wide(scale[j, i // GROUP])

    sums = te.compute((columns,), lambda j: te.sum(normed[k] * weight(j, k), axis=k), name="sums")
    out = te.compute((columns,), lambda j: sums[j].astype("float16"), name="Y")
    return te.create_prim_func([x, gain, packed, scale, out])


def by_quantised_weights(
    columns: int = 64, steps: int = 2048, warps: int = 4, rows: int = 4
) -> Example:
    """One kernel: the row's norm is made by each block, `rows` results by each of its warps.

    A lane loads 8 bytes of weights at a time, 16 neighbours of a row, and a warp 512 of them. The
    normed row stays in shared memory, for all results of the block, without bank conflicts.
    """
    sch = tir.Schedule(quantised_product(columns, steps))
    block, warp, row = sch.split(sch.get_loops("Y")[0], [None, warps, rows])
    bind(sch, blockIdx_x=block, threadIdx_y=warp)
    sch.compute_at("sums", row)
    (k,) = sch.get_loops("sums")[3:]
    step, lane, own = sch.split(k, [None, 32, 16])
    parts = sch.rfactor(lane, 0)
    sch.set_scope("sums", 0, "shared")
    lane = sch.get_loops("sums")[-1]
    bind(sch, threadIdx_x=lane)
    sch.compute_at(parts, lane)
    sch.set_scope(parts, 0, "local")
    step, own = sch.get_loops(parts)[-2:]
    weights = sch.cache_read(parts, "W", "local")
    sch.compute_at(weights, step)
    sch.vectorize(sch.get_loops(weights)[-1])
    # What a thread has in arrays is in registers if it is known which elements are used.
    sch.unroll(own)
    sch.unroll(row)
    # Lanes read 16 elements apart: rows of 32 with a gap put these into different banks.
    sch.transform_layout("normed", ("write", 0), lambda i: (i // 32, i % 32))
    sch.storage_align("normed", 0, axis=0, factor=32, offset=1)
    for name in ("normed", "squares"):
        sch.set_scope(name, 0, "shared")
        sch.compute_at(name, block, preserve_unit_loops=True)
        _, y, x = sch.split(sch.get_loops(name)[-1], [None, warps, 32])
        bind(sch, threadIdx_y=y, threadIdx_x=x)
    x, gain = numbers(steps, dtype="float16"), numbers(steps, dtype="float16", seed=2)
    codes = np.random.default_rng(3).integers(0, 16, (columns, steps)).astype("uint8")
    scale = (numbers(columns, steps // GROUP, seed=4) * 0.05).astype("float16")
    normed = x.astype("float32") / np.sqrt(np.square(x, dtype="float32").mean() + 1e-5) * gain
    weights_ = (codes.astype("float32") - 8) * np.repeat(scale, GROUP, 1)
    packed = codes[:, ::2] | codes[:, 1::2] << 4
    return Example(sch, [x, gain, packed, scale], (weights_ @ normed).astype("float16"), 1e-2)


PAGE = 16
"""How many tokens of one sequence a page of the cache holds."""


def paged_attention(
    sequences: int, heads: int, shared_by: int, width: int, tokens: int, pages: int
) -> tir.PrimFunc:
    """Attention of one new token of each sequence to those before, whose keys lie in pages.

    `table` says which page has the tokens 16 p to 16 p + 15 of a sequence, `length` how many there
    are, up to `tokens`. Each head of keys and values serves `shared_by` heads of queries.
    """
    q = te.placeholder((sequences, heads, width), "float16", name="Q")
    cache = (pages, PAGE, heads // shared_by, width)
    keys, values = (te.placeholder(cache, "float16", name=name) for name in ("keys", "values"))
    table = te.placeholder((sequences, tokens // PAGE), "int32", name="table")
    length = te.placeholder((sequences,), "int32", name="length")
    d = te.reduce_axis((0, width), "d")
    m, n, k = (te.reduce_axis((0, tokens), name) for name in "mnk")
    rows, square = (sequences, heads), (sequences, heads, tokens)

    def wide(value: tir.PrimExpr) -> tir.PrimExpr:
        return value.astype("float32")

    def of_page(of: te.Tensor, s: tir.PrimExpr, h: tir.PrimExpr, t: tir.PrimExpr, e: tir.PrimExpr):
        found = wide(of[table[s, t // PAGE], t % PAGE, h // shared_by, e])
        return te.if_then_else(t < length[s], found, 0.0)

    dots = te.compute(
        square,
        lambda s, h, t: te.sum(wide(q[s, h, d]) * of_page(keys, s, h, t, d), axis=d),
        name="dots",
    )
    scores = te.compute(
        square,
        lambda s, h, t: te.if_then_else(t < length[s], dots[s, h, t] * width**-0.5, -1e30),
        name="scores",
    )
    top = te.compute(rows, lambda s, h: te.max(scores[s, h, m], axis=m), name="top")
    power = te.compute(square, lambda s, h, t: te.exp(scores[s, h, t] - top[s, h]), name="power")
    total = te.compute(rows, lambda s, h: te.sum(power[s, h, n], axis=n), name="total")
    sums = te.compute(
        (sequences, heads, width),
        lambda s, h, e: te.sum(power[s, h, k] * of_page(values, s, h, k, e), axis=k),
        name="sums",
    )
    out = te.compute(
        (sequences, heads, width),
        lambda s, h, e: (sums[s, h, e] / total[s, h]).astype("float16"),
        name="out",
    )
    return te.create_prim_func([q, keys, values, table, length, out])


def by_pages(
    sequences: int = 2,
    heads: int = 4,
    shared_by: int = 2,
    width: int = 64,
    tokens: int = 128,
    warps: int = 4,
) -> Example:
    """One kernel, a block for each head of a sequence; its scores stay in shared memory.

    For a score the lanes of a warp multiply, each its part of the key, and exchange sums. For the
    result each lane has its part of all values, of the tokens of its warp; the warps' sums are
    added at last. Beyond the length of a sequence nothing is read.
    """
    pages = sequences * tokens // PAGE
    sch = tir.Schedule(paged_attention(sequences, heads, shared_by, width, tokens, pages))
    own = width // 32
    sequence, head, e = sch.get_loops("out")
    warp, lane = sch.split(e, [None, 32])
    bind(sch, blockIdx_y=sequence, blockIdx_x=head, threadIdx_y=warp, threadIdx_x=lane)
    sch.set_scope("sums", 0, "shared")
    sch.compute_at("sums", head)
    e, k = sch.get_loops("sums")[-2:]
    (lane, part), (step, warp) = sch.split(e, [32, own]), sch.split(k, [None, warps])
    sch.reorder(lane, warp, part, step)
    bind(sch, threadIdx_x=lane, threadIdx_y=warp)
    for name in ("total", "power", "top"):
        sch.set_scope(name, 0, "shared")
        sch.compute_at(name, head, preserve_unit_loops=True)
        _, warp, lane = sch.split(sch.get_loops(name)[-1], [None, warps, 32])
        bind(sch, threadIdx_y=warp, threadIdx_x=lane)
    sch.set_scope("scores", 0, "shared")
    sch.compute_at("scores", head)
    step, warp = sch.split(sch.get_loops("scores")[-1], [None, warps])
    sch.bind(warp, "threadIdx.y")
    sch.compute_at("dots", warp)
    bind(sch, threadIdx_x=sch.split(sch.get_loops("dots")[-1], [32, own])[0])
    sch.set_scope("dots", 0, "shared")

    q = numbers(sequences, heads, width, dtype="float16")
    shape = (pages, PAGE, heads // shared_by, width)
    keys, values = (numbers(*shape, dtype="float16", seed=seed) for seed in (2, 3))
    random = np.random.default_rng(4)
    table = random.permutation(pages).astype("int32").reshape(sequences, -1)
    length = random.integers(1, tokens + 1, sequences).astype("int32")
    expected = np.empty(q.shape, "float16")
    for s in range(sequences):
        for h in range(heads):
            k, v = (
                each[table[s], :, h // shared_by].reshape(tokens, width)[: length[s]]
                for each in (keys.astype("float32"), values.astype("float32"))
            )
            expected[s, h] = soft(q[s, h].astype("float32") @ k.T * width**-0.5) @ v
    return Example(sch, [q, keys, values, table, length], expected, 1e-2)


EXAMPLES = [by_quantised_weights, by_pages]

if __name__ == "__main__":
    main(EXAMPLES)
