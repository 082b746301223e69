# SPDX-License-Identifier: Apache-2.0
"""Unscheduled kernels beside the machine's copy bandwidth and NumPy, in one interleaved run."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import programs
from measure import interleaved, print_table

import loopsmith as ls
from loopsmith import te

MIB = 1 << 20
GOAL = 0.8
"""What share of the copy bandwidth a kernel should reach."""


def fresh(shape: tuple[int, ...]) -> np.ndarray:
    """Return random numbers whose pages are there."""
    return np.random.default_rng(0).random(shape, "float32")


class Copy:
    """Copies an array by all processors, each a part, by the C library."""

    def __init__(self, source: np.ndarray, target: np.ndarray) -> None:
        cpus = len(os.sched_getaffinity(0))
        self.pool = ThreadPoolExecutor(cpus)
        self.parts = list(
            zip(np.array_split(source.reshape(-1), cpus), np.array_split(target.reshape(-1), cpus))
        )

    def __call__(self) -> None:
        """Copy once."""
        list(self.pool.map(lambda part: np.copyto(part[1], part[0]), self.parts))


def bandwidth(rounds: int = 15) -> None:
    """Elementwise chains and row reductions over 256 MiB, beside a copy of as much."""
    rows, columns = 16384, 4096
    # Large arrays of NumPy start 16 bytes after a page, our own at a multiple of 64.
    plain_a, plain_b = fresh((rows, columns)), fresh((rows, columns))
    a, b, results = ls.array(plain_a), ls.array(plain_b), ls.zeros((rows,))
    chain = ls.build(programs.chain(rows, columns))
    row_sums = ls.build(programs.row_sums(rows, columns))
    row_maxima = ls.build(programs.row_maxima(rows, columns))
    softmax = ls.build(programs.softmax(rows, columns))
    calls = {
        "copy": Copy(a.numpy(), b.numpy()),
        "elementwise chain": lambda: chain(a, b),
        "the same, arrays of NumPy": lambda: chain(plain_a, plain_b),
        "row sums": lambda: row_sums(a, results),
        "row maxima": lambda: row_maxima(a, results),
        "softmax": lambda: softmax(a, b),
    }
    moved = dict.fromkeys(calls, 2 * a.nbytes) | {
        "row sums": a.nbytes + results.nbytes,
        "row maxima": a.nbytes + results.nbytes,
    }
    medians = interleaved(calls, rounds)
    rates = {name: moved[name] / medians[name] / 1e9 for name in calls}
    shares = {name: rate / rates["copy"] for name, rate in rates.items()}
    table = []
    for name, share in shares.items():
        met = "" if name in ("copy", "softmax") else "met" if share >= GOAL else "MISSED"
        table.append(
            [name, f"{medians[name] * 1e3:.1f}", f"{rates[name]:.1f}", f"{share:.0%}", met]
        )
    print_table(
        f"Unscheduled kernels over {a.nbytes // MIB} MiB, float32 (median of {rounds})",
        ["kernel", "ms", "GB/s", "of copy", f"goal {GOAL:.0%}"],
        table,
    )


PRODUCTS: dict[str, dict[str, Any]] = {
    "256^3": {"size": (256, 256, 256)},
    "512^3": {"size": (512, 512, 512)},
    "1024^3": {"size": (1024, 1024, 1024)},
    "2048^3": {"size": (2048, 2048, 2048)},
    "1024^3, symbolic sizes": {"size": (1024, 1024, 1024), "symbolic": True},
    "1000 x 999 x 1001": {"size": (1000, 999, 1001)},
    "4096 x 64 x 4096": {"size": (4096, 64, 4096)},
    "64 x 4096 x 4096": {"size": (64, 4096, 4096)},
    "4096 x 4096 x 64": {"size": (4096, 4096, 64)},
    "16 of 256^3": {"size": (256, 256, 256), "batch": 16},
    "1024^3, A transposed": {"size": (1024, 1024, 1024), "layout": "tn"},
    "1024^3, B transposed": {"size": (1024, 1024, 1024), "layout": "nt"},
    "1024^3, float64": {"size": (1024, 1024, 1024), "dtype": "float64"},
}
"""Rows, columns and depth of a product, and how it differs from a plain one."""


def matmul(rounds: int = 9) -> None:
    """Unscheduled matrix products beside NumPy's."""
    table = []
    for name, options in PRODUCTS.items():
        form = dict(options)
        m, n, k = form.pop("size")
        symbolic = form.pop("symbolic", False)
        sizes = [te.size_var(size) for size in "mnk"] if symbolic else (m, n, k)
        module = ls.build(programs.product(*sizes, **form))
        dtype, layout = form.get("dtype", "float32"), form.get("layout", "nn")
        outer = (form["batch"],) if "batch" in form else ()
        a = fresh((*outer, *((k, m) if layout[0] == "t" else (m, k)))).astype(dtype)
        b = fresh((*outer, *((n, k) if layout[1] == "t" else (k, n)))).astype(dtype)
        left = np.swapaxes(a, -1, -2) if layout[0] == "t" else a
        right = np.swapaxes(b, -1, -2) if layout[1] == "t" else b
        c, expected = np.zeros((2, *outer, m, n), dtype)
        medians = interleaved(
            {
                "ours": lambda f=module, a=a, b=b, c=c: f(a, b, c),
                "numpy": lambda a=left, b=right, e=expected: np.matmul(a, b, out=e),
            },
            rounds,
            pause=0.15,
        )
        work = 2 * m * n * k * form.get("batch", 1)
        gflops = {who: work / taken / 1e9 for who, taken in medians.items()}
        error = np.abs(c - np.matmul(left.astype("float64"), right)).max() / k
        table.append(
            [
                name, f"{medians['ours'] * 1e3:.2f}", f"{gflops['ours']:.0f}",
                f"{gflops['numpy']:.0f}", f"{gflops['ours'] / gflops['numpy']:.2f}", f"{error:.1e}",
            ]
        )  # fmt: skip
    print_table(
        f"Unscheduled matmul beside NumPy {np.__version__} (median of {rounds})",
        ["rows x columns x depth", "ms", "GFLOP/s", "NumPy's", "ratio", "error/depth"],
        table,
    )


TRANSPOSES: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "1000 x 1000": ((1000, 1000), (1, 0)),
    "2048 x 2048": ((2048, 2048), (1, 0)),
    "333 x 213": ((333, 213), (1, 0)),
    "1 x 64 x 56 x 56, channels last": ((1, 64, 56, 56), (0, 2, 3, 1)),
    "8 x 256 x 14 x 14, channels last": ((8, 256, 14, 14), (0, 2, 3, 1)),
    "4 x 512 x 7 x 7, channels last": ((4, 512, 7, 7), (0, 2, 3, 1)),
    "1 x 56 x 56 x 64, channels first": ((1, 56, 56, 64), (0, 3, 1, 2)),
    "2 x 3 x 224 x 224, channels last": ((2, 3, 224, 224), (0, 2, 3, 1)),
}
"""The shape of an array, and the order in which its axes are to lie."""


def transposes(rounds: int = 15) -> None:
    """Unscheduled transposes and layouts beside NumPy's, and a copy of as much memory."""
    table = []
    for dtype in ("float32", "float64", "float16", "int8"):
        for name, (shape, order) in TRANSPOSES.items():
            a = (fresh(shape) * 100).astype(dtype)
            b, expected, copied = (np.zeros([shape[axis] for axis in order], dtype) for _ in "123")
            medians = interleaved(
                {
                    "ours": partial(ls.build(programs.transpose(shape, order, dtype)), a, b),
                    "numpy": partial(np.copyto, expected, a.transpose(order)),
                    "copy": partial(np.copyto, copied.reshape(shape), a),
                },
                rounds,
            )
            rates = {who: 2 * a.nbytes / taken / 1e9 for who, taken in medians.items()}
            table.append(
                [
                    name, dtype, f"{medians['ours'] * 1e6:.0f}", f"{rates['ours']:.1f}",
                    f"{rates['ours'] / rates['numpy']:.1f}", f"{rates['ours'] / rates['copy']:.2f}",
                    "yes" if np.array_equal(b, expected) else "NO",
                ]
            )  # fmt: skip
    print_table(
        f"Unscheduled transposes beside NumPy {np.__version__} (median of {rounds})",
        ["array", "type", "us", "GB/s", "of NumPy", "of a copy", "exact"],
        table,
    )


def tensorized(n: int = 512, rounds: int = 9) -> None:
    """Report a product of bytes with AVX-512 VNNI beside the same program unscheduled."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 256, (n, n), dtype=np.uint8)
    b = rng.integers(-128, 128, (n, n), dtype=np.int8)
    packed = np.ascontiguousarray(b.reshape(n // 4, 4, n // 16, 16).transpose(2, 0, 3, 1))
    modules = {
        "unscheduled": ls.build(programs.byte_matmul(n), num_threads=1),
        "tensorized": ls.build(programs.tensorized_byte_matmul(n), num_threads=1),
    }
    results = {name: np.zeros((n, n), np.int32) for name in modules}
    medians = interleaved(
        {
            name: lambda f=module, c=results[name]: f(a, packed, c)
            for name, module in modules.items()
        },
        rounds,
    )
    expected = a.astype(np.int32) @ b.astype(np.int32)
    rows = [
        [
            name, f"{taken * 1e3:.2f}", f"{2 * n**3 / taken / 1e9:.0f}",
            f"{medians['unscheduled'] / taken:.1f}",
            "yes" if np.array_equal(results[name], expected) else "NO",
        ]
        for name, taken in medians.items()
    ]  # fmt: skip
    print_table(
        f"uint8 by int8 {n}^3, one thread (median of {rounds})",
        ["schedule", "ms", "GOP/s", "speedup", "exact"],
        rows,
    )


if __name__ == "__main__":
    bandwidth()
    matmul()
    transposes()
    tensorized()
