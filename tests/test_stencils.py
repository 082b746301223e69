# SPDX-License-Identifier: Apache-2.0
"""Filters of images by default: what is inlined, what is computed in strips, and the numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


class Pipeline(NamedTuple):
    """A program on an image with a border of two elements, and the same by NumPy."""

    program: Callable[[te.Tensor, int, int], te.Tensor]
    expected: Callable[[np.ndarray], np.ndarray]
    inlined: int
    in_strips: int


def box(a: te.Tensor, n: int, m: int) -> te.Tensor:
    across = te.compute((n + 4, m), lambda i, j: sum(a[i, j + d] for d in range(5)), name="across")
    return te.compute((n, m), lambda i, j: sum(across[i + d, j] for d in range(5)), name="down")


def box_by_numpy(a: np.ndarray) -> np.ndarray:
    n, m = a.shape[0] - 4, a.shape[1] - 4
    across = sum(a[:, d : d + m] for d in range(5))
    return sum(across[d : d + n] for d in range(5))


def edges(a: te.Tensor, n: int, m: int) -> te.Tensor:
    def slope(name: str, down: int, right: int) -> te.Tensor:
        return te.compute(
            (n, m),
            lambda i, j: sum(
                weight
                * (
                    a[i + s * right + 2 * down, j + s * down + 2 * right]
                    - a[i + s * right, j + s * down]
                )
                for s, weight in enumerate((1.0, 2.0, 1.0))
            ),
            name=name,
        )

    x, y = slope("x", 0, 1), slope("y", 1, 0)
    return te.compute((n, m), lambda i, j: x[i, j] * x[i, j] + y[i, j] * y[i, j], name="edges")


def edges_by_numpy(a: np.ndarray) -> np.ndarray:
    n, m = a.shape[0] - 4, a.shape[1] - 4
    a = a[: n + 2, : m + 2]
    right, down = a[:, 2:] - a[:, :-2], a[2:] - a[:-2]
    x = right[:-2] + 2 * right[1:-1] + right[2:]
    y = down[:, :-2] + 2 * down[:, 1:-1] + down[:, 2:]
    return x * x + y * y


def smooth(a: te.Tensor, n: int, m: int) -> te.Tensor:
    first = te.compute(
        (n + 2, m + 2),
        lambda i, j: te.exp(0.1 * (a[i, j + 1] + a[i + 1, j] + a[i + 1, j + 2] + a[i + 2, j + 1])),
        name="first",
    )
    return te.compute(
        (n, m),
        lambda i, j: first[i, j + 1] + first[i + 1, j] + first[i + 1, j + 2] + first[i + 2, j + 1],
        name="second",
    )


def cross_by_numpy(a: np.ndarray) -> np.ndarray:
    return a[:-2, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1]


PIPELINES = {
    "box": Pipeline(box, box_by_numpy, 0, 1),
    "edges": Pipeline(edges, edges_by_numpy, 2, 0),
    "smooth": Pipeline(smooth, lambda a: cross_by_numpy(np.exp(0.1 * cross_by_numpy(a))), 0, 1),
}
SIZES = [
    (1700, 1203),
    (1600, 1280),
    (300, 301),
    (40, 64),
    (7, 33),
    (1, 16),
    (1, 1),
    (0, 64),
    (64, 0),
]


def program_of(pipeline: Pipeline, n: int, m: int) -> tir.PrimFunc:
    a = te.placeholder((n + 4, m + 4), name="A")
    return te.create_prim_func([a, pipeline.program(a, n, m)])


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", PIPELINES)
def test_filters_compute_what_numpy_does(name: str, size: tuple[int, int]):
    n, m = size
    pipeline = PIPELINES[name]
    a = np.random.default_rng(0).standard_normal((n + 4, m + 4)).astype("float32")
    expected = pipeline.expected(a.astype("float64"))
    func = program_of(pipeline, n, m)
    for program in (func, ls.default_schedule(func, holes=True)):
        found = np.full((n, m), np.nan, "float32")
        ls.build(program)(a, found)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", PIPELINES)
def test_large_filters_are_inlined_or_in_strips(name: str):
    pipeline = PIPELINES[name]
    func = program_of(pipeline, 4000, 4000)  # More than a core's cache holds.
    sch = ls.default_schedule(func, target="llvm -mcpu=skylake-avx512")
    text = str(sch.trace)
    assert text.count("sch.compute_inline(") == pipeline.inlined
    assert text.count("sch.compute_at(") == pipeline.in_strips
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    ls.assert_structural_equal(again.mod, sch.mod)


def test_long_chains_are_scheduled_soon():
    stages = 200
    image = te.placeholder((64 + 2 * stages, 64), name="A")
    below = image
    for n in range(stages, 0, -1):
        below = te.compute(
            (62 + 2 * n, 64),
            lambda i, j, x=below: (x[i, j] + x[i + 1, j] + x[i + 2, j]) * te.exp(x[i, j]),
            name=f"stage_{n}",
        )
    start = time.process_time()
    ls.default_schedule([image, below])
    assert time.process_time() - start < 3  # Cubic time would be 14 s.


STEPS = {
    "square": lambda x, i, j: x[i, j] * x[i, j] * 0.5 + x[i, j],
    "shared": lambda x, i, j: (lambda v: v * v * 0.5 + v)(x[i, j]),
    "exp": lambda x, i, j: te.exp(-0.5 * x[i, j]) + 0.5 * x[i, j],
}


@pytest.mark.parametrize("name", STEPS)
def test_chains_that_read_twice_stay_small(name: str):
    image = te.placeholder((1000, 1000), name="A")
    below = image
    for n in range(30):
        below = te.compute(
            (1000, 1000), lambda i, j, x=below: STEPS[name](x, i, j), name=f"stage_{n}"
        )
    sch = ls.default_schedule([image, below])
    assert len(sch.mod.script()) < 200_000  # Inlined into one, 2^30 terms.


def test_pointwise_chains_are_not_computed_in_strips():
    image = te.placeholder((2000, 2000), name="A")
    before, below = image, image
    for n in range(10):
        above = te.compute(
            (2000, 2000),
            lambda i, j, x=below, y=before: te.exp(0.3 * x[i, j]) + 0.5 * y[i, j],
            name=f"stage_{n}",
        )
        before, below = below, above
    assert "sch.compute_at(" not in str(ls.default_schedule([image, below]).trace)


def test_binomial_filters_of_bytes_are_kept_in_two_passes():
    n = 2000
    image = te.placeholder((n + 2, n + 2), "uint8", name="A")
    two, four, eight = (tir.const(value, "uint16") for value in (2, 4, 8))
    wide = te.compute((n + 2, n + 2), lambda i, j: image[i, j].astype("uint16"), name="wide")
    across = te.compute(
        (n + 2, n), lambda i, j: wide[i, j] + wide[i, j + 1] * two + wide[i, j + 2], name="across"
    )
    down = te.compute(
        (n, n),
        lambda i, j: (
            (across[i, j] + across[i + 1, j] * two + across[i + 2, j] + eight) >> four
        ).astype("uint8"),
        name="down",
    )
    sch = ls.default_schedule([image, down], target="llvm -mcpu=skylake-avx512")
    assert str(sch.trace).count("sch.compute_inline(") <= 1  # That of the conversion.
