# SPDX-License-Identifier: Apache-2.0
"""The end of a process that used us: silent, whatever its threads are at."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, threading
import numpy as np
import loopsmith as ls
from loopsmith import te
from loopsmith.script import tir as T

A = te.placeholder((1 << 16,), name="A")
B = te.compute((1 << 16,), lambda i: A[i] * 2.0, name="B")
double = ls.build([A, B])
a = np.ones(1 << 16, "float32")
"""

BY_DAEMONS = """
ready = threading.Barrier(3)
def work():
    ready.wait()
    while True:
        {work}
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
ready.wait()
{work}
"""

SLOW = """
import time
def f(i):
    time.sleep(0.002)
    return A[i]
"""

ENDS = {
    "a macro": "@T.macro\ndef set_first(A):\n    A[0] = 1.0\n",
    "daemons that call": BY_DAEMONS.format(work="double(a)"),
    "daemons that build": BY_DAEMONS.format(work="ls.build([A, B])"),
    "daemons whose functions of indices wait": SLOW + BY_DAEMONS.format(work="te.compute((4,), f)"),
    "daemons that measure": BY_DAEMONS.format(work="double.time(a, np.empty_like(a))"),
    "a child of a process with daemons": BY_DAEMONS.format(work="double(a)")
    + "import warnings\nwarnings.simplefilter('ignore')  # Python's own, of forks.\n"
    + "child = os.fork()\nif child:\n    assert os.waitpid(child, 0)[1] == 0\n",
}


def end_of(program: str, folder: Path, max_seconds: int = 60) -> tuple[int, str]:
    """Run a program in a process of its own; return its exit status and all that it printed."""
    path = folder / "program.py"
    path.write_text(program)
    done = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, timeout=max_seconds
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("at_work", ENDS)
def test_a_process_ends_silently(at_work: str, tmp_path: Path):
    assert end_of(PROGRAM + ENDS[at_work], tmp_path) == (0, "")


CALLS_BACK = """
import time
def called(x):
    {work}
count = ls.build(ls.from_source('''
@T.prim_func
def main(A: T.Buffer((1 << 16,), "float32")):
    for i in {loop}(16):
        T.call_packed("called", A[i])
'''), functions={{"called": called}})
"""


@pytest.mark.parametrize("loop", ["range", "T.parallel"])
@pytest.mark.parametrize("work", ["pass", "time.sleep(0.002)"])
def test_a_process_ends_silently_while_daemons_call_python_back(
    loop: str, work: str, tmp_path: Path
):
    program = PROGRAM + CALLS_BACK.format(loop=loop, work=work) + BY_DAEMONS.format(work="count(a)")
    assert end_of(program, tmp_path) == (0, "")


def test_a_process_ends_silently_beside_a_compiler_of_torch(tmp_path: Path):
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    compiled = "import torch\nf = torch.compile(lambda v: v * 2 + 1)\nf(torch.ones(8))\n"
    program = PROGRAM + compiled + "double(torch.from_numpy(a))\n"
    status, said = end_of(program, tmp_path, max_seconds=600)  # It compiles C++.
    assert status == 0
    assert "nanobind" not in said
