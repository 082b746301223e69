# SPDX-License-Identifier: Apache-2.0
"""The workloads that SciPy has functions for: its own BLAS, special functions, image filters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from scipy import linalg, ndimage, special


def version() -> str:
    """Return which SciPy."""
    return f"SciPy {scipy.__version__}"


def product(a: Any, b: Any, out: Any, layout: str = "nn", batch: int = 0, **_: int) -> Any:
    """C = A @ B, as C^T = B^T A^T, whose operands are in the order of Fortran."""
    if batch:
        return None

    left, right = layout[1] == "t", layout[0] == "t"
    return lambda: (
        linalg.blas.sgemm(1.0, b.T, a.T, trans_a=left, trans_b=right, c=out.T, overwrite_c=1).T
    )


def blur(a: Any, out: Any, **_: int) -> Any:
    """Mean of three by three, of which the border is not asked for."""
    whole = np.empty_like(a)

    def call() -> None:
        ndimage.uniform_filter(a, 3, output=whole, mode="nearest")
        np.copyto(out, whole[1:-1, 1:-1])

    return call


PROGRAMS = {
    "product": product,
    "softmax": lambda a, out, **_: lambda: special.softmax(a, axis=-1),
    "blur": blur,
}
