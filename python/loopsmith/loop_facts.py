# SPDX-License-Identifier: Apache-2.0
"""What each loop of a lowered program does: operations, bytes, vectors, strides, guards, calls."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import (
    AttrStmt,
    BufferLoad,
    BufferStore,
    Call,
    For,
    IfThenElse,
    LetStmt,
    PrimFunc,
    Ramp,
    Stmt,
)

if TYPE_CHECKING:
    from ._core import Buffer

ARITHMETIC = (_core.Add, _core.Sub, _core.Mul, _core.Div, _core.Min, _core.Max)
NO_CALLS = {
    "if_then_else",
    "reinterpret",
    "bitwise_and",
    "bitwise_or",
    "shift_left",
    "shift_right",
    "address_of",
    "prefetch",
    "vectorlow",
    "vectorhigh",
}
PROFILE_KEY = "profile"
"""The attribute of a statement that is timed."""
CACHE_LINE = 64
"""Bytes that processors hand from one to another."""


@dataclass
class Access:
    """A load or a store, and how it moves."""

    buffer: str
    is_store: bool
    lanes: int
    is_gather: bool
    """Whether it is of a vector whose elements do not lie side by side."""
    strides: dict[str, int | None]
    """By loops around it: how many bytes it moves in an iteration; None where that is no constant.
    A loop that it does not follow is left out."""


@dataclass
class LoopFacts:
    """What the statements directly in one loop do, those of loops inside of it left out."""

    function: str
    loops: tuple[str, ...]
    """The variables of the loop and of those around it, outermost first; empty outside of all."""
    line: int = 0
    """Where the loop stands in the lowered program, ``module.source("tir")``."""
    extent: int | None = None
    is_parallel: bool = False
    """Whether it, or a loop around it, is parallel."""
    parallel: str = ""
    """The parallel loop."""
    is_innermost: bool = True
    times: float | None = 1.0
    """How often the statements run in a call; None where that depends on symbolic sizes."""
    flops: float | None = 0.0
    """Floating-point operations of a call."""
    loaded: float | None = 0.0
    """Bytes of all loads of a call, however often an element is loaded."""
    stored: float | None = 0.0
    lanes: int = 1
    """Of the widest vector that is loaded or stored."""
    guards: int = 0
    """Conditions that stayed inside of the loop."""
    calls: list[str] = field(default_factory=list)
    """Functions that are called in it."""
    accesses: list[Access] = field(default_factory=list)
    lines: set[int] = field(default_factory=set)
    """The lines of its own statements in the lowered program."""
    timed: int | None = None
    """The number of the nearest statement around that a profile times; None without."""

    @property
    def name(self) -> str:
        """The loops in one word: ``i/j``."""
        return "/".join(self.loops)

    @property
    def gathers(self) -> int:
        """How many loads of vectors gather their elements."""
        return sum(1 for each in self.accesses if each.is_gather and not each.is_store)

    @property
    def writes(self) -> list[str]:
        """The buffers that it stores to."""
        return list(dict.fromkeys(each.buffer for each in self.accesses if each.is_store))

    def add(self, what: str, number: float) -> None:
        """Count something that each run of the statements does."""
        total = getattr(self, what)
        known = total is not None and self.times is not None
        setattr(self, what, total + number * (self.times or 0) if known else None)


def loops_of(func: PrimFunc) -> list[LoopFacts]:
    """Return what the loops of a lowered function do, in their order.

    Loops that only hold another one have no row of their own.
    """
    reader = _Reader(func.name, names_of_buffers(func))
    reader.statement(func.body, reader.outside)
    return [row for row in reader.rows if row.lines and (row.loops or row.accesses or row.calls)]


def names_of_buffers(func: PrimFunc) -> dict[str, str]:
    """Return the names that the user gave to parameters, by those of their pointers.

    A lowered program reaches a parameter through a flat buffer of another name.
    """
    return {buffer.data.name: buffer.name for buffer in func.buffer_map.values()}


class _Reader:
    def __init__(self, function: str, names: dict[str, str]) -> None:
        self.names = names
        self.outside = LoopFacts(function, ())
        self.rows = [self.outside]
        self.around: list[For] = []
        self.values: dict[Any, Any] = {}
        """Of names for parts of indices."""

    def statement(self, node: Any, row: LoopFacts) -> None:
        """Count a statement that stands in the loop of `row`."""
        if isinstance(node, For):
            return self.loop(node, row)
        if isinstance(node, AttrStmt) and node.attr_key == PROFILE_KEY:
            outer, row.timed = row.timed, int(node.value)
            self.statement(node.body, row)
            if isinstance(node.body, For):
                row.timed = outer
            return None
        if isinstance(node, LetStmt):
            self.values[node.var] = self.resolved(node.value)
        if isinstance(node, IfThenElse):
            row.guards += 1
        if isinstance(node, (BufferStore, _core.Evaluate)) and node.span:
            row.lines.add(node.span[1])
        if isinstance(node, BufferStore):
            self.access(node.buffer, node.indices, node.value.dtype, True, row)
        for each in _children(node):
            if isinstance(each, Stmt):
                self.statement(each, row)
            else:
                self.expression(each, row)
        return None

    def loop(self, loop: For, outer: LoopFacts) -> None:
        """Count a loop, which stands in that of `outer`."""
        outer.is_innermost = False
        extent = int(loop.extent) if isinstance(loop.extent, _core.IntImm) else None
        known = extent is not None and outer.times is not None
        is_parallel = loop.kind == "parallel"
        name = loop.loop_var.name
        row = LoopFacts(
            outer.function,
            (*outer.loops, name),
            line=loop.span[1] if loop.span else 0,
            extent=extent,
            is_parallel=is_parallel or outer.is_parallel,
            parallel=name if is_parallel else outer.parallel,
            times=(outer.times or 0) * (extent or 0) if known else None,
            timed=outer.timed,
        )
        self.rows.append(row)
        self.around.append(loop)
        self.statement(loop.body, row)
        self.around.pop()

    def expression(self, node: Any, row: LoopFacts) -> None:
        """Count an expression and all that is in it."""

        def enter(each: Any) -> bool:
            if isinstance(each, BufferLoad):
                self.access(each.buffer, each.indices, each.dtype, False, row)
            elif isinstance(each, ARITHMETIC) and _is_float(each.dtype):
                row.add("flops", _lanes(each.dtype))
            elif isinstance(each, Call):
                _count_call(each, row)
            return True

        _core.pre_order_visit(node, enter)

    def access(
        self, buffer: Buffer, indices: Iterable[Any], dtype: str, is_store: bool, row: LoopFacts
    ) -> None:
        """Count a load or a store."""
        lanes = _lanes(dtype)
        row.add("stored" if is_store else "loaded", bytes_of(dtype))
        row.lanes = max(row.lanes, lanes)
        index = [self.resolved(each) for each in indices][-1] if indices else None
        strides = {} if index is None else self.strides(index, bytes_of(dtype) // lanes or 1)
        is_gather = lanes > 1 and index is not None and not _is_dense(index)
        name = self.names.get(buffer.data.name, buffer.name)
        row.accesses.append(Access(name, is_store, lanes, is_gather, strides))

    def strides(self, index: Any, size: float) -> dict[str, int | None]:
        """Return how many bytes an index moves in an iteration of each loop around."""
        while isinstance(index, Ramp):
            index = index.base
        if isinstance(index, _core.Broadcast):
            index = index.value
        variables = [loop.loop_var for loop in self.around]
        used = _variables_in(index)
        parts: list[Any] = list(_core.arith_linear_equation(index, variables))
        moves: dict[str, int | None] = {}
        for loop, part in zip(self.around, parts or [None] * len(variables)):
            if loop.loop_var not in used:
                continue
            known = isinstance(part, _core.IntImm)
            moves[loop.loop_var.name] = int(int(part) * size) if known else None
        return moves

    def resolved(self, expr: Any) -> Any:
        """Return an expression with values in the places of the names that statements gave them."""
        used = {var: self.values[var] for var in _variables_in(expr) if var in self.values}
        return _core.substitute(expr, used) if used else expr


def _children(node: Any) -> list[Any]:
    """Return the nodes directly inside of one, in order."""
    found: list[Any] = []
    is_first = True

    def enter(each: Any) -> bool:
        nonlocal is_first
        if not is_first:
            found.append(each)
        was_first, is_first = is_first, False
        return was_first

    _core.pre_order_visit(node, enter)
    return found


def _variables_in(expr: Any) -> set[Any]:
    found = set()

    def enter(node: Any) -> bool:
        if isinstance(node, _core.Var):
            found.add(node)
        return True

    _core.pre_order_visit(expr, enter)
    return found


def _count_call(call: Call, row: LoopFacts) -> None:
    name = str(call.op).removeprefix("T.")
    if name in NO_CALLS or _core.is_identity(name):
        return
    is_fused = name.endswith(("fma", "muladd"))
    if _is_float(call.dtype):
        row.add("flops", (2 if is_fused else 1) * _lanes(call.dtype))
    if not is_fused and not name.startswith("vector_reduce") and name not in row.calls:
        row.calls.append(name)


def _is_dense(index: Any) -> bool:
    """Return whether a vector index is of neighbours, or of one element for all lanes."""
    if isinstance(index, Ramp):
        return isinstance(index.stride, _core.IntImm) and int(index.stride) == 1
    return isinstance(index, _core.Broadcast) or _lanes(index.dtype) == 1


def _lanes(dtype: str) -> int:
    found = re.search(r"x(\d+)$", dtype)
    return int(found[1]) if found else 1


def _is_float(dtype: str) -> bool:
    return "float" in dtype


def bytes_of(dtype: str) -> float:
    """Return how many bytes a value of a type takes."""
    found = re.search(r"(\d+)(?:x\d+)?$", dtype)
    bits = int(found[1]) if found else 8
    return bits / 8 * _lanes(dtype)
