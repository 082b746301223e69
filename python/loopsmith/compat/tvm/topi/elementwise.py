# SPDX-License-Identifier: Apache-2.0
"""Operators that work element by element, shapes broadcast as in NumPy."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from loopsmith import te, tir

from ..tag import BROADCAST, ELEMWISE

_unary = {
    **{name: getattr(te, name) for name in (
        "exp", "tanh", "sigmoid", "log", "log2", "log10", "cos", "sin", "tan", "cosh", "sinh",
        "acos", "asin", "atan", "acosh", "asinh", "atanh", "sqrt", "rsqrt", "floor", "ceil",
        "trunc", "round", "erf", "abs", "isnan", "isfinite", "isinf", "log1p",
    )},
    "negative": lambda x: -x,
    "identity": lambda x: x,
    "sign": lambda x: te.select(
        x > 0, te.const(1, x.dtype), te.select(x < 0, te.const(-1, x.dtype), te.const(0, x.dtype))
    ),
    # Polynomials, which run in vectors, as they are.
    "fast_exp": te.exp,
    "fast_tanh": te.tanh,
    "fast_erf": te.erf,
    "logical_not": lambda x: tir.Not(x),
    "bitwise_not": lambda x: ~x,
}  # fmt: skip
_binary = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: te.div(a, b),
    "floor_divide": lambda a, b: te.floor(a / b) if _is_float(a) else te.floordiv(a, b),
    "mod": lambda a, b: te.fmod(a, b) if _is_float(a) else te.truncmod(a, b),
    "floor_mod": lambda a, b: a - b * te.floor(a / b) if _is_float(a) else te.floormod(a, b),
    "power": te.power,
    "maximum": tir.max,
    "minimum": tir.min,
    "bitwise_and": lambda a, b: a & b,
    "bitwise_or": lambda a, b: a | b,
    "bitwise_xor": lambda a, b: a ^ b,
    "left_shift": lambda a, b: a << b,
    "right_shift": lambda a, b: a >> b,
    "greater": lambda a, b: a > b,
    "less": lambda a, b: a < b,
    "equal": lambda a, b: tir.EQ(a, b),
    "not_equal": lambda a, b: tir.NE(a, b),
    "greater_equal": lambda a, b: a >= b,
    "less_equal": lambda a, b: a <= b,
    "logical_and": lambda a, b: te.all(a, b),
    "logical_or": lambda a, b: te.any(a, b),
    "logical_xor": lambda a, b: tir.NE(a, b),
}

__all__ = ["broadcast_to", "cast", "clip", "elemwise_sum", "full", "full_like", "ones_like",
           "zeros_like", *_unary, *_binary]  # fmt: skip


def _is_float(value: Any) -> bool:
    return isinstance(value, float) or "float" in str(getattr(value, "dtype", ""))


def _operator(name: str, value: Callable[[Any], Any]) -> Callable[..., Any]:
    def apply(x: Any) -> Any:
        if not isinstance(x, te.Tensor):
            return value(x)
        return te.compute(x.shape, lambda *i: value(x(*i)), name=f"T_{name}", tag=ELEMWISE)

    apply.__name__ = name
    apply.__doc__ = f"Return {name} of each element."
    return apply


def _shape(tensor: Any) -> list[Any]:
    return list(tensor.shape) if isinstance(tensor, te.Tensor) else []


def _is_one(extent: Any) -> bool:
    return isinstance(extent, (int, tir.IntImm)) and int(extent) == 1


def broadcast_shape(first: list[Any], second: list[Any], name: str) -> list[Any]:
    """Return the shape of two shapes together.

    Raises
    ------
    ValueError
        Extents differ, and neither is 1.
    """
    count = builtins.max(len(first), len(second))
    shape = []
    for i in range(-count, 0):
        a = first[i] if -i <= len(first) else 1
        b = second[i] if -i <= len(second) else 1
        constant = all(isinstance(extent, (int, tir.IntImm)) for extent in (a, b))
        if constant and int(a) != int(b) and not (_is_one(a) or _is_one(b)):
            raise ValueError(f"{name}: extents {a} and {b} are neither equal nor 1")
        shape.append(b if _is_one(a) else a)
    return shape


def element_at(operand: Any, indices: tuple[Any, ...]) -> Any:
    """Return the element of an operand that belongs to an element of the result."""
    if not isinstance(operand, te.Tensor):
        return operand
    own = _shape(operand)
    used = indices[len(indices) - len(own) :]
    return operand(*(0 if _is_one(extent) else i for extent, i in zip(own, used)))


def _broadcast(name: str, value: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def apply(lhs: Any, rhs: Any) -> Any:
        if not isinstance(lhs, te.Tensor) and not isinstance(rhs, te.Tensor):
            return value(lhs, rhs)
        shape = broadcast_shape(_shape(lhs), _shape(rhs), name)
        return te.compute(
            shape,
            lambda *i: value(element_at(lhs, i), element_at(rhs, i)),
            name=f"T_{name}",
            tag=BROADCAST,
        )

    apply.__name__ = name
    apply.__doc__ = f"Return {name} of elements, shapes broadcast as in NumPy."
    return apply


for _name, _value in _unary.items():
    globals()[_name] = _operator(_name, _value)
for _name, _function in _binary.items():
    globals()[_name] = _broadcast(_name, _function)


def cast(x: Any, dtype: str) -> Any:
    """Return each element converted to another type."""
    if not isinstance(x, te.Tensor):
        return tir.cast(dtype, x)
    return te.compute(x.shape, lambda *i: x(*i).astype(dtype), name=f"T_cast_{dtype}", tag=ELEMWISE)


def clip(x: Any, a_min: Any, a_max: Any) -> Any:
    """Return each element, or the limit that it exceeds."""

    def clipped(*i: Any) -> Any:
        value = x(*i)
        low, high = te.const(a_min, x.dtype), te.const(a_max, x.dtype)
        return tir.max(tir.min(value, high), low)

    return te.compute(x.shape, clipped, name="T_clip", tag=ELEMWISE)


def full(shape: Any, dtype: str, fill_value: Any) -> Any:
    """Return a tensor of one value."""
    return te.compute(shape, lambda *i: te.const(fill_value, dtype), name="T_full", tag=ELEMWISE)


def full_like(x: Any, fill_value: Any) -> Any:
    """Return a tensor of one value, with shape and type of another."""
    return full(x.shape, x.dtype, fill_value)


def zeros_like(x: Any) -> Any:
    """Return a tensor of zeros, with shape and type of another."""
    return full_like(x, 0)


def ones_like(x: Any) -> Any:
    """Return a tensor of ones, with shape and type of another."""
    return full_like(x, 1)


def elemwise_sum(xs: Any) -> Any:
    """Return the sums of the elements of tensors of one shape."""
    first, *others = xs

    def element(*i: Any) -> Any:
        total = first(*i)
        for each in others:
            total = total + each(*i)
        return total

    return te.compute(first.shape, element, name="T_elemwise_sum", tag=ELEMWISE)


def broadcast_to(data: Any, shape: Any) -> Any:
    """Return a tensor repeated to a larger shape."""
    return te.compute(shape, lambda *i: element_at(data, i), name="T_broadcast_to", tag=BROADCAST)
