# SPDX-License-Identifier: Apache-2.0
"""Words of other systems, and what says it here: a name that is missing is refused with a hint."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from . import _core

PACKAGE = {
    "nd": "ls.array(a), ls.zeros(shape), or arrays of NumPy as they are",
    "NDArrayPool": "arrays of NumPy, PyTorch and JAX are taken as they are",
    "IRModule": "tir.IRModule",
    "PrimFunc": "tir.PrimFunc",
    "Schedule": "tir.Schedule(func), or te.create_schedule(op)",
    "create_schedule": "te.create_schedule(op)",
    "create_prim_func": "te.create_prim_func(tensors)",
    "cpu": 'ls.build(f, "llvm")',
    "cuda": 'ls.build(f, "cuda"), and ls.device("cuda")',
    "opencl": 'ls.build(f, "opencl"), and ls.device("opencl")',
    "autotvm": "ls.tune(program)",
    "auto_scheduler": "ls.tune(program)",
    "meta_schedule": "ls.tune(program)",
    "jit": "a program is a tensor expression or a script: ls.build(program)",
    "compile": "ls.build(program)",
    "topi": "te.nn",
    "relay": "programs are tensor expressions (te) or scripts; there is no graph above them",
    "testing": "ls.assert_same(f, g)",
    "runtime": "ls.load_module(path), ls.device(kind)",
}
TENSOR_EXPRESSIONS = {
    "dense": "te.nn.matmul(a, b.T)",
    "conv": "te.nn.conv2d(x, weight)",
    "batch_matmul": "te.nn.matmul(a, b)",
    "where": "te.if_then_else(condition, a, b)",
    "maximum": "te.max(a, b)",
    "minimum": "te.min(a, b)",
    "zeros": "te.compute(shape, lambda *i: 0.0)",
    "full": "te.compute(shape, lambda *i: value)",
    "Func": "te.compute(shape, lambda i, j: ...)",
    "RDom": "te.reduce_axis((0, n))",
    "Var": 'te.var("n"), or the parameters of the function of te.compute',
    "ImageParam": "te.placeholder(shape, dtype)",
    "topi": "te.nn",
}
OPERATORS = {
    "relu6": "te.nn.relu(x), and te.min",
    "dense": "te.nn.matmul(a, b.T)",
    "batch_matmul": "te.nn.matmul(a, b)",
    "linear": "te.nn.matmul(a, b.T)",
    "conv2d_nchw": "te.nn.conv2d(x, weight)",
    "pool2d": "te.nn.max_pool2d(x, size), te.nn.avg_pool2d(x, size)",
}
MODULES = {
    "time_evaluator": "module.time(*arrays)",
    "entry_func": "module(*arrays) calls it",
    "entry_name": "module.names",
    "get_function": 'module["name"]',
    "get_source": 'module.source("llvm"), module.inspect()',
    "imported_modules": "module.source(name) gives the code of devices",
    "export_library": "module.export(path)",
    "save": "module.export(path)",
    "benchmark": "module.time(*arrays)",
    "asm": "module.inspect().assembly",
}


def missing(owner: str, name: str, hints: Mapping[str, str], known: Iterable[str]) -> NoReturn:
    """Raise the AttributeError of a name that is not there.

    Parameters
    ----------
    owner
        What people call the thing that was asked: ``te``, ``a compiled module``.
    name
        What was asked for.
    hints
        For words of other systems, what says it here.
    known
        The names that there are, for what is nearly one of them.
    """
    if name.startswith("_"):
        raise AttributeError(name)
    hint = hints.get(name, "")
    close = difflib.get_close_matches(name, [each for each in known if each[0] != "_"], n=1)
    if not hint and close:
        hint = f"did you mean {close[0]}?"
    raise AttributeError(
        f"{owner} has no attribute {name!r}" + (f"\n  hint: {hint}" if hint else "")
    )


def of_module(module: Any, name: str) -> NoReturn:
    """Raise the error of a compiled module that is asked for a name it does not have."""
    missing("a compiled module", name, MODULES, dir(type(module)))


# What NumPy's functions are asked for when one operand is an expression or a tensor.
REFLECTED: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "add": (operator.add, "__radd__"),
    "subtract": (operator.sub, "__rsub__"),
    "multiply": (operator.mul, "__rmul__"),
    "divide": (operator.truediv, "__rtruediv__"),
    "true_divide": (operator.truediv, "__rtruediv__"),
    "floor_divide": (operator.floordiv, "__rfloordiv__"),
    "remainder": (operator.mod, "__rmod__"),
    "power": (operator.pow, "__rpow__"),
    "bitwise_and": (operator.and_, "__rand__"),
    "bitwise_or": (operator.or_, "__ror__"),
    "bitwise_xor": (operator.xor, "__rxor__"),
    "left_shift": (operator.lshift, "__rlshift__"),
    "right_shift": (operator.rshift, "__rrshift__"),
    "less": (operator.lt, "__gt__"),
    "less_equal": (operator.le, "__ge__"),
    "greater": (operator.gt, "__lt__"),
    "greater_equal": (operator.ge, "__le__"),
    "equal": (operator.eq, "__eq__"),
    "not_equal": (operator.ne, "__ne__"),
}
NAMES = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "fmax": "max",
    "fmin": "min",
    "maximum": "max",
    "minimum": "min",
    "rint": "nearbyint",
}
"""Functions that are called otherwise here."""


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **_: Any) -> Any:
    """Answer NumPy, which found an expression among the operands of a function.

    A number of NumPy beside an expression is an operand like any other; functions of NumPy compute
    numbers, and an expression has none yet.
    """
    if method == "__call__" and len(inputs) == 2 and ufunc.__name__ in REFLECTED:
        first, second = inputs
        if second is self and not isinstance(first, type(self)):
            number = first[()] if getattr(first, "ndim", 1) == 0 else first
            return getattr(second, REFLECTED[ufunc.__name__][1])(number)
    name = ufunc.__name__
    return _core.fail(
        "TypeMismatch",
        "function_takes_expressions",
        f"np.{name} computes numbers, and is given {type(self).__name__} of a program",
        hint=f"write te.{NAMES.get(name, name)}(x), or tir.{NAMES.get(name, name)}(x)",
    )


def install() -> None:
    """Let expressions and compiled modules answer with hints."""
    kinds: tuple[Any, ...] = (_core.Expr, _core.IterVar, _core.Tensor)
    for kind in kinds:
        kind.__array_ufunc__ = array_ufunc
    _core.Module.__getattr__ = of_module  # type: ignore[attr-defined,unused-ignore]
