# SPDX-License-Identifier: Apache-2.0
"""How the threads of a warp access memory together: banks of shared memory, sectors of all other.

The addresses of the 32 threads of the first warp are computed from the indices of an access, where
loops are in their first iteration. (Banks and sectors: CUDA C++ Best Practices Guide, chapters on
shared and on device memory.)
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from . import _core
from ._core import BufferLoad, BufferStore, For, IfThenElse, PrimFunc, Ramp

WARP = 32
BANKS = 32
BANK_BYTES = 4
SECTOR_BYTES = 32
BYTES_OF_ROW = 16
"""What a lane names to an instruction that loads matrices."""
UNKNOWN_SIZE = 1024
"""Stands for sizes that only a call knows."""

Lanes = np.ndarray
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "FloorDiv": np.floor_divide,
    "FloorMod": np.mod,
    "Div": np.floor_divide,
    "Mod": np.mod,
    "Min": np.minimum,
    "Max": np.maximum,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
    "EQ": np.equal,
    "NE": np.not_equal,
    "And": np.logical_and,
    "Or": np.logical_or,
}
BITS: dict[str, Callable[[Any, Any], Any]] = {
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}


@dataclass(frozen=True)
class WarpAccess:
    """An access of a kernel to memory that threads share, as a warp does it."""

    function: str
    buffer: str
    is_store: bool
    scope: str
    """``shared`` or ``global``."""
    steps: int
    """In how many steps it is done: of shared memory the accesses to the busiest bank, of global
    memory the sectors of 32 bytes."""
    least: int
    """In how many steps it could be done."""

    @property
    def is_costly(self) -> bool:
        """Whether another layout would take at most half as many steps."""
        return self.steps >= 2 * self.least

    @property
    def remark(self) -> str:
        """What is wrong, and the layout that mends it."""
        verb = "stored" if self.is_store else "read"
        if self.scope == "shared":
            return (
                f"{self.buffer} is {verb} with bank conflicts, {self.steps} accesses to one bank "
                f"where {self.least} would do: make its rows one element longer, "
                "storage_align(block, buffer, axis=-2, factor=32, offset=1), or let threadIdx.x "
                "run along its last index"
            )
        return (
            f"{self.buffer} is {verb} uncoalesced, {self.steps} sectors of 32 bytes a warp where "
            f"{self.least} would do: let threadIdx.x run along its last index, or bring a tile of "
            "it through shared memory (cache_read, compute_at)"
        )


def accesses_of(func: PrimFunc) -> list[WarpAccess]:
    """Return what the kernels of a lowered function access, each kind of access once."""
    finder = _Finder(func)
    finder.statement(func.body)
    return list(dict.fromkeys(finder.found))


class _Finder:
    def __init__(self, func: PrimFunc) -> None:
        self.function = func.name
        # What lowering has made flat has the memory of a parameter.
        self.names = {buffer.data: str(buffer.name) for buffer in func.buffer_map.values()}
        self.values: dict[Any, Lanes] = {}
        # Of expressions, until a variable gets another value: those that are shared are many.
        self.known: dict[Any, Lanes | None] = {}
        self.threads: list[For] = []
        self.active: list[Lanes] = []
        self.found: list[WarpAccess] = []

    def statement(self, stmt: Any) -> None:
        """Look at a statement and what is inside."""
        if isinstance(stmt, For):
            self._loop(stmt)
        elif isinstance(stmt, IfThenElse):
            self._branch(stmt)
        elif isinstance(stmt, _core.SeqStmt):
            for each in stmt.seq:
                self.statement(each)
        elif isinstance(stmt, _core.LetStmt):
            self._expressions(stmt.value)
            value = self.value(stmt.value)
            if value is not None:
                self._give(stmt.var, value)
            self.statement(stmt.body)
        elif isinstance(stmt, BufferStore):
            self._expressions(stmt.value)
            self._access(stmt.buffer, stmt.indices, is_store=True)
        elif hasattr(stmt, "body"):
            self.statement(stmt.body)
        elif hasattr(stmt, "value"):
            self._expressions(stmt.value)

    def _loop(self, loop: For) -> None:
        if _tag(loop).startswith("threadIdx."):
            self.threads.append(loop)
            self._number_threads()
            self.statement(loop.body)
            self.threads.pop()
            return
        first = self.value(loop.min)
        self._give(loop.loop_var, np.zeros(WARP, int) if first is None else first)
        self.statement(loop.body)

    def _number_threads(self) -> None:
        """Give the loops over threads the numbers of the first warp, x fastest."""
        rest = np.arange(WARP)
        order = sorted(self.threads, key=_tag)
        for loop in order:
            extent = self.value(loop.extent)
            size = UNKNOWN_SIZE if extent is None else max(int(extent[0]), 1)
            self._give(loop.loop_var, rest % size)
            rest = rest // size

    def _branch(self, branch: IfThenElse) -> None:
        self._expressions(branch.condition)
        # Outside of kernels, no lanes part.
        holds = self.value(branch.condition) if self.threads else None
        for case, mask in ((branch.then_case, holds), (branch.else_case, None)):
            if case is None:
                continue
            taken = np.ones(WARP, bool) if mask is None else np.asarray(mask, bool)
            if mask is None and holds is not None:
                taken = ~np.asarray(holds, bool)
            self.active.append(taken)
            self.statement(case)
            self.active.pop()

    def _expressions(self, expr: Any) -> None:
        def enter(node: Any) -> bool:
            if isinstance(node, BufferLoad):
                self._access(node.buffer, node.indices, is_store=False)
            is_matrix = type(node).__name__ == "Call" and str(node.op).endswith("ptx_ldmatrix")
            if is_matrix:  # Each lane names a row.
                row = node.args[5].args[0]
                self._access(row.buffer, row.indices, is_store=False, size=BYTES_OF_ROW)
            return not is_matrix

        _core.pre_order_visit(expr, enter)

    def _access(
        self, buffer: Any, indices: Any, *, is_store: bool, size: int | None = None
    ) -> None:
        scope = str(buffer.scope()) or "global"
        kind = "shared" if scope.startswith("shared") else scope
        if kind not in ("shared", "global") or not self.threads or len(indices) != 1:
            return
        index, size = indices[0], size or _bytes(buffer.dtype)
        if isinstance(index, Ramp):
            if not (isinstance(index.stride, _core.IntImm) and int(index.stride) == 1):
                return
            size *= int(index.lanes)
            index = index.base
        base = self.value(index)
        if base is None:
            return
        mask = np.ones(WARP, bool)
        for taken in self.active:
            mask &= taken
        if not mask.any():
            return
        count = WARP
        for loop in self.threads:
            extent = self.value(loop.extent)
            if len(self.threads) == 1 and extent is not None:
                count = min(count, int(extent[0]))
        mask[count:] = False
        if not mask.any():
            return
        addresses = base[mask] * _bytes(buffer.dtype)
        steps, least = (
            _bank_steps(addresses, size) if kind == "shared" else _sectors(addresses, size)
        )
        self.found.append(
            WarpAccess(
                self.function,
                self.names.get(buffer.data, str(buffer.name)),
                is_store,
                kind,
                steps,
                least,
            )
        )

    def _give(self, variable: Any, value: Lanes) -> None:
        self.values[variable] = value
        self.known.clear()

    def value(self, expr: Any) -> Lanes | None:
        """Return an integer expression of each lane; None where it is up to a buffer."""
        if expr not in self.known:
            _core.post_order_visit(expr, self._evaluate)
        return self.known[expr]

    def _evaluate(self, node: Any) -> None:
        """Give an expression its value, once those inside have theirs."""
        if isinstance(node, _core.Expr) and node not in self.known:
            self.known[node] = self._value_of(node)

    def _value_of(self, expr: Any) -> Lanes | None:
        name = type(expr).__name__
        if isinstance(expr, _core.IntImm):
            return np.full(WARP, int(expr))
        if isinstance(expr, _core.Var):
            value = self.values.get(expr)
            return np.full(WARP, UNKNOWN_SIZE) if value is None else value
        if name == "Cast":
            return self.known[expr.value]
        if name == "Not":
            inner = self.known[expr.a]
            return None if inner is None else np.logical_not(inner)
        if name in OPERATORS:
            return self._both(OPERATORS[name], expr.a, expr.b)
        if name == "Select":
            return self._choice(expr.condition, expr.true_value, expr.false_value)
        if name == "Call":
            op = str(expr.op).removeprefix("T.")
            if op in BITS:
                return self._both(BITS[op], *expr.args)
            if op == "if_then_else":
                return self._choice(*expr.args)
            if op == "likely":
                return self.known[expr.args[0]]
        return None

    def _both(self, operator: Callable[[Any, Any], Any], a: Any, b: Any) -> Lanes | None:
        left, right = self.known[a], self.known[b]
        if left is None or right is None:
            return None
        if operator in (np.floor_divide, np.mod):
            right = np.where(right == 0, 1, right)
        made: Lanes = operator(left, right)
        return made

    def _choice(self, condition: Any, yes: Any, no: Any) -> Lanes | None:
        holds, first, second = (self.known[each] for each in (condition, yes, no))
        if holds is None or first is None or second is None:
            return None
        return np.where(holds, first, second)


def _tag(loop: For) -> str:
    """Return the axis that a loop is bound to; empty where it is bound to none."""
    return "" if loop.thread_binding is None else str(loop.thread_binding.thread_tag)


def _bytes(dtype: str) -> int:
    found = re.search(r"(\d+)", str(dtype))
    return max(int(found[1]) // 8, 1) if found else 1


def _bank_steps(addresses: Lanes, size: int) -> tuple[int, int]:
    """Return the most words that one bank gives, and how few it could be."""
    lanes = WARP if size <= 4 else WARP * 4 // size  # Of one request.
    most = 1
    for begin in range(0, len(addresses), lanes):
        words = {
            word
            for address in addresses[begin : begin + lanes]
            for word in range(address // BANK_BYTES, (address + size - 1) // BANK_BYTES + 1)
        }
        banks = [word % BANKS for word in words]
        most = max(most, *(banks.count(bank) for bank in set(banks)))
    return most, 1


def _sectors(addresses: Lanes, size: int) -> tuple[int, int]:
    """Return how many sectors are touched, and how few could hold as many bytes."""
    sectors = {
        sector
        for address in addresses
        for sector in range(address // SECTOR_BYTES, (address + size - 1) // SECTOR_BYTES + 1)
    }
    size_of_all = len(set(addresses.tolist())) * size
    return len(sectors), -(-size_of_all // SECTOR_BYTES)
