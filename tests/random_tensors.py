# SPDX-License-Identifier: Apache-2.0
"""Random tensor expressions: shifts, clamps, paddings, transpositions, strides, diagonals, sums."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import loopsmith as ls
from loopsmith import te, tir

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 40]
DTYPES = ["int32", "int32", "int8", "int16", "int64", "float32"]
Point = list[tuple[te.Expr, int]]
"""Variables, each with its extent."""


@dataclass
class Sized:
    """A tensor, and its shape where symbols have values."""

    tensor: te.Tensor
    shape: tuple[int, ...]


@dataclass
class RandomTensors:
    """A function of random tensor expressions; its values stay small integers of `dtype`."""

    func: tir.PrimFunc
    inputs: list[tuple[int, ...]]
    outputs: list[tuple[int, ...]]
    dtype: str


class Drawing:
    """What the expressions of one function are drawn from."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.dtype = rng.choice(DTYPES)
        self.sizes = [rng.choice(SIZES) for _ in range(4)]
        self.symbols: dict[int, te.Expr] = {}

    def shape(self, ranks: list[int]) -> tuple[tuple[int, ...], list[te.Expr | int]]:
        """Return a shape in numbers, and the same with symbols for some of them."""
        numbers = tuple(self.rng.choice(self.sizes) for _ in range(self.rng.choice(ranks)))
        return numbers, [self.extent(n) for n in numbers]

    def extent(self, size: int) -> te.Expr | int:
        """Return a size, or the symbol that stands for it."""
        if self.rng.random() < 0.75:
            return size
        return self.symbols.setdefault(size, te.size_var(f"n{size}"))

    def index(self, point: Point, extent: te.Expr, size: int) -> te.Expr:
        """Return an index of a dimension, inside of it."""
        rng = self.rng
        fitting = [variable for variable, count in point if count <= size]
        if fitting and rng.random() < 0.6:
            return rng.choice(fitting)
        variable, other = rng.choice(point)[0], rng.choice(point)[0]
        inside: list[Callable[[], te.Expr]] = [
            lambda: te.max(te.min(variable + rng.randint(-3, 3), extent - 1), 0),
            lambda: te.min(variable // rng.randint(1, 3), extent - 1),
            lambda: te.max(extent - 1 - variable, 0),
            lambda: (variable * rng.randint(1, 3) + rng.randint(0, 3)) % extent,
            lambda: te.min(te.max(variable + other - rng.randint(0, 3), 0), extent - 1),
        ]
        return rng.choice(inside)()

    def element(self, point: Point, sources: list[Sized]) -> te.Expr:
        """Return an element of a source, or a constant where a condition fails."""
        rng = self.rng
        source = rng.choice(sources)
        extents = source.tensor.shape
        value = source.tensor[
            tuple(
                self.index(point, extent, size)
                for extent, size in zip(extents, source.shape, strict=True)
            )
        ]
        if rng.random() < 0.7:
            return value
        variable, size = rng.choice(point)
        bound = rng.randint(-1, 4)
        condition = rng.choice(
            [
                variable >= bound,
                variable < size - bound,
                variable == bound,
                te.all(variable >= bound, variable < size - bound),
            ]
        )
        return te.if_then_else(condition, value, te.const(rng.randint(-3, 3), self.dtype))

    def small(self, value: te.Expr) -> te.Expr:
        """Return the value in [-2, 2]."""
        return te.min(te.max(value, te.const(-2, self.dtype)), te.const(2, self.dtype))

    def value(self, point: Point, sources: list[Sized]) -> te.Expr:
        """Return what is computed at a point."""
        result = self.element(point, sources)
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            other = self.element(point, sources)
            kind = self.rng.choice(["add", "subtract", "max", "multiply"])
            if kind == "add":
                result = result + other
            elif kind == "subtract":
                result = result - other
            elif kind == "max":
                result = te.max(result, other)
            else:
                result = self.small(result) * self.small(other)
        return result

    def computed(self, name: str, tensors: list[Sized]) -> Sized:
        """Return a new tensor of some of those that there are."""
        rng = self.rng
        numbers, shape = self.shape([1, 2, 2, 3, 3, 4])
        sources = [rng.choice(tensors) for _ in range(rng.choice([1, 1, 2, 3]))]
        axes: Point = []
        if rng.random() < 0.3:
            extents = [rng.choice([1, 2, 3, 5, 8, 17]) for _ in range(rng.choice([1, 1, 2]))]
            axes = [(te.reduce_axis((0, n), name=f"{name}_k{n}"), n) for n in extents]
        combine = rng.choice([te.sum, te.max, te.min])

        def body(*indices: te.Expr) -> te.Expr:
            value = self.value([*zip(indices, numbers, strict=True), *axes], sources)
            return combine(value, axis=[axis for axis, _ in axes]) if axes else value

        return Sized(te.compute(shape, body, name=name), numbers)


def random_tensors(rng: random.Random) -> RandomTensors | None:
    """Return a function; nothing where a symbol of it is in no argument's shape."""
    drawing = Drawing(rng)
    inputs = []
    for k in range(rng.choice([1, 2])):
        numbers, shape = drawing.shape([1, 2, 3, 4])
        inputs.append(Sized(te.placeholder(shape, drawing.dtype, name=f"in{k}"), numbers))
    computed: list[Sized] = []
    for k in range(rng.choice([1, 1, 2, 3])):
        computed.append(drawing.computed(f"t{k}", inputs + computed))
    outputs = computed[-2:] if rng.random() < 0.3 else computed[-1:]
    try:
        func = te.create_prim_func([each.tensor for each in inputs + outputs])
    except ls.UserError as error:
        if "which nothing defines" in error.problem:
            return None
        raise
    return RandomTensors(
        func, [each.shape for each in inputs], [each.shape for each in outputs], drawing.dtype
    )
