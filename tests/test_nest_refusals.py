# SPDX-License-Identifier: Apache-2.0
"""What the primitives that rearrange nests of loops refuse, and what they say of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import loopsmith as ls
from loopsmith import tir

PARAMETERS = (
    'A: T.Buffer((10,), "float32"), B: T.Buffer((10,), "float32"), N: T.Buffer((1,), "int32")'
)
SYMBOLIC = """
n = T.int32()
A = T.match_buffer(a, (n,), "float32")
"""


def refusal(body: str, step: Callable[[tir.Schedule], object], parameters: str = PARAMETERS) -> str:
    """Return the code and the problem of the refusal of a step."""
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    sch = tir.Schedule(ls.from_source(f"@T.prim_func\ndef main({parameters}):\n{lines}\n"))
    with pytest.raises(ls.ScheduleError) as caught:
        step(sch)
    return f"{caught.value.code}: {str(caught.value).splitlines()[0]}"


def test_bounds_that_a_condition_may_guard_stay_under_it():
    body = "if A[0] > T.float32(0):\n    for i in range(N[0]):\n        A[i] = T.float32(1)"
    assert refusal(body, lambda sch: sch.sink_if("i")) == (
        "bounds_are_known: sink_if: the bounds of loop i read memory"
    )


def test_a_condition_is_read_only_where_its_loop_runs():
    body = SYMBOLIC + "for i in range(n):\n    if A[0] > T.float32(0):\n        B[i] = T.float32(1)"
    found = refusal(
        body, lambda sch: sch.hoist_if("i"), 'a: T.handle, B: T.Buffer((10,), "float32")'
    )
    assert found == (
        "step_keeps_results: hoist_if: results may change: the condition A[0] > "
        "T.float32(0) reads memory, also where loop i has no iteration"
    )


SIBLINGS = """
for i in range(0, 8, 2):
    A[i] = T.float32(1)
for j in range(9):
    B[j] = T.float32(1)
for k in range(N[0]):
    B[k] = T.float32(2)
"""


def test_siblings_that_step_otherwise_are_refused():
    assert refusal(SIBLINGS, lambda sch: sch.merge_siblings("i", "j")) == (
        "nests_are_alike: merge_siblings: loops i and i start or end elsewhere and do not "
        "both have step 1"
    )


def test_siblings_with_bounds_in_memory_are_refused():
    assert refusal(SIBLINGS, lambda sch: sch.merge_siblings("j", "k")) == (
        "bounds_are_known: merge_siblings: the bounds of loop k read memory"
    )


def test_a_loop_that_starts_a_reduction_is_not_extended():
    body = """
for k in range(8):
    with T.block("sum"):
        vk = T.axis.reduce(8, k)
        with T.init():
            B[0] = T.float32(0)
        B[0] = B[0] + A[vk]
for j in range(1, 10):
    B[j] = T.float32(1)
"""
    assert refusal(body, lambda sch: sch.merge_siblings("k", "j")) == (
        "step_keeps_results: merge_siblings: results may change: loop k would run over more "
        "values, and block sum starts its reduction in it"
    )


NESTED = """
t = T.alloc_buffer((1,))
for i in range(10):
    for j in range(i):
        t[0] = A[j]
        B[j] = t[0]
"""


def test_a_dimension_needs_an_extent_that_is_known():
    assert refusal(NESTED, lambda sch: sch.expand_scalar("t", "j")) == (
        "bounds_are_known: expand_scalar: the bounds of loop j are not known where buffer t "
        "is allocated"
    )


def test_a_buffer_that_is_used_by_its_pointer_is_not_expanded():
    body = """
t = T.alloc_buffer((1,))
for i in range(10):
    t[0] = A[i]
    T.evaluate(T.call_extern("int32", "use", t.data))
"""
    assert refusal(body, lambda sch: sch.expand_scalar("t", "i")) == (
        "buffer_is_used_by_index: expand_scalar: buffer t is reached through its pointer or a "
        "match_buffer"
    )


def test_private_copies_need_memory_of_known_size():
    body = "for i in range(10):\n    for j in range(i):\n        A[j % 3] = A[j % 3] + B[j]"
    assert refusal(body, lambda sch: sch.privatize("j", "A")) == (
        "bounds_are_known: privatize: the bounds of loop j are not known where the block "
        "around it allocates memory"
    )


def test_statements_of_different_sequences_do_not_change_places():
    body = "for i in range(10):\n    for j in range(10):\n        A[j] = B[i]"
    assert refusal(body, lambda sch: sch.reorder_statements("i", "j")) == (
        "statements_follow_each_other: reorder_statements: i and j are not in two statements of "
        "one sequence"
    )


def test_statements_that_leave_an_iteration_stay():
    body = """
for i in range(10):
    for j in range(10):
        A[j] = T.float32(1)
    if B[i] > T.float32(0):
        continue
    for k in range(10):
        B[k] = T.float32(1)
"""
    assert refusal(body, lambda sch: sch.reorder_statements("k", "j")) == (
        "statements_run_to_their_end: reorder_statements: a continue leaves the statement of k"
    )


def test_statements_that_may_touch_one_element_stay():
    body = """
for i in range(1):
    A[N[0]] = T.float32(1)
for j in range(10):
    A[j] = T.float32(2)
"""
    found = refusal(body, lambda sch: sch.reorder_statements("j", "i"))
    assert found.startswith(
        "step_keeps_results: reorder_statements: results may change: whether j and `for i "
    )


def test_inner_bounds_that_the_nest_writes_keep_it_as_it_is():
    """In normal form a loop starts at 0: where it started would be read again in its body."""
    body = """
for i in range(4):
    for j in range(N[0], N[0] + 3):
        N[0] = N[0] + 1
        A[j - N[0] + 3] = T.float32(1)
"""
    assert refusal(body, lambda sch: sch.normalize_nest("i")) == (
        "step_keeps_results: normalize_nest: results may change: the bounds of loop j read "
        "what the body of loop j writes"
    )


TERMS = """
for i in range(10):
    for k in range(4):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.float32(0)
            B[vi] = B[vi] + T.Cast("float32", vk) * A[vi]
        with T.block("other"):
            vi, vk = T.axis.remap("SS", [i, k])
            N[0] = vk
for j in range(10):
    A[j] = A[j]
"""


def test_sums_and_maxima_stand_alone_in_their_loops():
    assert refusal(TERMS, lambda sch: sch.hoist_factor("sum")) == (
        "nest_is_perfect: hoist_factor: block sum is not alone in the loops around it"
    )
    assert refusal(TERMS, lambda sch: sch.merge_online("i", "j")) == (
        "nest_is_perfect: merge_online: something else than loops and one block stands in loop i"
    )


def test_conditions_of_threads_are_truth_values_of_sizes():
    body = "for i in range(10):\n    A[i] = T.float32(0)"

    def under(condition: Callable[[tir.Schedule], object]) -> str:
        return refusal(body, lambda sch: sch.parallel("i", condition=condition(sch)))

    def element(sch: tir.Schedule) -> Any:
        return sch.func.buffer_map[sch.func.params[2]][0]

    assert under(element) == (
        "argument_has_type: parallel: the condition of loop i is N[0], of type int32"
    )
    assert under(lambda sch: element(sch) > 1).startswith(
        "argument_has_type: parallel: the condition of loop i is N[0] > 1, which reads "
    )
