# SPDX-License-Identifier: Apache-2.0
"""What a search has measured, kept so that another one goes on where it ended."""

from __future__ import annotations

from ..._core import LoggedTrial
from .records import Records


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
        row = (self._search, trial.program, trial.trace, trial.seconds)
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
        return [LoggedTrial(*row) for row in rows]
