# SPDX-License-Identifier: Apache-2.0
"""A model that learns from measurements: boosted trees over features of the lowered program."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import _core
from ..._core import PrimFunc, Target
from .model import AnalyticModel

MIN_SAMPLES = 48
"""It predicts from so many measurements on; before, the analytic model does."""
GROWTH = 1.25
"""It is trained again when there are so many times as many measurements."""
TREES = {
    "objective": "regression",
    "num_leaves": 15,
    "min_data_in_leaf": 4,
    "learning_rate": 0.1,
    "verbosity": -1,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "seed": 1,
}
ROUNDS = 80


class LearnedModel:
    """The analytic model, corrected by what was measured; boosted trees find how.

    What is learned is the logarithm of the measured time over the estimated one, from what the most
    expensive statements of the lowered program are like, by gradient boosting: Ke et al.,
    "LightGBM: A Highly Efficient Gradient Boosting Decision Tree" (NeurIPS 2017), where that is
    installed; else by the library's own trees, a simpler form of the same. Each time that it
    is trained, it ranks the last fifth of the measurements without having seen them; where it ranks
    them worse than the analytic model, that one predicts. Records of a search that goes on are
    learned, too.

    Parameters
    ----------
    target
        A processor, no device.
    """

    def __init__(self, target: Target) -> None:
        try:
            self._library: Any = importlib.import_module("lightgbm")
        except ImportError:
            self._library = None
        self._analytic = AnalyticModel(target)
        self._rows: list[list[float]] = []
        self._labels: list[float] = []
        self._trained_at = 0
        self._trees: Callable[[list[float]], float] | None = None
        self.correlations: list[tuple[float, float]] = []
        """Of each training: the rank correlation on unseen measurements, learned and analytic."""

    def predict(self, func: PrimFunc) -> float:
        """Return seconds, about."""
        if self._trees is None:
            return self._analytic.predict(func)
        row = self._analytic.features(func)
        return math.exp(row[0] * math.log(2) + self._trees(row))

    def learn(self, func: PrimFunc, seconds: float) -> None:
        """Take note of what a scheduled function was measured to take."""
        row = self._analytic.features(func)
        self._rows.append(row)
        self._labels.append(math.log(seconds) - row[0] * math.log(2))
        count = len(self._rows)
        if count >= max(MIN_SAMPLES, GROWTH * self._trained_at):
            self._train()

    def _train(self) -> None:
        self._trained_at = len(self._rows)
        seen = len(self._rows) - len(self._rows) // 5
        trial = self._fitted(self._rows[:seen], self._labels[:seen])
        unseen, labels = self._rows[seen:], self._labels[seen:]
        estimated = [row[0] * math.log(2) for row in unseen]
        measured = [base + label for base, label in zip(estimated, labels)]
        corrected = [base + trial(row) for base, row in zip(estimated, unseen)]
        both = (
            _core.rank_correlation(corrected, measured),
            _core.rank_correlation(estimated, measured),
        )
        self.correlations.append(both)
        self._trees = self._fitted(self._rows, self._labels) if both[0] >= both[1] else None

    def _fitted(
        self, rows: list[list[float]], labels: list[float]
    ) -> Callable[[list[float]], float]:
        if self._library is None:
            return _core.BoostedTrees(rows, labels).predict
        data = self._library.Dataset(np.array(rows), np.array(labels), params={"verbosity": -1})
        booster = self._library.train(TREES, data, num_boost_round=ROUNDS)
        return lambda row: float(booster.predict(np.array([row]), num_threads=1)[0])
