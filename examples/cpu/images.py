# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Stencils of images: fusion, a sliding window, overlapped tiles
#
# Each stage of such a program reads a few neighbours of the stage before. All stages one after the
# other carry each image to memory and back. There are three ways to keep what is between near:
# compute it again where it is read, keep the rows that are still read, or compute tiles that
# overlap.
#
# Times are those of a core of Zen 4 (AVX-512) beside other work: medians of processor time, in
# turns.

# %%
from __future__ import annotations

from typing import Any

from step_by_step import Tutorial, as_written, lanes, numbers

from loopsmith import te, tir


def blur(rows: int, columns: int) -> tir.PrimFunc:
    a = te.placeholder((rows + 2, columns + 2), name="A")
    across = te.compute(
        (rows + 2, columns),
        lambda i, j: (a[i, j] + a[i, j + 1] + a[i, j + 2]) * (1 / 3),
        name="across",
    )
    down = te.compute(
        (rows, columns),
        lambda i, j: (across[i, j] + across[i + 1, j] + across[i + 2, j]) * (1 / 3),
        name="down",
    )
    return te.create_prim_func([a, down])


def blur_by_numpy(a: Any) -> Any:
    third = a.dtype.type(1 / 3)
    across = (a[:, :-2] + a[:, 1:-1] + a[:, 2:]) * third
    return (across[:-2] + across[1:-1] + across[2:]) * third


# %% [markdown]
# ## 1. As it is written (5.1 ms at 2000 x 2000)
# An image of its own stands between the passes.

# %% [markdown]
# ## 2. Nothing is kept (1.8 ms; by default 1.9, NumPy 7.5)
# `compute_inline` puts the first pass into the second. Each element of it is then computed three
# times, from nine vectors of A.


# %%
def in_vectors(sch: tir.Schedule, *stages: str) -> None:
    for stage in stages:
        sch.vectorize(sch.split(sch.get_loops(stage)[-1], [None, lanes()])[1])


def nothing_kept(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    sch.compute_inline("across")
    in_vectors(sch, "down")
    sch.parallel(sch.get_loops("down")[0])
    return sch


# %% [markdown]
# ## 3. Overlapped strips (2.3 ms)
# Sixteen rows of the result need 18 of the first pass: 144 kB, which the second cache holds. Two of
# 18 are computed again for the next strip, and strips are independent.


# %%
def in_strips(func: tir.PrimFunc, rows: int = 16) -> tir.Schedule:
    sch = tir.Schedule(func)
    strip, _ = sch.split(sch.get_loops("down")[0], [None, rows])
    sch.compute_at("across", strip)
    in_vectors(sch, "across", "down")
    sch.parallel(strip)
    return sch


# %% [markdown]
# ## 4. A sliding window (2.2 ms)
# A row of the result needs one more row of the first pass, and two that were there already.
# `store_at` keeps a ring of rows for a strip: each is computed once, when the window comes to it,
# and is in the first cache as long as it is read. A blur has so little to compute that all three
# wait for memory; what they save shows where stages take longer.


# %%
def sliding(func: tir.PrimFunc, rows: int = 125) -> tir.Schedule:
    sch = tir.Schedule(func)
    strip, row = sch.split(sch.get_loops("down")[0], [None, rows])
    sch.compute_at("across", row)
    sch.store_at("across", strip)
    in_vectors(sch, "across", "down")
    sch.parallel(strip)
    return sch


# %% [markdown]
# ## Harris corners (28 ms as written at 1536 x 2560; by default 4.7, NumPy 59)
# Two slopes of 3 x 3 each, three products of them, the sums of these over 3 x 3, down and across,
# and a formula: twelve stages, eleven of which are an image in memory.


# %%
def harris(rows: int, columns: int) -> tir.PrimFunc:
    a = te.placeholder((rows + 4, columns + 4), name="A")
    shape = (rows + 2, columns + 2)

    def slope(i: Any, j: Any, down: int, right: int) -> Any:
        total: Any = 0.0
        for s, weight in enumerate((1 / 12, 2 / 12, 1 / 12)):
            y, x = i + s * right, j + s * down  # Along one side of the window.
            total = total + (a[y + 2 * down, x + 2 * right] - a[y, x]) * weight
        return total

    ix = te.compute(shape, lambda i, j: slope(i, j, 0, 1), name="ix")
    iy = te.compute(shape, lambda i, j: slope(i, j, 1, 0), name="iy")

    def window(name: str, p: te.Tensor, q: te.Tensor) -> te.Tensor:
        product = te.compute(shape, lambda i, j: p[i, j] * q[i, j], name=f"product_{name}")

        column = te.compute(
            (rows, columns + 2),
            lambda i, j: product[i, j] + product[i + 1, j] + product[i + 2, j],
            name=f"column_{name}",
        )
        return te.compute(
            (rows, columns),
            lambda i, j: column[i, j] + column[i, j + 1] + column[i, j + 2],
            name=name,
        )

    sxx, syy, sxy = window("xx", ix, ix), window("yy", iy, iy), window("xy", ix, iy)

    def corner(i: Any, j: Any) -> Any:
        trace = sxx[i, j] + syy[i, j]
        return sxx[i, j] * syy[i, j] - sxy[i, j] * sxy[i, j] - 0.04 * trace * trace

    return te.create_prim_func([a, te.compute((rows, columns), corner, name="corner")])


def harris_by_numpy(a: Any) -> Any:
    number = a.dtype.type
    right, down = a[:, 2:] - a[:, :-2], a[2:] - a[:-2]
    ix = (right[:-2] + 2 * right[1:-1] + right[2:]) * number(1 / 12)
    iy = (down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]) * number(1 / 12)

    def window(p: Any) -> Any:
        lines = p[:, :-2] + p[:, 1:-1] + p[:, 2:]
        return lines[:-2] + lines[1:-1] + lines[2:]

    sxx, syy, sxy = window(ix * ix), window(iy * iy), window(ix * iy)
    trace = sxx + syy
    return sxx * syy - sxy * sxy - number(0.04) * trace * trace


# %% [markdown]
# ### In few stages (6.9 ms)
# Products and sums over the window are inlined: three stages are left, of which the slopes are read
# nine times each.


# %%
PRODUCTS = ("xx", "yy", "xy")


def harris_in_few_stages(func: tir.PrimFunc) -> tir.Schedule:
    sch = tir.Schedule(func)
    keep_slopes(sch)
    in_vectors(sch, "ix", "iy", "corner")
    return sch


def keep_slopes(sch: tir.Schedule) -> None:
    for stage in PRODUCTS:
        for inlined in (f"product_{stage}", f"column_{stage}", stage):
            sch.compute_inline(inlined)


# %% [markdown]
# ### Overlapped strips (5.2 ms)
# Eight rows of corners need ten of each slope: 200 kB.


# %%
def harris_in_strips(func: tir.PrimFunc, rows: int = 8) -> tir.Schedule:
    sch = tir.Schedule(func)
    keep_slopes(sch)
    strip, _ = sch.split(sch.get_loops("corner")[0], [None, rows])
    for slope in ("iy", "ix"):
        sch.compute_at(slope, strip)
    in_vectors(sch, "ix", "iy", "corner")
    sch.parallel(strip)
    return sch


# %% [markdown]
# ### A sliding window, and sums of columns (5.4 ms)
# Rings keep three rows of each slope. The sums of the products over three rows are made for one row
# at a time, and read three times, a column apart: a third of the products and of the additions
# down. `merge` makes one loop of all three. No row is computed twice but at the start of a strip;
# what is left is loads and stores of the first cache.


# %%
def harris_sliding(func: tir.PrimFunc, rows: int = 64) -> tir.Schedule:
    sch = tir.Schedule(func)
    strip, row = sch.split(sch.get_loops("corner")[0], [None, rows])
    for stage in PRODUCTS:
        sch.compute_inline(f"product_{stage}")
        sch.compute_inline(stage)
        sch.compute_at(f"column_{stage}", row)
    for slope in ("iy", "ix"):
        sch.compute_at(slope, row, index=-2)  # Before all three sums.
        sch.store_at(slope, strip)
    columns = [f"column_{stage}" for stage in PRODUCTS]
    in_vectors(sch, "ix", "iy", *columns, "corner")
    sch.merge(*(sch.get_loops(column)[-2] for column in columns))
    sch.parallel(strip)
    return sch


# %%
TUTORIALS = [
    Tutorial(
        "blur",
        blur,
        [as_written, nothing_kept, in_strips, sliding],
        lambda rows, columns: [numbers(rows + 2, columns + 2)],
        blur_by_numpy,
        sizes=(2000, 2000),
        small_sizes=[(20, 64), (7, 37), (130, 24)],
    ),
    Tutorial(
        "Harris corners",
        harris,
        [as_written, harris_in_few_stages, harris_in_strips, harris_sliding],
        lambda rows, columns: [numbers(rows + 4, columns + 4)],
        harris_by_numpy,
        sizes=(1536, 2560),
        small_sizes=[(20, 64), (7, 37), (130, 24)],
    ),
]

if __name__ == "__main__":
    for tutorial in TUTORIALS:
        tutorial.measure()
