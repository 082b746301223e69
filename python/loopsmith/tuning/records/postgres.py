# SPDX-License-Identifier: Apache-2.0
"""Records of a team, in a database of PostgreSQL."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ... import _core
from .database import fail_of_database

SCHEMES = ("postgresql://", "postgres://")
LOCK = 0x6C6F6F70
"""Of the advisory lock under which tables are made: one of the first processes makes them."""


class PostgresDatabase:
    """Tables of a database that a URL names, as `Database` has them in a file.

    Parameters
    ----------
    url
        ``postgresql://user:password@host/name``.
    version
        Of the format of the tables.
    tables
        The statements that make the tables, as SQLite takes them.

    Raises
    ------
    FormatError
        The database cannot be reached, or has tables of another format.
    UserError
        psycopg is not installed.
    """

    def __init__(self, url: str, version: int, tables: Sequence[str]) -> None:
        self.path = url
        try:
            self._driver: Any = importlib.import_module("psycopg")
        except ImportError:
            _core.fail(
                "UserError",
                "psycopg_is_installed",
                "records in PostgreSQL: psycopg is not installed",
                hint='install "psycopg[binary]", or name a file',
            )
        with self.open() as database:
            # A transaction, at whose end the lock is given back.
            with database.transaction():
                database.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,))
                database.execute("CREATE TABLE IF NOT EXISTS loopsmith_format (version INTEGER)")
                rows = database.execute("SELECT version FROM loopsmith_format").fetchall()
                if not rows:
                    for statement in tables:
                        database.execute(translated(statement))
                    database.execute("INSERT INTO loopsmith_format VALUES (?)", (version,))
            if rows and rows[0][0] != version:
                fail_of_database(shown(url), f"its format is {rows[0][0]}, expected {version}")

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Connect. Each statement is a transaction."""
        try:
            with self._driver.connect(self.path, autocommit=True) as connection:
                yield _Connection(connection)
        except self._driver.Error as error:
            fail_of_database(shown(self.path), str(error).strip())


class _Connection:
    """A connection that takes statements as SQLite does."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """Carry out a statement; return the cursor."""
        return self._connection.execute(translated(statement), tuple(values))

    def transaction(self) -> Any:
        """Return a context in which all statements hold, or none."""
        return self._connection.transaction()


def translated(statement: str) -> str:
    """Return a statement of SQLite as PostgreSQL takes it."""
    return statement.replace("id INTEGER PRIMARY KEY", "id BIGSERIAL PRIMARY KEY").replace(
        "?", "%s"
    )


def shown(url: str) -> str:
    """Return a URL without the password that it may have."""
    scheme, _, rest = url.partition("://")
    login, at, place = rest.rpartition("@")
    return f"{scheme}://{login.partition(':')[0]}{at}{place}"
