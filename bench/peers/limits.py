# SPDX-License-Identifier: Apache-2.0
"""What the machine can do, measured beside the kernels: products a second, and bytes a second."""

from __future__ import annotations

from typing import Any

import numpy as np
from programs_c import compiled

PEAK = """
#if defined(__AVX512F__)
typedef float V __attribute__((vector_size(64)));
#else
typedef float V __attribute__((vector_size(32)));
#endif
enum { LANES = sizeof(V) / sizeof(float), CHAINS = 12, STEPS = 20000 };
void f(float *out) {
  PARALLEL
  for (int part = 0; part < THREADS; ++part) {
    V sums[CHAINS], factor = {0}, step = {0};
    factor += 0.5f;
    step += 1.0f;
    for (int c = 0; c < CHAINS; ++c) sums[c] = step;
    for (int i = 0; i < STEPS; ++i) {
#pragma GCC unroll 12
      for (int c = 0; c < CHAINS; ++c) {
        sums[c] = sums[c] * factor + step;
        __asm__ volatile("" : "+x"(sums[c]));
      }
    }
    for (int c = 1; c < CHAINS; ++c) sums[0] += sums[c];
    for (int lane = 0; lane < LANES; ++lane) out[part * LANES + lane] = sums[0][lane];
  }
}
"""
"""Chains of products in sums, as many as the latency hides; nothing in memory."""
COPY = """
void f(const float *restrict a, float *restrict b) {
  PARALLEL
  for (int part = 0; part < THREADS; ++part) {
    const size_t begin = (size_t)COUNT * part / THREADS, end = (size_t)COUNT * (part + 1) / THREADS;
    for (size_t i = begin; i < end; ++i) b[i] = a[i];
  }
}
"""
CHAINS, STEPS = 12, 20000


class Limits:
    """Measures the peak of the FMA units, and copies of as many bytes as a workload touches."""

    def __init__(self, threads: int, lanes: int) -> None:
        from programs_c import PARALLEL

        self._threads = threads
        self._parallel = PARALLEL if threads > 1 else ""
        self._out = np.zeros(64 * threads, np.float32)
        self._flops = 2.0 * CHAINS * STEPS * lanes * threads
        self._peak = compiled(
            PEAK.replace("PARALLEL", self._parallel), [self._out], threads=threads
        )

    def peak(self) -> tuple[Any, float]:
        """Return a call, and how many operations it does."""
        return self._peak, self._flops

    def copy(self, bytes_: float) -> tuple[Any, float]:
        """Return a call that copies within so many bytes, and how many it reads and writes."""
        count = max(int(bytes_) // 8, 1024)
        source, target = np.ones((2, count), np.float32)
        call = compiled(
            COPY.replace("PARALLEL", self._parallel), [source, target],
            threads=self._threads, count=count,
        )  # fmt: skip
        keep = (source, target)
        return lambda: (call(), keep)[0], 8.0 * count
