# SPDX-License-Identifier: Apache-2.0
"""Programs rewritten from schedules of tensor expressions to schedules of TensorIR."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import loopsmith.compat
import pytest
from loopsmith.migrate import Migrated, migrate

import loopsmith as ls
from loopsmith import compiled_program

PROGRAMS = Path(__file__).parent / "compat_programs"
WITH_SCHEDULES = [
    path
    for path in sorted(PROGRAMS.glob("te_*.py"))
    if path.stem not in ("te_bind", "te_set_store_predicate")  # They end with an error.
]

PROGRAM = """
    import numpy as np
    from loopsmith import te
    import loopsmith as ls

    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=4)  # As wide as a vector.
    s[B].vectorize(inner)
    add = ls.build(s, [A, B], "llvm -mcpu=native", name="add_one")
    a, b = np.arange(10, dtype="float32"), np.empty(10, "float32")
    add(a, b)
    print(b.sum())
"""


def migrated(tmp_path: Path, text: str) -> Migrated:
    program = tmp_path / "old.py"
    program.write_text(textwrap.dedent(text))
    return migrate(program)


def run(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    program = tmp_path / "new.py"
    program.write_text(text)
    command = [sys.executable, "-m", "loopsmith.compat", str(program)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)


def lowered(program: Any) -> ls.tir.PrimFunc:
    return ls.lower(program).without_attr("tir.is_scheduled")


def are_same(some: list[ls.tir.PrimFunc], others: list[ls.tir.PrimFunc]) -> bool:
    """Whether each function of one list is in the other."""
    return all(
        any(ls.structural_equal(one, other) for other in second)
        for first, second in [(some, others), (others, some)]
        for one in first
    )


@pytest.mark.parametrize("path", WITH_SCHEDULES, ids=lambda path: path.stem)
def test_a_migrated_program_makes_the_same_code(path: Path, tmp_path: Path) -> None:
    old: list[ls.tir.PrimFunc] = []
    refused: list[ls.ScheduleError] = []

    def observe(schedule: Any, args: Any, binds: Any) -> None:
        try:
            old.append(lowered(schedule.to_tir(args, binds)))
        except ls.ScheduleError as error:
            refused.append(error)

    with compiled_program.observed_schedules(observe), contextlib.suppress(SystemExit):
        loopsmith.compat.run_program(path)
    result = migrate(path)
    # To the end, for the names that it defines.
    (tmp_path / path.name).write_text(re.sub(r"^exit\(.*\)$", "", result.text, flags=re.M))
    names = loopsmith.compat.run_program(tmp_path / path.name)
    made = [make for name, make in names.items() if re.fullmatch(r"schedule_\d+_*", name)]
    if path.stem == "te_box_blur_05":  # It hands its schedule on to a function.
        assert "schedule_1" in result.text
        return
    assert are_same([lowered(make()) for make in made], old)
    if not refused:
        assert result.notes == []
        assert "create_schedule" not in result.text


def test_a_program_keeps_its_definitions_and_loses_its_schedule(tmp_path: Path) -> None:
    result = migrated(tmp_path, PROGRAM)
    assert result == Migrated(
        textwrap.dedent("""\
            import loopsmith as ls

            import numpy as np
            from loopsmith import te
            import loopsmith as ls

            n = te.var("n")
            A = te.placeholder((n,), name="A")
            B = te.compute((n,), lambda i: A[i] + 1, name="B")

            def schedule_1(name: str = "main") -> ls.tir.Schedule:
                sch = ls.tir.Schedule(ls.te.create_prim_func([A, B]).with_attr("global_symbol", name))
                b0 = sch.get_block(name="B")
                l1, = sch.get_loops(block=b0)
                l2, l3 = sch.split(loop=l1, factors=[None, 4], names=["i.outer", "i.inner"], preserve_unit_iters=True, disable_predication=False)
                sch.vectorize(loop=l3, assume_independent=False)
                return sch

            add = ls.build(schedule_1("add_one"), target="llvm -mcpu=native", name="add_one")
            a, b = np.arange(10, dtype="float32"), np.empty(10, "float32")
            add(a, b)
            print(b.sum())
        """),  # noqa: E501
        [],
    )
    done = run(tmp_path, result.text)
    assert done.stdout == "55.0\n", done.stderr


def test_a_schedule_that_rewrites_tensors_starts_from_a_script(tmp_path: Path) -> None:
    text = PROGRAM.replace("outer, inner", 's.cache_read(A, "local", [B])\n    outer, inner')
    result = migrated(tmp_path, text)
    assert "from loopsmith.script import tir as T" in result.text
    assert 'A_local = T.alloc_buffer((n,), scope="local")' in result.text
    assert run(tmp_path, result.text).stdout == "55.0\n"


def test_what_is_refused_stays_and_is_told(tmp_path: Path) -> None:
    text = PROGRAM.replace(
        "add = ls.build(",
        "s[B].parallel(inner)\n    s[B].set_store_predicate(inner.var < 2)\n"
        "    try:\n        ls.lower(s, [A, B])\n    except ls.ScheduleError:\n"
        "        print('refused')\n    s = te.create_schedule(B.op)\n    add = ls.build(",
    )
    result = migrated(tmp_path, text)
    assert result.notes[0].startswith("line 15: the schedule stays as it is: it is refused: set_")
    assert result.notes[1].startswith("line 15: the statements that make the schedules were kept")
    assert "ls.lower(s, [A, B])" in result.text
    assert 'ls.build(schedule_1("add_one")' in result.text
    assert run(tmp_path, result.text).stdout == "refused\n55.0\n"


def test_several_schedules_of_one_call_stay(tmp_path: Path) -> None:
    result = migrated(
        tmp_path,
        """
        import loopsmith as ls
        from loopsmith import te

        A = te.placeholder((8,), name="A")
        B = te.compute((8,), lambda i: A[i] + 1, name="B")
        for factor in (2, 4):
            s = te.create_schedule(B.op)
            s[B].split(B.op.axis[0], factor=factor)
            ls.lower(s, [A, B])
        """,
    )
    assert result.notes == ["line 10: several schedules are lowered here: they stay as they are"]
    assert "schedule_1" not in result.text


def test_schedules_in_functions_are_migrated(tmp_path: Path) -> None:
    result = migrated(
        tmp_path,
        """
        import loopsmith as ls
        from loopsmith import te

        def compiled(size):
            A = te.placeholder((size,), name="A")
            B = te.compute((size,), lambda i: A[i] * 2, name="B")
            s = te.create_schedule([B.op])
            if size > 4:
                s[B].parallel(B.op.axis[0])
            return ls.build(s, [A, B])

        compiled(8)
        """,
    )
    assert result.notes == []
    assert "create_schedule" not in result.text
    assert "    if size > 4:\n        pass\n" in result.text
    assert "    return ls.build(schedule_1())\n" in result.text
    assert run(tmp_path, result.text).returncode == 0


def test_names_that_others_use_keep_the_schedule(tmp_path: Path) -> None:
    text = PROGRAM.replace("print(b.sum())", "print(len(s.stages))")
    result = migrated(tmp_path, text)
    assert result.notes == [
        "line 15: the statements that make the schedules were kept: s is used here"
    ]
    assert "create_schedule" in result.text
    assert run(tmp_path, result.text).stdout == "2\n"


def test_a_name_that_is_something_else_elsewhere_keeps_the_schedule(tmp_path: Path) -> None:
    text = PROGRAM.replace("print(b.sum())", "s = []\n    s.append(b.sum())\n    print(*s)")
    result = migrated(tmp_path, text)
    assert result.notes == [
        "line 15: the statements that make the schedules were kept: s is used here"
    ]
    assert run(tmp_path, result.text).stdout == "55.0\n"


def test_a_program_that_stops_is_migrated_up_to_there(tmp_path: Path) -> None:
    text = PROGRAM.replace("print(b.sum())", "raise ValueError('no more')")
    result = migrated(tmp_path, text)
    assert result.notes == ["the program stopped in line 15: ValueError: no more"]
    assert "schedule_1" in result.text


def test_a_program_without_schedules_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ls.UserError) as error:
        migrated(tmp_path, "print(1)\n")
    assert "old.py lowers and builds no schedule of tensor expressions" in str(error.value)
    assert "name a program that calls te.create_schedule" in str(error.value)
    with pytest.raises(ls.UserError, match="expressions: it stopped in line 1: NameError"):
        migrated(tmp_path, "print(nothing)\n")


def test_the_command_writes_a_file_and_tells_what_stayed(tmp_path: Path) -> None:
    pytest.importorskip("typer")
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    old.write_text(textwrap.dedent(PROGRAM.replace("print(b.sum())", "print(len(s.stages))")))
    command = [sys.executable, "-m", "loopsmith", "migrate", str(old), "-o", str(new)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert f"{old}: line 15: the statements that make the schedules were kept" in done.stderr
    assert "schedule_1" in new.read_text()
