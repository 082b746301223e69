# SPDX-License-Identifier: Apache-2.0
"""What an example is: a program, its schedule, its arguments and its results."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import loopsmith as ls
from loopsmith import tir

Array = npt.NDArray[np.generic]


@dataclasses.dataclass(frozen=True)
class Program:
    """A program, its schedule, its arguments for a size, and its results by NumPy."""

    source: str
    steps: Callable[[tir.Schedule], object]
    arguments: Callable[[int], list[Array]]
    expected: Callable[[list[Array]], list[Array]]
    rtol: float = 1e-5
    types: tuple[str, ...] = ()
    """Those that its elements may have; the first stands in the source."""

    @property
    def func(self) -> tir.PrimFunc:
        """The program as it is written."""
        return ls.from_source("@T.prim_func\n" + self.source.strip("\n"))

    def of_type(self, dtype: str) -> Program:
        """Return the program of elements of another of its types."""
        own = self.types[0]

        def converted(array: Array) -> Array:
            if array.dtype != own:
                return array
            is_cut = array.dtype.kind == "f" and np.dtype(dtype).kind == "i"
            return (array * 100 if is_cut else array).astype(dtype)

        def arguments(size: int) -> list[Array]:
            return [converted(array) for array in self.arguments(size)]

        rtol = max(self.rtol, 1e-4) if dtype == "float32" else self.rtol
        source = self.source.replace(own, dtype)
        return dataclasses.replace(self, source=source, arguments=arguments, rtol=rtol)

    def schedule(self) -> tir.Schedule:
        """Return the program with its steps applied."""
        sch = tir.Schedule(self.func)
        self.steps(sch)
        return sch


def numbers(shape: int | tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Array:
    """Return random numbers between 0 and 1, or below 100 where they are integers."""
    generator = np.random.default_rng(seed)
    if np.issubdtype(np.dtype(dtype), np.integer):
        return generator.integers(0, 100, shape).astype(dtype)
    return generator.random(shape).astype(dtype)
