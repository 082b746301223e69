# SPDX-License-Identifier: Apache-2.0
"""A space for any program: its choices are samples, and what is refused is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import BlockRV, LoopRV, Schedule
from .blocks import axis_kind, fused, is_inlined, loops_without_repeats, reduction_axes
from .choices import LANES, attempt, choose, choose_factor, constant_extent, parts_of
from .plain_loops import schedule_plain_loop

VECTOR_EXTENTS = (4, 8, 16, 32, 64)
ROWS = (1, 2, 4, 6, 8, 12, 14)
COLUMNS = (16, 32, 48, 64)
MAX_INNERMOST = 64


def generated(sch: Schedule) -> None:
    """Take the steps of the generated space on a schedule.

    Blocks are visited from the last to the first, so that a block finds its consumers tiled.
    Elementwise ones may be inlined; any may be computed at a loop of a consumer. Reductions are
    tiled on several levels, may have a cache for their results and packed copies of what they read;
    or they keep several partial results, as many as vectors have lanes, and some for each thread.
    The others are tiled, made parallel and vectorized. Which of these is a sample. Loops without
    blocks: see `plain_loops`.
    """
    for loop in sch.get_child_loops():
        if not sch.get_child_blocks(loop):
            schedule_plain_loop(sch, loop)
    if not sch.can_apply("get_block", "root"):
        return
    for block in reversed(sch.get_child_blocks("root")):
        if is_inlined(sch, block):
            continue
        outer = _place_at_consumer(sch, block)
        if reduction_axes(sch, block):
            _schedule_reduction(sch, block, outer)
        elif outer:
            _vectorize_innermost(sch, block)
        else:
            _schedule_spatial(sch, block)


def _place_at_consumer(sch: Schedule, block: BlockRV) -> int:
    """Compute a block at a loop of a consumer, or not; return how many loops they then share.

    A reduction is not computed where its results would be computed again.
    """
    consumers = attempt(lambda: sch.get_consumers(block))
    if not consumers:
        return 0
    if reduction_axes(sch, block):
        places = loops_without_repeats(sch, block, consumers[0])
        depth = choose(sch, range(len(places) + 1)) if places else 0
        if depth == 0:
            return 0
        place: Any = places[depth - 1]
    else:
        place = attempt(lambda: sch.sample_compute_location(block))
        if place is None:
            return 0
    attempt(lambda: sch.compute_at(block, place))
    theirs = sch.get_loops(consumers[0])
    own = sch.get_loops(block)
    return sum(1 for mine, other in zip(own, theirs) if sch.get(mine).same_as(sch.get(other)))


def _tiled(sch: Schedule, loop: LoopRV, sizes: Sequence[int] | None) -> list[LoopRV]:
    """Split a loop on four levels, by sampled factors.

    They divide the loop's extent; or the innermost is one of some sizes, and the others are rounded
    up.
    """
    extent = constant_extent(sch, loop)
    if sizes is None and extent is not None and _splits_evenly(extent):
        factors: Any = sch.sample_perfect_tile(loop, n=4, max_innermost_factor=MAX_INNERMOST)
    else:
        factors = [None]
        for candidates in (sizes or VECTOR_EXTENTS, [1, 2, 4, 8], [1, 2, 4, 8, 16]):
            factors.insert(1, choose_factor(sch, candidates, extent))
            extent = parts_of(extent, factors[1])
    return list(sch.split(loop, factors=factors))


def _stepped(sch: Schedule, loop: LoopRV) -> list[LoopRV]:
    """Split the loop of a reduction on two levels."""
    extent = constant_extent(sch, loop)
    if extent is not None and _splits_evenly(extent):
        factors: Any = sch.sample_perfect_tile(loop, n=2, max_innermost_factor=4 * MAX_INNERMOST)
    else:
        factors = [None, choose(sch, [4, 16, 64, 256])]
    return list(sch.split(loop, factors=factors))


def _splits_evenly(extent: int) -> bool:
    """Whether there are divisors to choose between."""
    return extent <= 4 or any(extent % size == 0 and size < extent for size in (4, 6, 7, 9, 10))


def _schedule_reduction(sch: Schedule, block: BlockRV, shared: int) -> None:
    loops = sch.get_loops(block)[shared:]
    kinds = [axis_kind(sch, block, loop) for loop in loops]
    if not kinds or "mixed" in kinds:
        if not shared:
            attempt(lambda: sch.parallel(sch.get_loops(block)[0]))
        return
    spatial = [
        loop
        for loop, kind in zip(loops, kinds)
        if kind == "spatial" and constant_extent(sch, loop) != 1
    ]
    reduction = [loop for loop, kind in zip(loops, kinds) if kind == "reduction"]
    is_tiled = bool(spatial) and choose(sch, [0, 1]) == 0
    if is_tiled:
        _schedule_tiles(sch, block, spatial, reduction, not shared)
    elif spatial or shared or choose(sch, [0, 1, 1, 1]) == 0:
        _schedule_lanes(sch, block, spatial, reduction, not shared)
    else:
        _schedule_chunks(sch, block, reduction)


def _schedule_tiles(
    sch: Schedule,
    block: BlockRV,
    spatial: list[LoopRV],
    reduction: list[LoopRV],
    is_parallel: bool,
) -> None:
    is_rounded = choose(sch, [0, 1]) == 1
    sizes: list[Sequence[int] | None] = [ROWS if is_rounded else None] * len(spatial)
    sizes[-1] = COLUMNS if is_rounded else None
    tiles = [_tiled(sch, loop, own) for loop, own in zip(spatial, sizes)]
    steps = [_stepped(sch, loop) for loop in reduction]
    order = [tile[0] for tile in tiles] + [tile[1] for tile in tiles] + [step[0] for step in steps]
    order += [tile[2] for tile in tiles] + [step[1] for step in steps] + [tile[3] for tile in tiles]
    if len(order) > 1:
        attempt(lambda: sch.reorder(*order))
    stored = _written_through_cache(sch, block, tiles)
    _packed(sch, block, [step[0] for step in steps][-1])
    if is_parallel:
        outer = attempt(lambda: sch.fuse(*[tile[0] for tile in tiles])) or tiles[0][0]
        attempt(lambda: sch.parallel(outer))
    attempt(lambda: sch.vectorize(tiles[-1][3]))
    is_unrolled = choose(sch, [0, 1, 1, 1]) == 1
    start = attempt(lambda: sch.decompose_reduction(block, steps[0][0]))
    if is_unrolled:
        for tile in tiles[:-1]:
            attempt(lambda tile=tile: sch.unroll(tile[3]))  # type: ignore[misc]
    for other in (start, stored):
        if other is not None:
            _vectorize_innermost(sch, other)


def _written_through_cache(
    sch: Schedule, block: BlockRV, tiles: list[list[LoopRV]]
) -> BlockRV | None:
    level = choose(sch, [0, 1, 2])
    if level == 0:
        return None
    stored = attempt(lambda: sch.cache_write(block, 0, "global"))
    if stored is not None:
        attempt(lambda: sch.reverse_compute_at(stored, tiles[-1][level - 1]))
    return stored


def _packed(sch: Schedule, block: BlockRV, place: LoopRV) -> None:
    """Copy what is read, or not, where the loop over it starts."""
    for number in range(len(sch.get(block).reads)):
        if choose(sch, [0, 0, 1]) == 0:
            continue
        copy = attempt(lambda number=number: sch.cache_read(block, number, "global"))  # type: ignore[misc]
        if copy is not None:
            attempt(lambda copy=copy: sch.compute_at(copy, place))  # type: ignore[misc]
            _vectorize_innermost(sch, copy)


def _schedule_lanes(
    sch: Schedule,
    block: BlockRV,
    spatial: list[LoopRV],
    reduction: list[LoopRV],
    is_parallel: bool,
) -> None:
    """Keep several partial results, for vectors."""
    whole = fused(sch, reduction)
    if whole is None:
        return
    _, lanes = sch.split(whole, [None, choose(sch, LANES)])
    place = attempt(lambda: sch.get_loops(block)[-3])
    _factored_by_lanes(sch, block, lanes, place)
    if spatial and is_parallel:
        attempt(lambda: sch.parallel(spatial[0]))


def _schedule_chunks(sch: Schedule, block: BlockRV, reduction: list[LoopRV]) -> None:
    """Reduce chunks in parallel, each with several partial results, then the chunks' results."""
    whole = fused(sch, reduction)
    if whole is None:
        return
    chunks, _, _ = sch.split(whole, [choose(sch, [2, 4, 8, 16, 32, 64]), None, choose(sch, LANES)])
    partial = attempt(lambda: sch.rfactor(chunks, 0))
    if partial is None:
        return
    place = sch.get_loops(partial)[-3]
    _factored_by_lanes(sch, partial, sch.get_loops(partial)[-1], place)
    attempt(lambda: sch.parallel(place))


def _factored_by_lanes(sch: Schedule, block: BlockRV, lanes: LoopRV, place: LoopRV | None) -> None:
    """Reduce each lane apart, at a loop of the block, then the lanes."""
    partial = attempt(lambda: sch.rfactor(lanes, len(sch.get(block).writes[0].region)))
    if partial is None:
        return
    if place is not None:
        attempt(lambda: sch.compute_at(partial, place))
    steps, inner = _lanes_last(sch, partial)
    attempt(lambda: sch.reorder(steps, inner))
    start = attempt(lambda: sch.decompose_reduction(partial, steps))
    attempt(lambda: sch.vectorize(inner))
    if start is not None:
        _vectorize_innermost(sch, start)
    attempt(lambda: sch.vectorize(lanes))


def _lanes_last(sch: Schedule, block: BlockRV) -> tuple[LoopRV, LoopRV]:
    """Return the two innermost loops of a block, that of its reduction first."""
    first, second = sch.get_loops(block)[-2:]
    if axis_kind(sch, block, first) == "reduction":
        return first, second
    return second, first


def _schedule_spatial(sch: Schedule, block: BlockRV) -> None:
    loops = list(sch.get_loops(block))
    if not loops:
        return
    if len(loops) == 1:
        extent = constant_extent(sch, loops[0])
        lanes = choose_factor(sch, VECTOR_EXTENTS, extent)
        rows = choose_factor(sch, [1, 8, 64, 512], parts_of(extent, lanes))
        parts = attempt(lambda: sch.split(loops[0], [None, rows, lanes]))
        if parts is not None:
            attempt(lambda: sch.parallel(parts[0]))
            attempt(lambda: sch.vectorize(parts[2]))
        return
    # Tiles of rows and columns; either may become vectors.
    vertical, horizontal = loops[-2:] if choose(sch, [0, 1, 1, 1]) else loops[:-3:-1]
    height = choose_factor(sch, [1, 2, 4, 8, 16, 32, 64], constant_extent(sch, vertical))
    extent = constant_extent(sch, horizontal)
    lanes = choose_factor(sch, VECTOR_EXTENTS, extent)
    width = choose_factor(sch, [1, 2, 4, 16], parts_of(extent, lanes))
    row_parts = sch.split(vertical, [None, height])
    column_parts = sch.split(horizontal, [None, width, lanes])
    outer = [*loops[:-2], row_parts[0]]
    inner = [column_parts[1], row_parts[1]]
    if choose(sch, [0, 1]):
        inner.reverse()
    attempt(lambda: sch.reorder(*outer, column_parts[0], *inner, column_parts[2]))
    first = (attempt(lambda: sch.fuse(*outer)) if len(outer) > 1 else None) or outer[0]
    attempt(lambda: sch.parallel(first))
    attempt(lambda: sch.vectorize(column_parts[2]))


def _vectorize_innermost(sch: Schedule, block: BlockRV) -> None:
    loops = sch.get_loops(block)
    if not loops:
        return
    extent = constant_extent(sch, loops[-1])
    if extent is not None and 1 < extent <= MAX_INNERMOST:
        attempt(lambda: sch.vectorize(loops[-1]))
    elif extent is None or extent > MAX_INNERMOST:
        parts = attempt(lambda: sch.split(loops[-1], [None, 16]))
        if parts is not None:
            attempt(lambda: sch.vectorize(parts[1]))
