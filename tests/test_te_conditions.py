# SPDX-License-Identifier: Apache-2.0
"""Conditions of schedule calls, one by one: each is refused, or what is meant is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from te_conditions import (
    align_axis_that_was_split,
    attached_to_split,
    bind_time,
    bind_twice,
    both_parts,
    cache_fused_reduction,
    cache_of_extern,
    cache_one_of_two,
    circle,
    consumer_elsewhere,
    factor_from_one,
    factor_split,
    fuse_inner_first,
    fuse_kinds,
    fuse_none,
    inline_into_extern,
    inline_reduction,
    layout_not_injective,
    layout_of_reordered,
    nested_groups,
    out_of_group,
    output_attached,
    overlapping_groups,
    prefetch_one_iteration,
    redirected,
    reorder_thread,
    split_and_lower,
    split_thread,
    symbolic_lanes,
    threads_of_no_scan,
    threads_of_two_extents,
    threads_twice,
    threads_without_extent,
    update_elsewhere,
    vectorize_thread,
    vectorize_time,
)
from test_te_refusals import Program

import loopsmith as ls
from loopsmith import te

Call = Callable[[Program], Any]


def refused(*texts: str) -> tuple[str, ...]:
    return texts


CONDITIONS: list[tuple[str, Call, Any]] = [
    ("ValueError if unknown key type", lambda p: p.s["C"], refused("there is no stage of a str")),
    (
        "not in schedule",
        lambda p: p.s[te.placeholder((2,), name="other")],
        refused("it has no stage other, which it does not need"),
    ),
    (
        "has already been split",
        lambda p: (p.s[p.C].split(p.i, factor=4), p.s[p.C].split(p.i, factor=2)),
        refused("axis i of stage C has already been split into i.outer and i.inner"),
    ),
    (
        "not part of the schedule",
        lambda p: p.s[p.C].unroll(p.k),
        refused("axis k is not part of the schedule of stage C, but of stage P"),
    ),
    (
        "split: exactly one of factor / nparts (both -> ValueError",
        both_parts,
        refused("split: both are given of factor"),
    ),
    (
        "split: none -> ValueError)",
        lambda p: p.s[p.C].split(p.i),
        refused("split: neither is given of factor"),
    ),
    (
        "split: parent kind must be DataPar, CommReduce or Ordered: a thread",
        split_thread,
        refused("split: axis threadIdx.x is not part of"),
    ),
    ("split: parent kind must be DataPar", split_and_lower("data"), None),
    ("split: parent kind must be CommReduce", split_and_lower("reduction"), None),
    (
        "fuse: Can only fuse iterations that are consecutive",
        lambda p: p.s[p.P].fuse(p.P.op.axis[0], p.k),
        refused("fuse: axes x and k of stage P are not consecutive"),
    ),
    ("fuse: either order accepted and swapped to outer-inner", fuse_inner_first, "i.j.fused"),
    (
        "fuse: fuse() with no axis inserts a new outermost leaf of extent 1",
        fuse_none,
        ["singleton", "singleton", "i", "j"],
    ),
    ("fuse: fused kind = the larger kind value", fuse_kinds, "comm_reduce"),
    (
        "reorder: repeated axis is fatal",
        lambda p: p.s[p.C].reorder(p.j, p.i, p.j),
        refused("reorder: axis j of stage C occurs twice"),
    ),
    (
        "reorder: listed leaves are permuted",
        reorder_thread,
        refused("reorder: axis threadIdx.x is not"),
    ),
    (
        "vectorize: not CommReduce",
        lambda p: p.s[p.P].vectorize(p.k),
        refused("vectorize: axis k of stage P is a reduction axis"),
    ),
    (
        "vectorize: not Ordered",
        vectorize_time,
        refused("axis sums.idx of stage sums is the time of a scan"),
    ),
    ("vectorize: not ThreadIndex", vectorize_thread, refused("vectorize: axis threadIdx.x")),
    (
        "vectorize: a constant extent",
        symbolic_lanes,
        refused("has n iterations, which is no const"),
    ),
    (
        "bind: thread_ivar kind ThreadIndex",
        lambda p: p.s[p.C].bind(p.i, p.j),
        refused("bind: axis i of stage C is to be bound to j, which is no thread axis"),
    ),
    (
        "bind: ivar kind DataPar or CommReduce",
        bind_time,
        refused("axis sums.idx of stage sums is the time of a scan"),
    ),
    ("bind: re-binding warns; here the last one holds", bind_twice, True),
    (
        "bound inference: two stages binding the same thread axis must have equal extent",
        threads_of_two_extents,
        refused("bind: axis j of stage C has 8 iterations, axis j.inner of stage B"),
    ),
    (
        "env_threads: only for ScanOp stages",
        threads_of_no_scan,
        refused("env_threads: stage C is no scan"),
    ),
    ("env_threads: once", threads_twice, refused("the threads of stage sums are given twice")),
    (
        "env_threads: each thread needs a defined dom",
        threads_without_extent,
        refused("threadIdx.x of stage sums is no thread axis with an extent"),
    ),
    (
        "compute_at: not for scan updates",
        update_elsewhere,
        refused("stage update is in a group of which stage result is no"),
    ),
    (
        "compute_at: axis must be a leaf of parent at call time",
        lambda p: p.s[p.B].compute_at(p.s[p.C], p.k),
        refused("compute_at: axis k is not part of the schedule of stage C"),
    ),
    (
        "compute_at: the parent must be in the same group",
        out_of_group,
        refused("stage B is in a group of which stage E is no part"),
    ),
    (
        "bound inference: all consumers must be under the attach loop",
        consumer_elsewhere,
        refused("B is needed by C, which"),
    ),
    ("compute_at: no circle", circle, refused("which is to be computed inside it")),
    (
        "bound inference: output must be attached at root",
        output_attached,
        refused("stage C is an output of the schedule"),
    ),
    (
        "normalize: if the attach axis has since been split -> the inner axis is used",
        attached_to_split,
        True,
    ),
    ("compute_inline: no reduction", inline_reduction, refused("stage P is a reduction")),
    (
        "compute_inline: no output",
        lambda p: p.s[p.C].compute_inline(),
        refused("compute_inline: stage C is an output of the schedule"),
    ),
    ("normalize: a stage that feeds an ExternOp is kept at root", inline_into_extern, True),
    ("pragma: unroll/vectorize redirect to those methods", redirected, (True, True)),
    (
        "prefetch: an axis of the stage",
        lambda p: p.s[p.B].prefetch(p.A, p.k, 1),
        refused("prefetch: axis k is not part of the schedule of stage B"),
    ),
    (
        "prefetch: loop extent must not be 1; here it asks for what follows",
        prefetch_one_iteration,
        True,
    ),
    ("storage_align: axis need not be a leaf", align_axis_that_was_split, True),
    (
        "double_buffer: not on output stages",
        lambda p: p.s[p.C].double_buffer(),
        refused("double_buffer: the memory of stage C"),
    ),
    (
        "rolling_buffer: not on output stages",
        lambda p: p.s[p.C].rolling_buffer(),
        refused("rolling_buffer: the memory of stage C"),
    ),
    (
        "transform_layout: data axes must all still be leaf and contiguous",
        layout_of_reordered,
        refused("the axes of stage B have been split, fused or reordered"),
    ),
    (
        "transform_layout: the map must be bijective over the domain",
        layout_not_injective,
        refused("may take two elements of buffer B to one"),
    ),
    (
        "cache_read: error when a reader does not read the tensor",
        lambda p: p.s.cache_read(p.A, "shared", [p.C]),
        refused("cache_read: stage C does not read tensor A"),
    ),
    (
        "cache_write: all outputs must be given for a multi-output op",
        cache_one_of_two,
        refused("1 of the 2 outputs of two are given"),
    ),
    (
        "cache_write: all from one op",
        lambda p: p.s.cache_write([p.B, p.C], "local"),
        refused("cache_write: tensors B and C are made by different operations"),
    ),
    (
        "cache_write: only ComputeOp",
        cache_of_extern,
        refused("cache_write: tensor out is not made by"),
    ),
    (
        "cache_write: all remaining leafs must be DataPar",
        cache_fused_reduction,
        refused("axis y.k.fused of stage P is no axis of the output"),
    ),
    (
        "rfactor: a ComputeOp with a direct reduction",
        lambda p: p.s.rfactor(p.C, p.i),
        refused("rfactor: stage C is no reduction"),
    ),
    (
        "rfactor: axis must be a CommReduce leaf",
        lambda p: p.s.rfactor(p.P, p.P.op.axis[0]),
        refused("rfactor: axis x of stage P is an axis of the output"),
    ),
    (
        "rfactor: axes touched by relations with data axes are rejected",
        lambda p: p.s.rfactor(p.P, p.s[p.P].fuse(p.P.op.axis[1], p.k)),
        refused("rfactor: axis y.k.fused of stage P uses y, an axis of the output"),
    ),
    ("rfactor: factor_axis may be negative", factor_split, 2),
    ("rfactor: factor domain must start at 0; here it may not", factor_from_one, 36.0),
    (
        "create_group: stages between inputs and outputs",
        lambda p: p.s.create_group(outputs=p.B, inputs=p.C),
        refused("create_group: no stage lies between the inputs and the outputs"),
    ),
    (
        "create_group: partial overlap with an existing group is fatal",
        overlapping_groups,
        refused("stage D is in a group of which other stages would"),
    ),
    ("create_group: groups must nest", nested_groups, 1),
    (
        "lower: all placeholders are arguments",
        lambda p: ls.lower(p.s, [p.C]),
        refused("lower: tensor A, which stage B reads, is not among"),
    ),
]


@pytest.mark.parametrize(
    ("call", "outcome"), [row[1:] for row in CONDITIONS], ids=[row[0] for row in CONDITIONS]
)
def test_each_condition_is_met_or_refused(call: Call, outcome: Any) -> None:
    if not isinstance(outcome, tuple) or not isinstance(outcome[0], str):
        assert call(Program()) == outcome
        return
    with pytest.raises(ls.UserError) as error:
        call(Program())
    for text in outcome:
        assert text in str(error.value)
    assert "hint: " in str(error.value)
