# SPDX-License-Identifier: Apache-2.0
"""Random programs, and random steps of every primitive: what the fuzzer of schedules draws."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

import loopsmith as ls
from loopsmith import _core, tir
from loopsmith.script import tir as T  # noqa: N812

# Steps that change what a program computes when the caller says so.
UNSAFE = {"unsafe_set_dtype", "unsafe_hide_buffer_access", "annotate_buffer_access"}
# Promises of the caller that nobody made.
PROMISES = {"assume_independent", "assume_injective_transform", "disable_predication"}


class RandomProgram:
    """Stages one after another: elementwise, shifted, transposed, reductions, in place, scans."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.buffers: list[tuple[str, tuple[str, ...]]] = []
        self.loops = 0
        self.sizes = [str(rng.choice([4, 6, 7, 8, 12])) for _ in range(2)]
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
            self.padded,
        ]
        for _ in range(stages):
            self.rng.choice(makers)()
        inner = {name for name, _ in self.buffers[1:-1] if self.rng.random() < 0.8}
        parameters = [(n, s) for n, s in self.buffers if n not in inner]
        head = [f"{name.lower()}: T.handle" for name, _ in parameters]
        body = [
            f'{name} = T.match_buffer({name.lower()}, ({", ".join(shape)},), "float32")'
            for name, shape in parameters
        ]
        body += [
            f"{name} = T.alloc_buffer(({', '.join(shape)},))"
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

    def target(self, shape: tuple[str, ...]) -> str:
        """Return the name of a new buffer."""
        name = f"B{len(self.buffers)}"
        self.buffers.append((name, shape))
        return name

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

    def elementwise(self) -> None:
        source, shape = self.source()
        name = self.target(shape)
        fits = shape == self.buffers[0][1]
        factor = "A[v0, v1]" if fits and self.rng.random() < 0.5 else "T.float32(2)"
        value = f"{source}[v0, v1] * {factor} + T.float32(1)"
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
            ]
        )
        first = "T.float32(0)" if "max" not in combine else 'T.min_value("float32")'
        body = ["with T.init():", f"    {name}[v0] = {first}", f"{name}[v0] = {combine}"]
        self.nest(name, list(shape), "SR", body)
        if self.rng.random() < 0.7:
            wide = self.target(shape)
            value = f"{source}[v0, v1] - {name}[v0]"
            self.nest(wide, list(shape), "SS", [f"{wide}[v0, v1] = {value}"])

        elif shape[0] == self.buffers[0][1][0]:
            last = self.target((shape[0],))
            self.nest(last, [shape[0]], "S", [f"{last}[v0] = {name}[v0] + A[v0, 0]"])

    def padded(self) -> None:
        source, shape = self.source()
        name = self.target(shape)
        value = f"T.if_then_else(v0 >= 1 and v1 >= 1, {source}[v0 - 1, v1 - 1], T.float32(0))"
        self.nest(name, list(shape), "SS", [f"{name}[v0, v1] = {value}"])

    def in_place(self) -> None:
        source, shape = self.source()
        body = [f"{source}[v0, v1] = {source}[v0, v1] * T.float32(3)"]
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
        self.nest(name, list(shape), "SS", [f"{name}[v0, v1] = T.float32(5)"])
        i, j = self.names(2)
        self.lines += [
            f"for {i} in range({shape[0]}):",
            f"    if {i} % 2 == 0:",
            f"        for {j} in range({shape[1]}):",
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
            f"        {name}[{i}, {j}] = {source}[{i}, {j}] + T.float32(2)",
        ]

    def plain_reduction(self) -> None:
        """Accumulate without blocks, in elements of which some are known at run time alone."""
        source, shape = self.source()
        name = self.target((shape[0],))
        i, j, k = self.names(3)
        value = self.rng.choice(
            [
                f"{name}[{j}] + {source}[{j}, {k}]",
                f"{name}[{j}] - {source}[{j}, {k}] + T.float32(1)",
                f"T.max({name}[{j}], {source}[{j}, {k}])",
            ]
        )
        loops = [(j, shape[0]), (k, shape[1])]
        if self.rng.random() < 0.5:
            loops.reverse()
        self.lines += [
            f"for {i} in range({shape[0]}):",
            f"    {name}[{i}] = T.float32(0)",
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
            f"{row} = T.alloc_buffer(({shape[1]},))",
            f"for {i} in range({shape[0]}):",
            f"    for {j} in range({shape[1]}):",
            f"        {row}[{j}] = {source}[{0 if is_shared else i}, {j}] * T.float32(2)",
            f"    for {k} in range({shape[1]}):",
            f"        {name}[{i}, {k}] = {row}[{k}] + {source}[{i}, {k}]",
        ]


@T.prim_func
def scaled(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (4,), "float32", offset_factor=1)
    B = T.match_buffer(b, (4,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.block("scale"):
                v = T.axis.spatial(4, i)
                B[v] = A[v] * T.float32(2) + T.float32(1)


@T.prim_func
def _scaled_at_once(a: T.handle, b: T.handle) -> None:
    A = T.match_buffer(a, (4,), "float32", offset_factor=1)
    B = T.match_buffer(b, (4,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        B[0:4] = A[0:4] * T.Broadcast(T.float32(2), 4) + T.Broadcast(T.float32(1), 4)


SCALED = "random_schedules.scaled"
tir.TensorIntrin.register(SCALED, scaled, _scaled_at_once, override=True)


def random_program(rng: random.Random) -> tir.PrimFunc:
    """Return a random function of one to four stages."""
    return ls.from_source(RandomProgram(rng).text())


class RandomSteps:
    """Draws calls of primitives, by the types of their parameters."""

    def __init__(self, rng: random.Random, skip: frozenset[str] = frozenset()) -> None:
        self.rng = rng
        self.primitives = [
            primitive
            for primitive in _core.primitives()
            if primitive["name"] not in UNSAFE | skip and not primitive["name"].startswith("get_")
        ]

    def draw(self, sch: tir.Schedule) -> tuple[str, dict[str, Any]]:
        """Return the name of a primitive, and arguments for it."""
        self.blocks = _blocks(sch) or ["root"]
        self.loops = _loops(sch)
        primitive = self.rng.choice(self.primitives)
        arguments = {}
        for parameter in primitive["parameters"]:
            name, kind = parameter["name"], parameter["type"]
            if name in PROMISES or name in {"decision", "func_name", "names", "name", "pattern"}:
                if parameter["default"] is None:
                    arguments[name] = "no_such_name"
                continue
            if parameter["default"] is not None and self.rng.random() < 0.6:
                continue
            arguments[name] = self.value(name, kind)
        if self.rng.random() < 0.8:
            self.fit(sch, primitive["name"], arguments)
        return primitive["name"], arguments

    def fit(self, sch: tir.Schedule, name: str, arguments: dict[str, Any]) -> None:
        """Make it likelier that the step can be taken: choose arguments that go together."""
        block = arguments.get("block")
        if self.blocks == ["root"]:
            return
        if name == "merge":
            arguments["loops"] = [
                sch.get_loops(one)[0] for one in self.blocks if sch.get_loops(one)
            ]
            first = self.rng.randrange(max(len(arguments["loops"]) - 1, 1))
            arguments["loops"] = arguments["loops"][first : first + 2]
        elif name == "tensorize":
            fours = [loop for loop in self.loops if _extent(sch, loop) == 4]
            arguments["block_or_loop"] = self.rng.choice(fours or self.loops or ["none"])
        elif name == "fuse_reduction_epilogue":
            reductions = [one for one in self.blocks if sch.get(one).init is not None]
            reduction = self.rng.choice(reductions or self.blocks)
            readers = sch.get_consumers(reduction)
            arguments["reduction_block"] = reduction
            arguments["epilogue_block"] = self.rng.choice(readers or self.blocks)
        elif name == "rolling_buffer":
            arguments["write_buffer_index"] = 0
        elif isinstance(block, tir.BlockRV) and "loop" in arguments:
            around = {"compute_at": sch.get_consumers, "reverse_compute_at": sch.get_producers}
            neighbours = around.get(name, lambda one: [one])(block)
            loops = [loop for one in neighbours for loop in sch.get_loops(one)]
            arguments["loop"] = self.rng.choice(loops or self.loops or ["none"])

    def value(self, name: str, kind: str) -> Any:
        """Return a value for a parameter."""
        rng = self.rng
        named: dict[str, Callable[[], Any]] = {
            "storage_scope": lambda: rng.choice(["local", "global", "shared"]),
            "tensor_intrin": lambda: SCALED,
            "thread_axis": lambda: rng.choice(["blockIdx.x", "threadIdx.x", "vthread.x"]),
            "ann_key": lambda: rng.choice(["note", "other"]),
            "dtype": lambda: "float32",
            "buf_type": lambda: rng.choice(["read", "write"]),
            "axis_separators": lambda: [1],
            "new_order": lambda: rng.choice([[0, 1], [1, 0], [0]]),
            "pad_value": lambda: 0.0,
            "candidates": lambda: [2, 4],
            "probs": lambda: [0.5, 0.5],
            "n": lambda: rng.randint(2, 3),
            "factor": lambda: rng.choice([4, 8]),
            "offset": lambda: rng.randint(0, 2),
            "padding": lambda: [rng.choice([1, 2, 4]) for _ in range(rng.randint(1, 3))],
        }
        if name in named:
            return named[name]()
        if kind.startswith("typing.Sequence[ExprRV"):
            factors: list[int | None] = [rng.randint(1, 5) for _ in range(rng.randint(1, 3))]
            if rng.random() < 0.8:
                factors[rng.randrange(len(factors))] = None
            return factors
        if kind.startswith("typing.Sequence[LoopRV"):
            return self.some_loops()
        if kind.startswith("typing.Sequence[BlockRV"):
            return [rng.choice(self.blocks)]
        if "LoopRV" in kind and ("BlockRV" not in kind or rng.random() < 0.5):
            return rng.choice(self.loops) if self.loops else "none"
        if "BlockRV" in kind:
            return rng.choice(self.blocks)
        if "Buffer" in kind:
            return (rng.choice(["read", "write"]), rng.choice([0, 0, 0, 1]))
        if "IndexMap" in kind:
            return rng.choice(MAPS)
        if kind == "bool":
            return rng.random() < 0.5
        if "int" in kind:
            return rng.randint(-1, 2)
        return "something"

    def some_loops(self) -> list[Any]:
        """Return loops of one nest, mostly neighbours, sometimes in another order."""
        if not self.loops:
            return []
        count = min(len(self.loops), self.rng.randint(2, 3))
        start = self.rng.randrange(len(self.loops) - count + 1)
        chosen = self.loops[start : start + count]
        if self.rng.random() < 0.5:
            self.rng.shuffle(chosen)
        return chosen


MAPS: list[Callable[..., Any]] = [
    lambda i: (i // 4, i % 4),
    lambda i: [7 - i],
    lambda i, j: (j, i),
    lambda i, j: (i // 2, j, i % 2),
    lambda i, j: [i * 4 + j],
    lambda i, j: [i * 12 + j],
    lambda i, j: (i, j // 4, j % 4),
    lambda i, j: [i],
]


def changes_parameters(before: tir.PrimFunc, after: tir.PrimFunc) -> bool:
    """Return whether a parameter has another buffer."""
    return any(
        not before.buffer_map[parameter].same_as(buffer)
        for parameter, buffer in after.buffer_map.items()
    )


def _blocks(sch: tir.Schedule) -> list[Any]:
    if not sch.can_apply("get_block", "root"):
        return []
    found = sch.get_child_blocks("root")
    return found + [inner for block in found for inner in sch.get_child_blocks(block)]


def _extent(sch: tir.Schedule, loop: Any) -> int:
    extent = sch.get(loop).extent
    return extent.value if isinstance(extent, tir.IntImm) else -1


def _loops(sch: tir.Schedule) -> list[Any]:
    lines = re.findall(r"^ +for ([\w, ]+) in ", sch.func.script(), re.MULTILINE)
    names = [name for line in lines for name in line.split(", ")]
    return [sch.get_loop(name) for name in names if sch.can_apply("get_loop", name)]
