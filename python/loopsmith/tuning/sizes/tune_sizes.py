# SPDX-License-Identifier: Apache-2.0
"""Sets up the search for schedules of a function whose sizes vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..._core import DrawnSizes, SizedSearch
from ..measure.worker import Job
from ..model.model import Model
from ..records.trial_log import TrialLog
from ..search.search import Mutator, Search
from ..spaces.space import Space
from ..task import RunsCandidates
from .sizes_task import SizesTask


def sizes_task(
    space: Space,
    points: Sequence[DrawnSizes],
    job: Job,
    make_runner: Callable[[Job], RunsCandidates],
    arguments: Callable[[Mapping[str, int]], list[Any]],
    model: Model | None,
    mutator: Mutator | None,
    strategy: type[Search],
    seed: int,
    log: TrialLog | None,
    options: Mapping[str, Any],
    variants: int,
    begun: float,
) -> SizesTask:
    """Return the search over the sizes that were drawn, each with arguments of its own."""
    first, *others = [arguments(point.sizes) for point in points]
    whole = replace(job, arguments=first, others=others)
    searches = [
        SizedSearch(strategy(space, seed + number, model, mutator, point.sizes), point)
        for number, point in enumerate(points)
    ]
    return SizesTask(space.func, searches, log, make_runner(whole), options, variants, begun)
