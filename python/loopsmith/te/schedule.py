# SPDX-License-Identifier: Apache-2.0
"""How tensors are computed, apart from what they are: decisions, one stage at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from .. import _core
from .._core import ComputeOp, ExternOp, PlaceholderOp, ScanOp, Tensor
from .._core import TeSchedule as Schedule
from .._core import TeStage as Stage
from ..mistakes import explained

__all__ = ["Operation", "Schedule", "Stage", "create_schedule"]

Operation = Union[ComputeOp, ExternOp, PlaceholderOp, ScanOp, Tensor]
"""What a stage computes; a tensor stands for the operation that makes it."""


@explained
def create_schedule(ops: Operation | Sequence[Operation]) -> Schedule:
    """Return a schedule with a stage for each operation that the given ones need.

    Parameters
    ----------
    ops
        The operations whose results are wanted, or tensors of them.

    Returns
    -------
    Schedule
        ``s[C]`` is the stage of a tensor ``C``. Each method of a stage records a decision; what it
        makes of the program is decided when the schedule is lowered, or by ``s.to_tir()``.

    Raises
    ------
    TypeMismatch
        For what is neither an operation nor a tensor.

    Examples
    --------
    >>> s = te.create_schedule(C.op)
    >>> io, ii = s[C].split(C.op.axis[0], factor=32)
    >>> s[C].vectorize(ii)
    >>> f = ls.build(s, [A, B, C])
    """
    return _core.te_create_schedule(ops if isinstance(ops, (list, tuple)) else [ops])
