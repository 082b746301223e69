# SPDX-License-Identifier: Apache-2.0
"""Which differences of results a search allows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from loopsmith.tuning.measure.worker import Attempt, Job
from loopsmith.tuning.measure.workload import difference
from test_tuning import Clock, matmul, shorter_is_quicker

import loopsmith as ls
from loopsmith import te, tir, tuning


def sums() -> Any:
    a = te.placeholder((64, 256), name="A")
    k = te.reduce_axis((0, 256), name="k")
    return te.create_prim_func([a, te.compute((64,), lambda i: te.sum(a[i, k], axis=k), name="C")])


def test_strict_numerics_keep_every_bit(tmp_path: Path):
    store = tmp_path / "records.db"
    best = ls.tune(sums(), trials=12, numerics="strict", records=store)
    assert not best.failures and "rfactor" not in str(best.trace)
    a = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    plain, found, recorded = (np.zeros(64, np.float32) for _ in range(3))
    ls.build(sums(), default_schedule=False)(a, plain)
    best.build()(a, found)
    ls.build(sums(), default_schedule=False, records=store)(a, recorded)
    assert plain.tobytes() == found.tobytes() == recorded.tobytes()


def test_functions_without_a_quicker_schedule_keep_the_lock_of_their_module():
    module = ls.ir.IRModule(names=[ls.ir.GlobalVar("sums")], functions=[sums()])
    clock = Clock(shorter_is_quicker, default=1e-9)
    best = ls.tune(module, trials=3, numerics="strict", runner=clock)
    assert not best.functions["sums"].is_quicker
    a = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    plain, found, free = (np.zeros(64, np.float32) for _ in range(3))
    ls.build(sums(), numerics="strict")(a, plain)
    best.build()(a, found)
    ls.build(sums())(a, free)
    assert plain.tobytes() == found.tobytes() != free.tobytes()


def test_strict_numerics_refuse_other_bits():
    arguments = [np.zeros((64, 256), np.float32) + np.float32(0.1), np.zeros(64, np.float32)]
    reordered = tir.Schedule(sums())
    _, inner = reordered.split("k", [None, 16])
    reordered.rfactor(inner, 1)
    for is_strict, failure in ((True, "wrong result"), (False, None)):
        job = Job(sums(), "llvm -mcpu=native", {}, arguments, 1 << 30, is_strict)
        with tuning.Runner(job, timeout=10.0) as runner:
            outcome = runner.run(Attempt(reordered.func.with_attr("tir.is_scheduled", 1), math.inf))
            assert outcome.failure == failure


def test_numerics_that_are_not_known_are_refused():
    with pytest.raises(ls.UserError, match="numerics is 'exact'"):
        ls.tune(matmul(), numerics="exact")  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int32"])
def test_results_may_differ_by_rounding(dtype: str):
    wanted = np.arange(1, 1001).astype(dtype)
    rounded, wrong = wanted.copy(), wanted.copy()
    rounded[7] += np.spacing(rounded[7]) if wanted.dtype.kind == "f" else 0
    wrong[7] += 100 if dtype == "float16" else 1
    assert difference([wanted, 3], [rounded, 3], False) is None
    assert "argument 0 at (7,)" in (difference([wanted], [wrong], False) or "")
    assert (difference([wanted], [rounded], True) is None) == (wanted.dtype.kind == "i")


def test_what_is_no_number_differs_from_numbers_alone():
    wanted, got = np.ones(1000, "float32"), np.ones(1000, "float32")
    got[5] = np.nan
    assert "(5,)" in (difference([wanted], [got], False) or "")
    assert "(5,)" in (difference([got], [wanted], False) or "")
    wanted[5] = np.nan
    assert difference([wanted], [got], False) is None
    wanted[6], got[6], got[7] = np.inf, np.inf, 2
    assert "(7,)" in (difference([wanted], [got], False) or "")
    got[6], got[7] = -np.inf, 1
    assert "(6,)" in (difference([wanted], [got], False) or "")
    assert difference([np.zeros((0, 3))], [np.zeros((0, 3))], False) is None
