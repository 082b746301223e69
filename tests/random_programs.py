# SPDX-License-Identifier: Apache-2.0
"""Random programs of several stages: what the fuzzer of schedules starts from."""

from __future__ import annotations

import random

from random_stages import RandomStages

import loopsmith as ls
from loopsmith import tir

NOTE = 'T.block_attr({"note": 1})'
NARROW = ["int8", "uint8", "int16", "uint32", "float16"]
"""Types of elements beside float32; those of integers wrap."""


class RandomProgram(RandomStages):
    """Stages one after another: elementwise, shifted, transposed, reductions, in place, scans."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.buffers: list[tuple[str, tuple[str, ...]]] = []
        self.indices: set[str] = set()
        self.loops = 0
        self.dtype = rng.choice(["float32"] * 10 + NARROW)
        self.sizes = [str(rng.choice([4, 4, 6, 7, 8, 12])) for _ in range(2)]
        self.is_symbolic = rng.random() < 0.2
        if self.is_symbolic:
            self.sizes[0] = "n"

    def text(self) -> str:
        """Return the program as a script."""
        self.buffers.append(("A", tuple(self.sizes)))
        stages = self.rng.randint(2, 4)
        makers = [
            self.elementwise,
            self.elementwise,
            self.transposed,
            self.stencil,
            self.reduction,
            self.reduction,
            self.in_place,
            self.scan,
            self.guarded,
            self.plain,
            self.plain_reduction,
            self.temporary,
            self.window,
            self.padded,
            *self.unusual_stages(),
        ]
        for _ in range(stages):
            self.rng.choice(makers)()
        inner = {name for name, _ in self.buffers[1:-1] if self.rng.random() < 0.8}
        parameters = [(n, s) for n, s in self.buffers if n not in inner]
        head = [f"{name.lower()}: T.handle" for name, _ in parameters]
        body = [
            f"{name} = T.match_buffer({name.lower()}, ({', '.join(shape)},), {self.type_of(name)})"
            for name, shape in parameters
        ]
        body += [
            f"{name} = T.alloc_buffer(({', '.join(shape)},), {self.type_of(name)})"
            for name, shape in self.buffers
            if name in inner
        ]
        if self.is_symbolic:
            head.append("n: T.int32")
        lines = "\n".join("    " + line for line in [*body, *self.lines])
        return f"@T.prim_func\ndef main({', '.join(head)}):\n{lines}\n"

    def source(self) -> tuple[str, tuple[str, ...]]:
        """Return a buffer with two dimensions that was written, or is given."""
        wide = [buffer for buffer in self.buffers if len(buffer[1]) == 2]
        return wide[-1] if self.rng.random() < 0.6 else self.rng.choice(wide)

    def target(self, shape: tuple[str, ...], *, of_indices: bool = False) -> str:
        """Return the name of a new buffer."""
        name = f"B{len(self.buffers)}"
        self.buffers.append((name, shape))
        if of_indices:
            self.indices.add(name)
        return name

    def type_of(self, name: str) -> str:
        """Return the type of a buffer's elements, quoted."""
        return '"int32"' if name in self.indices else f'"{self.dtype}"'

    def number(self, value: int) -> str:
        """Return a number as one of the elements."""
        return f"T.{self.dtype}({value})"

    def names(self, count: int) -> list[str]:
        """Return names for new loops."""
        self.loops += count
        return [f"i{self.loops - count + k}" for k in range(count)]

    def nest(self, name: str, extents: list[str], kinds: str, body: list[str]) -> None:
        """Add loops around a block whose axes are v0, v1, …"""
        loops = self.names(len(extents))
        axes = ", ".join(f"v{k}" for k in range(len(extents)))
        self.lines += [
            f"for {', '.join(loops)} in T.grid({', '.join(extents)}):",
            f'    with T.block("{name}"):',
            f'        {axes} = T.axis.remap("{kinds}", [{", ".join(loops)}])',
            *("        " + line for line in body),
        ]
        if self.rng.random() < 0.2:
            self.lines.insert(len(self.lines) - len(body), f"        {NOTE}")

    def elementwise(self) -> None:
        source, shape = self.source()
        name = self.target(shape)
        fits = shape == self.buffers[0][1]
        factor = "A[v0, v1]" if fits and self.rng.random() < 0.5 else self.number(2)
        value = f"{source}[v0, v1] * {factor} + {self.number(1)}"
        self.nest(name, list(shape), "SS", [f"{name}[v0, v1] = {value}"])

    def transposed(self) -> None:
        source, shape = self.source()
        name = self.target(shape[::-1])
        self.nest(name, list(shape[::-1]), "SS", [f"{name}[v0, v1] = {source}[v1, v0]"])

    def stencil(self) -> None:
        source, shape = self.source()
        axis = self.rng.randrange(2)
        if shape[axis] == "n" or int(shape[axis]) < 4:
            return self.elementwise()
        extent, width = int(shape[axis]), int(shape[axis]) - 2
        is_clamped = self.rng.random() < 0.5
        kept = str(extent if is_clamped else width)
        name = self.target((kept, shape[1]) if axis == 0 else (shape[0], kept))

        def at(offset: int) -> str:
            index = f"v{axis} + {offset}"
            if is_clamped:
                index = f"T.min(T.max(v{axis} + {offset - 1}, 0), {extent - 1})"
            return f"{source}[{index}, v1]" if axis == 0 else f"{source}[v0, {index}]"

        value = f"{at(0)} + {at(1)} * {at(2)}"
        return self.nest(name, list(self.buffers[-1][1]), "SS", [f"{name}[v0, v1] = {value}"])

    def reduction(self) -> None:
        source, shape = self.source()
        name = self.target((shape[0],))
        combine = self.rng.choice(
            [
                f"{name}[v0] + {source}[v0, v1]",
                f"T.max({name}[v0], {source}[v0, v1])",
                f"{name}[v0] + {source}[v0, v1] * {self.number(2)}",
            ]
        )
        first = f'T.min_value("{self.dtype}")' if "max" in combine else self.number(0)
        body = ["with T.init():", f"    {name}[v0] = {first}", f"{name}[v0] = {combine}"]
        self.nest(name, list(shape), "SR", body)
        if self.rng.random() < 0.5:
            wide = self.target(shape)
            value = f"{source}[v0, v1] - {name}[v0]"
            self.nest(wide, list(shape), "SS", [f"{wide}[v0, v1] = {value}"])
        else:
            last = self.target((shape[0],))
            fits = shape[0] == self.buffers[0][1][0] and self.rng.random() < 0.5
            value = f"{name}[v0] + {'A[v0, 0]' if fits else self.number(3)}"
            self.nest(last, [shape[0]], "S", [f"{last}[v0] = {value}"])

    def padded(self) -> None:
        source, shape = self.source()
        name = self.target(shape)
        value = f"T.if_then_else(v0 >= 1 and v1 >= 1, {source}[v0 - 1, v1 - 1], {self.number(0)})"
        self.nest(name, list(shape), "SS", [f"{name}[v0, v1] = {value}"])

    def in_place(self) -> None:
        source, shape = self.source()
        body = [f"{source}[v0, v1] = {source}[v0, v1] * {self.number(3)}"]
        self.nest(f"{source}_again{len(self.lines)}", list(shape), "SS", body)

    def scan(self) -> None:
        source, shape = self.source()
        (i, j) = self.names(2)
        if shape[0] == "n":
            return self.in_place()
        self.lines += [f"for {i} in range(1, {shape[0]}):", f"    for {j} in range({shape[1]}):"]
        store = f"{source}[{i}, {j}] = {source}[{i} - 1, {j}] + {source}[{i}, {j}]"
        self.lines += [f"        {store}"]
        return None

    def guarded(self) -> None:
        source, shape = self.source()
        name = self.target(shape)
        self.nest(name, list(shape), "SS", [f"{name}[v0, v1] = {self.number(5)}"])
        i, j = self.names(2)
        condition, loop = f"if {i} % 2 == 0:", f"for {j} in range({shape[1]}):"
        around, inside = (condition, loop) if self.rng.random() < 0.5 else (loop, condition)
        self.lines += [
            f"for {i} in range({shape[0]}):",
            f"    {around}",
            f"        {inside}",
            f'            with T.block("{name}_even"):',
            f'                v0, v1 = T.axis.remap("SS", [{i}, {j}])',
            f"                {name}[v0, v1] = {source}[v0, v1]",
        ]

    def plain(self) -> None:
        source, shape = self.source()
        name = self.target(shape)
        i, j = self.names(2)
        self.lines += [
            f"for {i} in range({shape[0]}):",
            f"    for {j} in range({shape[1]}):",
            f"        {name}[{i}, {j}] = {source}[{i}, {j}] + {self.number(2)}",
        ]

    def plain_reduction(self) -> None:
        """Accumulate without blocks, in elements of which some are known at run time alone."""
        source, shape = self.source()
        name = self.target((shape[0],))
        i, j, k = self.names(3)
        value = self.rng.choice(
            [
                f"{name}[{j}] + {source}[{j}, {k}]",
                f"{name}[{j}] - {source}[{j}, {k}] + {self.number(1)}",
                f"T.max({name}[{j}], {source}[{j}, {k}])",
            ]
        )
        loops = [(j, shape[0]), (k, shape[1])]
        if self.rng.random() < 0.5:
            loops.reverse()
        self.lines += [
            f"for {i} in range({shape[0]}):",
            f"    {name}[{i}] = {self.number(0)}",
            *(f"{'    ' * n}for {loop} in range({size}):" for n, (loop, size) in enumerate(loops)),
            f"        {name}[{j}] = {value}",
        ]

    def temporary(self) -> None:
        """Keep a row in memory that the next row takes again, in loops without blocks."""
        source, shape = self.source()
        name = self.target(shape)
        i, j, k = self.names(3)
        row = f"row{self.loops}"
        is_shared = self.rng.random() < 0.3
        self.lines += [
            f'{row} = T.alloc_buffer(({shape[1]},), "{self.dtype}")',
            f"for {i} in range({shape[0]}):",
            f"    for {j} in range({shape[1]}):",
            f"        {row}[{j}] = {source}[{0 if is_shared else i}, {j}] * {self.number(2)}",
            f"    for {k} in range({shape[1]}):",
            f"        {name}[{i}, {k}] = {row}[{k}] + {source}[{i}, {k}]",
        ]

    def window(self) -> None:
        """Compute the rows that a row of the result needs just before it, most of them again."""
        source, shape = self.source()
        if shape[0] == "n" or int(shape[0]) < 4:
            return self.elementwise()
        rows, columns = str(int(shape[0]) - 2), shape[1]
        i, j, k, m = self.names(4)
        name = self.target((rows, columns))
        self.lines += [
            f'window{i} = T.alloc_buffer(({shape[0]}, {columns}), "{self.dtype}")',
            f"for {i} in range({rows}):",
            f"    for {j}, {k} in T.grid(3, {columns}):",
            f'        with T.block("window{i}"):',
            f"            v0 = T.axis.spatial({shape[0]}, {i} + {j})",
            f"            v1 = T.axis.spatial({columns}, {k})",
            f"            window{i}[v0, v1] = {source}[v0, v1] * {self.number(2)}",
            f"    for {m} in range({columns}):",
            f'        with T.block("{name}"):',
            f'            v0, v1 = T.axis.remap("SS", [{i}, {m}])',
            f"            {name}[v0, v1] = window{i}[v0, v1] + window{i}[v0 + 2, v1]",
        ]
        return None


def random_program(rng: random.Random) -> tir.PrimFunc:
    """Return a random function of one to four stages."""
    return ls.from_source(RandomProgram(rng).text())
