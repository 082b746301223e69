# SPDX-License-Identifier: Apache-2.0
"""Reductions of rows that are no sums: extremes with their places, pairs, truth values, bits."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te

Pair = tuple[Any, Any]

TARGETS = ["native", "haswell", "skylake-avx512", "x86-64"]


def by_place(better: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda x, y: te.any(better(x[1], y[1]), te.all(x[1] == y[1], x[0] < y[0]))


def chosen(first: Any, x: Pair, y: Pair) -> Pair:
    return te.select(first, x[0], y[0]), te.select(first, x[1], y[1])


def largest(x: Pair, y: Pair) -> Pair:
    return chosen(x[1] >= y[1], x, y)


def largest_by_choices(x: Pair, y: Pair) -> Pair:
    first = by_place(lambda a, b: a > b)(x, y)
    return te.if_then_else(first, x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])


def largest_by_maximum(x: Pair, y: Pair) -> Pair:
    return te.select(x[1] >= y[1], x[0], y[0]), te.max(x[1], y[1])


def smallest(x: Pair, y: Pair) -> Pair:
    return chosen(by_place(lambda a, b: a < b)(x, y), x, y)


def last_largest(x: Pair, y: Pair) -> Pair:
    """Not known to commute: it stays in the order in which it is written."""
    return chosen(x[1] > y[1], x, y)


EXTREMES = {
    "largest": (largest, te.min_value, lambda a: a.argmax(1)),
    "by choices": (largest_by_choices, te.min_value, lambda a: a.argmax(1)),
    "by maximum": (largest_by_maximum, te.min_value, lambda a: a.argmax(1)),
    "smallest": (smallest, te.max_value, lambda a: a.argmin(1)),
    "last": (last_largest, te.min_value, lambda a: a.shape[1] - 1 - a[:, ::-1].argmax(1)),
}


def place_of_extreme(name: str, rows: Any, columns: Any, dtype: str) -> list[te.Tensor]:
    combine, start, _ = EXTREMES[name]
    reducer = te.comm_reducer(combine, lambda i, v: (te.const(-1, i), start(v)), name="extreme")
    a = te.placeholder((rows, columns), dtype, name="A")
    k = te.reduce_axis((0, columns), name="k")
    place, value = te.compute((rows,), lambda i: reducer((k.var, a[i, k]), axis=k), name="B")
    return [a, place, value]


def few_values(shape: tuple[int, ...], dtype: str, seed: int = 0) -> np.ndarray:
    """Return numbers that occur more than once, so that there are ties to break."""
    return np.random.default_rng(seed).integers(1, 6, shape).astype(dtype)


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize("target", TARGETS)
def test_the_place_of_an_extreme_is_the_first_one(name: str, target: str) -> None:
    for dtype, shape in [
        ("float32", (5, 1)),
        ("float32", (3, 33)),
        ("float32", (4, 200)),
        ("float64", (3, 70)),
        ("int8", (2, 130)),
    ]:
        module = ls.build(
            place_of_extreme(name, *shape, dtype), target=ls.Target(f"llvm -mcpu={target}")
        )
        x = few_values(shape, dtype)
        places, values = np.zeros(shape[0], "int32"), np.zeros(shape[0], dtype)
        module(x, places, values)
        expected = EXTREMES[name][2](x)
        np.testing.assert_array_equal(places, expected, str((dtype, shape)))
        np.testing.assert_array_equal(values, np.take_along_axis(x, expected[:, None], 1)[:, 0])


def test_rows_of_any_length_have_their_extremes() -> None:
    columns = te.size_var("n")
    module = ls.build(place_of_extreme("largest", 3, columns, "float32"))
    for length in (1, 15, 16, 17, 64, 127, 128, 1000):
        x = few_values((3, length), "float32", length)
        places, values = np.zeros(3, "int32"), np.zeros(3, "float32")
        module(x, places, values)
        np.testing.assert_array_equal(places, x.argmax(1))
        np.testing.assert_array_equal(values, x.max(1))


def test_the_place_in_a_long_row_does_not_depend_on_threads() -> None:
    module = ls.build(place_of_extreme("largest", 1, 70_001, "float32"))
    x = few_values((1, 70_001), "float32")
    x[0, [50_000, 69_999]] = 9
    for threads in (1, 2, 3):
        places, values = np.zeros(1, "int32"), np.zeros(1, "float32")
        module.with_threads(threads)(x, places, values)
        assert (places[0], values[0]) == (50_000, 9)


def test_what_is_below_the_start_of_an_extreme_has_no_place() -> None:
    reducer = te.comm_reducer(
        largest, lambda i, v: (te.const(-1, i), te.min_value(v)), name="largest"
    )
    a = te.placeholder((2, 40), "float32", name="A")
    k = te.reduce_axis((0, 40), name="k")
    start = (te.const(-1, "int32"), te.const(4, "float32"))
    place, value = te.compute(
        (2,), lambda i: reducer((k.var, a[i, k]), axis=k, init=start), name="B"
    )
    x = few_values((2, 40), "float32") - 2
    x[1, [20, 30]] = 7
    places, values = np.zeros(2, "int32"), np.zeros(2, "float32")
    ls.build([a, place, value])(x, places, values)
    assert (list(places), list(values)) == ([-1, 20], [4, 7])


@pytest.mark.parametrize(
    ("start", "expected"), [(-1, [-1, 60]), (0, [0, 60]), (2**31 - 1, [0, 60])]
)
def test_a_row_of_what_an_extreme_starts_from_has_a_place(start: int, expected: list[int]) -> None:
    reducer = te.comm_reducer(
        largest_by_choices, lambda i, v: (te.const(start, i), te.min_value(v)), name="best"
    )
    a = te.placeholder((2, 100), "uint8", name="A")
    k = te.reduce_axis((0, 100), name="k")
    place, value = te.compute((2,), lambda i: reducer((k.var, a[i, k]), axis=k), name="B")
    x = np.zeros((2, 100), "uint8")
    x[1, 60:80] = 1
    places, values = np.zeros(2, "int32"), np.zeros(2, "uint8")
    ls.build([a, place, value])(x, places, values)
    assert (list(places), list(values)) == (expected, [0, 1])


def test_a_value_may_come_before_its_place() -> None:
    def combine(x: Pair, y: Pair) -> Pair:
        first = x[0] >= y[0]
        return te.select(first, x[0], y[0]), te.select(first, x[1], y[1])

    reducer = te.comm_reducer(combine, lambda v, i: (te.min_value(v), te.const(-1, i)), name="best")
    a = te.placeholder((3, 100), "float32", name="A")
    k = te.reduce_axis((0, 100), name="k")
    value, place = te.compute((3,), lambda i: reducer((a[i, k], k.var), axis=k), name="B")
    text = ls.build([a, value, place], "llvm -mcpu=sapphirerapids").source("tir")
    assert "vectorized" not in text and "0:16" in text
    module = ls.build([a, value, place])
    x = few_values((3, 100), "float32")
    values, places = np.zeros(3, "float32"), np.zeros(3, "int32")
    module(x, values, places)
    np.testing.assert_array_equal(places, x.argmax(1))
    np.testing.assert_array_equal(values, x.max(1))


@pytest.mark.parametrize("shape", [(3, 5), (4, 100), (1, 70_000)])
def test_two_sums_at_once(shape: tuple[int, int]) -> None:
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] + y[1]),
        lambda a, b: (te.const(0, a), te.const(0, b)),
        name="both",
    )
    a = te.placeholder(shape, "float32", name="A")
    k = te.reduce_axis((0, shape[1]), name="k")
    total, squares = te.compute(
        (shape[0],), lambda i: both((a[i, k], a[i, k] * a[i, k]), axis=k), name="B"
    )
    x = few_values(shape, "float32")
    out = np.zeros((2, shape[0]), "float32")
    ls.build([a, total, squares])(x, out[0], out[1])
    np.testing.assert_array_equal(out, [x.sum(1), (x * x).sum(1)])


@pytest.mark.parametrize("target", TARGETS)
def test_any_and_all_of_a_row(target: str) -> None:
    for name, combine, start in [
        ("any", lambda x, y: te.any(x, y), False),
        ("all", lambda x, y: te.all(x, y), True),
    ]:
        reducer = te.comm_reducer(combine, lambda t, v=start: te.const(v, t), name=name)
        for length in (3, 64, 700):
            a = te.placeholder((4, length), "bool", name="A")
            k = te.reduce_axis((0, length), name="k")
            b = te.compute((4,), lambda i: reducer(a[i, k], axis=k), name="B")  # noqa: B023
            x = np.full((4, length), start)
            x[1, 0] = x[2, -1] = x[3, length // 2] = not start
            out = np.full(4, start)
            ls.build([a, b], target=ls.Target(f"llvm -mcpu={target}"))(x, out)
            assert list(out) == [start, not start, not start, not start]


@pytest.mark.parametrize("dtype", ["uint8", "int32", "uint64"])
def test_bits_of_a_row(dtype: str) -> None:
    x = np.random.default_rng(1).integers(0, 100, (3, 150)).astype(dtype)
    a = te.placeholder((3, 150), dtype, name="A")
    for name, combine, start in [
        ("or", lambda x, y: x | y, lambda t: te.const(0, t)),
        ("xor", lambda x, y: x ^ y, lambda t: te.const(0, t)),
        ("and", lambda x, y: x & y, lambda t: ~te.const(0, t)),
    ]:
        reducer = te.comm_reducer(combine, start, name=name)
        k = te.reduce_axis((0, 150), name="k")
        b = te.compute((3,), lambda i: reducer(a[i, k], axis=k), name="B")  # noqa: B023
        out = np.zeros(3, dtype)
        ls.build([a, b])(x, out)
        np.testing.assert_array_equal(out, getattr(np, f"bitwise_{name}").reduce(x, axis=1))


def test_rows_and_columns_of_one_element_are_none_in_memory() -> None:
    a = te.placeholder((40, 200), "float32", name="A")
    b = te.placeholder((200, 1), "float32", name="B")
    k = te.reduce_axis((0, 200), name="k")
    c = te.compute((40, 1), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    module = ls.build([a, b, c])
    vectors_of_b = re.findall(r"\bB_1\[(\w+ \* \d+(?: \+ \d+)?):\1 \+ \d+\]", module.source("tir"))
    assert vectors_of_b, "neighbours of the reduction are neighbours in memory"
    x, y = few_values((40, 200), "float32"), few_values((200, 1), "float32", 1)
    out = np.zeros((40, 1), "float32")
    module(x, y, out)
    np.testing.assert_array_equal(out, x @ y)
