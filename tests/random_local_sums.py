# SPDX-License-Identifier: Apache-2.0
"""Random programs that sum up, or find by steps, into scalars of a loop, as people write them."""

from __future__ import annotations

import random

import numpy as np

TYPES = ("float32", "float32", "float64", "int32", "int64", "int16", "uint8")
EXTENTS = (1, 2, 3, 5, 8, 17, 31, 33, 64, 100)
SHAPES = (
    {"A": "nq", "B": "qm", "C": "nm", "D": "qn"},
    {"A": "qn", "B": "qq", "C": "nq", "D": "nn"},
)
LOOPS = {"i": "n", "j": "m", "k": "q"}


class LocalSums:
    """A function of matrices A, B, C and D: loops i and j around scalars and loops k over them.

    Attributes
    ----------
    dtype
        The type of all elements.
    sizes
        The extents n, m and q, which the program may not know.
    """

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.dtype = self.rng.choice(TYPES)
        self.sizes = {size: self.rng.choice(EXTENTS) for size in "nmq"}
        self.is_symbolic = self.rng.random() < 0.3
        self.outer = "ij" if self.rng.random() < 0.6 else "i"
        self.shapes = SHAPES[len(self.outer) == 1]
        self.scalars = [f"s{number}" for number in range(self.rng.randint(1, 3))]

    def text(self) -> str:
        """Return the program as a script."""
        lines = ["@T.prim_func", "def main(a: T.handle, b: T.handle, c: T.handle, d: T.handle):"]
        if self.is_symbolic:
            lines += [f"    {size} = T.int32()" for size in "nmq"]
        for buffer, shape in self.shapes.items():
            extents = ", ".join(self.extent(size) for size in shape)
            lines.append(
                f'    {buffer} = T.match_buffer({buffer.lower()}, ({extents}), "{self.dtype}")'
            )
        indent = "    "
        for loop in self.outer:
            lines.append(f"{indent}for {loop} in range({self.extent(LOOPS[loop])}):")
            indent += "    "
        start = self.rng.choice([self.load(self.outer), self.number(0)])
        lines += [f"{indent}{scalar}: T.{self.dtype} = {start}" for scalar in self.scalars]
        for _ in range(self.rng.randint(1, 2)):
            lines += [indent + line for line in self.steps()]
        for _ in range(self.rng.randint(1, 2)):
            lines.append(f"{indent}{self.element('C', self.outer)} = {self.scalar()}")
        return "\n".join(lines) + "\n"

    def arrays(self) -> list[np.ndarray]:
        """Return arguments, small whole numbers."""
        numbers = np.random.default_rng(self.rng.randrange(1 << 30))
        first = 0 if self.dtype == "uint8" else -2
        return [
            numbers.integers(first, 3, [self.sizes[size] for size in shape]).astype(self.dtype)
            for shape in self.shapes.values()
        ]

    def steps(self) -> list[str]:
        """Return a loop that changes scalars."""
        loops = self.outer + "k"
        lines = [f"for k in range({self.extent('q')}):"]
        if self.rng.random() < 0.25:
            lines.append("    for l in range(3):")
        indent = "    " * len(lines)
        for _ in range(self.rng.randint(1, 2)):
            scalar, value = self.scalar(), self.value(loops, 2)
            if self.rng.random() < 0.3:
                left, right = self.value(loops, 1), self.value(loops, 1)
                lines.append(f"{indent}if {left} {self.rng.choice('<>')} {right}:")
                lines.append(f"{indent}    {scalar} = {value}")
                if self.rng.random() < 0.4:
                    lines.append(f"{indent}else:")
                    lines.append(f"{indent}    {self.scalar()} = {self.value(loops, 1)}")
            else:
                added = f"{scalar} + {value}" if self.rng.random() < 0.5 else value
                lines.append(f"{indent}{scalar} = {added}")
        if self.rng.random() < 0.15:
            lines.append(f"{indent}{self.element('C', self.outer)} = {self.scalar()}")
        return lines

    def extent(self, size: str) -> str:
        """Return an extent as the program has it."""
        return size if self.is_symbolic else str(self.sizes[size])

    def scalar(self) -> str:
        """Return one of the scalars."""
        return self.rng.choice(self.scalars)

    def number(self, value: int) -> str:
        """Return a number of the type."""
        return f'T.Cast("{self.dtype}", {value})'

    def element(self, buffer: str, loops: str) -> str:
        """Return an element of a buffer, inside of it."""
        indices = []
        for size in self.shapes[buffer]:
            fitting = [loop for loop in loops if self.sizes[LOOPS[loop]] <= self.sizes[size]]
            has_one = fitting and self.rng.random() < 0.9
            indices.append(self.rng.choice(fitting) if has_one else "0")
        return f"{buffer}[{', '.join(indices)}]"

    def load(self, loops: str) -> str:
        """Return an element that the program does not write."""
        return self.element(self.rng.choice("ABD"), loops)

    def value(self, loops: str, depth: int) -> str:
        """Return an expression."""
        if depth == 0 or self.rng.random() < 0.3:
            number = self.number(self.rng.randint(0, 3))
            return self.rng.choice([self.load(loops), self.load(loops), self.scalar(), number])
        left, right = self.value(loops, depth - 1), self.value(loops, depth - 1)
        return f"({left} {self.rng.choice('+-*')} {right})"
