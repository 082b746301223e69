# SPDX-License-Identifier: Apache-2.0
"""Other libraries with compilers of their own in one process, imported before us and after."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import pytest

KERNEL = """
import loopsmith as ls
func = ls.from_source('''
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = A[i] * T.float32(2)
''')
kernel = ls.build(func)
"""
USES = {
    "jax": """
import jax, jax.numpy as jnp, numpy as np
x = jax.jit(lambda v: v + 1)(jnp.arange(8, dtype=jnp.float32))
out = np.zeros(8, np.float32)
kernel(x, out)  # Through DLPack, which lends jax's arrays for reading alone.
assert out.tolist() == [2.0 * (i + 1) for i in range(8)], out
assert float(jax.jit(jnp.sum)(x)) == 36
made = kernel(x)  # What is left out is made by jax.
assert isinstance(made, jax.Array) and made.tolist() == out.tolist(), made
try:
    kernel(x, x)
except ls.CallError as error:
    assert "read-only" in str(error), error
else:
    raise AssertionError("an array of jax was written")
""",
    "torch": """
import torch
x, out = torch.arange(8, dtype=torch.float32), torch.zeros(8)
address = out.data_ptr()
kernel(x, out)
assert out.data_ptr() == address and out.tolist() == [2.0 * i for i in range(8)], out
assert float(x.sum()) == 28
""",
    "numba": """
import numba, numpy as np
assert numba.njit(lambda v: v + 1)(1) == 2
x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
kernel(x, out)
assert out.tolist() == [2.0 * i for i in range(8)], out
assert numba.njit(lambda v: v * 2.0)(out).tolist() == [4.0 * i for i in range(8)]
""",
}


@pytest.mark.parametrize("library", USES)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_kernel_is_called_on_arrays_of_another_library(library: str, is_first: bool):
    if library != "numba" and importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    program = (f"import {library}\n" if is_first else "") + KERNEL + USES[library]
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
