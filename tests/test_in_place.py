# SPDX-License-Identifier: Apache-2.0
"""Reductions that read other elements of what they update, scheduled and compiled.

``LOOPSMITH_FUZZ_CASES`` says how many random programs, ``LOOPSMITH_FUZZ_SEED`` the first of them.
"""

from __future__ import annotations

import os
import random
import re
from typing import Any

import numpy as np
import pytest
from random_in_place import WIDTH, random_in_place

import loopsmith as ls
from loopsmith import tir
from loopsmith.script import tir as T  # noqa: N812

CASES = int(os.environ.get("LOOPSMITH_FUZZ_CASES", "300"))
FIRST = int(os.environ.get("LOOPSMITH_FUZZ_SEED", "0"))
GROUPS = 6


@T.prim_func
def cholesky(a: T.handle, n: T.int32) -> None:
    A = T.match_buffer(a, (n, n), "float64")
    for j in range(n):
        for k in range(j):
            A[j, j] = A[j, j] - A[j, k] * A[j, k]
        A[j, j] = T.sqrt(A[j, j])
        for i in range(j + 1, n):
            for m in range(j):
                A[i, j] = A[i, j] - A[i, m] * A[j, m]
            A[i, j] = A[i, j] / A[j, j]


@T.prim_func
def chain(C: T.Buffer((40, 40), "int64"), W: T.Buffer((41,), "int64")) -> None:
    for d in range(1, 40):
        for i in range(40 - d):
            C[i, i + d] = T.int64(1 << 60)
            for k in range(i, i + d):
                C[i, i + d] = T.min(
                    C[i, i + d], C[i, k] + C[k + 1, i + d] + W[i] * W[k + 1] * W[i + d + 1]
                )


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
@pytest.mark.parametrize("n", [1, 7, 65])
def test_cholesky_is_that_of_numpy(how: str, n: int):
    sch = tir.Schedule(cholesky)
    for loop in ("k", "m"):
        getattr(sch, how)(sch.get_loop(loop))
    assert sch.verify()
    root = np.tril(np.random.default_rng(0).uniform(0.5, 1, (n, n))) + np.eye(n) * n
    a = root @ root.T
    ls.build(sch)(a, n)
    np.testing.assert_allclose(np.tril(a), root, rtol=1e-9)


@pytest.mark.parametrize("how", ["parallel", "vectorize"])
def test_the_best_order_of_a_chain_of_products(how: str):
    sch = tir.Schedule(chain)
    getattr(sch, how)(sch.get_loop("k"))
    assert sch.verify()
    widths = np.random.default_rng(0).integers(1, 90, 41)
    expected = np.zeros((40, 40), "int64")
    for d in range(1, 40):
        for i in range(40 - d):
            expected[i, i + d] = min(
                expected[i, k]
                + expected[k + 1, i + d]
                + widths[i] * widths[k + 1] * widths[i + d + 1]
                for k in range(i, i + d)
            )
    actual = np.zeros((40, 40), "int64")
    ls.build(sch)(actual, widths)
    np.testing.assert_array_equal(actual, expected)


def test_rows_that_share_maxima_run_in_parallel_until_a_split_hides_their_elements():
    """The parallel loop selects rows, while it is part of the reduction's index, too."""
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((20, 20), "float32")):
    for j in range(17):
        for k in range(j + 1, 17):
            with T.block("A"):
                vj, vk = T.axis.remap("SR", [j, k])
                A[vk, vk + 1] = T.max(A[vj + 1, vj + 1], A[vk, vk + 1])
""")
    sch = tir.Schedule(func)
    sch.parallel("j")
    # Which elements an iteration updates is then not known well enough for partial results.
    with pytest.raises(ls.ScheduleError, match="iterations of loop j, which is parallel"):
        sch.split("k", [None, 4])
    assert sch.verify()
    given = np.random.default_rng(0).random((20, 20), "float32")
    expected, actual = given.copy(), given.copy()
    ls.interp.run(func, expected)
    ls.build(sch)(actual)
    np.testing.assert_array_equal(actual, expected)


def loops_of(sch: tir.Schedule) -> list[Any]:
    """Return the loops of a program."""
    lines = re.findall(r"^ +for ([\w, ]+) in ", sch.func.script(), re.MULTILINE)
    names = [name for line in lines for name in line.split(", ")]
    return [sch.get_loop(name) for name in names if sch.can_apply("get_loop", name)]


def take_steps(rng: random.Random, sch: tir.Schedule) -> None:
    """Take some steps that change the order of updates."""
    steps = ["parallel", "vectorize", "rfactor"] * 3 + ["decompose_reduction"] * 2
    for _ in range(rng.choice([1, 1, 2, 3])):
        loops = loops_of(sch)
        loop, step = rng.choice(loops), rng.choice([*steps, "split", "reorder"])
        arguments: dict[str, list[Any]] = {
            "rfactor": [loop, 0],
            "decompose_reduction": ["A", loop],
            "split": [loop, [None, rng.choice([2, 4, 8])]],
            "reorder": rng.sample(loops, min(2, len(loops))),
        }
        try:
            getattr(sch, step)(*arguments.get(step, [loop]))
        except ls.UserError:
            continue


def inputs_of(func: tir.PrimFunc, rng: np.random.Generator, n: int) -> list[Any]:
    """Return small whole numbers for a function of size `n`."""
    buffers = [func.buffer_map.get(parameter) for parameter in func.params]
    return [
        rng.integers(-2, 3, [getattr(size, "value", WIDTH * n) for size in buffer.shape]).astype(
            str(buffer.dtype)
        )
        if buffer
        else n
        for buffer in buffers
    ]


@pytest.mark.parametrize("group", range(GROUPS))
def test_what_is_accepted_computes_the_same(group: int):
    changed = 0
    for seed in range(FIRST + group, FIRST + CASES, GROUPS):
        rng = random.Random(seed)
        func = random_in_place(rng)
        sch = tir.Schedule(func, seed=1)
        take_steps(rng, sch)
        if not sch.trace:
            continue
        changed += 1
        verdict = sch.verify()
        if not verdict and "undecided" not in verdict.answer:
            pytest.fail(f"seed {seed}: {verdict}\n{func.script()}\n{sch.trace}\n{sch.mod.script()}")
        given = inputs_of(func, np.random.default_rng(seed), rng.choice([1, 7, 20]))
        results = []
        for program in (func, sch.func):
            arrays = [array.copy() if isinstance(array, np.ndarray) else array for array in given]
            ls.build(program)(*arrays)
            results.append(arrays[:2])
        for expected, actual in zip(*results):
            # What grows beyond that has been rounded, and differences of such numbers with it.
            size = np.abs(expected.astype("float64"))
            is_exact = size < 1e6
            atol = 1 if is_exact.all() else 1 + 1e-5 * size[np.isfinite(size)].max()
            np.testing.assert_allclose(
                actual[is_exact], expected[is_exact], rtol=1e-3, atol=atol, err_msg=f"seed {seed}"
            )
    assert changed
