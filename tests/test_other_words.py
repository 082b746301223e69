# SPDX-License-Identifier: Apache-2.0
"""Names that other systems have, and what we say to those who write them."""

from __future__ import annotations

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import tir as T

A = te.placeholder((4,), name="A")


def doubled() -> tir.Schedule:
    return tir.Schedule(te.create_prim_func([A, te.compute((4,), lambda i: A[i] * 2.0, name="B")]))


@pytest.mark.parametrize(
    ("owner", "name", "message"),
    [
        (ls, "nd", "loopsmith has no attribute 'nd'\n  hint: ls.array(a), ls.zeros(shape), or"),
        (ls, "biuld", "loopsmith has no attribute 'biuld'\n  hint: did you mean build?"),
        (te, "where", "te has no attribute 'where'\n  hint: te.if_then_else(condition, a, b)"),
        (te, "argmax", "te has no attribute 'argmax'\n  hint: te.nn.argmax"),
        (te, "placehold", "te has no attribute 'placehold'\n  hint: did you mean placeholder?"),
        (te.nn, "dense", "te.nn has no attribute 'dense'\n  hint: te.nn.matmul(a, b.T)"),
        (T, "Parallel", "T has no attribute 'Parallel'\n  hint: write `for i in T.parallel(n):`"),
    ],
)
def test_a_name_that_is_missing_is_refused_with_a_hint(owner: object, name: str, message: str):
    with pytest.raises(AttributeError) as caught:
        getattr(owner, name)
    assert str(caught.value).startswith(message)


def test_a_compiled_module_says_how_it_is_measured():
    module = ls.build(doubled())
    with pytest.raises(AttributeError) as caught:
        module.time_evaluator("main")  # type: ignore[attr-defined]
    assert str(caught.value) == (
        "a compiled module has no attribute 'time_evaluator'\n  hint: module.time(*arrays)"
    )
    assert not hasattr(module, "__nothing__")


def test_a_schedule_says_how_tiles_are_made():
    with pytest.raises(AttributeError, match="hint: split both loops, then reorder"):
        doubled().tile("i", "j")


@pytest.mark.parametrize(("function", "word"), [(np.exp, "exp"), (np.arctan2, "atan2")])
def test_a_function_of_numpy_is_refused_with_ours(function: np.ufunc, word: str):
    with pytest.raises(ls.TypeMismatch) as caught:
        te.compute((4,), lambda i: function(*[A[i]] * function.nin))
    assert str(caught.value).startswith(f"np.{function.__name__} computes numbers, and is given")
    assert f"hint: write te.{word}(x), or tir.{word}(x)" in str(caught.value)


def test_numbers_of_numpy_are_operands():
    B = te.compute((4,), lambda i: np.float32(2) * A[i] - np.float32(1) + (np.int64(1) + i), "B")
    a = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(ls.build([A, B])(a), 2 * a - 1 + 1 + np.arange(4))


def test_a_function_of_elements_says_what_becomes_of_tensors():
    with pytest.raises(ls.TypeMismatch) as caught:
        te.exp(A)  # type: ignore[arg-type]
    assert str(caught.value) == (
        "an argument is a Tensor, not an expression\n  hint: pass an expression or a number; of a "
        "tensor, its elements: te.compute(A.shape, lambda *i: f(A(*i)))"
    )
