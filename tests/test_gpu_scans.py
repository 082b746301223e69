# SPDX-License-Identifier: Apache-2.0
"""Scans by rule on GPUs: tiles of parts go through shared memory."""

from __future__ import annotations

import re
from typing import Any, Callable, NamedTuple

import gpu_devices
import numpy as np
import pytest
from gpu_programs import RNG

import loopsmith as ls


class Scan(NamedTuple):
    """What each element is made of the one before, and what comes of it."""

    dtype: str
    step: str
    expected: Callable[[np.ndarray], np.ndarray]
    after: str = ""
    """A store beside the recurrence."""

    def func(self, n: int | None) -> ls.PrimFunc:
        """Return the scan of `n` elements; of as many as a call says where there is no number."""
        size, parameter = ("n", "n: T.int64, ") if n is None else (str(n), "")
        return ls.from_source(f"""
@T.prim_func
def main({parameter}A: T.Buffer(({size},), "{self.dtype}"), B: T.Buffer(({size},), "{self.dtype}"),
         C: T.Buffer(({size},), "{self.dtype}")):
    B[0] = A[0]
    for i in range(1, {size}):
        with T.block("B"):
            vi = T.axis.scan((1, {size}), i)
            B[vi] = {self.step}
            {self.after}
""")


def alternating(a: np.ndarray) -> np.ndarray:
    signs = np.where(np.arange(len(a)) % 2, -1, 1).astype(a.dtype)
    return signs * np.cumsum(signs * a, dtype=a.dtype)


SCANS = {
    "sums": Scan("int32", "B[vi - 1] + A[vi]", lambda a: np.cumsum(a, dtype=a.dtype)),
    "maxima": Scan("float32", "T.max(B[vi - 1], A[vi])", np.maximum.accumulate),
    "linear": Scan("float64", "A[vi] - B[vi - 1]", alternating),
    "with another store": Scan(
        "int64", "B[vi - 1] + A[vi]", lambda a: np.cumsum(a, dtype=a.dtype), "C[vi] = B[vi] * 2"
    ),
}


@gpu_devices.both
@pytest.mark.parametrize("name", list(SCANS))
def test_neighbouring_threads_load_and_store_neighbours(target: str, name: str) -> None:
    gpu_devices.require(target)
    scan = SCANS[name]
    for n in (1025, 4097, 70_001):
        module = ls.build(scan.func(n), target=target)
        a = RNG.integers(-9, 9, n).astype(scan.dtype)
        b, c = np.zeros_like(a), np.zeros_like(a)
        module(a, b, c)
        np.testing.assert_array_equal(b, scan.expected(a))
        if scan.after:
            np.testing.assert_array_equal(c[1:], b[1:] * 2)
        assert "tile" in module.source(target)
        slow = [
            remark
            for remark in module.report().remarks
            if re.match("[ABC] is (read|stored) uncoalesced|.*tile.* with bank conflicts", remark)
        ]
        assert slow == []


@gpu_devices.both
@pytest.mark.parametrize("name", list(SCANS))
def test_lengths_may_be_known_by_the_call_alone(target: str, name: str) -> None:
    gpu_devices.require(target)
    scan = SCANS[name]
    module = ls.build(scan.func(None), target=target)
    for n in (1, 2, 17, 4097, 20_000):
        a = RNG.integers(-9, 9, n).astype(scan.dtype)
        b = np.zeros_like(a)
        module(n, a, b, np.zeros_like(a))
        np.testing.assert_array_equal(b, scan.expected(a))


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_the_interpreter_runs_the_schedule_and_what_it_is_lowered_to(target: str) -> None:
    scan = SCANS["sums"]
    sch = ls.default_schedule(scan.func(2000), target=target)
    a = RNG.integers(-9, 9, 2000).astype("int32")
    for func in (sch.func, ls.lower(sch, target=target)):
        b = np.zeros_like(a)
        ls.interp.run(func, a, b, np.zeros_like(a))
        np.testing.assert_array_equal(b, np.cumsum(a))


@gpu_devices.both
def test_values_before_are_read_where_they_are(target: str) -> None:
    """Tiles have the values after an iteration; such scans run in parts without tiles."""
    gpu_devices.require(target)
    before = Scan("int32", "B[vi - 1] + A[vi]", np.cumsum)
    text = before.func(5000).script().replace("B[vi] =", "C[vi] = B[vi - 1]\n            B[vi] =")
    module = ls.build(ls.from_source(text), target=target)
    a = RNG.integers(-9, 9, 5000).astype("int32")
    b, c = np.zeros_like(a), np.zeros_like(a)
    module(a, b, c)
    np.testing.assert_array_equal(b, np.cumsum(a))
    np.testing.assert_array_equal(c[1:], b[:-1])
    assert "tile" not in module.source(target)


def test_a_tile_is_as_large_as_shared_memory_allows() -> None:
    def rows(func: Any, target: str) -> set[int]:
        text = str(ls.default_schedule(func, target=target).trace)
        return {int(number) for number in re.findall(r"tile=(\d+)", text)}

    long = 1 << 21
    assert rows(SCANS["sums"].func(long), "cuda") == {256, 32}
    assert rows(SCANS["linear"].func(long), "cuda") == {64}
    small = "cuda -max_shared_memory_per_block=4096"
    assert rows(SCANS["sums"].func(long), small) == {32, 4}
