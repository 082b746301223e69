# SPDX-License-Identifier: Apache-2.0
"""Tensors that a statement of the user's own writes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import _core
from .._core import Buffer, PrimFunc, Tensor
from ..argument_errors import explained
from .shapes import Shape, sizes_of
from .tags import current_tag


@explained
def extern(
    shape: Shape | None,
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Buffer], list[Buffer]], Any],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    in_buffers: Buffer | Sequence[Buffer] | None = None,
    out_buffers: Buffer | Sequence[Buffer] | None = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Return tensors made by a statement over buffers.

    Parameters
    ----------
    shape
        The shape of the output, or a list of shapes for several; None for those of ``out_buffers``.
    inputs
        The tensors that the statement reads.
    fcompute
        Takes the lists of input and of output buffers; gives a statement, or an expression that is
        evaluated for its effect.
    dtype
        The type of each output; without, that of ``out_buffers``, or the one type of all inputs.
    in_buffers, out_buffers
        The buffers to write the statement in; without, new ones like the tensors.
    name, tag, attrs
        As for ``compute``.

    Returns
    -------
    Tensor or list of Tensor
        A list when there are several outputs.
    """
    written = _buffers(out_buffers)
    if shape is None and written:
        shapes: list[Any] = [buffer.shape for buffer in written]
    elif isinstance(shape, (list, tuple)) and bool(shape) and _is_shape(shape[0]):
        shapes = [sizes_of(s) for s in shape]
    else:
        shapes = [sizes_of(shape)]
    if dtype is None and written:
        dtype = [buffer.dtype for buffer in written]
    dtypes = _output_types(dtype, inputs, len(shapes), name)
    outputs = _core.te_extern_op(
        shapes,
        dtypes,
        list(inputs),
        fcompute,
        name,
        _buffers(in_buffers),
        written,
        current_tag(tag),
        dict(attrs or {}),
    )
    return outputs[0] if len(outputs) == 1 else outputs


@explained
def extern_primfunc(
    input_tensors: Sequence[Tensor],
    primfunc: PrimFunc,
    name: str = "extern",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Return the tensors that a function over buffers makes.

    Parameters
    ----------
    input_tensors
        A tensor for each parameter that the function only reads, in order: of its type and its
        shape. Sizes with names in that shape are those of the tensor.
    primfunc
        Its other parameters are the outputs. It fills them before it reads them.
    name, tag, attrs
        As for ``compute``.

    Returns
    -------
    Tensor or list of Tensor
        A list when there are several outputs.

    Raises
    ------
    UserError
        The function has scalar parameters or no output, or does not fit the tensors.
    """
    outputs = _core.te_extern_primfunc(
        list(input_tensors), primfunc, name, current_tag(tag), dict(attrs or {})
    )
    return outputs[0] if len(outputs) == 1 else outputs


def _is_shape(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _buffers(buffers: Buffer | Sequence[Buffer] | None) -> list[Buffer]:
    if buffers is None:
        return []
    return [buffers] if isinstance(buffers, Buffer) else list(buffers)


def _output_types(
    dtype: str | Sequence[str] | None, inputs: Sequence[Tensor], count: int, name: str
) -> list[str]:
    if isinstance(dtype, str):
        return [dtype] * count
    if dtype is not None:
        return list(dtype)
    types = {tensor.dtype for tensor in inputs}
    if len(types) != 1:
        _core.fail(
            "FormatError",
            "output_type_is_known",
            f"extern {name}: the type of its outputs cannot be inferred from its inputs",
            hint="pass dtype",
        )
    return [types.pop()] * count
