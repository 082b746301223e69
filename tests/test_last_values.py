# SPDX-License-Identifier: Apache-2.0
"""What one iteration of a loop leaves in a variable: places of extremes, last values."""

from __future__ import annotations

import numpy as np
import pytest
from test_loop_scalars import expect_same, program

import loopsmith as ls
from loopsmith import tir

EXTREME_AND_PLACE = """
@T.prim_func
def main(A: T.Buffer((70,), "float32"), B: T.Buffer((1,), "float32"), P: T.Buffer((2,), "int32")):
    m = B[0] * T.float32(1)
    p = T.int32(-5)
    for i in {values}:
        if {condition}:
            m = T.abs(A[i])
            p = i * 2
            P[1] = i + 1
    B[0] = m
    P[0] = p
"""


def numbers_to_search() -> list[np.ndarray]:
    """Return arrays with ties, zeros of both signs, and NaNs."""
    numbers = np.random.default_rng(0)
    found = [numbers.integers(-size, size + 1, 70).astype("float32") for size in (0, 1, 9, 999)]
    found.append(found[2].copy())
    found[-1][::3] = np.nan
    found.append(np.full(70, np.nan, "float32"))
    found.append(np.where(np.arange(70) % 2, np.float32(-0.0), np.float32(0)).astype("float32"))
    return found


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
@pytest.mark.parametrize(
    "values", ["range(70)", "range(69, -1, -1)", "range(3, 60, 5)", "range(5, 5)"]
)
@pytest.mark.parametrize("condition", ["T.abs(A[i]) {} m", "m {} T.abs(A[i])"])
@pytest.mark.parametrize("order", [">", ">=", "<", "<="])
def test_places_of_extremes_are_those_of_the_loop(
    order: str, condition: str, values: str, how: str
):
    source = EXTREME_AND_PLACE.format(values=values, condition=condition.format(order))
    func = ls.from_source(source)
    sch = tir.Schedule(func)
    for loop in sch.store_last("i"):
        getattr(sch, how)(loop)
    kernels = ls.build(func, default_schedule=False), ls.build(sch), ls.build(func, num_threads=2)
    for a in numbers_to_search():
        for start in (0.0, -1.0, 5.0, 2000.0, np.nan):
            results = []
            for kernel in kernels:
                b, p = np.full(1, start, "float32"), np.full(2, -7, "int32")
                kernel(a, b, p)
                results.append([b, p])
            for result in results[1:]:
                np.testing.assert_array_equal(result[0], results[0][0])
                np.testing.assert_array_equal(result[1], results[0][1])


LAST_ONE = """
    w = T.int32(7)
    for i in range({values}):
        if A[i, 0] > {least}:
            w = A[i, 1] * i
            B[3, 3] = A[i, 2]
    B[0, 0] = w
"""


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
@pytest.mark.parametrize("least", [0, 5, 100])
@pytest.mark.parametrize("values", ["12", "11, -1, -1", "2, 12, 3", "A[0, 0]"])
def test_what_a_branch_leaves_is_stored_once(values: str, least: int, how: str):
    func = program(LAST_ONE.format(values=values, least=least))
    sch = tir.Schedule(func)
    (loop,) = sch.store_last("i")
    getattr(sch, how)(loop)
    expect_same(func, sch)


@pytest.mark.parametrize(
    ("branch", "why"),
    [
        ("A[0, 0] = A[i, 0]", "its body is no `if` around stores"),
        ("if A[i, 0] > 0:\n            A[i, 1] = 3", "it stores into many elements"),
        ("if A[i, 0] > 0:\n            A[0, 0] = 3", "it reads what it stores"),
        ("if B[i, 0] > 0:\n            A[0, 0] = A[1, 0]", "it reads what it stores"),
        (
            "if B[i, 0] > A[0, 0]:\n            A[0, 0] = B[i, 0]",
            "it is an extreme and nothing else",
        ),
        (
            "if B[i, 0] > A[0, 0]:\n            A[0, 0] = B[i, 0]\n            A[0, 1] = 3",
            "it stores the extreme, and beside it into the same memory",
        ),
    ],
)
def test_what_is_not_of_one_iteration_stays(branch: str, why: str):
    func = program(f"""
    for i in range(12):
        {branch}
    """)
    with pytest.raises(ls.ScheduleError, match=why) as refused:
        tir.Schedule(func).store_last("i")
    assert refused.value.code == "values_of_one_iteration"


def test_extremes_that_are_rounded_are_not_searched():
    source = EXTREME_AND_PLACE.format(values="range(70)", condition="A[i] * A[i] + A[0] > m")
    func = ls.from_source(source.replace("T.abs(A[i])\n", "A[i] * A[i] + A[0]\n"))
    with pytest.raises(ls.ScheduleError, match="it reads what it stores"):
        tir.Schedule(func).store_last("i")


def test_whole_numbers_of_what_is_rounded_are_not_searched():
    func = ls.from_source("""@T.prim_func
def main(A: T.Buffer((70,), "float32"), P: T.Buffer((2,), "int32")):
    m = T.int32(-100)
    p = T.int32(0)
    for i in range(70):
        if T.cast(A[i] * A[i] + A[0], "int32") > m:
            m = T.cast(A[i] * A[i] + A[0], "int32")
            p = i
    P[0] = p
    P[1] = m
""")
    with pytest.raises(ls.ScheduleError, match="it reads what it stores"):
        tir.Schedule(func).store_last("i")


def test_refusals_offer_the_search_for_an_iteration():
    sch = tir.Schedule(program(LAST_ONE.format(values="12", least=0)))
    with pytest.raises(ls.ScheduleError, match=r'store_last\(sch.get_loop\("i"\)\)'):
        sch.parallel("i")


LEFT_BY_THE_LAST = """
    w = T.int32(3)
    for i in range(12):
        w = A[i, 0] * 2
        B[i, 1] = w + i
    B[0, 0] = w
"""


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
def test_the_last_iteration_may_leave_a_variable(how: str):
    func = program(LEFT_BY_THE_LAST)
    sch = tir.Schedule(func)
    with pytest.raises(
        ls.ScheduleError, match=r'fix: sch.peel\(sch.get_loop\("i"\), first=0, last=1'
    ):
        getattr(sch, how)("i")
    sch.peel("i", 0, 1)
    getattr(sch, how)("i")
    expect_same(func, sch)


def test_default_schedules_leave_variables_to_the_last_iteration():
    func = ls.from_source("""@T.prim_func
def main(A: T.Buffer((640,), "float32"), B: T.Buffer((640,), "float32")):
    x = T.float32(0)
    for i in range(640):
        x = A[i] * T.float32(2)
        B[i] = x
    B[1] = x
""")
    sch = ls.default_schedule(func, target="llvm -mcpu=znver4")
    assert "T.vectorized(639)" in sch.func.script() and sch.verify()
