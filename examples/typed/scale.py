# SPDX-License-Identifier: Apache-2.0
"""A script whose annotations type checkers understand: mypy reads this file in `make lint`."""

from __future__ import annotations

from typing import Annotated

import numpy as np

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T


@T.prim_func
def scale(
    A: Annotated[tir.Buffer, T.Buffer((64,), "float32")],
    B: Annotated[tir.Buffer, T.Buffer((64,), "float32")],
    factor: T.float32,
) -> None:
    """Write the elements of A, times a number, to B."""
    for i in T.vectorized(64):
        B[i] = A[i] * factor


def main() -> None:
    """Check it, and the same as a tensor expression."""
    a = np.arange(64, dtype="float32")
    b = np.zeros_like(a)
    ls.build(scale)(a, b, 3.0)
    np.testing.assert_array_equal(b, a * 3)
    x: te.Tensor = te.placeholder((64,), name="x")
    y: te.Tensor = te.compute((64,), lambda i: x[i] * 3.0, name="y")
    np.testing.assert_array_equal(ls.build([x, y])(a), b)


if __name__ == "__main__":
    main()
