# SPDX-License-Identifier: Apache-2.0
"""A kernel of plain loops: its name, its arrays, its body as a script, sizes."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import numpy.typing as npt

import loopsmith as ls

Array = npt.NDArray[np.generic]


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A program of plain loops over arrays of numbers."""

    name: str
    arrays: str  # Like "A[N,M] B[M]"; a type before a name: "int32:T[N,N]".
    body: str
    sizes: dict[str, int]
    dtype: str = "float64"

    def shapes(self, sizes: dict[str, int] | None = None) -> list[tuple[str, str, tuple[int, ...]]]:
        """Return the name, type and shape of each parameter."""
        known = {**self.sizes, **(sizes or {})}
        found = []
        for each in re.findall(r"(?:(\w+):)?(\w+)\[([^\]]*)\]", self.arrays):
            shape = tuple(int(eval(extent, {}, known)) for extent in each[2].split(","))
            found.append((each[1], each[0] or self.dtype, shape))
        return found

    def source(self, sizes: dict[str, int] | None = None, noalias: bool = False) -> str:
        """Return the script for these sizes."""
        known = {**self.sizes, **(sizes or {})}
        parameters = ", ".join(
            f'{name}: T.Buffer({shape}, "{dtype}")' for name, dtype, shape in self.shapes(sizes)
        )
        body = self.body.strip("\n")
        for name, value in known.items():
            body = re.sub(rf"\b{name}\b", str(value), body)
        head = f"@T.prim_func\ndef {self.name}({parameters}):\n"
        attributes = '    T.func_attr({"tir.noalias": True})\n' if noalias else ""
        return head + attributes + body

    def func(self, sizes: dict[str, int] | None = None, noalias: bool = False) -> ls.tir.PrimFunc:
        """Return the function for these sizes."""
        return ls.from_source(self.source(sizes, noalias))

    def arguments(self, sizes: dict[str, int] | None = None) -> list[Array]:
        """Return arrays of random numbers: matrices with a heavy diagonal, indices below 4."""
        generator = np.random.default_rng(0)
        made: list[Array] = []
        for _, dtype, shape in self.shapes(sizes):
            if np.issubdtype(np.dtype(dtype), np.integer):
                made.append(generator.integers(0, 4, shape).astype(dtype))
                continue
            values = generator.random(shape)
            if len(shape) == 2 and shape[0] == shape[1]:
                values = values + shape[0] * np.eye(shape[0])
                values = (values + values.T) / 2
            made.append(values.astype(dtype))
        return made


KERNELS: dict[str, Kernel] = {}


def kernel(name: str, arrays: str, sizes: str, body: str, dtype: str = "float64") -> None:
    """Add a kernel; `sizes` is like "N=100 M=200"."""
    known = {key: int(value) for key, value in (each.split("=") for each in sizes.split())}
    KERNELS[name] = Kernel(name, arrays, body, known, dtype)
