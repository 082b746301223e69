# SPDX-License-Identifier: Apache-2.0
"""Random programs of a few stages with random schedules for GPUs.

Values are small integers, so that every order of a sum gives the same.
"""

from __future__ import annotations

from random import Random
from typing import Any, Callable, NamedTuple

import numpy as np

import loopsmith as ls
from loopsmith import te, tir

DTYPES = ["int32", "int32", "float32", "int64", "float64", "int16"]


class Case(NamedTuple):
    """One function, its unscheduled form, and arguments for it."""

    seed: int
    schedule: tir.Schedule
    plain: tir.PrimFunc
    arrays: list[np.ndarray]

    def text(self) -> str:
        """Return what reproduces it."""
        return f"seed {self.seed}\n{self.schedule.func.script()}"


def random_program(random: Random) -> tuple[list[te.Tensor], list[tuple[int, ...]], str]:
    """Return the tensors of a program, inputs first and results last."""
    n, m = random.randint(1, 40), random.randint(1, 70)
    if random.random() < 0.3:
        m = random.choice([16, 32, 64])  # So that neighbours are aligned.
    dtype = random.choice(DTYPES)
    a = te.placeholder((n, m), dtype, name="A")
    stages: list[Callable[[], list[te.Tensor]]] = []

    def elementwise(x: te.Tensor, name: str) -> te.Tensor:
        kind = random.randrange(4)
        if kind == 0:
            return te.compute(x.shape, lambda i, j: x[i, j] * 3 + 1, name=name)
        if kind == 1:
            return te.compute(x.shape, lambda i, j: x[n - 1 - i, m - 1 - j] - 2, name=name)
        if kind == 2:
            return te.compute(
                x.shape,
                lambda i, j: x[i, j] + te.if_then_else(j > 0, x[i, te.max(j - 1, 0)], x[i, j]),
                name=name,
            )
        return te.compute(x.shape, lambda i, j: x[i, j] + x[0, j], name=name)

    def rows(x: te.Tensor) -> te.Tensor:
        k = te.reduce_axis((0, m), name="k")
        combine = random.choice([te.sum, te.max, te.min])
        return te.compute((n,), lambda i: combine(x[i, k], axis=k), name="R")

    def product() -> list[te.Tensor]:
        k = te.reduce_axis((0, m), name="k")
        b = te.placeholder((m, n), dtype, name="B")
        c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
        return [a, b, c]

    def normalize() -> list[te.Tensor]:
        r = rows(a)
        return [a, te.compute((n, m), lambda i, j: a[i, j] - r[i], name="N")]

    def chain() -> list[te.Tensor]:
        x = elementwise(a, "E")
        return [a, elementwise(x, "F") if random.random() < 0.6 else x]

    stages = [
        product,
        normalize,
        chain,
        lambda: [a, rows(a)],
        lambda: [a, rows(elementwise(a, "E"))],
    ]
    tensors = random.choice(stages)()
    return tensors, [tuple(int(s) for s in t.shape) for t in tensors], dtype


def _try(step: Callable[[], Any]) -> Any:
    """Take a step of a schedule, if it may be taken."""
    try:
        return step()
    except ls.ScheduleError:
        return None


class Scheduler:
    """Takes random steps, and binds in the end what is not bound yet."""

    def __init__(self, func: tir.PrimFunc, random: Random) -> None:
        self.sch = tir.Schedule(func)
        self.random = random

    def run(self) -> tir.Schedule:
        blocks = [self.sch.get(b).name_hint for b in self.sch.get_child_blocks(self.root())]
        for name in reversed(blocks):
            self.schedule_block(name)
        return self.sch

    def root(self) -> Any:
        return self.sch.get_block("root")

    def schedule_block(self, name: str) -> None:
        sch, random = self.sch, self.random
        block = sch.get_block(name)
        loops = sch.get_loops(block)
        kinds = [v.iter_type for v in sch.get(block).iter_vars]
        spatial = [loop for loop, kind in zip(loops, kinds) if "reduce" not in str(kind)]
        reduction = [loop for loop, kind in zip(loops, kinds) if "reduce" in str(kind)]
        threads: list[Any] = []
        outer: list[Any] = []
        if len(spatial) == 2 and random.random() < 0.4:
            spatial = [sch.fuse(*spatial)]
        axes = ["y", "x"][-len(spatial) :] if spatial else []
        cooperative = bool(reduction) and random.random() < 0.6
        inner: list[Any] = []
        vectors: list[Any] = []
        for loop, axis in zip(spatial, axes):
            if axis == "x" and not reduction and random.random() < 0.4:
                loop, lanes = sch.split(loop, [None, random.choice([2, 4, 8])])
                vectors.append(lanes)
            parts = sch.split(loop, [None, random.choice([1, 2, 3, 4, 8])])
            outer.append((parts[0], f"blockIdx.{axis}"))
            if not cooperative or random.random() < 0.5:
                threads.append(
                    (parts[1], f"threadIdx.{'y' if axis == 'x' and cooperative else axis}")
                )
            inner.append(parts[1])
        tags = [tag for _, tag in threads]
        threads = [t for i, t in enumerate(threads) if t[1] not in tags[:i]]
        steps = [loop for loop, _ in outer] + inner + vectors
        if len(steps) > 1:
            _try(lambda: sch.reorder(*steps))
        k0 = None
        if reduction:
            k0, k1 = sch.split(reduction[0], [None, random.choice([2, 5, 8, 16, 32])])
            if cooperative:
                _try(lambda: sch.bind(k1, "threadIdx.x"))
        for loop, tag in outer + threads:
            _try(lambda loop=loop, tag=tag: sch.bind(loop, tag))
        for loop in inner:
            self.mark(loop)
        for loop in vectors:
            _try(lambda loop=loop: sch.vectorize(loop))
        if k0 is not None and not cooperative and random.random() < 0.6:
            self.cache(block, k0, [loop for loop, _ in threads])
            if random.random() < 0.6:
                self.copy_ahead(k0)
        elif not cooperative and outer and random.random() < 0.4:
            self.cache(block, outer[-1][0], [loop for loop, _ in threads])

    def mark(self, loop: Any) -> None:
        """Make a loop of each thread one of another kind, now and then."""
        sch, random = self.sch, self.random
        if sch.get(loop).thread_binding is None and random.random() < 0.4:
            steps = [sch.unroll, sch.vectorize, lambda loop: sch.bind(loop, "vthread.x")]
            _try(lambda: random.choice(steps)(loop))

    def copy_ahead(self, step: Any) -> None:
        """Let a loop that copies a tile and then uses it copy tiles of later steps meanwhile."""
        sch, random = self.sch, self.random
        if len(sch.get_child_blocks(step)) != 2:
            return
        stages = [0, random.choice([1, 2, 3])]
        sch.annotate(step, "software_pipeline_stage", stages)
        sch.annotate(step, "software_pipeline_order", random.choice([[0, 1], [1, 0]]))
        if random.random() < 0.7:
            sch.annotate(step, "software_pipeline_async_stages", [0])

    def cache(self, block: Any, place: Any, threads: list[Any]) -> None:
        """Copy what the block reads into shared memory, by all threads of its block."""
        sch, random = self.sch, self.random
        copied = _try(lambda: sch.cache_read(block, 0, "shared"))
        if copied is None:
            return
        if _try(lambda: sch.compute_at(copied, place)) is None and sch.obligations():
            _try(lambda: sch.set_scope(copied, 0, "global"))
            loops = sch.get_loops(copied)
            sch.bind(sch.fuse(*loops), "blockIdx.x")
            return
        bound = [sch.get(loop) for loop in sch.get_loops(block)]
        sizes = {
            str(loop.thread_binding.thread_tag): int(loop.extent)
            for loop in bound
            if loop.thread_binding is not None
            and "threadIdx" in str(loop.thread_binding.thread_tag)
        }
        if not sizes or random.random() < 0.2:
            return
        fused = _try(lambda: sch.fuse(*sch.get_loops(copied)[-2:]))
        if fused is None:
            return
        tags = sorted(sizes, reverse=True)
        parts = sch.split(fused, [None, *[sizes[tag] for tag in tags]])
        for part, tag in zip(parts[1:], tags):
            _try(lambda part=part, tag=tag: sch.bind(part, tag))


def random_case(seed: int) -> Case | None:
    """Return the case of a seed; None where its schedule is not finished."""
    random = Random(seed)
    tensors, shapes, dtype = random_program(random)
    plain = te.create_prim_func(tensors).with_attr("global_symbol", f"f{seed}")
    sch = Scheduler(plain, random).run()
    if sch.obligations():
        return None
    draw = np.random.default_rng(seed)
    arrays = [draw.integers(-3, 4, shape).astype(dtype) for shape in shapes]
    return Case(seed, sch, plain, arrays)


def random_product(seed: int) -> Case:
    """Return a product by the rule for tensor cores, of random types, sizes, layouts and stages."""
    random = Random(seed)
    dtype, sum_ = random.choice(
        [("float16", "float32"), ("float16", "float16"), ("int8", "int32"), ("float32", "float32")]
    )
    n, m, k = (random.choice(sizes) for sizes in ([8, 16, 24, 33], [8, 16, 33], [16, 40, 96]))
    is_left, is_right = random.random() < 0.4, random.random() < 0.4
    a = te.placeholder((k, n) if is_left else (n, k), dtype, name="A")
    b = te.placeholder((m, k) if is_right else (k, m), dtype, name="B")
    r = te.reduce_axis((0, k), name="r")

    def element(i: Any, j: Any) -> Any:
        x, y = a[r, i] if is_left else a[i, r], b[j, r] if is_right else b[r, j]
        if dtype != sum_:
            x, y = x.astype(sum_), y.astype(sum_)
        return te.sum(x * y, axis=r)

    c = te.compute((n, m), element, name="C")
    tensors = [a, b, c]
    if random.random() < 0.5:
        factor = te.const(2, sum_)
        tensors[-1] = te.compute((n, m), lambda i, j: c[i, j] * factor + factor, name="D")
    plain = te.create_prim_func(tensors).with_attr("global_symbol", f"f{seed}")
    # Without tensor cores fragments are shared memory, too.
    kib = random.choice([8, 12])
    target = f"cuda -allow_tf32 -max_shared_memory_per_block={kib * 1024}"
    sch = ls.default_schedule(plain, target=target)
    for step in sch.get_loops("C_update_o"):
        if "software_pipeline_stage" not in sch.get(step).annotations:
            continue
        sch.unannotate(step, "software_pipeline_stage")
        sch.annotate(
            step, "software_pipeline_stage", [0, 0, random.choice([1, 2, 3] if kib == 8 else [1])]
        )
        if random.random() < 0.3:
            sch.unannotate(step, "software_pipeline_async_stages")
    draw = np.random.default_rng(seed)
    shapes = [tuple(int(s) for s in t.shape) for t in tensors]
    arrays = [draw.integers(-3, 4, s).astype(t.dtype) for s, t in zip(shapes, tensors)]
    return Case(seed, sch, plain, arrays)
