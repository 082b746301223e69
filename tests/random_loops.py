# SPDX-License-Identifier: Apache-2.0
"""Random programs as people write them: loops with bounds read from memory, names, variables."""

from __future__ import annotations

import random

SIZE = 16
"""Elements of each of the buffers, which are int32."""


class RandomLoops:
    """Statements one inside another, on A and B; values stay small, indices inside."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.count = 0

    def text(self) -> str:
        """Return the program as a script."""
        self.block(1, [], ["n"] if self.rng.random() < 0.3 else [], statements=3)
        head = f'A: T.Buffer(({SIZE},), "int32"), B: T.Buffer(({SIZE},), "int32"), n: T.int32'
        return f"@T.prim_func\ndef main({head}):\n" + "\n".join(self.lines) + "\n"

    def name(self, kind: str) -> str:
        """Return a new name."""
        self.count += 1
        return f"{kind}{self.count}"

    def add(self, depth: int, line: str) -> None:
        """Add a line."""
        self.lines.append("    " * depth + line)

    def block(self, depth: int, variables: list[str], names: list[str], statements: int) -> None:
        """Add statements; `variables` may be assigned, `names` only read."""
        variables, names = list(variables), list(names)
        for _ in range(self.rng.randint(1, statements)):
            self.statement(depth, variables, names)

    def statement(self, depth: int, variables: list[str], names: list[str]) -> None:
        """Add one statement, which may add to what the next ones see."""
        rng = self.rng
        known = [*variables, *names]
        kinds = ["store"] * 3 + ["let"] * 3 + ["variable", "assign", "swap"]
        if depth < 5:
            kinds += ["for"] * 4 + ["if"] * 3 + ["while", "block"]
        kind = rng.choice(kinds)
        if kind == "assign" and not variables:
            kind = "variable"
        if kind == "store":
            self.add(depth, f"{self.element(known)} = {self.small(known)}")
        elif kind == "let":
            names.append(self.name("t"))
            self.add(depth, f"{names[-1]} = {rng.choice([self.small, self.load])(known)}")
        elif kind == "variable":
            variables.append(self.name("x"))
            self.add(depth, f"{variables[-1]}: T.int32 = {self.small(known)}")
        elif kind == "assign":
            self.add(depth, f"{rng.choice(variables)} = {self.small(known)}")
        elif kind == "swap":
            i, j = self.index(known), self.index(known)
            names.append(self.name("t"))
            self.add(depth, f"{names[-1]} = A[{i}]")
            self.add(depth, f"A[{i}] = B[{j}]")
            self.add(depth, f"B[{j}] = {names[-1]}")
        elif kind == "if":
            self.add(depth, f"if {self.condition(known)}:")
            self.block(depth + 1, variables, names, statements=2)
            if rng.random() < 0.4:
                self.add(depth, "else:")
                self.block(depth + 1, variables, names, statements=2)
        elif kind == "while":
            turns = self.name("x")
            self.add(depth, f"{turns}: T.int32 = 0")
            self.add(depth, f"while {turns} < 5 and {self.condition(known)}:")
            self.add(depth + 1, f"{turns} = {turns} + 1")
            self.block(depth + 1, variables, [*names, turns], statements=2)
        elif kind == "block":
            axis = self.name("v")
            self.add(depth, f'with T.block("{self.name("block")}"):')
            self.add(depth + 1, f"{axis} = T.axis.opaque({SIZE}, {self.index(known)})")
            visible = [name for name in names if not name.startswith("i")]
            self.block(depth + 1, variables, [*visible, axis], statements=2)
        else:
            loop = self.name("i")
            self.add(depth, f"for {loop} in {self.range(known)}:")
            self.block(depth + 1, variables, [*names, loop], statements=3)
            if rng.random() < 0.1:
                self.add(depth + 1, f"if {self.condition([*known, loop])}:")
                self.add(depth + 2, rng.choice(["break", "continue"]))

    def range(self, known: list[str]) -> str:
        """Return what a loop runs over: six iterations at most."""
        rng = self.rng
        count = rng.choice([str(rng.randint(1, 6)), f"{self.load(known)} % 5 + 1"])
        if rng.random() < 0.5:
            return f"range({count})"
        first = rng.choice([str(rng.randint(0, 9)), self.load(known)])
        if rng.random() < 0.2:
            return f"range({first}, {first} + 2 * ({count}), 2)"
        return f"range({first}, {first} + {count})"

    def load(self, known: list[str]) -> str:
        """Return an element."""
        return self.element(known)

    def element(self, known: list[str]) -> str:
        """Return an element of a buffer."""
        return f"{self.rng.choice('AB')}[{self.index(known)}]"

    def index(self, known: list[str]) -> str:
        """Return an index that stays inside."""
        rng = self.rng
        if known and rng.random() < 0.6:
            return f"({rng.choice(known)} + {rng.randint(0, 3)}) % {SIZE}"
        return str(rng.randrange(SIZE))

    def term(self, known: list[str]) -> str:
        """Return a name, an element or a number."""
        rng = self.rng
        if known and rng.random() < 0.5:
            return rng.choice(known)
        return self.load(known) if rng.random() < 0.7 else str(rng.randint(-3, 9))

    def small(self, known: list[str]) -> str:
        """Return a value from 0 to 96."""
        sign = self.rng.choice(["+", "-", "*", "+"])
        return f"({self.term(known)} {sign} {self.term(known)}) % 97"

    def condition(self, known: list[str]) -> str:
        """Return a condition."""
        compare = self.rng.choice(["<", "<=", ">", "==", "!="])
        return f"{self.term(known)} {compare} {self.term(known)}"


def random_loops(rng: random.Random) -> str:
    """Return a random function of buffers A and B and an int32 n, as a script."""
    return RandomLoops(rng).text()
