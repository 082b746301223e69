# SPDX-License-Identifier: Apache-2.0
"""The workloads as tensor expressions, for compilers that have a module `te` of that language."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

from workloads import EPSILON, GELU, result_size


def product(te: Any, m: int, n: int, k: int, layout: str = "nn", batch: int = 0) -> list[Any]:
    """C = A @ B, of a batch where there is one; `layout` says which operand is transposed."""
    outer = (batch,) if batch else ()
    a = te.placeholder((*outer, *((k, m) if layout[0] == "t" else (m, k))), name="A")
    b = te.placeholder((*outer, *((n, k) if layout[1] == "t" else (k, n))), name="B")
    r = te.reduce_axis((0, k), "r")

    def element(*at: Any) -> Any:
        *outside, i, j = at
        left = a[(*outside, r, i) if layout[0] == "t" else (*outside, i, r)]
        right = b[(*outside, j, r) if layout[1] == "t" else (*outside, r, j)]
        return te.sum(left * right, axis=r)

    return [a, b, te.compute((*outer, m, n), element, name="C")]


def add(te: Any, n: int) -> list[Any]:
    """C = A + B."""
    a, b = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    return [a, b, te.compute((n,), lambda i: a[i] + b[i], name="C")]


def softmax(te: Any, rows: int, columns: int) -> list[Any]:
    """Softmax of rows."""
    a = te.placeholder((rows, columns), name="A")
    k, m = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "m")
    top = te.compute((rows,), lambda i: te.max(a[i, k], axis=k), name="top")
    power = te.compute((rows, columns), lambda i, j: te.exp(a[i, j] - top[i]), name="power")
    total = te.compute((rows,), lambda i: te.sum(power[i, m], axis=m), name="total")
    return [a, te.compute((rows, columns), lambda i, j: power[i, j] / total[i], name="B")]


def row_sums(te: Any, rows: int, columns: int) -> list[Any]:
    """B[i] = sum over k of A[i, k]."""
    a, k = te.placeholder((rows, columns), name="A"), te.reduce_axis((0, columns), "k")
    return [a, te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="B")]


def convolution(
    te: Any, c: int, o: int, h: int, f: int, stride: int = 1, pad: int = 0, groups: int = 1
) -> list[Any]:
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


def layer_norm(te: Any, rows: int, columns: int) -> list[Any]:
    """Rows less their mean, over their deviation."""
    a = te.placeholder((rows, columns), name="A")
    k, m = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "m")
    total = te.compute((rows,), lambda i: te.sum(a[i, k], axis=k), name="total")
    squares = te.compute((rows,), lambda i: te.sum(a[i, m] * a[i, m], axis=m), name="squares")

    def normalized(i: Any, j: Any) -> Any:
        mean = total[i] / columns
        return (a[i, j] - mean) * te.rsqrt(squares[i] / columns - mean * mean + EPSILON)

    return [a, te.compute((rows, columns), normalized, name="B")]


def gelu(te: Any, rows: int, columns: int) -> list[Any]:
    """Gelu of A with a bias, by tanh."""
    a, b = te.placeholder((rows, columns), name="A"), te.placeholder((columns,), name="bias")

    def element(i: Any, j: Any) -> Any:
        x = a[i, j] + b[j]
        return 0.5 * x * (1.0 + te.tanh(GELU * (x + 0.044715 * x * x * x)))

    return [a, b, te.compute((rows, columns), element, name="B")]


def column_sums(te: Any, rows: int, columns: int) -> list[Any]:
    """B[j] = sum over k of A[k, j]."""
    a, k = te.placeholder((rows, columns), name="A"), te.reduce_axis((0, rows), "k")
    return [a, te.compute((columns,), lambda j: te.sum(a[k, j], axis=k), name="B")]


def transpose(te: Any, rows: int, columns: int) -> list[Any]:
    """B[i, j] = A[j, i]."""
    a = te.placeholder((rows, columns), name="A")
    return [a, te.compute((columns, rows), lambda i, j: a[j, i], name="B")]


def attention(te: Any, heads: int, s: int, d: int) -> list[Any]:
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


def stencil(te: Any, axes: int, n: int) -> list[Any]:
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


def blur(te: Any, n: int) -> list[Any]:
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


def prefix_sum(te: Any, n: int) -> list[Any]:
    """B[i] = sum of A[0..i]."""
    a = te.placeholder((n,), name="A")
    state = te.placeholder((n,), name="state")
    init = te.compute((1,), lambda i: a[i], name="first")
    update = te.compute((n,), lambda i: state[i - 1] + a[i], name="next")
    return [a, te.scan(init, update, state)]


def tensors_of(te: Any) -> dict[str, Callable[..., list[Any]]]:
    """Return the workloads by kind, in the language of a module."""
    programs: dict[str, Callable[..., list[Any]]] = {
        "product": product,
        "convolution": convolution,
        "softmax": softmax,
        "layer norm": layer_norm,
        "gelu": gelu,
        "add": add,
        "row sums": row_sums,
        "column sums": column_sums,
        "transpose": transpose,
        "attention": attention,
        "jacobi": partial(stencil, axes=2),
        "heat": partial(stencil, axes=3),
        "blur": blur,
        "prefix sum": prefix_sum,
    }
    return {kind: partial(program, te) for kind, program in programs.items()}
