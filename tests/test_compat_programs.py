# SPDX-License-Identifier: Apache-2.0
"""Programs written for tvm run as they are."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import loopsmith.compat
import numpy as np
import pytest
from test_compat import executed

import loopsmith as ls

PROGRAMS = Path(__file__).parent / "compat_programs"
TESTS = Path(__file__).parent / "compat_tests"


# ---- Whole programs ----


# Programs whose last schedule may be refused, as the document's own result is wrong or unsaid.
MAY_BE_REFUSED = {
    "te_bind": "a reduction bound over thread blocks",
    "te_set_store_predicate": "a predicate over a thread that is not launched",
}


def needs_schedules(text: str) -> bool:
    return "create_schedule(" in text.replace("tir.create_schedule(", "")


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("*.py")), ids=lambda path: path.stem)
def test_a_program_runs_as_it_is(path: Path) -> None:
    text = path.read_text()
    if needs_schedules(text) and not hasattr(ls.te, "create_schedule"):
        pytest.skip("schedules of tensor expressions are not built in")
    done = executed(path)
    if done.returncode != 0 and path.stem in MAY_BE_REFUSED:
        assert "loopsmith.errors.ScheduleError: " in done.stderr, done.stderr
        assert "  hint: " in done.stderr, done.stderr
        return
    assert done.returncode == 0, done.stderr
    expected = [line[2:] for line in text.splitlines() if line.startswith("#>")]
    for line in expected:
        assert line.strip() in done.stdout, done.stdout


@pytest.mark.parametrize("path", sorted(TESTS.glob("*.py")), ids=lambda path: path.stem)
def test_tests_written_for_tvm_pass_as_they_are(path: Path) -> None:
    done = executed(path)
    assert done.returncode == 0, done.stdout


def test_the_command_runs_a_program_that_imports_tvm(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\nfrom tvm import te\n"
        "if __name__ == '__main__':\n"
        "    print(te.placeholder((4,), name='A').name, len(sys.argv))\n"
    )
    command = [sys.executable, "-m", "loopsmith", "run", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "A 1\n"), done.stderr
    assert executed(program, "x", "y").stdout == "A 3\n"


def test_a_program_is_recognised_by_its_imports() -> None:
    assert loopsmith.compat.imports_tvm("import tvm.te as te")
    assert loopsmith.compat.imports_tvm("def f():\n    from topi import nn\n")
    assert not loopsmith.compat.imports_tvm("import tvmx\nfrom . import tvm\n# import tvm")
    assert not loopsmith.compat.imports_tvm("import tvm +")
