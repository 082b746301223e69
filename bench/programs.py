# SPDX-License-Identifier: Apache-2.0
"""The programs that are measured, as tensor expressions."""

from __future__ import annotations

from typing import Any

from loopsmith import te, tir
from loopsmith.te import Tensor


def add(n: int = 1 << 20) -> list[Tensor]:
    """C = A + B."""
    a = te.placeholder((n,), "float32", name="A")
    b = te.placeholder((n,), "float32", name="B")
    return [a, b, te.compute((n,), lambda i: a[i] + b[i], name="C")]


def chain(rows: int, columns: int) -> list[Tensor]:
    """B = max(A * 2 + 1, 0) * 0.5 - A, in four stages."""
    shape = (rows, columns)
    a = te.placeholder(shape, "float32", name="A")
    scaled = te.compute(shape, lambda i, j: a[i, j] * 2.0 + 1.0, name="scaled")
    positive = te.compute(shape, lambda i, j: te.select(scaled[i, j] > 0.0, scaled[i, j], 0.0))
    half = te.compute(shape, lambda i, j: positive[i, j] * 0.5, name="half")
    return [a, te.compute(shape, lambda i, j: half[i, j] - a[i, j], name="B")]


def row_sums(rows: int, columns: int) -> list[Tensor]:
    """B[i] = sum over k of A[i, k]."""
    a = te.placeholder((rows, columns), "float32", name="A")
    k = te.reduce_axis((0, columns), name="k")
    return [a, te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="B")]


def row_maxima(rows: int, columns: int) -> list[Tensor]:
    """B[i] = max over k of A[i, k]."""
    a = te.placeholder((rows, columns), "float32", name="A")
    k = te.reduce_axis((0, columns), name="k")
    return [a, te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="B")]


def softmax(rows: int = 4096, columns: int = 4096) -> list[Tensor]:
    """B = softmax of each row of A."""
    shape = (rows, columns)
    a = te.placeholder(shape, "float32", name="A")
    k, k2 = te.reduce_axis((0, columns), name="k"), te.reduce_axis((0, columns), name="k2")
    top = te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="top")
    e = te.compute(shape, lambda i, j: te.exp(a[i, j] - top[i]), name="e")
    total = te.compute((rows,), lambda i: te.sum(e[i, k2], axis=k2), name="total")
    return [a, te.compute(shape, lambda i, j: e[i, j] / total[i], name="B")]


def transpose(shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> list[Tensor]:
    """B = A with its axes in that order."""
    a = te.placeholder(shape, dtype, name="A")
    moved = [order.index(axis) for axis in range(len(shape))]
    b = te.compute(
        [shape[axis] for axis in order], lambda *i: a(*(i[place] for place in moved)), name="B"
    )
    return [a, b]


def matmul(n: int = 1024) -> list[Tensor]:
    """C = A @ B."""
    return product(n, n, n)


def product(
    rows: Any, columns: Any, depth: Any, dtype: str = "float32", layout: str = "nn", batch: int = 0
) -> list[Tensor]:
    """C = A @ B; in `layout`, t stands for an operand that is stored transposed."""
    outer = (batch,) if batch else ()
    a_shape = (depth, rows) if layout[0] == "t" else (rows, depth)
    b_shape = (columns, depth) if layout[1] == "t" else (depth, columns)
    a = te.placeholder((*outer, *a_shape), dtype, name="A")
    b = te.placeholder((*outer, *b_shape), dtype, name="B")
    k = te.reduce_axis((0, depth), name="k")

    def element(*indices: Any) -> Any:
        *at, i, j = indices
        left = a[(*at, k, i) if layout[0] == "t" else (*at, i, k)]
        right = b[(*at, j, k) if layout[1] == "t" else (*at, k, j)]
        return te.sum(left * right, axis=k)

    return [a, b, te.compute((*outer, rows, columns), element, name="C")]


def conv2d(n: int = 1, c: int = 64, h: int = 56, o: int = 64, f: int = 3) -> list[Tensor]:
    """B = A convolved with W, padded so that the size stays."""
    a = te.placeholder((n, c, h, h), "float32", name="A")
    w = te.placeholder((o, c, f, f), "float32", name="W")
    pad = f // 2
    padded = te.compute(
        (n, c, h + 2 * pad, h + 2 * pad),
        lambda i, k, y, x: te.if_then_else(
            te.all(y >= pad, y < h + pad, x >= pad, x < h + pad), a[i, k, y - pad, x - pad], 0.0
        ),
        name="padded",
    )
    rc = te.reduce_axis((0, c), name="rc")
    ry, rx = te.reduce_axis((0, f), name="ry"), te.reduce_axis((0, f), name="rx")
    b = te.compute(
        (n, o, h, h),
        lambda i, k, y, x: te.sum(
            padded[i, rc, y + ry, x + rx] * w[k, rc, ry, rx], axis=[rc, ry, rx]
        ),
        name="B",
    )
    return [a, w, b]


def byte_matmul(n: int) -> list[Tensor]:
    """C = A @ B of uint8 by int8 in int32; B in tiles of 16 columns by 4 rows."""
    a = te.placeholder((n, n), "uint8", name="A")
    b = te.placeholder((n // 16, n // 4, 16, 4), "int8", name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute(
        (n, n),
        lambda i, j: te.sum(
            a[i, k].astype("int32") * b[j // 16, k // 4, j % 16, k % 4].astype("int32"), axis=k
        ),
        name="C",
    )
    return [a, b, c]


def tensorized_byte_matmul(n: int, rows: int = 8, vectors: int = 2) -> tir.Schedule:
    """Return the same with AVX-512 VNNI, `rows` by `vectors` results of 16 in registers."""
    sch = tir.Schedule(te.create_prim_func(byte_matmul(n)))
    c = sch.get_block("C")
    i, j, k = sch.get_loops(c)
    io, ii = sch.split(i, factors=[None, rows])
    jo, jm, ji = sch.split(j, factors=[None, vectors, 16])
    ko, ki = sch.split(k, factors=[None, 4])
    sch.reorder(io, jo, ko, ii, jm, ji, ki)
    tile = sch.blockize(ji)
    init = sch.decompose_reduction(tile, ko)
    for loop in sch.get_loops(init)[-2:]:
        sch.unroll(loop)
    sch.vectorize(sch.get_loops(sch.get_child_blocks(init)[0])[-1])
    sch.tensorize(tile, "dot_16x4_vnni")
    sch.unroll(ii)
    sch.unroll(jm)
    return sch
