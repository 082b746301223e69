# SPDX-License-Identifier: Apache-2.0
"""Random steps of every primitive: what the fuzzers of schedules draw."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from typing import Any

from fitted_arguments import MAPS, Fits

import loopsmith as ls
from loopsmith import _core, tir
from loopsmith.script import tir as T  # noqa: N812

TRIES = 3
"""How often arguments are drawn for a primitive before it is called with what is refused."""


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


MARKS = frozenset({"begin_macro", "end_macro", "trust_calls"})
"""They do nothing to random programs, which call no functions, and are not drawn."""


class RandomSteps:
    """Draws calls of primitives, by the types of their parameters."""

    def __init__(self, rng: random.Random, skip: frozenset[str] = frozenset()) -> None:
        self.rng = rng
        self.primitives = [
            primitive
            for primitive in _core.primitives()
            if primitive["name"] not in skip | MARKS and not primitive["name"].startswith("get_")
        ]

    def draw(self, sch: tir.Schedule) -> tuple[str, dict[str, Any]]:
        """Return the name of a primitive, and arguments for it; mostly such as are accepted."""
        self.blocks = _blocks(sch) or ["root"]
        self.loops = _loops(sch)
        primitive = self.rng.choice(self.primitives)
        for _ in range(TRIES):
            arguments = self.arguments(sch, primitive)
            others = {name: value for name, value in arguments.items() if name != "loops"}
            try:
                if sch.can_apply(primitive["name"], *arguments.get("loops", ()), **others):
                    break
            except ls.UserError:
                continue
        return primitive["name"], arguments

    def arguments(self, sch: tir.Schedule, primitive: dict[str, Any]) -> dict[str, Any]:
        """Return arguments for a primitive, by the types of its parameters."""
        arguments = {}
        has_block = any(one["name"] == "block" for one in primitive["parameters"])
        for parameter in primitive["parameters"]:
            name, kind = parameter["name"], parameter["type"]
            if parameter["is_promise"]:
                continue  # It was not made.
            if name in {"decision", "func_name", "names", "name", "pattern"}:
                if parameter["default"] is None:
                    arguments[name] = "no_such_name"
                continue
            if parameter["default"] is not None and self.rng.random() < 0.6:
                continue
            arguments[name] = self.value(sch, name, kind, has_block)
        if self.blocks != ["root"] and self.rng.random() < 0.8:
            fits = Fits(self.rng, sch, self.blocks, self.loops, arguments)
            fits.fit(primitive["name"])
            arguments = fits.arguments
        return arguments

    def value(self, sch: tir.Schedule, name: str, kind: str, has_block: bool) -> Any:
        """Return a value for a parameter of a primitive that is about a block, or is not."""
        rng = self.rng
        named: dict[str, Callable[[], Any]] = {
            "storage_scope": lambda: rng.choice(["local", "global", "shared"]),
            "tensor_intrin": lambda: SCALED,
            "thread_axis": lambda: rng.choice(["blockIdx.x", "threadIdx.x", "vthread.x"]),
            "ann_key": lambda: rng.choice(["note", "other"]),
            # Other values of these would change what a program computes; see `Fits`.
            "dtype": lambda: "no_such_type",
            "buf_index_array": list,
            "gen_new_ranges": lambda: list,
            "buf_type": lambda: rng.choice(["read", "write"]),
            "axis_separators": lambda: [1],
            "new_order": lambda: rng.choice([[0, 1], [1, 0], [0]]),
            "pad_value": lambda: 0.0,
            "candidates": lambda: [2, 4],
            "probs": lambda: [0.5, 0.5],
            "operation": lambda: rng.choice(["+", "*", "//"]),
            "a": lambda: rng.randint(0, 9),
            "b": lambda: rng.randint(0, 9),
            "n": lambda: rng.randint(2, 3),
            "factor": lambda: rng.choice([4, 8]),
            "offset": lambda: rng.randint(0, 2),
            "least": lambda: [rng.randint(0, 4) for _ in range(rng.randint(1, 2))],
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
        if "Buffer" in kind and not has_block:
            return rng.choice(_local_buffers(sch) or ["none"])
        if "Buffer" in kind:
            return (rng.choice(["read", "write"]), rng.choice([0, 0, 0, 1]))
        if "IndexMap" in kind:
            return rng.choice(rng.choice(MAPS[1:]))
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


def _local_buffers(sch: tir.Schedule) -> list[str]:
    if not sch.can_apply("get_block", "root"):
        return []
    return [buffer.name for buffer in sch.get(sch.get_block("root")).alloc_buffers]


def _loops(sch: tir.Schedule) -> list[Any]:
    lines = re.findall(r"^ +for ([\w, ]+) in ", sch.func.script(), re.MULTILINE)
    names = [name for line in lines for name in line.split(", ")]
    return [sch.get_loop(name) for name in names if sch.can_apply("get_loop", name)]
