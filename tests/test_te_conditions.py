# SPDX-License-Identifier: Apache-2.0
"""Conditions of schedule calls, one by one: each is refused, or what is meant is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_te_refusals import Program, scan_stage

import loopsmith as ls
from loopsmith import te

Call = Callable[[Program], Any]


def refused(*texts: str) -> tuple[str, ...]:
    return texts


def both_parts(p: Program) -> None:
    p.s[p.C].split(p.i, factor=4, nparts=2)


def split_thread(p: Program) -> None:
    p.s[p.C].split(p.tx, factor=2)


def split_and_lower(axis: str) -> Call:
    def call(p: Program) -> None:
        p.s[p.P].split({"data": p.P.op.axis[1], "reduction": p.k}[axis], factor=3)
        p.lower()

    return call


def fuse_inner_first(p: Program) -> str:
    return p.s[p.C].fuse(p.j, p.i).var.name


def fuse_none(p: Program) -> Any:
    axis = p.s[p.C].fuse()
    p.lower()
    return [axis.var.name, *(each.var.name for each in p.s[p.C].leaf_iter_vars)]


def fuse_kinds(p: Program) -> Any:
    return p.s[p.P].fuse(p.P.op.axis[1], p.k).iter_type


def reorder_thread(p: Program) -> None:
    p.s[p.C].reorder(p.j, p.tx)


def vectorize_time(p: Program) -> None:
    stage = scan_stage()
    stage.vectorize(stage.op.scan_axis)


def vectorize_thread(p: Program) -> None:
    p.s[p.C].vectorize(p.tx)


def bind_time(p: Program) -> None:
    stage = scan_stage()
    stage.bind(stage.op.scan_axis, p.tx)


def bind_twice(p: Program) -> Any:
    p.s[p.C].bind(p.j, p.tx)
    p.s[p.C].bind(p.j, te.thread_axis("threadIdx.y"))
    return "threadIdx.y" in p.lower().script() and "threadIdx.x" not in p.lower().script()


def threads_of_no_scan(p: Program) -> None:
    p.s[p.C].env_threads([p.tx])


def threads_without_extent(p: Program) -> None:
    scan_stage().env_threads([p.tx])


def threads_twice(p: Program) -> None:
    stage = scan_stage()
    stage.env_threads([te.thread_axis((0, 8), "threadIdx.x")])
    stage.env_threads([te.thread_axis((0, 8), "threadIdx.y")])


def steps_of_scan() -> tuple[te.Schedule, te.Tensor, te.Tensor]:
    state = te.placeholder((4, 8), name="state")
    init = te.compute((1, 8), lambda _, i: te.const(0.0), name="init")
    update = te.compute((4, 8), lambda t, i: state[t - 1, i] + 1, name="update")
    sums = te.scan(init, update, state, name="sums")
    result = te.compute((4, 8), lambda i, j: sums[i, j] + 1, name="result")
    return te.create_schedule(result.op), update, result


def update_elsewhere(p: Program) -> None:
    s, update, result = steps_of_scan()
    s[update].compute_at(s[result], result.op.axis[0])
    s.to_tir()


def chain() -> tuple[te.Schedule, list[te.Tensor]]:
    A = te.placeholder((8,), name="A")
    tensors = [A]
    for name in "BCDE":
        before = tensors[-1]
        tensors.append(te.compute((8,), lambda i, t=before: t[i] + 1, name=name))  # type: ignore[misc]
    return te.create_schedule(tensors[-1].op), tensors


def out_of_group(p: Program) -> None:
    s, (A, B, C, _D, E) = chain()
    s.create_group(outputs=C, inputs=A, include_inputs=False)
    s[B].compute_at(s[E], E.op.axis[0])
    ls.lower(s, [A, E])


def overlapping_groups(p: Program) -> None:
    s, (A, B, C, D, _) = chain()
    s.create_group(outputs=C, inputs=A)
    s.create_group(outputs=D, inputs=B)


def nested_groups(p: Program) -> Any:
    s, (A, _B, C, D, E) = chain()
    s.create_group(outputs=C, inputs=A)
    outer = s.create_group(outputs=D, inputs=A)
    outer.compute_at(s[E], E.op.axis[0])
    return ls.lower(s, [A, E]).script().count("for i in range(8)")


def redirected(p: Program) -> Any:
    p.s[p.C].pragma(p.j, "vectorize")
    p.s[p.B].pragma(p.B.op.axis[1], "unroll")
    script = p.s.to_tir([p.A, p.C]).func.script()
    return ("T.vectorized(8)" in script, "T.unroll(8)" in script)


def prefetch_one_iteration(p: Program) -> Any:
    A = te.placeholder((1, 8), name="A")
    B = te.compute((1, 8), lambda i, j: A[i, j] + 1, name="B")
    s = te.create_schedule(B.op)
    s[B].prefetch(A, B.op.axis[0], 1)
    return ls.lower(s, [A, B]) is not None


def align_axis_that_was_split(p: Program) -> Any:
    p.s[p.B].split(p.B.op.axis[0], factor=4)
    p.s[p.B].storage_align(p.B.op.axis[0], 16, 1)
    return p.lower() is not None


def layout_of_reordered(p: Program) -> None:
    p.s[p.B].reorder(p.B.op.axis[1], p.B.op.axis[0])
    p.s[p.B].transform_layout(lambda i, j: [i, j])


def layout_not_injective(p: Program) -> None:
    p.s[p.B].transform_layout(lambda i, j: [i // 2, j])
    p.lower()


def cache_one_of_two(p: Program) -> Any:
    A = te.placeholder((8,), name="A")
    two = te.compute((8,), lambda i: (A[i] + 1, A[i] * 2), name="two")
    s = te.create_schedule(two[0].op)
    s.cache_write(two[0], "local")


def cache_fused_reduction(p: Program) -> None:
    p.s[p.P].fuse(p.P.op.axis[1], p.k)
    p.s.cache_write(p.P, "local")


def cache_of_extern(p: Program) -> None:
    out = te.extern((8,), [], lambda _, outs: ls.tir.Evaluate(0), dtype="float32", name="out")
    te.create_schedule(out.op).cache_write(out, "local")


def factor_split(p: Program) -> Any:
    _, inner = p.s[p.P].split(p.k, factor=2)
    return p.s.rfactor(p.P, inner, -1).shape[-1].value


def factor_from_one(p: Program) -> Any:
    A = te.placeholder((9,), name="A")
    k = te.reduce_axis((1, 9), name="k")
    total = te.compute((), lambda: te.sum(A[k], axis=k), name="total")
    s = te.create_schedule(total.op)
    s.rfactor(total, k)
    f = ls.build(s, [A, total])
    out = np.zeros((), "float32")
    f(np.arange(9, dtype="float32"), out)
    return float(out)


def inline_into_extern(p: Program) -> Any:
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")

    def copied(ins: Any, outs: Any) -> Any:
        ib = ls.tir.ir_builder.create()
        source, target = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8) as i:
            target[i] = source[i]
        return ib.get()

    out = te.extern((8,), [B], copied, dtype="float32", name="out")
    s = te.create_schedule(out.op)
    s[B].compute_inline()
    f = ls.build(s, [A, out])
    a, result = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    f(a, result)
    return result.tolist() == (a + 1).tolist()


def attached_to_split(p: Program) -> Any:
    p.s[p.P].compute_at(p.s[p.C], p.i)
    p.s[p.C].split(p.i, factor=4)
    script = p.lower().script()
    return script.index("i_inner") < script.index("P[")


def output_attached(p: Program) -> None:
    p.s[p.C].compute_at(p.s[p.P], p.k)


def consumer_elsewhere(p: Program) -> None:
    p.s[p.B].compute_at(p.s[p.P], p.k)
    p.lower()


def inline_reduction(p: Program) -> None:
    p.s[p.P].compute_inline()
    p.lower()


def symbolic_lanes(p: Program) -> None:
    p.s[p.C].vectorize(p.i)
    p.lower()


def circle(p: Program) -> None:
    p.s[p.P].compute_at(p.s[p.B], p.B.op.axis[0])
    p.s[p.B].compute_at(p.s[p.P], p.P.op.axis[0])
    p.lower()


def threads_of_two_extents(p: Program) -> None:
    p.s[p.C].bind(p.j, p.tx)
    _, inner = p.s[p.B].split(p.B.op.axis[1], factor=4)
    p.s[p.B].bind(inner, p.tx)
    p.lower()


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
