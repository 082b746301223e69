# SPDX-License-Identifier: Apache-2.0
"""Schedules as people write them, for the time of their replay."""

from __future__ import annotations

from collections.abc import Callable

from loopsmith import te, tir

Steps = Callable[[tir.Schedule], None]


def cached_tiles(sch: tir.Schedule, fuses: bool) -> None:
    """Tile a product, with a tile of the result and panels of the inputs in memory of their own."""
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 32])
    j0, j1 = sch.split(j, [None, 32])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(i0, j0, k0, i1, k1, j1)
    outer = sch.fuse(i0, j0) if fuses else i0
    inner = outer if fuses else j0
    sch.reverse_compute_at(sch.cache_write("C", 0, "global"), inner)
    for number in (0, 1):
        sch.compute_at(sch.cache_read("C", number, "global"), inner)
    sch.vectorize(j1)
    sch.unroll(k1)
    sch.parallel(outer)
    sch.decompose_reduction("C", k0)


def unrolled_tiles(sch: tir.Schedule) -> None:
    """Tile a product in parallel, with its result in a tile of its own, unrolled."""
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 8])
    j0, j1 = sch.split(j, [None, 64])
    k0, k1 = sch.split(k, [None, 8])
    sch.reorder(i0, j0, k0, k1, i1, j1)
    sch.reverse_compute_at(sch.cache_write("C", 0, "global"), j0)
    sch.compute_at(sch.cache_read("C", 1, "global"), k0)
    sch.decompose_reduction("C", k0)
    sch.parallel(i0)
    sch.vectorize(j1)
    sch.unroll(i1)


def threads_of_product(sch: tir.Schedule) -> None:
    """Give a product to threads, with two levels of caches."""
    i, j, k = sch.get_loops("C")
    bi, ti, ii = sch.split(i, [None, 8, 8])
    bj, tj, jj = sch.split(j, [None, 8, 8])
    k0, k1, k2 = sch.split(k, [None, 4, 2])
    sch.reorder(bi, bj, ti, tj, k0, k1, k2, ii, jj)
    axes = {bi: "blockIdx.y", bj: "blockIdx.x", ti: "threadIdx.y", tj: "threadIdx.x"}
    for loop, axis in axes.items():
        sch.bind(loop, axis)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), tj)
    shared = [sch.cache_read("C", number, "shared") for number in (0, 1)]
    for number in (0, 1):
        sch.compute_at(sch.cache_read("C", number, "local"), k1)
    for copy in shared:
        sch.compute_at(copy, k0)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, y, x, lane = sch.split(fused, [None, 8, 8, 4])
        sch.vectorize(lane)
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
    sch.decompose_reduction("C", k0)


def convolution(channels: int = 64, size: int = 56) -> tir.PrimFunc:
    """Return a convolution by 3 x 3."""
    shape = (1, channels, size + 2, size + 2)
    a = te.placeholder(shape, "float32", name="A")
    w = te.placeholder((channels, channels, 3, 3), "float32", name="W")
    c, y, x = (te.reduce_axis((0, n), name) for n, name in ((channels, "c"), (3, "y"), (3, "x")))
    out = te.compute(
        (1, channels, size, size),
        lambda n, f, i, j: te.sum(a[n, c, i + y, j + x] * w[f, c, y, x], axis=[c, y, x]),
        name="C",
    )
    return te.create_prim_func([a, w, out])


def tiles_of_convolution(sch: tir.Schedule) -> None:
    """Tile the channels and columns of a convolution, with a tile of the result and its weights."""
    _, f, i, j, c, y, x = sch.get_loops("C")
    f0, f1 = sch.split(f, [None, 8])
    j0, j1 = sch.split(j, [None, 28])
    c0, c1 = sch.split(c, [None, 8])
    sch.reorder(f0, i, j0, c0, y, x, c1, f1, j1)
    sch.reverse_compute_at(sch.cache_write("C", 0, "global"), j0)
    sch.compute_at(sch.cache_read("C", 1, "global"), f0)
    sch.parallel(f0)
    sch.vectorize(j1)
    sch.unroll(f1)
    sch.decompose_reduction("C", c0)


def softmax(rows: int = 512, columns: int = 1024) -> tir.PrimFunc:
    """Return a softmax of four stages."""
    a = te.placeholder((rows, columns), "float32", name="A")
    k, r = (te.reduce_axis((0, columns), name=name) for name in "kr")
    top = te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="M")
    powers = te.compute((rows, columns), lambda i, j: te.exp(a[i, j] - top[i]), name="E")
    total = te.compute((rows,), lambda i: te.sum(powers[i, r], axis=r), name="S")
    out = te.compute((rows, columns), lambda i, j: powers[i, j] / total[i], name="O")
    return te.create_prim_func([a, out])


def rows_of_softmax(sch: tir.Schedule) -> None:
    """Compute all stages of a softmax in one loop over rows."""
    i, j = sch.get_loops("O")
    for name in ("S", "E", "M"):
        sch.compute_at(name, i)
    sch.parallel(i)
    sch.vectorize(sch.split(j, [None, 16])[1])


def attention(heads: int = 8, tokens: int = 256, width: int = 64) -> tir.PrimFunc:
    """Return softmax(Q @ K.T) @ V of several heads."""
    q, key, v = (te.placeholder((heads, tokens, width), "float32", name=name) for name in "QKV")
    d = te.reduce_axis((0, width), "d")
    m, r, s = (te.reduce_axis((0, tokens), name) for name in "mrs")
    shape = (heads, tokens, tokens)
    scores = te.compute(shape, lambda h, i, j: te.sum(q[h, i, d] * key[h, j, d], axis=d), name="S")
    top = te.compute(shape[:2], lambda h, i: te.max(scores[h, i, m], axis=m), name="M")
    powers = te.compute(shape, lambda h, i, j: te.exp(scores[h, i, j] - top[h, i]), name="E")
    total = te.compute(shape[:2], lambda h, i: te.sum(powers[h, i, r], axis=r), name="T")
    mixed = te.compute(
        (heads, tokens, width),
        lambda h, i, c: te.sum(powers[h, i, s] * v[h, s, c], axis=s),
        name="P",
    )
    out = te.compute((heads, tokens, width), lambda h, i, c: mixed[h, i, c] / total[h, i], name="O")
    return te.create_prim_func([q, key, v, out])


def rows_of_attention(sch: tir.Schedule) -> None:
    """Compute all stages of attention for blocks of rows, in parallel."""
    h, i, c = sch.get_loops("O")
    i0, _ = sch.split(i, [None, 16])
    for name in ("P", "T", "E", "M", "S"):
        sch.compute_at(name, i0)
    sch.parallel(sch.fuse(h, i0))
    sch.vectorize(sch.split(c, [None, 16])[1])
    *_, rows, columns, steps = sch.get_loops("P")
    sch.reorder(rows, steps, columns)
    sch.decompose_reduction("P", steps)
    sch.vectorize(columns)


def stencils(stages: int = 5, size: int = 256) -> tir.PrimFunc:
    """Return blurs one after another."""
    first = last = te.placeholder((size, size), "float32", name="A")
    for i in range(stages):
        size -= 2
        last = te.compute((size, size), _blurred(last), name=f"B{i}")
    return te.create_prim_func([first, last])


def _blurred(image: te.Tensor) -> Callable[..., tir.Expr]:
    return lambda y, x: image[y, x] + image[y + 1, x + 1] + image[y + 2, x + 2]


def tiles_of_stencils(sch: tir.Schedule) -> None:
    """Compute each tile of the last blur with what it needs of those before."""
    y, x = sch.get_loops("B4")
    y0, y1 = sch.split(y, [None, 32])
    x0, x1 = sch.split(x, [None, 32])
    sch.reorder(y0, x0, y1, x1)
    for stage in (3, 2, 1, 0):
        sch.compute_at(f"B{stage}", x0)
    sch.parallel(y0)


def whole_schedules(product: tir.PrimFunc) -> dict[str, tuple[tir.PrimFunc, Steps]]:
    """Return programs and their schedules, by name."""
    return {
        "product with a cache, unrolled": (product, unrolled_tiles),
        "product with caches": (product, lambda sch: cached_tiles(sch, fuses=False)),
        "product with caches at a fused loop": (product, lambda sch: cached_tiles(sch, fuses=True)),
        "product on threads": (product, threads_of_product),
        "convolution in tiles": (convolution(), tiles_of_convolution),
        "softmax in one loop over rows": (softmax(), rows_of_softmax),
        "attention in blocks of rows": (attention(), rows_of_attention),
        "five stencils in tiles": (stencils(), tiles_of_stencils),
    }
