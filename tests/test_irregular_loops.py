# SPDX-License-Identifier: Apache-2.0
"""Updates through computed indices, reductions in levels, layouts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import tir


def program(parameters: str, body: str) -> tir.PrimFunc:
    """Return a function of that body."""
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return ls.from_source(f"@T.prim_func\ndef main({parameters}):\n{lines}\n")


def refusal(func: tir.PrimFunc, step: Callable[[tir.Schedule], object]) -> str:
    """Return the code and the problem of the refusal of a step."""
    with pytest.raises(ls.ScheduleError) as caught:
        step(tir.Schedule(func))
    return f"{caught.value.code}: {str(caught.value).splitlines()[0]}"


def histogram(bins: int, dtype: str = "int32", rows: int = 8, columns: int = 500) -> tir.PrimFunc:
    """Return the counts of the numbers in a matrix."""
    return program(
        f'A: T.Buffer(({rows}, {columns}), "int32"), H: T.Buffer(({bins},), "{dtype}")',
        f"""
for p in range({rows}):
    for i in range({columns}):
        H[A[p, i]] = H[A[p, i]] + T.{dtype}(1)
""",
    )


def numbers(bins: int, rows: int = 8, columns: int = 500) -> np.ndarray:
    """Return random bins, most of them the first ones."""
    generator = np.random.default_rng(3)
    return np.minimum(generator.zipf(1.5, (rows, columns)) - 1, bins - 1).astype("int32")


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_iterations_count_into_copies_of_their_own(dtype: str, target: str) -> None:
    sch = tir.Schedule(histogram(64, dtype))
    start, merge = sch.privatize("p", "H")
    sch.parallel("p")
    assert [start.name, merge.name] == ["H_start", "H_merge"]
    assert sch.verify()
    given, counts = numbers(64), np.full(64, 5, dtype)
    ls.build(sch, target)(given, counts)
    np.testing.assert_array_equal(counts, np.bincount(given.ravel(), minlength=64) + 5)


def test_what_is_updated_in_common_is_found() -> None:
    func = program(
        'A: T.Buffer((8, 50), "int32"), H: T.Buffer((9,), "int32"), M: T.Buffer((4,), "int32"), '
        'R: T.Buffer((8,), "int32")',
        """
for p in range(8):
    for i in range(50):
        H[A[p, i] % 9] = H[A[p, i] % 9] + A[p, i]
        M[i % 4] = T.max(M[i % 4], A[p, i])
        R[p] = R[p] + A[p, i]
""",
    )
    sch = tir.Schedule(func)
    assert [block.name for block in sch.privatize("p")] == [
        "H_start", "H_merge", "M_start", "M_merge",
    ]  # fmt: skip
    sch.parallel("p")
    assert sch.verify()


def test_loops_beside_the_one_that_has_copies_stay() -> None:
    sch = tir.Schedule(
        program(
            'P: T.Buffer((30,), "int32"), X: T.Buffer((30,), "int32"), Y: T.Buffer((30,), "int32"),'
            'W: T.Buffer((8,), "int32"), n: T.int32',
            """
for i in range(30):
    W[P[i]] = W[P[i]] + X[i]
    Y[0] = Y[0] + X[i]
for j in range(n):
    for q in range(n):
        X[j] = X[j] + 1
    Y[j] = Y[j] * 2
""",
        )
    )
    sch.privatize("i")
    assert "Y[j] = Y[j] * 2" in sch.func.script()
    assert sch.verify().answer == "same"


def test_copies_of_memory_that_was_not_set_leave_it_alone() -> None:
    func = program(
        'A: T.Buffer((4, 8), "int32"), B: T.Buffer((4,), "int32")',
        """
H = T.alloc_buffer((16,), "int32")
for b in range(4):
    H[b] = 0
for p in range(4):
    for i in range(8):
        H[A[p, i] % 4] = H[A[p, i] % 4] + 1
for b in range(4):
    B[b] = H[b]
""",
    )
    sch = tir.Schedule(func)
    sch.privatize("p", "H")
    assert sch.verify()
    given, counts = numbers(4, 4, 8), np.zeros(4, "int32")
    ls.interp.run(sch.func, given, counts)
    np.testing.assert_array_equal(counts, np.bincount(given.ravel(), minlength=4))


def test_copies_inside_of_a_block_stay_within_what_it_writes() -> None:
    sch = tir.Schedule(
        program(
            'A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")',
            """for i, k in T.grid(4, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] = C[vi] + A[vi, vk]""",
        )
    )
    sch.blockize("k")
    sch.privatize("k")
    assert sch.verify().answer == "same"
    assert "T.writes(C[v0])" in sch.func.script()
    assert "for ax0, ax1 in T.grid(1, 8):" in sch.func.script()
    sch.parallel("i")
    assert sch.verify().answer == "same"


def test_blocks_update_copies_by_an_axis_of_their_own() -> None:
    func = program(
        'A: T.Buffer((6, 40), "int32"), H: T.Buffer((10,), "float32")',
        """
for p, i in T.grid(6, 40):
    with T.block("H"):
        vp, vi = T.axis.remap("RR", [p, i])
        H[A[vp, vi] % 10] = H[A[vp, vi] % 10] + T.float32(1)
""",
    )
    sch = tir.Schedule(func)
    sch.privatize("p")
    sch.parallel("p")
    assert sch.verify()


def test_privatize_refuses_what_is_no_update() -> None:
    two = 'A: T.Buffer((8,), "int32"), H: T.Buffer((8,), "int32")'
    reads = program(two, "for p in range(8):\n    H[A[p]] = H[A[p]] + H[0]")
    assert refusal(reads, lambda sch: sch.privatize("p", "H")) == (
        "loop_only_updates: privatize: loop p does not only update H: an update reads an element"
    )
    mixed = program(
        two, "for p in range(8):\n    H[A[p]] = H[A[p]] + 1\n    H[0] = T.max(H[0], A[p])"
    )
    assert refusal(mixed, lambda sch: sch.privatize("p", "H")) == (
        "loop_only_updates: privatize: loop p does not only update H: updates are of several kinds"
    )
    stores = program(two, "for p in range(8):\n    H[A[p]] = 3")
    assert refusal(stores, lambda sch: sch.privatize("p", "H")).endswith(
        "it stores an element that is no sum, product or extreme of what was there"
    )
    looks = program(two, "for p in range(8):\n    if H[p] > 2:\n        H[p] = H[p] + 1")
    assert refusal(looks, lambda sch: sch.privatize("p", "H")).endswith("it reads an element")
    assert refusal(looks, lambda sch: sch.privatize("p", "A")).endswith(
        "loop p does not only update A: it does not update it at all"
    )
    assert refusal(looks, lambda sch: sch.privatize("p", "X")).endswith(
        "loop p does not only update X: no buffer of that name is defined around it"
    )
    apart = program(two, "for p in range(8):\n    H[p] = H[p] + A[p]")
    assert refusal(apart, lambda sch: sch.privatize("p")) == (
        "loop_only_updates: privatize: no two iterations of loop p update one element of a buffer"
    )

    def in_parallel(sch: tir.Schedule) -> None:
        sch.parallel("p")
        sch.privatize("p", "H")

    assert refusal(apart, in_parallel) == (
        "loop_is_serial: privatize: loop p is parallel, not serial"
    )


def test_copies_reassociate_sums_of_floats() -> None:
    sch = tir.Schedule(histogram(64, "float32"), allow_reassociation=False)
    with pytest.raises(ls.ScheduleError, match="reduction H would combine its elements"):
        sch.privatize("p")
    tir.Schedule(histogram(64, "int32"), allow_reassociation=False).privatize("p")


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint32"])
def test_updates_are_atomic_where_the_schedule_says_so(dtype: str, target: str) -> None:
    sch = tir.Schedule(histogram(16, dtype))
    sch.atomic("p")
    text = ls.lower(sch).script()
    assert "atomic_add" in text and "_parts" not in text
    assert sch.verify()
    given, counts = numbers(16), np.zeros(16, dtype)
    ls.build(sch, target)(given, counts)
    np.testing.assert_array_equal(counts, np.bincount(given.ravel(), minlength=16))


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "float64"])
@pytest.mark.parametrize("update", ["H[A[i]] -= W[i]", "H[A[i]] = H[A[i]] - W[i] - W[i] + W[i]"])
def test_what_is_taken_away_is_taken_atomically(update: str, dtype: str, target: str) -> None:
    func = program(
        f'A: T.Buffer((4000,), "int32"), W: T.Buffer((4000,), "{dtype}"), '
        f'H: T.Buffer((16,), "{dtype}")',
        f"for i in range(4000):\n    {update}",
    )
    sch = tir.Schedule(func)
    sch.atomic("i")
    assert "atomic_add" in ls.lower(sch).script()
    given, taken, left = numbers(16).ravel(), np.arange(4000).astype(dtype), np.zeros(16, dtype)
    expected = left.copy()
    np.subtract.at(expected, given, taken)
    ls.build(sch, target)(given, taken, left)
    np.testing.assert_array_equal(left, expected)


def test_branches_that_select_are_atomic() -> None:
    func = program(
        'A: T.Buffer((4000,), "int32"), W: T.Buffer((4000,), "int32"), H: T.Buffer((16,), "int32")',
        "for i in range(4000):\n    if W[i] > H[A[i]]:\n        H[A[i]] = W[i]",
    )
    sch = tir.Schedule(func)
    sch.atomic("i")
    assert "atomic_max" in ls.lower(sch).script()
    given, weights, largest = (
        numbers(16).ravel(),
        np.arange(4000, dtype="int32"),
        np.zeros(16, "i4"),
    )
    expected = largest.copy()
    np.maximum.at(expected, given, weights)
    ls.build(sch)(given, weights, largest)
    np.testing.assert_array_equal(largest, expected)


def test_parts_of_equal_work_say_how_to_run_at_once() -> None:
    sch = tir.Schedule(
        program(
            'S: T.Buffer((33,), "int32"), V: T.Buffer((900,)), Y: T.Buffer((32,))',
            """
for i in range(32):
    Y[i] = T.float32(0)
    for k in range(S[i], S[i + 1]):
        Y[i] = Y[i] + V[k]
""",
        )
    )
    parts, _ = sch.inspect_split("i", parts=4)
    with pytest.raises(ls.ScheduleError, match="parallelize the loop that inspect_split cuts"):
        sch.parallel(parts)


def test_counts_have_copies_where_these_cost_less() -> None:
    few, many = tir.Schedule(histogram(16)), tir.Schedule(histogram(65536))
    few.parallel("p")
    many.parallel("p")
    assert "atomic_add" not in ls.lower(few).script()
    assert "atomic_add" in ls.lower(many).script()


def test_atomic_refuses_other_updates() -> None:
    assert refusal(histogram(16, "float16"), lambda sch: sch.atomic("p")).startswith(
        "updates_can_be_atomic: atomic: what iterations of loop p update in common are not sums, "
        "or extremes or bits of integers, of 32 or 64 bits"
    )


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_of_floats_are_atomic_on_request_alone(dtype: str, target: str) -> None:
    asked, parallel = tir.Schedule(histogram(65536, dtype)), tir.Schedule(histogram(65536, dtype))
    asked.atomic("p")
    parallel.parallel("p")
    assert "atomic_add" in ls.lower(asked).script()
    assert "atomic_add" not in ls.lower(parallel).script()
    assert asked.verify()
    given, counts = numbers(16), np.zeros(65536, dtype)
    ls.build(asked, target)(given, counts)
    np.testing.assert_array_equal(counts, np.bincount(given.ravel(), minlength=65536))
    strict = tir.Schedule(histogram(16, dtype), allow_reassociation=False)
    with pytest.raises(ls.ScheduleError, match="reduction H would combine its elements"):
        strict.atomic("p")


def sums_of_rows(extent: int, dtype: str = "float32") -> tir.PrimFunc:
    """Return the sums of the rows of a matrix."""
    return program(
        f'A: T.Buffer((5, {extent}), "{dtype}"), C: T.Buffer((5,), "{dtype}")',
        f"""
for i, k in T.grid(5, {extent}):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.{dtype}(0)
        C[vi] = C[vi] + A[vi, vk]
""",
    )


@pytest.mark.parametrize("factors", [[None, 8], [None, 8, 4], [2, None, 4], [4, 4, 2, None]])
@pytest.mark.parametrize("extent", [256, 100, 7])
def test_levels_combine_what_those_before_have_made(extent: int, factors: list[int | None]) -> None:
    sch = tir.Schedule(sums_of_rows(extent))
    blocks = sch.tree_reduce("k", factors)
    assert len(blocks) == len(factors)
    assert blocks[-1].name == "C" and blocks[0].name.startswith("C_rf")
    assert sch.verify()
    given, found = np.random.default_rng(0).random((5, extent), "float32"), np.zeros(5, "float32")
    ls.build(sch)(given, found)
    np.testing.assert_allclose(found, given.sum(1), rtol=1e-5)


def test_tree_reduce_refuses_what_makes_no_tree() -> None:
    assert refusal(sums_of_rows(64), lambda sch: sch.tree_reduce("k", [8])) == (
        "arguments_fit: tree_reduce: 1 factors make no tree of loop k"
    )
    assert refusal(sums_of_rows(64), lambda sch: sch.tree_reduce("i", [None, 5])).startswith(
        "loop_is_of_reduction: tree_reduce: loop i is bound to no reduction axis of"
    )
    assert refusal(sums_of_rows(64), lambda sch: sch.tree_reduce("k", [2, 4])).startswith(
        "arguments_fit"
    )
    strict = tir.Schedule(sums_of_rows(64), allow_reassociation=False)
    with pytest.raises(ls.ScheduleError, match="reduction"):
        strict.tree_reduce("k", [None, 8])
    tir.Schedule(sums_of_rows(64, "int32"), allow_reassociation=False).tree_reduce("k", [None, 8])


def test_tree_reduce_says_how_plain_loops_become_blocks() -> None:
    sch = tir.Schedule(
        program(
            "A: T.Buffer((100,)), B: T.Buffer((1,))",
            """
B[0] = T.float32(0)
for k in range(100):
    B[0] = B[0] + A[k]
""",
        )
    )
    with pytest.raises(ls.ScheduleError, match=r"fix: sch\.normalize_nest\("):
        sch.tree_reduce("k", [None, 8, 4])
    sch.normalize_nest("k")
    sch.tree_reduce("k", [None, 8, 4])
    assert sch.verify()


STAGES = (
    'A: T.Buffer((12, 20), "float32"), C: T.Buffer((12, 20), "float32")',
    """
B = T.alloc_buffer((12, 20))
for i, j in T.grid(12, 20):
    B[i, j] = A[i, j] + T.float32(1)
for i, j in T.grid(12, 20):
    C[i, j] = B[i, j] * T.float32(2)
""",
)


@pytest.mark.parametrize(
    "layout",
    [
        lambda i, j: (j, i),
        lambda i, j: (i // 4, j // 4, i % 4, j % 4),
        lambda *indices: indices[::-1],
        lambda i, j: (i * 20 + j,),
        lambda i, j: (i, (j + i) % 20),
        lambda i, j: ((j * 5 - i) % 12, j),
        lambda i, j: (i, j // 4, tir.bitwise_xor(j % 4, i % 4)),
        lambda i, j: (i, (j // 4 + i) % 5 * 4 + j % 4),
    ],
)
def test_elements_lie_elsewhere_and_loops_stay(layout: Callable[..., object]) -> None:
    sch = tir.Schedule(program(*STAGES))
    before = [line for line in sch.func.script().splitlines() if " in T.grid" in line]
    sch.set_layout("B", layout)
    assert before == [line for line in sch.func.script().splitlines() if " in T.grid" in line]
    assert sch.verify()
    given, found = np.random.default_rng(0).random((12, 20), "float32"), np.zeros((12, 20), "f")
    ls.build(sch)(given, found)
    np.testing.assert_allclose(found, (given + 1) * 2, rtol=1e-6)


def test_swizzles_of_unknown_sizes_are_inverted() -> None:
    func = program(
        "a: T.handle, c: T.handle, n: T.int32",
        """
A = T.match_buffer(a, (6, n), "float32")
C = T.match_buffer(c, (6, n), "float32")
B = T.alloc_buffer((6, n))
for i, j in T.grid(6, n):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] + T.float32(1)
for i, j in T.grid(6, n):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[5 - vi, vj]
""",
    )
    sch = tir.Schedule(func)
    sch.transform_layout("B", ("write", 0), lambda i, j: (i, (j + i) % n_of(func)))
    built = ls.build(sch)
    for n in (0, 1, 5, 33):
        given = np.random.default_rng(n).random((6, n), "float32")
        found = np.zeros((6, n), "float32")
        built(given, found, n)
        np.testing.assert_allclose(found, given[::-1] + 1, rtol=1e-6)


def n_of(func: tir.PrimFunc) -> tir.Var:
    """Return the last parameter."""
    return func.params[-1]


def test_padding_is_filled_after_the_last_writer() -> None:
    sch = tir.Schedule(program(*STAGES))
    sch.set_layout("B", lambda i, j: (i // 8, j, i % 8), pad=0)
    assert "B = T.alloc_buffer((2, 20, 8))" in sch.func.script()
    assert "buffer_B_padding" in sch.func.script()
    assert sch.verify()
    replayed = tir.Schedule(program(*STAGES))
    sch.trace.apply_to_schedule(replayed)
    assert ls.structural_equal(replayed.func, sch.func)


def test_set_layout_refuses_what_it_cannot_keep() -> None:
    func = program(*STAGES)
    assert refusal(
        func, lambda sch: sch.set_layout("B", lambda i, j: (i, (j * 2 + i) % 20))
    ).startswith(
        "index_map_is_injective: set_layout: the index map may take two elements of buffer B to one"
    )
    assert refusal(func, lambda sch: sch.set_layout("X", lambda i: i)) == (
        "name_is_known: set_layout: the function has no buffer X; it has A, C, B"
    )
    assert refusal(func, lambda sch: sch.set_layout("B", lambda i, j: (i // 8, j, i % 8))) == (
        "padding_has_a_value: set_layout: the index map pads buffer B to shape (2, 20, 8), "
        "wherever axis0 == 1 and 3 < axis2"
    )
