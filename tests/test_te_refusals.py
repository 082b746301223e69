# SPDX-License-Identifier: Apache-2.0
"""What schedules of tensor expressions refuse, and how they say so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import loopsmith as ls
from loopsmith import te, tir


class Program:
    """A chain A, B, C of two computes, and a product P of A and itself."""

    def __init__(self) -> None:
        n = te.var("n")
        self.n = n
        self.A = A = te.placeholder((n, 8), name="A")
        self.B = B = te.compute((n, 8), lambda i, j: A[i, j] + 1, name="B")
        self.k = k = te.reduce_axis((0, 8), name="k")
        self.P = P = te.compute((n, 8), lambda x, y: te.sum(B[x, k] * y, axis=k), name="P")
        self.C = C = te.compute((n, 8), lambda i, j: P[i, j] * 2 + B[i, j], name="C")
        self.s = te.create_schedule(C.op)
        self.i, self.j = C.op.axis
        self.tx = te.thread_axis("threadIdx.x")

    def lower(self) -> Any:
        return ls.lower(self.s, [self.A, self.C])


def split_twice(p: Program) -> None:
    p.s[p.C].split(p.i, factor=4)
    p.s[p.C].split(p.i, factor=2)


def use_fused(p: Program) -> None:
    p.s[p.C].fuse(p.i, p.j)
    p.s[p.C].parallel(p.i)


def fuse_far(p: Program) -> None:
    p.s[p.P].fuse(p.P.op.axis[0], p.k)


def tile_one(p: Program) -> None:
    p.s[p.C].tile(p.i, p.i, 2, 2)


def bind_time(p: Program) -> None:
    p.s[p.C].bind(p.i, p.j)


def other_schedule(p: Program) -> None:
    p.s[p.B].compute_at(te.create_schedule(p.C.op)[p.C], p.i)


def rfactor_fused(p: Program) -> None:
    P = p.s[p.P]
    fused = P.fuse(p.P.op.axis[1], p.k)
    p.s.rfactor(p.P, fused)


def cache_split_reduction(p: Program) -> None:
    p.s[p.P].split(p.k, factor=2)
    p.s.cache_write(p.P, "local")


def cache_after_layout(p: Program) -> None:
    p.s[p.P].transform_layout(lambda x, y: [y, x])
    p.s.cache_write(p.P, "local")


def layout_after_split(p: Program) -> None:
    p.s[p.P].split(p.P.op.axis[0], factor=2)
    p.s[p.P].transform_layout(lambda x, y: [y, x])


def scan_stage() -> te.Stage:
    state = te.placeholder((4, 8), name="state")
    init = te.compute((1, 8), lambda _, i: te.const(0.0), name="init")
    update = te.compute((4, 8), lambda t, i: state[t - 1, i] + 1, name="update")
    sums = te.scan(init, update, state, name="sums")
    return te.create_schedule(sums.op)[sums]


def threads_without_extent(p: Program) -> None:
    scan_stage().env_threads(p.tx)


def threads_twice(p: Program) -> None:
    stage = scan_stage()
    stage.env_threads(te.thread_axis((0, 8), "threadIdx.x"))
    stage.env_threads(te.thread_axis((0, 8), "threadIdx.y"))


FORM: list[tuple[Callable[[Program], Any], str, str]] = [
    (
        split_twice,
        "split: axis i of stage C has already been split into i.outer and i.inner",
        "its loops are i.outer, i.inner, j",
    ),
    (
        use_fused,
        "parallel: axis i of stage C has already been fused into i.j.fused",
        "its loops are i.j.fused",
    ),
    (
        lambda p: p.s[p.C].split(p.k, factor=2),
        "split: axis k is not part of the schedule of stage C, but of stage P",
        "its loops are i, j",
    ),
    (
        lambda p: p.s[p.C].unroll(te.reduce_axis((0, 2), "r")),
        "unroll: axis r is not part of the schedule of stage C",
        "its loops are i, j",
    ),
    (
        lambda p: p.s[p.C].split(p.i),
        "split: neither is given of factor, the extent of the inner axis, and nparts, that of the "
        "outer one",
        "give the extent of one of them",
    ),
    (
        lambda p: p.s[p.C].split(p.i, factor=2, nparts=4),
        "split: both are given of factor, the extent of the inner axis, and nparts, that of the "
        "outer one",
        "give the extent of one of them",
    ),
    (
        lambda p: p.s[p.C].split(p.i, factor=0),
        "split: factor of axis i is 0, not positive",
        "pass 1 or more",
    ),
    (
        lambda p: p.s[p.C].split(p.i, nparts=-3),
        "split: nparts of axis i is -3, not positive",
        "pass 1 or more",
    ),
    (tile_one, "tile: axis i is given twice", "give two axes"),
    (
        fuse_far,
        "fuse: axes x and k of stage P are not consecutive",
        "the order of its loops is x, y, k; reorder brings them together",
    ),
    (
        lambda p: p.s[p.C].reorder(p.j, p.i, p.j),
        "reorder: axis j of stage C occurs twice",
        "name each axis once",
    ),
    (
        lambda p: p.s[p.P].vectorize(p.k),
        "vectorize: axis k of stage P is a reduction axis",
        "rfactor makes one of a reduction axis",
    ),
    (
        bind_time,
        "bind: axis i of stage C is to be bound to j, which is no thread axis",
        'te.thread_axis("threadIdx.x")',
    ),
    (
        lambda p: p.s[p.B].compute_at(p.s[p.C], p.k),
        "compute_at: axis k is not part of the schedule of stage C, but of stage P",
        "its loops are i, j",
    ),
    (
        lambda p: p.s[p.B].compute_at(p.s[p.B], p.B.op.axis[0]),
        "compute_at: stage B cannot be computed inside itself",
        "name a stage that reads it",
    ),
    (
        lambda p: p.s[p.C].compute_at(p.s[p.P], p.k),
        "compute_at: stage C is an output of the schedule, which nothing reads",
        "compute what it reads inside it",
    ),
    (
        lambda p: p.s[p.A].compute_at(p.s[p.C], p.i),
        "compute_at: stage A is a placeholder, which is not computed",
        "cache_read makes a copy of it that can be moved",
    ),
    (
        other_schedule,
        "compute_at: stage C belongs to another schedule than stage B",
        "take both stages from the same schedule",
    ),
    (
        lambda p: p.s[p.C].compute_inline(),
        "compute_inline: stage C is an output of the schedule, which nothing reads",
        "compute what it reads inline",
    ),
    (
        lambda p: p.s[p.A].compute_inline(),
        "compute_inline: stage A is a placeholder, which is not computed",
        "it is read where it is",
    ),
    (
        lambda p: p.s[p.A].set_scope("shared"),
        "set_scope: stage A is a placeholder, whose memory is the caller's",
        "cache_read makes a copy of it in other memory",
    ),
    (
        lambda p: p.s[p.B].storage_align(p.k, 4, 1),
        "storage_align: axis k is not part of the schedule of stage B, but of stage P",
        "its loops are i, j",
    ),
    (
        lambda p: p.s[p.P].storage_align(p.k, 4, 1),
        "storage_align: axis k of stage P is no dimension of its result",
        "give one of op.axis",
    ),
    (
        lambda p: p.s[p.B].storage_align(p.B.op.axis[0], 0, 1),
        "storage_align: the factor of axis i is 0, not positive",
        "pass 1 or more",
    ),
    (
        lambda p: p.s[p.C].double_buffer(),
        "double_buffer: the memory of stage C, an output of the schedule, is the caller's",
        "cache_read and cache_write make copies that may",
    ),
    (
        lambda p: p.s[p.C].rolling_buffer(),
        "rolling_buffer: the memory of stage C, an output of the schedule, is the caller's",
        "cache_read and cache_write make copies that may",
    ),
    (
        lambda p: p.s[p.C].env_threads(p.tx),
        "env_threads: stage C is no scan",
        "bind axes of other stages",
    ),
    (
        threads_without_extent,
        "env_threads: threadIdx.x of stage sums is no thread axis with an extent",
        "make it by te.thread_axis((0, n), tag)",
    ),
    (
        threads_twice,
        "env_threads: the threads of stage sums are given twice",
        "give all of them in one call",
    ),
    (
        lambda p: p.s.cache_read(p.A, "shared", [p.C]),
        "cache_read: stage C does not read tensor A",
        "name stages that read it",
    ),
    (
        lambda p: p.s.cache_read(p.A, "shared", []),
        "cache_read: no operation is given to read the copy of tensor A",
        "name the stages that are to read the copy",
    ),
    (
        lambda p: p.s.cache_read(p.A, "", [p.B]),
        "cache_read: the memory of the copy has no name",
        "say global, shared, local",
    ),
    (
        lambda p: p.s.cache_write(p.A, "local"),
        "cache_write: tensor A is not made by a compute",
        "cache what te.compute makes",
    ),
    (
        lambda p: p.s.cache_write([], "local"),
        "cache_write: no tensor is given",
        "give a tensor, or all of one operation",
    ),
    (
        lambda p: p.s.cache_write([p.B, p.C], "local"),
        "cache_write: tensors B and C are made by different operations",
        "call it once for each operation",
    ),
    (
        cache_split_reduction,
        "cache_write: axis k.outer of stage P is no axis of the output, in whose order the cache "
        "could be kept",
        "call cache_write before the reduction is split",
    ),
    (
        cache_after_layout,
        "cache_write: the layout of stage P was transformed before",
        "call it before transform_layout",
    ),
    (
        layout_after_split,
        "transform_layout: the axes of stage P have been split, fused or reordered",
        "call set_layout, which keeps the loops",
    ),
    (
        lambda p: p.s.rfactor(p.C, p.i),
        "rfactor: stage C is no reduction",
        "factor what te.compute makes with a reduction on top",
    ),
    (
        lambda p: p.s.rfactor(p.P, p.P.op.axis[0]),
        "rfactor: axis x of stage P is an axis of the output",
        "factor an axis of the reduction",
    ),
    (
        rfactor_fused,
        "rfactor: axis y.k.fused of stage P uses y, an axis of the output",
        "factor an axis that is fused with no output axis",
    ),
    (
        lambda p: p.s.rfactor(p.P, p.k, 3),
        "rfactor: factor_axis is 3, not within -3 and 2",
        "the partial results have one dimension more",
    ),
    (
        lambda p: p.s[p.C].prefetch(p.A, p.i, 1),
        "prefetch: stage C does not read tensor A",
        "name a tensor that it reads",
    ),
    (
        lambda p: p.s[p.B].prefetch(p.A, p.B.op.axis[0], p.n),
        "prefetch: the offset of axis i of stage B is no constant",
        "say how many iterations ahead, as a number",
    ),
    (
        lambda p: p.s.create_group(outputs=p.B, inputs=p.C),
        "create_group: no stage lies between the inputs and the outputs",
        "name outputs that need the inputs",
    ),
    (
        lambda p: p.s[te.placeholder((2,), name="other")],
        "schedule of C: it has no stage other, which it does not need",
        "make the schedule of an operation that reads it",
    ),
]


@pytest.mark.parametrize(("call", "problem", "advice"), FORM, ids=[row[1][:40] for row in FORM])
def test_mistakes_of_form_are_refused_by_the_call(
    call: Callable[[Program], Any], problem: str, advice: str
) -> None:
    with pytest.raises(ls.ScheduleError) as error:
        call(Program())
    assert problem in str(error.value)
    assert advice in str(error.value)
    assert isinstance(error.value, ValueError)


def test_mistakes_of_type_are_type_mismatches() -> None:
    p = Program()
    for call, problem in [
        (lambda: te.create_schedule(3), "create_schedule: a int is no tensor"),
        (lambda: p.s["C"], "schedule: there is no stage of a str"),
        (lambda: p.s[p.C].split(p.i, factor=[2]), "split: factor is a list, not an integer"),
        (
            lambda: p.s[p.C].split(p.i, factor=2.5),
            "split: factor of axis i is T.float32(2.5), of type float32, but the axis counts in",
        ),
        (lambda: p.s[p.C].reorder(p.i, 2), "reorder: an argument is a int, not an axis"),
        (
            lambda: p.s[p.C].set_store_predicate(p.i + 1),
            "set_store_predicate: the predicate of stage C is",
        ),
        (lambda: ls.lower(te.create_prim_func([p.A, p.C]), [p.A, p.C]), "arguments are given"),
        (lambda: ls.build(p.s, "llvm", "c"), "build: the targets llvm and c are given"),
    ]:
        with pytest.raises(ls.TypeMismatch) as error:
            call()
        assert problem in str(error.value)


def test_a_layout_takes_an_index_for_each_dimension() -> None:
    p = Program()
    with pytest.raises(ValueError, match="the function takes 1 indices, ndim is 2"):
        p.s[p.P].set_layout(lambda x: [x])


def test_missing_and_superfluous_arguments_are_named() -> None:
    p = Program()
    for args, problem, advice in [
        ([p.C], "lower: tensor A, which stage B reads, is not among", "add A to the arguments"),
        (
            [p.A],
            "lower: no argument is a result: C, which the schedule computes, would be lost",
            "add C",
        ),
        (
            [p.A, te.compute((2,), lambda i: i, name="D"), p.C],
            "lower: tensor D is an argument, but no stage of the schedule computes it",
            "leave it out",
        ),
    ]:
        with pytest.raises(ls.ScheduleError) as error:
            ls.lower(p.s, args)
        assert problem in str(error.value)
        assert advice in str(error.value)


def test_memory_of_arguments_is_the_callers() -> None:
    for ask, call in [
        (lambda stage: stage.set_scope("local"), "set_scope"),
        (lambda stage: stage.storage_align(stage.op.axis[0], 4, 1), "storage_align"),
    ]:
        p = Program()
        ask(p.s[p.B])
        p.lower()
        with pytest.raises(ls.ScheduleError) as error:
            ls.lower(p.s, [p.A, p.B, p.C])
        assert f"{call}: tensor B is an argument, whose memory is the caller's" in str(error.value)
        assert "call cache_write for a copy" in str(error.value)


def test_binds_are_of_arguments() -> None:
    p = Program()
    strided = tir.decl_buffer(p.P.shape, "float32", name="strided", strides=[1, p.n])
    with pytest.raises(ls.ScheduleError) as error:
        ls.build(p.s, [p.A, p.C], "llvm", binds={p.P: strided})
    assert "lower: tensor P is bound to buffer strided, but is computed inside" in str(error.value)
    assert "call s[P].set_layout" in str(error.value)
    small = tir.decl_buffer((2, 2), "float32", name="small")
    with pytest.raises(ls.TypeMismatch) as mismatch:
        ls.lower(p.s, [p.A, p.C], binds={p.A: small})
    assert "buffer small is not of the type and shape of tensor A" in str(mismatch.value)
    with pytest.raises(ls.TypeMismatch, match="lower: binds has a int for a Tensor"):
        ls.lower(p.s, [p.A, p.C], binds={p.A: 3})


def test_a_stage_that_others_read_is_refused_in_the_users_words_with_fixes() -> None:
    N = 16
    inp = te.placeholder((N, N), name="inp")
    x = te.compute((N, N), lambda i, j: inp[i, j] + 1, name="x")
    j = te.reduce_axis((0, N), name="j")
    y = te.compute((N,), lambda i: te.sum(te.sin(x[i, j]), axis=[j]), name="y")
    l = te.reduce_axis((0, N), name="l")  # noqa: E741
    z = te.compute((N,), lambda i: te.sum(te.cos(x[i, l]), axis=[l]), name="z")
    oup = te.compute((N,), lambda i: y[i] * z[i], name="oup")

    def attached() -> te.Schedule:
        s = te.create_schedule([oup.op])
        s[x].compute_at(s[oup], oup.op.axis[0])
        return s

    with pytest.raises(ls.ScheduleError) as error:
        ls.lower(attached(), [inp, oup])
    assert str(error.value).startswith(
        "compute_at: x is needed by y and z, which are not inside loop i of oup\n"
        "  hint: say s[y].compute_at(s[oup], i) and s[z].compute_at(s[oup], i); "
        "or s[x].compute_inline()"
    )
    s, i = attached(), oup.op.axis[0]
    s[y].compute_at(s[oup], i)
    s[z].compute_at(s[oup], i)
    unscheduled = te.create_prim_func([inp, oup])
    ls.assert_same(s.to_tir([inp, oup]).func, unscheduled)
    s = attached()
    s[x].compute_inline()
    ls.assert_same(s.to_tir([inp, oup]).func, unscheduled)
    s[x].compute_root()
    ls.lower(s, [inp, oup])


def test_stages_without_names_are_called_by_their_variables() -> None:
    inp = te.placeholder((8,), name="inp")
    x = te.compute((8,), lambda i: inp[i] + 1)
    y = te.compute((8,), lambda i: x[i] * 2)
    oup = te.compute((8,), lambda i: y[i] * x[i])
    s = te.create_schedule(oup.op)
    s[x].compute_at(s[y], y.op.axis[0])
    with pytest.raises(ls.ScheduleError) as error:
        ls.lower(s, [inp, oup])
    assert "x is needed by oup, which is not inside loop i of y" in str(error.value)
    assert "say s[x].compute_inline()" in str(error.value)
