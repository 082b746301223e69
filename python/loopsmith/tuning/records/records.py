# SPDX-License-Identifier: Apache-2.0
"""Records: the schedules that won, by program, target and version, in a file of SQLite.

Several processes may write to one file; what was written stays when a process is killed.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import _core
from ..._core import PrimFunc, Schedule, SizeTree, Trace, named_main, program_key
from ...compiled_program import scheduled_program
from ...errors import FormatError, UserError
from ...ir import from_json, structural_equal, to_json
from ..sizes.sized import function_of
from .database import Database
from .postgres import SCHEMES, PostgresDatabase

if TYPE_CHECKING:
    from ..results.result import Tuned
    from ..sizes.sized import TunedSizes


@dataclass(frozen=True)
class Record:
    """A schedule that was quicker than the default one.

    Attributes
    ----------
    key
        The structural hash of the program.
    name
        What the function was called.
    program
        The program without a schedule, as JSON.
    target
        What it was compiled for, and with which options.
    version
        The version of the compiler.
    trace
        The steps and decisions, as JSON; for ranges of sizes, those of each variant, and the tree
        that decides between them.
    seconds, default_seconds
        Of a call: with this schedule, with the default one measured beside it.
    check
        What the results were compared with.
    machine
        Where it was measured.
    """

    key: str
    name: str
    program: str
    target: str
    version: str
    trace: str
    seconds: float
    default_seconds: float
    check: str
    machine: str

    def is_of(self, func: PrimFunc) -> bool:
        """Whether the record is of this program; its key may be that of two."""
        return bool(structural_equal(from_json(self.program), named_main(func)))

    def scheduled(self, func: PrimFunc, target: str, numerics: str = "free") -> PrimFunc:
        """Return a function as the record has it scheduled, for a target and a lock of numerics.

        Raises
        ------
        UserError
            The steps are refused by this version of the compiler.
        """
        data = json.loads(self.trace)
        schedules = self.replayed(func)
        if "variants" not in data:
            made = scheduled_program(schedules[0], keeps_trace=True)
            assert isinstance(made, PrimFunc)
            return made
        tree = SizeTree.from_json(json.dumps(data["tree"]))
        return function_of(func, schedules, tree, target, numerics)

    def schedule(self, func: PrimFunc) -> Schedule:
        """Return the schedule, its steps taken on a function, under the name that it had.

        Raises
        ------
        UserError
            The steps are refused by this version of the compiler, or there are several variants.
        """
        if "variants" in json.loads(self.trace):
            _core.fail(
                "UserError",
                "record_has_one_schedule",
                f"the record of {func.name} has several schedules, for ranges of sizes",
                hint="use Record.scheduled, or ls.build(func, records=...)",
            )
        return self.replayed(func)[0]

    def replayed(self, func: PrimFunc) -> list[Schedule]:
        """Return the schedule, or those of all variants, their steps taken on a function.

        Raises
        ------
        FormatError
            The steps are refused by this version of the compiler.
        """
        data = json.loads(self.trace)
        if "variants" in data:
            return [self._replayed(func, json.dumps(trace)) for trace in data["variants"]]
        return [self._replayed(func.with_attr("global_symbol", self.name), self.trace)]

    def _replayed(self, func: PrimFunc, trace: str) -> Schedule:
        sch = Schedule(func, seed=1)
        try:
            Trace.from_json(trace).apply_to_schedule(sch)
        except UserError as error:
            _core.fail(
                "FormatError",
                "record_applies",
                f"the record of {func.name} by version {self.version} does not apply any "
                f"more: {error}",
                hint="tune it again, or delete the record",
            )
        return sch


COLUMNS = ", ".join(f'"{each.name}"' for each in fields(Record))


class Records:
    """A file of records, or a database of them for a team.

    Parameters
    ----------
    path
        The file, which is made where there is none; or the URL of a database of PostgreSQL,
        ``postgresql://user@host/name``.

    Raises
    ------
    FormatError
        The file is no file of records, or of another format.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.database: Database | PostgresDatabase
        if str(path).startswith(SCHEMES):
            self.database = PostgresDatabase(str(path), _core.record_format, _core.record_tables())
        else:
            self.database = Database(path, _core.record_format, _core.record_tables())

    def add(self, record: Record) -> None:
        """Write a record. When this returns, it is on the disk."""
        values = asdict(record)
        marks = ", ".join("?" for _ in values)
        with self.database.open() as database:
            database.execute(
                f"INSERT INTO records ({COLUMNS}) VALUES ({marks})",
                list(values.values()),
            )

    def all(self) -> list[Record]:
        """Return all records, the oldest first."""
        return self._select("ORDER BY id")

    def best(self, func: PrimFunc, target: str) -> Record | None:
        """Return the quickest record of a program; None when there is none.

        Where all are by other versions of the compiler, it is the quickest whose steps this version
        proves, and a warning tells so: its times may hold no more.

        Raises
        ------
        FormatError
            There are records of other versions alone, and this one refuses steps of each.
        """
        found = self._select(
            "WHERE key = ? AND target = ? ORDER BY version = ? DESC, seconds",
            program_key(func), target, _core.version,
        )  # fmt: skip
        found = [record for record in found if record.is_of(func)]
        if not found or found[0].version == _core.version:
            return found[0] if found else None
        refused: list[FormatError] = []
        for record in found:
            try:
                record.replayed(func)
            except FormatError as error:
                refused.append(error)
                continue
            text = _core.version_warning(record.name, record.version)
            warnings.warn(text, RuntimeWarning, stacklevel=2)
            return record
        raise refused[0]

    def export_lines(self, path: str | os.PathLike[str]) -> None:
        """Write all records into a file, a line of JSON each."""
        lines = [json.dumps(asdict(record)) + "\n" for record in self.all()]
        Path(path).write_text("".join(lines), encoding="utf-8")

    def import_lines(self, path: str | os.PathLike[str]) -> int:
        """Add the records of a file that `export_lines` wrote; return how many.

        Raises
        ------
        FormatError
            A line is no record; then none is added.
        """
        made = []
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            try:
                made.append(Record(**json.loads(line)))
            except (ValueError, TypeError) as error:
                _core.fail(
                    "FormatError",
                    "line_is_a_record",
                    f"{path}, line {number}: no record: {error}",
                    hint="each line is what Records.export_lines writes",
                )
        for record in made:
            self.add(record)
        return len(made)

    def __len__(self) -> int:
        with self.database.open() as database:
            return int(database.execute("SELECT count(*) FROM records").fetchone()[0])

    def _select(self, condition: str, *values: Any) -> list[Record]:
        with self.database.open() as database:
            rows = database.execute(f"SELECT {COLUMNS} FROM records {condition}", values).fetchall()
        return [Record(*row) for row in rows]


def is_written(write: Callable[[], None]) -> bool:
    """Whether a search could write; if not, it warns: its result is worth more than its record."""
    try:
        write()
    except FormatError as error:
        warnings.warn(f"tune: goes on without a record: {error}", RuntimeWarning, stacklevel=2)
        return False
    return True


def record_of(best: Tuned, target: str) -> Record:
    """Return the record of a schedule that was quicker than the default one, measured here."""
    return Record(
        key=program_key(best.func),
        name=best.func.name,
        program=to_json(named_main(best.func)),
        target=target,
        version=_core.version,
        trace=json.dumps(best.trace.as_json()),
        seconds=best.seconds,
        default_seconds=best.default_seconds,
        check=best.check,
        machine=_core.machine_name(),
    )


def record_of_sizes(best: TunedSizes, target: str) -> Record:
    """Return the record of schedules for ranges of sizes, and of the tree between them."""
    variants = [sch.trace.as_json() for sch in best.schedules]
    total = sum(row.weight for row in best.rows)
    return Record(
        key=program_key(best.func),
        name=best.func.name,
        program=to_json(named_main(best.func)),
        target=target,
        version=_core.version,
        trace=json.dumps({"variants": variants, "tree": json.loads(best.tree.as_json())}),
        seconds=sum(row.weight * row.seconds for row in best.rows) / total,
        default_seconds=sum(row.weight * row.default_seconds for row in best.rows) / total,
        check=best.check,
        machine=_core.machine_name(),
    )
