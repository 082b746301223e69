# SPDX-License-Identifier: Apache-2.0
"""Which schedules of a space are tried, and in which order."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Union

from ... import _core
from ..._core import Candidate, Trace
from ..model.model import AnalyticModel, Model
from ..spaces.holes import Decision
from ..spaces.space import Space

Mutator = Callable[[Trace, random.Random], Union[Sequence[Decision], None]]
"""Gets a trace, and what to draw with; returns other decisions of its samples."""


class Search(_core.Search):
    """Proposes schedules of a space, in batches; a subclass says which come next.

    The first batch is that with which the space starts. A program that was proposed is not proposed
    again. The same with any number of threads.

    Parameters
    ----------
    space
        What is searched.
    seed
        Of all that is drawn.
    model
        What ranks candidates; without, their order is that in which they were drawn.
    mutator
        What changes decisions of a trace; None of it means that there is nothing to change. Without
        one, a decision is changed.
    sizes
        What the model takes symbolic sizes for.
    """

    threads = 0
    """So many draw and predict, where they may; 0: as many as the process may use."""

    def __init__(
        self,
        space: Space,
        seed: int,
        model: Model | None = None,
        mutator: Mutator | None = None,
        sizes: Mapping[str, int] | None = None,
    ) -> None:
        ranking = model.costs if type(model) is AnalyticModel else model
        super().__init__(
            space.func, space.steps, seed % 2**64, ranking, mutator, dict(sizes or {}), self.threads
        )

    def next_candidates(self) -> list[Candidate]:
        """Return candidates to measure next; none where nothing new is found any more."""
        raise NotImplementedError(f"{type(self).__name__} has no method next_candidates")

    @cached_property
    def rng(self) -> random.Random:
        """What to draw with."""
        return random.Random(self.seed())


class EvolutionarySearch(Search):
    """Breeds candidates of the quickest that were measured, and of those that a model likes best.

    For each batch, a pool is what was left of the last one, or drawn of the space, bred of the
    quickest that were measured, and for a second generation of those of the pool that are predicted
    to be quickest: by a change of one decision, or a cross of two.
    """

    def next_candidates(self) -> list[Candidate]:
        """Return some that are near to what was measured, the best of the pool, and any one."""
        return _core.evolutionary(self)


class AnnealedSearch(Search):
    """Walks from candidate to candidate, ever less often to one that is predicted to be slower.

    Simulated annealing (Kirkpatrick, Gelatt, Vecchi, 1983) of the logarithm of the predicted time.
    For each batch, walkers start at the quickest that were measured, or anywhere. Each step changes
    one decision, and is taken if the model predicts no more time, or else with the probability
    ``exp(-d / t)``, where ``d`` is by how much the logarithm grows. The temperature ``t`` falls.
    The pool is all that were seen, and what was left of the last one.
    """

    def next_candidates(self) -> list[Candidate]:
        """Return the best of what the walkers saw, some of them near to what was measured."""
        return _core.annealed(self)


class RandomSearch(Search):
    """Draws of the whole space, and prefers none."""

    def next_candidates(self) -> list[Candidate]:
        """Return a batch as it was drawn."""
        return _core.at_random(self)


SEARCHES: dict[str, type[Search]] = {
    "evolutionary": EvolutionarySearch,
    "annealed": AnnealedSearch,
    "random": RandomSearch,
}
"""The searches that `tune` knows by name."""
