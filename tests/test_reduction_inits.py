# SPDX-License-Identifier: Apache-2.0
"""Where inits run: at the start of axes, before loops that others share, once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from test_empty_reductions import SUMS

import loopsmith as ls
from loopsmith import tir

PRODUCTS = """
@T.prim_func
def main(a: T.handle, b: T.handle, c: T.handle, d: T.handle):
    n, r = T.int32(), T.int32()
    A = T.match_buffer(a, (n, r))
    B = T.match_buffer(b, (r, n))
    C = T.match_buffer(c, (n, n))
    D = T.match_buffer(d, (n, n))
    for i, j, k in T.grid(n, n, r):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(1)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(n, n):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj] * T.float32(2)
"""


def read_inside(sch: tir.Schedule, loop: object) -> None:
    sch.compute_at(sch.cache_read("C", 1, "global"), loop)


@pytest.mark.parametrize(
    "share",
    [
        lambda sch, loop: sch.read_at(loop, "C", 0, "local"),
        read_inside,
        lambda sch, loop: [sch.add_unit_loop("C"), read_inside(sch, loop)],
        lambda sch, loop: sch.read_at(sch.split(loop, [None, 4])[0], "C", 0, "local"),
        lambda sch, loop: read_inside(sch, sch.split(loop, [None, 4])[1]),
        lambda sch, loop: [sch.reorder(loop, *sch.get_loops("C")[:2]), read_inside(sch, loop)],
        lambda sch, loop: [
            sch.reorder(loop, *sch.get_loops("C")[:2]),
            read_inside(sch, sch.get_loops("C")[1]),
        ],
        lambda sch, loop: [read_inside(sch, loop), sch.parallel(sch.get_loops("C")[0])],
        lambda sch, loop: [read_inside(sch, loop), sch.decompose_reduction("C", loop)],
    ],
)
def test_reductions_whose_loop_others_share_begin_with_nothing(
    share: Callable[[tir.Schedule, object], object],
) -> None:
    sch = tir.Schedule(ls.from_source(PRODUCTS))
    share(sch, sch.get_loops("C")[2])
    assert sch.verify()
    rng = np.random.default_rng(3)
    kernel = ls.build(sch)
    for n, r in ((3, 0), (3, 1), (5, 7), (0, 4), (0, 0)):
        a, b = rng.random((n, r), "float32"), rng.random((r, n), "float32")
        c, d = np.full((2, n, n), 7, "float32")
        kernel(a, b, c, d)
        np.testing.assert_allclose(c, 1 + a @ b, rtol=1e-5)
        np.testing.assert_allclose(d, 2 * c, rtol=1e-6)


SHARED_SUMS = """
@T.prim_func
def main(a: T.handle, c: T.handle, d: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m))
    C = T.match_buffer(c, (n,))
    D = T.match_buffer(d, (n,))
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + A[vi, vj]
        with T.block("D"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                D[vi] = T.float32(0)
            D[vi] = D[vi] + C[vi]
"""


COPIED_AGAIN = """
@T.prim_func
def main(a: T.handle, c: T.handle, d: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m))
    C = T.match_buffer(c, (n,))
    D = T.match_buffer(d, (n,))
    for i, j in T.grid(n, m):
        with T.block("C"):
            vi = T.axis.spatial(n, i)
            C[vi] = A[vi, 0]
    for i in range(n):
        with T.block("D"):
            vi = T.axis.spatial(n, i)
            D[vi] = C[vi]
"""


@pytest.mark.parametrize(
    ("program", "move", "code", "text"),
    [
        (
            PRODUCTS,
            lambda sch, loop: sch.write_at(loop, "C", 0, "local"),
            "step_keeps_results",
            "write_at: results may change: loop k may have no iteration, where block C gives its "
            "init; after this step it would give nothing",
        ),
        (
            SHARED_SUMS,
            lambda sch, loop: sch.cache_write("C", 0, "local"),
            "step_keeps_results",
            "cache_write: results may change: loop j may have no iteration, where block C gives "
            "its init; after this step it would give nothing",
        ),
        (
            COPIED_AGAIN,
            lambda sch, loop: sch.write_at(sch.get_loops("C")[0], "C", 0, "local"),
            "step_keeps_results",
            "write_at: results may change: which elements of buffer C block C writes is not known "
            "exactly",
        ),
        (
            COPIED_AGAIN,
            lambda sch, loop: sch.reverse_compute_at("D", loop),
            "step_keeps_results",
            "reverse_compute_at: results would change: D (vi=0) would not run any more, and D is "
            "used outside",
        ),
    ],
)
def test_what_is_there_without_a_reduction_is_not_left_to_its_loop(
    program: str, move: Callable[[tir.Schedule, object], object], code: str, text: str
) -> None:
    sch = tir.Schedule(ls.from_source(program))
    with pytest.raises(ls.ScheduleError) as caught:
        move(sch, sch.get_loops("C")[-1])
    assert (caught.value.code, caught.value.problem) == (code, text)


@pytest.mark.parametrize(
    ("program", "move"),
    [
        (PRODUCTS, lambda sch, loop: sch.write_at(loop, "C", 0, "local")),
        (COPIED_AGAIN, lambda sch, loop: sch.reverse_compute_at("D", loop)),
    ],
)
def test_the_loop_around_takes_it(
    program: str, move: Callable[[tir.Schedule, object], object]
) -> None:
    sch = tir.Schedule(ls.from_source(program))
    move(sch, sch.get_loops("C")[-2])
    assert sch.verify()


@pytest.mark.parametrize(
    "schedule",
    [
        lambda sch: None,
        lambda sch: sch.decompose_reduction("C", "k"),
        lambda sch: sch.decompose_reduction("C", "j"),
        lambda sch: sch.blockize("k"),
        lambda sch: sch.split("k", [None, 2]),
        lambda sch: sch.split("k", [5, None]),
        lambda sch: [sch.split("j", [3, None]), sch.read_at("k", "C", 0, "local")],
        lambda sch: sch.read_at("k", "C", 0, "local"),
    ],
)
def test_a_condition_on_the_reduction_alone_says_which_updates_there_are(
    schedule: Callable[[tir.Schedule], object],
) -> None:
    func = ls.from_source("""
@T.prim_func
def main(a: T.handle, c: T.handle):
    m = T.int32()
    A = T.match_buffer(a, (4, m))
    C = T.match_buffer(c, (4,))
    for j, k in T.grid(4, m):
        with T.block("C"):
            vj, vk = T.axis.remap("SR", [j, k])
            T.where(k < m - 1)
            with T.init():
                C[vj] = T.float32(1)
            C[vj] = C[vj] + A[vj, vk]
""")
    sch = tir.Schedule(func)
    schedule(sch)
    assert sch.verify()
    kernel = ls.build(sch)
    for m in (0, 1, 2, 6):
        for run in (kernel, lambda *given: ls.interp.run(sch.func, *given)):
            c = np.full(4, 7, "float32")
            run(np.ones((4, m), "float32"), c)
            # There is nothing to reduce at 0; at 1, the first instance does not run.
            np.testing.assert_array_equal(c, 7 if m == 1 else max(m, 1))


@pytest.mark.parametrize(
    ("binding", "extent", "sums"),
    [("k % 8", 16, 8), ("k * k // 2", 3, 2), ("k // 2", 4, 3), ("7 - k", 8, 1)],
)
def test_an_init_runs_in_each_instance_at_the_start_of_its_axes(
    binding: str, extent: int, sums: int
) -> None:
    func = ls.from_source(f"""
@T.prim_func
def main(A: T.Buffer((4, 8)), C: T.Buffer((4,))):
    for j, k in T.grid(4, {extent}):
        with T.block("C"):
            vj = T.axis.spatial(4, j)
            vk = T.axis.reduce(8, {binding})
            with T.init():
                C[vj] = T.float32(0)
            C[vj] = C[vj] + A[vj, vk]
""")
    runs = [ls.build(func), ls.build(func, default_schedule=False)]
    for run in (*runs, lambda *given: ls.interp.run(func, *given)):
        c = np.full(4, 7, "float32")
        run(np.ones((4, 8), "float32"), c)
        np.testing.assert_array_equal(c, sums)


@pytest.mark.parametrize("order", ["k, i", "i, k"])
def test_inits_of_results_that_share_elements_come_between_their_updates(order: str) -> None:
    func = ls.from_source(f"""
@T.prim_func
def main(A: T.Buffer((4, 8)), C: T.Buffer((2,))):
    for {order} in T.grid({"8, 4" if order == "k, i" else "4, 8"}):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi // 2] = T.float32(0)
            C[vi // 2] = C[vi // 2] + A[vi, vk]
""")
    for default in (True, False):
        c = np.full(2, 7, "float32")
        ls.build(func, default_schedule=default)(np.ones((4, 8), "float32"), c)
        np.testing.assert_array_equal(c, 15 if order == "k, i" else 8)


@pytest.mark.parametrize("extent", ["1", "m"])
def test_a_condition_on_repetitions_of_a_reduction_starts_it_once(extent: str) -> None:
    func = ls.from_source(f"""
@T.prim_func
def main(a: T.handle, c: T.handle, m: T.int32):
    A = T.match_buffer(a, (4, 8))
    C = T.match_buffer(c, (4,))
    for j, u, k in T.grid(4, 3, 16):
        with T.block("C"):
            vj = T.axis.spatial(4, j)
            vk = T.axis.reduce(8, k % 8)
            T.where(u * 2 + k // 8 < {extent})
            with T.init():
                C[vj] = T.float32(1)
            C[vj] = C[vj] + A[vj, vk]
""")
    for run in (ls.build(func), lambda *given: ls.interp.run(func, *given)):
        c = np.zeros(4, "float32")
        run(np.ones((4, 8), "float32"), c, 1)
        np.testing.assert_array_equal(c, 9)


@pytest.mark.parametrize("m", [0, 1, 5, 8])
@pytest.mark.parametrize("is_decomposed", [False, True])
def test_partial_results_of_nothing_give_the_init(m: int, is_decomposed: bool) -> None:
    """The loop over parts has its iterations where the loop over steps has none."""
    sch = tir.Schedule(ls.from_source(SUMS))
    _, part = sch.split("k", [None, 4])
    partial = sch.rfactor(part, 0)
    if is_decomposed:
        for block in (partial, sch.get_block("C")):
            sch.decompose_reduction(block, sch.get_loops(block)[1])
    a = np.arange(3 * m, dtype="float32").reshape(3, m)
    for run in (lambda *arrays: ls.interp.run(sch.func, *arrays), ls.build(sch)):
        c = np.full(3, 7, "float32")
        run(a, c, 3, m)
        np.testing.assert_array_equal(c, 1 + a.sum(1))
