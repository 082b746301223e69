# SPDX-License-Identifier: Apache-2.0
"""Compiling without waiting: a search in the background."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_tuning import SIZE, Clock, twice

import loopsmith as ls
from loopsmith import tir, tuning


def test_a_module_is_served_at_once_and_swapped_when_a_search_found_a_quicker_one():
    plain = ls.build(twice(), default_schedule=False)
    found = ls.tune(twice(), trials=3, runner=Clock(lambda _: 0.5))
    may_end = threading.Event()

    def search() -> tuning.Tuned:
        may_end.wait(10)
        return found

    module = tuning.BackgroundModule(plain, search)
    x, y = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    assert module.wait(0.01) is None and not module.is_tuned
    module(x, y)
    np.testing.assert_array_equal(y, 2 * x)
    may_end.set()
    assert module.wait() is found and module.is_tuned
    module(x + 1, y)
    np.testing.assert_array_equal(y, 2 * x + 2)
    assert module.names == plain.names


def test_a_search_in_the_background_that_fails_is_told_by_wait():
    def search() -> tuning.Tuned:
        raise ls.UserError("no candidate")

    module = tuning.BackgroundModule(ls.build(twice()), search)
    with pytest.raises(ls.UserError, match="no candidate"):
        module.wait()
    x, y = np.arange(SIZE, dtype=np.float32), np.zeros(SIZE, np.float32)
    module(x, y)
    np.testing.assert_array_equal(y, 2 * x)


def test_build_searches_in_the_background(tmp_path: Path):
    store = tmp_path / "records.db"
    module: Any = ls.build(twice(4096), tune="background", records=store)
    x, y = np.arange(4096, dtype=np.float32), np.zeros(4096, np.float32)
    module(x, y)
    np.testing.assert_array_equal(y, 2 * x)
    best = module.wait(100)
    assert best is not None and best.trials
    module(x + 1, y)
    np.testing.assert_array_equal(y, 2 * x + 2)
    scheduled = tir.Schedule(twice())
    scheduled.parallel("i")
    assert isinstance(ls.build(scheduled, tune="background"), ls.Module)
    with pytest.raises(ls.UserError, match="tune is 'now'"):
        ls.build(twice(), tune="now")
