# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import loopsmith as ls

pytest.importorskip("typer")

PROGRAM = """
from loopsmith import te

n = te.size_var("n")
x = te.placeholder((n,), "float32", name="X")
twice = te.create_prim_func([x, te.compute((n,), lambda i: x[i] * 2.0, name="Y")])
thrice = te.create_prim_func([x, te.compute((n,), lambda i: x[i] * 3.0, name="Y")])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def loopsmith(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loopsmith.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_lower_prints_the_lowered_function(program: Path, tmp_path: Path) -> None:
    done = loopsmith("lower", f"{program}:thrice", "--dump-pass", "simplify")
    assert done.returncode == 0, done.stderr
    assert "X[i] * T.float32(3)" in done.stdout
    assert "# simplify, " in done.stderr
    out = tmp_path / "lowered.json"
    assert loopsmith("lower", f"{program}:twice", "-o", out).returncode == 0
    again = loopsmith("lower", out)
    assert "X[i] * T.float32(2)" in again.stdout, again.stderr


def test_a_script_is_read_as_it_is_printed(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "twice.txt"
    assert loopsmith("lower", f"{program}:twice", "-o", script).returncode == 0
    again = loopsmith("lower", script)
    assert "X[i] * T.float32(2)" in again.stdout, again.stderr
    script.write_text("@T.prim_func\ndef f(:\n")
    assert f"at {script}:2" in loopsmith("lower", script).stderr


def test_build_writes_a_file_and_its_header(program: Path, tmp_path: Path) -> None:
    out, header = tmp_path / "twice.o", tmp_path / "twice.h"
    done = loopsmith("build", f"{program}:twice", "-o", out, "--header", header)
    assert done.returncode == 0, done.stderr
    assert ls.load_module(out).names == ["twice"]
    assert "int32_t twice(ls_context* context, DLTensor* arg0_X" in header.read_text()


def test_run_calls_the_function(program: Path) -> None:
    done = loopsmith("run", f"{program}:twice", "--size", "n=100")
    assert done.returncode == 0, done.stderr
    assert "(100,)" in done.stdout


def test_inspect_shows_every_form(program: Path) -> None:
    done = loopsmith("inspect", f"{program}:twice")
    for part in ["program", "lowered", "llvm", "assembly"]:
        assert f"==== {part} ====" in done.stdout, done.stderr


def test_doctor_says_what_works() -> None:
    done = loopsmith("doctor")
    assert done.returncode == 0, done.stderr
    assert ls.__version__ in done.stdout
    assert "llvm" in done.stdout
    assert ("compiled by" in done.stdout) == bool(shutil.which("cc"))
    assert "no code is generated for cuda yet" in " ".join(done.stdout.split())


def test_mistakes_are_told_in_words(program: Path, tmp_path: Path) -> None:
    done = loopsmith("lower", program)
    assert done.returncode == 2
    assert "several functions" in done.stderr
    assert "makes no 'x'" in loopsmith("lower", f"{program}:x").stderr
    done = loopsmith("lower", f"{program}:twice", "--target", "abacus")
    assert done.returncode == 1
    assert done.stderr.startswith("loopsmith: target: 'abacus' is not a kind of target")
    assert "cannot be read" in loopsmith("lower", tmp_path / "nothing.txt").stderr
