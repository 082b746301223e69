# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A prefix sum: a loop whose iterations need each other
#
# Each element is the one before plus another number: no iteration can start before the last one has
# ended. The schedule says so, with the two iterations, and knows what does help.

# %%
from __future__ import annotations

import numpy as np

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T

ROWS, COUNT = 64, 4096


@T.prim_func
def prefix_sums(X: T.Buffer((ROWS, COUNT), "float32"), Y: T.Buffer((ROWS, COUNT), "float32")):
    for row in range(ROWS):
        Y[row, 0] = X[row, 0]
        for i in range(1, COUNT):
            Y[row, i] = Y[row, i - 1] + X[row, i]


x = np.random.default_rng(0).random((ROWS, COUNT), "float32")


def show(step: str, sch: tir.Schedule) -> float:
    """Check and measure a schedule; return the seconds of a call."""
    module = ls.build(sch)
    y = np.zeros_like(x)
    module(x, y)
    np.testing.assert_allclose(y, np.cumsum(x, axis=1), rtol=1e-3)
    timing = module.time(x, y)
    print(f"{step:<28} {timing.median * 1e6:9.1f} us")
    return timing.median


# %% [markdown]
# ## 1. As it is written

# %%
sch = tir.Schedule(prefix_sums)
sch.annotate("row", "step", "as written")
show("1 as it is written", sch)

# %% [markdown]
# ## 2. What is refused, and why
# The refusal names two iterations and the element that both access.

# %%
try:
    sch.parallel("i")
except ls.ScheduleError as error:
    print(error)

# %% [markdown]
# ## 3. Rows at once
# Rows have nothing to do with each other: their loop may run on all cores.

# %%
sch.parallel("row")
show("3 rows on all cores", sch)

# %% [markdown]
# ## 4. A single long sum
# Where there is one row alone, the sum itself is cut: each core sums a part, the sums of parts are
# summed, and each part starts again from what is before it. `parallel_scan` is that step. It
# changes the order of the sum, which it marks in the trace.


# %%
@T.prim_func
def one_sum(X: T.Buffer((1 << 16,), "float32"), Y: T.Buffer((1 << 16,), "float32")):
    Y[0] = X[0]
    for i in range(1, 1 << 16):
        Y[i] = Y[i - 1] + X[i]


scan = tir.Schedule(one_sum)
scan.parallel_scan("i")
long = np.random.default_rng(1).random(1 << 16, "float32")
sums = np.zeros_like(long)
ls.build(scan)(long, sums)
np.testing.assert_allclose(sums, np.cumsum(long.astype("float64")), rtol=1e-4)
print(scan.trace)
