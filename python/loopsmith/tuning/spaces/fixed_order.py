# SPDX-License-Identifier: Apache-2.0
"""One order of each reduction, for all schedules, targets and numbers of threads.

A reduction with an axis of its result for vectors keeps the order in which it is written. One
without, as a sum of a row, has 32 partial results, each of every so many-th element, which are
combined at the end: one for each lane of two of the widest vectors, whatever the machine has. It
depends on the program alone.
"""

from __future__ import annotations

from ... import _core
from ..._core import PrimFunc, Target
from ...build_options import DEFAULT_TARGET


def ordered(func: PrimFunc) -> PrimFunc:
    """Return the program whose results are those of all schedules of this order."""
    return _core.reference_of(func, Target(DEFAULT_TARGET), "reproducible")


def unless_scheduled(func: PrimFunc) -> PrimFunc:
    """Return the program in that order, if it has no schedule."""
    return func if "tir.is_scheduled" in (func.attrs or {}) else ordered(func)
