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


COUNTED = """
    k = T.int32(0)
    for i in range(12):
        A[k // 8, k % 8] = B[i, 0] + k
        k += 2
    B[0, 1] = k
"""
COUNTED_IN_NESTS = """
    k = T.int32(1)
    for i in range(3):
        for j in range(4):
            A[k // 4, k % 4] = B[i, j]
            k = k + 1
        k = k + i * 0 + 3
"""
WRAPPED = """
    last = T.int32(11)
    for i in range(12):
        A[i, 0] = B[i, 0] + B[last, 0]
        last = i
    B[last, 1] = 5
"""
BACKWARDS = """
    k = T.int32(11)
    for i in range(11, -1, -1):
        A[k, 0] = B[i, 0]
        k -= 1
"""
SET_ONCE = """
    m = T.alloc_buffer((1,), "int32")
    m[0] = 4
    for i in range(8):
        A[i, 0] = A[i + m[0], 0] + B[i, 0]
"""


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
@pytest.mark.parametrize(
    ("lines", "name"),
    [(COUNTED, "k"), (COUNTED_IN_NESTS, "k"), (WRAPPED, "last"), (BACKWARDS, "k"), (SET_ONCE, "m")],
)
def test_values_of_variables_take_their_places(lines: str, name: str, how: str):
    func = program(lines)
    sch = tir.Schedule(func)
    sch.substitute_scalar(name, "i")
    assert f"{name}[" not in sch.func.script()
    expect_same(func, sch)
    if how == "parallel" and name == "m":
        return  # Iterations that are four apart depend on each other.
    getattr(sch, how)("j" if "for j" in lines and how == "vectorize" else "i")
    expect_same(func, sch)


UNKNOWN = {
    "it depends on values in memory or on a condition, or its terms may overflow": """
    k = B[0, 0] * 1
    for i in range(4):
        A[i, 0] = A[i, 0] + k
        k = A[i, 1]
    """,
    "a break, a continue or a return decides what runs": """
    k = T.int32(0)
    for i in range(12):
        A[k, 0] = B[i, 0]
        if B[i, 0] > 3:
            break
        k += 1
    """,
}


@pytest.mark.parametrize("why", UNKNOWN)
def test_values_that_are_not_known_stay(why: str):
    with pytest.raises(ls.ScheduleError, match=why):
        tir.Schedule(program(UNKNOWN[why])).substitute_scalar("k", "i")


@pytest.mark.parametrize(
    ("start", "first", "growth"), [(-2000000000, 0, 100000000), (5, 100000, 100000)]
)
def test_values_whose_terms_overflow_stay(start: int, first: int, growth: int):
    func = program(f"""
    k = T.int32({start})
    for i in range({first}, {first + 40}):
        if k > 0:
            A[(i - {first}) % 12, 0] = k // 3
        k += {growth}
    """)
    with pytest.raises(ls.ScheduleError, match="substitute_scalar: the value of k is not known"):
        tir.Schedule(func).substitute_scalar("k", "i")


def test_values_are_known_where_conditions_agree():
    func = program("""
    k = T.int32(0)
    for i in range(12):
        if B[i, 0] > 0:
            k = i
        else:
            k = i + 0
        A[k, 1] = B[k, 2]
        if B[i, 0] > 3:
            k = 1
    A[k, 0] = 4
    """)
    sch = tir.Schedule(func)
    sch.substitute_scalar("k", "i")
    text = sch.func.script()
    assert "A[i, 1] = B[i, 2]" in text and "A[k[()], 0] = 4" in text
    expect_same(func, sch)


def test_refusals_offer_the_values_of_variables():
    sch = tir.Schedule(program(COUNTED))
    with pytest.raises(ls.ScheduleError, match="substitute_scalar") as caught:
        sch.parallel("i")
    assert 'sch.substitute_scalar("k"' in str(caught.value)


FLOATS = """
def main(A: T.Buffer((70,), "float32"), B: T.Buffer((1,), "float32")):
    m = A[0] * T.float32(1)
    for i in range(70):
        {branch}
    B[0] = m
"""


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
@pytest.mark.parametrize("order", [">", ">=", "<", "<="])
def test_extremes_may_be_branches(order: str, how: str):
    branch = f"if A[i] {order} m:\n            m = A[i]"
    func = ls.from_source("@T.prim_func" + FLOATS.replace("{branch}", branch))
    sch = tir.Schedule(func)
    getattr(sch, how)("i")
    assert sch.verify()
    written, made = ls.build(func, default_schedule=False), ls.build(sch)
    default = ls.build(func)
    numbers = np.random.default_rng(0)
    for nans in ([], [5], [0], [69], range(1, 70), range(70), range(0, 70, 2)):
        a = numbers.normal(size=70).astype("float32")
        a[list(nans)] = np.nan
        results = [np.zeros(1, "float32") for _ in range(3)]
        for kernel, result in zip((written, made, default), results):
            kernel(a, result)
        np.testing.assert_array_equal(results[1], results[0], str(nans))
        np.testing.assert_array_equal(results[2], results[0], str(nans))


def test_branches_that_take_nans_are_no_extremes():
    branch = "if not (A[i] <= m):\n            m = A[i]"
    func = ls.from_source("@T.prim_func" + FLOATS.replace("{branch}", branch))
    with pytest.raises(ls.ScheduleError, match="depends on values in memory"):
        tir.Schedule(func).parallel("i")


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
def test_extremes_of_integers_may_be_branches(how: str):
    func = program("""
    m = T.int32(0)
    for i in range(12):
        if m < A[i, 3]:
            m = A[i, 3]
    B[0, 0] = m
    """)
    sch = tir.Schedule(func)
    getattr(sch, how)("i")
    assert "T.max(m[()], A[i, 3])" in sch.func.script()
    expect_same(func, sch)


def test_threads_of_a_device_hand_no_variable_to_the_host():
    func = program("""
    x = T.int32(0)
    for i in range(1):
        x = A[0, 0]
    B[0, 0] = x
    """)
    sch = tir.Schedule(func)
    sch.bind("i", "threadIdx.x")
    assert sch.obligations()
    with pytest.raises(ls.ScheduleError, match="build: of buffer x, which is local memory, each"):
        ls.build(sch.func, target="cuda")
    func = program("""
    x = T.int32(0)
    for i in range(12):
        x = A[i, 0]
        B[i, 0] = x
    """)
    sch = tir.Schedule(func)
    sch.bind("i", "threadIdx.x")
    assert not sch.obligations() and sch.verify()


IN_A_LOOP = """
    for i in range(12):
        k = T.int32(0)
        for j in range(4):
            B[i, k] = A[i, j]
            k += 2
"""
OF_AN_ITERATION = """
    for i in range(12):
        k = i
        B[k, 0] = A[i, 0]
        k = 11 - i
        B[k, 1] = A[i, 1]
"""


@pytest.mark.parametrize("lines", [IN_A_LOOP, OF_AN_ITERATION])
def test_values_of_variables_of_an_iteration_take_their_places(lines: str):
    func = program(lines)
    sch = tir.Schedule(func)
    sch.substitute_scalar("k", "i")
    assert "k[" not in sch.func.script()
    sch.parallel("i")
    expect_same(func, sch)


def test_a_variable_that_is_not_there_has_no_values():
    with pytest.raises(ls.ScheduleError, match="no buffer m is allocated around loop i, or") as no:
        tir.Schedule(program(COUNTED)).substitute_scalar("m", "i")
    assert no.value.code == "buffer_is_allocated_around"


@pytest.mark.parametrize(
    "lines",
    [
        """
    w = T.float32(0)
    for i in range(640):
        w += A[i]
    B[0] = w
""",
        """
    x = A[0] * T.float32(2)
    y = x
    y = y + A[1]
    for i in range(640):
        B[i] = A[i] * x + y
""",
        """
    k = T.int32(3)
    for i in range(600):
        k += 1
        B[k] = A[i]
""",
    ],
)
def test_functions_that_begin_with_variables_have_default_schedules(lines: str):
    func = ls.from_source(f"""@T.prim_func
def main(A: T.Buffer((640,), "float32"), B: T.Buffer((640,), "float32")):
{lines}
""")
    sch = ls.default_schedule(func)
    assert "T.vectorized" in sch.func.script() and sch.verify()


def test_nests_inside_and_outside_of_a_scope_have_default_schedules_of_their_own():
    func = ls.from_source("""@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"),
         C: T.Buffer((64, 64), "float32")):
    with T.LetStmt(A[0, 0] + T.float32(1)) as x:
        for i, j in T.grid(64, 64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * x
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + T.float32(1)
""")
    sch = ls.default_schedule(func)
    assert sch.func.script().count("T.vectorized") == 2 and sch.verify()
