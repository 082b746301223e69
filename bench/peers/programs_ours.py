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
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "cpu"))

import attention as online
import convolution as direct
import few_rows
import gemm
import images
import programs
import rows
import transpose as tiles

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


# ---- By hand: the last steps of the tutorials of examples/cpu ----


def product_by_hand(
    m: int, n: int, k: int, layout: str = "nn", batch: int = 0
) -> tir.Schedule | None:
    """Packed tiles, or rows of B side by side where there are few of A."""
    cut = gemm.blocks()
    if layout != "nn" or batch or n < cut.width:
        return None
    if m == 1:
        return few_rows.in_rows_of_threads(few_rows.product(m, n, k))
    if m <= few_rows.lanes():
        return few_rows.along_rows_for_many(few_rows.product(m, n, k))
    panel = min(cut.columns, -(-n // cut.width) * cut.width)
    return gemm.on_all_cores(gemm.Size(m, n, k), cut._replace(columns=panel))


def convolution_by_hand(
    c: int, o: int, h: int, f: int, stride: int = 1, pad: int = 0, groups: int = 1
) -> tir.Schedule | None:
    """Tiles of pixels by channels, where the size stays."""
    if stride != 1 or groups != 1 or pad != f // 2 or f == 1:
        return None
    pixels, vectors = (2 * direct.PIXELS, 2) if h >= 2 * direct.PIXELS else (direct.PIXELS, 4)
    return direct.nchw_on_all(direct.conv_nchw(h, c, o, f), pixels, vectors)


def attention_by_hand(heads: int, s: int, d: int) -> tir.Schedule | None:
    """One nest, with blocks of 32 rows by 128 keys."""
    if s % 128:
        return None
    return online.on_all_threads(online.online(heads, s, d, 32, 128))


BY_HAND: dict[str, Callable[..., tir.Schedule | None]] = {
    "product": product_by_hand,
    "convolution": convolution_by_hand,
    "softmax": lambda **sizes: rows.on_all_threads(rows.softmax(**sizes)),
    "layer norm": lambda **sizes: rows.norm_in_vectors(rows.layer_norm(**sizes)),
    "transpose": lambda **sizes: tiles.down_two_lines(tiles.transpose(**sizes)),
    "attention": attention_by_hand,
    "blur": lambda n: images.nothing_kept(images.blur(n, n)),
}


def prepare(kind: str, *arrays: Any, by_hand: bool, **sizes: Any) -> Any:
    """Compile a workload; return a call of it, None where there is no schedule by hand."""
    if by_hand:
        program: Any = BY_HAND[kind](**sizes) if kind in BY_HAND else None
        if program is None:
            return None
    else:
        program = te.create_prim_func(list(TENSORS[kind](**sizes)))
    if by_hand and kind == "convolution":  # Of one image.
        arrays = tuple(array[0] if array.shape[0] == 1 else array for array in arrays)
    module = ls.build(program, num_threads=THREADS)
    return lambda: module(*arrays)


def _program(kind: str, by_hand: bool) -> Callable[..., Any]:
    return lambda *arrays, **sizes: prepare(kind, *arrays, by_hand=by_hand, **sizes)


IS_BY_HAND = os.environ.get("BENCH_SCHEDULE") == "hand"
PROGRAMS = {kind: _program(kind, IS_BY_HAND) for kind in TENSORS}
