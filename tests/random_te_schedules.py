# SPDX-License-Identifier: Apache-2.0
"""Random graphs of tensor expressions, and random decisions about them."""

from __future__ import annotations

import random
from typing import Any

from loopsmith import te

SCOPES = ("global", "local", "shared")


def graph(draw: random.Random) -> tuple[list[te.Tensor], list[te.Tensor]]:
    """Return inputs, and what is computed of them, one after another; the last is the result."""
    n = te.var("n") if draw.random() < 0.3 else draw.choice([4, 5, 6, 8])
    m = draw.choice([3, 4, 8])
    A = te.placeholder((n, m), name="A")
    stages: list[te.Tensor] = []
    for number in range(draw.randint(1, 4)):
        read = draw.choice([A, *stages[-2:]])
        other = draw.choice([A, *stages[-2:]])
        stages.append(_stage(draw, read, other, n, m, f"S{number}"))
    last = stages[-1]
    others = [stage for stage in stages if stage.ndim == 2]
    if last.ndim == 2 and others:
        extra = draw.choice(others)
        stages.append(te.compute((n, m), lambda i, j: last[i, j] + extra[i, j], name="out"))
    return [A], stages


def _stage(
    draw: random.Random, read: te.Tensor, other: te.Tensor, n: Any, m: int, name: str
) -> te.Tensor:
    kind = draw.choice(["map", "sum", "shift", "rows"])
    if read.ndim == 1 or kind == "rows":
        if read.ndim == 1:
            return te.compute((n, m), lambda i, j: read[i] * (j + 1), name=name)
        k = te.reduce_axis((0, m), name="k")
        return te.compute((n,), lambda i: te.sum(read[i, k], axis=k), name=name)
    if other.ndim == 1:
        return te.compute((n, m), lambda i, j: read[i, j] * other[i], name=name)
    if kind == "map":
        return te.compute((n, m), lambda i, j: read[i, j] * 2 + other[i, j], name=name)
    if kind == "shift":
        return te.compute(
            (n, m),
            lambda i, j: te.if_then_else(i >= 1, read[te.max(i - 1, 0), j], other[i, m - 1 - j]),
            name=name,
        )
    k = te.reduce_axis((0, m), name="k")
    return te.compute((n, m), lambda i, j: te.sum(read[i, k] * other[i, k] + j, axis=k), name=name)


def decide(draw: random.Random, s: te.Schedule) -> str:
    """Say something of one stage, and return what."""
    stages = [stage for stage in s.stages if not isinstance(stage.op, te.PlaceholderOp)]
    stage = draw.choice(stages)
    leaves = list(stage.leaf_iter_vars)
    axis = draw.choice(leaves)
    tensor = stage.op.output(0)
    call = draw.choice(
        ["split", "split", "nparts", "fuse", "reorder", "unroll", "vectorize", "parallel"]
        + ["at", "at", "at", "inline", "root", "cache_write", "cache_read", "rfactor", "scope"]
        + ["layout", "align"]
    )
    what: dict[str, Any] = {
        "split": lambda: stage.split(axis, factor=draw.randint(1, 5)),
        "nparts": lambda: stage.split(axis, nparts=draw.randint(1, 5)),
        "fuse": lambda: stage.fuse(*draw.sample(leaves, min(2, len(leaves)))),
        "reorder": lambda: stage.reorder(*draw.sample(leaves, min(3, len(leaves)))),
        "unroll": lambda: stage.unroll(axis),
        "vectorize": lambda: stage.vectorize(axis),
        "parallel": lambda: stage.parallel(axis),
        "at": lambda: _attach(draw, stage, stages),
        "inline": stage.compute_inline,
        "root": stage.compute_root,
        "cache_write": lambda: s.cache_write(tensor, draw.choice(SCOPES)),
        "cache_read": lambda: s.cache_read(tensor, draw.choice(SCOPES), _readers(stage, stages)),
        "rfactor": lambda: s.rfactor(tensor, axis),
        "scope": lambda: stage.set_scope(draw.choice(SCOPES)) if not stage.is_output else None,
        "layout": lambda: _turn(stage),
        "align": lambda: stage.storage_align(stage.op.axis[0], 4, 1),
    }
    what[call]()
    return f"{call} {stage.op.name} {axis.var.name}"


def _turn(stage: te.Stage) -> None:
    """Let a stage lie in memory the other way round; a result stays as the caller expects it."""
    if not stage.is_output:
        stage.set_layout(lambda *indices: list(reversed(indices)))


def _readers(stage: te.Stage, stages: list[te.Stage]) -> list[Any]:
    tensor = stage.op.output(0)
    return [other.op for other in stages if tensor in other.op.input_tensors]


def _attach(draw: random.Random, stage: te.Stage, stages: list[te.Stage]) -> None:
    parent = draw.choice(stages)
    stage.compute_at(parent, draw.choice(list(parent.leaf_iter_vars)))
