# SPDX-License-Identifier: Apache-2.0
"""Schedules of tensor expressions: recording, lowering, and kernels scheduled by hand."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
from measure import print_table, verdict

import loopsmith as ls
from loopsmith import te

ROOT = Path(__file__).resolve().parent.parent


def splits_a_second(rounds: int = 200, depth: int = 10) -> float:
    """Return how many calls ``s[C].split`` are recorded in a second."""
    A = te.placeholder((1024, 1024), name="A")
    C = te.compute((1024, 1024), lambda i, j: A[i, j] + 1, name="C")
    best = float("inf")
    for _ in range(rounds):
        s, axis = te.create_schedule(C.op), C.op.axis[0]
        start = time.perf_counter()
        for _ in range(depth):
            _, axis = s[C].split(axis, factor=2)
        best = min(best, time.perf_counter() - start)
    return depth / best


def calls_a_second(rounds: int = 5, schedules: int = 500) -> dict[str, float]:
    """Return how many calls of a method of a stage are recorded in a second, by its name."""
    A = te.placeholder((1024, 1024), name="A")
    B = te.compute((1024, 1024), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((1024, 1024), lambda i, j: B[i, j] * 2, name="C")
    i, j = B.op.axis
    thread = te.thread_axis("threadIdx.x")
    calls: dict[str, Callable[[te.Schedule], object]] = {
        "tile": lambda s: s[B].tile(i, j, 8, 8),
        "fuse": lambda s: s[B].fuse(i, j),
        "reorder": lambda s: s[B].reorder(j, i),
        "vectorize": lambda s: s[B].vectorize(j),
        "bind": lambda s: s[B].bind(i, thread),
        "compute_at": lambda s: s[B].compute_at(s[C], C.op.axis[0]),
    }
    rates = {}
    for name, call in calls.items():
        best = float("inf")
        for _ in range(rounds):
            fresh = [te.create_schedule(C.op) for _ in range(schedules)]
            start = time.perf_counter()
            for s in fresh:
                call(s)
            best = min(best, time.perf_counter() - start)
        rates[name] = schedules / best
    return rates


def padded(x: te.Tensor, size: int, name: str) -> te.Tensor:
    """Return an image with a border of zeros."""
    return te.compute(
        (x.shape[0], size + 2, size + 2),
        lambda c, h, w: te.if_then_else(
            te.all(h >= 1, h < size + 1, w >= 1, w < size + 1), x[c, h - 1, w - 1], 0.0
        ),
        name=name,
    )


def convolution(pad: te.Tensor, W: te.Tensor, size: int, name: str) -> te.Tensor:
    """Return a convolution by 3 x 3 weights."""
    rc = te.reduce_axis((0, pad.shape[0]), name="rc")
    rh = te.reduce_axis((0, 3), name="rh")
    rw = te.reduce_axis((0, 3), name="rw")
    return te.compute(
        (W.shape[0], size, size),
        lambda c, h, w: te.sum(pad[rc, h + rh, w + rw] * W[c, rc, rh, rw], axis=[rc, rh, rw]),
        name=name,
    )


def rectified(x: te.Tensor, bias: te.Tensor, name: str) -> tuple[te.Tensor, te.Tensor]:
    """Return x + bias, and what of it is positive."""
    added = te.compute(x.shape, lambda c, h, w: x[c, h, w] + bias[c], name="bias" + name)
    return added, te.compute(
        x.shape, lambda c, h, w: te.max(added[c, h, w], te.const(0, "float32")), name="relu" + name
    )


def residual_block(channels: int = 32, size: int = 32) -> tuple[te.Schedule, list[te.Tensor]]:
    """Return four convolutions with a residual, padding, caches and places: 34 stages."""
    x = te.placeholder((channels, size, size), name="x")
    args, last, layers = [x], x, []
    for name in "1234":
        W = te.placeholder((channels, channels, 3, 3), name="W" + name)
        bias = te.placeholder((channels,), name="b" + name)
        pad = padded(last, size, "pad" + name)
        conv = convolution(pad, W, size, "conv" + name)
        added, last = rectified(conv, bias, name)
        args += [W, bias]
        layers.append((pad, conv, added, last))
    y = te.compute(x.shape, lambda c, h, w: last[c, h, w] + x[c, h, w], name="y")
    s = te.create_schedule(y.op)
    for pad, conv, added, relu in layers:
        s[added].compute_inline()
        local = s.cache_write(conv, "global")
        tile = s.cache_read(pad, "global", [local])
        c, h, w = s[relu].op.axis
        co, ci = s[relu].split(c, factor=8)
        wo, wi = s[relu].split(w, factor=8)
        s[relu].reorder(co, h, wo, ci, wi)
        s[relu].parallel(co)
        s[relu].vectorize(wi)
        s[conv].compute_inline()
        s[local].compute_at(s[relu], wo)
        rc, rh, rw = s[local].op.reduce_axis
        c, h, w = s[local].op.axis
        ro, ri = s[local].split(rc, factor=4)
        s[local].reorder(ro, ri, rh, rw, h, c, w)
        s[local].vectorize(w)
        s[local].unroll(rw)
        s[tile].compute_at(s[relu], wo)
    return s, [*args, y]


def lowering(rounds: int = 15) -> float:
    """Return the seconds in which the residual block is lowered."""
    s, args = residual_block()
    best = float("inf")
    for _ in range(rounds):
        start = time.thread_time()
        ls.lower(s, args)
        best = min(best, time.thread_time() - start)
    return best


def softmax_program() -> ModuleType:
    """Import the example."""
    path = ROOT / "examples" / "schedules" / "softmax.py"
    spec = importlib.util.spec_from_file_location("softmax", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["softmax"] = module
    spec.loader.exec_module(module)
    return module


def softmax() -> tuple[float, float]:
    """Return the seconds of softmax of 512 x 1024, scheduled by hand and by rule."""
    program = softmax_program()
    tensors = program.softmax(512, 1024)
    x, y = tensors[0], tensors[-1]
    a = np.random.default_rng(0).standard_normal((512, 1024), dtype="float32")
    b = np.empty_like(a)
    by_hand = ls.build(program.schedule(tensors), [x, y]).time(a, b).median
    return by_hand, ls.build([x, y]).time(a, b).median


def blur(order: str, rows: int = 512, cols: int = 512) -> float:
    """Return the seconds of a 3 x 3 box blur whose middle stage is kept in that order."""
    image = te.placeholder((rows + 2, cols + 2, 3), "uint16", name="image")
    x_blur = te.compute(
        (rows + 2, cols, 3),
        lambda y, x, c: (image[y, x, c] + image[y, x + 1, c] + image[y, x + 2, c]) // 3,
        name="x_blur",
    )
    y_blur = te.compute(
        (rows, cols, 3),
        lambda y, x, c: ((x_blur[y, x, c] + x_blur[y + 1, x, c] + x_blur[y + 2, x, c]) // 3).astype(
            "uint8"
        ),
        name="y_blur",
    )
    s = te.create_schedule(y_blur.op)
    layouts = {"xcy": lambda y, x, c: [x, c, y], "cyx": lambda y, x, c: [c, y, x]}
    if order in layouts:
        s[x_blur].set_layout(layouts[order])
    pixels = np.random.default_rng(0).integers(0, 255, (rows + 2, cols + 2, 3)).astype("uint16")
    return ls.build(s, [image, y_blur]).time(pixels, np.empty((rows, cols, 3), "uint8")).median


def main() -> None:
    """Print the tables."""
    rates = {"split": splits_a_second()} | calls_a_second()
    taken = lowering() * 1e3
    print_table(
        "Schedules of tensor expressions",
        ["what", "measured", "goal", ""],
        [
            *[
                [
                    f"s[B].{name}, a second",
                    f"{rate:.0f}",
                    "100000",
                    "met" if rate >= 1e5 else "MISSED",
                ]
                for name, rate in rates.items()
            ],
            ["34 stages lowered, ms", f"{taken:.1f}", "20", verdict(taken, 20.0)],
        ],
    )
    by_hand, by_rule = softmax()
    print_table(
        "Softmax 512x1024, us",
        ["scheduled", "time"],
        [["by hand", f"{by_hand * 1e6:.0f}"], ["by rule", f"{by_rule * 1e6:.0f}"]],
    )
    print_table(
        "Box blur 512x512x3 by the layout of its middle stage, us",
        ["layout", "time"],
        [[order, f"{blur(order) * 1e6:.0f}"] for order in ("yxc", "xcy", "cyx")],
    )


if __name__ == "__main__":
    main()
