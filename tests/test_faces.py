# SPDX-License-Identifier: Apache-2.0
"""What objects show of themselves, how they travel, and what one adds to them."""

from __future__ import annotations

import inspect
import pickle
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir, transform
from loopsmith.script import tir as T


def matmul() -> tir.PrimFunc:
    A = te.placeholder((16, 16), name="A")
    B = te.placeholder((16, 16), name="B")
    return te.create_prim_func([A, B, te.nn.matmul(A, B)])


@pytest.fixture
def sch() -> tir.Schedule:
    schedule = tir.Schedule(matmul())
    i = schedule.get_loops("matmul")[0]
    schedule.parallel(schedule.split(i, [None, 4])[0])
    return schedule


@pytest.fixture
def tile():
    """A primitive of one's own, for the time of a test."""

    @tir.primitive
    def tile_2d(sch: tir.Schedule, block: str, rows: int, columns: int) -> list[tir.LoopRV]:
        i, j = sch.get_loops(block)[:2]
        io, ii = sch.split(i, [None, rows])
        jo, ji = sch.split(j, [None, columns])
        sch.reorder(io, jo, ii, ji)
        return [io, jo, ii, ji]

    yield tile_2d
    tir.remove_primitive("tile_2d")


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


# ---- Pickle ----


def test_a_schedule_is_pickled_with_its_steps(sch: tir.Schedule):
    again = copied(sch)
    assert ls.structural_equal(again.mod, sch.mod)
    assert again.trace.as_json() == sch.trace.as_json()
    again.vectorize(again.get_loops("matmul")[2])


def test_a_trace_is_pickled_apart_from_its_schedule(sch: tir.Schedule):
    trace = copied(sch.trace)
    assert trace.as_json() == sch.trace.as_json()
    other = tir.Schedule(matmul())
    trace.apply_to_schedule(other)
    assert ls.structural_equal(other.mod, sch.mod)


def test_a_module_is_pickled_as_its_code(sch: tir.Schedule):
    a, b = np.random.default_rng(0).random((2, 16, 16), "float32")
    np.testing.assert_allclose(copied(ls.build(sch))(a, b), a @ b, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bool", "bfloat16", "int8"])
def test_an_array_is_pickled_with_its_elements(dtype: str):
    array = ls.array(np.arange(6).reshape(2, 3), dtype)
    again = copied(array)
    assert (again.shape, again.dtype) == (array.shape, array.dtype)
    np.testing.assert_array_equal(again.numpy(), array.numpy())


def test_a_measurement_is_pickled(sch: tir.Schedule):
    timing = ls.Timing([3.0, 1.0, 2.0], flops=4e9, bytes=6e9)
    again = copied(timing)
    assert again.samples == [3.0, 1.0, 2.0]
    assert (again.min, again.median, again.mean) == (1.0, 2.0, 2.0)
    assert (again.gflops, again.gbps) == (2.0, 3.0)


def test_bytes_that_are_no_array_are_refused():
    with pytest.raises(ls.FormatError) as caught:
        ls._core.array_of_bytes((2,), "float32", b"123")
    assert str(caught.value) == "array: 3 bytes are given for 8\n  hint: pickle the array again"


# ---- What is shown ----


def test_notebooks_show_what_there_is(sch: tir.Schedule):
    module = ls.build(sch)
    for shown, part in [
        (sch, "matmul"),
        (sch.trace, "apply_trace"),
        (sch.history(), "<summary>"),
        (module, "float32[16, 16]"),
        (ls.Timing([1e-3], flops=1e6), "GFLOP/s"),
        (ls.array([1.0, 2.0]), "NDArray (2)"),
        (ls.compare(lambda: None, lambda: None, repeat=2), "times as quick"),
    ]:
        html = shown._repr_html_()
        assert html.startswith("<") and part.replace("(2)", "(2,)") in html


def test_a_measurement_tells_its_spread_and_its_rates():
    timing = ls.Timing([float(i) * 1e-3 for i in range(1, 12)], flops=12e6, bytes=6e6)
    assert (timing.p10, timing.p90) == (2e-3, 10e-3)
    assert str(timing) == (
        "median 6 ms, min 1 ms, mean 6 ms, p10 2 ms, p90 10 ms of 11 samples, 2 GFLOP/s, 1 GB/s"
    )
    assert ls.Timing([1.0]).gflops is None


class Axes:
    """Axes of a plot that keep what is drawn on them."""

    def __init__(self) -> None:
        self.drawn: dict[str, tuple[object, ...]] = {}

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *args, **named: self.drawn.update({name: (*args, *named.values())})


def test_a_measurement_is_plotted():
    axes = Axes()
    assert ls.Timing([1e-3, 3e-3, 2e-3]).plot(axes) is axes
    assert axes.drawn["plot"] == ([1000.0, 3000.0, 2000.0], ".")
    assert axes.drawn["axhline"] == (2000.0, "--", "median 2 ms")
    assert axes.drawn["set_ylabel"] == ("time of a call [us]",)


def test_a_plot_without_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ls.UserError, match="plot: matplotlib is not installed"):
        ls.Timing([1.0]).plot()


def test_a_measurement_has_samples():
    with pytest.raises(ls.UserError, match="Timing: there are no samples"):
        ls.Timing([])


def test_the_operations_of_a_product_are_counted(sch: tir.Schedule):
    a, b = np.ones((2, 16, 16), "float32")
    timing = ls.build(sch).time(a, b, np.zeros_like(a))
    assert timing.flops == 2 * 16**3
    assert timing.bytes == 3 * 16 * 16 * 4


def test_two_programs_are_measured_in_turns():
    calls = []
    result = ls.compare(lambda: calls.append("a"), lambda: calls.append("b"), repeat=4, seconds=0)
    assert calls[-8:] == ["a", "b", "b", "a", "a", "b", "b", "a"]
    assert len(result.first.samples) == len(result.second.samples) == 4
    with pytest.raises(ls.BoundsError, match="compare: repeat is 0, not positive"):
        ls.compare(print, print, repeat=0)


def test_signatures_are_known_to_inspect():
    assert list(inspect.signature(te.compute).parameters)[:2] == ["shape", "fcompute"]
    assert list(inspect.signature(ls.build).parameters)[:3] == ["x", "args", "target"]


# ---- Primitives of one's own ----


def test_a_primitive_of_ones_own_is_a_method_and_a_named_part_of_the_trace(tile):
    sch = tir.Schedule(matmul())
    assert [sch.get(loop).loop_var.name for loop in sch.tile_2d("matmul", 4, columns=8)] == [
        "i0_0", "i1_0", "i0_1", "i1_1",
    ]  # fmt: skip
    lines = [line.strip() for line in str(sch.trace).splitlines()]
    assert lines[2] == 'sch.begin_macro(name="tile_2d", arguments="\'matmul\', 4, columns=8")'
    assert "sch.end_macro()" in lines
    other = tir.Schedule(matmul())
    sch.trace.apply_to_schedule(other)
    assert ls.structural_equal(other.mod, sch.mod)
    other = tir.Schedule(matmul())
    tile(other, "matmul", 4, 8)
    assert ls.structural_equal(other.mod, sch.mod)


def test_a_refused_primitive_of_ones_own_takes_its_steps_back(tile):
    sch = tir.Schedule(matmul())
    before = sch.mod
    with pytest.raises(ls.ScheduleError, match="split: factor 1 of loop i1 is 0, not positive"):
        sch.tile_2d("matmul", 4, 0)
    assert len(sch.trace) == 0
    assert ls.structural_equal(sch.mod, before)


def test_names_of_primitives_are_checked(tile):
    def split(sch: tir.Schedule) -> None: ...

    with pytest.raises(ls.UserError) as caught:
        tir.primitive(split)
    assert str(caught.value) == (
        "primitive: schedules have a method split\n  hint: choose another name"
    )
    with pytest.raises(ls.UserError) as caught:
        tir.remove_primitive("tile_3d")
    assert str(caught.value) == (
        "primitive: there is none called tile_3d\n  hint: there are tile_2d"
    )


HINTS = {
    "tile": "split both loops, then reorder: sch.split(i, [None, 8]), sch.reorder(io, jo, ii, ji)",
    "time_evaluator": "loopsmith.build(sch).time(*arrays)",
    "vectorise": "did you mean vectorize?",
    "qqq": "docs/primitives.md lists them; tir.primitive makes one of your own",
}


@pytest.mark.parametrize("name", HINTS)
def test_words_that_a_schedule_lacks_have_hints(sch: tir.Schedule, name: str):
    assert not hasattr(sch, name)
    with pytest.raises(AttributeError) as caught:
        getattr(sch, name)
    assert str(caught.value) == f"a schedule has no method {name}\n  hint: {HINTS[name]}"


# ---- Passes and walks ----


def test_passes_run_one_by_one():
    func = matmul()
    assert "lower_init" in transform.names() and "lower_init" in dir(transform)
    one = transform.lower_init(func)
    assert ls.structural_equal(one, ls.run_pass(func, "lower_init"))
    seen = []
    both = transform.apply(func, ["lower_init", lambda f: seen.append(f) or f])
    assert ls.structural_equal(both, one) and len(seen) == 1
    with pytest.raises(AttributeError, match="there is no pass simplfy\n  hint: the passes are"):
        _ = transform.simplfy


def test_a_pass_of_ones_own_runs_in_the_pipeline():
    class Doubled(tir.Rewriter):
        def rewrite_FloatImm(self, node):  # noqa: N802
            return tir.FloatImm(dtype=node.dtype, value=2 * node.value)

    A = te.placeholder((4,), name="A")
    func = te.create_prim_func([A, te.compute((4,), lambda i: A[i] + 1.5, name="B")])
    seen = []

    def doubled(func: tir.PrimFunc) -> tir.PrimFunc:
        seen.append(func.name)
        return Doubled().rewrite(func)

    module = ls.build(func, passes={"lower_init": doubled}, name="f")
    assert seen == ["f"]
    np.testing.assert_array_equal(module(np.zeros(4, "float32")), np.full(4, 3.0))
    lowered = ls.lower(func, passes={"lower_init": [doubled, doubled]})
    assert "6.0" in lowered.script() or "T.float32(6)" in lowered.script()


def test_mistakes_of_own_passes_are_named():
    with pytest.raises(ls.UserError, match="build: there is no pass 'simplfy' to come after"):
        ls.build(matmul(), passes={"simplfy": lambda f: f})
    with pytest.raises(ls.UserError) as caught:
        ls.build(matmul(), passes={"lower_init": lambda f: None})
    assert str(caught.value).startswith(
        "lower: a pass after lower_init gave a NoneType, not a PrimFunc\n"
        "  hint: return the function that it was given, or a new one"
    )


def test_a_visitor_has_a_method_for_each_kind_of_node(sch: tir.Schedule):
    class Loops(tir.Visitor):
        def __init__(self) -> None:
            self.names: list[str] = []

        def visit_For(self, node):  # noqa: N802
            self.names.append(node.loop_var.name)
            self.visit_children(node)

        def visit_Block(self, node):  # noqa: N802
            self.names.append(node.name_hint)
            if node.name_hint == "root":
                self.visit_children(node)

    loops = Loops()
    loops.visit(sch.func)
    assert loops.names == ["root", "i0_0", "i0_1", "i1", "k", "matmul"]


def test_a_rewriter_rewrites_inside_and_outside(sch: tir.Schedule):
    class Serial(tir.Rewriter):
        def rewrite_For(self, node):  # noqa: N802
            node = self.rewrite_children(node)
            return tir.replace(node, kind="serial")

    serial = Serial().rewrite(sch.func)
    assert "T.parallel" in sch.func.script() and "T.parallel" not in serial.script()
    ls.assert_same(serial, sch.func)
    assert ls.structural_equal(tir.replace(sch.func, body=serial.body), serial)
    with pytest.raises(ls.TypeMismatch) as caught:
        tir.replace(tir.IntImm(dtype="int32", value=1), number=2)
    assert str(caught.value) == (
        "replace: a IntImm has no field number\n  hint: its fields are dtype, value"
    )


# ---- Element types ----


def test_element_types_of_other_libraries_are_taken():
    import ml_dtypes

    assert te.placeholder((4,), np.float64).dtype == "float64"
    assert te.placeholder((4,), np.dtype("int8")).dtype == "int8"
    assert te.placeholder((4,), ml_dtypes.bfloat16).dtype == "bfloat16"
    assert te.var("x", np.float32).dtype == "float32"
    assert ls.zeros(3, ml_dtypes.float8_e4m3fn).dtype == ls.zeros(3, "float8_e4m3").dtype
    with pytest.raises(ls.TypeMismatch) as caught:
        te.placeholder((4,), print)
    assert str(caught.value).startswith("placeholder: <built-in function print> is no type of")


# ---- Scripts and the end of the process ----


def test_print_in_a_script_is_refused_with_what_to_write():
    with pytest.raises(ls.ScriptError) as caught:

        @T.prim_func
        def shouting(A: T.Buffer((4,), "float32")):
            for i in range(4):
                print(i)
                A[i] = 1.0

    assert "print would run while the script is read, not in the program" in str(caught.value)
    assert "write T.print(x), which the program carries out" in str(caught.value)


@T.prim_func
def telling(A: T.Buffer((3,), "float32")):
    for i in range(3):
        T.print("element", i, A[i])
    T.print(A)


TOLD = "element 0 0.0\nelement 1 1.0\nelement 2 2.0\n[0. 1. 2.]\n"


@pytest.mark.parametrize("target", ["llvm -mcpu=native", "c"])
def test_print_prints_while_the_program_runs(target: str, capsys: pytest.CaptureFixture[str]):
    ls.build(telling, target)(np.arange(3, dtype="float32"))
    assert capsys.readouterr().out == TOLD


def test_print_prints_in_the_interpreter(capsys: pytest.CaptureFixture[str]):
    ls.interp.run(telling, np.arange(3, dtype="float32"))
    assert capsys.readouterr().out == TOLD


def test_prints_stay_in_their_order():
    with pytest.raises(ls.ScheduleError) as caught:
        tir.Schedule(telling).parallel("i")
    assert "print" in str(caught.value)


def test_a_program_that_prints_prints_as_a_script():
    assert ls.structural_equal(ls.from_source(telling.script()), telling)


WORDS = {
    "Parallel": "write `for i in T.parallel(n):`",
    "expp": "see the names of loopsmith.script.tir",
}


@pytest.mark.parametrize("word", WORDS)
def test_words_of_other_systems_have_hints_in_scripts(word: str):
    text = f"@T.prim_func\ndef f(A: T.Buffer((4,), 'float32')):\n    T.{word}(A[0])\n"
    with pytest.raises(ls.ScriptError) as caught:
        ls.from_source(text)
    assert f"T has no attribute {word}\n  hint: {WORDS[word]}" in str(caught.value)
