# SPDX-License-Identifier: Apache-2.0
"""Random reads of a tensor, whose gradients are compared with sums over all reads."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

import loopsmith as ls
from loopsmith import te


class RandomRead:
    """``B[i, j] = A[f(i, j, k), g(i, j, k)] * W[i, j, k]`` where a guard holds, summed over k."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.extents = [rng.randint(1, 5) for _ in range(3)]
        self.shape = (rng.randint(1, 6), rng.randint(1, 6))
        self.indices = [self.index(rng, 0) for _ in self.shape]
        self.guard = self.index(rng, 1)
        self.bound = rng.randint(-2, 6)
        self.sums = rng.random() < 0.6

    def index(self, rng: random.Random, depth: int) -> str:
        """Return an index as Python, of ``i``, ``j`` and ``k``."""
        if depth == 2 or rng.random() < 0.3:
            axes = rng.sample(["i", "j", "k"], 2)
            return rng.choice([axes[0], f"({axes[0]} + {axes[1]})", f"({axes[0]} - {axes[1]})"])
        inner = self.index(rng, depth + 1)
        number = rng.randint(1, 3)
        forms = [
            f"({inner} * {number} + {rng.choice('ijk')})",
            f"({rng.randint(0, 4)} - {inner})",
            f"({inner} // {number})",
            f"({inner} % {number})",
            f"largest({inner}, {rng.randint(-1, 3)})",
            f"smallest({inner}, {rng.randint(0, 4)})",
        ]
        return rng.choice(forms)

    def value(self, text: str, i: Any, j: Any, k: Any, largest: Any, smallest: Any) -> Any:
        """Return an index, of expressions or of numbers."""
        names = {"i": i, "j": j, "k": k, "largest": largest, "smallest": smallest}
        return eval(text, names)

    def check(self) -> None:
        """Compare the gradient with a sum over all reads."""
        rows, columns, depth = self.extents
        depth = depth if self.sums else 1
        A = te.placeholder(self.shape, "float64", name="A")
        W = te.placeholder((rows, columns, depth), "float64", name="W")
        reduced = te.reduce_axis((0, depth), name="k")

        def element(i: Any, j: Any, k: Any) -> Any:
            at = [self.value(f, i, j, k, te.max, te.min) for f in self.indices]
            inside = [te.all(x >= 0, x < n) for x, n in zip(at, self.shape)]
            guard = self.value(self.guard, i, j, k, te.max, te.min) <= self.bound
            return te.if_then_else(te.all(guard, *inside), A[at[0], at[1]] * W[i, j, k], 0.0)

        def whole(i: Any, j: Any) -> Any:
            if self.sums:
                return te.sum(element(i, j, reduced.var), axis=reduced)
            return element(i, j, te.const(0))

        try:
            B = te.compute((rows, columns), whole, name="B")
        except ls.BoundsError:
            return  # An index is a constant that no element has.
        head = te.placeholder((rows, columns), "float64", name="head")
        (gradient,) = te.gradient(B, [A], head)
        random_numbers = np.random.default_rng(0)
        w = random_numbers.standard_normal((rows, columns, depth))
        h = random_numbers.standard_normal((rows, columns))
        expected = np.zeros(self.shape)
        for i, j, k in np.ndindex(rows, columns, depth):
            at = [self.value(f, i, j, k, max, min) for f in self.indices]
            guard = self.value(self.guard, i, j, k, max, min) <= self.bound
            if guard and all(0 <= x < n for x, n in zip(at, self.shape)):
                expected[tuple(at)] += h[i, j] * w[i, j, k]
        found = np.zeros(self.shape)
        func = te.create_prim_func([A, W, head, gradient])
        ls.interp.run(func, np.zeros(self.shape), w, h, found)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)

    def __str__(self) -> str:
        """Return what is read, for a report."""
        return (
            f"A{list(self.shape)} at {self.indices} where {self.guard} <= {self.bound}, i, j, k in "
            f"{self.extents}, {'sums' if self.sums else 'k = 0'}"
        )
