# SPDX-License-Identifier: Apache-2.0
"""Attention in stages, made into one pass over keys and values by steps of the engine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import from_source

ROWS, KEYS = 4, 8


def attention(
    tokens: int, width: int, masked: bool = False, power: Any = te.exp, tokens_of_keys: Any = None
) -> tir.PrimFunc:
    keys = tokens_of_keys or tokens
    q = te.placeholder((tokens, width), name="Q")
    k, v = (te.placeholder((keys, width), name=name) for name in "KV")
    r, t = te.reduce_axis((0, width), "r"), te.reduce_axis((0, keys), "t")
    m, n = te.reduce_axis((0, keys), "m"), te.reduce_axis((0, keys), "n")
    square = (tokens, keys)
    scores = te.compute(square, lambda i, j: te.sum(q[i, r] * k[j, r], axis=r), name="scores")

    def scaled(i: Any, j: Any) -> Any:
        value = scores[i, j] * (1.0 / math.sqrt(width))
        return te.if_then_else(j <= i, value, te.infinity("float32") * -1.0) if masked else value

    terms = te.compute(square, scaled, name="terms")
    top = te.compute((tokens,), lambda i: te.max(terms[i, m], axis=m), name="top")
    powers = te.compute(square, lambda i, j: power(terms[i, j] - top[i]), name="power")
    total = te.compute((tokens,), lambda i: te.sum(powers[i, n], axis=n), name="total")
    share = te.compute(square, lambda i, j: powers[i, j] / total[i], name="share")
    mix = te.compute((tokens, width), lambda i, d: te.sum(share[i, t] * v[t, d], axis=t), name="O")
    return te.create_prim_func([q, k, v, mix])


def by_numpy(q: Any, k: Any, v: Any, masked: bool, power: Any = np.exp) -> Any:
    scores = q @ k.T / math.sqrt(q.shape[1])
    if masked:
        scores = np.where(np.tri(len(q), len(k), dtype=bool), scores, -np.inf)
    powers = power(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True) @ v


def online(func: tir.PrimFunc, keeps_powers: bool) -> tir.Schedule:
    sch = tir.Schedule(func)
    for stage in ("terms", "share") if keeps_powers else ("terms", "power", "share"):
        sch.compute_inline(stage)
    sch.hoist_factor("O")
    rows, steps = [], []
    for name in ("top", "power", "total", "O_sum") if keeps_powers else ("top", "total", "O_sum"):
        i, *others, j = sch.get_loops(name)
        i0, i1 = sch.split(i, [None, ROWS])
        j0, j1 = sch.split(j, [None, KEYS])
        sch.reorder(i0, j0, i1, *others, j1)
        rows.append(i0)
        steps.append(j0)
    sch.merge(rows)
    step = sch.merge_online(steps)
    # What was a matrix is the tile of a step.
    sch.compute_at("scores", step)
    sch.reverse_compute_at("O", sch.get_loops("O_sum_init")[0])
    return sch


@pytest.mark.parametrize("keeps_powers", [True, False])
@pytest.mark.parametrize(
    ("tokens", "masked"), [(32, False), (32, True), (20, True), (23, False), (1, False)]
)
def test_attention_becomes_one_pass(tokens: int, masked: bool, keeps_powers: bool) -> None:
    func = attention(tokens, 8, masked)
    sch = online(func, keeps_powers)
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((tokens, 8), dtype="float32") * 3 for _ in range(3))
    expected = by_numpy(q, k, v, masked)
    for run in (lambda *a: ls.interp.run(sch.func, *a), ls.build(sch, target="llvm")):
        actual = np.full_like(q, np.nan)
        run(q, k, v, actual)
        np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=2e-5)
    assert str(sch.verify().answer) == "same"


def test_tiles_of_any_number_of_keys_become_one_pass() -> None:
    """Maxima of tiles leave out what lies beyond the last key."""
    n, m = te.size_var("n"), te.size_var("m")
    a, v = te.placeholder((n, m), name="A"), te.placeholder((m, 8), name="V")
    t, soft = te.reduce_axis((0, m)), te.nn.softmax(a)
    mix = te.compute((n, 8), lambda i, d: te.sum(soft[i, t] * v[t, d], axis=t), name="O")
    sch = tir.Schedule(te.create_prim_func([a, v, mix]))
    sch.compute_inline("A_softmax")
    sch.hoist_factor("O")
    tile, _ = sch.split(sch.get_loops("A_max")[-1], [None, 32])
    sch.rfactor(tile, 0)
    rows, steps = [], []
    for name in ("A_max", "A_exp", "A_exp_sum", "O_sum"):
        i, *others, last = sch.get_loops(name)
        inside: list[Any] = []
        if name != "A_max":
            last, one = sch.split(last, [None, 32])
            inside = [one]
        i0, i1 = sch.split(i, [None, 4])
        sch.reorder(i0, last, i1, *others, *inside)
        rows.append(i0)
        steps.append(last)
    sch.merge(rows)
    sch.merge_online(steps)
    rng = np.random.default_rng(0)
    for shape in ((5, 33), (3, 64), (1, 1)):
        x = rng.standard_normal(shape, dtype="float32") * 3
        w = rng.standard_normal((shape[1], 8), dtype="float32")
        powers = np.exp(x - x.max(axis=1, keepdims=True))
        actual = np.full((shape[0], 8), np.nan, "float32")
        ls.build(sch, target="llvm")(x, w, actual)
        exact = powers / powers.sum(axis=1, keepdims=True) @ w
        np.testing.assert_allclose(actual, exact, rtol=1e-4, atol=1e-5)


def test_powers_of_two_scale_too() -> None:
    sch = online(attention(32, 8, power=te.exp2), keeps_powers=False)
    assert "T.exp2(top_before" in sch.func.script()
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((32, 8), dtype="float32") for _ in range(3))
    actual = np.empty_like(q)
    ls.build(sch, target="llvm")(q, k, v, actual)
    np.testing.assert_allclose(actual, by_numpy(q, k, v, False, np.exp2), rtol=1e-4, atol=2e-5)


def test_a_step_that_splits_powers_reassociates() -> None:
    sch = tir.Schedule(attention(16, 8), allow_reassociation=False)
    for stage in ("terms", "power", "share"):
        sch.compute_inline(stage)
    assert not sch.can_apply("hoist_factor", "O")
    loops = [sch.get_loops(name)[-1] for name in ("top", "total")]
    for name, loop in zip(("top", "total"), loops):
        sch.reorder(loop, sch.get_loops(name)[0])
    with pytest.raises(ls.ScheduleError, match="another order"):
        sch.merge_online(loops)


def test_division_by_a_sum_of_the_same_loop_is_refused() -> None:
    sch = tir.Schedule(attention(16, 8))
    for stage in ("terms", "power", "share"):
        sch.compute_inline(stage)
    loops = [sch.get_loops(name)[-1] for name in ("top", "total", "O")]
    for name, loop in zip(("top", "total", "O"), loops):
        sch.reorder(loop, *sch.get_loops(name)[:-1])
    with pytest.raises(ls.ScheduleError) as refusal:
        sch.merge_online(loops)
    assert refusal.value.code == "step_keeps_results"


TRIANGLE = """@T.prim_func
def f(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6,), "float32"), S: T.Buffer((6,), "float32")):
    for i in range(6):
        for k in range(i):
            with T.block("S"):
                vi = T.axis.spatial(6, i)
                vk = T.axis.reduce(i, k)
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + A[vi, vk] / D[vi]
"""


def test_a_factor_leaves_sums_of_which_some_have_no_terms() -> None:
    sch = tir.Schedule(from_source(TRIANGLE))
    sch.hoist_factor("S")
    a, d = np.ones((6, 8), "float32"), np.array([0, 1, 2, 3, 4, 5], "float32")
    actual = np.full(6, np.nan, "float32")
    ls.build(sch, target="llvm")(a, d, actual)
    # The first stays 0, not 0 / 0.
    np.testing.assert_allclose(actual, [0, 1, 1, 1, 1, 1])


ROWS_OF_A_LOOP = """@T.prim_func
def f(A: T.Buffer((6, 8), "float32"), S: T.Buffer((6,), "float32")):
    m = T.alloc_buffer((6,))
    for i in range(6):
        for k in range(8):
            with T.block("m"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    m[vi] = T.float32("-inf")
                m[vi] = T.max(m[vi], A[vi, vk])
        for k in range(8):
            with T.block("S"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + T.exp(A[{row}, vk] - m[{row}])
"""


def test_sums_are_of_the_row_whose_maximum_grows() -> None:
    def merged(row: str) -> tir.Schedule:
        sch = tir.Schedule(from_source(ROWS_OF_A_LOOP.format(row=row)))
        sch.merge_online([sch.get_loops("m")[1], sch.get_loops("S")[1]])
        return sch

    a, actual = np.random.default_rng(0).random((6, 8), "float32") * 9, np.empty(6, "float32")
    ls.build(merged("vi"), target="llvm")(a, actual)
    expected = np.exp(a - a.max(axis=1, keepdims=True)).sum(axis=1)
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
    # Of rows before, whose maximum does not change any more.
    for row in ("0", "vi // 2"):
        with pytest.raises(ls.ScheduleError, match="another iteration of the loops around"):
            merged(row)


def test_sums_start_with_the_maximum() -> None:
    text = ROWS_OF_A_LOOP.format(row="vi")
    axes = 'vi, vk = T.axis.remap("SR", [i, k])'
    late = text.replace("range(8)", "range(4, 8)", 1).replace(
        axes, "vi = T.axis.spatial(6, i)\n                vk = T.axis.reduce((4, 8), k)", 1
    )
    sch = tir.Schedule(from_source(late))
    with pytest.raises(ls.ScheduleError, match="of what the maximum is of by then"):
        sch.merge_online([sch.get_loops("m")[1], sch.get_loops("S")[1]])
