# SPDX-License-Identifier: Apache-2.0
"""Scalar functions, compiled for vectors, against NumPy in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te

erf = np.vectorize(math.erf, otypes=["float64"])

#: What a function of one argument is compared with, and how many ULP it may be off.
UNARY: dict[str, tuple[Callable[[np.ndarray], np.ndarray], float]] = {
    "exp": (np.exp, 2),
    "exp2": (np.exp2, 2),
    "exp10": (lambda x: np.power(10.0, x), 2),
    "log": (np.log, 2),
    "log2": (np.log2, 2),
    "log10": (np.log10, 2),
    "log1p": (np.log1p, 2),
    "sqrt": (np.sqrt, 0.501),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "sin": (np.sin, 2),
    "cos": (np.cos, 2),
    "tan": (np.tan, 4),
    "sinh": (np.sinh, 2),
    "cosh": (np.cosh, 2),
    "tanh": (np.tanh, 2),
    "asin": (np.arcsin, 2),
    "acos": (np.arccos, 2),
    "atan": (np.arctan, 2),
    "asinh": (np.arcsinh, 2),
    "acosh": (np.arccosh, 2),
    "atanh": (np.arctanh, 2),
    "erf": (erf, 2),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 2),
    "floor": (np.floor, 0),
    "ceil": (np.ceil, 0),
    "trunc": (np.trunc, 0),
    "nearbyint": (np.rint, 0),
    "round": (lambda x: np.where(np.abs(x) < 2**52, np.trunc(x + np.copysign(0.5, x)), x), 0),
}

SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-45,
    -1e-45,
    1.17549435e-38,
    3.4028235e38,
]


def float32_sample() -> np.ndarray:
    """Return one float32 of each 5003 bit patterns, and the special ones."""
    patterns = np.arange(0, 2**32, 5003, dtype="uint64").astype("uint32")
    return np.concatenate([patterns.view("float32"), np.array(SPECIAL, "float32")])


def ulps(actual: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return the distance of float32 values from exact ones, in units of the last place."""
    with np.errstate(all="ignore"):
        rounded = exact.astype("float32")
        unit = np.spacing(np.abs(rounded)).astype("float64")
        distance = np.abs(actual.astype("float64") - exact) / unit
    same = (actual == rounded) | (np.isnan(actual) & np.isnan(rounded))
    # Next to the largest number, infinity is one step away.
    largest = np.abs(rounded) >= np.finfo("float32").max
    beyond = np.isinf(actual) & largest & (np.signbit(actual) == np.signbit(rounded))
    return np.where(
        same & np.isinf(actual),
        0,
        np.where(same & np.isnan(actual), 0, np.where(beyond, 1, distance)),
    )


def compiled(name: str, dtype: str, count: int) -> ls.Module:
    a = te.placeholder((count,), dtype, name="a")
    b = te.compute((count,), lambda i: getattr(te, name)(a[i]), name="b")
    return ls.build(te.create_prim_func([a, b]))


@pytest.mark.parametrize("name", UNARY)
def test_float32_functions_are_close_to_double_precision(name: str):
    function, bound = UNARY[name]
    x = float32_sample()
    y = np.empty_like(x)
    compiled(name, "float32", len(x))(x, y)
    with np.errstate(all="ignore"):
        exact = function(x.astype("float64"))
    distance = ulps(y, exact)
    worst = int(np.nanargmax(np.where(np.isnan(distance), np.inf, distance)))
    assert distance[worst] <= bound, f"{name}({x[worst]!r}) is {y[worst]!r}, not {exact[worst]!r}"


@pytest.mark.parametrize("name", ["exp", "log", "sin", "cos", "tanh", "atan", "log1p", "sigmoid"])
def test_float64_functions_are_close_to_numpy(name: str):
    random = np.random.default_rng(1)
    x = random.standard_normal(100_000) * np.exp2(random.integers(-30, 9, 100_000))
    x = np.abs(x) if name in ("log", "log1p") else x
    y = np.empty_like(x)
    compiled(name, "float64", len(x))(x, y)
    with np.errstate(all="ignore"):
        exact = UNARY[name][0](x)
    # NumPy itself may be off by one; where the result vanishes, so may both.
    np.testing.assert_allclose(y, exact, rtol=1e-15, atol=1e-300)


def test_float16_computes_in_float32_and_rounds():
    x = np.arange(0, 2**16, 7, dtype="uint16").view("float16")
    y = np.empty_like(x)
    compiled("exp", "float16", len(x))(x, y)
    with np.errstate(all="ignore"):
        exact = np.exp(x.astype("float64")).astype("float16")
    np.testing.assert_array_max_ulp(y[np.isfinite(exact)], exact[np.isfinite(exact)], 1)
