# SPDX-License-Identifier: Apache-2.0
"""What rules for GPUs do of programs that are large enough: larger tiles, levels, rows kept."""

from __future__ import annotations

import re

import gpu_devices
import numpy as np
from gpu_programs import RNG
from test_gpu_rules import PROGRAMS, prefix_sum, product, written

import loopsmith as ls
from loopsmith import te


@gpu_devices.both
def test_what_many_parts_start_with_is_a_scan_in_parts(target: str) -> None:
    gpu_devices.require(target)
    count = 128 * 200
    func = written(prefix_sum(count, "int32"))
    assert str(ls.default_schedule(func, target=target).trace).count("sch.parallel_scan(") == 2
    a, b = RNG.integers(-9, 9, count).astype("int32"), np.zeros(count, "int32")
    ls.build(func, target=target)(a, b)
    np.testing.assert_array_equal(b, np.concatenate([[0], a[1:].cumsum()]))


@gpu_devices.both
def test_large_products_have_large_tiles(target: str) -> None:
    gpu_devices.require(target)
    # 12 x 12 blocks of 128 x 128: more than there are multiprocessors.
    rows, columns, steps = 1500, 1530, 16
    func = te.create_prim_func(product((rows, columns, steps)))
    assert "factors=[None, 16, 8]" in str(ls.default_schedule(func, target=target).trace)
    a, b = RNG.random((rows, steps), "float32"), RNG.random((steps, columns), "float32")
    c = np.zeros((rows, columns), "float32")
    ls.build(func, target=target)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-4)


@gpu_devices.both
def test_rows_that_are_read_again_are_read_once(target: str) -> None:
    gpu_devices.require(target)
    rows, columns = 3, 2048
    func = te.create_prim_func(PROGRAMS["softmax"].make((rows, columns)))
    module = ls.build(func, target=target)
    source = module.source(target)
    body = source[source.index("main_kernel") :]
    x = RNG.random((rows, columns), "float32")
    assert body.count("(const int4*)&") + body.count("vload") >= 1
    assert len(re.findall(r"\bX\[", body)) == 1
    y = np.zeros_like(x)
    module(x, y)
    powers = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, powers / powers.sum(1, keepdims=True), rtol=1e-5)
