# SPDX-License-Identifier: Apache-2.0
"""Random programs that accumulate in place, in triangular loops: updates read their own buffer."""

from __future__ import annotations

import random

import loopsmith as ls
from loopsmith import tir

WIDTH = 3
"""Buffers are so many times as wide as loops are long."""


class RandomInPlace:
    """One nest as those of Cholesky, matrix chains, triangular solves and their relatives."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.size = rng.choice([5, 9, 17, 24])
        self.is_symbolic = rng.random() < 0.25
        self.dtype = rng.choice(["int32", "float32"])
        self.axes: list[str] = []
        self.is_block = False
        self.has_conditions = rng.random() < 0.6

    def text(self) -> str:
        """Return the program as a script."""
        rng = self.rng
        depth = rng.choice([2, 3, 3])
        loops = ["i", "j", "k"][3 - depth :]
        self.is_block = rng.random() < 0.5
        size = "n" if self.is_symbolic else str(self.size)
        lines: list[str] = []
        bounds = {}
        for d, loop in enumerate(loops):
            low, high = self.bounds(loops[:d], size)
            bounds[loop] = (low, high)
            is_rectangular = self.is_block and self.has_conditions
            extents = ("0", size) if is_rectangular else (low, high)
            lines.append("    " * d + f"for {loop} in range({extents[0]}, {extents[1]}):")
            if d == depth - 2 and rng.random() < 0.2:
                lines.append("    " * (d + 1) + f"A[{loop}, 0] = A[{loop}, 0] + B[{loop}]")
        indent = "    " * depth
        if self.is_block:
            lines += [indent + line for line in self.block(loops, bounds, size)]
        else:
            if rng.random() < 0.2:
                lines.append(indent + f"if {loops[-1]} != {rng.choice(loops[:-1])}:")
                indent += "    "
            lines.append(indent + self.update(loops))
            if rng.random() < 0.2:
                lines.append(indent + self.update(loops))
        wide = f"n * {WIDTH}" if self.is_symbolic else str(self.size * WIDTH)
        head = "a: T.handle, b: T.handle" + (", n: T.int32" if self.is_symbolic else "")
        body = [
            f'A = T.match_buffer(a, ({wide}, {wide}), "{self.dtype}")',
            f'B = T.match_buffer(b, ({wide},), "{self.dtype}")',
            *lines,
        ]
        return f"@T.prim_func\ndef main({head}):\n" + "".join(f"    {line}\n" for line in body)

    def bounds(self, around: list[str], size: str) -> tuple[str, str]:
        """Return where a loop starts and ends."""
        if not around or self.rng.random() < 0.25:
            return "0", size
        other = self.rng.choice(around)
        return self.rng.choice(
            [("0", other)] * 2 + [("0", f"{other} + 1"), (other, size), (f"{other} + 1", size)]
        )

    def block(self, loops: list[str], bounds: dict[str, tuple[str, str]], size: str) -> list[str]:
        """Return a block over the loops, its last axis that of a reduction."""
        names = [f"v{loop}" for loop in loops]
        conditions = [
            condition
            for loop, (low, high) in bounds.items()
            for condition in (f"{low} <= {loop}", f"{loop} < {high}")
            if condition not in {f"0 <= {loop}", f"{loop} < {size}"}
        ]
        kinds = ["spatial"] * (len(loops) - 1) + ["reduce"]
        lines = [
            'with T.block("A"):',
            *(f"    v{loop} = T.axis.{kind}({size}, {loop})" for loop, kind in zip(loops, kinds)),
        ]
        if conditions and self.has_conditions:
            lines.append(f"    T.where({' and '.join(conditions)})")
        has_init = self.rng.random() < 0.8
        target = self.target(names, is_exact=has_init)
        if has_init:
            lines += [
                "    with T.init():",
                f"        {target} = {self.number(self.rng.choice([0, 1]))}",
            ]
        lines.append("    " + self.update(names, target))
        return lines

    def target(self, names: list[str], is_exact: bool = False) -> str:
        """Return the element that an update updates; seldom one for each iteration."""
        rng = self.rng
        spatial = names[:-1] if is_exact or rng.random() < 0.9 else names
        is_true = len(spatial) > 1 and rng.random() < 0.7
        first, second = rng.sample(spatial, 2) if is_true else rng.choices(spatial, k=2)
        if rng.random() < 0.2:
            return f"B[{self.index([first])}]"
        return f"A[{self.index([first])}, {self.index([second])}]"

    def update(self, names: list[str], target: str | None = None) -> str:
        """Return a statement that updates an element by others, mostly of the same buffer."""
        rng = self.rng
        target = target or self.target(names)
        operand = self.load(names, target[0])
        if rng.random() < 0.7:
            operand = f"{operand} {rng.choice(['+', '*', '-'])} {self.load(names, target[0])}"
        combine = rng.choice(["{0} + {1}", "{0} - {1}", "T.min({0}, {1})", "T.max({1}, {0})"])
        return f"{target} = " + combine.format(target, f"({operand})")

    def load(self, names: list[str], own: str) -> str:
        """Return an element, or the product of one and a number."""
        name = own if self.rng.random() < 0.75 else "B"
        indices = [self.index([self.rng.choice(names)]) for _ in range(1 if name == "B" else 2)]
        return f"{name}[{', '.join(indices)}]"

    def index(self, names: list[str]) -> str:
        """Return an index."""
        size = "n" if self.is_symbolic else str(self.size)
        return self.rng.choice(["{0}"] * 6 + ["{0} + 1", "{0} * 2", f"{{0}} + {size}"]).format(
            *names
        )

    def number(self, value: int) -> str:
        """Return a number as one of the elements."""
        return f"T.{self.dtype}({value})"


def random_in_place(rng: random.Random) -> tir.PrimFunc:
    """Return a random function of A and B, and of n, which may be any size."""
    return ls.from_source(RandomInPlace(rng).text())
