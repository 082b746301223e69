# SPDX-License-Identifier: Apache-2.0
"""The first programs: a matrix product, a softmax, a blurred photograph; none of them scheduled."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

import loopsmith as ls
from loopsmith import te

HERE = Path(__file__).parent
BUILD = HERE.parent.parent / "build"


@dataclass
class Row:
    """One line of the table."""

    name: str
    seconds: float
    rate: str
    error: float


def matmul(size: int = 1024) -> Row:
    """Multiply two float32 matrices."""
    A = te.placeholder((size, size), "float32", name="A")
    B = te.placeholder((size, size), "float32", name="B")
    k = te.reduce_axis((0, size), name="k")
    C = te.compute((size, size), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    f = ls.build(te.create_prim_func([A, B, C]))

    random = np.random.default_rng(0)
    a, b = (random.standard_normal((size, size), dtype="float32") for _ in range(2))
    c = np.empty_like(a)
    # Before NumPy's product, whose threads go on spinning for a while.
    seconds = f.time(a, b, c).median
    error = np.abs(c - a.astype("float64") @ b.astype("float64")).max()
    return Row(
        f"matmul {size}³ float32", seconds, f"{2 * size**3 / seconds / 1e9:.0f} GFLOP/s", error
    )


def softmax(rows: int = 4096, columns: int = 4096) -> Row:
    """Normalise the exponentials of each row, stably."""
    A = te.placeholder((rows, columns), "float32", name="A")
    k = te.reduce_axis((0, columns), name="k")
    l = te.reduce_axis((0, columns), name="l")  # noqa: E741
    top = te.compute((rows,), lambda i: te.max(A[i, k], axis=k), name="top")
    powers = te.compute((rows, columns), lambda i, j: te.exp(A[i, j] - top[i]), name="powers")
    total = te.compute((rows,), lambda i: te.sum(powers[i, l], axis=l), name="total")
    B = te.compute((rows, columns), lambda i, j: powers[i, j] / total[i], name="B")
    f = ls.build(te.create_prim_func([A, B]))

    a = np.random.default_rng(0).standard_normal((rows, columns), dtype="float32")
    b = np.empty_like(a)
    f(a, b)
    exact = np.exp(a.astype("float64") - a.max(axis=1, keepdims=True))
    exact /= exact.sum(axis=1, keepdims=True)
    seconds = f.time(a, b).median
    rate = f"{(a.nbytes + b.nbytes) / seconds / 1e9:.1f} GB/s"
    return Row(f"softmax {rows}x{columns} float32", seconds, rate, np.abs(b - exact).max())


def box_blur(source: Path, target: Path) -> Row:
    """Blur a picture of any size; what lies outside its borders is taken from the nearest pixel."""
    rows, columns, channels = te.size_var("rows"), te.size_var("columns"), te.size_var("channels")
    shape = (rows, columns, channels)

    def clamp(value: te.Expr, low: int, high: te.Expr) -> te.Expr:
        return te.max(te.min(value, high), low)

    picture = te.placeholder(shape, "float32", name="picture")
    padded = te.compute(
        (rows + 2, columns + 2, channels),
        lambda y, x, c: picture[clamp(y - 1, 0, rows - 1), clamp(x - 1, 0, columns - 1), c].astype(
            "uint16"
        ),
        name="padded",
    )
    x_blur = te.compute(
        (rows + 2, columns, channels),
        lambda y, x, c: (padded[y, x, c] + padded[y, x + 1, c] + padded[y, x + 2, c]) // 3,
        name="x_blur",
    )
    y_blur = te.compute(
        shape,
        lambda y, x, c: (x_blur[y, x, c] + x_blur[y + 1, x, c] + x_blur[y + 2, x, c]) // 3,
        name="y_blur",
    )
    blurred = te.compute(shape, lambda y, x, c: y_blur[y, x, c].astype("uint8"), name="blurred")
    f = ls.build(te.create_prim_func([picture, blurred]))

    before = np.asarray(Image.open(source).convert("RGB")).astype("float32")
    after = np.empty(before.shape, "uint8")
    f(before, after)
    Image.fromarray(after).save(target)
    wide = np.pad(before.astype("int64"), ((1, 1), (1, 1), (0, 0)), mode="edge")
    across = (wide[:, :-2] + wide[:, 1:-1] + wide[:, 2:]) // 3
    exact = (across[:-2] + across[1:-1] + across[2:]) // 3
    seconds = f.time(before, after).median
    rate = f"{(before.nbytes + after.nbytes) / seconds / 1e9:.1f} GB/s"
    name = f"box blur {before.shape[0]}x{before.shape[1]}x3 uint8"
    return Row(name, seconds, rate, np.abs(after - exact).max())


def matmul_from_cpp(size: int = 1024) -> Row:
    """Run the matrix product of a C++ program that uses the installed package."""
    prefix, build = BUILD / "demo" / "prefix", BUILD / "demo" / "matmul_cpp"
    for command in (
        ["cmake", "--install", BUILD / "release", "--prefix", prefix],
        [
            "cmake",
            "-S",
            HERE / "matmul_cpp",
            "-B",
            build,
            "-G",
            "Ninja",
            f"-DCMAKE_PREFIX_PATH={prefix}",
        ],
        ["cmake", "--build", build],
    ):
        subprocess.run(command, check=True, stdout=subprocess.PIPE)
    printed = subprocess.run([build / "matmul"], check=True, capture_output=True, text=True).stdout
    seconds, error = map(float, printed.split())
    return Row(
        f"matmul {size}³ from C++", seconds, f"{2 * size**3 / seconds / 1e9:.0f} GFLOP/s", error
    )


def main() -> None:
    """Run all of them and print the table."""
    before, after = HERE / "landscape.png", BUILD / "demo" / "landscape_blurred.png"
    after.parent.mkdir(parents=True, exist_ok=True)
    rows = [matmul(), softmax(), box_blur(before, after), matmul_from_cpp()]
    print(f"{'program':<32} {'time':>10} {'rate':>14} {'largest error':>15}")
    for row in rows:
        print(f"{row.name:<32} {row.seconds * 1e3:>7.3f} ms {row.rate:>14} {row.error:>15.1e}")
    root = BUILD.parent
    print(f"\nbefore: {before.relative_to(root)}\nafter:  {after.relative_to(root)}")


if __name__ == "__main__":
    main()
