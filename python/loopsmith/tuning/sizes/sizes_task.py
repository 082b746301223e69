# SPDX-License-Identifier: Apache-2.0
"""The search for schedules of one function whose sizes vary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import _core
from ..._core import PrimFunc, SizedSearch, Target, Trial
from ..records.trial_log import TrialLog
from ..task import CHECKED, FINALISTS, UNCHECKED, Measurer, RunsCandidates
from .sized import TunedSizes


class SizesTask(_core.SizesTask):
    """One function, several sizes: a search for each size, which learn of each other's candidates.

    Each candidate is a schedule for all sizes, is compiled once, and is measured with each of the
    drawn sizes. What is chosen is a few schedules and a tree that decides between them.

    Parameters
    ----------
    func
        The program without a schedule.
    searches
        What proposes candidates, for each size that was drawn.
    log
        What earlier searches have measured, which these go on with.
    runner
        What measures them.
    options
        How the function is to be built: keywords of `build`, `target` and `numerics` among them.
    max_variants
        How many schedules may be chosen beside the default one.
    begun
        When the search began, as `time.monotonic` tells it.
    """

    weight = 1.0
    limit_seconds = 0.0  # It is another one for each size.

    def __init__(
        self,
        func: PrimFunc,
        searches: Sequence[SizedSearch],
        log: TrialLog | None,
        runner: RunsCandidates,
        options: Mapping[str, Any],
        max_variants: int,
        begun: float,
    ) -> None:
        trials: list[Trial] = []
        super().__init__(
            func,
            _core.reference_of(func, Target(options["target"]), options["numerics"]),
            max_variants,
            list(searches),
            log,
            Measurer(runner, repeat=10, cold_repeat=0),
            trials.append,
            begun,
        )
        self.func = func
        self.trials = trials

    def finish(
        self, options: dict[str, Any], was_interrupted: bool, finalists: int = FINALISTS
    ) -> TunedSizes:
        """Choose variants, measure them again beside the default schedule, and fit the tree.

        Parameters
        ----------
        options
            How the function is to be built: keywords of `build`.
        was_interrupted
            Whether the search was ended from outside.
        finalists
            With 0, variants are returned as they were measured.

        Raises
        ------
        UserError
            There is no candidate that gave right results; or what was chosen is wrong.
        """
        schedules, tree, rows, is_checked = self.best(finalists > 0)
        return TunedSizes(
            func=self.func,
            schedules=schedules,
            tree=tree,
            rows=rows,
            trials=self.trials,
            refused=self.refused,
            check=CHECKED if is_checked else UNCHECKED,
            was_interrupted=was_interrupted,
            options=options,
        )
