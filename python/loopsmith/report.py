# SPDX-License-Identifier: Apache-2.0
"""Why a compiled program is as fast as it is: what its loops do, and what its code looks like.

>>> print(module.report())
>>> print(module.report().measured(a, b, c))
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _core, display
from ._core import BufferLoad, BufferStore, Call, For, IfThenElse, Node, PrimFunc, Ramp
from .errors import UserError
from .timing import seconds_text
from .warp_accesses import WarpAccess, accesses_of

if TYPE_CHECKING:
    from pathlib import Path

    from ._core import Module, Timing

ARITHMETIC = (_core.Add, _core.Sub, _core.Mul, _core.Div, _core.Min, _core.Max)
NO_CALLS = {
    "if_then_else",
    "precise",
    "likely",
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


@dataclass(frozen=True)
class Nest:
    """One loop nest of a lowered function."""

    function: str
    loops: str
    """The variables of its loops, outermost first."""
    flops: float | None
    """Floating-point operations; None where they depend on symbolic sizes."""
    loaded: float | None
    """Bytes of all loads, however often an element is loaded."""
    stored: float | None
    lanes: int
    """Of the widest vector that is loaded or stored."""
    gathers: int
    """Loads of vectors whose elements do not lie side by side."""
    guards: int
    """Conditions that stayed inside of its loops."""
    calls: tuple[str, ...]
    """Functions that are called in its loops."""
    is_parallel: bool


@dataclass(frozen=True)
class Code:
    """What the assembly of a module has."""

    vector_bits: int
    """Of the widest vector registers that it names."""
    fused: int
    """Instructions that multiply and add at once."""
    gathers: int
    inner_loops: int
    spills: int
    """Vector operands on the stack inside of innermost loops."""


@dataclass(frozen=True)
class Report:
    """Loop nests, the code, and, where it was measured, how far it is from this machine's best."""

    nests: list[Nest]
    code: Code | None
    """None for targets that have no assembly."""
    module: Module
    timing: Timing | None = None
    roofline: Roofline | None = None
    accesses: tuple[WarpAccess, ...] = ()
    """Of the kernels of GPUs: how warps access memory."""

    def measured(self, *arrays: Any) -> Report:
        """Return the report with a measurement of a call on these arrays."""
        return dataclasses.replace(
            self, timing=self.module.time(*arrays), roofline=measured_roofline()
        )

    @property
    def share(self) -> float | None:
        """Which part of what this machine can do a call reaches; None where not measured."""
        if self.timing is None or self.roofline is None or not self.timing.bytes:
            return None
        return self.roofline.seconds(self.timing.flops, self.timing.bytes) / self.timing.median

    @property
    def remarks(self) -> list[str]:
        """What is likely to cost time, in sentences."""
        found = []
        if self.code and self.code.spills >= 8:
            found.append(
                f"{self.code.spills} vector operands of inner loops lie on the stack: the tile "
                "needs more registers than there are; make it smaller"
            )
        for nest in self.nests:
            if nest.gathers:
                found.append(
                    f"loops {nest.loops} gather {nest.gathers} vectors: let the vectorized"
                    " loop be the one of the last index"
                )
            if nest.guards and nest.lanes == 1 and nest.flops:
                found.append(
                    f"loops {nest.loops} keep {nest.guards} guards, and are not vectorized:"
                    " choose factors that divide the extents"
                )
        return found + [access.remark for access in self.accesses if access.is_costly]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain data, ready for JSON."""
        timing = self.timing
        return {
            "nests": [dataclasses.asdict(nest) for nest in self.nests],
            "accesses": [dataclasses.asdict(access) for access in self.accesses],
            "code": None if self.code is None else dataclasses.asdict(self.code),
            "seconds": None if timing is None else timing.median,
            "gflops": None if timing is None else timing.gflops,
            "share": self.share,
            "remarks": self.remarks,
        }

    def _rows(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        header = (
            "function",
            "loops",
            "flops",
            "loaded",
            "stored",
            "lanes",
            "gathers",
            "guards",
            "calls",
        )
        return header, [
            (
                nest.function,
                ("parallel " if nest.is_parallel else "") + nest.loops,
                amount(nest.flops),
                amount(nest.loaded, "B"),
                amount(nest.stored, "B"),
                str(nest.lanes),
                str(nest.gathers),
                str(nest.guards),
                ", ".join(nest.calls) or "-",
            )
            for nest in self.nests
        ]

    def _sentences(self) -> list[str]:
        lines = [
            f"{access.function}: {access.scope} {access.buffer} "
            f"{'stored' if access.is_store else 'read'} in {access.steps} "
            f"{'bank steps' if access.scope == 'shared' else 'sectors'} a warp, "
            f"{access.least} at best"
            for access in self.accesses
        ]
        if self.code is not None:
            code = self.code
            lines.append(
                f"code: vectors of {code.vector_bits} bits, {code.fused} fused multiply-adds, "
                f"{code.gathers} gathers, {code.spills} vector operands on the stack in "
                f"{code.inner_loops} innermost loops"
            )
        if self.timing is not None:
            text = f"measured: {seconds_text(self.timing.median)}"
            if self.timing.gflops is not None:
                text += f", {self.timing.gflops:.4g} GFLOP/s"
            if self.share is not None and self.roofline is not None:
                text += f", {self.share:.0%} of this machine's roofline ({self.roofline})"
            lines.append(text)
        return lines + [f"remark: {text}" for text in self.remarks]

    def __str__(self) -> str:
        """Return a table of the nests, and sentences below it."""
        header, rows = self._rows()
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in [header, *rows]
        ]
        return "\n".join(table + self._sentences())

    def _repr_html_(self) -> str:
        header, rows = self._rows()
        text = "".join(f"<th>{name}</th>" for name in header)
        body = "".join(
            "<tr>" + "".join(f"<td>{display.escaped(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        below = "".join(f"<p>{display.escaped(line)}</p>" for line in self._sentences())
        return f"<table><tr>{text}</tr>{body}</table>{below}"

    def write_html(self, path: str | Path) -> None:
        """Write the report as a page."""
        from pathlib import Path

        page = f"<!doctype html><meta charset=utf-8><title>Report</title>{self._repr_html_()}\n"
        Path(path).write_text(page, encoding="utf-8")


def amount(number: float | None, unit: str = "") -> str:
    """Return a number as people write it: ``2.1 M``; ``?`` for None."""
    if number is None:
        return "?"
    for letter, scale in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= scale:
            return f"{number / scale:.4g} {letter}{unit}"
    return f"{number:.4g} {unit}".rstrip()


def report(module: Module) -> Report:
    """Return what the loops of a module do."""
    from .script import definitions

    functions = dict(definitions(module.source("tir"), name="<lowered>")).values()
    nests = [nest for func in functions for nest in nests_of(func)]
    try:
        code = code_of(module.source("assembly"))
    except UserError:  # The target has no assembly.
        code = None
    accesses = tuple(access for func in functions for access in accesses_of(func))
    return Report(nests, code, module, accesses=accesses)


def nests_of(func: PrimFunc) -> list[Nest]:
    """Return the loop nests of a lowered function, in their order."""
    outermost: list[For] = []

    def enter(node: Any) -> bool:
        if isinstance(node, For):
            outermost.append(node)
            return False
        return True

    _core.pre_order_visit(func.body, enter)
    return [_Counter(func.name, loop).nest() for loop in outermost]


class _Counter:
    """Counts what one loop nest does."""

    def __init__(self, function: str, loop: For) -> None:
        self.function = function
        self.loops: list[str] = []
        self.totals: dict[str, float | None] = {"flops": 0.0, "loaded": 0.0, "stored": 0.0}
        self.lanes = 1
        self.gathers = self.guards = 0
        self.calls: list[str] = []
        self.is_parallel = False
        self._inside(loop, 1.0)

    def nest(self) -> Nest:
        """Return what was counted."""
        return Nest(
            self.function,
            ", ".join(dict.fromkeys(self.loops)),
            self.totals["flops"],
            self.totals["loaded"],
            self.totals["stored"],
            self.lanes,
            self.gathers,
            self.guards,
            tuple(dict.fromkeys(self.calls)),
            self.is_parallel,
        )

    def _add(self, what: str, number: float, times: float | None) -> None:
        total = self.totals[what]
        self.totals[what] = None if total is None or times is None else total + number * times

    def _inside(self, node: Node, times: float | None) -> None:
        is_first = True

        def enter(inner: Any) -> bool:
            nonlocal is_first
            if isinstance(inner, For) and not (is_first and inner.same_as(node)):
                self._inside(inner, times)
                return False
            is_first = False
            self._count(inner, times)
            return True

        if isinstance(node, For):
            self.loops.append(node.loop_var.name)
            self.is_parallel |= node.kind == "parallel"
            extent = node.extent
            known = isinstance(extent, _core.IntImm)
            times = times * int(extent) if known and times is not None else None
            node = node.body
        if isinstance(node, For):
            self._inside(node, times)
            return
        _core.pre_order_visit(node, enter)

    def _count(self, node: Any, times: float | None) -> None:
        if isinstance(node, IfThenElse):
            self.guards += 1
        elif isinstance(node, BufferLoad):
            self._add("loaded", _bytes(node.dtype), times)
            self._note_lanes(node.dtype, node.indices)
        elif isinstance(node, BufferStore):
            self._add("stored", _bytes(node.value.dtype), times)
            self.lanes = max(self.lanes, _lanes(node.value.dtype))
        elif isinstance(node, ARITHMETIC) and _is_float(node.dtype):
            self._add("flops", _lanes(node.dtype), times)
        elif isinstance(node, Call):
            self._count_call(node, times)

    def _count_call(self, call: Call, times: float | None) -> None:
        name = str(call.op).removeprefix("T.")
        if name in NO_CALLS:
            return
        if name.endswith(("fma", "muladd")):
            self._add("flops", 2 * _lanes(call.dtype), times)
        elif _is_float(call.dtype):
            self._add("flops", _lanes(call.dtype), times)
        if not name.endswith(("fma", "muladd")) and not name.startswith("vector_reduce"):
            self.calls.append(name)

    def _note_lanes(self, dtype: str, indices: Iterable[Any]) -> None:
        lanes = _lanes(dtype)
        self.lanes = max(self.lanes, lanes)
        last = list(indices)[-1] if indices else None
        if lanes > 1 and last is not None and not _is_dense(last):
            self.gathers += 1


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


def _bytes(dtype: str) -> float:
    found = re.search(r"(\d+)(?:x\d+)?$", dtype)
    bits = int(found[1]) if found else 8
    return bits / 8 * _lanes(dtype)


# ---- Assembly ----


def code_of(assembly: str) -> Code:
    """Return what is in a text of assembly: of x86; of others, what their names tell."""
    widths = {"zmm": 512, "ymm": 256, "xmm": 128}
    bits = max((width for name, width in widths.items() if f"%{name}" in assembly), default=0)
    loops = list(_inner_loops(assembly.splitlines()))
    spilled = re.compile(r"^\s*v?\w+\s.*\(%r[sb]p\).*%[xyz]mm|^\s*v?\w+\s.*%[xyz]mm.*\(%r[sb]p\)")
    return Code(
        vector_bits=bits,
        fused=len(re.findall(r"^\s*(?:vfn?m(?:add|sub)|fmla|vfmacc)", assembly, re.MULTILINE)),
        gathers=len(re.findall(r"^\s*v\w*gather", assembly, re.MULTILINE)),
        inner_loops=len(loops),
        spills=sum(1 for body in loops for line in body if spilled.search(line)),
    )


def _inner_loops(lines: list[str]) -> Iterable[list[str]]:
    """Return the lines of each loop without another one inside: up to a jump back to its label."""
    places: dict[str, int] = {}
    ranges = []
    for i, line in enumerate(lines):
        if label := re.match(r"(\.?\w[\w.$]*):", line):
            places[label[1]] = i
        elif (jump := re.match(r"\s+j\w+\s+(\.?\w[\w.$]*)", line)) and jump[1] in places:
            ranges.append((places[jump[1]], i))
    for begin, end in ranges:
        if not any(begin <= b and e <= end and (b, e) != (begin, end) for b, e in ranges):
            yield lines[begin : end + 1]


# ---- The roofline ----


@dataclass(frozen=True)
class Roofline:
    """What this machine was measured to reach."""

    gflops: float
    """In a product of matrices that lie in its caches."""
    gbps: float
    """In a copy of arrays that do not."""

    def seconds(self, flops: float, size: float) -> float:
        """Return the time that a call takes at least, by its operations and its bytes."""
        return max(flops / (self.gflops * 1e9), size / (self.gbps * 1e9))

    def __str__(self) -> str:
        """Return both numbers."""
        return f"{self.gflops:.4g} GFLOP/s, {self.gbps:.4g} GB/s"


@functools.cache
def measured_roofline() -> Roofline:
    """Measure this machine: once in a process."""
    from . import driver, te

    n = 512
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    product = driver.build([a, b, te.nn.matmul(a, b)])
    arrays = [_core.zeros((n, n)) for _ in range(3)]
    gflops = 2 * n**3 / product.time(*arrays, repeat=7).min * 1e-9
    size = 1 << 24
    x = te.placeholder((size,), name="X")
    copy = driver.build([x, te.compute((size,), lambda i: x[i] * 2.0, name="Y")])
    gbps = 8 * size / copy.time(_core.zeros(size), _core.zeros(size)).min * 1e-9
    return Roofline(gflops, gbps)
