# SPDX-License-Identifier: Apache-2.0
"""Decision trees over sizes: which variant of a function runs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

TOLERANCE = 0.005
"""A split that saves less than this share of the time is left out."""


@dataclass(frozen=True)
class Leaf:
    """The variant that runs."""

    variant: int

    def decide(self, sizes: Mapping[str, int]) -> int:
        """Return the variant."""
        del sizes
        return self.variant

    def as_json(self) -> Any:
        """Return it as lists and numbers."""
        return self.variant

    def __str__(self) -> str:
        """Return which it is."""
        return f"variant {self.variant}"


@dataclass(frozen=True)
class Split:
    """What runs where a size is below a threshold, and what where it is not."""

    name: str
    threshold: int
    below: SizeTree
    above: SizeTree

    def decide(self, sizes: Mapping[str, int]) -> int:
        """Return the variant for some sizes."""
        return (self.below if sizes[self.name] < self.threshold else self.above).decide(sizes)

    def as_json(self) -> Any:
        """Return it as lists and numbers."""
        return [self.name, self.threshold, self.below.as_json(), self.above.as_json()]

    def __str__(self) -> str:
        """Return a line for each question and each answer, indented."""
        below, above = (str(part).replace("\n", "\n  ") for part in (self.below, self.above))
        condition = f"{self.name} < {self.threshold}"
        return f"if {condition}:\n  {below}\nelse:\n  {above}"


SizeTree = Union[Leaf, Split]


def tree_from_json(data: Any) -> SizeTree:
    """Return the tree that `as_json` wrote."""
    if isinstance(data, int):
        return Leaf(data)
    name, threshold, below, above = data
    return Split(str(name), int(threshold), tree_from_json(below), tree_from_json(above))


def fitted_tree(points: Sequence[Mapping[str, int]], costs: Sequence[Sequence[float]]) -> SizeTree:
    """Return a small tree that chooses a cheap variant for each point.

    It grows until each leaf has the cheapest variant of all its points, then loses the splits that
    save little: classification trees of Breiman et al., "Classification and Regression Trees"
    (1984), with the costs as the loss.

    Parameters
    ----------
    points
        Sizes.
    costs
        For each of them, what each variant costs; infinite where it cannot run.
    """
    total = sum(min(row) for row in costs)
    return _pruned(_grown(points, costs), points, costs, TOLERANCE * total)


def _grown(points: Sequence[Mapping[str, int]], costs: Sequence[Sequence[float]]) -> SizeTree:
    best, cost = _cheapest(costs)
    if cost <= sum(min(row) for row in costs) * (1 + 1e-9):
        return Leaf(best)
    splits: list[tuple[float, int, str, int]] = []
    for name in points[0]:
        values = sorted({point[name] for point in points})
        for low, high in itertools.pairwise(values):
            threshold = min(max(round(math.sqrt(low * high)), low + 1), high)
            below, above = _divided(points, costs, name, threshold)
            after = _cheapest(below[1])[1] + _cheapest(above[1])[1]
            splits.append((after, len(splits), name, threshold))
    if not splits:
        return Leaf(best)
    _, _, name, threshold = min(splits)
    below, above = _divided(points, costs, name, threshold)
    return Split(name, threshold, _grown(*below), _grown(*above))


def _pruned(
    tree: SizeTree,
    points: Sequence[Mapping[str, int]],
    costs: Sequence[Sequence[float]],
    tolerance: float,
) -> SizeTree:
    if isinstance(tree, Leaf):
        return tree
    below, above = _divided(points, costs, tree.name, tree.threshold)
    made = Split(
        tree.name,
        tree.threshold,
        _pruned(tree.below, below[0], below[1], tolerance),
        _pruned(tree.above, above[0], above[1], tolerance),
    )
    best, cost = _cheapest(costs)
    with_split = sum(row[made.decide(point)] for point, row in zip(points, costs))
    return Leaf(best) if cost - with_split <= tolerance else made


def _divided(
    points: Sequence[Mapping[str, int]],
    costs: Sequence[Sequence[float]],
    name: str,
    threshold: int,
) -> tuple[Any, Any]:
    parts: tuple[tuple[list[Any], list[Any]], ...] = (([], []), ([], []))
    for point, row in zip(points, costs):
        part = parts[0 if point[name] < threshold else 1]
        part[0].append(point)
        part[1].append(row)
    return parts[0], parts[1]


def _cheapest(costs: Sequence[Sequence[float]]) -> tuple[int, float]:
    """Return the variant that costs least over all points, and how much."""
    sums = [sum(column) for column in zip(*costs)]
    best = min(range(len(sums)), key=sums.__getitem__)
    return best, sums[best]
