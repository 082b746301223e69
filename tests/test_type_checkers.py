# SPDX-License-Identifier: Apache-2.0
"""What type checkers say of programs; mypy reads examples/typed in `make lint`, too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

CHECKER = Path(sys.executable).parent / "basedpyright"
pytestmark = pytest.mark.skipif(not CHECKER.exists(), reason="basedpyright is not installed")


def said_of(path: Path) -> str:
    """Return the errors that basedpyright prints for a file."""
    done = subprocess.run(
        [CHECKER, "--level", "error", "--pythonpath", sys.executable, path],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def test_annotations_of_scripts_pass():
    assert said_of(ROOT / "examples" / "typed" / "scale.py").startswith("0 errors")


def test_tensors_and_parameters_have_types(tmp_path: Path):
    program = tmp_path / "wrong.py"
    program.write_text("""
from typing import Annotated
from loopsmith import te, tir
from loopsmith.script import tir as T

te.compute((4,), lambda i: i).is_missing

@T.prim_func
def f(A: Annotated[tir.Buffer, T.Buffer((4,), "float32")], n: T.int32) -> None:
    A.is_missing
    n.is_missing
""")
    text = said_of(program)
    for kind in ("Tensor", "Buffer", "int32"):
        assert f'Cannot access attribute "is_missing" for class "{kind}"' in text, text
