# SPDX-License-Identifier: Apache-2.0
"""Which parts of buffers statements access, and where in a program that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import loopsmith.arith as arith
from loopsmith import tir

__all__ = [
    "detect_buffer_access_lca",
    "get_block_access_region",
    "get_block_read_write_region",
    "touched_regions",
]


class _Accesses(tir.Visitor):
    """The boxes of buffers that a statement reads and writes, by buffer."""

    def __init__(self, opaque_buffers: Mapping[Any, Any] | None = None) -> None:
        self.reads: dict[Any, list[Any]] = {}
        self.writes: dict[Any, list[Any]] = {}
        self.opaque: list[Any] = []
        self._pointers = dict(opaque_buffers or {})
        self._sets: dict[Any, arith.IntSet] = {}
        self._analyzer = arith.Analyzer()

    def visit_For(self, node: Any) -> None:
        self.visit(node.min)
        self.visit(node.extent)
        first, last = self._ends(node.min)[0], self._ends(node.min + node.extent - 1)[1]
        self._sets[node.loop_var] = arith.IntSet(first, last)
        self.visit(node.body)
        del self._sets[node.loop_var]

    def visit_BlockRealize(self, node: Any) -> None:
        """Take the regions of a block inside as it declares them."""
        bound = {axis.var: value for axis, value in zip(node.block.iter_vars, node.iter_values)}
        for found, regions in ((self.reads, node.block.reads), (self.writes, node.block.writes)):
            for region in regions:
                ranges = [
                    (tir.substitute(r.min, bound), tir.substitute(r.extent, bound))
                    for r in region.region
                ]
                self._add(found, region.buffer, [(low, low + size - 1) for low, size in ranges])

    def visit_BufferLoad(self, node: Any) -> None:
        for index in node.indices:
            self.visit(index)
        self._add(self.reads, node.buffer, [(index, index) for index in node.indices])

    def visit_BufferStore(self, node: Any) -> None:
        for each in (*node.indices, node.value):
            self.visit(each)
        self._add(self.writes, node.buffer, [(index, index) for index in node.indices])

    def visit_Var(self, node: Any) -> None:
        """Take a pointer that is handed on for all of its buffer."""
        for pointer, buffer in self._pointers.items():
            known = any(buffer.same_as(each) for each in self.opaque)
            if pointer.same_as(node) and not known:
                self.opaque.append(buffer)

    def _ends(self, index: Any) -> tuple[Any, Any]:
        found = arith.int_set(self._analyzer, index, self._sets)
        return found.min_value, found.max_value

    def _add(self, found: dict[Any, list[Any]], buffer: Any, box: list[tuple[Any, Any]]) -> None:
        ends = [(self._ends(low)[0], self._ends(high)[1]) for low, high in box]
        known = found.get(buffer)
        if known is not None:
            ends = [
                (self._outer(tir.min, a, c), self._outer(tir.max, b, d))
                for (a, b), (c, d) in zip(known, ends)
            ]
        found[buffer] = ends

    def _outer(self, choose: Any, a: Any, b: Any) -> Any:
        """Return the end that is further out; None where there is none."""
        return None if a is None or b is None else self._analyzer.simplify(choose(a, b))

    def region(self, buffer: Any, box: list[Any]) -> list[Any]:
        """Return a box as ranges; an end that is not known is the buffer's."""
        simplify = self._analyzer.simplify
        ranges = []
        for (low, high), size in zip(box, buffer.shape):
            first = tir.const(0, str(size.dtype)) if low is None else low
            last = size - 1 if high is None else high
            ranges.append(tir.Range(simplify(first), simplify(last - first + 1)))
        return ranges

    def regions(self, found: dict[Any, list[Any]]) -> list[Any]:
        return [tir.BufferRegion(buffer, self.region(buffer, box)) for buffer, box in found.items()]


def touched_regions(stmt: Any, buffer: Any, loads: bool, stores: bool) -> list[Any]:
    """Return the least box around what a statement loads, or stores, of a buffer."""
    accesses = _Accesses()
    accesses.visit(stmt)
    both = _Accesses()
    for wanted, found in ((loads, accesses.reads), (stores, accesses.writes)):
        if wanted and buffer in found:
            both._add(both.reads, buffer, found[buffer])
    return both.region(buffer, both.reads[buffer]) if buffer in both.reads else []


def get_block_access_region(block: Any, buffer_var_map: Mapping[Any, Any]) -> list[list[Any]]:
    """Return what a block reads, writes, and hands on as pointers.

    What a reduction reads of its own result is left out.
    """
    accesses = _Accesses(buffer_var_map)
    if block.init is not None:
        accesses.visit(block.init)
    for source in block.match_buffers:
        accesses.visit(source.source)
    accesses.visit(block.body)
    if block.init is not None:
        for buffer in accesses.writes:
            accesses.reads.pop(buffer, None)
    inside = [*block.alloc_buffers, *(each.buffer for each in block.match_buffers)]
    outside = [
        {
            buffer: box
            for buffer, box in found.items()
            if not any(buffer.same_as(own) for own in inside)
        }
        for found in (accesses.reads, accesses.writes)
    ]
    opaque = [
        tir.BufferRegion(buffer, [tir.Range(0, size) for size in buffer.shape])
        for buffer in accesses.opaque
    ]
    return [accesses.regions(outside[0]), accesses.regions(outside[1]), opaque]


def get_block_read_write_region(block: Any, buffer_var_map: Mapping[Any, Any]) -> list[list[Any]]:
    """Return what a block reads and writes; what it hands on as a pointer, it may do both."""
    reads, writes, opaque = get_block_access_region(block, buffer_var_map)
    return [reads + opaque, writes + opaque]


class _Places(tir.Visitor):
    """The innermost loop or block around all accesses of each buffer."""

    def __init__(self) -> None:
        self.paths: dict[Any, list[Any]] = {}
        self._around: list[Any] = []

    def _inside(self, node: Any) -> None:
        self._around.append(node)
        self.visit_children(node)
        self._around.pop()

    visit_For = visit_Block = _inside  # noqa: N815

    def visit_Buffer(self, node: Any) -> None:
        """Leave out what a buffer's definition mentions."""

    def visit_BufferRegion(self, node: Any) -> None:
        """Leave out what a block declares: its body says what it accesses."""

    def visit_BufferLoad(self, node: Any) -> None:
        self._access(node.buffer)
        for index in node.indices:
            self.visit(index)

    def visit_BufferStore(self, node: Any) -> None:
        self._access(node.buffer)
        for each in (*node.indices, node.value):
            self.visit(each)

    def visit_MatchBufferRegion(self, node: Any) -> None:
        self._access(node.source.buffer)

    def _access(self, buffer: Any) -> None:
        path = [None, *self._around]
        if buffer.scope() in ("", "global"):
            is_grid = [_is_block_loop(each) for each in path]
            path = path[: is_grid.index(True)] if True in is_grid else path
        known = self.paths.get(buffer, path)
        common = [a for a, b in zip(known, path) if a is b or (a and b and a.same_as(b))]
        self.paths[buffer] = common


def _is_block_loop(node: Any) -> bool:
    thread = getattr(node, "thread_binding", None)
    return thread is not None and str(thread.thread_tag).startswith("blockIdx")


def detect_buffer_access_lca(func: Any) -> dict[Any, Any]:
    """Return for each buffer the innermost loop or block around all of its accesses.

    Memory that thread blocks share is not inside of a loop over them. None stands for the
    function itself.
    """
    places = _Places()
    places.visit(func.body)
    return {buffer: path[-1] for buffer, path in places.paths.items()}
