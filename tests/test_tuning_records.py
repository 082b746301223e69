# SPDX-License-Identifier: Apache-2.0
"""Records of searches: several processes write, and nothing is lost."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from loopsmith.tuning.records.machine import target_key
from loopsmith.tuning.records.records import record_of
from test_tuning import Clock, matmul, shorter_is_quicker

import loopsmith as ls
from loopsmith import te, tir, tuning


def twice() -> Any:
    a = te.placeholder((64,), name="A")
    return te.create_prim_func([a, te.compute((64,), lambda i: a[i] * 2.0, name="B")])


def split(func: Any) -> tir.Schedule:
    sch = tir.Schedule(func)
    sch.split(sch.get_loops("B")[0], [None, 8])
    return sch


def won(func: Any, seconds: float) -> tuning.Tuned:
    duel = tuning.Outcome([seconds], [1.0])
    return tuning.Tuned(func, split(func), seconds, 1.0, [], {}, duel, "compared")


def made(seconds: float = 0.5) -> tuning.Record:
    return record_of(won(twice(), seconds), target_key("llvm"))


def test_the_quickest_record_of_a_program_is_found(tmp_path: Path):
    records = tuning.Records(tmp_path / "records.db")
    for seconds in (0.5, 0.25, 0.75):
        records.add(made(seconds))
    found = records.best(twice(), target_key("llvm"))
    assert found is not None and found.seconds == 0.25
    assert records.best(twice(), "c") is None
    again = found.schedule(twice())
    ls.assert_structural_equal(again.func, split(twice()).func)


def test_lines_of_json_go_out_and_in(tmp_path: Path):
    first, second = (tuning.Records(tmp_path / name) for name in ("a.db", "b.db"))
    first.add(made())
    first.add(made(0.25))
    first.export_lines(tmp_path / "lines.json")
    assert second.import_lines(tmp_path / "lines.json") == 2
    assert second.all() == first.all()


def test_a_line_that_is_no_record_adds_nothing(tmp_path: Path):
    records = tuning.Records(tmp_path / "a.db")
    records.add(made())
    records.export_lines(tmp_path / "lines.json")
    with (tmp_path / "lines.json").open("a") as lines:
        lines.write('{"key": 1}\n')
    with pytest.raises(ls.FormatError, match=r"lines\.json, line 2: no record"):
        records.import_lines(tmp_path / "lines.json")
    assert len(records) == 1


def test_a_record_that_does_not_apply_says_so():
    foreign = replace(made(), trace=made().trace.replace('"Split"', '"Cleave"'), version="9.9")
    assert foreign.trace != made().trace
    with pytest.raises(ls.FormatError, match=r"by version 9\.9 does not apply any more"):
        foreign.schedule(twice())


def test_records_of_another_version_come_last_are_proved_again_and_said(tmp_path: Path):
    records, key = tuning.Records(tmp_path / "records.db"), target_key("llvm")
    cleaved = made().trace.replace('"Split"', '"Cleave"')
    records.add(replace(made(0.125), trace=cleaved, version="0.0.9"))
    with pytest.raises(ls.FormatError, match=r"by version 0\.0\.9 does not apply any more"):
        ls.build(twice(), "llvm", records=records)
    records.add(replace(made(0.25), version="0.0.9"))
    with pytest.warns(RuntimeWarning, match=r"by version 0\.0\.9, and this is .* proved again"):
        found = records.best(twice(), key)
    assert found is not None and found.seconds == 0.25
    seen: list[Any] = []
    with pytest.warns(RuntimeWarning, match="times were not measured again; tune it again"):
        ls.build(twice(), "llvm", records=records, dump=seen.append)
    assert "T.grid(8, 8)" in seen[0].before.script()
    records.add(made(0.5))  # Slower, but of this version: nothing is to be said.
    found = records.best(twice(), key)
    assert found is not None and found.seconds == 0.5


def test_other_files_are_refused(tmp_path: Path):
    (tmp_path / "text.db").write_text("no database, but a text that is long enough" * 40)
    with pytest.raises(ls.FormatError, match=r"records .*text.db: file is not a database"):
        tuning.Records(tmp_path / "text.db")
    database = sqlite3.connect(tmp_path / "newer.db")
    database.execute("CREATE TABLE records (x)")
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(ls.FormatError, match="its format is 99, expected 1"):
        tuning.Records(tmp_path / "newer.db")
    with pytest.raises(ls.FormatError, match="unable to open"):
        tuning.Records(tmp_path / "no" / "folder.db")


WRITER = """
import sys
from loopsmith import tuning
from loopsmith.tuning.records.records import Record
records = tuning.Records(sys.argv[1])
for number in range(int(sys.argv[2])):
    records.add(Record("k", "f", "p", "t", "v", sys.argv[3], float(number), 1.0, "c", "m"))
    print(number, flush=True)
"""


def writer(path: Path, count: int, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), str(count), name]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_was_written_outlives_its_process(tmp_path: Path):
    """Three processes write concurrently; one is killed in the middle."""
    path = tmp_path / "records.db"
    others = [writer(path, 40, name) for name in ("first", "second")]
    killed = writer(path, 100_000, "killed")
    assert killed.stdout is not None
    said = [killed.stdout.readline() for _ in range(10)]
    time.sleep(0.05)
    killed.send_signal(signal.SIGKILL)
    said += killed.stdout.read().splitlines(keepends=True)
    for process in others:
        assert process.wait() == 0
        assert process.stdout is not None
        process.stdout.close()
    killed.wait()
    killed.stdout.close()
    found = tuning.Records(path).all()
    counts = {name: sum(each.trace == name for each in found) for name in ("first", "second")}
    assert counts == {"first": 40, "second": 40}
    confirmed = {float(line) for line in said if line.endswith("\n")}
    assert confirmed <= {each.seconds for each in found if each.trace == "killed"}


def test_a_full_disk_is_told_and_loses_nothing(tmp_path: Path):
    """The writer's files may not grow beyond what a few records take."""
    path = tmp_path / "records.db"
    program = (
        "import resource, signal\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n" + WRITER
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path), "1000", "x" * 1000],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert "FormatError" in done.stderr and "on a disk with space" in done.stderr
    written = {int(line) for line in done.stdout.splitlines()}
    assert 20 < len(written) < 1000
    assert written <= {int(each.seconds) for each in tuning.Records(path).all()}


def test_a_search_that_cannot_write_goes_on_and_warns(tmp_path: Path):
    store = tuning.Records(tmp_path / "records.db")

    class Breaking(Clock):
        def run(self, request: Any) -> Any:
            if len(self.scripts) == 3:
                store.database.path.write_bytes(b"no database any more" * 100)
            return super().run(request)

    with pytest.warns(RuntimeWarning, match="goes on without a record: .*not a database"):
        best = ls.tune(matmul(), trials=8, records=store, runner=Breaking(shorter_is_quicker))
    assert len(best.trials) == 8 and best.is_quicker


def test_records_on_the_command_line(tmp_path: Path):
    pytest.importorskip("typer")
    program = tmp_path / "program.py"
    program.write_text(
        "from loopsmith import te\n"
        "a = te.placeholder((64, 64), name='A')\n"
        "twice = te.create_prim_func("
        "[a, te.compute((64, 64), lambda i, j: a[i, j] * 2.0, name='B')])\n"
    )
    store = tmp_path / "records.db"

    def loopsmith(*arguments: object) -> str:
        command = [sys.executable, "-m", "loopsmith", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    report, charts, steps = (tmp_path / f"report{suffix}" for suffix in (".html", ".svg", ".py"))
    searched = ("tune", program, "--trials", 3, "--records", store)
    said = loopsmith(*searched, "-o", report, "-o", charts, "-o", steps)
    assert said.startswith("twice: ") and "3 candidates" in said
    assert "<h2>The schedule</h2>" in report.read_text()
    assert "<svg" in charts.read_text() and "sch." in steps.read_text()
    func = ls.from_json(ls.to_json(_load(program)))
    tuning.Records(store).add(record_of(won(func, 1e-9), target_key("llvm -mcpu=native")))
    listed = loopsmith("records", store, "--export", tmp_path / "lines.json")
    assert "twice" in listed and "1 ns" in listed
    assert loopsmith("records", tmp_path / "b.db", "--add", tmp_path / "lines.json") == listed
    replayed = loopsmith("replay", store, program, "--repeat", 3)
    assert "sch.split" in replayed and "times as quick" in replayed
    locked = ("--numerics", "strict")
    loopsmith("tune", program, "--trials", 2, "--records", tmp_path / "c.db", *locked)
    strict = target_key("llvm -mcpu=native", "strict")
    assert all(each.target == strict for each in tuning.Records(tmp_path / "c.db").all())
    tuning.Records(store).add(record_of(won(func, 1e-9), strict))
    assert "times as quick" in loopsmith("replay", store, program, "--repeat", 3, *locked)


def _load(program: Path) -> Any:
    from loopsmith.programs import load_program

    return load_program(str(program))
