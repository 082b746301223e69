# SPDX-License-Identifier: Apache-2.0
"""Attributes of functions, and elements of tensors."""

from __future__ import annotations

from typing import Any

from loopsmith import BoundsError, Target, UserError, te, tir


class BadArgument(UserError, ValueError, TypeError):
    """An argument that does not fit, by any class that programs catch."""


class BadIndex(UserError, ValueError, IndexError):
    """Indices that do not fit a tensor, by any class that programs catch."""


def indexed(method: str) -> Any:
    core: Any = vars(te.Tensor)[method]

    def indexed(tensor: Any, *indices: Any) -> Any:
        from ..tvm.te_intrinsics import region_of, remember_slice

        region = region_of(tensor, indices[0]) if method == "__getitem__" else None
        if region is not None:
            return region
        try:
            found = core(tensor, *indices)
        except BoundsError as error:
            raise BadIndex(str(error)) from error
        if method == "__getitem__" and isinstance(found, te.Tensor):
            remember_slice(found, tensor, indices[0])
        return found

    return indexed


_core_specialize: Any = tir.PrimFunc.specialize


def specialize(func: Any, param_map: Any) -> Any:
    if not param_map:
        return func
    try:
        return _core_specialize(func, param_map)
    except UserError as error:
        raise BadArgument(str(error)) from error


_core_body: Any = vars(tir.PrimFunc)["body"]
_core_allocate_body: Any = vars(tir.Allocate)["body"]


def body(func: Any) -> Any:
    """Return the body without the declarations of pointer parameters, which functions get."""
    found = _core_body.__get__(func)
    while isinstance(found, tir.DeclBuffer) and any(map(found.buffer.data.same_as, func.params)):
        found = found.body
    return found


def allocate_body(node: Any) -> Any:
    """Return the body without the declaration of the memory as a buffer."""
    found = _core_allocate_body.__get__(node)
    while isinstance(found, tir.DeclBuffer) and found.buffer.data.same_as(node.buffer_var):
        found = found.body
    return found


_core_with_attr: Any = tir.PrimFunc.with_attr


def attribute(value: Any) -> Any:
    """Return a value as functions keep it: a target is its text."""
    return str(value) if isinstance(value, Target) else value


class IntAttribute(int):
    """An integer attribute, which programs before 0.15 read as a node."""

    @property
    def value(self) -> int:
        """Return the integer."""
        return int(self)


_core_attrs: Any = vars(tir.PrimFunc)["attrs"]


def as_read(attrs: dict[str, Any]) -> dict[str, Any]:
    """Return attributes with integers that may be read as nodes."""
    return {
        key: IntAttribute(value) if type(value) is int else value for key, value in attrs.items()
    }


def attrs(func: Any) -> dict[str, Any] | None:
    """Return the attributes of a function; None where it has none."""
    return as_read(_core_attrs.__get__(func)) or None


_attrs_of_op: Any = vars(te.ComputeOp)["attrs"]


def attrs_of_op(op: Any) -> dict[str, Any]:
    """Return the attributes of a computation."""
    return as_read(_attrs_of_op.__get__(op))


def name_of_function(func: Any, name: str) -> Any:
    if name == "__name__":
        return func.name
    raise AttributeError(f"'PrimFunc' object has no attribute {name!r}", name=name, obj=func)


def with_attr(func: Any, attr_key_or_dict: Any, attr_value: Any = None) -> Any:
    if isinstance(attr_key_or_dict, dict):
        given = {key: attribute(value) for key, value in attr_key_or_dict.items()}
        return _core_with_attr(func, given)
    return _core_with_attr(func, attr_key_or_dict, attribute(attr_value))
