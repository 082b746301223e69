# SPDX-License-Identifier: Apache-2.0
"""Memory that iterations have for themselves, filled by the branches of an `if` on data.

``LOOPSMITH_FUZZ_CASES`` says how many random programs, ``LOOPSMITH_FUZZ_SEED`` the first of them.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir

CASES = int(os.environ.get("LOOPSMITH_FUZZ_CASES", "300"))
FIRST = int(os.environ.get("LOOPSMITH_FUZZ_SEED", "0"))
ROWS, COLUMNS = 12, 4


def program(lines: list[str]) -> tir.PrimFunc:
    """Return a function of these lines, which run for each row i."""
    body = "".join(f"        {line}\n" for line in lines)
    return ls.from_source(f"""@T.prim_func
def main(M: T.Buffer(({ROWS}, {COLUMNS}), "int32"), B: T.Buffer(({ROWS}, {COLUMNS}), "int32")):
    t = T.alloc_buffer(({COLUMNS},), "int32")
    for i in range({ROWS}):
{body}""")


def run(func: tir.PrimFunc, m: np.ndarray) -> np.ndarray:
    """Return what a compiled function makes of `m`."""
    b = np.zeros_like(m)
    ls.build(func)(m, b)
    return b


SELECTED = [
    "if M[i, 0] > 0:",
    "    t[0] = M[i, 1]",
    "else:",
    "    t[0] = M[i, 2]",
    "B[i, 0] = t[0]",
]
ELEMENTS = [
    "for j in range(4):",
    "    if M[i, j] > 0:",
    "        t[j] = M[i, j]",
    "    elif M[i, j] < -1:",
    "        t[j] = M[i, 0]",
    "    else:",
    "        t[j] = 7",
    "for j in range(4):",
    "    B[i, j] = t[3 - j]",
]
IN_A_BRANCH = [
    "if M[i, 0] > 0:",
    "    t[0] = M[i, 1]",
    "    B[i, 0] = t[0]",
    "else:",
    "    B[i, 1] = 3",
]
EXCHANGED = [
    "for j in range(4):",
    "    B[i, j] = M[i, j]",
    "for p in range(3):",
    "    for j in range(T.shift_left(1, p) - 1):",
    "        if j < 3:",
    "            if B[i, j] > B[i, j + 1]:",
    "                t[0] = B[i, j]",
    "                B[i, j] = B[i, j + 1]",
    "                B[i, j + 1] = t[0]",
]


@pytest.mark.parametrize("lines", [SELECTED, ELEMENTS, IN_A_BRANCH, EXCHANGED])
@pytest.mark.parametrize("how", ["parallel", "vectorize"])
def test_branches_fill_what_an_iteration_reads(lines: list[str], how: str):
    func = program(lines)
    sch = tir.Schedule(func)
    getattr(sch, how)(sch.get_loop("i"))
    assert sch.verify()
    m = np.random.default_rng(0).integers(-3, 4, (ROWS, COLUMNS)).astype("int32")
    np.testing.assert_array_equal(run(sch.func, m), run(func, m))


def test_what_one_branch_leaves_is_an_earlier_iteration_s():
    sch = tir.Schedule(program(["if M[i, 0] > 0:", "    t[0] = M[i, 1]", "B[i, 0] = t[0]"]))
    with pytest.raises(ls.ScheduleError, match="depends on values in memory"):
        sch.parallel(sch.get_loop("i"))


def test_what_is_filled_as_a_whole_may_be_read_anywhere():
    func = ls.from_source("""@T.prim_func
def main(M: T.Buffer((12, 4), "int32"), B: T.Buffer((12, 4), "int32")):
    t = T.alloc_buffer((13, 4), "int32")
    for i, j in T.grid(13, 4):
        with T.block("t"):
            vi, vj = T.axis.remap("SS", [i, j])
            t[vi, vj] = M[vi % 12, vj] * 2
    for i, j in T.grid(12, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = t[vi, M[vi, vj] % 4] + t[vi + 1, 0]
""")
    sch = tir.Schedule(func)
    rows, _ = sch.split(sch.get_loops("B")[0], [None, 4])
    sch.compute_at("t", rows)
    sch.parallel(rows)
    assert sch.verify()
    m = np.random.default_rng(0).integers(-3, 4, (ROWS, COLUMNS)).astype("int32")
    np.testing.assert_array_equal(run(sch.func, m), run(func, m))


def test_each_of_several_rings_is_an_iteration_s_own():
    rows, columns = 24, 8
    A = te.placeholder((rows + 2, columns), "int32", name="A")
    stages = [
        te.compute((rows + 2, columns), lambda i, j, k=k: A[i, j] * k, name=f"stage{k}")
        for k in (2, 3, 5)
    ]
    B = te.compute(
        (rows, columns),
        lambda i, j: sum(each[i, j] - each[i + 2, j] for each in stages),
        name="B",
    )
    sch = tir.Schedule(te.create_prim_func([A, B]))
    strip, row = sch.split(sch.get_loops("B")[0], [None, 4])
    for stage in ("stage2", "stage3", "stage5"):
        sch.compute_at(stage, row)
        sch.store_at(stage, strip)
    sch.parallel(strip)
    lines = ls.lower(sch).script().splitlines()
    loop = next(i for i, line in enumerate(lines) if "T.parallel(6)" in line)
    memory = [i for i, line in enumerate(lines) if " = T.decl_buffer((24,)" in line]
    assert len(memory) == 3 and min(memory) > loop
    assert sch.verify()


def random_lines(rng: random.Random, depth: int = 0, known: tuple[str, ...] = ()) -> list[str]:
    """Return statements that fill and read t."""

    def index() -> str:
        return rng.choice(["0", "0", "1", *known, *known])

    lines = []
    for _ in range(rng.randint(1, 3)):
        kind = rng.choice(["fill", "fill", "read", "if", "if", "for"])
        if kind == "fill" or depth > 2:
            lines.append(f"t[{index()}] = M[i, {index()}] + {rng.randint(0, 5)}")
        elif kind == "read":
            lines.append(f"B[i, {index()}] = t[{index()}] + B[i, {index()}]")
        elif kind == "for":
            name = f"j{depth}"
            lines.append(f"for {name} in range({rng.choice([2, COLUMNS])}):")
            lines += ["    " + line for line in random_lines(rng, depth + 1, (*known, name))]
        else:
            lines.append(f"if M[i, {index()}] > {rng.randint(-1, 1)}:")
            lines += ["    " + line for line in random_lines(rng, depth + 1, known)]
            if rng.random() < 0.8:
                lines.append("else:")
                lines += ["    " + line for line in random_lines(rng, depth + 1, known)]
    return lines


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
def test_what_is_accepted_reads_what_it_wrote(how: str):
    accepted = 0
    for seed in range(FIRST, FIRST + CASES):
        rng = random.Random(seed)
        func = program([*random_lines(rng), "B[i, 0] = t[0] + B[i, 0]"])
        sch = tir.Schedule(func)
        try:
            getattr(sch, how)(sch.get_loop("i"))
        except ls.ScheduleError:
            continue
        accepted += 1
        verdict = sch.verify()
        if not verdict:
            # Elements never written are a mistake of the program.
            is_program_s = "undecided" in verdict.answer or "before" in verdict.reason
            assert is_program_s, f"{seed}: {verdict}\n{func.script()}"
            continue
        m = np.random.default_rng(seed).integers(-3, 4, (ROWS, COLUMNS)).astype("int32")
        np.testing.assert_array_equal(run(sch.func, m), run(func, m), err_msg=f"{seed}")
    assert accepted
