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
