# SPDX-License-Identifier: Apache-2.0
"""What a search over sizes has found: a few schedules, and a tree that decides between them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ... import _core
from ..._core import Module, PrimFunc, Schedule, SizedRow, SizeTree, Target, Trial
from ...compiled_program import scheduled_program
from ...driver import build
from ...timing import seconds_text
from ..results.page import report_of_sizes, reported, written
from ..results.plots import figure
from ..results.result import Explanation, explanation
from .size_range import sizes_text


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
    trials, refused, check, was_interrupted
        As of `Tuned`; a trial's time is the mean over the sizes.
    """

    func: PrimFunc
    schedules: list[Schedule]
    tree: SizeTree
    rows: list[SizedRow]
    trials: list[Trial]
    refused: dict[str, int]
    check: str
    was_interrupted: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def speedup(self) -> float:
        """How many times as quick as the default schedule: the weighted geometric mean."""
        return _core.speedup_of(self.rows)

    @property
    def is_default(self) -> bool:
        """Whether the default schedule is the best for all sizes."""
        return self.tree.is_leaf and self.tree.variant == 0

    def function(self) -> PrimFunc:
        """Return the program as one function, which decides by its sizes which variant runs."""
        target, numerics = str(self.options["target"]), self.options.get("numerics", "free")
        return function_of(self.func, self.schedules, self.tree, target, numerics)

    def build(self) -> Module:
        """Compile the function."""
        return build(self.function(), **self.options)

    def explain(self, variant: int = 1) -> Explanation:
        """Return which choices of a variant mattered, by the mean times over the sizes.

        Compared are the trials whose steps are those of the variant, with other decisions.

        Raises
        ------
        UserError
            There is no such variant, or it is 0, the default schedule.
        """
        if not 1 <= variant <= len(self.schedules):
            _core.fail(
                "UserError",
                "variant_is_searched",
                f"explain: variant {variant} is none of 1 to {len(self.schedules)}",
                hint="variant 0 is the default schedule, and was not searched",
            )
        return explanation(self.schedules[variant - 1].trace, self.trials)

    def plot(self) -> Any:
        """Draw the search and, for each size, what a call takes, by matplotlib; return the figure.

        Raises
        ------
        UserError
            matplotlib is not installed.
        """
        return figure([report_of_sizes(self)])

    def html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return a report as a page of its own; with a path, write it there, too."""
        return reported([report_of_sizes(self)], path)

    def report(self, *paths: str | os.PathLike[str]) -> None:
        """Write the report into files, as `Tuned.report` does."""
        written([report_of_sizes(self)], paths)

    def __str__(self) -> str:
        """Return the tree, and a line for each of the drawn sizes."""
        rows = [
            f"  {sizes_text(row.sizes)}: "
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
    reference = _core.reference_of(func, Target(target), numerics)
    return _core.with_size_tree([reference, *map(_scheduled, schedules)], tree)


def _scheduled(sch: Schedule) -> PrimFunc:
    made = scheduled_program(sch, keeps_trace=False)
    assert isinstance(made, PrimFunc)
    return made
