# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/long_tail compute what NumPy does, at sizes small and large."""

from __future__ import annotations

import runpy
import subprocess
import sys
from typing import Any

import gpu_devices
import numpy as np
import pytest
from conftest import ROOT

import loopsmith as ls

MODULE = runpy.run_path(str(ROOT / "examples" / "long_tail" / "programs.py"))
PROGRAMS: dict[str, Any] = MODULE["PROGRAMS"]


@pytest.fixture(scope="module", params=list(PROGRAMS))
def compiled(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    program = PROGRAMS[request.param]
    return program, ls.build(program.schedule())


def check(program: Any, run: Any, size: int) -> None:
    """Compare the results of a compiled program with NumPy's."""
    given = program.arguments(size)
    expected = program.expected([array.copy() for array in given])
    run(*given)
    for array, wanted in zip(given, expected, strict=True):
        np.testing.assert_allclose(array, wanted, rtol=program.rtol, atol=1e-6)


@pytest.mark.parametrize("size", [0, 1, 7, 100, 523])
def test_a_scheduled_program_computes_what_numpy_does(compiled: tuple[Any, Any], size: int) -> None:
    check(*compiled, size)


def test_a_scheduled_program_computes_what_numpy_does_of_much(compiled: tuple[Any, Any]) -> None:
    program, run = compiled
    # More than a block of a scan; programs with sizes of their own have rows, or take longer.
    check(program, run, 700 if program.func.name in MODULE["SIZES"] else 300_000)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name, program in PROGRAMS.items() for dtype in program.types[1:]],
)
def test_a_scheduled_program_computes_what_numpy_does_in_other_types(name: str, dtype: str) -> None:
    program = PROGRAMS[name].of_type(dtype)
    run = ls.build(program.schedule())
    for size in (0, 1, 7, 100):
        check(program, run, size)


@gpu_devices.both
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_on_a_device_by_default(name: str, target: str) -> None:
    gpu_devices.require(target)
    program = PROGRAMS[name]
    run = ls.build(program.func, target=target)
    for size in (0, 7, 100):
        check(program, run, size)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_schedule_of_a_program_is_verified(name: str) -> None:
    verified = PROGRAMS[name].schedule().verify()
    assert verified, verified.reason


def test_the_examples_print_their_times(capsys: pytest.CaptureFixture[str]) -> None:
    MODULE["main"](0.001)
    assert "prefix_sum" in capsys.readouterr().out


def test_the_benchmark_prints_a_row_for_each_program() -> None:
    bench = [sys.executable, ROOT / "bench" / "long_tail.py", "--scale", "0.0001"]
    names = ["prefix_sum=70", "radix_sort"]
    printed = subprocess.run([*bench, *names], check=True, capture_output=True, text=True).stdout
    rows = {tuple(line.split()[:2]) for line in printed.splitlines()}
    assert {("prefix_sum", "70"), ("radix_sort", "400")} <= rows
