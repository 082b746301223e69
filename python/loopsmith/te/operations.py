# SPDX-License-Identifier: Apache-2.0
"""Tensors that are given, computed element by element, or step by step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from .. import _core
from .._core import Expr, Tensor
from ..argument_errors import explained
from ..dtypes import name_of
from .shapes import Shape, sizes_of
from .tags import current_tag


@explained
def placeholder(shape: Shape, dtype: Any = None, name: str = "placeholder") -> Tensor:
    """Return an input tensor.

    Parameters
    ----------
    shape
        Its extents: ints of 0 and more, or integer expressions. A single one is a shape of one.
    dtype
        The type of its elements, ``"float32"`` if not given: a name, or a type of NumPy, PyTorch
        or ml_dtypes.
    name
        What the function, errors and printed programs call it.

    Raises
    ------
    BoundsError
        For a negative extent, or more than 2^63 bytes.
    TypeMismatch
        For an extent that is no integer.
    """
    kind = "float32" if dtype is None else name_of("placeholder", dtype)
    return _core.te_placeholder(sizes_of(shape), kind, name)


class Parameters(NamedTuple):
    """The names of a function's parameters."""

    names: list[str]  # Of positional ones without a default.
    variadic: str | None  # Of ``*args``.
    kept: str | None  # Of the first positional one that keeps its default.


def parameters_of(function: Callable[..., Any], whose: str, values: str) -> Parameters:
    """Return the parameters of a function; those with a default keep it.

    So ``lambda i, step=step: ...`` binds the value that a loop around it has now. Errors say whose
    function it is, and what ``values`` it takes.
    """
    names: list[str] = []
    variadic = kept = None
    for parameter in inspect.signature(function).parameters.values():
        is_keyword = parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_KEYWORD)
        if parameter.kind is parameter.VAR_POSITIONAL:
            variadic = parameter.name
        elif parameter.default is not parameter.empty:
            kept = kept if is_keyword or kept else parameter.name
        elif is_keyword:
            _refuse_parameter(parameter.name, whose, values)
        else:
            names.append(parameter.name)
    return Parameters(names, variadic, kept)


def _refuse_parameter(name: str, whose: str, values: str) -> NoReturn:
    _core.fail(
        "TypeMismatch",
        "parameters_are_positional",
        f"{whose}: the parameter {name} is not a plain positional one",
        hint=f"take the {values} as plain parameters, or as *args",
    )


def _axis_names(
    fcompute: Callable[..., Any], count: int, name: str, varargs_names: Sequence[str] | None
) -> list[str]:
    """The names of the axes: as many as the function takes, at most one for each dimension."""
    names, variadic, kept = parameters_of(fcompute, "compute", "indices")
    if kept is not None and (variadic is not None or len(names) < count):
        _refuse_parameter(kept, "compute", "indices")  # It would be an index.
    if len(names) > count:
        _core.fail(
            "FormatError",
            "one_parameter_a_dimension",
            f"compute {name}: the function takes {len(names)} indices, the shape has {count} "
            "dimensions",
            hint="give the function one parameter for each dimension",
        )
    if variadic is None:
        return names if names else [f"i{i}" for i in range(count)]
    rest = count - len(names)
    if varargs_names is not None and len(varargs_names) != rest:
        _core.fail(
            "FormatError",
            "one_name_an_axis",
            f"compute {name}: {len(varargs_names)} names for the {rest} axes of *{variadic}",
            hint="name each of them, or none",
        )
    return names + list(varargs_names or (f"i{i}" for i in range(rest)))


def values_of(result: Any) -> list[Any]:
    """Return what a function gave as a list."""
    return list(result) if isinstance(result, (tuple, list)) else [result]


@explained
def compute(
    shape: Shape,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Tensor:
    """Return the tensor whose element at (i, j, ...) is ``fcompute(i, j, ...)``.

    Parameters
    ----------
    shape
        Its extents.
    fcompute
        Takes an index for each dimension, or ``*indices``; its parameters name the axes, but for
        those with a default, which keep it. With fewer parameters than dimensions, the tensor has
        as many dimensions as there are parameters. It
        gives an expression, or a tuple of them for several tensors of one shape. A reduction stands
        on top of a value, and of all values or none.
    name
        What blocks, errors and printed programs call it.
    tag
        Of what sort it is: ``"elemwise"``, ``"broadcast"``, ...
    attrs
        Annotations of its block.
    varargs_names
        Names of the axes that ``*indices`` takes; without, ``i0``, ``i1``, ...

    Returns
    -------
    Tensor or tuple of Tensor
        A tuple when ``fcompute`` gives several values.

    Raises
    ------
    UserError
        For a reduction inside another expression, or outputs of different reductions.
    """
    extents = sizes_of(shape)
    axes = _axis_names(fcompute, len(extents), name, varargs_names)
    takes_indices = bool(inspect.signature(fcompute).parameters)

    def body(indices: list[Expr]) -> list[Any]:
        return values_of(fcompute(*indices) if takes_indices else fcompute())

    outputs = _core.te_compute(
        extents[: len(axes)], body, name, current_tag(tag), dict(attrs or {}), axes
    )
    # A tuple is what unpacks it asked for; all others get a tensor.
    return cast("Tensor", outputs[0] if len(outputs) == 1 else tuple(outputs))


@explained
def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:
    """Return the tensors that begin as ``init`` and go on, row by row, as ``update``.

    Parameters
    ----------
    init
        The first rows of each state, along the first dimension.
    update
        All rows of each state; row ``t`` may read rows of the states before ``t``.
    state_placeholder
        The placeholder by which ``update`` reads each state.
    inputs
        Other tensors that ``update`` reads.
    name, tag, attrs
        As for ``compute``.

    Returns
    -------
    Tensor or list of Tensor
        A list when there are several states.

    Raises
    ------
    TypeMismatch
        For types or shapes that do not fit together.
    """
    outputs = _core.te_scan(
        _tensors(init),
        _tensors(update),
        _tensors(state_placeholder),
        _tensors(inputs or []),
        name,
        current_tag(tag),
        dict(attrs or {}),
    )
    return outputs[0] if len(outputs) == 1 else outputs


def _tensors(tensors: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)
