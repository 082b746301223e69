# SPDX-License-Identifier: Apache-2.0
"""The kernels that PolyBench is known for, written anew as scripts of plain loops.

Each entry has the arrays, in the order of the parameters, and the loops. Sizes are names; those
that an entry has are for timing, tests take small ones.
"""

from . import moments, products, recurrences, solvers, stencils  # noqa: F401  # Each adds its kernels.
from .kernel import KERNELS, Array, Kernel

__all__ = ["KERNELS", "Array", "Kernel"]
