# SPDX-License-Identifier: Apache-2.0
"""Programs without a schedule on a GPU: what the rules make of them.

`python examples/gpu/by_rule.py` builds each for the first device with OpenCL, compares it with
NumPy, and prints how many kernels it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import loopsmith as ls
from loopsmith import te, tir


class Example(NamedTuple):
    """A program, its operands, and what it computes of them."""

    func: tir.PrimFunc
    operands: list[np.ndarray]
    expected: Callable[..., np.ndarray]


def numbers(*shape: int) -> np.ndarray:
    """Return random numbers, the same each time."""
    return np.random.default_rng(sum(shape)).random(shape, "float32")


def soft(x: np.ndarray) -> np.ndarray:
    """Return the softmax of rows, by NumPy."""
    powers: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def softmax(rows: int = 64, columns: int = 256) -> Example:
    """One kernel: the maximum, the powers and their sum stay in the block of a row."""
    x = te.placeholder((rows, columns), name="X")
    return Example(
        te.create_prim_func([x, te.nn.softmax(x)]), [numbers(rows, columns)], lambda a: soft(a)
    )


def attention(tokens: int = 64, width: int = 32) -> Example:
    """Three kernels: the scores, tiled; their softmax, by rows; the weighted sums, tiled."""
    q, k, v = (te.placeholder((tokens, width), name=name) for name in "QKV")
    r = te.reduce_axis((0, width), name="r")
    scores = te.compute(
        (tokens, tokens),
        lambda i, j: te.sum(q[i, r] * k[j, r], axis=r),
        name="scores",
    )
    weights = te.nn.softmax(scores)
    t = te.reduce_axis((0, tokens), name="t")
    out = te.compute(
        (tokens, width), lambda i, d: te.sum(weights[i, t] * v[t, d], axis=t), name="out"
    )
    return Example(
        te.create_prim_func([q, k, v, out]),
        [numbers(tokens, width) + i for i in range(3)],
        lambda a, b, c: soft(a @ b.T) @ c,
    )


def prefix_sum(count: int = 5000) -> Example:
    """Sums of parts, what each part begins with, and the parts: a scan written as a loop."""
    func = ls.from_source(f"""
@T.prim_func
def prefix_sum(A: T.Buffer(({count},), "int32"), S: T.Buffer(({count + 1},), "int32")):
    S[0] = 0
    for i in range({count}):
        with T.block("S"):
            vi = T.axis.reduce({count}, i)
            S[vi + 1] = S[vi] + A[vi]
""")
    operand = np.arange(count, dtype="int32") % 7
    return Example(func, [operand], lambda a: np.concatenate([[0], a.cumsum()]))


def box_blur(size: int = 64) -> Example:
    """One kernel: sums of neighbours are computed where they are used."""
    x = te.placeholder((size + 2, size + 2), name="X")
    dy, dx = te.reduce_axis((0, 3), name="dy"), te.reduce_axis((0, 3), name="dx")
    total = te.compute(
        (size, size), lambda i, j: te.sum(x[i + dy, j + dx], axis=[dy, dx]), name="total"
    )
    blur = te.compute((size, size), lambda i, j: total[i, j] / 9.0, name="blur")

    def expected(a: np.ndarray) -> np.ndarray:
        parts = [a[i : i + size, j : j + size] for i in range(3) for j in range(3)]
        mean: np.ndarray = np.mean(parts, axis=0)
        return mean

    return Example(te.create_prim_func([x, blur]), [numbers(size + 2, size + 2)], expected)


EXAMPLES: list[Callable[[], Example]] = [softmax, attention, prefix_sum, box_blur]


def run(example: Example, target: str = "opencl") -> tuple[np.ndarray, ls.Module]:
    """Build an example for a device, and call it on arrays there."""
    module: Any = ls.build(example.func, target=target)
    operands = [ls.array(each, device=target) for each in example.operands]
    wanted = example.expected(*example.operands)
    result = ls.empty(wanted.shape, str(example.operands[0].dtype), device=target)
    module(*operands, result)
    np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-4)
    return result.numpy(), module


def main() -> None:
    """Run all examples."""
    if not ls.device("opencl").exists:
        print("no driver for OpenCL is here: install pocl-opencl-icd")
        return
    for make in EXAMPLES:
        _, module = run(make())
        kernels = module.source("opencl").count("__kernel void")
        print(f"{make.__name__:12} {kernels} kernels")


if __name__ == "__main__":
    main()
