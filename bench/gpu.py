# SPDX-License-Identifier: Apache-2.0
"""Kernels by rule on a GPU with CUDA, beside cuBLAS and the other kernels of PyTorch.

What multiplies is compared with cuBLAS, attention with FlashAttention (both through PyTorch), what
moves memory with the bandwidth of PyTorch's copy, and with PyTorch's own kernel. The sides take
turns. PyTorch runs in another process (`bench/gpu_peers.py`), whose Python `LOOPSMITH_PEER_PYTHON`
names. Each result is compared with NumPy. Where there is no GPU, only what the compiler takes from
a function to source is measured, without NVRTC, by processor time.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
from measure import print_table

import loopsmith as ls
from loopsmith import te, tir

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "gpu"))

ROUNDS = 3
RNG = np.random.default_rng(1)
SUMS = {"float32": "float32", "float16": "float32", "bfloat16": "float32", "int8": "int32"}
"""Types of operands, and in what products of them are summed."""
ROUNDED = "cuda -arch=native -allow_tf32"
"""Where float32 is multiplied as tensor cores do it."""


class Row(NamedTuple):
    """A program, what the peer is asked for, and what the program is to reach."""

    name: str
    tensors: list[te.Tensor] | tir.Schedule
    request: dict[str, Any]
    expected: Callable[..., np.ndarray]
    operations: float = 0.0  # Of arithmetic; 0 where bytes count.
    goal: float = 0.92
    operands: Sequence[np.ndarray] = ()  # With a schedule: what it is called with.
    bytes: int = 0  # What has to be moved, where it is not all of the arrays.
    target: str = "cuda -arch=native"


def exact(array: np.ndarray) -> np.ndarray:
    """Return the values in a type that NumPy computes well in."""
    return array.astype("float64" if array.dtype.itemsize > 2 else "float32")


def product(n: int, dtype: str = "float32") -> Row:
    """A product of n x n matrices; results in the type of the operands, as PyTorch gives them."""
    a, b = te.placeholder((n, n), dtype, name="A"), te.placeholder((n, n), dtype, name="B")
    k, sum_ = te.reduce_axis((0, n), name="k"), SUMS[dtype]

    def wide(value: Any) -> Any:
        return value if dtype == sum_ else value.astype(sum_)

    c = te.compute((n, n), lambda i, j: te.sum(wide(a[i, k]) * wide(b[k, j]), axis=k), name="C")
    tensors = [a, b, c]
    if dtype in ("float16", "bfloat16"):
        tensors[2] = te.compute((n, n), lambda i, j: c[i, j].astype(dtype), name="D")
    request = {"name": "product", "dtype": dtype, "n": n}
    return Row(
        f"{dtype} product {n}", tensors, request, lambda x, y: exact(x) @ exact(y), 2.0 * n**3, 0.95
    )


def rounded_product(n: int) -> Row:
    """A product of float32 on tensor cores, which round operands to 11 bits, on both sides."""
    made = product(n)
    request = {**made.request, "allow_tf32": True}
    return made._replace(name=f"tf32 product {n}", request=request, target=ROUNDED)


def soft(x: np.ndarray) -> np.ndarray:
    """Return the softmax of rows."""
    powers: np.ndarray = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def softmax(n: int) -> Row:
    """Of n rows."""
    x = te.placeholder((n, n), name="X")
    return Row("softmax", [x, te.nn.softmax(x)], {"name": "softmax", "n": n}, soft)


def layer_norm(n: int) -> Row:
    """Of n rows."""
    x = te.placeholder((n, n), name="X")
    scale, shift = te.placeholder((n,), name="scale"), te.placeholder((n,), name="shift")

    def expected(a: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        deviation = np.sqrt(a.var(-1, keepdims=True) + 1e-5)
        moved: np.ndarray = (a - a.mean(-1, keepdims=True)) / deviation * w + b
        return moved

    tensors = [x, scale, shift, te.nn.layer_norm(x, scale, shift)]
    return Row("layer norm", tensors, {"name": "layer norm", "n": n}, expected)


def elements(n: int) -> Row:
    """A function of each element."""
    x = te.placeholder((n, n), name="X")
    y = te.compute((n, n), lambda i, j: te.exp(x[i, j]), name="Y")
    return Row("elements", [x, y], {"name": "elements", "n": n}, np.exp)


def copy(n: int) -> Row:
    """Of n x n floats."""
    x = te.placeholder((n, n), name="X")
    y = te.compute((n, n), lambda i, j: x[i, j], name="Y")
    return Row("copy", [x, y], {"name": "copy", "n": n}, lambda a: a)


def transpose(n: int) -> Row:
    """Of an n x n matrix."""
    x = te.placeholder((n, n), name="X")
    y = te.compute((n, n), lambda i, j: x[j, i], name="Y")
    return Row("transpose", [x, y], {"name": "transpose", "n": n}, np.transpose)


def row_sums(n: int) -> Row:
    """Sums of rows."""
    x, k = te.placeholder((n, n), name="X"), te.reduce_axis((0, n), name="k")
    y = te.compute((n,), lambda i: te.sum(x[i, k], axis=k), name="Y")
    return Row("sums of rows", [x, y], {"name": "sums of rows", "n": n}, lambda a: a.sum(1))


def column_sums(n: int) -> Row:
    """Sums of columns."""
    x, k = te.placeholder((n, n), name="X"), te.reduce_axis((0, n), name="k")
    y = te.compute((n,), lambda j: te.sum(x[k, j], axis=k), name="Y")
    return Row("sums of columns", [x, y], {"name": "sums of columns", "n": n}, lambda a: a.sum(0))


def total(n: int) -> Row:
    """One sum of all."""
    x, k = te.placeholder((n * n,), name="X"), te.reduce_axis((0, n * n), name="k")
    y = te.compute((1,), lambda _: te.sum(x[k], axis=k), name="Y")
    return Row("sum of all", [x, y], {"name": "sum of all", "n": n}, lambda a: a.sum(keepdims=True))


def prefix_sum(n: int) -> Row:
    """All sums of the first elements of one line."""
    x = te.placeholder((n * n,), name="X")
    state = te.placeholder((n * n,), name="S")
    first = te.compute((1,), lambda i: x[i], name="first")
    step = te.compute((n * n,), lambda i: state[i - 1] + x[i], name="step")
    y = te.scan(first, step, state, inputs=[x])
    return Row("prefix sum", [x, y], {"name": "prefix sum", "n": n}, np.cumsum)


def attention(n: int, batch: int = 64, width: int = 64) -> Row:
    """Of n tokens, float16, `batch` heads."""
    q, k, v = (te.placeholder((batch, n, width), "float16", name=name) for name in "QKV")
    r, t = te.reduce_axis((0, width), name="r"), te.reduce_axis((0, n), name="t")

    def wide(value: Any) -> Any:
        return value.astype("float32")

    scores = te.compute(
        (batch, n, n),
        lambda b, i, j: te.sum(wide(q[b, i, r]) * wide(k[b, j, r]), axis=r),
        name="scores",
    )
    scaled = te.compute((batch, n, n), lambda b, i, j: scores[b, i, j] * width**-0.5, name="scaled")
    soft_ = te.nn.softmax(scaled)
    weights = te.compute((batch, n, n), lambda b, i, j: soft_[b, i, j].astype("float16"), name="P")
    sums = te.compute(
        (batch, n, width),
        lambda b, i, d: te.sum(wide(weights[b, i, t]) * wide(v[b, t, d]), axis=t),
        name="sums",
    )
    out = te.compute((batch, n, width), lambda b, i, d: sums[b, i, d].astype("float16"), name="out")

    def expected(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        product_: np.ndarray = exact(a) @ exact(b).transpose(0, 2, 1) * width**-0.5
        return soft(product_) @ exact(c)

    request = {
        "name": "attention", "dtype": "float16", "n": n, "batch": batch, "width": width,
    }  # fmt: skip
    return Row(
        f"attention {n}", [q, k, v, out], request, expected, 4.0 * batch * n * n * width, 0.8
    )


def scheduled(module: str, name: str, goal: float = 0.92, **sizes: int) -> Row:
    """An example with a schedule by hand, of examples/gpu; what it is to compute is known there."""
    example = getattr(importlib.import_module(module), name)(**sizes)
    request = {"name": name, "n": 0, **sizes}
    of_scores = name == "copies_ahead"
    operations = 4.0 * sizes["heads"] * sizes["tokens"] ** 2 * sizes["width"] if of_scores else 0.0
    return Row(
        name.replace("_", " "),
        example.program,
        request,
        lambda *_: exact(example.expected),
        operations,
        goal,
        [*example.operands, np.full_like(example.expected, np.nan)],
        # Of a paged cache, the tokens that there are.
        2
        * 2
        * int(example.operands[4].sum())
        * sizes["heads"]
        // sizes["shared_by"]
        * sizes["width"]
        if name == "by_pages"
        else 0,
    )


def rows(is_quick: bool) -> list[Callable[[], Row]]:
    """Return what makes each row, so that one that fails is a line."""
    sizes = (1024,) if is_quick else (512, 1024, 2048, 4096, 8192)
    made: list[Callable[[], Row]] = []
    for dtype in SUMS:
        for n in sizes:
            made.append(lambda n=n, dtype=dtype: product(n, dtype))
    made += [lambda n=n: rounded_product(n) for n in sizes]
    n = 1024 if is_quick else 8192
    streams = (
        copy, elements, softmax, layer_norm, transpose, row_sums, column_sums, total, prefix_sum,
    )  # fmt: skip
    made += [lambda make=make: make(n) for make in streams]
    tokens = 512 if is_quick else 2048
    made.append(lambda: attention(tokens))
    online = {"heads": 64, "tokens": tokens, "width": 64, "keys": 64, "warps": 4}
    made.append(lambda: scheduled("attention", "copies_ahead", 0.8, **online))
    weights = {"columns": 4096, "steps": 4096, "warps": 8}
    made.append(lambda: scheduled("language_model", "by_quantised_weights", **weights))
    tiles = {"tiles": n * n // 4096, "threads": 256, "own": 16}
    made.append(lambda: scheduled("prefix_sum", "by_tiles", **tiles))
    pages = {"sequences": 32, "heads": 32, "shared_by": 4, "width": 128, "tokens": tokens}
    made.append(lambda: scheduled("language_model", "by_pages", **pages))
    return made


class Peer:
    """The process of PyTorch."""

    def __init__(self) -> None:
        python = os.environ.get("LOOPSMITH_PEER_PYTHON", sys.executable)
        script = str(Path(__file__).with_name("gpu_peers.py"))
        # Another Python takes neither our packages nor our home.
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        self.process = subprocess.Popen(
            [python, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=clean
        )
        told = self.read()
        self.name, self.missing = told.get("peer"), told.get("error")

    def read(self) -> dict[str, Any]:
        """Return the next answer."""
        line = self.process.stdout.readline() if self.process.stdout else ""
        told: dict[str, Any] = json.loads(line) if line else {"error": "the peer has ended"}
        return told

    def seconds(self, request: dict[str, Any]) -> float | None:
        """Return how long the peer takes, None where it cannot."""
        if self.missing or not self.process.stdin:
            return None
        print(json.dumps(request), file=self.process.stdin, flush=True)
        return self.read().get("seconds")


def arrays_of(row: Row, device: ls.Device) -> tuple[list[np.ndarray], list[Any]]:
    """Return random operands, and arrays of the device: the operands, and a poisoned result."""
    operands: list[np.ndarray] = []
    if isinstance(row.tensors, tir.Schedule):
        return list(row.operands[:-1]), [ls.array(each, device=device) for each in row.operands]
    for tensor in row.tensors[:-1]:
        shape = tuple(int(extent) for extent in tensor.shape)
        if tensor.dtype == "int8":
            operands.append(RNG.integers(-8, 8, shape, "int8"))
            continue
        dtype = ml_dtypes.bfloat16 if tensor.dtype == "bfloat16" else tensor.dtype
        operands.append(RNG.random(shape, "float32").astype(dtype))
    last = row.tensors[-1]
    shape = tuple(int(extent) for extent in last.shape)
    dtype = np.dtype(ml_dtypes.bfloat16 if last.dtype == "bfloat16" else last.dtype)
    poison = np.full(shape, 99 if dtype.kind == "i" else np.nan, dtype)
    return operands, [ls.array(each, device=device) for each in [*operands, poison]]


def error_of(row: Row, operands: list[np.ndarray], result: np.ndarray) -> float:
    """Return the error relative to the norm of what is right; of some rows where NumPy is slow."""
    if row.request["name"] == "product" and row.request["n"] > 2048:
        some = RNG.integers(0, row.request["n"], 64)
        operands, result = [operands[0][some], operands[1]], result[some]
    if row.request["name"] == "attention":
        operands, result = [each[:2] for each in operands], result[:2]
    wanted = row.expected(*map(exact, operands))
    return float(np.linalg.norm(exact(result) - wanted) / np.linalg.norm(wanted))


def measure(row: Row, device: ls.Device, peer: Peer, copied: list[float]) -> tuple[str, ...]:
    """Measure a row: in turns, as medians."""
    start = time.perf_counter()
    module: Any = ls.build(row.tensors, target=row.target)
    built = time.perf_counter() - start
    operands, arrays = arrays_of(row, device)
    module(*arrays)
    error = error_of(row, operands, arrays[-1].numpy())
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(module.time(*arrays, repeat=7).median)
        theirs.append(peer.seconds(row.request))
    seconds = statistics.median(ours)
    known = [taken for taken in theirs if taken is not None]
    of_peer = statistics.median(known) if known else None
    bytes_ = row.bytes or sum(array.nbytes for array in arrays)
    if row.operations:
        speed = f"{row.operations / seconds / 1e12:.2f} TFLOP/s"
        ratio = of_peer / seconds if of_peer else None
    else:
        if row.name == "copy":
            copied.append(bytes_ / (of_peer or seconds))
        speed = f"{bytes_ / seconds / 1e9:.0f} GB/s"
        ratio = bytes_ / seconds / copied[0] if copied else None
    return (
        row.name,
        speed,
        f"{ratio:.2f}" if ratio else "-",
        f"{of_peer / seconds:.2f}" if of_peer else "-",
        ("met" if ratio >= row.goal else f"missed {row.goal}") if ratio else "-",
        f"{error:.1e}",
        f"{built:.2f} s",
    )


def builds(repeat: int = 9) -> list[tuple[str, ...]]:
    """Measure what rules and lowering take, in turns, as medians of processor time."""
    programs = {"elements": elements(1024).tensors}
    programs.update({f"{dtype} product": product(1024, dtype).tensors for dtype in SUMS})
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


def kernels(device: ls.Device, is_quick: bool, wanted: str) -> list[tuple[str, ...]]:
    """Measure all rows whose names contain what is wanted."""
    peer = Peer()
    print(device.name, "beside", peer.name or peer.missing)
    copied: list[float] = []
    table = []
    for make in rows(is_quick):
        row = make()
        if wanted not in row.name and row.name != "copy":
            continue
        try:
            table.append(measure(row, device, peer, copied))
        except (ls.UserError, ls.InternalError) as error:
            table.append((row.name, f"{type(error).__name__}", "-", "-", "-", "-", "-"))
            print(row.name, error, file=sys.stderr)
        print(*table[-1], sep=" | ", file=sys.stderr, flush=True)
    return table


def main() -> None:
    """Print both tables, or why there is none."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small size of each")
    parser.add_argument("--filter", default="", help="only rows whose names contain this")
    options = parser.parse_args()
    if not options.filter:
        print_table("from a function to source", ("", "schedule", "source"), builds())
    device = ls.device("cuda")
    if not device.exists:
        print("bench/gpu: no GPU with CUDA is here; no kernel is measured", file=sys.stderr)
        return
    print_table(
        "of the peer's time, or of the bandwidth of its copy",
        ("", "speed", "ratio", "of PyTorch", "goal", "error", "build"),
        kernels(device, options.quick, options.filter),
    )


if __name__ == "__main__":
    main()
