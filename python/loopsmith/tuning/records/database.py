# SPDX-License-Identifier: Apache-2.0
"""A file of SQLite that several processes write, and that outlives each of them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from ... import _core


class Database:
    """A file with some tables.

    Parameters
    ----------
    path
        The file; it is made where there is none.
    version
        Of its format.
    tables
        The statements that make the tables.

    Raises
    ------
    FormatError
        The file is no such database, or of another format.
    """

    def __init__(self, path: str | os.PathLike[str], version: int, tables: Sequence[str]) -> None:
        self.path = Path(path)
        with self.open() as database:
            # In this order: between the two, another process may make the tables.
            count = database.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            found = database.execute("PRAGMA user_version").fetchone()[0]
            if found == 0 and count == 0:
                database.execute("BEGIN IMMEDIATE")
                for statement in tables:
                    database.execute(statement)
                database.execute(f"PRAGMA user_version = {version}")
                database.execute("COMMIT")
            elif found != version:
                self._fail(f"its format is {found}, expected {version}")

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Open the file. Each statement is a transaction, which waits while the file is locked."""
        try:
            database = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            try:
                yield database
            finally:
                database.close()
        except sqlite3.Error as error:
            self._fail(str(error))

    def _fail(self, what: str) -> NoReturn:
        fail_of_database(str(self.path), what)


def fail_of_database(name: str, what: str) -> NoReturn:
    """Tell that records cannot be used, and why."""
    _core.fail(
        "FormatError",
        "records_can_be_used",
        f"records {name}: {what}",
        hint="name a file of records, or one that is not there yet, on a disk with space",
    )
