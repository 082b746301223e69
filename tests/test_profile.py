# SPDX-License-Identifier: Apache-2.0
"""Where the time goes: profiles of loops, and the names that GDB and perf see."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from conftest import run

import loopsmith as ls
from loopsmith import te, tir

N = 128


def two_stages() -> tir.Schedule:
    """Return a schedule of two loop nests, the second of which runs on threads."""
    A = te.placeholder((N, N), name="A")
    B = te.compute((N, N), lambda i, j: te.exp(A[i, j]), name="B")
    sch = tir.Schedule(te.create_prim_func([A, te.nn.matmul(B, A)]))
    sch.parallel(sch.get_loops("matmul")[0])
    return sch


@pytest.fixture(scope="module")
def arrays() -> list[np.ndarray]:
    return [np.ones((N, N), "float32"), np.zeros((N, N), "float32")]


def test_a_profile_counts_runs_and_times_of_loops(arrays: list[np.ndarray]):
    f = ls.build(two_stages(), name="f", profile=True)
    for _ in range(3):
        f(*arrays)
    loops = f.profile().loops
    assert [(loop.number, loop.loop, loop.runs) for loop in loops][:2] == [(0, "", 3), (1, "i", 3)]
    whole, exp = loops[:2]
    assert (whole.function, exp.writes, exp.calls) == ("f", ("B",), 3)
    assert 0 < exp.seconds < whole.seconds and whole.share == 1.0
    assert whole.own_seconds < whole.seconds
    inside = [loop for loop in loops if loop.is_threaded]
    assert inside and inside[0].runs == 3 * N
    np.testing.assert_allclose(arrays[1], N * np.exp(1.0), rtol=1e-5)


def test_a_profile_prints_resets_and_is_data(arrays: list[np.ndarray]):
    f = ls.build(two_stages(), name="f", profile=True)
    f(*arrays)
    header, first = str(f.profile(reset=True)).splitlines()[:2]
    assert header.split() == [
        "function",
        "loop",
        "writes",
        "line",
        "runs",
        "time",
        "own",
        "time",
        "share",
    ]
    assert first.split()[:2] == ["f", "(all)"] and first.endswith("100.0%")
    assert f.profile().to_dict()["loops"][0]["runs"] == 0
    assert f.profile()._repr_html_().startswith("<table>")


def test_lines_of_a_profile_are_those_of_the_lowered_program(arrays: list[np.ndarray]):
    f = ls.build(two_stages(), profile=True)
    f(*arrays)
    lines = f.source("tir").splitlines()
    for loop in f.profile().loops[1:]:
        name = loop.loop.split("/")[-1]
        assert re.match(rf"\s*for (\w+, )*{name}(, \w+)* in", lines[loop.line - 1])


def test_a_report_of_a_profiled_module_has_times(arrays: list[np.ndarray]):
    f = ls.build(two_stages(), name="f", profile=True)
    f(*arrays)
    made = f.report()
    header, rows = made.rows()
    assert header[-2:] == ("time", "GFLOP/s")
    product = next(row for row in rows if "/k" in row[1])
    assert float(product[-1]) > 0
    assert any(row["seconds"] for row in made.to_dict()["loops"])


def test_symbolic_sizes_are_profiled():
    n = te.size_var("n")
    X = te.placeholder((n, n), name="X")
    f = ls.build([X, te.compute((n, n), lambda i, j: te.sin(X[i, j]), name="Y")], profile=True)
    f(np.ones((300, 300), "float32"))
    assert [loop.runs for loop in f.profile().loops][:2] == [1, 1]


def test_a_module_without_a_profile_says_what_to_pass(arrays: list[np.ndarray]):
    with pytest.raises(ls.UserError) as caught:
        ls.build(two_stages()).profile()
    assert str(caught.value) == (
        "profile: the module was built without a profile\n  hint: pass profile=True to build"
    )


def test_a_profile_is_for_code_of_llvm():
    with pytest.raises(ls.UserError) as caught:
        ls.build(two_stages(), "c", profile=True)
    assert "build: target c has no code that times loops" in str(caught.value)


MAPPED = """
import os
import numpy as np
import loopsmith as ls
from loopsmith import te, tir

A = te.placeholder((64, 64), name="A")
B = te.compute((64, 64), lambda i, j: te.exp(A[i, j]), name="B")
sch = tir.Schedule(te.create_prim_func([A, te.nn.matmul(B, A)]))
sch.parallel(sch.get_loops("matmul")[0])
f = ls.build(sch, name="product")
f(np.ones((64, 64), "float32"))
path = f"/tmp/perf-{os.getpid()}.map"
print(open(path).read())
os.remove(path)
"""


def test_perf_finds_the_names_of_functions_and_loops():
    lines = [
        line.split(" ", 2)
        for line in run(sys.executable, "-c", MAPPED, LOOPSMITH_PERF_MAP="1").splitlines()
        if line
    ]
    names = [name for _, _, name in lines]
    assert "loopsmith:product" in names and "loopsmith:product i/j" in names
    assert "loopsmith:product.i0 i0/i1/k" in names
    places = sorted((int(begin, 16), int(size, 16)) for begin, size, _ in lines)
    for (begin, size), (following, _) in zip(places, places[1:]):
        assert size > 0 and begin + size <= following


DUMPED = (
    MAPPED.replace("perf-", "jit-")
    .replace(".map", ".dump")
    .replace(
        "print(open(path).read())", "import sys; sys.stdout.buffer.write(open(path, 'rb').read())"
    )
)


def test_perf_finds_instructions_with_the_names_of_functions_and_loops():
    done = subprocess.run(
        [sys.executable, "-c", DUMPED],
        check=True, capture_output=True, env={**os.environ, "LOOPSMITH_JITDUMP": "1"},
    )  # fmt: skip
    dump = done.stdout
    magic, version, size, _, _, pid, _, _ = struct.unpack_from("<6I2Q", dump)
    assert (magic, version, size) == (0x4A695444, 1, 40)
    at, names = size, []
    while at < len(dump):
        kind, size, _, owner, _, begin, address, code_size, index = struct.unpack_from(
            "<2IQ2I4Q", dump, at
        )
        name, _, code = dump[at + 56 : at + size].partition(b"\0")
        assert (kind, owner, address, index) == (0, pid, begin, len(names))
        assert len(code) == code_size > 0 and any(code)
        names.append(name.decode())
        at += size
    assert at == len(dump)
    assert "loopsmith:product" in names and "loopsmith:product.i0 i0/i1/k" in names


def test_no_map_is_written_unless_it_is_asked_for():
    program = "import os, loopsmith as ls\nfrom loopsmith import te\n"
    program += "A = te.placeholder((4,), name='A')\n"
    program += "ls.build([A, te.compute((4,), lambda i: A[i], name='B')])\n"
    program += "print(os.path.exists(f'/tmp/perf-{os.getpid()}.map'))"
    assert run(sys.executable, "-c", program).strip() == "False"


DEBUGGED = """
import numpy as np
import loopsmith as ls
from loopsmith.script import tir as T

@T.prim_func
def outer(A: T.Buffer((4,), "float32")):
    for i in range(4):
        T.print(A[i])

f = ls.build(outer, name="outer")
f(np.ones(4, "float32"))
"""


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_gdb_shows_the_name_of_a_compiled_function(tmp_path: Path):
    program = tmp_path / "program.py"
    program.write_text(DEBUGGED)
    commands = ["set breakpoint pending on", "break ls_call_outer", "run", "bt 1"]
    arguments = [part for command in commands for part in ("-ex", command)]
    shown = run("gdb", "-q", "-batch", *arguments, "--args", sys.executable, program)
    assert "in ls_call_outer ()" in shown
