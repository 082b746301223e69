# SPDX-License-Identifier: Apache-2.0
"""Tensor expressions: what is to be computed, without how.

>>> A = te.placeholder((1024, 1024), name="A")
>>> k = te.reduce_axis((0, 1024), name="k")
>>> B = te.compute((1024,), lambda i: te.sum(A[i, k], axis=k), name="B")
>>> func = te.create_prim_func([A, B])
"""

from __future__ import annotations

import builtins
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ContextDecorator
from contextvars import ContextVar, Token
from typing import Any

from . import _core
from ._core import (
    Buffer,
    ComputeOp,
    Expr,
    ExternOp,
    IterVar,
    PlaceholderOp,
    PrimFunc,
    Range,
    ScanOp,
    Tensor,
    Var,
    abs,
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    const,
    copysign,
    cos,
    cosh,
    div,
    erf,
    exp,
    exp2,
    exp10,
    expm1,
    floor,
    floordiv,
    floormod,
    fmod,
    hypot,
    if_then_else,
    infinity,
    isfinite,
    isinf,
    isnan,
    likely,
    log,
    log1p,
    log2,
    log10,
    max_value,
    min_value,
    nearbyint,
    popcount,
    round,
    rsqrt,
    select,
    sigmoid,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
    trunc,
    truncdiv,
    truncmod,
)
from ._core import pow as power

__all__ = [
    "Buffer",
    "ComputeOp",
    "Expr",
    "ExternOp",
    "IterVar",
    "PlaceholderOp",
    "PrimFunc",
    "Range",
    "Reducer",
    "ScanOp",
    "Shape",
    "Tensor",
    "Var",
    "abs",
    "acos",
    "acosh",
    "add",
    "all",
    "any",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "comm_reducer",
    "compute",
    "const",
    "copysign",
    "cos",
    "cosh",
    "create_prim_func",
    "div",
    "erf",
    "exp",
    "exp2",
    "exp10",
    "expm1",
    "extern",
    "floor",
    "floordiv",
    "floormod",
    "fmod",
    "hypot",
    "if_then_else",
    "indexdiv",
    "indexmod",
    "infinity",
    "isfinite",
    "isinf",
    "isnan",
    "likely",
    "log",
    "log1p",
    "log2",
    "log10",
    "max",
    "max_value",
    "min",
    "min_value",
    "multiply",
    "nearbyint",
    "placeholder",
    "popcount",
    "power",
    "prod",
    "reduce_axis",
    "round",
    "rsqrt",
    "scan",
    "select",
    "sigmoid",
    "sin",
    "sinh",
    "size_var",
    "sqrt",
    "subtract",
    "sum",
    "tag_scope",
    "tan",
    "tanh",
    "thread_axis",
    "trunc",
    "truncdiv",
    "truncmod",
    "var",
]

Shape = Any
"""A size, or a sequence of sizes: ints and integer expressions."""

indexdiv = floordiv
indexmod = floormod


def add(a: Any, b: Any) -> Any:
    """Return ``a + b``."""
    return a + b


def subtract(a: Any, b: Any) -> Any:
    """Return ``a - b``."""
    return a - b


def multiply(a: Any, b: Any) -> Any:
    """Return ``a * b``."""
    return a * b


def all(*conditions: Any) -> Any:
    """Return the condition that holds where each of ``conditions`` does."""
    return _core.all(conditions)


def any(*conditions: Any) -> Any:
    """Return the condition that holds where one of ``conditions`` does."""
    return _core.any(conditions)


def var(name: str = "tindex", dtype: str = "int32") -> Var:
    """Return a new scalar variable."""
    return _core.te_var(name, dtype)


def size_var(name: str = "size", dtype: str = "int32") -> Var:
    """Return a new scalar variable that is known not to be negative."""
    return _core.te_size_var(name, dtype)


# ---- Shapes ----


def _size(extent: Any) -> Any:
    """A whole float is taken as the int that it is."""
    if isinstance(extent, float):
        if not extent.is_integer():
            _core.fail(
                "TypeMismatch",
                "shape_is_integer",
                f"the shape has the extent {extent}, which is not a whole number",
                hint="give sizes as ints",
            )
        return int(extent)
    return extent


def _shape(shape: Shape) -> list[Any]:
    if isinstance(shape, (str, bytes)) or not isinstance(shape, Iterable):
        shape = (shape,)
    return [_size(extent) for extent in shape]


def placeholder(shape: Shape, dtype: str | None = None, name: str = "placeholder") -> Tensor:
    """Return an input tensor.

    Parameters
    ----------
    shape
        Its extents: ints of 0 and more, or integer expressions. A single one is a shape of one.
    dtype
        The type of its elements, ``"float32"`` if not given.
    name
        What the function, errors and printed programs call it.

    Raises
    ------
    BoundsError
        For a negative extent, or more than 2^63 bytes.
    TypeMismatch
        For an extent that is no integer.
    """
    return _core.te_placeholder(_shape(shape), dtype or "float32", name)


# ---- Compute ----


def _parameters(function: Callable[..., Any]) -> tuple[list[str], str | None]:
    """The names of the positional parameters, and of ``*args`` if there is one."""
    names: list[str] = []
    variadic = None
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            variadic = parameter.name
        elif parameter.kind is parameter.POSITIONAL_OR_KEYWORD and (
            parameter.default is parameter.empty
        ):
            names.append(parameter.name)
        else:
            _core.fail(
                "TypeMismatch",
                "parameters_are_positional",
                f"compute: the parameter {parameter.name} is not a plain positional one",
                hint="take the indices as plain parameters, or as *args",
            )
    return names, variadic


def _axis_names(
    fcompute: Callable[..., Any], count: int, name: str, varargs_names: Sequence[str] | None
) -> list[str]:
    """The names of the axes: as many as the function takes, at most one for each dimension."""
    names, variadic = _parameters(fcompute)
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


def _values(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def compute(
    shape: Shape,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """Return the tensor whose element at (i, j, ...) is ``fcompute(i, j, ...)``.

    Parameters
    ----------
    shape
        Its extents.
    fcompute
        Takes an index for each dimension, or ``*indices``; its parameters name the axes. With fewer
        parameters than dimensions, the tensor has as many dimensions as there are parameters. It
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
    extents = _shape(shape)
    axes = _axis_names(fcompute, len(extents), name, varargs_names)
    takes_indices = bool(inspect.signature(fcompute).parameters)

    def body(indices: list[Expr]) -> list[Any]:
        return _values(fcompute(*indices) if takes_indices else fcompute())

    outputs = _core.te_compute(
        extents[: len(axes)], body, name, _current_tag(tag), dict(attrs or {}), axes
    )
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


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
        _current_tag(tag),
        dict(attrs or {}),
    )
    return outputs[0] if len(outputs) == 1 else outputs


def _tensors(tensors: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def extern(
    shape: Shape,
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
        The shape of the output, or a list of shapes for several.
    inputs
        The tensors that the statement reads.
    fcompute
        Takes the lists of input and of output buffers; gives a statement, or an expression that is
        evaluated for its effect.
    dtype
        The type of each output; without, the one type of all inputs.
    in_buffers, out_buffers
        The buffers to write the statement in; without, new ones like the tensors.
    name, tag, attrs
        As for ``compute``.

    Returns
    -------
    Tensor or list of Tensor
        A list when there are several outputs.
    """
    several = isinstance(shape, (list, tuple)) and bool(shape) and _is_shape(shape[0])
    shapes = [_shape(s) for s in shape] if several else [_shape(shape)]
    dtypes = _output_types(dtype, inputs, len(shapes), name)
    outputs = _core.te_extern_op(
        shapes,
        dtypes,
        list(inputs),
        fcompute,
        name,
        _buffers(in_buffers),
        _buffers(out_buffers),
        _current_tag(tag),
        dict(attrs or {}),
    )
    return outputs[0] if len(outputs) == 1 else outputs


def _is_shape(value: Any) -> bool:
    return isinstance(value, (list, tuple))


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


# ---- Axes and reducers ----


def _bounds(dom: Any) -> tuple[Any, Any]:
    if isinstance(dom, Range):
        return dom.min, dom.min + dom.extent
    if isinstance(dom, (list, tuple)) and len(dom) == 2:
        return dom[0], dom[1]
    return 0, dom


def reduce_axis(dom: Any, name: str = "rv") -> IterVar:
    """Return an axis to reduce over.

    Parameters
    ----------
    dom
        ``(begin, end)``, a Range, or an extent.
    name
        What loops and printed programs call it.
    """
    begin, end = _bounds(dom)
    return _core.te_reduce_axis(begin, end, name)


def thread_axis(dom: Any = None, tag: str = "", name: str = "") -> IterVar:
    """Return the axis of the threads that ``tag`` names, as ``"threadIdx.x"``.

    ``thread_axis("threadIdx.x")`` leaves its extent open; ``dom`` is ``(begin, end)``, a Range or
    an extent.
    """
    if isinstance(dom, str):
        dom, tag = None, dom
    if not tag:
        _core.fail(
            "FormatError",
            "thread_has_tag",
            "thread_axis: the tag is missing",
            hint='name the threads, as "threadIdx.x"',
        )
    domain = None
    if dom is not None:
        begin, end = _bounds(dom)
        domain = Range(begin, const(end) - begin)
    return _core.te_thread_axis(domain, tag, name or tag)


def _axes(axis: Any) -> list[IterVar] | None:
    """The axes, if it is one or a sequence of them."""
    if isinstance(axis, IterVar):
        return [axis]
    if isinstance(axis, (list, tuple)) and builtins.all(isinstance(a, IterVar) for a in axis):
        return list(axis)
    return None


class Reducer:
    """A commutative, associative combination: call it on an expression and axes."""

    def __init__(self, make: Callable[[bool], Any], name: str) -> None:
        self._make = make
        self.__name__ = name

    def __call__(
        self, expr: Any, axis: Any, *args: Any, where: Any = None, init: Any = None
    ) -> Any:
        """Return the combination of ``expr`` over ``axis``.

        Parameters
        ----------
        expr
            The value to combine, or a tuple of them for a reducer of tuples.
        axis
            An axis made by ``reduce_axis``, or a list of them. Anything else, and ``args``, is
            combined with ``expr`` here and now.
        where
            Where it is false, nothing is combined.
        init
            What to start from, in place of the neutral element.

        Raises
        ------
        UserError
            For an axis that is none to reduce over, and for a reducer that is found not to be
            associative or commutative, with a counterexample.
        """
        is_tuple = isinstance(expr, (tuple, list))
        reducer = self._make(is_tuple)
        axes = _axes(axis)
        if axes is None:
            return reducer.fold([expr, axis, *args])
        rest = list(args)
        if where is None and rest:
            where = rest.pop(0)
        if init is None and rest:
            init = rest.pop(0)
        results = reducer.reduce(
            _values(expr), axes, where, None if init is None else _values(init)
        )
        return tuple(results) if is_tuple else results[0]


def comm_reducer(
    fcombine: Callable[[Any, Any], Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Reducer:
    """Return a reducer of your own.

    Parameters
    ----------
    fcombine
        Combines two values; or two tuples of values into one.
    fidentity
        The neutral element, from its type; or a tuple of them, from as many types.
    name
        What errors call it.

    Examples
    --------
    >>> xors = te.comm_reducer(lambda x, y: x ^ y, lambda t: te.const(0, t), name="xors")
    >>> B = te.compute((n,), lambda i: xors(A[i, k], axis=k))
    """
    names, _ = _parameters(fcombine)
    lhs, rhs = names if len(names) == 2 else ("x", "y")

    def make(is_tuple: bool) -> Any:
        def combine(x: list[Expr], y: list[Expr]) -> list[Any]:
            return _values(fcombine(x, y) if is_tuple else fcombine(x[0], y[0]))

        def identity(dtypes: list[str]) -> list[Any]:
            return _values(fidentity(*dtypes))

        return _core.te_reducer(name, combine, identity, lhs, rhs)

    return Reducer(make, name)


sum = Reducer(lambda _: _core.te_sum_reducer(), "sum")
prod = Reducer(lambda _: _core.te_prod_reducer(), "prod")
min = Reducer(lambda _: _core.te_min_reducer(), "min")
max = Reducer(lambda _: _core.te_max_reducer(), "max")


# ---- Functions ----


def create_prim_func(
    ops: Tensor | Var | Sequence[Tensor | Var], index_dtype_override: str | None = None
) -> PrimFunc:
    """Return the function of TensorIR that computes tensors, unscheduled.

    Parameters
    ----------
    ops
        Its parameters: the placeholders, the tensors to compute, and scalar variables.
    index_dtype_override
        ``"int32"`` or ``"int64"`` for all indices; without, they stay as they are written.

    Raises
    ------
    UserError
        For a placeholder that is read but not listed, and for a variable that nothing defines.
    """
    args = [ops] if isinstance(ops, (Tensor, Var)) else list(ops)
    return _core.te_create_prim_func(args, index_dtype_override)


_tag_scope: ContextVar[tag_scope | None] = ContextVar("tag_scope", default=None)


class tag_scope(ContextDecorator):  # noqa: N801 - the name that scripts use
    """Give a tag to the operations made inside: a context manager and a decorator."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.is_used = False
        self._token: Token[tag_scope | None] | None = None

    def _recreate_cm(self) -> tag_scope:
        return tag_scope(self.tag)

    def __enter__(self) -> tag_scope:
        if _tag_scope.get() is not None:
            _core.fail("FormatError", "tag_scopes_do_not_nest", "tag_scope: scopes do not nest")
        self._token = _tag_scope.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._token is not None
        _tag_scope.reset(self._token)
        if not self.is_used and error[0] is None:
            warnings.warn(f"the tag '{self.tag}' was not used", stacklevel=2)


def _current_tag(tag: str) -> str:
    scope = _tag_scope.get()
    if scope is None:
        return tag
    if tag:
        _core.fail("FormatError", "one_tag", f"the tag '{tag}' is given inside a tag_scope")
    scope.is_used = True
    return scope.tag
