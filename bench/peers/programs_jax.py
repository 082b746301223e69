# SPDX-License-Identifier: Apache-2.0
"""The workloads by JAX, which XLA compiles. Results are new arrays: JAX writes into none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from workloads import EPSILON, GELU


def version() -> str:
    """Return which JAX."""
    return f"JAX {jax.__version__}"


def compiled(make: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a program and put its operands where JAX wants them; calls wait for the result."""

    def prepare(*arrays: Any, **sizes: Any) -> Any:
        operands = [jax.device_put(array) for array in arrays[:-1]]
        function = jax.jit(make(**sizes))
        return lambda: function(*operands).block_until_ready()

    return prepare


def product(layout: str = "nn", **_: int) -> Any:
    """C = A @ B."""

    def program(a: Any, b: Any) -> Any:
        left = a.swapaxes(-1, -2) if layout[0] == "t" else a
        return left @ (b.swapaxes(-1, -2) if layout[1] == "t" else b)

    return program


def convolution(stride: int = 1, pad: int = 0, groups: int = 1, **_: int) -> Any:
    """Convolution, channels before rows."""
    return lambda a, w: jax.lax.conv_general_dilated(
        a, w, (stride, stride), [(pad, pad)] * 2, feature_group_count=groups
    )


def layer_norm(**_: int) -> Any:
    """Rows less their mean, over their deviation."""
    return lambda a: (
        (a - a.mean(-1, keepdims=True)) * jax.lax.rsqrt(a.var(-1, keepdims=True) + EPSILON)
    )


def gelu(**_: int) -> Any:
    """Gelu of A with a bias, by tanh."""

    def program(a: Any, b: Any) -> Any:
        x = a + b
        return 0.5 * x * (1 + jnp.tanh(GELU * (x + 0.044715 * x * x * x)))

    return program


def jacobi(**_: int) -> Any:
    """Mean of five neighbours."""
    return lambda a: 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def heat(**_: int) -> Any:
    """Mean of seven neighbours."""
    c = slice(1, -1)
    return lambda a: (
        (a[c, c, c] + a[:-2, c, c] + a[2:, c, c] + a[c, :-2, c] + a[c, 2:, c])
        + (a[c, c, :-2] + a[c, c, 2:])
    ) / 7  # fmt: skip


def blur(**_: int) -> Any:
    """Mean of three by three, rows first."""

    def program(a: Any) -> Any:
        rows = (a[:-2] + a[1:-1] + a[2:]) / 3
        return (rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]) / 3

    return program


def attention(d: int, **_: int) -> Any:
    """Softmax of the scores, by the values."""
    return lambda q, k, v: jax.nn.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(d), axis=-1) @ v


PROGRAMS = {
    "product": compiled(product),
    "convolution": compiled(convolution),
    "softmax": compiled(lambda **_: lambda a: jax.nn.softmax(a, axis=-1)),
    "layer norm": compiled(layer_norm),
    "gelu": compiled(gelu),
    "add": compiled(lambda **_: lambda a, b: a + b),
    "row sums": compiled(lambda **_: lambda a: a.sum(axis=1)),
    "column sums": compiled(lambda **_: lambda a: a.sum(axis=0)),
    "transpose": compiled(lambda **_: lambda a: a.T),
    "attention": compiled(attention),
    "jacobi": compiled(jacobi),
    "heat": compiled(heat),
    "blur": compiled(blur),
    "prefix sum": compiled(lambda **_: jnp.cumsum),
}
