# SPDX-License-Identifier: Apache-2.0
"""Programs as tensor expressions: each function gives the tensors of one, inputs first."""

from __future__ import annotations

from typing import Any

from loopsmith import te, tir

from ....missing import other_names

__all__ = [
    "batch_matmul_nkkm",
    "batch_matmul_nkmk",
    "conv2d_nchw",
    "conv2d_nhwc",
    "matmul",
    "matmul_relu",
    "softmax_mn",
]


def _as(dtype: str, value: Any) -> Any:
    return value if str(value.dtype) == dtype else tir.cast(dtype, value)


def matmul(
    n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Any, Any, Any]:
    """Return A (n, k), B (k, m) and their product C."""
    a = te.placeholder((n, k), in_dtype, "A")
    b = te.placeholder((k, m), in_dtype, "B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute(
        (n, m),
        lambda i, j: te.sum(_as(out_dtype, a[i, r]) * _as(out_dtype, b[r, j]), axis=[r]),
        name="C",
    )
    return a, b, c


def matmul_relu(
    n: int, m: int, k: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Any, Any, Any]:
    """Return A (n, k), B (k, m) and what is positive of their product, else 0."""
    a, b, c = matmul(n, m, k, in_dtype, out_dtype)
    relu = te.compute(
        (n, m), lambda i, j: tir.max(c[i, j], tir.const(0, out_dtype)), name="compute"
    )
    return a, b, relu


def batch_matmul_nkmk(
    B: int, N: int, M: int, K: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Any, Any, Any]:
    """Return X (B, N, K), Y (B, M, K) and the products Z of X and Y transposed."""
    return _batched(B, N, M, K, in_dtype, out_dtype, is_transposed=True)


def batch_matmul_nkkm(
    B: int, N: int, M: int, K: int, in_dtype: str = "float32", out_dtype: str = "float32"
) -> tuple[Any, Any, Any]:
    """Return X (B, N, K), Y (B, K, M) and their products Z."""
    return _batched(B, N, M, K, in_dtype, out_dtype, is_transposed=False)


def _batched(
    count: int, n: int, m: int, k: int, in_dtype: str, out_dtype: str, is_transposed: bool
) -> tuple[Any, Any, Any]:
    x = te.placeholder((count, n, k), in_dtype, "X")
    y = te.placeholder((count, m, k) if is_transposed else (count, k, m), in_dtype, "Y")
    r = te.reduce_axis((0, k), "k")

    def element(b: Any, i: Any, j: Any) -> Any:
        right = y[b, j, r] if is_transposed else y[b, r, j]
        return te.sum(_as(out_dtype, x[b, i, r]) * _as(out_dtype, right), axis=[r])

    return x, y, te.compute((count, n, m), element, name="Z")


def _padded(x: Any, places: tuple[int, int], by: int) -> Any:
    shape = [size + 2 * by if d in places else size for d, size in enumerate(x.shape)]

    def element(*at: Any) -> Any:
        inside = []
        source = []
        for d, index in enumerate(at):
            if d not in places:
                source.append(index)
                continue
            inside += [index >= by, index < x.shape[d] + by]
            source.append(index - by)
        return tir.if_then_else(tir.all(*inside), x[tuple(source)], tir.const(0, x.dtype))

    return te.compute(shape, element, name="PadInput")


def conv2d_nhwc(
    N: int,
    H: int,
    W: int,
    CI: int,
    CO: int,
    kernel_size: int,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> tuple[Any, Any, Any]:
    """Return inputs (N, H, W, CI), weights (k, k, CI // groups, CO) and their convolution."""
    inputs = te.placeholder((N, H, W, CI), in_dtype, "inputs")
    weight = te.placeholder((kernel_size, kernel_size, CI // groups, CO), in_dtype, "weight")
    padded = _padded(inputs, (1, 2), padding)
    size = [(n + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1 for n in (H, W)]
    rh, rw = (te.reduce_axis((0, kernel_size), name) for name in ("rh", "rw"))
    rc = te.reduce_axis((0, CI // groups), "rc")

    def element(n: Any, h: Any, w: Any, co: Any) -> Any:
        channel = rc if groups == 1 else co // (CO // groups) * (CI // groups) + rc
        read = padded[n, h * stride + rh * dilation, w * stride + rw * dilation, channel]
        return te.sum(
            _as(out_dtype, read) * _as(out_dtype, weight[rh, rw, rc, co]), axis=[rh, rw, rc]
        )

    return inputs, weight, te.compute((N, *size, CO), element, name="conv2d_nhwc")


def conv2d_nchw(
    n: int,
    h: int,
    w: int,
    ci: int,
    co: int,
    kh: int,
    kw: int,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    in_dtype: str = "float32",
    out_dtype: str = "float32",
) -> tuple[Any, Any, Any]:
    """Return inputs (n, ci, h, w), weights (co, ci, kh, kw) and their convolution."""
    x = te.placeholder((n, ci, h, w), in_dtype, "X")
    weight = te.placeholder((co, ci, kh, kw), in_dtype, "W")
    padded = _padded(x, (2, 3), padding)
    height = (h + 2 * padding - dilation * (kh - 1) - 1) // stride + 1
    width = (w + 2 * padding - dilation * (kw - 1) - 1) // stride + 1
    rc, rh, rw = (te.reduce_axis((0, e), name) for e, name in ((ci, "rc"), (kh, "rh"), (kw, "rw")))

    def element(b: Any, c: Any, i: Any, j: Any) -> Any:
        read = padded[b, rc, i * stride + rh * dilation, j * stride + rw * dilation]
        return te.sum(
            _as(out_dtype, read) * _as(out_dtype, weight[c, rc, rh, rw]), axis=[rc, rh, rw]
        )

    return x, weight, te.compute((n, co, height, width), element, name="conv2d_nchw")


def softmax_mn(m: int, n: int) -> tuple[Any, Any]:
    """Return A (m, n) and the softmax of its rows."""
    a = te.placeholder((m, n), "float32", "A")
    k = te.reduce_axis((0, n), "k")
    top = te.compute((m,), lambda i: te.max(a[i, k], axis=k), name="T_softmax_maxelem")
    e = te.compute((m, n), lambda i, j: tir.exp(a[i, j] - top[i]), name="T_softmax_exp")
    r = te.reduce_axis((0, n), "k")
    total = te.compute((m,), lambda i: te.sum(e[i, r], axis=r), name="T_softmax_expsum")
    return a, te.compute((m, n), lambda i, j: e[i, j] / total[i], name="T_softmax_norm")


__getattr__ = other_names("tvm.meta_schedule.testing.te_workload")
