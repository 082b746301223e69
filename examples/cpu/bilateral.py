# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A bilateral grid: histograms, three blurs, and a look-up
#
# A bilateral filter smooths an image and keeps its edges: it averages pixels that are near each
# other in place and in brightness. The grid of Chen, Paris and Durand makes a coarse volume of it:
# each pixel is added to the cell of its place and brightness, the volume is blurred along its three
# axes, and each pixel of the result is interpolated from the eight cells around it. Writes and
# reads go where the data says; a schedule can take them all the same.
#
# Times are those of a core of Zen 4 (AVX-512) beside other work: medians of processor time, in
# turns.

# %%
from __future__ import annotations

from typing import Any

import numpy as np
from step_by_step import Tutorial, as_written, lanes

import loopsmith as ls
from loopsmith import tir

CELL, LEVELS = 8, 14
"""Pixels along a side of a cell; cells from dark to bright; these and the border of the blur."""


def bilateral(rows: int, columns: int) -> tir.PrimFunc:
    """Both are multiples of 8. The volume has two cells more on each side, which stay zero."""
    down, right = rows // CELL + 1, columns // CELL + 1
    ends = [f"blurred[vy // {CELL} + {y}, vx, vc, vz]" for y in (0, 1)]
    down_share = f'T.Cast("float32", vy % {CELL}) * T.float32({1 / CELL})'
    return ls.from_source(f"""
@T.prim_func
def bilateral(A: T.Buffer(({rows}, {columns})), B: T.Buffer(({rows}, {columns}))):
    cells = T.alloc_buffer(({down + 4}, {right + 4}, 2, {LEVELS + 6}))
    by_level = T.alloc_buffer(({down + 4}, {right + 4}, 2, {LEVELS + 2}))
    by_row = T.alloc_buffer(({down}, {right + 4}, 2, {LEVELS + 2}))
    blurred = T.alloc_buffer(({down}, {right}, 2, {LEVELS + 2}))
    line = T.alloc_buffer(({rows}, {right}, 2, {LEVELS + 2}))
    for y, x, c, z in T.grid({down + 4}, {right + 4}, 2, {LEVELS + 6}):
        with T.block("clear"):
            vy, vx, vc, vz = T.axis.remap("SSSS", [y, x, c, z])
            cells[vy, vx, vc, vz] = T.float32(0)
    for row, column in T.grid({rows}, {columns}):
        level: T.int32 = T.Cast("int32", A[row, column] * T.float32({LEVELS}) + T.float32(0.5)) + 2
        cells[row // {CELL} + 2, column // {CELL} + 2, 0, level] += A[row, column]
        cells[row // {CELL} + 2, column // {CELL} + 2, 1, level] += T.float32(1)
    for y, x, c, z in T.grid({down + 4}, {right + 4}, 2, {LEVELS + 2}):
        with T.block("by_level"):
            vy, vx, vc, vz = T.axis.remap("SSSS", [y, x, c, z])
            by_level[vy, vx, vc, vz] = {blur("cells", "vy, vx, vc, vz + {}")}
    for y, x, c, z in T.grid({down}, {right + 4}, 2, {LEVELS + 2}):
        with T.block("by_row"):
            vy, vx, vc, vz = T.axis.remap("SSSS", [y, x, c, z])
            by_row[vy, vx, vc, vz] = {blur("by_level", "vy + {}, vx, vc, vz")}
    for y, x, c, z in T.grid({down}, {right}, 2, {LEVELS + 2}):
        with T.block("blurred"):
            vy, vx, vc, vz = T.axis.remap("SSSS", [y, x, c, z])
            blurred[vy, vx, vc, vz] = {blur("by_row", "vy, vx + {}, vc, vz")}
    for y, x, c, z in T.grid({rows}, {right}, 2, {LEVELS + 2}):
        with T.block("line"):
            vy, vx, vc, vz = T.axis.remap("SSSS", [y, x, c, z])
            line[vy, vx, vc, vz] = {mixed(*ends, down_share)}
    for y, x in T.grid({rows}, {columns}):
        with T.block("B"):
            vy, vx = T.axis.remap("SS", [y, x])
            B[vy, vx] = {between(0)} / {between(1)}
""")


def blur(volume: str, place: str) -> str:
    """The weights of 1, 4, 6, 4, 1 neighbours along an axis."""
    terms = (f"{volume}[{place.format(i)}] * T.float32({w})" for i, w in enumerate((1, 4, 6, 4, 1)))
    return " + ".join(terms)


def mixed(first: str, last: str, share: str) -> str:
    """What is between two values, a share of the way from the first to the last."""
    return f"({first} + ({last} - {first}) * ({share}))"


def between(channel: int) -> str:
    """What is between the four cells of a line that are around a pixel."""
    level = f"A[vy, vx] * T.float32({LEVELS})"
    near = f'T.Cast("int32", {level})'
    across = f'T.Cast("float32", vx % {CELL}) * T.float32({1 / CELL})'
    ends = [
        mixed(
            *(f"line[vy, vx // {CELL} + {x}, {channel}, {near} + {z}]" for z in (0, 1)),
            f'{level} - T.Cast("float32", {near})',
        )
        for x in (0, 1)
    ]
    return mixed(*ends, across)


def by_numpy(a: Any) -> Any:
    rows, columns = a.shape
    down, right = rows // CELL + 1, columns // CELL + 1
    cells = np.zeros((down + 4, right + 4, 2, LEVELS + 6), a.dtype)
    y, x = np.mgrid[:rows, :columns]
    level = (a * a.dtype.type(LEVELS) + a.dtype.type(0.5)).astype(int)
    place = (y // CELL + 2, x // CELL + 2, level + 2)
    np.add.at(cells[:, :, 0], place, a)
    np.add.at(cells[:, :, 1], place, 1)
    weights = [a.dtype.type(w) for w in (1, 4, 6, 4, 1)]
    for axis, length in ((3, LEVELS + 2), (0, down), (1, right)):
        parts = (np.take(cells, range(i, i + length), axis) for i in range(5))
        cells = sum(part * weight for part, weight in zip(parts, weights))
    scaled = a * a.dtype.type(LEVELS)
    near = scaled.astype(int)
    total: Any = 0
    for i in (0, 1):
        for j in (0, 1):
            for k in (0, 1):
                share = 1
                for step, far in ((i, y % CELL / CELL), (j, x % CELL / CELL), (k, scaled - near)):
                    share = share * (far if step else 1 - far)
                total = total + cells[y // CELL + i, x // CELL + j, :, near + k] * share[..., None]
    return total[..., 0] / total[..., 1]


# %% [markdown]
# ## 1. As it is written (3.6 ms at 512 x 768; NumPy 187)

# %% [markdown]
# ## 2. In vectors (2.7 ms)
# Levels of brightness are the last axis of the volume, 16 of them, so that all blurs are whole
# vectors. Pixels of the result are vectors, too, whose lanes gather from the cells that they need.


# %%
def vectorize_all(sch: tir.Schedule) -> None:
    for stage in ("clear", "by_level", "by_row", "blurred", "line", "B"):
        sch.vectorize(sch.split(sch.get_loops(stage)[-1], [None, lanes()])[1])


def in_vectors(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    vectorize_all(sch)
    return sch


# %% [markdown]
# ## 3. A strip of cells at a time (2.1 ms; by default the same)
# A strip of eight rows of the result needs two rows of cells, blurred; a row of it, one line
# between them. `compute_at` makes them there. What is between stays in the first cache, though
# which levels are read is up to the data: all that may be read was filled. Pixels are added cell by
# cell, so that strips of cells are independent, which is what makes that loop parallel.


# %%
def in_strips(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    strip, row = sch.split("row", [None, CELL])
    cell, column = sch.split("column", [None, CELL])
    sch.reorder(strip, cell, row, column)
    sch.parallel(strip)
    sch.parallel(sch.get_loops("by_level")[0])
    strip, row = sch.split(sch.get_loops("B")[0], [None, CELL])
    sch.compute_at("line", row)
    sch.compute_at("blurred", strip)
    sch.compute_at("by_row", strip)
    vectorize_all(sch)
    sch.parallel(strip)
    return sch


# %%
TUTORIALS = [
    Tutorial(
        "bilateral grid",
        bilateral,
        [as_written, in_vectors, in_strips],
        lambda rows, columns: [
            np.random.default_rng(0).integers(0, 257, (rows, columns)).astype("float32") / 256
        ],
        by_numpy,
        sizes=(512, 768),
        small_sizes=[(16, 32), (24, 16)],
        tolerance=1e-4,
    )
]

if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.measure()
