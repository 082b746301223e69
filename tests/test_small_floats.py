# SPDX-License-Identifier: Apache-2.0
"""Constants of narrow floats are the numbers that memory holds: in programs, folded, converted."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import interp, te, tir

ml_dtypes = pytest.importorskip("ml_dtypes")

KINDS = {
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
}
E4M3_LARGEST, E4M3_LAST = 448.0, 464.0  # The second rounds to the first, what is larger does not.


def edges(kind: Any) -> np.ndarray:
    """Where rounding, saturation, infinity and denormal numbers begin, and what is beside."""
    info = ml_dtypes.finfo(kind)
    largest, tiny, least = float(info.max), float(info.tiny), float(info.smallest_subnormal)
    step = largest - float(np.nextafter(kind(largest), kind(0)))
    points = [largest, largest + step / 2, largest + step, tiny, tiny - least, least, least / 2]
    points += [least * 1.5, 1.0, 1.0 + float(info.eps) / 2, 1.0 + float(info.eps) * 1.5, 0.1, 17.0]
    near = [value * factor for value in points for factor in (1.0, 1.0 - 1e-6, 1.0 + 1e-6)]
    every = [0.0, *near, np.inf, np.nan, 3e38]
    with np.errstate(over="ignore"):
        return np.array([*every, *(-value for value in every)], "float32")


def converted(values: np.ndarray, dtype: str) -> np.ndarray:
    """The library's conversion, but that e4m3 saturates here."""
    if dtype == "float8_e4m3fn":
        values = np.clip(values, -E4M3_LARGEST, E4M3_LARGEST)
    with np.errstate(over="ignore"):
        return values.astype(KINDS[dtype])


def bits(values: np.ndarray) -> list[int | str]:
    """Bit patterns, of which those of NaN are one."""
    plain = values.view(f"uint{values.dtype.itemsize * 8}")
    return [
        "nan" if np.isnan(x) else int(b) for x, b in zip(values.astype("float32").flat, plain.flat)
    ]


def results(func: tir.PrimFunc, arrays: list[np.ndarray], outputs: list[np.ndarray]) -> Any:
    """What each way to run a program writes, as bits."""
    ways = [ls.build(func), ls.build(func, "c"), lambda *given: interp.run(func, *given)]
    for way in ways:
        for output in outputs:
            output.fill(0)
        way(*arrays, *outputs)
        yield [bit for output in outputs for bit in bits(output)]


def constants(values: list[Any]) -> tir.PrimFunc:
    def one(value: Any, name: str) -> te.Tensor:
        return te.compute((1,), lambda i: value, name=name)

    return te.create_prim_func([one(value, f"C{n}") for n, value in enumerate(values)])


@pytest.mark.parametrize("dtype", KINDS)
def test_conversions_and_constants_are_those_of_memory(dtype: str) -> None:
    values = edges(KINDS[dtype])
    expected = bits(converted(values, dtype))
    a = te.placeholder(values.shape, "float32", name="A")
    read = te.create_prim_func([a, te.compute(a.shape, lambda i: a[i].astype(dtype), name="B")])
    for got in results(read, [values], [np.zeros(len(values), KINDS[dtype])]):
        assert got == expected
    cast = [te.const(float(value), "float32").astype(dtype) for value in values]
    outputs = [np.zeros(1, KINDS[dtype]) for _ in values]
    for got in results(constants(cast), [], outputs):
        assert got == expected


@pytest.mark.parametrize("dtype", KINDS)
def test_constants_are_rounded_or_refused(dtype: str) -> None:
    kind = KINDS[dtype]
    written, expected = [], []
    for value, bit in zip(edges(kind), bits(converted(edges(kind), dtype))):
        largest = E4M3_LAST if dtype == "float8_e4m3fn" else np.inf
        with np.errstate(over="ignore"):
            is_too_large = np.isfinite(value) and (
                abs(value) > largest or (largest == np.inf and np.isinf(kind(value)))
            )
        if is_too_large:
            with pytest.raises(ls.BoundsError, match="is out of the range of"):
                te.const(float(value), dtype)
        else:
            written.append(te.const(float(value), dtype))
            expected.append(bit)
    for got in results(constants(written), [], [np.zeros(1, kind) for _ in written]):
        assert got == expected


BYTES = ["float8_e4m3fn", "float8_e5m2"]


@pytest.mark.parametrize("dtype", BYTES)
def test_all_numbers_of_a_byte_are_read_alike(dtype: str) -> None:
    numbers = np.arange(256, dtype="uint8").view(KINDS[dtype])
    a = te.placeholder((256,), dtype, name="A")
    wide = te.create_prim_func([a, te.compute((256,), lambda i: a[i].astype("float32"), name="B")])
    for got in results(wide, [numbers], [np.zeros(256, "float32")]):
        assert got == bits(numbers.astype("float32"))


@pytest.mark.parametrize("operation", [operator.add, operator.sub, operator.mul, operator.truediv])
@pytest.mark.parametrize("dtype", BYTES)
def test_operations_on_constants_give_what_they_give_of_memory(dtype: str, operation: Any) -> None:
    numbers = np.arange(256, dtype="uint8").view(KINDS[dtype])
    random = np.random.default_rng(1)
    finite = numbers[np.isfinite(numbers.astype("float32"))]
    x, y = random.choice(finite, 64), random.choice(finite[finite != 0], 64)
    with np.errstate(over="ignore"):
        exact = operation(x.astype("float32"), y.astype("float32"))
    expected = bits(converted(exact, dtype))
    p, q = (te.placeholder((64,), dtype, name=name) for name in "PQ")
    read = te.create_prim_func([p, q, te.compute((64,), lambda i: operation(p[i], q[i]))])
    for got in results(read, [x, y], [np.zeros(64, KINDS[dtype])]):
        assert got == expected
    pairs = [(te.const(float(u), dtype), te.const(float(v), dtype)) for u, v in zip(x, y)]
    folded = constants([operation(u, v) for u, v in pairs])
    for got in results(folded, [], [np.zeros(1, KINDS[dtype]) for _ in x]):
        assert got == expected
