# SPDX-License-Identifier: Apache-2.0
"""Programs in examples/ that no other test runs."""

from __future__ import annotations

import runpy
from typing import Any

import numpy as np
import pytest
from conftest import ROOT

import loopsmith as ls


@pytest.fixture(scope="module")
def blocked_product() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "blocked_product" / "run.py"))


@pytest.mark.parametrize("panel", [(16, 32), (32, 64)])
@pytest.mark.parametrize("tile", [(4, 16), (2, 8)])
def test_a_blocked_product(
    blocked_product: dict[str, Any], panel: tuple[int, int], tile: tuple[int, int]
) -> None:
    sch = blocked_product["blocked"](blocked_product["product"](64), panel, tile)
    assert sch.verify()
    a, b = (np.random.default_rng(seed).random((64, 64), "float32") for seed in (1, 2))
    c = np.empty_like(a)
    ls.build(sch)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_the_example_prints_its_times(
    blocked_product: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    blocked_product["main"](128)
    assert "blocked" in capsys.readouterr().out


@pytest.fixture(scope="module")
def gpu_product() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "gpu" / "matmul.py"))


@pytest.mark.parametrize("number", range(4))
def test_the_steps_of_a_product_on_a_gpu(gpu_product: dict[str, Any], number: int) -> None:
    sch = gpu_product["STEPS"][number](64)
    assert sch.obligations() == [] and sch.verify()
    assert ls.build(sch, target="opencl").source("opencl").count("barrier(") == 2 * (number > 1)


def test_the_product_on_a_gpu_prints_its_times(
    gpu_product: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    gpu_product["main"](64)
    printed = capsys.readouterr().out
    assert "tiles_of_threads" in printed or "no driver for OpenCL" in printed


def test_the_tutorial_of_a_product_goes_from_loops_to_fast_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runpy.run_path(str(ROOT / "examples" / "tutorials" / "gemm.py"))
    lines = capsys.readouterr().out.splitlines()
    steps = [line for line in lines if "GFLOP/s" in line and line[0].isdigit()]
    assert [line[0] for line in steps] == list("123456")
    rates = [float(line.split()[-2]) for line in steps]
    assert all(rate > 0 for rate in rates)


@pytest.fixture(scope="module")
def cpu_product() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "examples" / "cpu" / "gemm.py"))


@pytest.mark.parametrize("number", range(6))
@pytest.mark.parametrize("size", [(12, 32, 16), (13, 37, 21), (7, 50, 9), (3, 5, 1)])
def test_the_steps_of_a_product_on_a_processor(
    cpu_product: dict[str, Any], number: int, size: tuple[int, int, int]
) -> None:
    m, n, k = size
    cut = cpu_product["Blocks"](rows=3, vectors=2, lanes=4, k=8, columns=16)
    sch = cpu_product["STEPS"][number](cpu_product["Size"](*size), cut)
    assert sch.verify()
    random = np.random.default_rng(m)
    a, b = random.random((m, k), "float32"), random.random((k, n), "float32")
    c = np.full((m, n), np.nan, "float32")
    ls.build(sch)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_the_product_on_a_processor_prints_its_times(
    cpu_product: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    cpu_product["main"](50, 70, 90)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 7 and lines[-1].startswith("by default")
