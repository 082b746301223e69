# SPDX-License-Identifier: Apache-2.0
"""Reports of compiled programs, and notes on schedules."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import run

import loopsmith as ls
from loopsmith import assembly, te, tir

ASSEMBLY = """
main:
\tvmovaps\t%zmm0, 64(%rsp)
.LBB0_1:
\tvmovaps\t64(%rsp), %zmm1
\tvfmadd231ps\t%zmm1, %zmm2, %zmm3
\tvgatherdps\t(%rax,%zmm4), %zmm5 {%k1}
\tjne\t.LBB0_1
\tretq
"""


def matmul(n: int = 64) -> tir.PrimFunc:
    A, B = (te.placeholder((n, n), name=name) for name in "AB")
    return te.create_prim_func([A, B, te.nn.matmul(A, B)])


def test_a_report_counts_what_a_loop_does():
    A = te.placeholder((32, 16), name="A")
    B = te.compute((32, 16), lambda i, j: A[i, j] * 2.0 + 1.0, name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    sch.vectorize("j")
    sch.parallel("i")
    (row,) = ls.build(sch, name="f").report().loops
    facts = row.facts
    assert (facts.function, row.name, facts.writes) == ("f", "i", ["B"])
    assert facts.flops == 2 * 32 * 16
    assert (facts.loaded, facts.stored) == (32 * 16 * 4, 32 * 16 * 4)
    assert (facts.lanes, facts.gathers, facts.guards, facts.calls) == (16, 0, 0, [])
    assert facts.is_parallel and row.source.startswith("test_report.py:")
    assert row.code is not None and row.code.vector_bits >= 128


def test_a_report_tells_gathers_guards_and_calls():
    A = te.placeholder((32, 16), name="A")
    B = te.compute((32, 16), lambda i, j: A[i, j] + 1.0, name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    sch.reorder("j", "i")
    sch.vectorize(sch.split("i", [None, 8])[1])
    made = ls.build(sch).report()
    assert made.loops[0].facts.gathers == 1
    gathers = next(note for note in made.notes if note.code == "vectors_are_contiguous")
    assert "scatters the elements of 2 vectors of B, A" in str(gathers)
    n = te.size_var("n")
    X = te.placeholder((n,), name="X")
    sines = ls.build([X, te.compute((n,), lambda i: te.sin(X[i]), name="Y")], "c").report()
    assert sines.loops[0].facts.flops is None and sines.code is None
    assert "?" in str(sines)


def test_assembly_is_read_loop_by_loop():
    code = assembly.code_of(ASSEMBLY)
    assert code == assembly.Code(vector_bits=512, fused=1, gathers=1, inner_loops=1, spills=1)
    assert assembly.code_of(ASSEMBLY, wanted=[2]).spills == 0


def tiled(rows: int, lanes: int) -> tir.Schedule:
    """Return a product whose tile of results is to stay in registers."""
    sch = tir.Schedule(matmul(64))
    i, j, k = sch.get_loops("matmul")
    i_outer, row = sch.split(i, [None, rows])
    j_outer, lane = sch.split(j, [None, lanes])
    sch.reorder(i_outer, j_outer, k, row, lane)
    sch.unroll(row)
    sch.vectorize(lane)
    sch.decompose_reduction("matmul", k)
    return sch


def test_a_tile_that_does_not_fit_the_registers_is_told():
    notes = ls.build(tiled(32, 64)).report().notes
    spilled = next(note for note in notes if note.code == "accumulators_fit_registers")
    assert "vector operands on the stack: the tile needs more registers than there are" in str(
        spilled
    )


def test_a_tile_in_registers_has_no_notes():
    made = ls.build(tiled(2, 16)).report()
    assert list(made.notes) == []
    inner = next(row for row in made.loops if row.facts.flops)
    assert inner.code is not None and inner.code.fused >= 2


def codes(sch: tir.Schedule) -> dict[str, str]:
    """Return the notes on a schedule: their codes, and the steps that mend them."""
    return {note.code: note.fix for note in sch.notes("llvm -mcpu=native")}


def as_written(func: tir.PrimFunc) -> tir.Schedule:
    return tir.Schedule(func)


def test_notes_with_a_target_say_what_scalar_code_loses():
    sch = as_written(matmul(128))
    found = codes(sch)
    assert found["inner_loop_is_vectorized"] == 'sch.reorder("k", "i1"); sch.vectorize("i1")'
    assert found["inner_access_is_contiguous"] == 'sch.reorder("k", "i1")'
    for line in found["inner_loop_is_vectorized"].split("; "):
        exec(line, {"sch": sch})
    assert codes(sch) == {}


def test_notes_say_which_guards_stayed():
    A = te.placeholder((100, 100), name="A")
    B = te.compute((100, 100), lambda i, j: A[i, j] + 1.0, name="B")
    sch = tir.Schedule(te.create_prim_func([A, B]))
    i, j = sch.get_loops("B")
    sch.reorder(*sch.split(j, [None, 16]), *sch.split(i, [None, 7]))
    guards = [note for note in sch.notes("llvm -mcpu=native") if note.code == "guard_left_loop"]
    assert guards and "keeps 1 condition in each iteration: choose factors" in str(guards[0])


def test_notes_tell_false_sharing():
    sums = ls.from_source("""
@T.prim_func
def sums(A: T.Buffer((64, 256)), S: T.Buffer((64,)), D: T.Buffer((64, 256))):
    for i in T.parallel(64):
        for k in range(256):
            S[i] = S[i] + A[i, k]
            D[i, k] = S[i]
""")
    found = {note.code: note for note in tir.Schedule(sums).notes("llvm -mcpu=native")}
    note = found["threads_write_own_lines"]
    assert "bytes apart: threads share a cache line" in note.problem


def test_a_measured_report_has_a_share_of_the_roofline(tmp_path: Path):
    arrays = [np.ones((64, 64), "float32") for _ in range(3)]
    made = ls.build(matmul()).report().measured(*arrays)
    assert made.share is not None and made.share > 0
    text = str(made)
    assert "GFLOP/s" in text and "of this machine's roofline" in text
    data = json.loads(json.dumps(made.to_dict()))
    assert sum(row["flops"] for row in data["loops"]) >= 2 * 64**3
    assert made._repr_html_().startswith("<table>")
    made.write_html(tmp_path / "page.html")
    assert "<table>" in (tmp_path / "page.html").read_text()


def test_many_starts_of_parallel_regions_are_noted():
    sch = tir.Schedule(matmul(128))
    sch.parallel(sch.get_loops("matmul")[1])
    (note,) = sch.notes()
    assert (note.code, note.loop) == ("parallel_region_is_large", "i1")
    assert str(note) == (
        "loop i1 is parallel inside of i0: a call starts 128 parallel regions, and each start "
        "takes microseconds\n"
        '  fix: make "i0" parallel in the place of "i1": sch.parallel("i0")'
    )


def test_much_unrolled_code_is_noted():
    sch = tir.Schedule(matmul(64))
    for loop in sch.get_loops("matmul"):
        sch.unroll(loop)
    (note,) = sch.notes()
    assert note.code == "unrolled_code_is_small" and "into 262144 copies" in note.problem


def test_a_usual_schedule_has_no_notes():
    sch = tir.Schedule(matmul(128))
    sch.parallel(sch.get_loops("matmul")[0])
    assert list(sch.notes()) == [] and str(sch.notes()) == "nothing to note"


PROGRAM = """
from loopsmith import te, tir
A = te.placeholder((16, 16), name="A")
B = te.compute((16, 16), lambda i, j: A[i, j] + 1.0, name="B")
func = te.create_prim_func([A, B])
sch = tir.Schedule(func)
sch.vectorize("j")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def loopsmith(*arguments: str | Path) -> str:
    import sys

    return run(sys.executable, "-m", "loopsmith", *arguments)


def test_the_command_measures_verifies_and_reports(program: Path, tmp_path: Path):
    assert loopsmith("verify", f"{program}:sch").startswith("same")
    assert "median" in loopsmith("bench", f"{program}:sch", "--repeat", "3")
    assert "times as quick" in loopsmith("bench", f"{program}:sch", f"{program}:func")
    assert "flops" in loopsmith("report", f"{program}:sch")
    loopsmith("report", f"{program}:sch", "-o", tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text())["loops"][0]["lanes"] == 16


def test_the_command_runs_what_it_built(program: Path, tmp_path: Path):
    loopsmith("build", f"{program}:sch", "-o", tmp_path / "x.so")
    lines = loopsmith("run", tmp_path / "x.so").splitlines()
    assert [line.split()[0] for line in lines[1:3]] == ["A", "B"]
    assert "median" in lines[3]


def test_the_command_tells_its_version():
    assert loopsmith("version") == loopsmith("--version") == f"loopsmith {ls.__version__}\n"


def test_only_schedules_are_verified(program: Path):
    with pytest.raises(AssertionError, match=r"is no schedule\n *hint: name a schedule: FILE:NAME"):
        loopsmith("verify", f"{program}:func")


def test_a_report_reads_conditions_of_any_length():
    count = 36  # Each array is compared with each other.
    names = [f"B{number}" for number in range(count)]
    buffers = "".join(f', {name}: T.Buffer((16,), "float32")' for name in names)
    stores = "".join(f"        {name}[i] = A[i]\n" for name in names)
    source = (
        f'@T.prim_func\ndef main(A: T.Buffer((16,), "float32"){buffers}):\n'
        f"    for i in range(16):\n{stores}"
    )
    assert "main" in str(ls.build(ls.from_source(source)).report())
