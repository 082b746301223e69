# SPDX-License-Identifier: Apache-2.0
"""Loops of the kinds that tests of vectorizing compilers ask about, written anew as scripts.

The names are those under which the kinds are known (Callahan, Dongarra and Levine, "Vectorizing
compilers: a test suite and results", 1988, and its later extensions).
"""

from . import addressing, control, distribution, plain, reductions  # noqa: F401  # Each adds its loops.
from .loop import LOOPS

__all__ = ["LOOPS"]
