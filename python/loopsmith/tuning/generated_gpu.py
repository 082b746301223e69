# SPDX-License-Identifier: Apache-2.0
"""A space for any program on a GPU: blocks and threads, tiles in shared memory and in registers."""

from __future__ import annotations

from .._core import BlockRV, LoopRV, Schedule
from .blocks import axis_kind, fused, is_inlined, reduction_axes
from .choices import attempt, choose

THREADS = (32, 64, 128, 256, 512)
TILE_THREADS = (4, 8, 16, 32)
RESULTS = (1, 2, 4, 8)
STEPS = (4, 8, 16, 32)
PARTS = (8, 16, 32, 64, 128, 256)


def generated_for_gpu(sch: Schedule) -> None:
    """Take the steps of the generated space for GPUs on a schedule.

    Blocks are visited from the last to the first. Elementwise ones may be inlined, the others get a
    thread for each of some elements. Reductions with elements enough are tiled: a block of threads
    computes a tile of results, each thread a few of them in registers, from parts of the operands
    that the threads copy into shared memory together, or from where they lie. Or the threads of a
    block reduce parts of one element. Which of these, and all numbers, are samples. Loops without
    blocks are bound where dependence allows.
    """
    for loop in sch.get_child_loops():
        if not sch.get_child_blocks(loop):
            _bind_line(sch, loop)
    if not sch.can_apply("get_block", "root"):
        return
    for block in reversed(sch.get_child_blocks("root")):
        if is_inlined(sch, block):
            continue
        loops = list(sch.get_loops(block))
        kinds = [axis_kind(sch, block, loop) for loop in loops]
        spatial = [loop for loop, kind in zip(loops, kinds) if kind == "spatial"]
        reduction = [loop for loop, kind in zip(loops, kinds) if kind == "reduction"]
        if not reduction_axes(sch, block):
            _bind_elements(sch, loops)
        elif "mixed" in kinds or not reduction:
            if loops:
                _bind_line(sch, loops[0])
        elif len(spatial) >= 2 and choose(sch, [0, 1, 1]):
            _tile(sch, block, spatial, reduction)
        elif choose(sch, [0, 1]):
            _reduce_by_threads(sch, block, spatial, reduction)
        elif spatial:
            _reduce_by_one(sch, spatial, reduction)
    sch.require_no_obligations("tune")


def _bind_line(sch: Schedule, loop: LoopRV) -> None:
    """Give each iteration of a loop a thread."""
    parts = attempt(lambda: sch.split(loop, [None, choose(sch, THREADS)]))
    if parts is not None:
        _bind(sch, parts[0], "blockIdx.x")
        _bind(sch, parts[1], "threadIdx.x")


def _bind_elements(sch: Schedule, loops: list[LoopRV]) -> None:
    """Give each thread one element, or some that lie as far apart as there are threads."""
    whole = fused(sch, loops)
    if whole is None:
        return
    each = choose(sch, [1, 1, 2, 4])
    parts = attempt(lambda: sch.split(whole, [None, each, choose(sch, THREADS)]))
    if parts is not None:
        _bind(sch, parts[0], "blockIdx.x")
        _bind(sch, parts[2], "threadIdx.x")


def _reduce_by_one(sch: Schedule, spatial: list[LoopRV], reduction: list[LoopRV]) -> None:
    """Let one thread reduce an element."""
    attempt(lambda: sch.reorder(*spatial, *reduction))
    _bind_elements(sch, spatial)


def _reduce_by_threads(
    sch: Schedule, block: BlockRV, spatial: list[LoopRV], reduction: list[LoopRV]
) -> None:
    """Let the threads of a block reduce parts of an element, then these among them."""
    if len(spatial) + len(reduction) > 1:
        attempt(lambda: sch.reorder(*spatial, *reduction))
    rows = fused(sch, spatial)
    if rows is not None:
        _bind(sch, rows, "blockIdx.x")
    whole = fused(sch, reduction)
    if whole is not None:
        _, part = sch.split(whole, [None, choose(sch, PARTS)])
        _bind(sch, part, "threadIdx.x")


def _tile(sch: Schedule, block: BlockRV, spatial: list[LoopRV], reduction: list[LoopRV]) -> None:
    rows = fused(sch, spatial[:-1])
    steps = fused(sch, reduction)
    if rows is None or steps is None:
        return
    threads = choose(sch, TILE_THREADS), choose(sch, TILE_THREADS)
    by, iy, ty = sch.split(rows, [None, choose(sch, RESULTS), threads[0]])
    bx, ix, tx = sch.split(spatial[-1], [None, choose(sch, RESULTS), threads[1]])
    step, k = sch.split(steps, [None, choose(sch, STEPS)])
    order = [by, bx, ty, tx, step, k, iy, ix]
    if not sch.can_apply("reorder", *order):
        _bind_elements(sch, [by])
        return
    sch.reorder(*order)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y")):
        _bind(sch, loop, axis)
    _bind(sch, tx, "threadIdx.x")
    result = attempt(lambda: sch.cache_write(block, 0, "local"))
    if result is not None:
        attempt(lambda: sch.reverse_compute_at(result, tx))
    for operand in range(len(sch.get(block).reads)):
        if choose(sch, [0, 1, 1]):
            _share(sch, block, operand, step, threads)
    for loop in (iy, ix):
        if choose(sch, [0, 1]):
            attempt(lambda loop=loop: sch.unroll(loop))  # type: ignore[misc]


def _share(
    sch: Schedule, block: BlockRV, operand: int, step: LoopRV, threads: tuple[int, int]
) -> None:
    """Copy what a block of threads reads of an operand in one step, together."""
    copy = attempt(lambda: sch.cache_read(block, operand, "shared"))
    if copy is None:
        return
    shared = len(sch.get_loops(block)) - 3  # The loops inside the steps are the tile's own.
    attempt(lambda: sch.compute_at(copy, step))
    whole = fused(sch, list(sch.get_loops(copy)[shared:]))
    if whole is None:
        return
    lanes = choose(sch, [1, 1, 2, 4])
    parts = sch.split(whole, [None, *threads, lanes])
    _bind(sch, parts[1], "threadIdx.y")
    _bind(sch, parts[2], "threadIdx.x")
    if lanes > 1:
        attempt(lambda: sch.vectorize(parts[3]))


def _bind(sch: Schedule, loop: LoopRV, axis: str) -> None:
    attempt(lambda: sch.bind(loop, axis))
