# SPDX-License-Identifier: Apache-2.0
"""Kernels by rule on a GPU with CUDA, beside cuBLAS and the kernels of PyTorch.

Products are compared with cuBLAS (through PyTorch), everything else with the bandwidth of a copy.
Ratios above the goal meet it. Where there is no GPU, it says so, and measures only what the
compiler takes from a function to source, without NVRTC, by processor time.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from measure import print_table

import loopsmith as ls
from loopsmith import te

PRODUCT_GOAL = 0.95
BANDWIDTH_GOAL = 0.92
RNG = np.random.default_rng(1)


PRODUCTS = {"float32": "float32", "float16": "float32", "bfloat16": "float32", "int8": "int32"}
"""Types of operands, and in what they are summed."""


def product(n: int, dtype: str = "float32") -> list[te.Tensor]:
    """A product of n x n matrices."""
    a, b = te.placeholder((n, n), dtype, name="A"), te.placeholder((n, n), dtype, name="B")
    k, sum_ = te.reduce_axis((0, n), name="k"), PRODUCTS[dtype]

    def wide(value: Any) -> Any:
        return value if dtype == sum_ else value.astype(sum_)

    c = te.compute((n, n), lambda i, j: te.sum(wide(a[i, k]) * wide(b[k, j]), axis=k), name="C")
    # What PyTorch gives: in the type of the operands.
    if dtype in ("float16", "bfloat16"):
        return [a, b, te.compute((n, n), lambda i, j: c[i, j].astype(dtype), name="D")]
    return [a, b, c]


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
    made = []
    for shape, tensor in zip(shapes[:-1], tensors):
        dtype = ml_dtypes.bfloat16 if tensor.dtype == "bfloat16" else tensor.dtype
        made.append(ls.array((RNG.random(shape, "float32") * 4).astype(dtype), device=device))
    return [*made, ls.empty(shapes[-1], tensors[-1].dtype, device=device)]


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
    for dtype in ("float32", "float16", "bfloat16"):
        for n in (512, 1024, 2048, 4096, 8192):
            tensors = product(n, dtype)
            seconds = ls.build(tensors, target="cuda").time(*arrays_of(tensors, device)).median
            row = (f"{dtype} product {n}", f"{2 * n**3 / seconds / 1e12:.2f} TFLOP/s")
            if torch is None:
                table.append((*row, "no PyTorch with CUDA", "-"))
                continue
            torch.backends.cuda.matmul.allow_tf32 = False
            a, b = (torch.rand(n, n, device="cuda", dtype=getattr(torch, dtype)) for _ in range(2))
            ratio = seconds_of(torch, lambda a=a, b=b: a @ b) / seconds
            table.append((*row, f"{ratio:.2f}", "met" if ratio >= PRODUCT_GOAL else "missed"))
    return table


def builds(repeat: int = 9) -> list[tuple[str, ...]]:
    """Measure what rules and lowering take, in turns, as medians of processor time."""
    programs = {
        "elements": elements(1024),
        **{f"{dtype} product": product(1024, dtype) for dtype in PRODUCTS},
    }
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(repeat):
        for name, tensors in programs.items():
            func = te.create_prim_func(tensors)
            start = time.process_time()
            sch = ls.default_schedule(func, target="cuda")
            scheduled = time.process_time()
            ls.build(sch, target="cuda").source("cuda")
            samples[name].append((scheduled - start, time.process_time() - scheduled))
    medians = {name: np.median(each, axis=0) * 1e3 for name, each in samples.items()}
    return [(name, f"{m[0]:.1f} ms", f"{m[1]:.1f} ms") for name, m in medians.items()]


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
    print_table("from a function to source", ("", "schedule", "source"), builds())
    device = ls.device("cuda")
    if not device.exists:
        print("bench/gpu: no GPU with CUDA is here; no kernel is measured", file=sys.stderr)
        return
    print(device.name)
    head = ("", "speed", "ratio", "goal")
    print_table(f"products: of cuBLAS, goal {PRODUCT_GOAL}", head, products(device))
    print_table(f"8192 x 8192 floats: of the copy, goal {BANDWIDTH_GOAL}", head, streams(device))


if __name__ == "__main__":
    main()
