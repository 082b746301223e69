# SPDX-License-Identifier: Apache-2.0
"""The searches that `tune` knows by name."""

from __future__ import annotations

import math

from .search import Candidate, Ranked, Search


class EvolutionarySearch(Search):
    """Breeds candidates of the quickest that were measured, and of those that a model likes best.

    For each batch, a pool is what was left of the last one, or drawn of the space, bred of the
    quickest that were measured, and for some generations of those of the pool that are predicted to
    be quickest: by a change of one decision, or a cross of two.
    """

    generations = 2

    def next_candidates(self) -> list[Candidate]:
        """Return some that are near to what was measured, the best of the pool, and any one."""
        measured = self.quickest
        near = self.bred(measured, [], self.batch_size * 2) if measured else []
        parents, pool = measured, [*near, *self.left]
        for generation in range(self.generations if self.has_model else 1):
            pool = self.bred(parents, pool, len(near) + (generation + 1) * self.pool_size)
            parents = [candidate.trace for _, _, candidate in pool[: self.elite]] + measured
        return self.chosen(pool, near)


class AnnealedSearch(Search):
    """Walks from candidate to candidate, ever less often to one that is predicted to be slower.

    Simulated annealing (Kirkpatrick, Gelatt, Vecchi, 1983) of the logarithm of the predicted time.
    For each batch, walkers start at the quickest that were measured, or anywhere. Each step changes
    one decision, and is taken if the model predicts no more time, or else with the probability
    ``exp(-d / t)``, where ``d`` is by how much the logarithm grows. The temperature ``t`` falls
    from `hottest` to `coldest`. The pool is all that were seen, and what was left of the last one.
    """

    walkers = 12
    steps = 10
    hottest = 0.5
    coldest = 0.02

    def next_candidates(self) -> list[Candidate]:
        """Return the best of what the walkers saw, some of them near to what was measured."""
        measured = self.quickest
        near = self.bred(measured, [], self.walkers) if measured else []
        walking = list(near) or self.bred([], [], self.walkers)
        pool = [*walking, *self.left]
        for step in range(self.steps if self.has_model and walking else 0):
            share = step / max(self.steps - 1, 1)
            temperature = self.hottest * (self.coldest / self.hottest) ** share
            plans = [(self.seed(), self.mutated(at.trace)) for _, _, at in walking]
            for number, there in enumerate(self.ranked(plans, len(pool))):
                if there is None:
                    continue
                pool.append(there)
                if self._is_taken(walking[number], there, temperature):
                    walking[number] = there
        pool.sort(key=lambda item: item[:2])
        return self.chosen(pool, near)

    def _is_taken(self, here: Ranked, there: Ranked, temperature: float) -> bool:
        if there[0] <= here[0]:
            return True
        growth = math.log(there[0] / here[0]) if here[0] > 0 else math.inf
        return self.rng.random() < math.exp(-growth / temperature)


class RandomSearch(Search):
    """Draws of the whole space, and prefers none."""

    def next_candidates(self) -> list[Candidate]:
        """Return a batch as it was drawn."""
        pool = sorted(self.bred([], [], self.batch_size), key=lambda item: item[1])
        self.expect(pool)
        return [candidate for _, _, candidate in pool]


SEARCHES: dict[str, type[Search]] = {
    "evolutionary": EvolutionarySearch,
    "annealed": AnnealedSearch,
    "random": RandomSearch,
}
