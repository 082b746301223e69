# SPDX-License-Identifier: Apache-2.0
"""``tvm.tir.schedule.analysis``: questions about the blocks of a schedule."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import loopsmith.arith as arith
from loopsmith import tir

from ....missing import other_names
from .tensorize_mapping import (
    AutoTensorizeMappingInfo,
    TensorizeInfo,
    get_auto_tensorize_mapping_info,
    get_tensorize_loop_mapping,
)

__all__ = [
    "AutoTensorizeMappingInfo",
    "TensorizeInfo",
    "get_auto_tensorize_mapping_info",
    "get_tensorize_loop_mapping",
    "has_block",
    "is_output_block",
    "suggest_index_map",
]


def is_output_block(sch: Any, block: Any) -> bool:
    """Return whether a block writes a buffer of the function's parameters."""
    stmt = sch.get(block)
    return any(stmt.same_as(sch.get(each)) for each in sch.get_output_blocks("root"))


def has_block(sch: Any, block_name: str) -> bool:
    """Return whether the function of a schedule has a block of that name."""
    found: list[Any] = []

    def visit(node: Any) -> None:
        if isinstance(node, tir.Block) and node.name_hint == block_name:
            found.append(node)

    tir.post_order_visit(sch.func.body, visit)
    return bool(found)


class _Digit(NamedTuple):
    """One digit of the indices of a buffer: a part of one loop."""

    dim: int
    below: int
    """How much one step of it is worth in its index."""
    extent: int
    loop: int
    loop_below: int
    """How much one step of it is worth in its loop."""


def suggest_index_map(
    buffer: Any, indices: Sequence[Any], loops: Sequence[Any], predicate: Any
) -> Any:
    """Return a layout in which loops meet the elements of a buffer in the order of its memory.

    The digits of the loops that the indices are made of become the axes, those of outer loops
    first. None where the indices are no such digits, or leave elements out.
    """
    ranges = {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in loops}
    where = tir.const(predicate, "bool") if isinstance(predicate, (bool, int)) else predicate
    found = arith.detect_iter_map(list(indices), ranges, where, "surjective")
    if not len(found.indices):
        return None
    numbers = [loop.loop_var for loop in loops]
    digits: list[_Digit] = []
    for dim, index in enumerate(found.indices):
        own = _digits_of(dim, index, numbers)
        if own is None or math.prod(each.extent for each in own) != int(buffer.shape[dim]):
            return None
        digits += own
    in_order = sorted(digits, key=lambda each: (each.loop, -each.loop_below))
    groups: list[list[_Digit]] = []
    for digit in in_order:
        if groups and _follows(digits, groups[-1][-1], digit):
            groups[-1].append(digit)
        else:
            groups.append([digit])

    shape = [int(size) for size in buffer.shape]

    def mapped(*at: Any) -> list[Any]:
        return [_value_of(group, at, shape) for group in groups]

    return arith.index_map(mapped, len(buffer.shape), index_dtype="int32")


def _digits_of(dim: int, index: Any, loops: list[Any]) -> list[_Digit] | None:
    """Return the digits of an index, the highest first; None where they are not known."""
    digits: list[_Digit] = []
    for part in index.args:
        numbers = (part.scale, part.extent, part.lower_factor)
        if not all(isinstance(each, tir.IntImm) for each in numbers):
            return None
        scale, extent, below = (int(each) for each in numbers)
        source = part.source.source
        if isinstance(source, tir.Var):
            loop = next(i for i, each in enumerate(loops) if each.same_as(source))
            digits.append(_Digit(dim, scale, extent, loop, below))
            continue
        inner = _digits_of(dim, source, loops)
        if inner is None:
            return None
        for each in inner:
            low, high = max(each.below, below), min(each.below * each.extent, below * extent)
            if high <= low:
                continue
            if low % each.below or high % low:
                return None
            digits.append(
                _Digit(
                    dim,
                    low // below * scale,
                    high // low,
                    each.loop,
                    each.loop_below * (low // each.below),
                )
            )
    return digits


def _follows(digits: list[_Digit], one: _Digit, two: _Digit) -> bool:
    """Return whether two digits are neighbours in memory and in one loop."""
    is_next = digits.index(two) == digits.index(one) + 1
    return is_next and one.loop == two.loop and one.loop_below == two.loop_below * two.extent


def _value_of(group: list[_Digit], at: Sequence[Any], shape: list[int]) -> Any:
    value: Any = None
    for digit in group:
        part = at[digit.dim] if digit.below == 1 else tir.floordiv(at[digit.dim], digit.below)
        if digit.below * digit.extent != shape[digit.dim]:
            part = tir.floormod(part, digit.extent)
        value = part if value is None else value * digit.extent + part
    return value


__getattr__ = other_names("tvm.tir.schedule.analysis")
