# SPDX-License-Identifier: Apache-2.0
"""Random programs of blocks that share loops and overwrite what others of them read."""

from __future__ import annotations

import random

import loopsmith as ls
from loopsmith import tir

SIZE = 6
MARGIN = 2


class RandomFeedback:
    """Groups of nests in a loop, each of which reads what others write, rows before or after."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(["uint32", "float32"])
        self.is_symbolic = rng.random() < 0.25
        constant = dict.fromkeys("ijk", str(SIZE))
        self.sizes = {"i": "n", "j": "m", "k": "m"} if self.is_symbolic else constant
        self.lines: list[str] = []
        self.shared = ""
        self.local: list[tuple[str, bool]] = []
        """Memory that is written so far, and whether it has columns."""
        self.finished: set[str] = set()
        """What earlier groups wrote of it."""
        self.allocated: list[str] = []
        self.blocks = 0

    def text(self) -> str:
        """Return the program as a script."""
        for _ in range(self.rng.choice([1, 1, 2])):
            self.group()
        wide = f"n + m + {2 * MARGIN}" if self.is_symbolic else str(SIZE + 2 * MARGIN)
        head = [
            f'A = T.match_buffer(a, ({wide}, {wide}), "{self.dtype}")',
            f'B = T.match_buffer(b, ({wide}, {wide}), "{self.dtype}")',
            f'V = T.match_buffer(v, ({wide},), "{self.dtype}")',
            *self.allocated,
        ]
        body = "".join(f"    {line}\n" for line in [*head, *self.lines])
        size = ", n: T.int32, m: T.int32" if self.is_symbolic else ""
        return f"@T.prim_func\ndef main(a: T.handle, b: T.handle, v: T.handle{size}):\n{body}"

    def group(self) -> None:
        """Add nests, mostly in loops that they share."""
        rng = self.rng
        self.shared = rng.choice(["i", "i", "i", "ij", ""])
        for depth, loop in enumerate(self.shared):
            self.lines.append("    " * depth + f"for {loop} in range({self.sizes[loop]}):")
        makers = [self.row, self.row, self.sums, self.sums, self.products, self.local_row]
        for _ in range(rng.choice([2, 2, 3])):
            rng.choice(makers)()
        self.finished.update(name for name, _ in self.local)

    def nest(self, loops: str, kinds: str, body: list[str], *, is_whole: bool = False) -> None:
        """Add a block in those of its loops that are not shared."""
        own = [loop for loop in loops if loop not in self.shared]
        before, has_before = "T.max(vi - 1, 0)", any("T.max(vi - 1" in line for line in body)
        is_late = has_before and not is_whole and self.rng.random() < 0.5
        if is_late:
            body = [line.replace(before, "vi - 1") for line in body]
        axes = [*self.shared[: len(loops)], *own] if len(loops) > 1 else list(loops)
        indent = "    " * len(self.shared)
        if kinds.strip("S") == "" and not is_late and self.rng.random() < 0.2:
            for loop in own:
                self.lines.append(indent + f"for {loop} in range({self.sizes[loop]}):")
                indent += "    "
            for line in body:
                for loop in axes:
                    line = line.replace(f"v{loop}", loop)
                self.lines.append(indent + line)
            return
        self.blocks += 1
        if own:
            extents = ", ".join(self.sizes[loop] for loop in own)
            self.lines.append(indent + f"for {', '.join(own)} in T.grid({extents}):")
            indent += "    "
        self.lines.append(indent + f'with T.block("b{self.blocks}"):')
        indent += "    "
        names = ", ".join(f"v{loop}" for loop in axes)
        self.lines.append(indent + f'{names} = T.axis.remap("{kinds}", [{", ".join(axes)}])')
        if is_late:
            self.lines.append(indent + "T.where(i >= 1)")
        elif not is_whole and self.rng.random() < 0.15:
            axis = self.rng.choice(axes)
            self.lines.append(indent + f"T.where({axis} < {self.sizes[axis]} - 1)")
        self.lines += [indent + line for line in body]

    def row(self) -> None:
        """Store a row of a parameter, or an element of V."""
        if self.rng.random() < 0.2 and len(self.shared) < 2:
            self.nest("i", "S", [f"V[{self.at('vi')}] = {self.value(['vi'])}"])
            return
        name = self.rng.choice("AB")
        place = f"{name}[{self.at('vi')}, {self.at('vj')}]"
        self.nest("ij", "SS", [f"{place} = {self.value(['vi', 'vj'])}"])

    def local_row(self) -> None:
        """Store a row of memory that is written only there."""
        name = self.allocate(is_row=True)
        body = [f"{name}[vi, vj] = {self.value(['vi', 'vj'])}"]
        self.nest("ij", "SS", body, is_whole=True)
        self.local.append((name, True))

    def sums(self) -> None:
        """Add up a row, or find its largest element."""
        rng = self.rng
        is_local = rng.random() < 0.5
        name = self.allocate(is_row=False) if is_local else "V"
        place = f"{name}[vi]" if is_local else f"V[{self.at('vi')}]"
        value = self.value(["vi", "vj"])
        self.reduce("ij", "SR", place, value, has_init=is_local or rng.random() < 0.8)
        if is_local:
            self.local.append((name, False))

    def products(self) -> None:
        """Multiply a row with a matrix."""
        rng = self.rng
        is_local = rng.random() < 0.5
        name = self.allocate(is_row=True) if is_local else rng.choice("AB")
        place = f"{name}[vi, vj]" if is_local else f"{name}[{self.at('vi')}, {self.at('vj')}]"
        value = f"{self.value(['vi', 'vk'])} * {self.load(['vk', 'vj'])}"
        self.reduce("ijk", "SSR", place, value, has_init=is_local or rng.random() < 0.8)
        if is_local:
            self.local.append((name, True))

    def reduce(self, loops: str, kinds: str, place: str, value: str, *, has_init: bool) -> None:
        """Add a reduction."""
        is_sum = self.rng.random() < 0.8
        update = f"{place} + {value}" if is_sum else f"T.max({place}, {value})"
        body = [f"{place} = {update}"]
        if has_init:
            first = self.number(self.rng.choice([0, 0, 1]))
            body = ["with T.init():", f"    {place} = {first}", *body]
        self.nest(loops, kinds, body, is_whole=place[0] == "T")

    def allocate(self, *, is_row: bool) -> str:
        """Return the name of new memory for the group."""
        name = f"T{len(self.allocated)}"
        rows, columns = self.sizes["i"], self.sizes["j"]
        shape = f"{rows}, {columns}" if is_row else f"{rows},"
        self.allocated.append(f'{name} = T.alloc_buffer(({shape}), "{self.dtype}")')
        return name

    def at(self, axis: str) -> str:
        """Return an index of a parameter."""
        offset = MARGIN + self.rng.choice([0, 0, 0, 0, 1, -1, 2])
        return f"{axis} + {offset}"

    def load(self, axes: list[str]) -> str:
        """Return an element."""
        rng = self.rng
        local = self.readable(axes)
        if local and rng.random() < 0.5:
            name, is_row = rng.choice(local)
            row = axes[0]
            if row == "vi" and rng.random() < 0.3:
                row = "T.max(vi - 1, 0)"
            if not is_row:
                return f"{name}[{row}]"
            return f"{name}[{row}, {self.column(axes[1])}]"
        if len(axes) == 1 or rng.random() < 0.2:
            return f"V[{self.at(rng.choice(axes))}]"
        return f"{rng.choice('AB')}[{self.at(axes[0])}, {self.at(axes[1])}]"

    def readable(self, axes: list[str]) -> list[tuple[str, bool]]:
        """Return memory whose row at `axes[0]` is written, and whether it has columns."""
        return [
            (name, is_row)
            for name, is_row in self.local
            if (axes[0] == "vi" or (name in self.finished and not self.is_symbolic))
            and (len(axes) > 1 or not is_row)
            and (len(self.shared) < 2 or name in self.finished)
        ]

    def column(self, axis: str) -> str:
        """Return an index of a whole row."""
        return self.rng.choice([axis, axis, f"{self.sizes[axis[1]]} - 1 - {axis}"])

    def value(self, axes: list[str]) -> str:
        """Return what is made of one element or two."""
        first = self.load(axes)
        if self.rng.random() < 0.5:
            return f"({first} + {self.number(1)})"
        return f"({first} {self.rng.choice('+-')} {self.load(axes)})"

    def number(self, value: int) -> str:
        """Return a number as one of the elements."""
        return f"T.{self.dtype}({value})"


def random_feedback(rng: random.Random) -> tir.PrimFunc:
    """Return a random function of A, B and V."""
    return ls.from_source(RandomFeedback(rng).text())
