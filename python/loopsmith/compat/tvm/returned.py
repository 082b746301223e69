# SPDX-License-Identifier: Apache-2.0
"""Functions that return a number to the host: it is written where the caller reads it."""

from __future__ import annotations

from typing import Any

import loopsmith.ir
from loopsmith import tir

__all__ = ["Returned", "with_results_in_memory"]

Returned = dict[str, str]
"""The types of the numbers that functions return, by their names."""


def with_results_in_memory(program: Any) -> tuple[Any, Returned]:
    """Return a program whose functions write what they return into a last buffer of one element.

    A function that others of the module call stays as it is.
    """
    if isinstance(program, tir.Schedule):
        return with_results_in_memory(program.mod)
    if isinstance(program, tir.PrimFunc):
        dtype = _type_returned(program)
        return (_written(program, dtype), {program.name: dtype}) if dtype else (program, {})
    named = {name.name_hint: func for name, func in program.items()}
    called = {name for func in named.values() for name in _called_by(func)}
    returned = {}
    for name, func in named.items():
        dtype = None if name in called else _type_returned(func)
        if dtype:
            named[name], returned[name] = _written(func, dtype), dtype
    if not returned:
        return program, {}
    return loopsmith.ir.make_module(named, dict(program.attrs or {})), returned


def _called_by(func: Any) -> list[str]:
    found: list[str] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.Call) and str(node.op).endswith("call_global"):
            callee: Any = node.args[0]
            found.append(callee.name_hint)

    tir.post_order_visit(func.body, visit)
    return found


def _value_returned(stmt: Any) -> Any:
    """Return what a statement returns; None where it returns nothing."""
    if isinstance(stmt, tir.Return):
        return stmt.value
    call: Any = stmt.value if isinstance(stmt, tir.Evaluate) else None
    is_return = isinstance(call, tir.Call) and str(call.op).removeprefix("tir.") == "ret"
    return call.args[0] if is_return and call.args else None


def _type_returned(func: Any) -> str | None:
    """Return the type of the numbers that a function returns; None where it returns none."""
    found: list[str] = []

    def visit(node: Any) -> None:
        value = _value_returned(node)
        if value is not None:
            found.append(str(value.dtype))

    tir.post_order_visit(func.body, visit)
    return found[0] if found else None


def _written(func: Any, dtype: str) -> Any:
    result = tir.decl_buffer((1,), dtype, name="result")
    param = tir.Var("result_handle", "handle")

    def stored(node: Any) -> Any:
        value = _value_returned(node)
        if value is None:
            return None
        return tir.SeqStmt([tir.BufferStore(result, value, [0]), tir.Return()])

    buffers = [func.buffer_map.get(each) for each in func.params]
    return tir.PrimFunc(
        params=[*func.params, param],
        buffer_map=[*buffers, result],
        attrs=func.attrs or {},
        body=tir.rewrite(func.body, after=stored),
    )


def returning(func: Any) -> Any:
    """Return a function in which ``T.ret(x)`` is what ``return x`` is."""
    if not isinstance(func, tir.PrimFunc):
        return func
    types: list[str] = []

    def left(node: Any) -> Any:
        if not isinstance(node, tir.Evaluate) or (value := _value_returned(node)) is None:
            return None
        types.append(str(value.dtype))
        return tir.Return(value)

    body = tir.rewrite(func.body, after=left)
    if not types:
        return func
    return tir.PrimFunc(
        params=list(func.params),
        buffer_map=[func.buffer_map.get(each) for each in func.params],
        attrs=func.attrs or {},
        ret_type=types[0],
        body=body,
    )
