# SPDX-License-Identifier: Apache-2.0
"""What is known of blocks: whether their axes are digits, and their sources complete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import loopsmith.arith as arith
from loopsmith import tir

from .places import directly_inside, enclosing_loops, realize_of

__all__ = ["CachedFlags", "flags_of"]


class CachedFlags(NamedTuple):
    """What is known of a block."""

    affine_binding: bool
    """Its axes are independent sums of digits of loops."""
    region_cover: bool
    """What it reads was written before by the blocks of its scope that write it."""
    stage_pipeline: bool
    """Each block directly inside finds what it reads, and writes at no element twice."""


def flags_of(module: Any, block: Any) -> CachedFlags:
    """Return what is known of a block of a module."""
    inside = directly_inside(module, block)
    is_pipeline = all(_is_covered(module, each, block) and _is_stage(each) for each in inside)
    _, scope = enclosing_loops(module, block)
    return CachedFlags(
        affine_binding=_is_affine(module, block),
        region_cover=scope is None or _is_covered(module, block, scope),
        stage_pipeline=is_pipeline,
    )


def _ranges(loops: list[Any]) -> dict[Any, Any]:
    return {loop.loop_var: tir.Range(loop.min, loop.extent) for loop in loops}


def _is_affine(module: Any, block: Any) -> bool:
    loops, _ = enclosing_loops(module, block)
    realize = realize_of(module, block)
    if not block.iter_vars:
        return True
    found = arith.detect_iter_map(
        list(realize.iter_values), _ranges(loops), realize.predicate, "surjective"
    )
    return len(found.indices) > 0


def _is_stage(block: Any) -> bool:
    """Return whether a block writes each element once, or reduces into it."""
    kinds = {str(axis.iter_type) for axis in block.iter_vars}
    if kinds & {"opaque", "ordered"}:
        return False
    reduces = "reduce" in kinds
    reads_own = any(r.buffer.same_as(w.buffer) for r in block.reads for w in block.writes)
    return reduces or not reads_own


def _is_covered(module: Any, consumer: Any, scope: Any) -> bool:
    """Return whether the sources of a block write all that it reads, where they stand."""
    loops, _ = enclosing_loops(module, consumer)
    producers = [each for each in directly_inside(module, scope) if not each.same_as(consumer)]
    for read in consumer.reads:
        sources = [
            (each, write)
            for each in producers
            for write in each.writes
            if write.buffer.same_as(read.buffer) and _is_before(module, each, consumer, scope)
        ]
        if sources and not any(
            _covers(module, each, write, consumer, read, loops) for each, write in sources
        ):
            return False
    return True


def _is_before(module: Any, first: Any, second: Any, scope: Any) -> bool:
    order = directly_inside(module, scope)
    places = [next(i for i, each in enumerate(order) if each.same_as(b)) for b in (first, second)]
    return places[0] < places[1]


def _covers(
    module: Any, producer: Any, write: Any, consumer: Any, read: Any, loops: list[Any]
) -> bool:
    """Return whether what a producer writes under the common loops holds what is read there."""
    producer_loops, _ = enclosing_loops(module, producer)
    common = sum(1 for a, b in zip(producer_loops, loops) if a.same_as(b))
    written = _box(module, producer, write, producer_loops[common:], is_exact=True)
    wanted = _box(module, consumer, read, loops[common:], is_exact=False)
    if written is None or wanted is None:
        return False
    analyzer = arith.Analyzer()
    for loop in loops[:common]:
        analyzer.bind(loop.loop_var, tir.Range(loop.min, loop.extent))
    for has, needs, size in zip(written, wanted, read.buffer.shape):
        low = tir.const(0, str(size.dtype)) if needs.min_value is None else needs.min_value
        high = size - 1 if needs.max_value is None else needs.max_value
        if has.min_value is None or has.max_value is None:
            return False
        is_low = analyzer.can_prove(tir.any(has.min_value <= low, has.min_value <= 0))
        is_high = analyzer.can_prove(tir.any(has.max_value >= high, has.max_value >= size - 1))
        if not (is_low and is_high):
            return False
    return True


def _box(module: Any, block: Any, region: Any, loops: list[Any], is_exact: bool) -> Any:
    """Return the box of a region while loops run: within what is accessed, or around it."""
    realize = realize_of(module, block)
    bound: Mapping[Any, Any] = {
        axis.var: value for axis, value in zip(block.iter_vars, realize.iter_values)
    }

    def placed(expr: Any) -> Any:
        return tir.substitute(expr, dict(bound)) if bound else expr

    ranges = [tir.Range(placed(r.min), placed(r.extent)) for r in region.region]
    estimate: Any = (
        arith.estimate_region_strict_bound if is_exact else arith.estimate_region_upper_bound
    )
    return estimate(ranges, _ranges(loops), realize.predicate)
