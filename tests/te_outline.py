# SPDX-License-Identifier: Apache-2.0
"""The structure of a lowered function, line by line, and runs of schedules of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import loopsmith as ls
from loopsmith import te, tir


def outline(func: tir.PrimFunc) -> str:
    """Return loops, guards, memory and stores, indented as they are nested.

    ``for k.outer in 32``, ``parallel i in 8``, ``threadIdx.x k in 32``, ``if i < n``,
    ``B.rf[32] in local``, ``B[k.inner] =``.
    """
    lines: list[str] = []
    given = {buffer.data.name for buffer in func.buffer_map.values()}

    def add(depth: int, text: str) -> None:
        lines.append("  " * depth + text)

    def written(expr: Any) -> str:
        return str(expr).splitlines()[-1]  # Without the variables that it uses.

    def loop(node: Any, depth: int) -> None:
        word = {"serial": "for"}.get(str(node.kind), str(node.kind))
        if node.thread_binding is not None:
            word = node.thread_binding.thread_tag
        notes = "".join(f", {key} = {value}" for key, value in sorted(node.annotations.items()))
        add(depth, f"{word} {node.loop_var.name} in {written(node.extent)}{notes}")
        walk(node.body, depth + 1)

    def memory(node: Any, depth: int) -> None:
        if node.buffer.data.name not in given:
            shape = ", ".join(map(written, node.buffer.shape))
            add(depth, f"{node.buffer.name}[{shape}] in {node.buffer.scope()}")
        walk(node.body, depth)

    def walk(node: Any, depth: int) -> None:
        kind = type(node).__name__
        if kind == "SeqStmt":
            for part in node.seq:
                walk(part, depth)
        elif kind == "For":
            loop(node, depth)
        elif kind == "IfThenElse":
            add(depth, f"if {written(node.condition)}")
            walk(node.then_case, depth + 1)
        elif kind in ("DeclBuffer", "Allocate"):
            memory(node, depth) if kind == "DeclBuffer" else walk(node.body, depth)
        elif kind == "LetStmt":
            walk(node.body, depth)
        elif kind == "AttrStmt":
            add(depth, f"{node.attr_key} = {node.value}")
            walk(node.body, depth)
        elif kind == "BufferStore":
            add(depth, f"{node.buffer.name} =")
        elif kind == "Evaluate":
            add(depth, written(node.value))
        else:
            add(depth, kind)

    walk(func.body, 0)
    return "\n".join(lines)


def lowered(s: te.Schedule, args: Sequence[Any]) -> str:
    """Return the outline of what a schedule is lowered to."""
    return outline(ls.lower(s, args, simple_mode=True))


def text(expected: str) -> str:
    """Return an outline that is written in a test, without its indentation."""
    lines = [line for line in expected.splitlines() if line.strip()]
    margin = min(len(line) - len(line.lstrip()) for line in lines)
    return "\n".join(line[margin:].rstrip() for line in lines)


def same_results(s: te.Schedule, args: Sequence[te.Tensor], *, compiles: bool = True) -> None:
    """Check a schedule by the interpreter in exact arithmetic, and compiled by the unscheduled."""
    unscheduled = te.create_prim_func(list(args))
    scheduled = s.to_tir(args).func
    ls.interp.assert_same(scheduled, unscheduled)
    if not compiles:
        return
    rng = np.random.default_rng(7)
    arrays = [rng.integers(-4, 5, [int(n) for n in arg.shape]).astype(arg.dtype) for arg in args]
    again = [array.copy() for array in arrays]
    ls.interp.run(unscheduled, *arrays)
    ls.build(s, args)(*again)
    for array, other in zip(arrays, again):
        np.testing.assert_allclose(other, array, rtol=1e-5, atol=1e-5)
