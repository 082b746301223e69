# SPDX-License-Identifier: Apache-2.0
"""The tutorials of examples/cpu: each step keeps its program's results, and compiles to them."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest
from conftest import ROOT

import loopsmith as ls

FOLDER = ROOT / "examples" / "cpu"
sys.path.insert(0, str(FOLDER))

NAMES = sorted(
    path.stem for path in FOLDER.glob("*.py") if path.stem not in ("gemm", "step_by_step")
)
STEPS = [
    pytest.param(tutorial, step, sizes, id=f"{name}-{step.__name__}-{'x'.join(map(str, sizes))}")
    for name in NAMES
    for tutorial in importlib.import_module(name).TUTORIALS
    for step in tutorial.steps
    for sizes in tutorial.small_sizes
]


@pytest.mark.parametrize(("tutorial", "step", "sizes"), STEPS)
def test_a_step_keeps_results(tutorial: Any, step: Any, sizes: tuple[int, ...]):
    sch = step(tutorial.program(*sizes))
    verdict = sch.verify()
    # Exact values of such an index are not known; what is compiled is compared all the same.
    assert verdict or "an index is made from a floating-point number" in verdict.reason
    tutorial.check(ls.build(sch), tutorial.operands(*sizes))


@pytest.mark.parametrize("target", ["llvm -mcpu=haswell", "llvm -mcpu=x86-64"])
@pytest.mark.parametrize("name", NAMES)
def test_schedules_for_this_processor_run_on_lesser_ones(name: str, target: str):
    for tutorial in importlib.import_module(name).TUTORIALS:
        sizes = tutorial.small_sizes[-1]
        sch = tutorial.steps[-1](tutorial.program(*sizes))
        tutorial.check(ls.build(sch, target=target), tutorial.operands(*sizes))


@pytest.mark.parametrize("name", NAMES)
def test_a_tutorial_prints_its_times(name: str, capsys: pytest.CaptureFixture[str]):
    for tutorial in importlib.import_module(name).TUTORIALS:
        taken = tutorial.measure(*tutorial.small_sizes[0], rounds=1)
        assert len(taken) == len(tutorial.steps) + 4 and min(taken.values()) > 0
        assert capsys.readouterr().out.startswith(tutorial.name)
