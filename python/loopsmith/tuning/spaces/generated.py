# SPDX-License-Identifier: Apache-2.0
"""Spaces for any program: their choices are samples, and what is refused is left out."""

from __future__ import annotations

from typing import Protocol

from ... import _core
from ..._core import BlockRV, Schedule


class Rule(Protocol):
    """A way to schedule a block, beside those of a generated space."""

    def apply(self, sch: Schedule, block: BlockRV) -> bool:
        """Take steps on a block, some of which may sample; whether it did.

        Where it has none for the block, it returns False before it takes the first one. A step that
        is refused ends the draw, which is no schedule then.
        """


def generated(sch: Schedule) -> None:
    """Take the steps of the generated space on a schedule.

    Blocks are visited from the last to the first, so that a block finds its consumers tiled.
    Elementwise ones may be inlined; any may be computed at a loop of a consumer. Reductions are
    tiled on several levels, may have a cache for their results and packed copies of what they read;
    or they keep several partial results, as many as vectors have lanes, and some for each thread;
    or a tensor intrinsic for dot products of their types computes them, from a copy in its layout.
    The others are tiled, made parallel and vectorized. Which of these is a sample.

    Loops without blocks may be brought into normal form or distributed over their statements; each
    part is then a scan of several threads, which may run several parts in turns, a wavefront,
    parallel with or without chunks, interchanged, run column by column with the columns outside, or
    left as it is. Its innermost loops may become vectors, and iterations of the loop around them
    may run together.
    """
    _core.generated_space(sch)


def generated_for_gpu(sch: Schedule) -> None:
    """Take the steps of the generated space for GPUs on a schedule.

    Blocks are visited from the last to the first. Elementwise ones may be inlined, the others get a
    thread for each of some elements. Reductions with elements enough are tiled: a block of threads
    computes a tile of results, each thread a few of them in registers, from parts of the operands
    that the threads copy into shared memory together, or from where they lie. Or the threads of a
    block reduce parts of one element. Which of these, and all numbers, are samples. Loops without
    blocks are bound where dependence allows. What is bound by none of these is as by default.

    Raises
    ------
    ScheduleError
        What was drawn leaves an obligation open.
    """
    _core.generated_space_for_gpu(sch)


GENERATED = (
    (generated, _core.generated_space),
    (generated_for_gpu, _core.generated_space_for_gpu),
)
"""Each of them, and the same as threads take it without Python's lock."""
