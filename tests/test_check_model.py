# SPDX-License-Identifier: Apache-2.0
from check_model import CODE, MODEL, check_text

SLEEPS = "inline sleeps(s) {\n}\n"


def test_the_code_says_its_place_in_the_model_and_is_ordered_as_it():
    assert check_text(CODE.read_text(), MODEL.read_text()) == []


def test_each_park_names_a_transition_of_the_model():
    assert check_text("park(wakes_, wakes);  // model: sleeps\nunpark(wakes_, 1);", SLEEPS) == []
    assert check_text("\npark(wakes_, wakes);", SLEEPS) == [
        "line 2: park names no transition of the model"
    ]
    assert check_text("park(wakes_, wakes);  // model: dreams", SLEEPS) == [
        "line 1: the model has no inline dreams"
    ]


def test_what_the_model_orders_is_ordered_in_the_code():
    assert check_text("sleepers_.load();\nnumber.load(std::memory_order_relaxed);", "") == []
    assert check_text("f();\nslot.state.store(1,\n    std::memory_order_release);", "") == [
        "line 2: state is ordered less than the model takes it"
    ]
