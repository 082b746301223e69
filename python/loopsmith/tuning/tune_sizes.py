# SPDX-License-Identifier: Apache-2.0
"""Sets up the search for schedules of a function whose sizes vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import _core
from .._core import PrimFunc
from .model import Model
from .search import Mutator, Search
from .size_range import DrawnSizes, SizeSpec, drawn_sizes, size_variables
from .sized_model import with_sizes
from .sizes_task import SizesTask
from .space import Space
from .task import RunsCandidates
from .worker import Job

DRAWN = 8
"""So many sizes are drawn, about."""


def points_of(func: PrimFunc, specs: Mapping[str, SizeSpec], seed: int) -> list[DrawnSizes]:
    """Return the sizes with which candidates are measured.

    Raises
    ------
    UserError
        A size is none of the function's.
    """
    unknown = sorted(set(specs) - set(size_variables(func)))
    if unknown:
        _core.fail(
            "UserError",
            "size_is_known",
            f"tune: the function has no size {unknown[0]}; it has "
            f"{', '.join(size_variables(func)) or 'none'}",
            hint="name the sizes as the function's tensors do",
        )
    return drawn_sizes(specs, DRAWN, seed)


def sizes_task(
    space: Space,
    points: Sequence[DrawnSizes],
    job: Job,
    make_runner: Callable[[Job], RunsCandidates],
    arguments: Callable[[Mapping[str, int]], list[Any]],
    model: Model | None,
    mutator: Mutator,
    strategy: type[Search],
    seed: int,
    variants: int,
    begun: float,
) -> SizesTask:
    """Return the search over the sizes that were drawn, each with arguments of its own."""
    first, *others = [arguments(point.sizes) for point in points]
    whole = replace(job, arguments=first, others=others)
    searches = [
        strategy(space, seed + number, model and with_sizes(model, point.sizes), mutator)
        for number, point in enumerate(points)
    ]
    return SizesTask(space.func, points, searches, make_runner(whole), variants, begun)
