# SPDX-License-Identifier: Apache-2.0
"""Derivatives of functions of numbers, of reductions, and of graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_te_gradient import check, evaluated, given, sizes

import loopsmith as ls
from loopsmith import te

# ---- Functions of numbers ----

UNARY = [
    te.exp,
    te.exp2,
    te.exp10,
    te.expm1,
    te.log,
    te.log2,
    te.log10,
    te.log1p,
    te.sqrt,
    te.rsqrt,
    te.sin,
    te.cos,
    te.tan,
    te.sinh,
    te.cosh,
    te.tanh,
    te.asin,
    te.acos,
    te.atan,
    te.asinh,
    te.atanh,
    te.erf,
    te.sigmoid,
    te.floor,
    te.ceil,
    te.round,
    te.trunc,
    te.nearbyint,
    te.abs,
]


def of_first(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: function(a) * b


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    **{f.__name__: of_first(f) for f in UNARY},
    "acosh": lambda a, b: te.acosh(a + 1.5) * b,
    "negative abs": lambda a, b: te.abs(a - 2.0) * b,
    "power": lambda a, b: te.power(a, b),
    "square": lambda a, b: te.power(a, te.const(2.0, "float64")) + b,
    "cube": lambda a, b: te.power(a - 2.0, te.const(3.0, "float64")) + b,
    "atan2": lambda a, b: te.atan2(a, b),
    "fmod": lambda a, b: te.fmod(a * 5.0, b),
    "hypot": lambda a, b: te.hypot(a, b),
    "copysign": lambda a, b: te.copysign(a, b - 2.0) * a,
    "+ - * /": lambda a, b: (a + b) * (a - b) / (a * b + 1.0),
    "max": lambda a, b: te.max(a * b, a * a),
    "min": lambda a, b: te.min(a, b) * a,
    "select": lambda a, b: te.select(a > b, a * a, b * b * b),
    "if_then_else": lambda a, b: te.if_then_else(te.any(a > b, b > 0.8), te.log(a), b * a),
    "isnan": lambda a, b: te.if_then_else(te.isnan(a), 0.0, a * b),
    "cast": lambda a, b: (a.astype("float64") * b).astype("float64"),
    "cast to integers": lambda a, b: (a * 10.0).astype("int32").astype("float64") * b,
    "shared parts": lambda a, b: (lambda x: (lambda y: y * y)(x * x + x))(a * b),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_have_their_derivatives(name: str) -> None:
    A, B = given(7, name="A"), given(7, name="B")
    check(te.compute((7,), lambda i: FUNCTIONS[name](A[i], B[i]), name="C"), [A, B])


def test_the_power_of_zero_has_a_derivative() -> None:
    A, B = given(2, name="A"), given(2, name="B")
    C = te.compute((2,), lambda i: te.power(A[i], B[i]), name="C")
    head = given(2, name="head")
    values = [np.array([0.0, 0.0]), np.array([1.0, 2.0]), np.ones(2)]
    dA, dB = evaluated(te.gradient(C, [A, B], head), [A, B, head], values)
    np.testing.assert_array_equal(dA, [1, 0])
    np.testing.assert_array_equal(dB, [0, 0])


def test_a_cast_takes_the_derivative_to_the_type_of_its_operand() -> None:
    A = given(4, dtype="float32")
    B = te.compute((4,), lambda i: A[i].astype("float64") * 3.0, name="B")
    (dA,) = te.gradient(B, [A], given(4, name="head"))
    assert dA.dtype == "float32"


def test_deeply_shared_expressions_are_differentiated_once() -> None:
    A = given(3)

    def value(i: Any) -> Any:
        x = A[i]
        for _ in range(60):
            x = x * x * 0.5 + x * 0.25
        return x

    (dA,) = te.gradient(te.compute((3,), value, name="B"), [A], given(3, name="head"))
    assert sizes(dA) == [3]


# ---- Reductions ----


def reduced(reducer: Any, value: Callable[[Any], Any] = lambda x: x) -> list[te.Tensor]:
    A = given(3, 4)
    k = te.reduce_axis((0, 4), name="k")
    return [A, te.compute((3,), lambda i: reducer(value(A[i, k]), axis=k), name="B")]


@pytest.mark.parametrize("reducer", [te.sum, te.prod, te.max, te.min])
@pytest.mark.parametrize("value", [lambda x: x, lambda x: x * x + 0.5 * x])
def test_reductions_have_derivatives(reducer: Any, value: Any) -> None:
    A, B = reduced(reducer, value)
    check(B, [A])


def test_a_product_with_zeros_has_derivatives() -> None:
    A, B = reduced(te.prod)
    head = given(3, name="head")
    a = np.array([[2.0, 0, 3, 4], [0, 0, 3, 4], [1, 2, 3, 4]])
    (found,) = evaluated(te.gradient(B, [A], head), [A, head], [a, np.ones(3)])
    np.testing.assert_allclose(found, [[0, 24, 0, 0], [0] * 4, [24, 12, 8, 6]])


def test_the_largest_of_equal_elements_share_the_derivative() -> None:
    A, B = reduced(te.max)
    head = given(3, name="head")
    a = np.array([[1.0, 5, 5, 2], [1, 2, 3, 4], [7, 7, 7, 7]])
    (found,) = evaluated(te.gradient(B, [A], head), [A, head], [a, np.ones(3)])
    np.testing.assert_allclose(found, [[0, 0.5, 0.5, 0], [0, 0, 0, 1], [0.25] * 4])


def test_the_start_of_a_sum_counts_once() -> None:
    A, S = given(3, 4, name="A"), given(3, name="S")
    k = te.reduce_axis((0, 4), name="k")
    B = te.compute((3,), lambda i: te.sum(A[i, k], axis=k, init=S[i] * S[i]), name="B")
    check(B, [A, S])


def test_the_value_of_an_argmax_changes_with_the_element_that_it_chose() -> None:
    def best(x: Any, y: Any) -> Any:
        keeps = te.any(x[1] > y[1], te.all(x[1] == y[1], x[0] < y[0]))
        return te.select(keeps, x[0], y[0]), te.select(keeps, x[1], y[1])

    argmax = te.comm_reducer(
        best, lambda t0, t1: (te.max_value(t0), te.min_value(t1)), name="argmax"
    )
    A = given(3, 4)
    k = te.reduce_axis((0, 4), name="k")
    index, value = te.compute((3,), lambda i: argmax((k.var, A[i, k] * 2.0), axis=k), name="B")
    check(te.compute((3,), lambda i: value[i] * value[i], name="C"), [A])
    with pytest.raises(ls.UserError, match=r"output B\.v0 is int32: only floating-point numbers"):
        te.gradient(index, [A])
