# SPDX-License-Identifier: Apache-2.0
"""What a report says of kernels: bank conflicts, accesses that are not coalesced."""

from __future__ import annotations

import pytest
from loopsmith.warp_accesses import WARP, _Finder

import loopsmith as ls
from loopsmith import te, tir


def transpose(pad: int = 0, through_shared: bool = True) -> tir.Schedule:
    a = te.placeholder((64, 64), "float32", name="A")
    b = te.compute((64, 64), lambda i, j: a[j, i], name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    i, j = sch.get_loops("B")
    i0, i1, i2 = sch.split(i, [None, 4, 8])
    j0, j1 = sch.split(j, [None, 32])
    sch.reorder(i0, j0, i2, j1, i1)
    for loop, axis in zip(
        (i0, j0, i2, j1), ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    ):
        sch.bind(loop, axis)
    if through_shared:
        copy = sch.cache_read("B", 0, "shared")
        sch.compute_at(copy, j0)
        _, y, x = sch.split(sch.fuse(*sch.get_loops(copy)[-2:]), [None, 8, 32])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        if pad:
            sch.storage_align(copy, 0, axis=-2, factor=32, offset=pad)
    return sch


def accesses(sch: tir.Schedule) -> dict[tuple[str, bool], tuple[int, int]]:
    report = ls.build(sch, target="cuda").report()
    return {(a.buffer, a.is_store): (a.steps, a.least) for a in report.accesses}


def test_rows_that_begin_in_one_bank_conflict() -> None:
    found = accesses(transpose())
    assert found[("A_shared", False)] == (32, 1)
    assert found[("A_shared", True)] == (1, 1)
    # A warp reads and writes four sectors of neighbours.
    assert found[("A", False)] == found[("B", True)] == (4, 4)
    text = str(ls.build(transpose(), target="cuda").report())
    assert "A_shared is read with bank conflicts, 32 accesses to one bank where 1 would do" in text
    assert "storage_align(block, buffer, axis=-2, factor=32, offset=1)" in text


def test_the_layout_that_is_named_mends_it() -> None:
    assert accesses(transpose(pad=1))[("A_shared", False)] == (1, 1)
    assert not ls.build(transpose(pad=1), target="cuda").report().remarks


def test_reads_across_rows_are_not_coalesced() -> None:
    assert accesses(transpose(through_shared=False))[("A", False)] == (32, 4)
    text = str(ls.build(transpose(through_shared=False), target="cuda").report())
    assert "A is read uncoalesced, 32 sectors of 32 bytes a warp where 4 would do" in text
    assert "let threadIdx.x run along its last index" in text


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_programs_without_threads_have_no_warps(target: str) -> None:
    x = te.placeholder((8,), name="X")
    module = ls.build([x, te.compute((8,), lambda i: x[i] + 1.0)], target=target)
    assert module.report().accesses == ()


def test_expressions_that_are_shared_are_evaluated_once() -> None:
    """As trees they would be 2^60 nodes."""
    index = te.var("i")
    for step in range(60):
        index = ((index + step) ^ (index * 3)) & 1023
    lanes = _Finder(ls.lower(transpose(), target="cuda")).value(index)
    assert lanes is not None and len(lanes) == WARP
