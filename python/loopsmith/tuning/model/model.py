# SPDX-License-Identifier: Apache-2.0
"""What candidates will take, before they are measured."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from ..._core import CostModel, PrimFunc, Target


class Model(Protocol):
    """Whatever ranks candidates."""

    def predict(self, func: PrimFunc) -> float:
        """Return how long a call of a scheduled function will take, in any unit.

        Raises
        ------
        UserError
            The function cannot be lowered.
        """


@runtime_checkable
class Learner(Protocol):
    """A model that learns."""

    def learn(self, func: PrimFunc, seconds: float) -> None:
        """Take note of what a scheduled function was measured to take."""


class AnalyticModel:
    """The model of the target's processor that is built in: ports, vectors, caches, threads.

    Threads may ask it at once.

    Parameters
    ----------
    target
        A processor, no device.
    """

    is_concurrent = True

    def __init__(self, target: Target) -> None:
        self.costs = CostModel(target)
        """What the library asks without Python's lock."""

    def predict(self, func: PrimFunc) -> float:
        """Return seconds, about."""
        return self.costs.seconds(func)

    def features(self, func: PrimFunc) -> list[float]:
        """Return numbers of a scheduled function, the first the logarithm of seconds, to base 2."""
        return self.costs.features(func)
