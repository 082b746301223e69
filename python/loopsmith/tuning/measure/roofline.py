# SPDX-License-Identifier: Apache-2.0
"""What a machine can do at most: the share of it that a schedule reaches."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...driver import build
from ...script import from_source

CHAINS = 12
"""So many vectors are summed at once: as many as hide the latency, and registers hold."""
STEPS = 20_000

PEAK = """
@T.prim_func
def main(out: T.Buffer(({threads}, {chains}, {lanes}), "float32")):
    T.func_attr({{"tir.is_scheduled": 1}})
    for thread in T.parallel({threads}):
        sums = T.alloc_buffer(({chains}, {lanes}), "float32", scope="local")
        for chain in T.unroll({chains}):
            for lane in T.vectorized({lanes}):
                sums[chain, lane] = T.float32(1)
        for step in range({steps}):
            for chain in T.unroll({chains}):
                for lane in T.vectorized({lanes}):
                    sums[chain, lane] = sums[chain, lane] * T.float32(0.5) + T.float32(1)
        for chain in T.unroll({chains}):
            for lane in T.vectorized({lanes}):
                out[thread, chain, lane] = sums[chain, lane]
"""
COPY = """
@T.prim_func
def main(a: T.Buffer(({count},), "float32"), b: T.Buffer(({count},), "float32")):
    T.func_attr({{"tir.is_scheduled": 1, "tir.noalias": True}})
    for part in T.parallel({count} // 4096):
        for i in T.vectorized(4096):
            b[part * 4096 + i] = a[part * 4096 + i]
"""


@functools.lru_cache(maxsize=8)
def peak_flops(threads: int) -> float:
    """Return how many operations on float32 a second so many threads do at most, as measured."""
    lanes = 16 if "avx512f" in _flags() else 8
    text = PEAK.format(threads=threads, chains=CHAINS, lanes=lanes, steps=STEPS)
    module = build(from_source(text), num_threads=threads)
    taken = module.time(np.zeros((threads, CHAINS, lanes), np.float32), repeat=5)
    return float(2.0 * CHAINS * lanes * STEPS * threads / min(taken.samples))


@functools.lru_cache(maxsize=16)
def bandwidth(threads: int, log2_bytes: int) -> float:
    """Return how many bytes a second a copy reads and writes, of so many in all, as measured."""
    count = max(2**log2_bytes // 8, 4096)
    module = build(from_source(COPY.format(count=count)), num_threads=threads)
    taken = module.time(np.ones(count, np.float32), np.zeros(count, np.float32), repeat=5)
    return float(8.0 * count / min(taken.samples))


@dataclass(frozen=True)
class Limit:
    """What a program asks for, and what the machine does at most.

    Attributes
    ----------
    flops, bytes
        How many operations a call asks for, and how many bytes its tensors have.
    peak_flops, bandwidth
        How many of each this machine does in a second, as measured.
    """

    flops: float
    bytes: float
    peak_flops: float
    bandwidth: float

    @property
    def seconds(self) -> float:
        """What a call takes at least.

        It is the longer one of computing all operations of the program and of touching each of its
        bytes once: the roofline of Williams et al., "Roofline: An Insightful Visual Performance
        Model" (CACM 2009), for float32.
        """
        return max(self.bytes / self.bandwidth, self.flops / self.peak_flops)


def limit_of(flops: float, touched: float, threads: int | None) -> Limit | None:
    """Return the limit of a program of so many operations on so many bytes; None without any."""
    if not touched:
        return None
    count = threads or len(os.sched_getaffinity(0))
    moved = bandwidth(count, min(max(round(math.log2(touched)), 15), 28))
    return Limit(flops, touched, peak_flops(count), moved)


def _flags() -> str:
    """Return what instructions the processor has, as Linux says."""
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""
