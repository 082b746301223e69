# SPDX-License-Identifier: Apache-2.0
"""Softmax and a norm of rows, each as one kernel whose blocks have a row each."""

from __future__ import annotations

import numpy as np
from on_devices import Example, bind, main, numbers, soft

from loopsmith import te, tir


def stages(rows: int, columns: int) -> tir.PrimFunc:
    """Softmax in four stages: the largest element, exponentials, their sum, and the shares."""
    x = te.placeholder((rows, columns), name="X")
    k, m = te.reduce_axis((0, columns), "k"), te.reduce_axis((0, columns), "m")
    top = te.compute((rows,), lambda i: te.max(x[i, k], axis=k), name="top")
    power = te.compute((rows, columns), lambda i, j: te.exp(x[i, j] - top[i]), name="power")
    total = te.compute((rows,), lambda i: te.sum(power[i, m], axis=m), name="total")
    share = te.compute((rows, columns), lambda i, j: power[i, j] / total[i], name="share")
    return te.create_prim_func([x, share])


def softmax(rows: int = 64, columns: int = 1024, threads: int = 128) -> Example:
    """All stages of a row are done by the threads of its block, before the next stage begins.

    What goes from stage to stage is in shared memory. The row is copied there, too, 16 bytes a
    thread, so that it is read once. Largest element and sum are found by warp shuffles.
    """
    sch = tir.Schedule(stages(rows, columns))
    row, j = sch.get_loops("share")
    _, thread, lanes = sch.split(j, [None, threads, 4])
    bind(sch, blockIdx_x=row, threadIdx_x=thread)
    sch.vectorize(lanes)
    for block in ("total", "power", "top"):
        sch.set_scope(block, 0, "shared")
        sch.compute_at(block, row, preserve_unit_loops=True)
        bind(sch, threadIdx_x=sch.split(sch.get_loops(block)[-1], [None, threads])[1])
    copy = sch.cache_read("top", 0, "shared", ["power"])
    sch.compute_at(copy, row)
    _, thread, lanes = sch.split(sch.get_loops(copy)[-1], [None, threads, 4])
    bind(sch, threadIdx_x=thread)
    sch.vectorize(lanes)
    x = numbers(rows, columns)
    return Example(sch, [x], soft(x))


def norm(rows: int, columns: int) -> tir.PrimFunc:
    """Rows divided by the root of the mean of their squares, times a weight for each column."""
    x = te.placeholder((rows, columns), name="X")
    weight = te.placeholder((columns,), name="weight")
    k = te.reduce_axis((0, columns), "k")
    squares = te.compute((rows,), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name="squares")
    out = te.compute(
        (rows, columns),
        lambda i, j: x[i, j] * te.rsqrt(squares[i] / float(columns) + 1e-5) * weight[j],
        name="out",
    )
    return te.create_prim_func([x, weight, out])


def rms_norm(rows: int = 64, columns: int = 512, warps: int = 4) -> Example:
    """A warp for each row: its lanes exchange sums, so that no barrier is needed for the sum."""
    sch = tir.Schedule(norm(rows, columns))
    i, j = sch.get_loops("out")
    block, row = sch.split(i, [None, warps])
    _, lane, elements = sch.split(j, [None, 32, 4])
    bind(sch, blockIdx_x=block, threadIdx_y=row, threadIdx_x=lane)
    sch.vectorize(elements)
    sch.compute_at("squares", row, preserve_unit_loops=True)
    bind(sch, threadIdx_x=sch.split(sch.get_loops("squares")[-1], [None, 32])[1])
    sch.set_scope("squares", 0, "shared")
    x, weight = numbers(rows, columns), numbers(columns, seed=2)
    root = np.sqrt((x * x).mean(1, keepdims=True) + 1e-5)
    return Example(sch, [x, weight], x / root * weight)


EXAMPLES = [softmax, rms_norm]

if __name__ == "__main__":
    main(EXAMPLES)
