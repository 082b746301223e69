# SPDX-License-Identifier: Apache-2.0
# ---
# jupyter:
#   jupytext:
#     formats: py:percent
# ---

# %% [markdown]
# # Export: from a schedule to a program in C
#
# A kernel goes into a file with a header, and a program in C calls it: no Python, no compiler of
# ours, nothing else to install.

# %%
from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np

import loopsmith as ls
from loopsmith import te

n = te.size_var("n")
X = te.placeholder((n,), name="X")
Y = te.compute((n,), lambda i: X[i] * 2.0 + 1.0, name="Y")
module = ls.build([X, Y], name="scale")
folder = Path(tempfile.mkdtemp())

# %% [markdown]
# ## 1. A shared object
# Its code, and the small runtime that it needs.

# %%
module.export(folder / "scale.so", header=folder / "scale.h")
print((folder / "scale.h").read_text()[-400:])
size = (folder / "scale.so").stat().st_size
print(f"scale.so has {size} bytes")

# %% [markdown]
# ## 2. A program in C
# Arrays are DLPack's `DLTensor`; the function checks them, and returns 0 or the number of an error.

# %%
(folder / "main.c").write_text(
    """
#include <stdio.h>
#include "scale.h"

int main(void) {
  float x[3] = {1, 2, 3}, y[3];
  int64_t shape[1] = {3};
  DLTensor X = {.data = x, .device = {kDLCPU, 0}, .ndim = 1,
                .dtype = {kDLFloat, 32, 1}, .shape = shape};
  DLTensor Y = X;
  Y.data = y;
  if (scale(NULL, &X, &Y) != 0) return 1;
  printf("%g %g %g\\n", y[0], y[1], y[2]);
  return 0;
}
"""
)
subprocess.run(["cc", "main.c", "scale.so", "-Wl,-rpath,.", "-o", "main"], cwd=folder, check=True)
printed = subprocess.run(["./main"], cwd=folder, check=True, capture_output=True, text=True).stdout
print(printed)
assert printed == "3 5 7\n"

# %% [markdown]
# ## 3. Back into Python
# The file says what it has: names, parameters, the target, the schedule that it was made by.

# %%
loaded = ls.load_module(folder / "scale.so")
np.testing.assert_array_equal(loaded(np.ones(4, "float32")), np.full(4, 3.0, "float32"))
print(loaded.names, loaded["scale"].parameters)
