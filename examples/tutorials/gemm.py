# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A product of matrices in six steps
#
# The same program, carried out in other orders. Each step says what it changes; each schedule is
# compared with NumPy, and measured. A notebook is made of this file by jupytext.

# %%
from __future__ import annotations

import numpy as np

import loopsmith as ls
from loopsmith import te, tir

SIZE = 256
A = te.placeholder((SIZE, SIZE), name="A")
B = te.placeholder((SIZE, SIZE), name="B")
FUNC = te.create_prim_func([A, B, te.nn.matmul(A, B)])
a, b = np.random.default_rng(0).random((2, SIZE, SIZE), "float32")


def show(step: str, sch: tir.Schedule) -> float:
    """Check and measure a schedule; return its GFLOP/s."""
    module = ls.build(sch)
    c = np.zeros_like(a)
    module(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)
    timing = module.time(a, b, c)
    print(f"{step:<28} {timing.median * 1e3:8.3f} ms  {timing.gflops:7.1f} GFLOP/s")
    return timing.gflops or 0.0


# %% [markdown]
# ## 1. As it is written
# Three loops; nothing was decided, and a schedule without a step is only what it says.

# %%
sch = tir.Schedule(FUNC)
i, j, k = sch.get_loops("matmul")
sch.annotate(i, "step", "as written")  # A step, so that no rule schedules the program.
show("1 as it is written", sch)

# %% [markdown]
# ## 2. Another order
# The innermost loop runs along rows of B and C: neighbours in memory are used one after the other.

# %%
sch.reorder(i, k, j)
show("2 k outside of j", sch)

# %% [markdown]
# ## 3. Vectors
# Sixteen columns at once.

# %%
columns, lanes = sch.split(j, [None, 16])
sch.vectorize(lanes)
show("3 vectors", sch)

# %% [markdown]
# ## 4. A tile in registers
# Four rows and two vectors of columns stay in registers while k runs: each element of A and B that
# is loaded is used several times.

# %%
sch = tir.Schedule(FUNC)
i, j, k = sch.get_loops("matmul")
i_outer, rows = sch.split(i, [None, 4])
j_outer, vectors, lanes = sch.split(j, [None, 2, 16])
sch.reorder(i_outer, j_outer, k, rows, vectors, lanes)
sch.vectorize(lanes)
sch.unroll(rows)
sch.unroll(vectors)
show("4 a tile in registers", sch)

# %% [markdown]
# ## 5. Zeros apart
# The tile is set to zero before k runs, not by a condition inside of it.

# %%
sch.decompose_reduction("matmul", k)
show("5 zeros apart", sch)

# %% [markdown]
# ## 6. All cores
# Rows of tiles are independent, which the schedule proves before it accepts the step.

# %%
sch.parallel(i_outer)
show("6 all cores", sch)

# %%
print(sch.trace)
print(ls.build(sch).report())
