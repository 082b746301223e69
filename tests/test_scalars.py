# SPDX-License-Identifier: Apache-2.0
"""Operations with constants mean what they mean of the same numbers in memory."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T  # noqa: N812

OPERATIONS: dict[str, Any] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truncdiv": tir.truncdiv,
    "truncmod": tir.truncmod,
    "floordiv": tir.floordiv,
    "floormod": tir.floormod,
    "min": tir.min,
    "max": tir.max,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "eq": tir.EQ,
    "lt": operator.lt,
    "le": operator.le,
}


def interesting(dtype: str) -> list[int]:
    if dtype == "bool":
        return [0, 1]
    info = np.iinfo(dtype)
    values = {info.min, info.max, 0, 1, 7, info.bits, info.max // 7}
    return sorted(values | ({-1, -3} if info.min < 0 else set()))


def applied(operation: Any, data: te.Tensor, other: Any, swapped: bool = False) -> te.Tensor:
    def element(i: tir.Var) -> tir.Expr:
        return operation(other(i), data[i]) if swapped else operation(data[i], other(i))

    return te.compute(data.shape, element, name="out")


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8", "bool"])
def test_operations_with_constants_mean_the_same(dtype: str) -> None:
    values = interesting(dtype)
    data = te.placeholder((len(values),), dtype, name="data")
    same = te.placeholder((len(values),), dtype, name="same")
    cases, by_constant, by_element = [], [], []
    for name, operation in OPERATIONS.items():
        for place, value in enumerate(values):
            for swapped in (False, True):
                if not swapped and value == 0 and name[-3:] in ("div", "mod"):
                    continue  # refused where it is written

                constant = te.const(value, dtype)
                cases.append((name, value, swapped))
                by_constant.append(applied(operation, data, lambda _, c=constant: c, swapped))
                by_element.append(applied(operation, data, lambda _, p=place: same[p], swapped))
    x = np.array(values, dtype)
    first = [np.zeros(len(values), t.dtype) for t in by_constant]
    second = [np.zeros(len(values), t.dtype) for t in by_element]
    ls.build([data, same, *by_constant, *by_element])(x, x.copy(), *first, *second)
    for case, got, expected in zip(cases, first, second):
        np.testing.assert_array_equal(got, expected, str(case))


def test_what_is_read_may_be_as_large_as_its_type() -> None:
    most = 2**31 - 1
    a = te.placeholder((4,), "int32", name="A")
    b = te.placeholder((4,), "int32", name="B")
    programs: list[tuple[Any, Any]] = [
        (lambda x, y: (x < y - 3).astype("int32"), lambda x, y: int(x < y - 3)),
        (lambda x, y: ((x // 4) + 100) // 8, lambda x, y: (x // 4 + 100) // 8),
        (lambda x, y: (0 - x) % 7, lambda x, y: -x % 7),
        (lambda x, y: (x % 7 + y) % 7, lambda x, y: (x % 7 + y) % 7),
        (lambda x, y: (x << 24) >> 24, lambda x, y: (x + 128) % 256 - 128),
        (lambda x, y: x // (y - y), lambda x, y: 0),
    ]
    outputs = [applied(function, a, lambda i: b[i]) for function, _ in programs]
    x, y = np.array([most, most - 2, -most, 5], "int32"), np.array([most - 8, -5, 10, 7], "int32")
    results = [np.zeros(4, "int32") for _ in programs]
    ls.build([a, b, *outputs])(x, y, *results)
    for (_, expected), got in zip(programs, results):
        assert got.tolist() == [expected(int(p), int(q)) for p, q in zip(x, y)]


def test_what_is_computed_of_it_may_be_so_too() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32")):
        for i in range(4):
            x: T.int32 = A[i] ^ B[i]
            C[i] = (x // 4 + 100) // 8

    x, y = np.array([2**31 - 1, 5, -7, 2**30], "int32"), np.array([0, 1, 2, 3], "int32")
    out = np.zeros(4, "int32")
    ls.build(func)(x, y, out)
    np.testing.assert_array_equal(out, ((x.astype("int64") ^ y) // 4 + 100) // 8)


def test_scalar_arguments_that_are_data_may_be_so_too() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "int32"), alpha: T.int32, C: T.Buffer((4,), "int32")):
        for i in range(4):
            C[i] = T.Select(A[i] < alpha - 3, (alpha // 4 + 100) // 8, (alpha % 7 + A[i]) % 7)

    least, most = -(2**31), 2**31 - 1
    x = np.array([most, least, 5, most - 9], "int32")
    kernel = ls.build(func)
    for alpha in (most, most - 5, least + 3, 2):
        out = np.zeros(4, "int32")
        kernel(x, alpha, out)
        wide = x.astype("int64")
        chosen = np.where(wide < alpha - 3, (alpha // 4 + 100) // 8, (alpha % 7 + wide) % 7)
        fits = alpha % 7 + wide <= most
        np.testing.assert_array_equal(out[fits], chosen[fits], str(alpha))


@pytest.mark.parametrize("limit", [-(2**31), -(2**31) + 2, 7, 2**31 - 1])
def test_conditions_on_data_hold_where_they_are_written_to(limit: int) -> None:
    @T.prim_func
    def func(given: T.int32, B: T.Buffer((1,), "int32"), C: T.Buffer((64,), "int32")):
        read: T.int32 = B[0]
        for i in range(64):
            if i + 3 < given:
                C[i] = 1
            if i + 3 < read:
                C[i] = C[i] + 2

    out = np.zeros(64, "int32")
    ls.build(func)(limit, np.array([limit], "int32"), out)
    np.testing.assert_array_equal(out, 3 * (np.arange(64) + 3 < limit))


def dividends_and_divisors(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Return all pairs of 8 bits; of others, products with their neighbours, and the ends."""
    info = np.iinfo(dtype)
    if info.bits == 8:
        every = np.arange(info.min, info.max + 1)
        a, b = np.repeat(every, 256), np.tile(every, 256)
    else:
        numbers = np.random.default_rng(0)
        b = numbers.integers(1, 2 ** numbers.integers(1, info.bits, 20000))
        b = np.append(b, numbers.integers(info.min, info.max, 20000))
        quotient = numbers.integers(0, info.max // np.maximum(np.abs(b), 1) + 1)
        a = quotient * b + numbers.integers(-1, 2, b.size)
        ends = np.array([info.min, info.min + 1, -1, 0, 1, info.max - 1, info.max])
        a, b = np.append(a, np.repeat(ends, 7)), np.append(b, np.tile(ends, 7))
    inside = (info.min <= a) & (a <= info.max) & (info.min <= b) & (b <= info.max)
    return a[inside].astype(dtype), b[inside].astype(dtype)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
def test_vectors_of_integers_divide_exactly(dtype: str) -> None:
    a, b = dividends_and_divisors(dtype)
    A, B = (te.placeholder(a.shape, dtype, name=name) for name in "AB")
    names = ("truncdiv", "truncmod", "floordiv", "floormod")
    results = [applied(OPERATIONS[name], A, B.__getitem__) for name in names]
    found = [np.empty(a.shape, dtype) for _ in names]
    ls.build(te.create_prim_func([A, B, *results]))(a, b, *found)
    wide, by = a.astype("int64"), np.where(b == 0, 1, b.astype("int64"))
    truncated = np.abs(wide) // np.abs(by) * np.sign(wide) * np.sign(by)
    expected = [truncated, wide - truncated * by, wide // by, wide % by]
    for name, one, other in zip(names, found, expected, strict=True):
        np.testing.assert_array_equal(one, np.where(b == 0, 0, other).astype(dtype), name)


def test_loops_over_scalars_that_are_data_are_split_as_they_stand() -> None:
    func = ls.from_source("""@T.prim_func
def main(alpha: T.int32, C: T.Buffer((16,), "int32")):
    z: T.int32 = alpha ^ 8
    for i in range(16):
        if z - i > alpha:
            C[i] = (alpha // 2 - i) // 3
        else:
            C[i] = i - z
""")
    sch = tir.Schedule(func)
    sch.split(sch.get_loop("i"), factors=[None, 5])
    for alpha in (0, 17, 2**31 - 1, 2**31 - 10, -(2**31) + 64):
        expected, found = np.zeros(16, "int32"), np.zeros(16, "int32")
        ls.interp.run(func, alpha, expected)
        ls.interp.run(sch.func, alpha, found)
        np.testing.assert_array_equal(found, expected, str(alpha))
        ls.build(sch)(alpha, found)
        np.testing.assert_array_equal(found, expected, str(alpha))


def test_data_that_cuts_a_loop_is_data_still() -> None:
    func = ls.from_source("""@T.prim_func
def main(alpha: T.int32, C: T.Buffer((16,), "int32")):
    for i in range(16):
        if i >= alpha // 1000:
            C[i] = 4
        else:
            C[i] = T.Select(alpha // 8 - alpha > alpha, 1, 2)
""")
    kernel = ls.build(func)
    for alpha in (2**31 - 19, 5000, -70):
        expected, found = np.zeros(16, "int32"), np.zeros(16, "int32")
        ls.interp.run(func, alpha, expected)
        kernel(alpha, found)
        np.testing.assert_array_equal(found, expected, str(alpha))


def test_scalars_that_are_data_place_no_border_where_they_wrap() -> None:
    """The first x with x - 3 >= alpha is alpha + 3, which for large alpha is no int32."""
    columns, alpha = te.size_var("columns"), te.var("alpha", "int32")
    image = te.placeholder((columns,), "int32", name="image")
    values = [
        (
            lambda x: te.max(te.max(x - 3, alpha), te.min(x + 5, alpha)),
            lambda x, alpha: np.maximum(np.maximum(x - 3, alpha), np.minimum(x + 5, alpha)),
        ),
        (lambda x: te.min(x - 3, alpha), lambda x, alpha: np.minimum(x - 3, alpha)),
    ]
    zeros = np.zeros(40, np.int32)
    for value, expected in values:
        out = te.compute(
            (columns,),
            lambda x, value=value: image[te.max(x - 1, 0)] + value(x),
            name="out",
        )
        compiled = ls.build(te.create_prim_func([alpha, image, out]))
        for each in interesting("int32"):
            got = np.empty_like(zeros)
            compiled(each, zeros, got)
            np.testing.assert_array_equal(got, expected(np.arange(40), each), f"alpha {each}")
