# SPDX-License-Identifier: Apache-2.0
"""What `inspect.signature`, and so editors and notebooks, say of compiled functions."""

from __future__ import annotations

import inspect

import numpy as np

import loopsmith as ls
from loopsmith import te, tir


def test_a_compiled_function_has_a_signature():
    n = te.size_var("n")
    X = te.placeholder((n, 4), name="X")
    f = ls.build([X, te.compute((n, 4), lambda i, j: X[i, j] + 1.0, name="Y")], name="f")
    expected = "(X: 'float32[n, 4]', Y: 'float32[n, 4]' = None, *, out=None)"
    assert str(inspect.signature(f)) == str(inspect.signature(f["f"])) == expected
    bound = inspect.signature(f).bind(np.ones((2, 4), "float32"))
    assert list(bound.arguments) == ["X"]


def test_a_module_of_several_functions_has_none():
    both = """
@I.ir_module
class both:
    @T.prim_func
    def first(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)
    @T.prim_func
    def second(A: T.Buffer((4,), "float32"), k: T.int32):
        A[0] = T.Cast("float32", k)
"""
    module = ls.build(ls.from_source(both))
    assert str(inspect.signature(module["second"])) == (
        "(A: 'float32[4]' = None, *, k: 'int32', out=None)"
    )
    assert module.__signature__ is None


SCRIPT = """
@T.prim_func
def f(A: T.Buffer((16,), "float32")):
    for i in range(16):
        A[i] = T.float32(1)
"""


def test_primitives_have_signatures():
    sch = tir.Schedule(ls.from_source(SCRIPT))
    parameters = inspect.signature(sch.split).parameters
    assert list(parameters)[:3] == ["loop", "factors", "names"]
    assert parameters["preserve_unit_iters"].default is True
    assert str(inspect.signature(sch.unroll)) == "(loop: 'LoopRV | str') -> 'None'"
    assert next(iter(inspect.signature(tir.Schedule.split).parameters)) == "self"


def test_functions_of_the_extension_have_signatures():
    assert str(inspect.signature(tir.exp)) == "(x: 'ExprLike', /) -> 'Expr'"
    assert inspect.signature(te.compute).parameters["name"].default == "compute"
