# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A convolution: padding, tiles and registers
#
# A 3x3 convolution over images of many channels. Padding is a stage of its own, the sum runs over
# channels and the window, and the schedule keeps a tile of results in registers meanwhile.

# %%
from __future__ import annotations

import numpy as np

import loopsmith as ls
from loopsmith import te, tir

SIZE, INPUTS, OUTPUTS = 28, 16, 32
X = te.placeholder((SIZE, SIZE, INPUTS), name="X")
W = te.placeholder((3, 3, INPUTS, OUTPUTS), name="W")
padded = te.compute(
    (SIZE + 2, SIZE + 2, INPUTS),
    lambda y, x, c: te.if_then_else(
        te.all(y >= 1, y <= SIZE, x >= 1, x <= SIZE), X[y - 1, x - 1, c], 0.0
    ),
    name="padded",
)
ry, rx, rc = (
    te.reduce_axis((0, n), name=name) for n, name in ((3, "ry"), (3, "rx"), (INPUTS, "rc"))
)
Y = te.compute(
    (SIZE, SIZE, OUTPUTS),
    lambda y, x, o: te.sum(padded[y + ry, x + rx, rc] * W[ry, rx, rc, o], axis=[ry, rx, rc]),
    name="Y",
)
FUNC = te.create_prim_func([X, W, Y])
random = np.random.default_rng(0)
x = random.standard_normal((SIZE, SIZE, INPUTS), "float32")
w = random.standard_normal((3, 3, INPUTS, OUTPUTS), "float32")
windows = np.lib.stride_tricks.sliding_window_view(
    np.pad(x, ((1, 1), (1, 1), (0, 0))), (3, 3), (0, 1)
)
expected = np.einsum("yxcab,abco->yxo", windows, w)


def show(step: str, sch: tir.Schedule) -> float:
    """Check and measure a schedule; return its GFLOP/s."""
    module = ls.build(sch)
    y = module(x, w)
    np.testing.assert_allclose(y, expected, rtol=1e-3, atol=1e-4)
    timing = module.time(x, w, y)
    print(f"{step:<28} {timing.median * 1e3:8.3f} ms  {timing.gflops:7.1f} GFLOP/s")
    return timing.gflops or 0.0


# %% [markdown]
# ## 1. As it is written

# %%
sch = tir.Schedule(FUNC)
y, xx, o, ry_, rx_, rc_ = sch.get_loops("Y")
sch.annotate(y, "step", "as written")
show("1 as it is written", sch)

# %% [markdown]
# ## 2. A tile in registers
# Seven pixels and sixteen channels of the result stay in registers while the sum runs: each weight
# that is loaded serves seven pixels.

# %%
x_outer, x_inner = sch.split(xx, [None, 7])
o_outer, o_inner = sch.split(o, [None, 16])
sch.reorder(y, x_outer, o_outer, ry_, rx_, rc_, x_inner, o_inner)
sch.vectorize(o_inner)
sch.unroll(x_inner)
show("2 a tile in registers", sch)

# %% [markdown]
# ## 3. Zeros apart, and padding where it is read
# The tile is set to zero before the sum; three rows of the padded image are made for each row of
# the result, and are still in the cache when they are read.

# %%
sch.decompose_reduction("Y", ry_)
sch.compute_at("padded", y)
show("3 padding where it is read", sch)

# %% [markdown]
# ## 4. All cores

# %%
sch.parallel(y)
show("4 all cores", sch)
print(sch.trace)
