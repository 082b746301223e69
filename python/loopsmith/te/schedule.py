# SPDX-License-Identifier: Apache-2.0
"""How tensors are computed, apart from what they are: decisions, one stage at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from .. import _core
from .._core import Buffer, ComputeOp, ExternOp, PlaceholderOp, ScanOp, Tensor
from .._core import TeSchedule as Schedule
from .._core import TeStage as Stage
from .._core import TeTensorIntrin as TensorIntrin
from ..argument_errors import explained

__all__ = [
    "Operation",
    "Schedule",
    "Stage",
    "TensorIntrin",
    "create_schedule",
    "decl_tensor_intrin",
]

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
    return _core.te_create_schedule(ops)


def unpickled(text: str) -> Schedule:
    """Return the schedule that pickle kept as a text."""
    return Schedule.from_json(text)


@explained
def decl_tensor_intrin(
    op: ComputeOp,
    fcompute: Callable[..., Any],
    name: str = "tensor_intrin",
    binds: Mapping[Tensor, Buffer] | None = None,
    scalar_params: Sequence[Any] | None = None,
    default_buffer_params: Mapping[str, Any] | None = None,
) -> TensorIntrin:
    """Return an intrinsic that computes what an operation describes.

    Parameters
    ----------
    op
        A compute over placeholders. Sizes are constants, or variables, which stand for the extents
        of the loops of each tile; ``fcompute`` may use them.
    fcompute
        Takes the lists of input and of output buffers. Gives the statement, or call, that computes
        all of it; or ``(body, reduce_init, reduce_update)``: the last two start a reduction, and
        combine with what was stored. None stands for a part that there is not.
    name
        Its name in traces and errors.
    binds
        The buffer of a tensor, where it may have strides or an alignment of its own; without,
        compact ones.
    scalar_params
        Variables of the operation that stand for numbers: expressions that have one value in each
        tile. ``fcompute`` takes the list of them after the buffers.
    default_buffer_params
        Parameters of ``tir.decl_buffer`` for those that ``binds`` does not name.

    Raises
    ------
    ScheduleError
        The operation is no such compute, or a buffer does not fit its tensor.
    """
    from ..tir import decl_buffer

    given = dict(binds or {})
    rest = dict(default_buffer_params or {})

    def buffer_of(tensor: Tensor) -> Buffer:
        if tensor in given:
            return given[tensor]
        return decl_buffer(tensor.shape, tensor.dtype, tensor.name, **rest)

    ins = [buffer_of(tensor) for tensor in op.input_tensors]
    outs = [buffer_of(op.output(i)) for i in range(op.num_outputs)]
    return _core.te_tensor_intrin(op, fcompute, name, ins, outs, list(scalar_params or ()))
