# SPDX-License-Identifier: Apache-2.0
"""Ranges of symbolic sizes: what calls will have, and how often."""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from .. import _core
from .._core import PrimFunc, Var

MAX_WEIGHED = 4096
"""So many values of a range are weighed at most; of more, evenly spaced ones."""


@dataclass(frozen=True)
class SizeRange:
    """The values of a symbolic size, both ends included.

    Parameters
    ----------
    low, high
        The least and the largest value.
    step
        All values are `low` plus a multiple of it.
    weight
        How often a value is met, beside others; without, every doubling as often as the one before.

    Raises
    ------
    BoundsError
        The range is empty, or has values below 1.
    """

    low: int
    high: int
    step: int = 1
    weight: Callable[[int], float] | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.low <= self.high or self.step < 1:
            _core.fail(
                "BoundsError",
                "range_has_sizes",
                f"SizeRange: {self.low} to {self.high} by {self.step} has no sizes",
                hint="give 1 <= low <= high, and a step of 1 or more",
            )

    def drawn(self, count: int) -> dict[int, float]:
        """Return some of the values with weights, each for those that are nearest to it.

        They are spaced by equal ratios; both ends are among them.
        """
        ratio = self.high / self.low
        shares = [ratio ** (place / max(count - 1, 1)) for place in range(count)]
        found = sorted({self._rounded(self.low * share) for share in shares})
        weights = dict.fromkeys(found, 0.0)
        borders = [math.sqrt(a * b) for a, b in itertools.pairwise(found)]
        stride = max(1, -(-((self.high - self.low) // self.step + 1) // MAX_WEIGHED)) * self.step
        for value in range(self.low, self.high + 1, stride):
            own = 1.0 / value if self.weight is None else float(self.weight(value))
            weights[found[bisect.bisect_right(borders, value)]] += own
        return weights

    def _rounded(self, value: float) -> int:
        steps = round((value - self.low) / self.step)
        return self.low + min(steps, (self.high - self.low) // self.step) * self.step


SizeSpec = Union[int, SizeRange, Mapping[int, float]]
"""A size, a range of sizes, or sizes with their weights."""


@dataclass(frozen=True)
class DrawnSizes:
    """Values of all symbolic sizes, and how often they are met."""

    sizes: dict[str, int]
    weight: float

    def __str__(self) -> str:
        """Return the sizes as arguments are written."""
        return ", ".join(f"{name}={value}" for name, value in self.sizes.items())


def is_ranged(sizes: Mapping[str, SizeSpec] | None) -> bool:
    """Whether a size is more than one number."""
    return any(not isinstance(spec, int) for spec in (sizes or {}).values())


def drawn_sizes(specs: Mapping[str, SizeSpec], count: int, seed: int) -> list[DrawnSizes]:
    """Return so many sizes, about, of ranges: a grid of all where it is small, else random ones.

    Their weights add up to 1.

    Raises
    ------
    UserError
        A weight is negative or no number, or all of a size are 0.
    """
    choices = {name: _weighted(name, spec, count) for name, spec in specs.items()}
    if math.prod(len(each) for each in choices.values()) <= count:
        points = [
            (dict(zip(choices, place)), math.prod(map(_weight_in, choices.values(), place)))
            for place in itertools.product(*choices.values())
        ]
    else:
        rng = random.Random(seed)
        ends = [{name: end(each) for name, each in choices.items()} for end in (min, max)]
        drawn = [
            {
                name: rng.choices(list(each), list(each.values()))[0]
                for name, each in choices.items()
            }
            for _ in range(count - len(ends))
        ]
        unique = {tuple(sizes.values()): sizes for sizes in [*ends, *drawn]}
        points = [(sizes, 1.0) for sizes in unique.values()]
    total = sum(weight for _, weight in points)
    return [DrawnSizes(sizes, weight / total) for sizes, weight in points if weight > 0]


def size_variables(func: PrimFunc) -> dict[str, Var]:
    """Return the symbolic sizes and the whole numbers among a function's parameters, by name."""
    found: dict[str, Var] = {}
    for param in func.params:
        buffer = func.buffer_map.get(param)
        shape: Sequence[Any] = [param] if buffer is None else buffer.shape
        for extent in shape:
            if isinstance(extent, Var) and "int" in extent.dtype:
                found.setdefault(extent.name, extent)
    return found


def sizes_of(func: PrimFunc, arguments: Sequence[Any]) -> dict[str, int]:
    """Return the symbolic sizes, and the whole numbers, that arguments have, by name."""
    found: dict[str, int] = {}
    for param, argument in zip(func.params, arguments):
        buffer = func.buffer_map.get(param)
        extents: Sequence[Any] = [param] if buffer is None else buffer.shape
        values = [argument] if buffer is None else getattr(argument, "shape", ())
        for extent, value in zip(extents, values):
            if isinstance(extent, Var) and "int" in extent.dtype:
                found.setdefault(extent.name, int(value))
    return found


def _weighted(name: str, spec: SizeSpec, count: int) -> dict[int, float]:
    if isinstance(spec, int):
        return {spec: 1.0}
    weights = spec.drawn(count) if isinstance(spec, SizeRange) else dict(spec)
    are_numbers = all(math.isfinite(weight) and weight >= 0 for weight in weights.values())
    if not are_numbers or not sum(weights.values()):
        _core.fail(
            "UserError",
            "weights_are_shares",
            f"tune: the weights of size {name} are {weights}, expected numbers that are not "
            "negative, one of them positive",
            hint="say how often each value is met",
        )
    return weights


def _weight_in(weights: dict[int, float], value: int) -> float:
    return weights[value]
