# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # A blur: what is computed again, and what is kept
#
# A blur of nine points is two passes of three. Between them stands an image of its own, and a
# schedule decides how much of it there is at a time: all of it, a tile, or nothing.

# %%
from __future__ import annotations

import numpy as np

import loopsmith as ls
from loopsmith import te, tir

HEIGHT, WIDTH = 240, 512
IMAGE = te.placeholder((HEIGHT + 2, WIDTH + 2), name="image")
ACROSS = te.compute(
    (HEIGHT + 2, WIDTH),
    lambda y, x: (IMAGE[y, x] + IMAGE[y, x + 1] + IMAGE[y, x + 2]) / 3.0,
    name="across",
)
BLURRED = te.compute(
    (HEIGHT, WIDTH),
    lambda y, x: (ACROSS[y, x] + ACROSS[y + 1, x] + ACROSS[y + 2, x]) / 3.0,
    name="blurred",
)
FUNC = te.create_prim_func([IMAGE, BLURRED])
image = np.random.default_rng(0).random((HEIGHT + 2, WIDTH + 2), "float32")
windows = np.lib.stride_tricks.sliding_window_view(image, (3, 3))


def show(step: str, sch: tir.Schedule) -> float:
    """Check and measure a schedule; return the seconds of a call."""
    module = ls.build(sch, default_schedule=False)  # As it is scheduled, and no more.
    blurred = module(image)
    np.testing.assert_allclose(blurred, windows.mean(axis=(2, 3)), rtol=1e-5)
    timing = module.time(image, blurred)
    print(f"{step:<28} {timing.median * 1e6:9.1f} us")
    return timing.median


# %% [markdown]
# ## 1. All of the first pass, then the second
# Each element of `across` is computed once, and goes to memory and back.

# %%
sch = tir.Schedule(FUNC)
show("1 pass by pass", sch)

# %% [markdown]
# ## 2. Nothing is kept
# `compute_inline` puts the first pass into the second. Each element is then computed three times:
# arithmetic in the place of memory.

# %%
inlined = tir.Schedule(FUNC)
inlined.compute_inline("across")
inlined.vectorize(inlined.split(inlined.get_loops("blurred")[-1], [None, 16])[1])
show("2 nothing is kept", inlined)

# %% [markdown]
# ## 3. A strip at a time
# Eight rows of the result need ten of `across`, which the first cache holds. Two of ten rows are
# computed again for the next strip.

# %%
outer, inner = sch.split(sch.get_loops("blurred")[0], [None, 8])
sch.compute_at("across", outer)
show("3 a strip at a time", sch)

# %% [markdown]
# ## 4. Vectors and all cores

# %%
for stage in ("across", "blurred"):
    sch.vectorize(sch.split(sch.get_loops(stage)[-1], [None, 16])[1])
sch.parallel(outer)
show("4 vectors and all cores", sch)
assert sch.verify()
print(sch.trace)
