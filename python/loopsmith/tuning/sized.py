# SPDX-License-Identifier: Apache-2.0
"""What a search over sizes has found: a few schedules, and a tree that decides between them."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .. import _core
from .._core import Module, PrimFunc, Schedule
from ..compiled_program import scheduled_program
from ..driver import build
from ..timing import seconds_text
from .fixed_order import by_default
from .result import Trial
from .size_range import size_variables
from .size_tree import Leaf, SizeTree, Split


@dataclass(frozen=True)
class SizedRow:
    """What was measured with some sizes.

    Attributes
    ----------
    seconds
        Of a call of the variant that the tree takes.
    default_seconds
        With the default schedule, measured beside it.
    best_seconds
        The quickest of all that was measured with these sizes.
    variant
        The variant; 0 is the default schedule.
    """

    sizes: dict[str, int]
    weight: float
    seconds: float
    default_seconds: float
    best_seconds: float
    variant: int


@dataclass(frozen=True)
class TunedSizes:
    """Schedules for sizes that vary, and the tree that decides between them in a call.

    Attributes
    ----------
    func
        The program without a schedule.
    schedules
        The variants from 1 on; variant 0 is the default schedule.
    tree
        Which variant runs.
    rows
        What was measured, for each of the drawn sizes.
    trials, refused, was_interrupted
        As of `Tuned`; a trial's time is the mean over the sizes.
    """

    func: PrimFunc
    schedules: list[Schedule]
    tree: SizeTree
    rows: list[SizedRow]
    trials: list[Trial]
    refused: dict[str, int]
    was_interrupted: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def speedup(self) -> float:
        """How many times as quick as the default schedule: the weighted geometric mean."""
        logs = (row.weight * math.log(row.default_seconds / row.seconds) for row in self.rows)
        return math.exp(sum(logs) / sum(row.weight for row in self.rows))

    @property
    def is_default(self) -> bool:
        """Whether the default schedule is the best for all sizes."""
        return self.tree == Leaf(0)

    def function(self) -> PrimFunc:
        """Return the program as one function, which decides by its sizes which variant runs."""
        target, numerics = str(self.options["target"]), self.options.get("numerics", "free")
        return function_of(self.func, self.schedules, self.tree, target, numerics)

    def build(self) -> Module:
        """Compile the function."""
        return build(self.function(), **self.options)

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a report as a page of its own; with a path, write it there, too."""
        from .page import page, report_of_sizes

        return page(self.func.name, [report_of_sizes(self)], path)

    def __str__(self) -> str:
        """Return the tree, and a line for each of the drawn sizes."""
        rows = [
            f"  {', '.join(f'{name}={value}' for name, value in row.sizes.items())}: "
            f"{seconds_text(row.seconds)} by variant {row.variant}, "
            f"default {seconds_text(row.default_seconds)}, best {seconds_text(row.best_seconds)}"
            for row in self.rows
        ]
        used = {row.variant for row in self.rows}
        return "\n".join(
            [
                f"{self.func.name}: {len(used)} variants, {self.speedup:.3g} times as quick as the "
                f"default schedule, which is variant 0; {len(self.trials)} candidates",
                str(self.tree),
                *rows,
            ]
        )


def function_of(
    func: PrimFunc,
    schedules: Sequence[Schedule],
    tree: SizeTree,
    target: str,
    numerics: str = "free",
) -> PrimFunc:
    """Return one function of the default schedule, other schedules, and a tree over the sizes.

    Parameters
    ----------
    func
        The program without a schedule.
    schedules
        The variants from 1 on.
    tree
        Which of them runs; variant 0 is the default schedule.
    target
        What it is compiled for.
    numerics
        What the schedules keep; variant 0 keeps it, too.
    """
    variables = size_variables(func)
    conditions = _conditions(tree, variables)
    order = sorted(conditions)
    made = [by_default(func, target, numerics), *map(_scheduled, schedules)]
    if len(order) == 1:
        return made[order[0]].with_attr("tir.is_scheduled", 1)
    chosen = [(made[which], conditions[which]) for which in order[:-1]]
    combined = _core.with_variants([*chosen, (made[order[-1]], None)])
    return combined.with_attr("tir.is_scheduled", 1)


def _scheduled(sch: Schedule) -> PrimFunc:
    made = scheduled_program(sch, keeps_trace=False)
    assert isinstance(made, PrimFunc)
    return made


def _conditions(tree: SizeTree, variables: Mapping[str, Any]) -> dict[int, Any]:
    """Return when each variant of a tree runs."""
    if isinstance(tree, Leaf):
        return {tree.variant: None}
    found: dict[int, Any] = {}
    for part, is_below in ((tree.below, True), (tree.above, False)):
        for variant, inner in _conditions(part, variables).items():
            own = _question(tree, variables, is_below)
            condition = own if inner is None else _core.And(own, inner)
            known = found.get(variant)
            found[variant] = condition if known is None else _core.Or(known, condition)
    return found


def _question(split: Split, variables: Mapping[str, Any], is_below: bool) -> Any:
    if split.name not in variables:
        _core.fail(
            "UserError",
            "size_is_known",
            f"tune: the function has no size {split.name}; it has {', '.join(variables) or 'none'}",
            hint="name the sizes as the function's tensors do",
        )
    size = variables[split.name]
    return size < split.threshold if is_below else size >= split.threshold
