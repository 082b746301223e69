# SPDX-License-Identifier: Apache-2.0
"""A box blur by tiles: each block copies a tile and its border, and adds up along both axes."""

from __future__ import annotations

import numpy as np
from on_devices import Example, bind, main, numbers

from loopsmith import te, tir

WINDOW = 5


def blur(height: int, width: int) -> tir.PrimFunc:
    """Means of squares of WINDOW x WINDOW: sums along rows, then sums of these along columns."""
    x = te.placeholder((height + WINDOW - 1, width + WINDOW - 1), name="X")
    dx, dy = te.reduce_axis((0, WINDOW), "dx"), te.reduce_axis((0, WINDOW), "dy")
    across = te.compute(
        (height + WINDOW - 1, width), lambda i, j: te.sum(x[i, j + dx], axis=dx), name="across"
    )
    down = te.compute((height, width), lambda i, j: te.sum(across[i + dy, j], axis=dy), name="down")
    mean = te.compute((height, width), lambda i, j: down[i, j] * (1.0 / WINDOW**2), name="mean")
    return te.create_prim_func([x, mean])


def tiles(height: int = 100, width: int = 150, rows: int = 16, columns: int = 32) -> Example:
    """A thread has four results, one below the other; neighbouring threads neighbouring columns.

    The tile with its border is read once from memory, sums along rows are made once for the
    WINDOW rows of results that need them. Both are in shared memory.
    """
    sch = tir.Schedule(blur(height, width))
    i, j = sch.get_loops("mean")
    by, ty, own = sch.split(i, [None, rows // 4, 4])
    bx, tx = sch.split(j, [None, columns])
    sch.reorder(by, bx, ty, tx, own)
    bind(sch, blockIdx_y=by, blockIdx_x=bx, threadIdx_y=ty, threadIdx_x=tx)
    sch.set_scope("down", 0, "local")
    sch.compute_at("down", own)
    sch.set_scope("across", 0, "shared")
    sch.compute_at("across", bx)
    copy = sch.cache_read("across", 0, "shared")
    sch.compute_at(copy, bx)
    for block in ("across", copy):
        y, x = sch.get_loops(block)[2:4]
        _, ty, tx = sch.split(sch.fuse(y, x), [None, rows // 4, columns])
        bind(sch, threadIdx_y=ty, threadIdx_x=tx)
    x = numbers(height + WINDOW - 1, width + WINDOW - 1)
    windows = np.lib.stride_tricks.sliding_window_view(x, (WINDOW, WINDOW))
    return Example(sch, [x], windows.mean((2, 3)))


EXAMPLES = [tiles]

if __name__ == "__main__":
    main(EXAMPLES)
