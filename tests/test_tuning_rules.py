# SPDX-License-Identifier: Apache-2.0
"""Rules of one's own beside those of the generated space."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_tuning import Clock, matmul, shorter_is_quicker, twice

import loopsmith as ls
from loopsmith import te, tir, tuning


class Columns:
    """Splits the columns of a product by a factor that the generated space does not have."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def apply(self, sch: tir.Schedule, block: Any) -> bool:
        self.asked.append(block)
        loops = sch.get_loops(block)
        if len(loops) != 3:
            return False
        sch.split(loops[1], [None, sch.sample_categorical([3, 5], [0.5, 0.5])])
        sch.annotate(loops[0], "by_rule", 1)
        return True


def ruled_is_quick(script: str) -> float:
    return 0.5 if "by_rule" in script else 2.0


def test_a_rule_is_another_way_to_schedule_a_block(tmp_path: Path):
    rule, store = Columns(), tmp_path / "records.db"
    clock = Clock(ruled_is_quick)
    best = ls.tune(matmul(), rules=[rule], trials=40, records=store, search="random", runner=clock)
    assert best.seconds == 0.5 and "by_rule" in str(best.trace)
    assert sum("by_rule" in script for script in clock.scripts) == 2
    assert rule.asked, "the rule was not asked, or its handles were not kept"
    plain = Clock(shorter_is_quicker)
    ls.tune(
        matmul(), trials=20, records=store, search="random", runner=plain
    )  # Another space, by its name.
    assert set(plain.scripts) & set(clock.scripts)


def test_a_rule_that_has_no_steps_changes_nothing():
    class Never:
        def apply(self, sch: tir.Schedule, block: Any) -> bool:
            return False

    best = ls.tune(twice(), rules=[Never()], trials=4, runner=Clock(shorter_is_quicker))
    assert len(best.trials) == 4 and not best.refused


def test_rules_are_for_all_generated_spaces():
    """Under a lock, and on a GPU."""
    rule, clock = Columns(), Clock(ruled_is_quick)
    best = ls.tune(
        matmul(), rules=[rule], trials=20, numerics="strict", search="random", runner=clock
    )
    assert "by_rule" in str(best.trace)

    class Bound:
        def apply(self, sch: tir.Schedule, block: Any) -> bool:
            (loop,) = sch.get_loops(block)
            blocks, threads = sch.split(loop, [None, 7])
            sch.bind(blocks, "blockIdx.x")
            sch.bind(threads, "threadIdx.x")
            sch.annotate(blocks, "by_rule", 1)
            return True

    on_gpu = ls.tune(
        twice(), "opencl", rules=[Bound()], trials=30, search="random", runner=Clock(ruled_is_quick)
    )
    assert "by_rule" in str(on_gpu.trace)


def test_what_a_rule_does_wrong_is_told():
    class Silent:
        def apply(self, sch: tir.Schedule, block: Any) -> Any:
            return None

    class Illegal:
        def apply(self, sch: tir.Schedule, block: Any) -> bool:
            sch.compute_inline(block)
            return True

    with pytest.raises(ls.TypeMismatch, match="tune: the rule returned NoneType, expected True"):
        ls.tune(matmul(), rules=[Silent()], trials=40, runner=Clock(shorter_is_quicker))
    best = ls.tune(matmul(), rules=[Illegal()], trials=10, runner=Clock(shorter_is_quicker))
    assert any("compute_inline" in reason for reason in best.refused)
    sch = tir.Schedule(matmul())
    a = te.placeholder((4,), name="A")
    steps = te.create_schedule(te.compute((4,), lambda i: a[i] + 1.0, name="B").op)
    for given in (sch, sch.trace, steps):
        with pytest.raises(ls.UserError, match="rules are given, and a space of your own"):
            ls.tune(given, rules=[Columns()])
    with pytest.raises(ls.UserError, match="rules are given, and a space of your own"):
        ls.tune(matmul(), space=tuning.generated, rules=[Columns()])
