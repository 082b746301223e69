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


def said_of(checker: str, path: Path) -> str:
    """Return the errors that a checker prints for a file."""
    if not (PROGRAMS / checker).exists():
        pytest.skip(f"{checker} is not installed")
    done = subprocess.run(
        [PROGRAMS / checker, *CHECKERS[checker][0], path],
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
