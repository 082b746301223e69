# SPDX-License-Identifier: Apache-2.0
"""Functions that make expressions and buffers, with the parameters that `tvm` has."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from loopsmith import _core, tir
from loopsmith.arith import Analyzer

from ...missing import other_names
from .vectors import Broadcast, Cast, Ramp, Reduce, dtype_of

__all__ = [
    "Broadcast",
    "Cast",
    "EqualOp",
    "NotEqualOp",
    "PrimExpr",
    "Ramp",
    "Reduce",
    "all",
    "any",
    "call_intrin",
    "call_llvm_intrin",
    "call_llvm_pure_intrin",
    "call_pure_intrin",
    "ceil",
    "const",
    "decl_buffer",
    "floor",
    "if_then_else",
    "isfinite",
    "isinf",
    "isnan",
    "nearbyint",
    "round",
    "trunc",
]

PrimExpr = tir.Expr
EqualOp = type("EqualOp", (), {"__doc__": "What == made in old programs; here it is a node."})
NotEqualOp = type("NotEqualOp", (), {"__doc__": "What != made in old programs."})


def const(value: Any, dtype: str | None = None, span: Any = None) -> tir.Expr:
    """Return a constant; of the type of `value` where no other is said."""
    if dtype is None and isinstance(value, (np.generic, np.ndarray)):
        dtype = str(value.dtype)
    plain = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
    return tir.const(plain) if dtype is None else tir.const(plain, dtype_of(dtype))


def call_intrin(dtype: str, func_name: Any, *args: Any, span: Any = None) -> tir.Expr:
    """Return a call of an intrinsic by its name; counts of bits may have a type of their own."""
    name = str(getattr(func_name, "name", func_name)).removeprefix("tir.")
    nodes: list[Any] = [tir.const(x) if isinstance(x, (int, float)) else x for x in args]
    if name in ("clz", "popcount") and nodes[0].dtype != dtype:
        return tir.Cast(dtype, tir.call_intrin(nodes[0].dtype, name, *nodes))
    return tir.call_intrin(dtype, name, *nodes)


def all(*args: Any, span: Any = None) -> Any:
    """Return whether all conditions hold; raise a ValueError for none."""
    if not args:
        raise ValueError("Any must take at least 1 argument")
    return args[0] if len(args) == 1 else tir.all(*args)


def any(*args: Any, span: Any = None) -> Any:
    """Return whether a condition holds; raise a ValueError for none."""
    if not args:
        raise ValueError("Any must take at least 1 argument")
    return args[0] if len(args) == 1 else tir.any(*args)


def _of_float(function: Any, of_integers: bool, x: Any) -> Any:
    node = tir.const(x)
    if str(node.dtype).startswith(("int", "uint", "bool")):
        _, _, lanes = str(node.dtype).partition("x")
        return tir.const(of_integers, f"boolx{lanes}" if lanes else "bool")
    half = builtins.any(str(node.dtype).startswith(name) for name in ("float16", "bfloat16"))
    return (
        function(tir.Cast("float32", node))
        if half and "x" not in str(node.dtype)
        else function(node)
    )


__getattr__ = other_names("tvm.tir.expr", tir)


def isnan(x: Any, span: Any = None) -> Any:
    """Return whether a value is no number."""
    return _of_float(tir.isnan, False, x)


def isinf(x: Any, span: Any = None) -> Any:
    """Return whether a value is infinite."""
    return _of_float(tir.isinf, False, x)


def isfinite(x: Any, span: Any = None) -> Any:
    """Return whether a value is finite."""
    return _of_float(tir.isfinite, True, x)


def _rounding(name: str) -> Any:
    function = getattr(tir, name)

    def rounded(x: Any, span: Any = None) -> Any:
        node = tir.const(x)
        if str(node.dtype).startswith(("int", "uint", "bool")):
            return node
        made = function(node)
        return Analyzer().simplify(made) if isinstance(node, tir.FloatImm) else made

    rounded.__name__ = name
    rounded.__doc__ = f"Return {name} of a value: an integer itself, a constant at once."
    return rounded


ceil, floor, nearbyint, trunc = map(_rounding, ("ceil", "floor", "nearbyint", "trunc"))
round = _rounding("round")


def if_then_else(cond: Any, t: Any, f: Any, span: Any = None) -> Any:
    """Return one of two values, of which the other one is not computed."""
    node = tir.const(cond)
    is_number = str(node.dtype).startswith(("int", "uint"))
    return tir.if_then_else(node != 0 if is_number else node, t, f)


def _llvm_call(name: str) -> Any:
    make = getattr(tir, name)

    def call(dtype: str, name: str, *args: Any, span: Any = None) -> tir.Expr:
        if _core.llvm_intrinsic_id(name) == 0:
            raise AssertionError(f"{name} is not an LLVM intrinsic")
        nodes = [tir.const(x) if isinstance(x, (int, float)) else x for x in args]
        made: tir.Expr = make(dtype or "void", name, *nodes)
        return made

    call.__name__ = name
    call.__doc__ = "Return a call of an intrinsic of LLVM; of the type '', one that gives nothing."
    return call


call_llvm_intrin = _llvm_call("call_llvm_intrin")
call_llvm_pure_intrin = _llvm_call("call_llvm_pure_intrin")


def call_pure_intrin(dtype: str, func_name: str, *args: Any) -> tir.Expr:
    """Return a call of an intrinsic by its name."""
    return tir.call_intrin(dtype, func_name, *args)


def decl_buffer(
    shape: Any,
    dtype: str | None = None,
    name: str = "buffer",
    data: Any = None,
    strides: Sequence[Any] | None = None,
    elem_offset: Any = None,
    scope: str = "",
    data_alignment: int = -1,
    offset_factor: int = 0,
    buffer_type: str = "",
    axis_separators: Sequence[int] | None = None,
    span: Any = None,
) -> tir.Buffer:
    """Return a new buffer; see `loopsmith.tir.decl_buffer`."""
    extents = list(shape) if isinstance(shape, (list, tuple)) else shape
    if not isinstance(extents, list) and not isinstance(extents, (int, tir.Expr)):
        extents = list(shape)
    if offset_factor and elem_offset is None:
        elem_offset = tir.var(f"{name}_elem_offset")
    separators = [int(each) for each in axis_separators or ()]
    if separators != sorted(separators) or builtins.any(
        each > len(extents if isinstance(extents, list) else [extents]) for each in separators
    ):
        raise ValueError(f"Axis separators {separators} are not in order within the dimensions")
    data = data.data if isinstance(data, tir.Buffer) else data
    if data is not None and data.pointer is None:
        data = tir.Var(data.name, pointer=tir.PointerType(dtype_of(dtype or "float32"), "global"))
    return tir.decl_buffer(
        extents,
        dtype_of(dtype or "float32"),
        name,
        data=data,
        strides=strides or (),
        elem_offset=elem_offset,
        scope=scope or "global",
        data_alignment=data_alignment,
        offset_factor=offset_factor,
        buffer_type=buffer_type,
        axis_separators=axis_separators or (),
    )
