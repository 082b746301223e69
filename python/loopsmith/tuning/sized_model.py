# SPDX-License-Identifier: Apache-2.0
"""Models that take the sizes of a function for numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .. import _core
from .._core import PrimFunc
from .model import Learner, Model


@dataclass(frozen=True)
class SizedModel:
    """A model that takes the sizes of a function for numbers."""

    model: Any
    sizes: Mapping[str, int]

    @property
    def is_concurrent(self) -> bool:
        """Whether threads may ask it at once."""
        return getattr(self.model, "is_concurrent", False)

    def predict(self, func: PrimFunc) -> float:
        """Return how long a call with these sizes will take."""
        return float(self.model.predict(self._sized(func)))

    def _sized(self, func: PrimFunc) -> PrimFunc:
        return _core.with_sizes(func, dict(self.sizes))


class SizedLearner(SizedModel):
    """The same of a model that learns."""

    def learn(self, func: PrimFunc, seconds: float) -> None:
        """Take note of what a scheduled function was measured to take with these sizes."""
        self.model.learn(self._sized(func), seconds)


def with_sizes(model: Model, sizes: Mapping[str, int]) -> Model:
    """Return a model for calls with some sizes; the model itself where there are none."""
    if not sizes:
        return model
    return (SizedLearner if isinstance(model, Learner) else SizedModel)(model, sizes)
