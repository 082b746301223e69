# SPDX-License-Identifier: Apache-2.0
"""The workloads by Loopsmith: as the default schedule has them, or, where there is one, by hand."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from workloads import EPSILON, GELU, result_size

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import programs

import loopsmith as ls
from loopsmith import te, tir

THREADS = int(os.environ["OMP_NUM_THREADS"])


def version() -> str:
    """Return which Loopsmith."""
    return f"Loopsmith {ls.__version__}"


def convolution(
    c: int, o: int, h: int, f: int, stride: int = 1, pad: int = 0, groups: int = 1
) -> list[te.Tensor]:
    """Convolution of one image, channels before rows."""
    a = te.placeholder((1, c, h, h), name="A")
    w = te.placeholder((o, c // groups, f, f), name="W")
    padded = a
    if pad:
        padded = te.compute(
            (1, c, h + 2 * pad, h + 2 * pad),
            lambda n, k, y, x: te.if_then_else(
                te.all(y >= pad, y < h + pad, x >= pad, x < h + pad), a[n, k, y - pad, x - pad], 0.0
            ),
            name="padded",
        )
    side = result_size(h, f, stride, pad)
    rc = te.reduce_axis((0, c // groups), "rc")
    ry, rx = te.reduce_axis((0, f), "ry"), te.reduce_axis((0, f), "rx")

    def element(n: Any, k: Any, y: Any, x: Any) -> Any:
        channel = rc if groups == 1 else k // (o // groups) * (c // groups) + rc
        value = padded[n, channel, y * stride + ry, x * stride + rx]
        return te.sum(value * w[k, rc, ry, rx], axis=[rc, ry, rx])

    return [a, w, te.compute((1, o, side, side), element, name="C")]


def layer_norm(rows: int, columns: int) -> list[te.Tensor]:
    """Rows less their mean, over their deviation."""
    a = te.placeholder((rows, columns), name="A")
    k, m = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "m")
    total = te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="total")
    squares = te.compute((rows,), lambda i: te.sum(a[i, m] * a[i, m], axis=m), name="squares")

    def normalized(i: Any, j: Any) -> Any:
        mean = total[i] / columns
        return (a[i, j] - mean) * te.rsqrt(squares[i] / columns - mean * mean + EPSILON)

    return [a, te.compute((rows, columns), normalized, name="B")]


def gelu(rows: int, columns: int) -> list[te.Tensor]:
    """Gelu of A with a bias, by tanh."""
    a, b = te.placeholder((rows, columns), name="A"), te.placeholder((columns,), name="bias")

    def element(i: Any, j: Any) -> Any:
        x = a[i, j] + b[j]
        return 0.5 * x * (1.0 + te.tanh(GELU * (x + 0.044715 * x * x * x)))

    return [a, b, te.compute((rows, columns), element, name="B")]


def column_sums(rows: int, columns: int) -> list[te.Tensor]:
    """B[j] = sum over k of A[k, j]."""
    a, k = te.placeholder((rows, columns), name="A"), te.reduce_axis((0, rows), "k")
    return [a, te.compute((columns,), lambda j: te.sum(a[k, j], axis=k), name="B")]


def transpose(rows: int, columns: int) -> list[te.Tensor]:
    """B[i, j] = A[j, i]."""
    a = te.placeholder((rows, columns), name="A")
    return [a, te.compute((columns, rows), lambda i, j: a[j, i], name="B")]


def attention(heads: int, s: int, d: int) -> list[te.Tensor]:
    """Softmax of the scores, by the values."""
    q, k, v = (te.placeholder((heads, s, d), name=name) for name in "QKV")
    r, t = te.reduce_axis((0, d), "r"), te.reduce_axis((0, s), "t")
    m, n = te.reduce_axis((0, s), "m"), te.reduce_axis((0, s), "n")
    shape = (heads, s, s)
    scores = te.compute(
        shape,
        lambda h, i, j: te.sum(q[h, i, r] * k[h, j, r], axis=r),
        name="scores",
    )
    scaled = te.compute(
        shape, lambda h, i, j: scores[h, i, j] * (1.0 / math.sqrt(d)), name="scaled"
    )
    top = te.compute((heads, s), lambda h, i: te.max(scaled[h, i, m], axis=m), name="top")
    power = te.compute(shape, lambda h, i, j: te.exp(scaled[h, i, j] - top[h, i]), name="power")
    total = te.compute((heads, s), lambda h, i: te.sum(power[h, i, n], axis=n), name="total")
    share = te.compute(shape, lambda h, i, j: power[h, i, j] / total[h, i], name="share")
    result = te.compute(
        (heads, s, d), lambda h, i, j: te.sum(share[h, i, t] * v[h, t, j], axis=t), name="B"
    )
    return [q, k, v, result]


def stencil(axes: int, n: int) -> list[te.Tensor]:
    """Mean of the neighbours on each axis, and of the middle."""
    a = te.placeholder((n + 2,) * axes, name="A")

    def element(*at: Any) -> Any:
        total = a[tuple(index + 1 for index in at)]
        for axis in range(axes):
            for step in (0, 2):
                place = (index + (step if each == axis else 1) for each, index in enumerate(at))
                total = total + a[tuple(place)]
        return total * (1.0 / (2 * axes + 1))

    return [a, te.compute((n,) * axes, element, name="B")]


def blur(n: int) -> list[te.Tensor]:
    """Mean of three by three, columns first."""
    a = te.placeholder((n + 2, n + 2), name="A")
    columns = te.compute(
        (n, n + 2), lambda i, j: (a[i, j] + a[i + 1, j] + a[i + 2, j]) * (1 / 3), name="columns"
    )
    row = te.compute(
        (n, n),
        lambda i, j: (columns[i, j] + columns[i, j + 1] + columns[i, j + 2]) * (1 / 3),
        name="B",
    )
    return [a, row]


def prefix_sum(n: int) -> list[te.Tensor]:
    """B[i] = sum of A[0..i]."""
    a = te.placeholder((n,), name="A")
    state = te.placeholder((n,), name="state")
    init = te.compute((1,), lambda i: a[i], name="first")
    update = te.compute((n,), lambda i: state[i - 1] + a[i], name="next")
    return [a, te.scan(init, update, state)]


def _product(m: int, n: int, k: int, layout: str = "nn", batch: int = 0) -> list[te.Tensor]:
    return programs.product(m, n, k, layout=layout, batch=batch)


TENSORS: dict[str, Callable[..., Sequence[te.Tensor]]] = {
    "product": _product,
    "convolution": convolution,
    "softmax": programs.softmax,
    "layer norm": layer_norm,
    "gelu": gelu,
    "add": programs.add,
    "row sums": programs.row_sums,
    "column sums": column_sums,
    "transpose": transpose,
    "attention": attention,
    "jacobi": lambda n: stencil(2, n),
    "heat": lambda n: stencil(3, n),
    "blur": blur,
    "prefix sum": prefix_sum,
}


def product_by_hand(sch: tir.Schedule) -> None:
    """Keep tiles of the result in registers, in blocks of k; see examples/tutorials/gemm.py."""
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)[-3:]
    rows, lanes = (6, 8) if sch_lanes() == 8 else (8, 16)
    row_tiles, rows_inside = sch.split(i, [None, rows])
    column_tiles, vectors, lane = sch.split(j, [None, 2, lanes])
    sch.reorder(column_tiles, row_tiles, k, rows_inside, vectors, lane)
    sch.vectorize(lane)
    sch.unroll(rows_inside)
    sch.unroll(vectors)
    sch.decompose_reduction(block, k)
    sch.parallel(column_tiles)


def sch_lanes() -> int:
    """Return how many floats a vector of this machine has."""
    return 16 if "avx512f" in Path("/proc/cpuinfo").read_text() else 8


def softmax_by_hand(sch: tir.Schedule) -> None:
    """Compute each row in one iteration of a parallel loop, in vectors."""
    row = sch.get_loops("B")[0]
    for name in ("total", "e", "top"):
        sch.compute_at(name, row)
    for name in ("e", "B"):
        loop = sch.get_loops(name)[-1]
        sch.vectorize(sch.split(loop, [None, sch_lanes()])[1])
    sch.parallel(row)


BY_HAND: dict[str, Callable[[tir.Schedule], None]] = {
    "product": product_by_hand,
    "softmax": softmax_by_hand,
}


def prepare(kind: str, *arrays: Any, by_hand: bool, **sizes: Any) -> Any:
    """Compile a workload; return a call of it, None where there is no schedule by hand."""
    func = te.create_prim_func(list(TENSORS[kind](**sizes)))
    program: Any = func
    if by_hand:
        if kind not in BY_HAND or sizes.get("layout", "nn") != "nn":
            return None
        program = tir.Schedule(func)
        try:
            BY_HAND[kind](program)
        except ls.ScheduleError:
            return None
    module = ls.build(program, num_threads=THREADS)
    return lambda: module(*arrays)


def _program(kind: str, by_hand: bool) -> Callable[..., Any]:
    return lambda *arrays, **sizes: prepare(kind, *arrays, by_hand=by_hand, **sizes)


IS_BY_HAND = os.environ.get("BENCH_SCHEDULE") == "hand"
PROGRAMS = {kind: _program(kind, IS_BY_HAND) for kind in TENSORS}
