# SPDX-License-Identifier: Apache-2.0
"""Calls with arguments that do not fit: the error names the function, the argument, what came."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import arith, interp, ir, te, tir

A = te.placeholder((8, 8), name="A")
B = te.compute((8, 8), lambda i, j: A[i, j] + 1, name="B")
FUNC = te.create_prim_func([A, B])
X = tir.Var("x", "int32")
MODULE = ls.build(FUNC)


def schedule() -> tir.Schedule:
    return tir.Schedule(FUNC)


MISTAKES: dict[str, tuple[Callable[[], Any], str, str]] = {
    "wrong type": (
        lambda: FUNC.with_attr(5, 1),
        "with_attr: the argument key is 5",
        "it takes str",
    ),
    "of a constructor": (lambda: ls.Target(5), "Target: the argument text is 5", "it takes str"),
    "an object": (
        lambda: tir.Schedule(object()),
        "Schedule: the argument mod is an object",
        "it takes PrimFunc | IRModule",
    ),
    "keyword": (
        lambda: FUNC.script(indent_spaces="two"),
        "script: the argument indent_spaces is 'two'",
        "it takes int",
    ),
    "second of two": (
        lambda: ls.structural_equal(FUNC, None),
        "structural_equal: the argument b is None",
        "it takes Node",
    ),
    "item of a list": (
        lambda: ls.build(FUNC, fast_math=[5]),
        "build: fast_math has 5, not a name",
        "pass names as texts",
    ),
    "overloads": (
        lambda: arith.Analyzer().bind(X, None),
        "bind: the argument value is None",
        "it takes Range | ExprLike",
    ),
    "missing": (
        lambda: FUNC.with_attr("key"),
        "with_attr: the argument value is missing",
        "it takes (key, value)",
    ),
    "unknown": (
        lambda: FUNC.script(colour=True),
        "script: there is no argument colour",
        "it takes (name = ..., indent_spaces = ..., ",
    ),
    "twice": (
        lambda: FUNC.with_attr("key", 1, key="key"),
        "with_attr: the argument key is given twice",
        "it takes (key, value = ...)",
    ),
    "too many": (
        lambda: schedule().undo(1, 2),
        "undo: takes 1 arguments, 2 were given",
        "it takes (steps",
    ),
    "too large": (
        lambda: schedule().undo(2**70),
        "undo: the argument steps is 1180591620717411303424",
        "it takes int",
    ),
    "out of range": (
        lambda: schedule().undo(-1),
        "undo: does not take (Schedule, int)",
        "its signature is undo(self, steps: int = 1) -> None",
    ),
    "self": (
        lambda: tir.Schedule.undo(5),
        "undo: self is 5",
        "it takes Schedule",
    ),
    "path": (
        lambda: MODULE.export(5),
        "export: the argument path is 5",
        "it takes str | PathLike[str]",
    ),
    "a function of Python": (
        lambda: te.create_prim_func(5),
        "create_prim_func: the argument ops is 5",
        "it takes Tensor | Var | Sequence[Tensor | Var]",
    ),
    "a function for a function": (
        lambda: te.compute((4,), 5),
        "compute: the argument fcompute is 5",
        "it takes Callable[..., Any]",
    ),
    "text": (
        lambda: ls.from_source(None),
        "from_source: the argument text is None",
        "it takes str",
    ),
    "mapping": (
        lambda: arith.detect_iter_map([X], 5),
        "detect_iter_map: the argument input_iters is 5",
        "it takes Mapping[Var, Range]",
    ),
    "option of lower": (
        lambda: ls.lower(FUNC, dump=5),
        "lower: dump is 5, not a list",
        "pass a list",
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_an_argument_that_does_not_fit_is_named(case: str) -> None:
    call, problem, hint = MISTAKES[case]
    with pytest.raises(ls.TypeMismatch) as caught:
        call()
    assert caught.value.problem == problem
    assert caught.value.hint.startswith(hint)
    assert isinstance(caught.value, TypeError)


def test_methods_refuse_objects_of_other_classes() -> None:
    # The code behind these takes any object.
    number = np.float32(1)
    calls: list[Callable[[], Any]] = [
        lambda: schedule().trace.apply_to_schedule(number),
        lambda: tir.Schedule.split(number, "i", [2]),
        lambda: tir.Schedule.get(number, number),
        lambda: tir.Schedule.verify(number),
        lambda: ls.Module.export(number, "x.so"),
        lambda: ls.Module.names.__get__(number),
        lambda: ls.Function.time(number),
        lambda: tir.For.__init__(number),
    ]
    for call in calls:
        with pytest.raises(ls.TypeMismatch, match=r"is a float32|\(float32\)"):
            call()


def test_errors_of_what_a_user_passes_stay_as_they_are() -> None:
    def bad(i: tir.Var) -> Any:
        raise ValueError(f"not {i.name}")

    with pytest.raises(ValueError, match=r"^not i$"):
        te.compute((4,), bad)


def entries() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in (ls, te, tir, arith, interp, ir):
        for name in getattr(module, "__all__", None) or vars(module):
            value = getattr(module, name)
            is_error = inspect.isclass(value) and issubclass(value, BaseException)
            if callable(value) and not is_error and not name.startswith("_"):
                yield f"{module.__name__}.{name}", value
    objects = (FUNC, X, A, A.op, arith.Analyzer(), schedule().trace, MODULE, ls.zeros((2,)))
    for owner in (*objects, schedule(), ls.Target("llvm"), MODULE["main"]):
        for name in dir(owner):
            value = getattr(owner, name, None)
            is_method = callable(value) and not isinstance(value, (type, types.BuiltinMethodType))
            if is_method and not name.startswith("_") and name != "show":
                yield f"{type(owner).__name__}.{name}", value


def test_no_entry_answers_bad_arguments_with_signatures_of_c() -> None:
    count = 0
    for name, entry in entries():
        for arguments in [(object(),), (object(), [object()]), (None, -1), ({}, 2**70, "x", 1.5)]:
            count += 1
            try:
                entry(*arguments)
            except ls.InternalError as error:
                pytest.fail(f"{name}{arguments}: {error}")
            except Exception as error:
                assert "incompatible function arguments" not in str(error), name
                assert "std::" not in str(error), name
    assert count > 1000


def test_what_a_script_is_called_may_be_no_name_of_python() -> None:
    text = """
@I.ir_module
class Module:
    @T.prim_func(name="a-b")
    def first(A: T.Buffer((4,), "int32")):
        A[0] = 1

    @T.prim_func(name=5)
    def second():
        pass
"""
    with pytest.raises(ls.ScriptError, match="name"):
        ls.from_source(text)
    module = ls.from_source(text.replace("name=5", 'name="for"'))
    assert [name.name_hint for name in module.names] == ["a-b", "for"]
    assert ls.structural_equal(ls.from_source(module.script()), module)
