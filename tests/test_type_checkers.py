# SPDX-License-Identifier: Apache-2.0
"""What type checkers say of programs; mypy reads examples/typed in `make lint`, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

PROGRAMS = Path(sys.executable).parent
# The command of each, and what it says of an attribute that a class has not.
CHECKERS = {
    "basedpyright": (
        ["--level", "error", "--pythonpath", sys.executable],
        'Cannot access attribute "is_missing" for class "{}"',
    ),
    "mypy": (["--strict"], '"{}" has no attribute "is_missing"'),
}

WRONG = """
from typing import Annotated
from loopsmith import te, tir
from loopsmith.script import tir as T

te.compute((4,), lambda i: i).is_missing

@T.prim_func
def f(A: Annotated[tir.Buffer, T.Buffer((4,), "float32")], n: T.int32) -> None:
    A.is_missing
    n.is_missing
"""

# As scripts are written. basedpyright has no plugins: it is told what to pass.
CALLED = """# pyright: reportInvalidTypeForm=false
from loopsmith.script import ir as I
from loopsmith.script import tir as T

@T.prim_func
def f(A: T.Buffer((16,), "float32"), pointer: T.handle("float32"), n: T.int32) -> None:
    for i in T.serial(16):
        A[i] = A[i] + 1.0
    n.is_missing

@I.ir_module
class Module:
    @T.prim_func(private=True)
    def g(B: T.Buffer((16,), "float32")) -> None:
        B[0] = 0.0
"""


def said_of(checker: str, path: Path, *options: str) -> str:
    """Return the errors that a checker prints for a file."""
    if not (PROGRAMS / checker).exists():
        pytest.skip(f"{checker} is not installed")
    done = subprocess.run(
        [PROGRAMS / checker, *CHECKERS[checker][0], *options, path],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.parametrize("checker", CHECKERS)
def test_annotations_of_scripts_pass(checker: str):
    said = said_of(checker, ROOT / "examples" / "typed" / "scale.py")
    assert said.startswith(("0 errors", "Success: no issues found"))


@pytest.mark.parametrize("checker", CHECKERS)
def test_tensors_and_parameters_have_types(checker: str, tmp_path: Path):
    program = tmp_path / "wrong.py"
    program.write_text(WRONG)
    text = said_of(checker, program)
    for kind in ("Tensor", "Buffer", "int32"):
        assert CHECKERS[checker][1].format(kind) in text, text


def with_plugin(folder: Path) -> str:
    """Return the option of mypy that names a configuration with our plugin."""
    configuration = folder / "mypy.ini"
    cache = ROOT / ".mypy_cache" / "with_plugin"  # Not that of the runs without.
    configuration.write_text(f"[mypy]\nplugins = loopsmith.mypy_plugin\ncache_dir = {cache}\n")
    return f"--config-file={configuration}"


@pytest.mark.parametrize("checker", CHECKERS)
def test_a_buffer_that_is_called_annotates_a_parameter(checker: str, tmp_path: Path):
    program = tmp_path / "called.py"
    program.write_text(CALLED)
    options = [with_plugin(tmp_path)] if checker == "mypy" else []
    errors = [line for line in said_of(checker, program, *options).splitlines() if "error:" in line]
    assert len(errors) == 1
    assert CHECKERS[checker][1].format("int32") in errors[0]


def test_the_plugin_of_mypy_gives_parameters_the_types_that_are_called(tmp_path: Path):
    program = tmp_path / "wrong.py"
    program.write_text(
        CALLED.replace("n.is_missing", "A.is_missing, pointer.is_missing")
        + "\ndef no_script(C: T.Buffer((16,), 'float32')) -> None: ...\n"
    )
    text = said_of("mypy", program, with_plugin(tmp_path))
    for kind in ("Buffer", "handle"):
        assert CHECKERS["mypy"][1].format(kind) in text, text
    assert text.count("Invalid type comment or annotation") == 1
