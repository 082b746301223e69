# SPDX-License-Identifier: Apache-2.0
"""What the examples of this folder share: a program with its operands, and how it is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

import loopsmith as ls
from loopsmith import tir


class Example(NamedTuple):
    """A program, with a schedule or without, its operands, and what it makes of them."""

    program: tir.Schedule | tir.PrimFunc
    operands: Sequence[np.ndarray]
    expected: np.ndarray
    tolerance: float = 1e-4

    def check(self, result: np.ndarray) -> None:
        """Compare a result with what is expected."""
        np.testing.assert_allclose(
            result, self.expected, rtol=self.tolerance, atol=self.tolerance / 10
        )


def numbers(*shape: int, dtype: str = "float32", seed: int = 1) -> np.ndarray:
    """Return random numbers from -1 to 1, the same each time."""
    drawn = np.random.default_rng(seed).random(shape, "float32")
    return (2 * drawn - 1).astype(dtype)


def soft(x: np.ndarray) -> np.ndarray:
    """Return the softmax of rows, by NumPy."""
    powers: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def bind(sch: tir.Schedule, **axes: tir.LoopRV) -> None:
    """Bind loops: `bind(sch, blockIdx_x=i, threadIdx_x=j)`."""
    for axis, loop in axes.items():
        sch.bind(loop, axis.replace("_", "."))


def run(example: Example, target: str = "opencl") -> tuple[np.ndarray, Any, list[Any]]:
    """Build for a device, and call on arrays there: the result, the module, and the arrays."""
    module: Any = ls.build(example.program, target=target)
    arrays = [ls.array(each, device=target.split()[0]) for each in example.operands]
    empty = np.zeros(example.expected.shape, example.expected.dtype)
    arrays.append(ls.array(empty, device=target.split()[0]))
    module(*arrays)
    return arrays[-1].numpy(), module, arrays


def main(examples: Iterable[Callable[[], Example]]) -> None:
    """Run all on the first GPU with CUDA, or the first device with OpenCL, and print the times."""
    target = next((each for each in ("cuda", "opencl") if ls.device(each).exists), None)
    if target is None:
        print("no GPU with CUDA and no driver for OpenCL is here: install pocl-opencl-icd")
        return
    for make in examples:
        example = make()
        result, module, arrays = run(example, target)
        example.check(result)
        kernels = module.source(target).count("__global__" if target == "cuda" else "__kernel void")
        seconds = module.time(*arrays).median
        print(f"{make.__name__:24} {kernels} kernels {seconds * 1e3:9.3f} ms")
