# SPDX-License-Identifier: Apache-2.0
"""What a search has measured, kept so that another one goes on where it ended."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .._core import Trace
from .records import Records


@dataclass(frozen=True)
class LoggedTrial:
    """A candidate that was measured: its program's hash, its trace, its time; None: it failed."""

    program: str
    trace: Trace
    seconds: float | None


class TrialLog:
    """The trials of one search: of a program, for a target, in a space.

    Parameters
    ----------
    records
        The file that has them.
    search
        What is the same for searches that continue each other.
    """

    def __init__(self, records: Records, search: str) -> None:
        self._records = records
        self._search = search

    def add(self, trial: LoggedTrial) -> None:
        """Write a trial. When this returns, it is on the disk."""
        row = (self._search, trial.program, json.dumps(trial.trace.as_json()), trial.seconds)
        with self._records.database.open() as database:
            database.execute(
                "INSERT INTO trials (search, program, trace, seconds) VALUES (?, ?, ?, ?)", row
            )

    def all(self) -> list[LoggedTrial]:
        """Return the trials, the oldest first."""
        with self._records.database.open() as database:
            rows = database.execute(
                "SELECT program, trace, seconds FROM trials WHERE search = ? ORDER BY id",
                (self._search,),
            ).fetchall()
        return [LoggedTrial(program, Trace.from_json(text), time) for program, text, time in rows]
