# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

import loopsmith as ls

pytest.importorskip("typer")

PROGRAM = """
from loopsmith import te

n = te.size_var("n")
x = te.placeholder((n,), "float32", name="X")
twice = te.create_prim_func([x, te.compute((n,), lambda i: x[i] * 2.0, name="Y")])
thrice = te.create_prim_func([x, te.compute((n,), lambda i: x[i] * 3.0, name="Y")])
"""
SCRIPTS = """
@T.prim_func
def twice(X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("Y"):
            v = T.axis.spatial(64, i)
            Y[v] = X[v] * T.float32(2)

@T.prim_func
def thrice(X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("Y"):
            v = T.axis.spatial(64, i)
            Y[v] = X[v] * T.float32(3)
"""
SCHEDULED = """
from loopsmith import tir
from loopsmith.script import ir as I, tir as T

FACTOR = 2

@T.prim_func
def scale(X: T.Buffer((64,), "float32"), Y: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("Y"):
            v = T.axis.spatial(64, i)
            Y[v] = X[v] * T.float32(FACTOR)

@I.ir_module
class both:
    @T.prim_func
    def first(x: T.int32) -> T.int32:
        return x + 1

    @T.prim_func
    def second(x: T.int32) -> T.int32:
        return x + 2

sch = tir.Schedule(scale)
sch.split(sch.get_loops(sch.get_block("Y"))[0], factors=[None, 16])
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def loopsmith(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "loopsmith", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def lowered(program: object) -> str:
    done = loopsmith("lower", program)
    assert done.returncode == 0, done.stderr
    return done.stdout


def problem(*arguments: object) -> str:
    """Return what a command that fails says."""
    done = loopsmith(*arguments)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def test_lower_prints_the_lowered_function(program: Path, tmp_path: Path) -> None:
    done = loopsmith("lower", f"{program}:thrice", "--dump-pass", "simplify")
    assert done.returncode == 0, done.stderr
    assert "X[i] * T.float32(3)" in done.stdout
    assert "# simplify, " in done.stderr
    out = tmp_path / "lowered.json"
    assert loopsmith("lower", f"{program}:twice", "-o", out).returncode == 0
    assert "X[i] * T.float32(2)" in lowered(out)


def test_all_passes_are_dumped(program: Path) -> None:
    done = loopsmith("lower", f"{program}:twice", "--dump-pass", "all")
    assert "# simplify, " in done.stderr
    assert "# flatten_buffers, " in done.stderr


def test_a_script_is_read_as_it_is_printed(program: Path, tmp_path: Path) -> None:
    script = tmp_path / "twice.txt"
    assert loopsmith("lower", f"{program}:twice", "-o", script).returncode == 0
    assert "X[i] * T.float32(2)" in lowered(script)
    script.write_text("@T.prim_func\ndef f(:\n")
    assert f"at {script}:2" in problem("lower", script)


@pytest.mark.parametrize("suffix", ["txt", "py"])
def test_a_script_of_several_functions_gives_each(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"scripts.{suffix}"
    path.write_text(SCRIPTS)
    assert "T.float32(2)" in lowered(f"{path}:twice")
    assert "T.float32(3)" in lowered(f"{path}:thrice")
    assert "makes several programs: twice, thrice" in problem("lower", path)


def test_python_gives_its_functions_modules_and_schedules(tmp_path: Path) -> None:
    path = tmp_path / "scheduled.py"
    path.write_text(SCHEDULED)
    assert "for i in range(64)" in lowered(f"{path}:scale")
    assert "T.grid(4, 16)" in lowered(f"{path}:sch")
    assert "def second" in lowered(f"{path}:both")
    assert "def first" not in lowered(f"{path}:second")
    done = loopsmith("run", f"{path}:sch")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split() == ["X", "float32", "(64,)"]
    text = "the module has several functions: first, second\n  hint: add :NAME to the file"
    assert text in problem("run", f"{path}:both")


def test_a_mistake_in_python_is_shown_from_the_users_file_on(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("def f():\n    return 1 // 0\n\nf()\n")
    done = loopsmith("lower", path)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[1].strip() == f'File "{path}", line 4, in <module>'
    assert lines[-1].startswith("ZeroDivisionError")


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
    done = loopsmith("run", f"{program}:twice", "--size", "n=many")
    assert done.returncode == 2
    assert "'n=many' is no size: write n=1000" in done.stderr


def test_inspect_shows_every_form(program: Path) -> None:
    done = loopsmith("inspect", f"{program}:twice")
    for part in ["source", "ir", "llvm", "assembly"]:
        assert f"==== {part} ====" in done.stdout, done.stderr
    assert "program.py:4  n = te.size_var" in done.stdout
    assert "| 6  twice = te.create_prim_func" in done.stdout
    done = loopsmith("inspect", f"{program}:twice", "--target", "c")
    assert "==== c ====" in done.stdout, done.stderr


def test_inspect_writes_files(program: Path, tmp_path: Path) -> None:
    page, text = tmp_path / "page.html", tmp_path / "page.txt"
    assert loopsmith("inspect", f"{program}:twice", "-o", page).returncode == 0
    assert page.read_text().startswith("<!doctype html>")
    assert loopsmith("inspect", f"{program}:twice", "-o", text).returncode == 0
    assert text.read_text().startswith("==== source ====")


def test_doctor_says_what_works() -> None:
    done = loopsmith("doctor")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    rows = {line.split()[0]: line for line in reversed(lines)}
    assert ls.__version__ in rows["loopsmith"]
    assert rows["llvm"].split()[1] == "yes"
    assert any(re.match(r"llvm library +\d+\.\d+\.\d+$", line) for line in lines)
    assert ("compiled by" in rows["c"]) == bool(shutil.which("cc"))
    for target, missing in (("cuda", "cannot be opened"), ("opencl", "there is no device")):
        is_there = rows[target].split()[1] == "yes"
        assert is_there or missing in rows[target] or "cannot be opened" in rows[target]


def test_a_shell_completes_commands() -> None:
    words = {
        "_LOOPSMITH_COMPLETE": "complete_bash",
        "COMP_WORDS": "loopsmith re",
        "COMP_CWORD": "1",
    }
    command = [Path(sys.executable).parent / "loopsmith"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **words})
    assert done.stdout.split() == ["report", "records", "replay"]


def test_a_command_without_its_packages_says_what_to_install() -> None:
    program = "import sys\nsys.modules['typer'] = None\nimport loopsmith.cli"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "loopsmith: typer is missing: pip install 'loopsmith-compiler[cli]'\n"


def test_no_text_tells_to_install_a_package_of_others_with_our_name() -> None:
    told = r"pip install [\"']?loopsmith(?!-compiler)"
    files = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    names = [name for name in files.stdout.split() if not name.startswith("tests/")]
    wrong = [
        name
        for name in names
        if (ROOT / name).suffix in {".cc", ".h", ".md", ".py", ".toml", ".yml"}
        and re.search(told, (ROOT / name).read_text())
    ]
    assert names
    assert wrong == []


def test_mistakes_are_told_in_words(program: Path, tmp_path: Path) -> None:
    text = problem("lower", program)
    assert f"loopsmith: {program} makes several programs: twice, thrice\n" in text
    assert f"hint: say which: {program}:twice" in text
    text = problem("lower", f"{program}:thrise")
    assert f"{program} makes no 'thrise', only twice, thrice\n" in text
    assert f"hint: did you mean {program}:thrice?" in text
    text = problem("lower", f"{program}:twice", "--target", "abacus")
    assert text.startswith("loopsmith: target: 'abacus' is not a kind of target")
    text = problem("lower", f"{program}:twice", "--dump-pass", "simplfy")
    assert "dump: there is no pass 'simplfy'\n  hint: the passes are " in text
    broken = tmp_path / "broken.py"
    broken.write_text("x = 1\ny = (\n")
    assert problem("lower", broken).startswith(f'  File "{broken}", line 2\n    y = (\n')
    nothing = tmp_path / "nothing.txt"
    assert f"{nothing} cannot be read: No such file or directory" in problem("lower", nothing)
    out = tmp_path / "missing" / "out.json"
    assert f"{out}: No such file" in problem("lower", f"{program}:twice", "-o", out)
    (tmp_path / "empty.py").write_text("x = 1\n")
    text = "empty.py makes no function, no module and no schedule\n  hint: define one at the top"
    assert text in problem("lower", tmp_path / "empty.py")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x80")
    assert "bytes.txt cannot be read: it is no text" in problem("lower", tmp_path / "bytes.txt")
