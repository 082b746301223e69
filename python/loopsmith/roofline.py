# SPDX-License-Identifier: Apache-2.0
"""What this machine reaches, measured."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from . import _core


@dataclass(frozen=True)
class Roofline:
    """What this machine was measured to reach."""

    gflops: float
    """In a product of matrices that lie in its caches."""
    gbps: float
    """In a copy of arrays that do not."""

    def seconds(self, flops: float, size: float) -> float:
        """Return the time that a call takes at least, by its operations and its bytes."""
        return max(flops / (self.gflops * 1e9), size / (self.gbps * 1e9))

    def __str__(self) -> str:
        """Return both numbers."""
        return f"{self.gflops:.4g} GFLOP/s, {self.gbps:.4g} GB/s"


@functools.cache
def measured_roofline() -> Roofline:
    """Measure this machine: once in a process."""
    from . import driver, te

    n = 512
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    product = driver.build([a, b, te.nn.matmul(a, b)])
    arrays = [_core.zeros((n, n)) for _ in range(3)]
    gflops = 2 * n**3 / product.time(*arrays, repeat=7).min * 1e-9
    size = 1 << 24
    x = te.placeholder((size,), name="X")
    copy = driver.build([x, te.compute((size,), lambda i: x[i] * 2.0, name="Y")])
    gbps = 8 * size / copy.time(_core.zeros(size), _core.zeros(size)).min * 1e-9
    return Roofline(gflops, gbps)
