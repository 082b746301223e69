# SPDX-License-Identifier: Apache-2.0
"""What refusals offer instead: calls that were tried, as Python that one can paste."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T  # noqa: N812


def matmul(n: int = 16) -> tir.PrimFunc:
    a = te.placeholder((n, n), "float32", name="A")
    b = te.placeholder((n, n), "float32", name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def stages() -> tir.PrimFunc:
    """A = B + 1, two readers of B, and a row sum of it."""
    a = te.placeholder((8, 16), "float32", name="A")
    b = te.compute((8, 16), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((8, 16), lambda y, x: b[y, x] * 2.0, name="C")
    k = te.reduce_axis((0, 16), name="k")
    s = te.compute((8,), lambda r: te.sum(b[r, k], axis=k), name="S")
    d = te.compute((8, 16), lambda u, v: c[u, v] - s[u], name="D")
    return te.create_prim_func([a, d])


@T.prim_func
def pooled(A: T.Buffer((21, 8), "float32"), C: T.Buffer((10, 8), "float32")):
    B = T.alloc_buffer((21, 8))
    for i, j in T.grid(21, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(10, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi * 2, vj] + B[vi * 2 + 1, vj] + B[vi * 2 + 2, vj]


@T.prim_func
def scan(A: T.Buffer((12, 8), "float32")):
    for i, j in T.grid(11, 8):
        with T.block("step"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi + 1, vj] = A[vi, vj] + A[vi + 1, vj]


@T.prim_func
def products_of_later_values(A: T.Buffer((8, 8), "float32")):
    for i, j, k in T.grid(8, 8, 8):
        with T.block("A"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.where(k < j)
            with T.init():
                A[vi, vj] = T.float32(1)
            A[vi, vj] = A[vi, vj] * A[vi, 7 - vk]


@T.prim_func
def sums_of_any_size(a: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (8, n), "float32")
    C = T.match_buffer(c, (8,), "float32")
    for i, k in T.grid(8, n):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(1)
            C[vi] = C[vi] + A[vi, vk]


@T.prim_func
def skewed(A: T.Buffer((12, 12), "float32")):
    for i, j, k in T.grid(11, 11, 4):
        with T.block("step"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            A[vi + 1, vj] = A[vi, vj + 1] + T.Cast("float32", vk)


@T.prim_func
def overlapping(A: T.Buffer((64, 8), "float32"), C: T.Buffer((71,), "float32")):
    for i in range(64):
        for k in range(8):
            C[i + k] += A[i, k]


@T.prim_func
def scattered(A: T.Buffer((226, 4), "float32")):
    for i, j in T.grid(16, 4):
        with T.block("put"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi * vi, vj] = T.float32(1)


@T.prim_func
def diamond(A: T.Buffer((8, 16), "float32"), D: T.Buffer((8, 16), "float32")):
    B = T.alloc_buffer((8, 16))
    C = T.alloc_buffer((8, 16))
    for i, j in T.grid(8, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for y, x in T.grid(8, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [y, x])
            C[vi, vj] = B[vi, vj] * T.float32(2)
    for u, v in T.grid(8, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [u, v])
            D[vi, vj] = B[vi, vj] - C[vi, vj]


Call = Callable[[tir.Schedule], object]

REFUSALS: dict[str, tuple[tir.PrimFunc, Call, str, list[str]]] = {
    "another loop is parallel": (
        scan,
        lambda sch: sch.parallel("i"),
        "step_keeps_results",
        ['sch.parallel(sch.get_loop("j"))'],
    ),
    "a loop is parallel of which dependences are known": (
        scattered,
        lambda sch: sch.parallel("i"),
        "step_keeps_results",
        ['sch.parallel(sch.get_loop("j"))'],
    ),
    "a reduction gets partial results": (
        matmul(),
        lambda sch: sch.bind("k", "blockIdx.x"),
        "step_keeps_results",
        [
            'b0 = sch.rfactor(sch.get_loop("k"), 0)\n'
            "l1, l2, l3 = sch.get_loops(b0)\n"
            'sch.bind(l3, "blockIdx.x")',
            'sch.bind(sch.get_loop("i"), "blockIdx.x")',
            'sch.bind(sch.get_loop("j"), "blockIdx.x")',
        ],
    ),
    "windows that overlap are added one after another": (
        overlapping,
        lambda sch: sch.parallel("i"),
        "step_keeps_results",
        [
            'sch.parallel(sch.get_loop("k"))',
            'l0, l1 = sch.split(sch.get_loop("i"), [None, 8])\n'
            "sch.reorder([l1, l0])\n"
            "sch.parallel(l0)",
        ],
    ),
    "a reader of windows moves into larger steps": (
        pooled,
        lambda sch: sch.reverse_compute_at("C", sch.get_loops("B")[0]),
        "step_keeps_results",
        [
            'l0, l1 = sch.split(sch.get_loops(sch.get_block("B"))[0], [None, 2])\n'
            'sch.reverse_compute_at(sch.get_block("C"), l0)',
            'sch.compute_at(sch.get_block("B"), sch.get_loops(sch.get_block("C"))[1])',
            'sch.compute_at(sch.get_block("B"), sch.get_loops(sch.get_block("C"))[0])',
        ],
    ),
    "another order keeps dependences": (
        skewed,
        lambda sch: sch.reorder("k", "j", "i"),
        "step_keeps_results",
        ['sch.reorder([sch.get_loop("i"), sch.get_loop("k"), sch.get_loop("j")])'],
    ),
    "a loop is named once": (
        matmul(),
        lambda sch: sch.reorder("k", "i", "k"),
        "arguments_fit",
        ['sch.reorder([sch.get_loop("k"), sch.get_loop("i")])'],
    ),
    "a reduction that may be empty is fused behind its init": (
        sums_of_any_size,
        lambda sch: sch.fuse("i", "k"),
        "step_keeps_results",
        [
            'sch.decompose_reduction(sch.get_block("C"), sch.get_loop("i"))\n'
            'sch.fuse([sch.get_loop("i"), sch.get_loop("k")])'
        ],
    ),
    "loops are fused in their order": (
        matmul(),
        lambda sch: sch.fuse("j", "i"),
        "nest_is_perfect",
        ['sch.fuse([sch.get_loop("i"), sch.get_loop("j")])'],
    ),
    "neighbours are made by reorder": (
        matmul(),
        lambda sch: sch.fuse("i", "k"),
        "nest_is_perfect",
        [
            'sch.reorder([sch.get_loop("j"), sch.get_loop("i"), sch.get_loop("k")])\n'
            'sch.fuse([sch.get_loop("i"), sch.get_loop("k")])',
            'sch.reorder([sch.get_loop("i"), sch.get_loop("k"), sch.get_loop("j")])\n'
            'sch.fuse([sch.get_loop("i"), sch.get_loop("k")])',
        ],
    ),
    "a factor is inferred": (
        matmul(),
        lambda sch: sch.split("i", [2, 4]),
        "arguments_fit",
        ['sch.split(sch.get_loop("i"), [None, 4])', 'sch.split(sch.get_loop("i"), [2, None])'],
    ),
    "a factor is positive": (
        matmul(),
        lambda sch: sch.split("i", [0, 4]),
        "number_is_in_range",
        ['sch.split(sch.get_loop("i"), [None, 4])'],
    ),
    "one factor is inferred": (
        matmul(),
        lambda sch: sch.split("i", [None, 4, -1]),
        "arguments_fit",
        ['sch.split(sch.get_loop("i"), [None, 4])'],
    ),
    "names are left out": (
        matmul(),
        lambda sch: sch.split("i", [None, 4], names=["io"]),
        "arguments_fit",
        ['sch.split(sch.get_loop("i"), [None, 4])'],
    ),
    "a thread axis is misspelled": (
        matmul(),
        lambda sch: sch.bind("i", "threadidx.x"),
        "name_is_known",
        ['sch.bind(sch.get_loop("i"), "threadIdx.x")'],
    ),
    "a block is misspelled": (
        stages(),
        lambda sch: sch.get_block("d"),
        "name_is_known",
        ['sch.get_block("D")'],
    ),
    "a loop is misspelled": (
        matmul(),
        lambda sch: sch.get_loop("I"),
        "name_is_known",
        ['sch.get_loop("i")'],
    ),
    "a function is misspelled": (
        matmul(),
        lambda sch: sch.get_block("C", "mian"),
        "name_is_known",
        ['sch.get_block("C", func_name="main")'],
    ),
    "a scope is misspelled": (
        stages(),
        lambda sch: sch.set_scope("B", 0, "loacl"),
        "name_is_known",
        ['sch.set_scope(sch.get_block("B"), 0, "local")'],
    ),
    "a type is misspelled": (
        stages(),
        lambda sch: sch.unsafe_set_dtype("B", 0, "flaot16"),
        "name_is_known",
        ['sch.unsafe_set_dtype(sch.get_block("B"), 0, "float16")'],
    ),
    "a buffer is another": (
        matmul(),
        lambda sch: sch.cache_read("C", 7, "local"),
        "block_has_the_buffer",
        [
            'sch.cache_read(sch.get_block("C"), "A", "local")',
            'sch.cache_read(sch.get_block("C"), "B", "local")',
        ],
    ),
    "a reduction is computed at its reader": (
        stages(),
        lambda sch: sch.compute_inline("S"),
        "block_is_complete",
        [
            'sch.compute_at(sch.get_block("S"), sch.get_loop("v"))',
            'sch.compute_at(sch.get_block("S"), sch.get_loop("u"))',
        ],
    ),
    "an output is inlined backwards": (
        stages(),
        lambda sch: sch.compute_inline("D"),
        "block_is_no_output",
        ['sch.reverse_compute_at(sch.get_block("D"), sch.get_loop("r"))'],
    ),
    "readers come into the loop first": (
        diamond,
        lambda sch: sch.compute_at("B", sch.get_loops("D")[0]),
        "consumers_are_in_the_loop",
        [
            'sch.compute_at(sch.get_block("C"), sch.get_loop("u"))\n'
            'sch.compute_at(sch.get_block("B"), sch.get_loop("u"))',
        ],
    ),
    "an axis is another": (
        matmul(),
        lambda sch: sch.rfactor("k", 9),
        "number_is_in_range",
        ['sch.rfactor(sch.get_loop("k"), 0)'],
    ),
    "a reduction is another loop": (
        matmul(),
        lambda sch: sch.rfactor("j", 0),
        "loop_is_of_reduction",
        ['sch.rfactor(sch.get_loop("k"), 0)'],
    ),
    "an init goes before a loop in which its results are not read": (
        products_of_later_values,
        lambda sch: sch.decompose_reduction("A", sch.get_loops("A")[0]),
        "step_keeps_results",
        ['sch.decompose_reduction(sch.get_block("A"), sch.get_loop("k"))'],
    ),
    "an init goes before another loop": (
        matmul(),
        lambda sch: sch.decompose_reduction("C", sch.split("k", [None, 4])[1]),
        "loop_is_above_reduction",
        ['sch.decompose_reduction(sch.get_block("C"), sch.get_loop("k_0"))'],
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_each_fix_is_offered_and_works(name: str):
    func, call, code, expected = REFUSALS[name]
    sch = tir.Schedule(func)
    with pytest.raises(ls.ScheduleError) as caught:
        call(sch)
    assert caught.value.code == code
    steps = len(sch.trace)
    fixes = caught.value.fixes
    assert fixes[: len(expected)] == expected
    for fix in fixes:
        copy = sch.copy()
        exec(fix, {"sch": copy})
        assert copy.verify()
    assert len(sch.trace) == steps


@T.prim_func
def gathered(
    A: T.Buffer((8,), "float32"), B: T.Buffer((8, 4), "float32"), P: T.Buffer((8,), "int32")
):
    for i in range(8):
        A[P[i]] = T.float32(0)
    for y in range(8):
        B[y, 0] = A[P[y]]
    for u, v in T.grid(8, 4):
        B[P[u], v] = B[P[u], v] + B[v, 0]


UNKNOWN: dict[str, tuple[tir.PrimFunc, Call]] = {
    "concurrency": (scattered, lambda sch: sch.parallel("i")),
    "order": (gathered, lambda sch: sch.reorder("v", "u")),
    "order of nests": (gathered, lambda sch: sch.merge("i", "y")),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_promise_is_spoken_of_by_the_hint_and_by_no_fix(name: str):
    func, call = UNKNOWN[name]
    with pytest.raises(ls.ScheduleError) as caught:
        call(tir.Schedule(func))
    assert caught.value.code == "step_keeps_results"
    assert caught.value.question == name.split(" ")[0]
    assert caught.value.is_known is False
    assert caught.value.hint.startswith("if you know that ")
    assert caught.value.hint.endswith(", pass assume_independent=True")
    assert not [fix for fix in caught.value.to_dict()["fixes"] if "assume" in fix]


def test_a_promise_about_one_loop_is_not_handed_on_to_another():
    sch = tir.Schedule(scan)
    with pytest.raises(ls.ScheduleError) as caught:
        sch.parallel("i", assume_independent=True)
    assert caught.value.fixes == ['sch.parallel(sch.get_loop("j"))']
    with pytest.raises(ls.ScheduleError) as caught:
        sch.split("i", [2, 4], disable_predication=True)
    assert caught.value.fixes == [
        'sch.split(sch.get_loop("i"), [None, 4])',
        'sch.split(sch.get_loop("i"), [2, None])',
    ]


def test_what_became_of_a_handle_is_used():
    sch = tir.Schedule(matmul())
    i, _, _ = sch.get_loops("C")
    sch.split(i, [None, 4], names=["io", "ii"])
    with pytest.raises(ls.ScheduleError) as caught:
        sch.parallel(i)
    assert caught.value.fixes == [
        'sch.parallel(sch.get_loop("io"))',
        'sch.parallel(sch.get_loop("ii"))',
    ]


def test_annotations_are_taken_away_first():
    sch = tir.Schedule(matmul())
    sch.annotate(sch.get_loop("i"), "note", 1)
    with pytest.raises(ls.ScheduleError) as caught:
        sch.split("i", [None, 4])
    assert caught.value.fixes == [
        'sch.unannotate(sch.get_loop("i"), "note")\nsch.split(sch.get_loop("i"), [None, 4])'
    ]
    with pytest.raises(ls.ScheduleError) as caught:
        sch.unannotate(sch.get_loop("i"), "ntoe")
    assert caught.value.fixes == ['sch.unannotate(sch.get_loop("i"), "note")']


def test_a_loop_whose_name_is_not_unique_is_found_through_a_block():
    sch = tir.Schedule(stages())
    sch.split(sch.get_loops("D")[0], [None, 4], names=["i", "ii"])
    with pytest.raises(ls.ScheduleError, match="2 loops are called i") as caught:
        sch.get_loop("i")
    assert 'sch.get_loops(sch.get_block("B"), pattern="i")' in caught.value.fixes
    with pytest.raises(ls.ScheduleError) as caught:
        sch.split(sch.get_loops("D", "i")[0], [3, 0])
    assert caught.value.fixes == ['sch.split(sch.get_loops(sch.get_block("D"))[0], [3, None])']
    with pytest.raises(ls.ScheduleError) as caught:
        sch.split(sch.get_loops("D", "i")[0], [1, 1])
    assert caught.value.fixes[0] == 'sch.split(sch.get_loops(sch.get_block("D"))[0], [None, 1])'


def test_a_recurrence_around_loops_goes_inside():
    @T.prim_func
    def columns(A: T.Buffer((64, 8), "float32"), B: T.Buffer((65, 8), "float32")):
        for i in range(64):
            for j in range(8):
                B[i + 1, j] = B[i, j] + A[i, j]

    with pytest.raises(ls.ScheduleError) as caught:
        tir.Schedule(columns).parallel_scan("i", length=16)
    assert caught.value.fixes == [
        'sch.reorder([sch.get_loop("j"), sch.get_loop("i")])\n'
        'sch.parallel_scan(sch.get_loop("i"), length=16)'
    ]


def test_fixes_are_part_of_the_text_and_of_the_data():
    sch = tir.Schedule(matmul())
    with pytest.raises(ls.ScheduleError) as caught:
        sch.bind("k", "blockIdx.x")
    error = caught.value
    assert "\n  fix: b0 = sch.rfactor(" in str(error)
    assert "\n       sch.bind(l3, " in str(error)
    assert error.to_dict()["fixes"] == error.fixes
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.to_dict() == error.to_dict()


def test_fixes_are_of_the_schedule_as_it_was():
    sch = tir.Schedule(matmul())
    with pytest.raises(ls.ScheduleError) as caught:
        sch.split("i", [2, 4])
    sch.fuse("i", "j")
    assert caught.value.fixes[0] == 'sch.split(sch.get_loop("i"), [None, 4])'


def test_a_misspelled_name_in_a_call_is_mended_in_the_hint():
    sch = tir.Schedule(matmul())
    with pytest.raises(ls.ScheduleError, match="no loops are called I") as caught:
        sch.parallel("I")
    assert caught.value.hint == "did you mean i?"
    with pytest.raises(ls.ScheduleError, match="no blocks are called c") as caught:
        sch.get_loops("c")
    assert caught.value.hint == "did you mean C?"


def test_a_fix_is_nothing_but_what_one_would_paste() -> None:
    sch = tir.Schedule(matmul())
    sch.rfactor(sch.get_loops("C")[2], 0)
    with pytest.raises(ls.ScheduleError) as error:
        sch.transform_layout("C", "A", lambda i, k: (k, i))
    assert "block C uses no such buffer" in str(error.value)
    # The layout has no short text.
    assert not any("from_json" in fix for fix in error.value.fixes)
