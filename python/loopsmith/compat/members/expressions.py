# SPDX-License-Identifier: Apache-2.0
"""Operators and attributes of expressions."""

from __future__ import annotations

from typing import Any

from loopsmith import UserError, _core, tir
from loopsmith.ir import structural_equal

_core_bool: Any = tir.Expr.__bool__
_core_neg: Any = tir.Expr.__neg__


def negated(expr: Any) -> Any:
    """Return a product with -1, as negations are there; of unsigned numbers, as here."""
    return _core_neg(expr) if expr.dtype.startswith(("uint", "bool")) else expr * -1


def truth(expr: Any) -> bool:
    try:
        return bool(_core_bool(expr))
    except UserError as error:
        raise ValueError(str(error)) from error


_core_astype: Any = tir.Expr.astype


def astype(expr: Any, dtype: Any, span: Any = None) -> Any:
    from ..tvm.tir.vectors import dtype_of

    return _core_astype(expr, dtype_of(dtype))


def equal(expr: Any, other: Any) -> Any:
    """Return whether two expressions have one structure; else the comparison of their values."""
    return True if structural_equal(expr, tir.const(other)) else expr == other


def same_text(text: Any, other: Any) -> bool:
    """Return whether a text, or the constant of one, is that of another constant."""
    return bool(text.value == getattr(other, "value", other))


choosing: list[Any] = []
"""The schedules for which index maps are being made, the last one innermost."""


def chosen(operator: str) -> Any:
    """Return the operator of an expression and a number that a schedule has chosen."""

    def applied(number: Any, expr: Any) -> Any:
        if not choosing:
            return NotImplemented
        return getattr(expr, operator)(core_get(choosing[-1], number))

    return applied


class Op(str):
    """An intrinsic: its name."""

    @staticmethod
    def get(op_name: str) -> Op:
        """Return an intrinsic; raise an error where there is none of that name."""
        name = op_name.removeprefix("tir.").removeprefix("tirx.")
        if not hasattr(tir, name) and name not in _core.__dict__:
            raise UserError(f"Op {op_name} is not registered")
        return Op(name)

    @staticmethod
    def list_op_names() -> list[str]:
        """Return the names of the intrinsics that expressions are made of."""
        return [f"tir.{name}" for name in tir.intrinsics.__all__]

    @property
    def name(self) -> str:
        """The name, in the space ``tir``."""
        return f"tir.{self}"

    def same_as(self, other: Any) -> bool:
        """Return whether both are one intrinsic."""
        return str(other).removeprefix("tir.") == str(self)


call_op: Any = vars(tir.Call)["op"]
ramp_lanes: Any = vars(tir.Ramp)["lanes"]
broadcast_lanes: Any = vars(tir.Broadcast)["lanes"]
_is_element = 0x8000


def op_of(call: Any) -> Op:
    return Op(call_op.__get__(call))


def lanes_of(lanes: int) -> Any:
    """Return a number of lanes as an expression; of scalable vectors, a multiple of vscale."""
    count = tir.const(lanes & ~_is_element, "int32")
    return tir.Mul(tir.vscale(), count) if lanes & _is_element else count


def type_annotation(var: Any) -> Any:
    from ..tvm.ir import PrimType

    return PrimType(str(var.dtype)) if var.pointer is None else var.pointer


def element_type(pointer: Any) -> Any:
    from ..tvm.ir import PrimType

    return PrimType(str(pointer.element))


def shifted(operator: str) -> Any:
    shift: Any = vars(tir.Expr)[operator]

    def shifted(a: Any, b: Any) -> Any:
        amount = getattr(b, "value", b)
        bits = "".join(c for c in str(a.dtype).partition("x")[0] if c.isdigit())
        if isinstance(amount, int) and bits and not 0 <= amount < int(bits):
            raise UserError(
                f"Shift amount must be non-negative and less than {bits} for type {a.dtype}"
            )
        return shift(a, b)

    return shifted


core_get: Any = tir.Schedule.get
