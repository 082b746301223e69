# SPDX-License-Identifier: Apache-2.0
"""Variables of a function that its loops use."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir


def program(lines: str) -> tir.PrimFunc:
    """Return a function of these lines."""
    body = textwrap.indent(textwrap.dedent(lines).strip("\n"), "    ")
    return ls.from_source(f"""@T.prim_func
def main(A: T.Buffer((12, 8), "int32"), B: T.Buffer((12, 8), "int32")):
{body}
""")


def run(func: tir.PrimFunc) -> list[np.ndarray]:
    """Return what a compiled function leaves in its arrays."""
    numbers = np.random.default_rng(0)
    arrays = [numbers.integers(-9, 10, (12, 8)).astype("int32") for _ in range(2)]
    ls.build(func)(*arrays)
    return arrays


def expect_same(func: tir.PrimFunc, sch: tir.Schedule) -> None:
    """Check that a schedule gives what its function gives."""
    assert sch.verify()
    for got, expected in zip(run(sch.func), run(func)):
        np.testing.assert_array_equal(got, expected)


OVERWRITTEN = """
    w = T.int32(3)
    B[0, 0] = w
    for i in range(12):
        w = A[i, 0] * 2
        for j in range(8):
            w = w // 2 + A[i, j]
            B[i, j] = w
"""
USED_AGAIN = """
    w = T.int32(3)
    for i in range(12):
        w = 0
        for j in range(8):
            B[i, j] = A[i, j] + w
            w = B[i, j]
    for r in range(12):
        w = B[r, 0]
        A[r, 1] = w
"""
INSIDE_A_LOOP = """
    w = T.int32(3)
    for t in range(3):
        for i in range(12):
            w = A[i, 0] + t
            B[i, 0] = B[i, 0] + w
        w = B[3, 3]
        A[3, 3] = w
"""


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
@pytest.mark.parametrize("lines", [OVERWRITTEN, USED_AGAIN, INSIDE_A_LOOP])
def test_iterations_have_a_variable_that_they_write_first(lines: str, how: str):
    func = program(lines)
    sch = tir.Schedule(func)
    getattr(sch, how)("i")
    expect_same(func, sch)


READ_AFTERWARDS = """
    w = T.int32(3)
    for i in range(12):
        w = A[i, 0]
        B[i, 0] = w
    B[0, 1] = w
"""
READ_NEXT_TIME = """
    w = T.int32(3)
    for t in range(2):
        B[0, 1] = w
        for i in range(12):
            w = A[i, 0]
            B[i, 0] = w
"""
WRITTEN_PERHAPS = """
    w = T.int32(3)
    for i in range(12):
        w = A[i, 0]
        B[i, 0] = w
    if A[0, 0] > 2:
        w = 1
    A[0, 1] = w
"""
READ_WHERE_NOTHING_RUNS = """
    w = T.int32(3)
    for i in range(12):
        w = A[i, 0]
        B[i, 0] = w
    for r in range(A[0, 0]):
        w = 1
    A[0, 1] = w
"""


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
@pytest.mark.parametrize(
    "lines", [READ_AFTERWARDS, READ_NEXT_TIME, WRITTEN_PERHAPS, READ_WHERE_NOTHING_RUNS]
)
def test_what_is_read_later_is_not_an_iteration_s_own(lines: str, how: str):
    with pytest.raises(ls.ScheduleError, match="iterations of loop i depend on each other"):
        getattr(tir.Schedule(program(lines)), how)("i")


@pytest.mark.parametrize("update", ["w += A[i, 0]", "w = T.max(w, A[i, 0])"])
def test_variables_are_reduced_by_threads(update: str):
    func = program(f"""
    w = T.int32(3)
    for i in range(12):
        {update}
    B[0, 0] = w
    """)
    sch = tir.Schedule(func)
    sch.parallel("i")
    expect_same(func, sch)


def test_names_of_numbers_are_known_in_indices():
    func = program("""
    m = 1
    for i in range(8):
        B[i, 0] = B[i + m, 0] + A[i, m]
    """)
    sch = tir.Schedule(func)
    sch.vectorize("i")
    expect_same(func, sch)
    with pytest.raises(ls.ScheduleError, match=r"i=0 reads B\[1, 0\], iteration i=1 writes it"):
        tir.Schedule(func).parallel("i")
