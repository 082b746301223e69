# SPDX-License-Identifier: Apache-2.0
"""What is measured: the sizes, the operands, the results in double, and how much work it is."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Kind:
    """A computation, for any sizes.

    Attributes
    ----------
    shapes
        The shapes of the operands, then that of the result.
    flops
        Operations; those of functions in slots of the FMA unit: 20 for `exp`.
    compute
        The result, of operands in double.
    """

    shapes: Callable[..., list[tuple[int, ...]]]
    flops: Callable[..., float]
    compute: Callable[..., Array]


@dataclass(frozen=True)
class Workload:
    """A computation with its sizes."""

    name: str
    kind: str
    sizes: dict[str, Any] = field(default_factory=dict)
    is_quick: bool = False

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """The shapes of the operands and of the result."""
        return KINDS[self.kind].shapes(**self.sizes)

    @property
    def flops(self) -> float:
        """How many operations it takes."""
        return float(KINDS[self.kind].flops(**self.sizes))

    @property
    def bytes(self) -> float:
        """How many bytes have to be read and written, each once."""
        return float(4 * sum(math.prod(shape) for shape in self.shapes))

    def operands(self) -> list[Array]:
        """Return random operands, float32, always the same ones."""
        rng = np.random.default_rng(0)
        return [rng.standard_normal(shape, np.float32) for shape in self.shapes[:-1]]

    def expected(self) -> Array:
        """Return the result, computed in double."""
        operands = [operand.astype(np.float64) for operand in self.operands()]
        return KINDS[self.kind].compute(*operands, **self.sizes)


def _product_shapes(m: int, n: int, k: int, layout: str = "nn", batch: int = 0) -> list[Any]:
    outer = (batch,) if batch else ()
    a = (k, m) if layout[0] == "t" else (m, k)
    b = (n, k) if layout[1] == "t" else (k, n)
    return [(*outer, *a), (*outer, *b), (*outer, m, n)]


def _product(a: Array, b: Array, layout: str = "nn", **_: int) -> Array:
    left = a.swapaxes(-1, -2) if layout[0] == "t" else a
    right = b.swapaxes(-1, -2) if layout[1] == "t" else b
    return left @ right


def result_size(h: int, f: int, stride: int, pad: int) -> int:
    """Return how many places a filter has on one axis."""
    return (h + 2 * pad - f) // stride + 1


def _convolution_shapes(
    c: int, o: int, h: int, f: int, stride: int = 1, pad: int = 0, groups: int = 1, n: int = 1
) -> list[Any]:
    side = result_size(h, f, stride, pad)
    return [(n, c, h, h), (o, c // groups, f, f), (n, o, side, side)]


def _taps(h: int, f: int, stride: int, pad: int) -> int:
    """Return how many taps of a filter lie inside the image, on one axis."""
    places = range(result_size(h, f, stride, pad))
    return sum(0 <= place * stride + tap - pad < h for place in places for tap in range(f))


def _convolution_flops(
    c: int, o: int, h: int, f: int, stride: int = 1, pad: int = 0, groups: int = 1, n: int = 1
) -> float:
    return 2.0 * n * o * (c // groups) * _taps(h, f, stride, pad) ** 2


def _convolution(
    a: Array, w: Array, f: int, h: int, stride: int = 1, pad: int = 0, groups: int = 1, **_: int
) -> Array:
    a = np.pad(a, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    side = result_size(h, f, stride, pad)
    parts = []
    for x, v in zip(np.split(a, groups, axis=1), np.split(w, groups, axis=0)):
        total = np.zeros((a.shape[0], v.shape[0], side, side))
        for i in range(f):
            for j in range(f):
                window = x[:, :, i : i + stride * side : stride, j : j + stride * side : stride]
                total += np.einsum("nchw,oc->nohw", window[:, :, :side, :side], v[:, :, i, j])
        parts.append(total)
    return np.concatenate(parts, axis=1)


def _softmax(a: Array, **_: int) -> Array:
    power = np.exp(a - a.max(axis=-1, keepdims=True))
    return power / power.sum(axis=-1, keepdims=True)


EPSILON = 1e-5
"""What layer norm adds to the variance."""


def _layer_norm(a: Array, **_: int) -> Array:
    return (a - a.mean(axis=-1, keepdims=True)) / np.sqrt(a.var(axis=-1, keepdims=True) + EPSILON)


GELU = math.sqrt(2 / math.pi)


def _gelu(a: Array, b: Array, **_: int) -> Array:
    x = a + b
    return 0.5 * x * (1 + np.tanh(GELU * (x + 0.044715 * x**3)))


def _attention(q: Array, k: Array, v: Array, d: int, **_: int) -> Array:
    return _softmax(q @ k.swapaxes(-1, -2) / math.sqrt(d)) @ v


def _jacobi(a: Array, **_: int) -> Array:
    inner = a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:]
    return 0.2 * inner


def _heat(a: Array, **_: int) -> Array:
    c = slice(1, -1)
    sides = a[:-2, c, c] + a[2:, c, c] + a[c, :-2, c] + a[c, 2:, c] + a[c, c, :-2] + a[c, c, 2:]
    return (a[c, c, c] + sides) / 7.0


def _blur(a: Array, **_: int) -> Array:
    rows = (a[:-2] + a[1:-1] + a[2:]) / 3.0
    return (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 3.0


def _plane(rows: int, columns: int) -> list[Any]:
    return [(rows, columns), (rows, columns)]


KINDS: dict[str, Kind] = {
    "product": Kind(
        _product_shapes,
        lambda m, n, k, batch=0, **_: 2.0 * m * n * k * max(batch, 1),
        _product,
    ),
    "convolution": Kind(_convolution_shapes, _convolution_flops, _convolution),
    "softmax": Kind(_plane, lambda rows, columns: 24.0 * rows * columns, _softmax),
    "layer norm": Kind(_plane, lambda rows, columns: 6.0 * rows * columns, _layer_norm),
    "gelu": Kind(
        lambda rows, columns: [(rows, columns), (columns,), (rows, columns)],
        lambda rows, columns: 44.0 * rows * columns,
        _gelu,
    ),
    "add": Kind(lambda n: [(n,), (n,), (n,)], lambda n: float(n), lambda a, b, **_: a + b),
    "row sums": Kind(
        lambda rows, columns: [(rows, columns), (rows,)],
        lambda rows, columns: float(rows * columns),
        lambda a, **_: a.sum(axis=1),
    ),
    "column sums": Kind(
        lambda rows, columns: [(rows, columns), (columns,)],
        lambda rows, columns: float(rows * columns),
        lambda a, **_: a.sum(axis=0),
    ),
    "transpose": Kind(
        lambda rows, columns: [(rows, columns), (columns, rows)],
        lambda rows, columns: 0.0,
        lambda a, **_: a.T,
    ),
    "attention": Kind(
        lambda heads, s, d: [(heads, s, d)] * 4,
        lambda heads, s, d: heads * (4.0 * s * s * d + 24.0 * s * s),
        _attention,
    ),
    "jacobi": Kind(
        lambda n: [(n + 2, n + 2), (n, n)], lambda n: 5.0 * n * n, _jacobi
    ),
    "heat": Kind(
        lambda n: [(n + 2, n + 2, n + 2), (n, n, n)], lambda n: 7.0 * n**3, _heat
    ),
    "blur": Kind(lambda n: [(n + 2, n + 2), (n, n)], lambda n: 6.0 * n * n, _blur),
    "prefix sum": Kind(
        lambda n: [(n,), (n,)], lambda n: float(n), lambda a, **_: np.cumsum(a)
    ),
}  # fmt: skip


def _cube(n: int, is_quick: bool = False, **form: Any) -> Workload:
    label = ", ".join(str(value) for value in form.values())
    return Workload(
        f"product {n}^3 {label}".strip(), "product", {"m": n, "n": n, "k": n, **form}, is_quick
    )


def _sized(kind: str, is_quick: bool = False, **sizes: Any) -> Workload:
    text = " ".join(f"{name}{value}" for name, value in sizes.items())
    return Workload(f"{kind} {text}", kind, sizes, is_quick)


WORKLOADS: Sequence[Workload] = (
    *(_cube(n, n in (64, 256, 512)) for n in (64, 128, 256, 512, 997, 1024, 2048)),
    _cube(1024, layout="tn"),
    _cube(1024, layout="nt"),
    _cube(128, True, batch=12),
    _sized("product", True, m=1, n=4096, k=4096),
    _sized("product", m=16, n=4096, k=4096),
    _sized("product", m=32768, n=8, k=512),
    _sized("product", m=256, n=256, k=8192),
    _sized("convolution", True, c=64, o=64, h=56, f=3, pad=1),
    _sized("convolution", c=256, o=256, h=14, f=3, pad=1),
    _sized("convolution", c=512, o=512, h=7, f=3, pad=1),
    _sized("convolution", c=64, o=64, h=56, f=1),
    _sized("convolution", c=3, o=64, h=224, f=7, stride=2, pad=3),
    _sized("convolution", True, c=32, o=32, h=112, f=3, pad=1, groups=32),
    _sized("convolution", c=64, o=128, h=56, f=3, stride=2, pad=1, groups=4),
    _sized("softmax", True, rows=1024, columns=1024),
    _sized("softmax", rows=64, columns=32000),
    _sized("layer norm", rows=128, columns=768),
    _sized("layer norm", True, rows=2048, columns=1024),
    _sized("gelu", True, rows=1024, columns=1024),
    _sized("add", True, n=1 << 20),
    _sized("add", n=1 << 24),
    _sized("row sums", True, rows=4096, columns=4096),
    _sized("column sums", rows=4096, columns=4096),
    _sized("transpose", True, rows=1000, columns=1000),
    _sized("transpose", rows=4096, columns=4096),
    _sized("attention", True, heads=12, s=128, d=64),
    _sized("attention", heads=16, s=512, d=64),
    _sized("jacobi", True, n=2000),
    _sized("heat", n=128),
    _sized("blur", n=2000),
    _sized("prefix sum", True, n=1 << 20),
)
"""All rows of the table; the quick ones are those that `--quick` keeps."""
