# SPDX-License-Identifier: Apache-2.0
"""Loops around others of different lengths, cut into parts of equal work."""

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


SPARSE = (
    'S: T.Buffer((33,), "int32"), V: T.Buffer((900,), "float32"), Y: T.Buffer((32,), "float32")',
    """
for i in range(32):
    Y[i] = T.float32(0)
    for k in range(S[i], S[i + 1]):
        Y[i] = Y[i] + V[k]
""",
)


def rows(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where rows start, values, and their sums."""
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype("int32")
    values = np.random.default_rng(0).random(900).astype("float32")
    sums = [values[a:b].sum() for a, b in zip(starts, starts[1:])]
    return starts, values, np.array(sums, "float32")


@pytest.mark.parametrize("parts", [1, 3, 40])
@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_parts_have_equal_work(kind: str, parts: int) -> None:
    sch = tir.Schedule(program(*SPARSE))
    if kind == "parallel":
        sch.parallel("i")
    part, row = sch.inspect_split("i", parts)
    assert (sch.get(part).kind, sch.get(row).kind) == (kind, "serial")
    for lengths in (np.full(32, 9), np.arange(32), np.r_[800, np.zeros(31, int)], np.zeros(32)):
        starts, values, sums = rows(lengths)
        found = np.full(32, -1, "float32")
        ls.build(sch)(starts, values, found)
        np.testing.assert_allclose(found, sums, rtol=1e-5)
        found[:] = -1
        ls.interp.run(sch.func, starts, values, found)
        np.testing.assert_allclose(found, sums, rtol=1e-5)


def test_the_work_of_parts_is_what_their_rows_hold() -> None:
    func = program(
        'S: T.Buffer((65,), "int32"), P: T.Buffer((64,), "int32")',
        """
for i in range(64):
    for k in range(S[i], S[i + 1]):
        P[i] = P[i] + 1
""",
    )
    sch = tir.Schedule(func)
    part, row = sch.inspect_split("i", 4)
    text = sch.func.script()
    assert f"for {row.name} in range(i_ends[{part.name}], i_ends[{part.name} + 1])" in text
    counted = tir.Schedule(
        program(
            'S: T.Buffer((65,), "int32"), P: T.Buffer((64,), "int32"), W: T.Buffer((4,), "int32")',
            "\n".join(
                line[4:].replace("P[i] = P[i] + 1", f"W[{part.name}] = W[{part.name}] + 1")
                for line in text.splitlines()
                if line.startswith("    ") and "T.reads" not in line and "T.writes" not in line
            ),
        )
    )
    lengths = np.random.default_rng(1).integers(0, 40, 64)
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype("int32")
    work = np.zeros(4, "int32")
    ls.interp.run(counted.func, starts, np.zeros(64, "int32"), work)
    assert work.sum() == lengths.sum()
    assert abs(work - work.mean()).max() <= 40 + 16


def test_inspect_split_refuses_loops_without_differences() -> None:
    even = program('A: T.Buffer((8, 8), "float32")', "for i, j in T.grid(8, 8):\n    A[i, j] = 0.0")
    assert refusal(even, lambda sch: sch.inspect_split("i", 4)) == (
        "costs_differ: inspect_split: no loop directly inside loop i has a number of iterations "
        "that differs and can be read before loop i runs"
    )
    changing = program(
        'N: T.Buffer((8,), "int32"), A: T.Buffer((8,), "int32")',
        "for i in range(8):\n    N[i] = A[i]\n    for k in range(N[i]):\n        A[i] = k",
    )
    assert refusal(changing, lambda sch: sch.inspect_split("i", 4)).startswith("costs_differ")
    assert refusal(program(*SPARSE), lambda sch: sch.inspect_split("i", 0)) == (
        "number_is_in_range: inspect_split: parts is 0, not within 1 and 65536"
    )
    nested = program(
        'S: T.Buffer((9,), "int32"), A: T.Buffer((4, 8), "int32")',
        """
for t in range(4):
    for i in range(8):
        for k in range(S[i], S[i + 1]):
            A[t, i] = A[t, i] + k
""",
    )

    def inside(sch: tir.Schedule) -> None:
        sch.parallel("t")
        sch.inspect_split("i", 4)

    assert refusal(nested, inside) == (
        "loop_is_outside_of_threads: inspect_split: loop i is inside of loop t, whose iterations "
        "run concurrently"
    )

    def in_lanes(sch: tir.Schedule) -> None:
        sch.unroll("i")
        sch.inspect_split("i", 4)

    assert refusal(nested, in_lanes) == (
        "loop_is_serial: inspect_split: loop i is neither serial nor parallel"
    )


def test_parts_are_counted_by_the_type_of_the_loop() -> None:
    body = "for i in range(T.int8(0), T.int8(32)):\n    for k in range(S[i], S[i + 1]):\n"
    func = program(SPARSE[0], body + "        Y[i] = Y[i] + V[k]")
    for cut in (False, True):
        assert refusal(
            func, lambda sch, cut=cut: sch.inspect_split("i", 127, cut_iterations=cut)
        ) == (
            "number_is_in_range: inspect_split: loop i has a variable of int8, which cannot "
            "count to 128"
        )
        sch = tir.Schedule(func)
        sch.inspect_split("i", 126, cut_iterations=cut)
        starts, values, sums = rows(np.arange(32))
        found = np.zeros(32, "float32")
        ls.build(sch)(starts, values, found)
        np.testing.assert_allclose(found, sums, rtol=1e-5)


LENGTHS = [
    np.full(32, 9),
    np.arange(32),
    np.r_[800, np.zeros(31, int)],
    np.r_[np.zeros(15, int), 700, np.full(16, 3)],
    np.zeros(32, int),
]


@pytest.mark.parametrize("parts", [1, 3, 40])
@pytest.mark.parametrize("kind", ["serial", "parallel"])
@pytest.mark.parametrize("lanes", [0, 8])
def test_parts_share_an_iteration(kind: str, parts: int, lanes: int) -> None:
    sch = tir.Schedule(program(*SPARSE))
    _, sums = sch.distribute("i")
    if kind == "parallel":
        sch.parallel(sums)
    sch.inspect_split(sums, parts, cut_iterations=True)
    if lanes:
        *_, aligned = sch.peel("k", align=lanes)
        sch.vectorize(sch.split(aligned, [None, lanes])[1])
    for lengths in LENGTHS:
        starts, values, expected = rows(lengths)
        found = np.full(32, -1, "float32")
        ls.build(sch)(starts, values, found)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        found[:] = -1
        ls.interp.run(sch.func, starts, values, found)
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize("cut", [False, True])
def test_rows_need_not_follow_each_other(cut: bool) -> None:
    func = program(
        'F: T.Buffer((32,), "int32"), L: T.Buffer((32,), "int32"),'
        'V: T.Buffer((900,), "float32"), Y: T.Buffer((32,), "float32")',
        "for i in range(32):\n    for k in range(F[i], F[i] + L[i]):\n        Y[i] = Y[i] + V[k]",
    )
    sch = tir.Schedule(func)
    sch.parallel("i")
    sch.inspect_split("i", 5, cut_iterations=cut)
    for lengths in LENGTHS:
        starts, values, expected = rows(lengths)
        found = np.zeros(32, "float32")
        backwards = [np.ascontiguousarray(each[::-1], "int32") for each in (starts[:-1], lengths)]
        ls.build(sch)(*backwards, values, found)
        np.testing.assert_allclose(found[::-1], expected, rtol=1e-5)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("parts", [1, 4, 50])
def test_rows_that_end_before_they_start_are_empty(cut: bool, parts: int) -> None:
    func = program(
        "s: T.handle, y: T.handle",
        """
n = T.int32()
S = T.match_buffer(s, (n + 1,), "int32")
Y = T.match_buffer(y, (n,), "int32")
for i in range(n):
    for k in range(S[i], S[i + 1]):
        Y[i] = Y[i] + k
""",
    )
    sch = tir.Schedule(func)
    sch.parallel("i")
    sch.inspect_split("i", parts, cut_iterations=cut)
    run = ls.build(sch)
    generator = np.random.default_rng(0)
    for n in (0, 1, 2, 30, 30, 30):
        starts = generator.integers(-40, 60, n + 1).astype("int32")
        found = np.zeros(n, "int32")
        run(starts, found)
        sums = [np.arange(a, b).sum() for a, b in zip(starts, starts[1:])]
        np.testing.assert_array_equal(found, np.array(sums, "int32"))


def test_blocks_are_left_where_parts_share_an_iteration() -> None:
    func = program(
        SPARSE[0],
        """
for i in range(32):
    for k in range(S[i], S[i + 1]):
        with T.block("Y"):
            row = T.axis.spatial(32, i)
            at = T.axis.opaque(900, k)
            T.where(V[k] > T.float32(0.5))
            Y[row] = Y[row] + V[at]
""",
    )
    sch = tir.Schedule(func)
    sch.parallel("i")
    sch.inspect_split("i", 5, cut_iterations=True)
    assert 'T.block("Y")' not in sch.func.script()
    assert sch.verify()
    for lengths in LENGTHS:
        starts, values, _ = rows(lengths)
        found = np.zeros(32, "float32")
        ls.build(sch)(starts, values, found)
        of_rows = [values[a:b] for a, b in zip(starts, starts[1:])]
        np.testing.assert_allclose(found, [row[row > 0.5].sum() for row in of_rows], rtol=1e-5)


def test_a_block_around_the_loop_inside_is_left_too() -> None:
    func = program(
        SPARSE[0],
        """
for i in range(32):
    with T.block("Y"):
        row = T.axis.spatial(32, i)
        for k in range(S[row], S[row + 1]):
            Y[row] = Y[row] + V[k]
""",
    )
    sch = tir.Schedule(func)
    sch.parallel("i")
    sch.inspect_split("i", 5, cut_iterations=True)
    assert sch.verify()
    for lengths in LENGTHS:
        starts, values, _ = rows(lengths)
        found = np.zeros(32, "float32")
        ls.build(sch)(starts, values, found)
        sums = [values[a:b].sum() for a, b in zip(starts, starts[1:])]
        np.testing.assert_allclose(found, sums, rtol=1e-5)


def test_rows_of_different_lengths_are_shared_by_default() -> None:
    func = program(
        "s: T.handle, v: T.handle, c: T.handle, x: T.handle, y: T.handle",
        """
n = T.int32()
m = T.int32()
S = T.match_buffer(s, (n + 1,), "int32")
V = T.match_buffer(v, (m,), "float32")
C = T.match_buffer(c, (m,), "int32")
X = T.match_buffer(x, (n,), "float32")
Y = T.match_buffer(y, (n,), "float32")
for i in range(n):
    Y[i] = T.float32(0)
    for k in range(S[i], S[i + 1]):
        Y[i] = Y[i] + V[k] * X[C[k]]
""",
    )
    trace = str(ls.default_schedule(func).trace)
    assert "cut_iterations=True" in trace and "uneven=True" in trace
    run = ls.build(func)
    generator = np.random.default_rng(0)
    for n, long in ((100_000, 3), (100_000, 50_000), (3, 300_000), (1, 3), (0, 0)):
        lengths = generator.integers(0, 7, n)
        lengths[n // 3 : n // 3 + 1] = long
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype("int32")
        columns = generator.integers(0, n, starts[-1]).astype("int32")
        values, x = (generator.random(size).astype("float32") for size in (starts[-1], n))
        found = np.ones(n, "float32")
        run(starts, values, columns, x, found)
        sums = np.concatenate([[0], np.cumsum(values.astype("float64") * x[columns])])
        np.testing.assert_allclose(found, np.diff(sums[starts]), rtol=1e-4, atol=1e-5)


def test_versions_ask_how_often_loops_inside_run_in_all() -> None:
    def versions(least: int, bounds: str = "S[i], S[i + 1]") -> tir.Schedule:
        func = program(
            's: T.handle, V: T.Buffer((900,), "float32"), y: T.handle',
            f"""
n = T.int32()
S = T.match_buffer(s, (n + 1,), "int32")
Y = T.match_buffer(y, (n,), "float32")
for i in range(n):
    for k in range({bounds}):
        Y[i] = Y[i] + V[k]
""",
        )
        sch = tir.Schedule(func)
        enough, _ = sch.version_loop("i", "k", least=[2, least])
        sch.parallel(enough)
        return sch

    text = versions(100).func.script()
    assert 'T.Cast("int64", S[n]) - T.Cast("int64", S[0]) >= T.int64(100)' in text
    for lengths in LENGTHS:
        starts, values, _ = rows(lengths)
        found = np.zeros(32, "float32")
        ls.build(versions(100))(starts, values, found)
        sums = [values[a:b].sum() for a, b in zip(starts, starts[1:])]
        np.testing.assert_allclose(found, sums, rtol=1e-5)
    ls.build(versions(100))(np.zeros(1, "int32"), np.zeros(900, "float32"), np.zeros(0, "float32"))
    with pytest.raises(ls.ScheduleError, match="the bounds of loop k are not known before loop i"):
        versions(100, "S[i]")


def test_shared_iterations_update_several_elements_under_conditions() -> None:
    func = program(
        'S: T.Buffer((33,), "int32"), V: T.Buffer((900,), "float32"),'
        'Y: T.Buffer((32, 2), "float32"), M: T.Buffer((32,), "float32")',
        """
for i in range(0, 32):
    for k in range(S[i], S[i + 1]):
        if V[k] > T.float32(0.5):
            Y[31 - i, 1] = Y[31 - i, 1] - V[k]
        M[i] = T.max(M[i], V[k])
""",
    )
    sch = tir.Schedule(func)
    sch.parallel("i")
    sch.inspect_split("i", 5, cut_iterations=True)
    for lengths in LENGTHS:
        starts, values, _ = rows(lengths)
        found, most = np.zeros((32, 2), "float32"), np.full(32, 0.25, "float32")
        ls.build(sch)(starts, values, found, most)
        of_rows = [values[a:b] for a, b in zip(starts, starts[1:])]
        sums = [-row[row > 0.5].sum() for row in of_rows]
        np.testing.assert_allclose(found[::-1, 1], sums, rtol=1e-5)
        assert not found[:, 0].any()
        np.testing.assert_array_equal(most, [np.max(row, initial=0.25) for row in of_rows])


def test_parts_end_where_equal_numbers_of_inner_iterations_do() -> None:
    func = program(
        'S: T.Buffer((65,), "int32"), Y: T.Buffer((64,), "int32")',
        "for i in range(64):\n    for k in range(S[i], S[i + 1]):\n        Y[i] = Y[i] + k",
    )
    sch = tir.Schedule(func)
    sch.inspect_split("i", 4, cut_iterations=True)
    body = [line[4:] for line in sch.func.script().splitlines() if line.startswith("    ")]
    counted = "\n".join(line for line in body if "T.reads" not in line and "T.writes" not in line)
    counted = counted.replace("+ k", "+ 1", 1)
    parameters = (
        'S: T.Buffer((65,), "int32"), Y: T.Buffer((64,), "int32"), W: T.Buffer((4,), "int32")'
    )
    lines = counted.splitlines()
    at = next(n for n, line in enumerate(lines) if "+ 1" in line and "Y_carry" in line)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at + 1, indent + "W[i_part] = W[i_part] + 1")
    lengths = np.r_[np.full(40, 2), 1000, np.full(23, 7)]
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype("int32")
    work = np.zeros(4, "int32")
    ls.interp.run(program(parameters, "\n".join(lines)), starts, np.zeros(64, "int32"), work)
    assert work.sum() == lengths.sum()
    assert abs(work - work.mean()).max() <= 64


def test_parts_of_independent_iterations_have_no_copies() -> None:
    sch = tir.Schedule(program(*SPARSE))
    _, sums = sch.distribute("i")
    sch.parallel(sums)
    sch.inspect_split(sums, 8)
    assert "Y_parts" not in ls.lower(sch).script()


def test_parts_that_share_elements_have_copies() -> None:
    func = program(
        'S: T.Buffer((33,), "int32"), V: T.Buffer((900,), "float32"), Y: T.Buffer((1,), "float32")',
        "for i in range(32):\n    for k in range(S[i], S[i + 1]):\n        Y[0] = Y[0] + V[k]",
    )
    for cut in (False, True):
        sch = tir.Schedule(func)
        sch.parallel("i")
        sch.inspect_split("i", 8, cut_iterations=cut)
        for lengths in LENGTHS:
            starts, values, _ = rows(lengths)
            found = np.zeros(1, "float32")
            ls.build(sch)(starts, values, found)
            np.testing.assert_allclose(found, values[: starts[-1]].sum(), rtol=1e-5)


def test_iterations_that_do_more_than_update_are_not_shared() -> None:
    def problem(body: str) -> str:
        func = program(
            'S: T.Buffer((33,), "int32"), V: T.Buffer((900,), "float32"),'
            'Y: T.Buffer((32,), "float32")',
            body,
        )
        return refusal(func, lambda sch: sch.inspect_split("i", 4, cut_iterations=True))

    start = "loop_is_of_updates: inspect_split: parts cannot share an iteration of loop i: "
    inner = "for i in range(32):\n    for k in range(S[i], S[i + 1]):\n        "
    assert problem(SPARSE[1]) == start + "its body is not a loop alone"
    assert problem(inner + "Y[i] = V[k]") == (
        start + "of Y, it stores an element that is no sum, product or extreme of what was there"
    )
    assert problem(inner + "Y[i] = Y[i] + Y[(i + 1) % 32]") == (
        start + "of Y, an update reads an element"
    )
    assert problem(inner + "V[k] = V[k] + Y[i]") == (
        start + "which element of V it updates changes while it runs"
    )
    assert problem(inner + "Y[i] = Y[i] + V[k]\n        Y[0] = Y[0] + V[k]") == (
        start + "it updates several elements of Y"
    )
    assert problem(inner + "if V[k] > 0.5:\n            break\n        Y[i] = Y[i] + V[k]") == (
        start + "the loop inside may be left early"
    )
    vectors = program(
        'S: T.Buffer((33,), "int32"), Y: T.Buffer((32,), "float32x4")',
        inner + "Y[i] = Y[i] + T.Broadcast(T.float32(2), 4)",
    )
    assert refusal(vectors, lambda sch: sch.inspect_split("i", 4, cut_iterations=True)) == (
        start + "elements of Y are vectors"
    )
