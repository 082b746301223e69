# SPDX-License-Identifier: Apache-2.0
"""Expressions whose constructors take numbers of any type, as those of `tvm` do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loopsmith import UserError, tir

from .nodes import Alias

__all__ = [
    "Any_",
    "Broadcast",
    "BufferLoad",
    "BufferStore",
    "Call",
    "Cast",
    "IntImm",
    "Ramp",
    "Reduce",
    "dtype_of",
]


def dtype_of(dtype: Any) -> str:
    """Return the full name of a type: ``int`` is int32, ``float`` float32."""
    short = {"int": "int32", "uint": "uint32", "float": "float32", "int1": "bool"}
    return short.get(str(dtype), str(dtype))


def _lanes(node: str, lanes: Any) -> Any:
    """Return a number of lanes; of vscale only multiples of two and more are known."""
    if isinstance(lanes, (tir.Call, tir.Add)):
        raise UserError(f"{node}: {lanes!r} is no multiple of vscale")
    return lanes.value if isinstance(lanes, tir.IntImm) else lanes


class Ramp(Alias, base=tir.Ramp):
    """A vector of numbers with a constant stride."""

    @staticmethod
    def make(base: Any, stride: Any, lanes: Any, span: Any = None) -> tir.Ramp:
        """Return the vector; constants take the type of the other."""
        first, step = tir.const(base), tir.const(stride)
        if first.dtype != step.dtype:
            if isinstance(step, tir.IntImm):
                step = tir.const(step.value, first.dtype)
            elif isinstance(first, tir.IntImm):
                first = tir.const(first.value, step.dtype)
        return tir.Ramp(first, step, _lanes("Ramp", lanes))


class Broadcast(Alias, base=tir.Broadcast):
    """A vector of one value."""

    @staticmethod
    def make(value: Any, lanes: Any, span: Any = None) -> tir.Broadcast:
        """Return the vector."""
        return tir.Broadcast(tir.const(value), _lanes("Broadcast", lanes))


class Cast(Alias, base=tir.Cast):
    """A value as another type."""

    @staticmethod
    def make(dtype: Any, value: Any, span: Any = None) -> tir.Cast:
        """Return the conversion, of constants too."""
        return tir.Cast(dtype_of(dtype), tir.const(value))


class IntImm(Alias, base=tir.IntImm):
    """A constant of an integer type."""

    @staticmethod
    def make(dtype: Any, value: Any, span: Any = None) -> Any:
        """Return the constant."""
        return tir.IntImm(dtype_of(dtype), value)


class Call(Alias, base=tir.Call):
    """A call of an intrinsic, or of a function of the module."""

    @staticmethod
    def make(dtype: Any, op: Any, args: Sequence[Any], span: Any = None) -> Any:
        """Return the call; `op` is its name, in the space ``tir`` or not."""
        name = str(getattr(op, "name", op)).removeprefix("tir.")
        return tir.Call(dtype=dtype_of(dtype), op=name, args=list(args))


class Reduce(Alias, base=tir.Reduce):
    """A reduction of a tensor expression."""

    @staticmethod
    def make(
        combiner: Any,
        src: Sequence[Any],
        rdom: Sequence[Any],
        condition: Any,
        value_index: int,
        init: Sequence[Any] | None = None,
        span: Any = None,
    ) -> tir.Reduce:
        """Return the reduction."""
        return tir.Reduce(
            combiner=combiner,
            axis=rdom,
            source=src,
            init=init or [],
            condition=True if condition is None else condition,
            value_index=value_index,
        )


def _mask(predicate: Any, lanes_of: Any, what: str, value: str) -> Any:
    """Return a predicate, in the words of old programs where it does not fit."""
    if predicate is None:
        return None
    dtype, other = str(predicate.dtype), str(lanes_of)
    element = dtype.partition("x")[0]
    if element != "bool":
        raise UserError(f"Predicate mask elements must be boolean values, but got {element}.")
    if ("vscale" in dtype) != ("vscale" in other):
        raise UserError(f"Predicate mask dtype and {value} must both be scalable.")
    given, wanted = (text.rpartition("x")[2] if "x" in text else "1" for text in (dtype, other))
    wanted = wanted if wanted.isdigit() else "1"
    if given != wanted:
        raise UserError(
            f"Got a predicate mask with {given} lanes, but trying to {what} with {wanted} lanes. "
            "The number of lanes must match."
        )
    return predicate


class BufferLoad(Alias, base=tir.BufferLoad):
    """An element, or a vector of elements."""

    @staticmethod
    def make(buffer: Any, indices: Any, predicate: Any = None, span: Any = None) -> tir.BufferLoad:
        """Return the load."""
        nodes = [tir.const(index) for index in indices]
        last = nodes[-1].dtype if nodes else "int32"
        mask = _mask(predicate, last, "load a vector", "load indices")
        return tir.BufferLoad(buffer, nodes, predicate=mask)


class BufferStore(Alias, base=tir.BufferStore):
    """A store of an element, or of a vector of elements."""

    @staticmethod
    def make(
        buffer: Any, value: Any, indices: Any, predicate: Any = None, span: Any = None
    ) -> tir.BufferStore:
        """Return the store; numbers take the type of the buffer."""
        is_number = isinstance(value, (bool, int, float))
        stored = tir.const(value, buffer.dtype) if is_number else value
        mask = _mask(predicate, stored.dtype, "store a value", "value dtype")
        return tir.BufferStore(buffer, stored, list(indices), predicate=mask)


def Any_(span: Any = None) -> tir.Var:
    """Return a size of which nothing is known."""
    return tir.Var("any_dim", "int32", is_size=True)
