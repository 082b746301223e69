# SPDX-License-Identifier: Apache-2.0
"""What a search has measured, kept so that another one goes on where it ended."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from ..._core import LoggedTrial
from .records import Records


class TrialLog:
    """The trials of a search, or of those for each of some sizes.

    Parameters
    ----------
    records
        The file that has them.
    searches
        Of each search, what is the same for searches that continue each other.
    """

    def __init__(self, records: Records, searches: Sequence[str]) -> None:
        self._records = records
        self._searches = list(searches)

    def add(self, trials: Sequence[LoggedTrial]) -> None:
        """Write the trials of one candidate, of each search or of the first ones: all or none.

        When this returns, they are on the disk.
        """
        rows = [
            (search, trial.program, trial.trace, trial.seconds)
            for search, trial in zip(self._searches, trials)
        ]
        marks = ", ".join("(?, ?, ?, ?)" for _ in rows)
        with self._records.database.open() as database:
            database.execute(  # One statement, so that it is one transaction.
                f"INSERT INTO trials (search, program, trace, seconds) VALUES {marks}",
                tuple(chain.from_iterable(rows)),
            )

    def all(self) -> list[list[LoggedTrial]]:
        """Return the trials of each search, the oldest first."""
        with self._records.database.open() as database:
            found = [
                database.execute(
                    "SELECT program, trace, seconds FROM trials WHERE search = ? ORDER BY id",
                    (search,),
                ).fetchall()
                for search in self._searches
            ]
        return [[LoggedTrial(*row) for row in rows] for rows in found]
