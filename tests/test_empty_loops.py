# SPDX-License-Identifier: Apache-2.0
"""What holds inside of a loop alone is not used where the loop does not run."""

from __future__ import annotations

import gpu_devices
import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812

AFTER = {
    "index": "C[T.if_then_else(a < b, 1, 2), 3] = 2",
    "extremes": "C[T.max(a, b), T.min(a, b)] = 7",
    "condition": """
    for j in range(16):
        if j < T.if_then_else(a < b, 3, 9):
            C[j, 5] = 4
""",
    "other_loop": """
    for j in range(b, a):
        C[j, 1] += T.if_then_else(b < a, 3, 4)
""",
    "lanes": """
    for j in T.vectorized(16):
        C[j, 2] = T.if_then_else(j < T.max(a, b), T.Select(a < b, 5, 6), B[T.max(a, b) - 1])
""",
}
WITHIN = {
    "last": "if i >= b - 1:\n            C[i, 0] = 7",
    "all_but_the_last": "if i < b - 1:\n            C[i, 0] = 7",
    "first": "if i <= a:\n            C[i, 0] = 7\n        if i + 1 >= b:\n            C[i, 1] = 3",
    "middle": "if i > a:\n            if i < b - 1:\n                C[i, 0] = B[i - 1] + B[i + 1]",
}


ENDS = ((3, 8), (8, 3), (1, 15), (15, 1), (5, 5), (6, 5), (5, 6), (14, 2))


def compare(kind: str, within: str, after: str) -> None:
    func = ls.from_source(f"""
@T.prim_func
def main(a: T.int32, b: T.int32, B: T.Buffer((17,), "int32"), C: T.Buffer((16, 16), "int32")):
    for i in T.{kind}(a, b):
        {within}
    {after}
""")
    kernel = ls.build(func)
    for a, b in ENDS:
        found = [np.arange(17, dtype="int32"), np.zeros((16, 16), "int32")]
        expected = [one.copy() for one in found]
        kernel(a, b, *found)
        ls.interp.run(func, a, b, *expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, f"a = {a}, b = {b}")


def agree(source: str, *scalars: tuple[int, ...]) -> None:
    """Compare a program of scalars and C with itself, lowered and compiled."""
    func = ls.from_source(source)
    kernel, lowered = ls.build(func), ls.lower(func)
    for some in scalars:
        expected, lower, found = (np.zeros((16, 16), "int32") for _ in range(3))
        ls.interp.run(func, *some, expected)
        ls.interp.run(lowered, *some, lower)
        np.testing.assert_array_equal(lower, expected, f"{some}, lowered")
        kernel(*some, found)
        np.testing.assert_array_equal(found, expected, f"{some}")


@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize("after", AFTER)
def test_nothing_is_known_after_a_loop_that_did_not_run(kind: str, after: str) -> None:
    compare(kind, "B[i] = 1", AFTER[after])


@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize("within", WITHIN)
def test_parts_of_a_loop_run_where_the_loop_does(kind: str, within: str) -> None:
    compare(kind, WITHIN[within], "C[0, 0] += 1")


def test_a_loop_whose_extent_is_far_below_zero_does_not_run() -> None:
    """Its variable fits into 32 bits, what it is made of does not."""
    agree(
        """
@T.prim_func
def main(a: T.int64, b: T.int64, C: T.Buffer((16, 16), "int32")):
    for i in range(T.min(T.max(a, T.int64(0)), T.int64(5)), T.min(b, T.int64(10))):
        C[i, 0] += 1
""",
        *[(1, b) for b in (7, 1, 0, -5, 7 - 2**32, 50 - 2**40, 1 + 2**32)],
    )


def test_a_difference_is_as_wide_behind_a_loop_as_before() -> None:
    agree(
        """
@T.prim_func
def main(a: T.int64, b: T.int64, C: T.Buffer((16, 16), "int32")):
    for i in range(a, b):
        for j in range(b, a + T.int64(10)):
            C[j - i, 0] += 1
    C[T.max(T.min(a - b, T.int64(15)), T.int64(0)), 1] = 1
""",
        *[(0, b) for b in (3, 9, -1, -(2**32) + 5)],
    )


@pytest.mark.parametrize(
    ("types", "scalars"),
    [
        (("int64", "int64"), [(0, b) for b in (3, 9, -1, -(2**32) + 5)]),
        (("int32", "int32"), [(0, 3), (50000, -50000), (-50000, 50000)]),
        (("int32", "int64"), [(3, 2), (3, 0), (-3, 2**62)]),
    ],
)
def test_loops_far_below_zero_fuse_into_one_that_does_not_run(
    types: tuple[str, str], scalars: list[tuple[int, int]]
) -> None:
    """The product of their extents is no number of their type."""
    outer, inner = types
    loops = ("a, b", "b, a + T.int64(10)") if outer == inner == "int64" else ("a", "b")
    sch = tir.Schedule(
        ls.from_source(f"""
@T.prim_func
def main(a: T.{outer}, b: T.{inner}, C: T.Buffer((16, 16), "int32")):
    for i in range({loops[0]}):
        for j in range({loops[1]}):
            C[T.Cast("int32", T.max(T.min(j - i, 15), 0)), 0] += 1
""")
    )
    sch.fuse("i", "j")
    agree(sch.func.script(), *scalars)


def test_memory_is_as_large_as_where_a_loop_did_not_run() -> None:
    agree(
        """
@T.prim_func
def main(a: T.int32, b: T.int32, C: T.Buffer((16, 16), "int32")):
    S = T.alloc_buffer((64,), "int32")
    for i in range(a, b):
        C[i, 0] = 1
    for j in range(8):
        S[j + T.max(a, b)] = j
    for j in range(8):
        C[j, 1] = S[j + T.max(a, b)]
""",
        *ENDS,
    )


def test_memory_of_a_loop_that_may_not_run_may_be_none() -> None:
    agree(
        """
@T.prim_func
def main(a: T.int32, b: T.int32, C: T.Buffer((16, 16), "int32")):
    for i in T.parallel(100):
        for j in range(a, b):
            C[j, 0] += i
    S = T.alloc_buffer((T.max(b, 0) + 100,), "int32")
    for i in range(a, b):
        S[i] = i
    for i in range(a, b):
        C[i, 1] = S[b - 1 - i + a]
""",
        *ENDS,
        (100, -(1 << 30)),
    )


def test_vectors_take_no_iterations_of_a_loop_that_ends_before_it_starts() -> None:
    agree(
        """
@T.prim_func
def main(a: T.int32, b: T.int32, C: T.Buffer((16, 16), "int32")):
    for i in T.vectorized(a, b):
        C[i % 16, 0] = i
    for i in T.vectorized(a, b, 3):
        C[i % 16, 1] = i
    for i in T.vectorized(b, a, -2):
        C[i % 16, 2] = i
""",
        *ENDS,
        (15, -9),
    )


def test_memory_is_filled_only_where_loops_run() -> None:
    """What a round reads of S, it wrote itself only where a < b."""
    agree(
        """
@T.prim_func
def main(a: T.int32, b: T.int32, C: T.Buffer((16, 16), "int32")):
    S = T.alloc_buffer((16,), "int32")
    for i in range(a, b):
        C[i, 15] = 1
    for t in range(3):
        if t == 0:
            for k in range(16):
                S[k] = 7
        for k in range(b):
            S[k] = t
        for k in range(T.max(a, b)):
            C[t, k] += S[k]
""",
        *ENDS,
    )


def test_an_element_is_left_alone_where_a_reduction_has_nothing_to_add() -> None:
    """The element may be updated by no iteration."""
    func = ls.from_source("""
@T.prim_func
def main(n: T.int32, p: T.int32, A: T.Buffer((64,), "float32"), C: T.Buffer((16,), "float32")):
    for i in range(n):
        for k in T.vectorized(8):
            C[p] = C[p] + A[i * 8 + k]
""")
    kernel = ls.build(func)
    a, c = np.ones(64, "float32"), np.zeros(16, "float32")
    kernel(0, 1 << 28, a, c)
    kernel(-3, -(1 << 28), a, c)
    assert not c.any()
    kernel(4, 3, a, c)
    assert c[3] == 32


EMPTY_NEST = """
@T.prim_func
def main(a: T.int32, b: T.int32, C: T.Buffer((16, 16), "int32")):
    for i in range(a, b):
        for j in range(a + 1, b - 1):
            with T.block("C"):
                vi = T.axis.spatial((a, b), i)
                vj = T.axis.spatial((a + 1, b - 1), j)
                C[vi, vj] = vi * 16 + vj
"""
ONE_EMPTY_LOOP = EMPTY_NEST.replace("(a, b", "(0, 16")


@pytest.mark.parametrize("source", [EMPTY_NEST, ONE_EMPTY_LOOP])
def test_nests_of_blocks_run_no_more_often_than_their_loops(source: str) -> None:
    agree(source, *ENDS)
    sch = ls.tir.Schedule(ls.from_source(source))
    sch.fuse(*sch.get_loops("C"))
    for a, b in ENDS:
        expected, found = (np.zeros((16, 16), "int32") for _ in range(2))
        ls.interp.run(ls.from_source(source), a, b, expected)
        ls.interp.run(sch.func, a, b, found)
        np.testing.assert_array_equal(found, expected, f"a = {a}, b = {b}")


@pytest.mark.parametrize("element", ["A[vi, vk]", "A[vk, vi]", "A[vi, vk] * A[vj, vk]"])
def test_reductions_combine_nothing_where_their_loops_do_not_run(element: str) -> None:
    func = ls.from_source(f"""
@T.prim_func
def main(a: T.int32, b: T.int32, A: T.Buffer((64, 64), "int32"), C: T.Buffer((64, 64), "int32")):
    for i in range(64):
        for j in range(a, 40):
            for k in range(a, b):
                with T.block("C"):
                    vi = T.axis.spatial(64, i)
                    vj = T.axis.spatial((a, 40), j)
                    vk = T.axis.reduce((a, b), k)
                    with T.init():
                        C[vi, vj] = 0
                    C[vi, vj] = C[vi, vj] + {element}
""")
    kernel = ls.build(func)
    given = np.arange(64 * 64, dtype="int32").reshape(64, 64)
    for a, b in ((34, 8), (63, 0), (45, 60), (8, 34), (20, 20)):
        expected, found = (np.zeros((64, 64), "int32") for _ in range(2))
        ls.interp.run(func, a, b, given.copy(), expected)
        kernel(a, b, given.copy(), found)
        np.testing.assert_array_equal(found, expected, f"a = {a}, b = {b}")


@T.prim_func
def beyond_the_end(A: T.Buffer((8, 64), "float32")) -> None:
    for i in range(8):
        for k in T.vectorized(i, 5):
            A[i, k] = T.float32(1)


def test_lanes_of_a_loop_that_ends_before_it_starts_do_nothing():
    a = np.zeros((8, 64), "float32")
    ls.build(beyond_the_end)(a)
    expected = np.zeros((8, 64), "float32")
    for i in range(5):
        expected[i, i:5] = 1
    np.testing.assert_array_equal(a, expected)


BESIDE_THREADS = """
@T.prim_func
def main(A: T.Buffer((2, 4), "int32"), B: T.Buffer((2, 4, 8), "int32"), n: T.int32):
    for b in T.thread_binding(2, thread="blockIdx.x"):
        with T.block("block"):
            vb = T.axis.spatial(2, b)
            S = T.alloc_buffer((4,), "int32", scope="shared")
            for y in T.thread_binding(4, thread="threadIdx.y"):
                S[y] = A[vb, y] * 3
                for x in T.thread_binding(n, thread="threadIdx.x"):
                    B[vb, y, x] = S[3 - y] + x
                A[vb, y] = S[3 - y]
            for r in range(4):
                A[vb, r] = A[vb, r] + S[r]
"""


@pytest.mark.parametrize("count", [0, 1, 3, -2])
@pytest.mark.parametrize("target", ["interp", "opencl", "cuda"])
def test_statements_beside_threads_run_where_these_have_no_iterations(
    target: str, count: int
) -> None:
    func = ls.from_source(BESIDE_THREADS)
    a, b = np.arange(8, dtype="int32").reshape(2, 4), np.zeros((2, 4, 8), "int32")
    tripled, filled = a * 3, b.copy()
    for x in range(count):
        filled[:, :, x] = tripled[:, ::-1] + x
    expected = tripled[:, ::-1] + tripled
    if target == "interp":
        ls.interp.run(func, a, b, count)
    else:
        gpu_devices.require(target)
        ls.build(func, target=target)(a, b, count)
    assert (a == expected).all() and (b == filled).all()


def test_statements_beside_loops_that_are_bound_later_run_all_the_same() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((2,), "int32"), B: T.Buffer((2,), "int32")):
    for i in range(1):
        for j in range(0):
            B[0] = 1
        A[1] = 1
""")
    sch = tir.Schedule(func)
    sch.bind("i", "threadIdx.x")
    sch.bind("j", "threadIdx.y")
    assert sch.verify()


def nest(header: str, bounds: str, sizes: str = "100") -> tir.PrimFunc:
    """Return a loop inside of one that may not run, with bounds that read memory or divide."""
    return ls.from_source(
        f"@T.prim_func\n"
        f'def main(S: T.Buffer(({sizes},), "int32"), Y: T.Buffer((300,), "int32"), m: T.int32):\n'
        f"    for t in {header}:\n        for k in range({bounds}):\n            Y[k] = Y[k] + 1\n"
    )


@pytest.mark.parametrize("bounds", ["S[m - 1]", "S[S[0]]", "1, S[m * 50 - 50]", "100 // m"])
def test_bounds_are_not_evaluated_in_front_of_a_loop_that_may_not_run(bounds: str) -> None:
    func = nest("range(m)", bounds)
    for step in ("reorder", "fuse"):
        loops = ("k", "t") if step == "reorder" else ("t", "k")
        with pytest.raises(ls.ScheduleError) as caught:
            getattr(tir.Schedule(func), step)(*loops)
        assert caught.value.code == "bounds_are_known"
        assert str(caught.value).splitlines()[:2] == [
            f"{step}: the bounds of loop k may have no value where loop t has no iteration",
            "  hint: compute them before both loops: n = A[0], then range(n)",
        ]
    lowered = ls.lower(ls.default_schedule(func))
    for m in (0, 1, 2):
        expected, got = np.zeros(300, "int32"), np.zeros(300, "int32")
        ls.interp.run(func, np.full(100, 5, "int32"), expected, m)
        ls.interp.run(lowered, np.full(100, 5, "int32"), got, m)
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("header", "bounds", "sizes", "moves"),
    [
        ("range(3)", "S[m - 1]", "100", True),
        ("range(m)", "S[5]", "100", True),
        ("range(m)", "S[m - 1]", "m", False),
        ("range(m)", "S[m]", "m + 1", False),  # There is no S[-1].
        ("range(m)", "S[T.max(m, 0)]", "T.max(m, 0) + 1", True),
        ("range(m)", "100 // T.max(m, 1)", "100", True),
    ],
)
def test_bounds_move_in_front_of_a_loop_where_they_have_a_value(
    header: str, bounds: str, sizes: str, moves: bool
) -> None:
    for step, loops in (("reorder", ("k", "t")), ("fuse", ("t", "k"))):
        assert bool(tir.Schedule(nest(header, bounds, sizes)).can_apply(step, *loops)) == moves


def test_rows_of_a_sparse_matrix_are_read_in_front_of_columns_of_any_number() -> None:
    func = ls.from_source(
        """
@T.prim_func
def main(S: T.Buffer((m + 1,), "int32"), Y: T.Buffer((m, q), "int32"), m: T.int32, q: T.int32):
    for r in range(m):
        for c in range(q):
            for k in range(S[r], S[r + 1]):
                Y[r, c] = Y[r, c] + k
"""
    )
    tir.Schedule(func).reorder("k", "c")


def test_memory_that_only_an_inner_loop_sets_bounds_no_outer_one() -> None:
    func = ls.from_source(
        """
@T.prim_func
def main(Y: T.Buffer((300,), "int32"), m: T.int32):
    W = T.alloc_buffer((1,), "int32")
    for t in range(m % 3 - 1):
        W[0] = 7
        for k in range(W[0]):
            Y[k] = Y[k] + 1
"""
    )
    sch = tir.Schedule(func)
    _, second = sch.distribute("t")
    assert not sch.can_apply("reorder", "k", second)
