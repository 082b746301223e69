# SPDX-License-Identifier: Apache-2.0
"""Reductions over nothing give their init, scheduled or not; an init sees where axes start."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812


@T.prim_func
def rows_below(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")) -> None:
    for j in range(8):
        for k in range(j):
            with T.block("C"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[vj] = T.float32(1)
                C[vj] = C[vj] + A[vj, vk]


def outer_split(sch: tir.Schedule) -> None:
    outer, inner = sch.split(sch.get_loops("C")[1], [None, 2])
    sch.split(outer, [2, None])
    sch.unroll(inner)


SCHEDULES: dict[str, Callable[[tir.Schedule], object]] = {
    "none": lambda sch: None,
    "split": lambda sch: sch.split("k", [None, 2]),
    "split twice": outer_split,
    "few parts": lambda sch: sch.split("k", [3, None]),
    "rows with a rest": lambda sch: [sch.split("j", [None, 5]), sch.split("k", [None, 2])],
    "both loops": lambda sch: [sch.split("j", [None, 3]), sch.split("k", [None, 4])],
    "parallel": lambda sch: sch.parallel("j"),
    "decomposed": lambda sch: sch.decompose_reduction("C", "k"),
    "parallel parts": lambda sch: sch.parallel(sch.split("k", [None, 2])[0]),
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_rows_of_a_triangle_begin_with_nothing(name: str) -> None:
    sch = tir.Schedule(rows_below)
    SCHEDULES[name](sch)
    assert sch.verify()
    a = np.random.default_rng(5).random((8, 8), "float32")
    expected = [1 + a[j, :j].sum() for j in range(8)]
    for program in (sch, sch.func):
        c = np.full(8, 7, "float32")
        ls.build(program)(a, c)
        np.testing.assert_allclose(c, expected, rtol=1e-6)


def test_an_init_that_never_runs_is_not_decomposed() -> None:
    """Rows start later than the axis: no iteration is the first, and nothing is initialised."""
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for j in range(8):
        for k in range(j, 8):
            with T.block("C"):
                vj = T.axis.spatial(8, j)
                vk = T.axis.reduce(8, k)
                with T.init():
                    C[vj] = T.float32(1)
                C[vj] = C[vj] + A[vj, vk]
""")
    sch = tir.Schedule(func)
    sch.split("k", [None, 4])
    with pytest.raises(ls.ScheduleError, match="does not start at the first iteration"):
        sch.decompose_reduction("C", "j")
    assert sch.verify()


def test_a_condition_that_the_first_step_may_fail_says_what_is_initialised() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32")):
    for j, k in T.grid(16, 8):
        with T.block("C"):
            vj = T.axis.spatial(16, j)
            vk = T.axis.reduce(8, k)
            T.where(j + k < 8)
            with T.init():
                C[vj] = T.float32(1)
            C[vj] = C[vj] + A[vj, vk]
""")
    a = np.ones((8, 8), "float32")
    for run in (ls.build(func), lambda *given: ls.interp.run(func, *given)):
        c = np.zeros(8, "float32")
        run(a, c)
        np.testing.assert_array_equal(c, 9 - np.arange(8))


def test_an_init_sees_where_a_reduction_starts() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8,), "float32"), D: T.Buffer((8,), "int32")):
    for i, k in T.grid(8, 6):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce((2, 8), k + 2)
            with T.init():
                C[vi] = T.float32(1)
                D[vk] = vi + vk
            C[vi] = C[vi] + A[vi, vk]
""")
    a = np.ones((8, 8), "float32")
    for run in (ls.build(func), lambda *given: ls.interp.run(func, *given)):
        c, d = np.zeros(8, "float32"), np.zeros(8, "int32")
        run(a, c, d)
        np.testing.assert_array_equal(c, 7)
        np.testing.assert_array_equal(d, [0, 0, 9, 0, 0, 0, 0, 0])


def test_a_reduction_that_starts_elsewhere_in_each_row_is_initialised_where_it_starts() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((8, 16), "float32"), C: T.Buffer((8,), "float32")):
    for k, i in T.grid(8, 8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vk = T.axis.reduce(16, k + i)
            with T.init():
                C[vi] = T.float32(1)
            C[vi] = C[vi] + A[vi, vk]
""")
    a = np.ones((8, 16), "float32")
    for run in (ls.build(func), lambda *given: ls.interp.run(func, *given)):
        c = np.full(8, 5, "float32")
        run(a, c)
        np.testing.assert_array_equal(c, [9] + [13] * 7)


def test_inits_of_reductions_over_nothing_are_seen_to_conflict() -> None:
    """Row 0 of each i has nothing to add, and starts what row 1 of the last i was added to."""
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((4, 2), "float32"), C: T.Buffer((5,), "float32")):
    for i, j in T.grid(4, 2):
        for k in range(j):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi + vj] = T.float32(0)
                C[vi + vj] = C[vi + vj] + A[vi, vk]
""")
    sch = tir.Schedule(func)
    with pytest.raises(
        ls.ScheduleError, match="iterations of loop i depend on each other"
    ) as caught:
        sch.parallel("i")
    assert "iteration i=0, j=1, k=0 writes C[1]" in str(caught.value)


def test_a_copy_as_large_as_a_domain_that_loops_change_is_refused() -> None:
    sch = tir.Schedule(rows_below)
    with pytest.raises(ls.ScheduleError) as caught:
        sch.reindex("C", ("read", 0))
    assert caught.value.code == "step_keeps_results"
    with pytest.raises(ls.ScheduleError) as caught:
        sch.transform_block_layout("C", lambda j, k: (j, k))
    assert caught.value.code == "loops_are_the_axes"


def test_an_init_stays_where_loops_without_iterations_are_fused() -> None:
    func = ls.from_source("""
@T.prim_func
def main(C: T.Buffer((1,))):
    for i, j in T.grid(0, 0):
        with T.block("C"):
            vi = T.axis.reduce(1, i)
            vj = T.axis.reduce(0, j)
            with T.init():
                C[0] = T.float32(1)
            C[0] = C[0] + T.float32(1)
""")
    sch = tir.Schedule(func)
    sch.fuse("i", "j")
    assert sch.verify()
    c = np.zeros(1, "float32")
    ls.build(sch)(c)
    np.testing.assert_array_equal(c, 1)


def test_parts_of_a_reduction_that_does_not_start_are_not_factored() -> None:
    """Without iterations nothing starts the result, as its axis has elements."""
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((4, 8)), C: T.Buffer((4,)), n: T.int32):
    for j, k in T.grid(4, n):
        with T.block("C"):
            vj = T.axis.spatial(4, j)
            vk = T.axis.reduce(8, k)
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vj, vk]
""")
    sch = tir.Schedule(func)
    with pytest.raises(ls.ScheduleError, match="may be empty where there is something to reduce"):
        sch.rfactor("k", 0)


SUMS = """
@T.prim_func
def main(a: T.handle, c: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (n, m), "float32")
    C = T.match_buffer(c, (n,), "float32")
    for j, k in T.grid(n, m):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            with T.init():
                C[vj] = T.float32(1)
            C[vj] = C[vj] + A[vj, vk]
"""


def test_a_reduction_over_nothing_is_not_fused_with_its_rows() -> None:
    sch = tir.Schedule(ls.from_source(SUMS))
    with pytest.raises(
        ls.ScheduleError, match="loop k may have no iteration, where block C gives its init"
    ):
        sch.fuse("j", "k")


def fused(sch: tir.Schedule) -> None:
    sch.decompose_reduction("C", "j")
    sch.fuse("j", "k")


@pytest.mark.parametrize(
    "schedule",
    [
        fused,
        lambda sch: sch.reorder("k", "j"),
        lambda sch: sch.fuse(*sch.split("k", [None, 4])),
        lambda sch: [sch.can_apply("parallel", "k"), sch.reorder("k", "j")],
    ],
)
def test_sums_of_any_size_begin_with_nothing(schedule: Callable[[tir.Schedule], object]) -> None:
    sch = tir.Schedule(ls.from_source(SUMS))
    schedule(sch)
    assert sch.verify()
    for m in (0, 3):
        c = np.full(4, 7, "float32")
        ls.build(sch)(np.ones((4, m), "float32"), c, 4, m)
        np.testing.assert_array_equal(c, 1 + m)


@pytest.mark.parametrize("size", ["T.int32()", "T.int32(is_size_var=True)"])
@pytest.mark.parametrize(
    "steps", [["fuse", "i", "j"], ["fuse", "j", "k"], ["reorder", "j", "i", "k"]]
)
def test_what_is_known_of_a_reduction_of_any_size_survives_steps(
    size: str, steps: list[str]
) -> None:
    """The init of a reduction over nothing stands beside its loop."""
    sch = tir.Schedule(
        ls.from_source(f"""
@T.prim_func
def main(a: T.handle, b: T.handle):
    n = {size}
    A = T.match_buffer(a, (n, n), "uint32")
    B = T.match_buffer(b, (n, n), "uint32")
    for i, j, k in T.grid(n, n, n):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                B[vi, vj] = T.uint32(0)
            B[vi, vj] = B[vi, vj] + A[vi, vk] * B[n - 1 - vi, vj]
""")
    )
    assert not sch.can_apply("parallel", "i")
    getattr(sch, steps[0])(*steps[1:])
    assert sch.verify()
