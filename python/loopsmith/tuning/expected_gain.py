# SPDX-License-Identifier: Apache-2.0
"""What the candidates that are left are expected to save."""

from __future__ import annotations

import math
import statistics

MIN_MEASURED = 16
"""So many predictions are compared with measurements before they tell anything."""
POINTS = 64
"""At so many times the distribution of the best one is evaluated."""


class ExpectedGain:
    """How far predictions were off, and what that lets the best of the others hope for.

    As in the expected improvement of Jones, Schonlau, Welch, "Efficient Global Optimization of
    Expensive Black-Box Functions" (1998), but of all candidates that are left at once: the simple
    regret of stopping now. The logarithms of measured times over predicted ones are taken for
    normally distributed and independent.
    """

    def __init__(self) -> None:
        self._predicted: dict[str, float] = {}
        self._errors: list[float] = []  # Logarithms of measured over predicted.

    def predict(self, predicted: dict[str, float]) -> None:
        """Take note of what is predicted of candidates, by their programs; forget what was."""
        self._predicted = {key: seconds for key, seconds in predicted.items() if seconds > 0}

    def measure(self, program: str, seconds: float) -> None:
        """Take note of what a candidate was measured to take."""
        predicted = self._predicted.pop(program, None)
        if predicted is not None and seconds > 0:
            self._errors.append(math.log(seconds / predicted))

    def share_of(self, best: float) -> float:
        """Return what the best one left is expected to save, as a share of the best time so far.

        Infinity before there is enough to go by.
        """
        if len(self._errors) < MIN_MEASURED or not 0 < best < math.inf:
            return math.inf
        spread = max(statistics.stdev(self._errors), 1e-9)
        error = statistics.fmean(self._errors)
        centers = [math.log(seconds / best) + error for seconds in self._predicted.values()]
        gain = 0.0
        for number in range(POINTS):
            time = (number + 0.5) / POINTS
            slower = [_normal((center - math.log(time)) / spread) for center in centers]
            gain += (1 - math.prod(slower)) / POINTS
        return gain


def _normal(x: float) -> float:
    """Return the share of a standard normal distribution that lies below x."""
    return 0.5 * math.erfc(-x / math.sqrt(2))
