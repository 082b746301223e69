# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Softmax: several loops over one array, in one pass over memory
#
# A softmax reads each row three times: for its largest element, for the sum of exponentials, and
# for
# the quotients. Written as five stages it goes through memory five times; scheduled by hand, a row
# stays in the first cache from the first stage to the last.

# %%
from __future__ import annotations

import numpy as np

import loopsmith as ls
from loopsmith import te, tir

ROWS, COLUMNS = 256, 512
X = te.placeholder((ROWS, COLUMNS), name="X")
k, r = te.reduce_axis((0, COLUMNS), name="k"), te.reduce_axis((0, COLUMNS), name="r")
top = te.compute((ROWS,), lambda i: te.max(X[i, k], axis=k), name="top")
power = te.compute((ROWS, COLUMNS), lambda i, j: te.exp(X[i, j] - top[i]), name="power")
total = te.compute((ROWS,), lambda i: te.sum(power[i, r], axis=r), name="total")
Y = te.compute((ROWS, COLUMNS), lambda i, j: power[i, j] / total[i], name="Y")
FUNC = te.create_prim_func([X, Y])
x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), "float32")


def show(step: str, sch: tir.Schedule) -> float:
    """Check and measure a schedule; return the seconds of a call."""
    module = ls.build(sch)
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    y = module(x)
    np.testing.assert_allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)
    timing = module.time(x, y)
    print(f"{step:<28} {timing.median * 1e6:9.1f} us")
    return timing.median


# %% [markdown]
# ## 1. As it is written
# Five loops, one after the other; `power` has a place in memory for each element.

# %%
sch = tir.Schedule(FUNC)
sch.annotate(sch.get_loops("Y")[0], "step", "as written")  # A step: no rule schedules the rest.
show("1 as it is written", sch)

# %% [markdown]
# ## 2. One loop over rows
# Each stage is computed where the last one needs it: `compute_at` moves it into the loop over rows
# of `Y`, and proves that each element is there before it is read. What one row needs of `power` is
# one row: its memory shrinks to that.

# %%
row = sch.get_loops("Y")[0]
for stage in ("total", "power", "top"):
    sch.compute_at(stage, row)
show("2 one loop over rows", sch)

# %% [markdown]
# ## 3. Vectors
# Stages that map element to element take sixteen at once. Reductions, too: a loop over a reduction
# that is vectorized has a partial result for each lane, joined at the end. That changes the order
# of a sum of floating-point numbers, which the trace marks.

# %%
for stage in ("top", "power", "total", "Y"):
    _, lanes = sch.split(sch.get_loops(stage)[-1], [None, 16])
    sch.vectorize(lanes)
show("3 vectors", sch)

# %% [markdown]
# ## 4. All cores
# Rows are independent, memory of a row belongs to its iteration.

# %%
sch.parallel(row)
show("4 all cores", sch)

# %% [markdown]
# The reference interpreter agrees, exactly: in a field in which the order of a sum does not matter.

# %%
assert sch.verify()
print(sch.trace)
