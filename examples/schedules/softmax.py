# SPDX-License-Identifier: Apache-2.0
"""Softmax scheduled by hand: its stages in one loop over rows, in one kernel."""

from __future__ import annotations

import numpy as np

import loopsmith as ls
from loopsmith import te


def softmax(rows: int, columns: int) -> tuple[te.Tensor, ...]:
    """Return the input, the largest of each row, the exponentials, their sums, and the result."""
    x = te.placeholder((rows, columns), "float32", name="x")
    k = te.reduce_axis((0, columns), name="k")
    l = te.reduce_axis((0, columns), name="l")  # noqa: E741
    top = te.compute((rows,), lambda i: te.max(x[i, k], axis=k), name="top")
    powers = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - top[i]), name="powers")
    total = te.compute((rows,), lambda i: te.sum(powers[i, l], axis=l), name="total")
    y = te.compute((rows, columns), lambda i, j: powers[i, j] / total[i], name="y")
    return x, top, powers, total, y


def schedule(tensors: tuple[te.Tensor, ...], lanes: int = 16) -> te.Schedule:
    """Compute each row in one iteration of a parallel loop, in vectors."""
    _, top, powers, total, y = tensors
    s = te.create_schedule(y.op)
    for reduction in (top, total):
        # Partial results, one a lane; what is left combines them.
        _, lane = s[reduction].split(reduction.op.reduce_axis[0], factor=lanes)
        partial = s.rfactor(reduction, lane)
        s[partial].reorder(s[partial].op.reduce_axis[0], s[partial].op.axis[0])
        s[partial].vectorize(s[partial].op.axis[0])
    for wide in (powers, y):
        _, lane = s[wide].split(wide.op.axis[1], factor=lanes)
        s[wide].vectorize(lane)
    row = y.op.axis[0]
    s.fuse_into(s[y], row)
    s[y].parallel(row)
    return s


def main() -> None:
    """Check the kernel on random numbers, and say how long it takes."""
    tensors = softmax(512, 1024)
    x, y = tensors[0], tensors[-1]
    f = ls.build(schedule(tensors), [x, y])
    a = np.random.default_rng(0).standard_normal((512, 1024), dtype="float32")
    b = np.empty_like(a)
    f(a, b)
    expected = np.exp(a - a.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(b, expected, rtol=1e-5)
    print(f"softmax 512x1024: {f.time(a, b).median * 1e6:.0f} us")


if __name__ == "__main__":
    main()
