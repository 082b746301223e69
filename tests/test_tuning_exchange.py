# SPDX-License-Identifier: Apache-2.0
"""Records beyond one file: databases of a team, and those of another tuner."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from loopsmith._core import program_key, version
from loopsmith.tuning.records.exchange import export_database, import_database
from loopsmith.tuning.records.machine import target_key
from loopsmith.tuning.records.postgres import PostgresDatabase, shown
from loopsmith.tuning.records.records import Record

import loopsmith as ls
from loopsmith import te, tir, tuning

TARGET = target_key("llvm -mcpu=native")


def doubled(n: int = 32) -> Any:
    a = te.placeholder((n,), name="A")
    return te.create_prim_func([a, te.compute((n,), lambda i: a[i] * 2.0, name="B")])


def record(seconds: float = 0.5) -> Record:
    sch = tir.Schedule(doubled())
    (loop,) = sch.get_loops("B")
    sch.split(loop, sch.sample_perfect_tile(loop, n=2, decision=[4, 8]))
    trace = json.dumps(sch.trace.as_json())
    program = ls.to_json(doubled())
    return Record(
        program_key(doubled()),
        "main",
        program,
        TARGET,
        version,
        trace,
        seconds,
        1.0,
        "checked",
        "here",
    )


def test_records_of_another_tuner_come_in_and_go_out(tmp_path: Path):
    store = tuning.Records(tmp_path / "a.db")
    store.add(record(0.25))
    assert export_database(store, tmp_path / "out") == 1
    index, (trace, seconds, _, arguments) = json.loads(
        (tmp_path / "out" / "database_tuning_record.json").read_text()
    )
    assert index == 0 and seconds == [0.25] and trace[1] == [[2, [4, 8]]]
    assert arguments == [["TENSOR", "float32", [32]]] * 2
    other = tuning.Records(tmp_path / "b.db")
    assert import_database(other, tmp_path / "out", [doubled()], TARGET) == []
    found = other.best(doubled(), TARGET)
    assert found is not None and found.seconds == 0.25
    assert "split" in str(found.schedule(doubled()).trace)


def test_records_that_fit_no_program_are_named(tmp_path: Path):
    store = tuning.Records(tmp_path / "a.db")
    store.add(record())
    export_database(store, tmp_path)
    other = tuning.Records(tmp_path / "b.db")
    (said,) = import_database(other, tmp_path, [doubled(48)], TARGET)
    assert said == (
        'line 1: no program has the arguments [["TENSOR", "float32", [32]], '
        '["TENSOR", "float32", [32]]]'
    )
    (tmp_path / "database_tuning_record.json").write_text("[1, 2]\n")
    with pytest.raises(ls.FormatError, match="line 1: no record"):
        import_database(other, tmp_path, [doubled()], TARGET)
    assert len(other) == 0


class FakeDriver:
    """A driver that keeps what it is told."""

    Error = type("Error", (Exception,), {})

    def __init__(self) -> None:
        self.said: list[tuple[str, tuple[Any, ...]]] = []

    def connect(self, url: str, autocommit: bool) -> Any:
        assert url == "postgresql://me:secret@host/records" and autocommit
        return self

    def execute(self, statement: str, values: tuple[Any, ...]) -> Any:
        assert "?" not in statement and "PRIMARY KEY" not in statement.replace("BIGSERIAL PRIM", "")
        self.said.append((statement, values))
        return SimpleNamespace(fetchall=list)

    def transaction(self) -> Any:
        return self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def test_a_database_is_spoken_to_in_its_language(monkeypatch: pytest.MonkeyPatch):
    driver = FakeDriver()
    monkeypatch.setitem(sys.modules, "psycopg", driver)
    store = tuning.Records("postgresql://me:secret@host/records")
    assert isinstance(store.database, PostgresDatabase)
    store.add(record())
    statement, values = driver.said[-1]
    assert (
        statement.startswith("INSERT INTO records") and statement.count("%s") == len(values) == 10
    )
    assert any("DOUBLE PRECISION" in said for said, _ in driver.said)
    assert shown("postgresql://me:secret@host/records") == "postgresql://me@host/records"


def test_a_database_without_its_driver_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ls.UserError, match=r"psycopg is not installed\n.*psycopg\[binary\]"):
        tuning.Records("postgresql://host/records")


@pytest.fixture
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a server of PostgreSQL that listens on a socket in a folder of its own."""
    pytest.importorskip("psycopg")
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        pytest.skip("PostgreSQL is not installed")
    folder = tmp_path_factory.mktemp("postgres")
    user = "postgres" if os.geteuid() == 0 else None
    if user:
        for each in (folder, *list(folder.parents)[:2]):
            each.chmod(0o755)
        shutil.chown(folder, user)
    binaries = programs[-1].parent

    def run(*command: str) -> None:
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    data = str(folder / "data")
    run(str(binaries / "initdb"), "-D", data, "-U", "tester", "-A", "trust")
    options = f"-k {folder} -c listen_addresses=''"
    run(str(binaries / "pg_ctl"), "-D", data, "-w", "-l", f"{data}/log", "-o", options, "start")
    try:
        yield f"postgresql://tester@/postgres?host={folder}"
    finally:
        run(str(binaries / "pg_ctl"), "-D", data, "-m", "immediate", "stop")


WRITER = """
import sys
sys.path.insert(0, "tests")
from test_tuning_exchange import record
from loopsmith import tuning
store = tuning.Records(sys.argv[1])
for number in range(20):
    store.add(record(1.0 + number))
"""


def test_a_server_keeps_what_several_processes_write(server: str):
    processes = [subprocess.Popen([sys.executable, "-c", WRITER, server]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    store = tuning.Records(server)
    assert len(store) == 40
    best = store.best(doubled(), TARGET)
    assert best is not None and best.seconds == 1.0
    tuned = ls.tune(doubled(), trials=2, records=server)
    assert len(tuned.trials) == 2 and len(store.all()) in (40, 41)
