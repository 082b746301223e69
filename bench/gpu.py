# SPDX-License-Identifier: Apache-2.0
"""Kernels by rule on a GPU with CUDA, beside cuBLAS and the kernels of PyTorch.

Products are compared with cuBLAS (through PyTorch), everything else with the bandwidth of a copy.
Ratios above the goal meet it. Where there is no GPU, it says so and measures nothing.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from measure import print_table

import loopsmith as ls
from loopsmith import te

PRODUCT_GOAL = 0.95
BANDWIDTH_GOAL = 0.92
RNG = np.random.default_rng(1)


def product(n: int) -> list[te.Tensor]:
    """A product of n x n matrices."""
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def softmax(n: int) -> list[te.Tensor]:
    """Of n rows."""
    x = te.placeholder((n, n), name="X")
    return [x, te.nn.softmax(x)]


def elements(n: int) -> list[te.Tensor]:
    """A function of each element."""
    x = te.placeholder((n, n), name="X")
    return [x, te.compute((n, n), lambda i, j: te.exp(x[i, j]) + 1.0, name="Y")]


def transpose(n: int) -> list[te.Tensor]:
    """Of an n x n matrix."""
    x = te.placeholder((n, n), name="X")
    return [x, te.compute((n, n), lambda i, j: x[j, i], name="Y")]


def rows(n: int) -> list[te.Tensor]:
    """Sums of rows."""
    x, k = te.placeholder((n, n), name="X"), te.reduce_axis((0, n), name="k")
    return [x, te.compute((n,), lambda i: te.sum(x[i, k], axis=k), name="Y")]


def columns(n: int) -> list[te.Tensor]:
    """Sums of columns."""
    x, k = te.placeholder((n, n), name="X"), te.reduce_axis((0, n), name="k")
    return [x, te.compute((n,), lambda j: te.sum(x[k, j], axis=k), name="Y")]


def total(n: int) -> list[te.Tensor]:
    """One sum of all."""
    x, k = te.placeholder((n * n,), name="X"), te.reduce_axis((0, n * n), name="k")
    return [x, te.compute((1,), lambda _: te.sum(x[k], axis=k), name="Y")]


def arrays_of(tensors: list[te.Tensor], device: ls.Device) -> list[Any]:
    """Return arrays of the device: random operands, and room for the result."""
    shapes = [tuple(int(s) for s in tensor.shape) for tensor in tensors]
    made = [ls.array(RNG.random(shape, "float32"), device=device) for shape in shapes[:-1]]
    return [*made, ls.empty(shapes[-1], device=device)]


def peer(name: str) -> Any | None:
    """Return a library, if it is there and has a GPU."""
    try:
        module = importlib.import_module(name)
    except ImportError:
        return None
    return module if module.cuda.is_available() else None


def seconds_of(torch: Any, call: Callable[[], object], repeat: int = 20) -> float:
    """Return the median time of a call of PyTorch, by events."""
    samples = []
    call()
    for _ in range(repeat):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        samples.append(start.elapsed_time(end) * 1e-3)
    return float(np.median(samples))


def products(device: ls.Device) -> list[tuple[str, ...]]:
    """Measure products beside cuBLAS."""
    torch = peer("torch")
    table = []
    for n in (512, 1024, 2048, 4096, 8192):
        tensors = product(n)
        seconds = ls.build(tensors, target="cuda").time(*arrays_of(tensors, device)).median
        row = (f"float32 product {n}", f"{2 * n**3 / seconds / 1e12:.2f} TFLOP/s")
        if torch is None:
            table.append((*row, "no PyTorch with CUDA", "-"))
            continue
        torch.backends.cuda.matmul.allow_tf32 = False
        a, b = (torch.rand(n, n, device="cuda") for _ in range(2))
        ratio = seconds_of(torch, lambda a=a, b=b: a @ b) / seconds
        table.append((*row, f"{ratio:.2f}", "met" if ratio >= PRODUCT_GOAL else "missed"))
    return table


def streams(device: ls.Device) -> list[tuple[str, ...]]:
    """Measure what moves memory beside a copy."""
    n = 8192
    copied = [te.placeholder((n, n), name="X")]
    copied.append(te.compute((n, n), lambda i, j: copied[0][i, j], name="Y"))
    best = 0.0
    table = []
    for name, make in [
        ("copy", lambda _: copied),
        ("elements", elements),
        ("softmax", softmax),
        ("transpose", transpose),
        ("sums of rows", rows),
        ("sums of columns", columns),
        ("sum of all", total),
    ]:
        tensors = make(n)
        arrays = arrays_of(tensors, device)
        seconds = ls.build(tensors, target="cuda").time(*arrays).median
        rate = sum(array.nbytes for array in arrays) / seconds
        best = max(best, rate) if name == "copy" else best
        ratio = rate / best
        table.append(
            (
                name,
                f"{rate / 1e9:.0f} GB/s",
                f"{ratio:.2f}",
                "met" if ratio >= BANDWIDTH_GOAL else "missed",
            )
        )
    return table


def main() -> None:
    """Print both tables, or why there is none."""
    device = ls.device("cuda")
    if not device.exists:
        print("bench/gpu: no GPU with CUDA is here; nothing is measured", file=sys.stderr)
        return
    print(device.name)
    head = ("", "speed", "ratio", "goal")
    print_table(f"products: of cuBLAS, goal {PRODUCT_GOAL}", head, products(device))
    print_table(f"8192 x 8192 floats: of the copy, goal {BANDWIDTH_GOAL}", head, streams(device))


if __name__ == "__main__":
    main()
