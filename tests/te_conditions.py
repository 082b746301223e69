# SPDX-License-Identifier: Apache-2.0
"""Schedule calls that break one condition each, for test_te_conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from test_te_refusals import Program, scan_stage

import loopsmith as ls
from loopsmith import te

Call = Callable[[Program], Any]


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
