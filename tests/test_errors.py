# SPDX-License-Identifier: Apache-2.0
"""C++ errors as Python sees them."""

import pickle

import pytest

import loopsmith as ls
from loopsmith import _core

BUILTINS = {
    "UserError": Exception,
    "TypeMismatch": TypeError,
    "BoundsError": IndexError,
    "FormatError": ValueError,
    "ScriptError": ValueError,
    "ScheduleError": ValueError,
    "LowerError": ValueError,
    "CallError": ValueError,
    "InterpError": RuntimeError,
}


@pytest.mark.parametrize("kind", BUILTINS)
def test_each_kind_is_a_class_of_its_own_and_the_builtin_that_a_user_would_catch(kind: str):
    with pytest.raises(BUILTINS[kind]) as caught:
        _core.fail(kind, "some_rule", "a is wrong")
    assert type(caught.value) is getattr(ls, kind)
    assert isinstance(caught.value, ls.UserError)


def test_an_error_reads_as_problem_then_hint_then_place_and_carries_them_as_data():
    with pytest.raises(ls.ScheduleError) as caught:
        _core.fail(
            "ScheduleError",
            "factor_is_positive",
            "split: factor of loop i is 0, not positive",
            hint="pass 1 or more",
            source="<no such file>",
            line=14,
            column=5,
            length=3,
        )
    error = caught.value
    assert str(error) == (
        "split: factor of loop i is 0, not positive\n  hint: pass 1 or more\n  at <no such file>:14"
    )
    assert (error.code, error.hint) == ("factor_is_positive", "pass 1 or more")
    assert error.to_dict() == {
        "kind": "ScheduleError",
        "code": "factor_is_positive",
        "problem": "split: factor of loop i is 0, not positive",
        "hint": "pass 1 or more",
        "span": {"source": "<no such file>", "line": 14, "column": 5, "length": 3, "step": 0},
        "primitive": "",
        "subjects": [],
        "witness": None,
        "question": None,
        "is_known": None,
        "fixes": [],
    }


def test_an_error_survives_pickling():
    with pytest.raises(ls.CallError) as caught:
        _core.fail("CallError", "argument_count", "main: 2 arguments given, 3 expected", hint="x")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)
    assert copy.to_dict() == caught.value.to_dict()


def test_a_bug_of_ours_is_an_internal_error_and_not_the_users():
    with pytest.raises(ls.InternalError) as caught:
        _core.fail("NoSuchError", "code", "problem")
    text = "internal error in fail, please report: no kind of error is called NoSuchError"
    assert str(caught.value) == text
    assert not isinstance(caught.value, ls.UserError)
    assert caught.value.to_dict()["code"] == "internal_error"
