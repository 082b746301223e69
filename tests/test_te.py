# SPDX-License-Identifier: Apache-2.0
"""Tensor expressions as users write them, and what they are told when they err."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir


def row_sums() -> tuple[te.Tensor, te.Tensor]:
    n = te.size_var("n")
    a = te.placeholder((n, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    return a, te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")


def body_of(func: tir.PrimFunc) -> str:
    """The script inside the root block, without its indentation."""
    text = str(func).split('# with T.block("root"):\n', 1)[1]
    return inspect.cleandoc("\n" + text)


def refusal(kind: type[Exception], action: Callable[[], Any]) -> ls.UserError:
    with pytest.raises(kind) as error:
        action()
    assert isinstance(error.value, ls.UserError)
    return error.value


# ---- Tensors ----


def test_a_placeholder_has_shape_type_and_name() -> None:
    n = te.var("n")
    a = te.placeholder((n, 4), "float16", name="A")
    assert (a.name, a.dtype, a.ndim, a.value_index) == ("A", "float16", 2, 0)
    assert a.shape[0] is n
    assert repr(a) == "Tensor(shape=[n, 4], op.name=A)"
    assert te.placeholder(4).dtype == "float32"
    assert te.placeholder((2.0, np.int64(3))).ndim == 2


def test_a_shape_holds_whole_sizes() -> None:
    error = refusal(TypeError, lambda: te.placeholder((2.5,), name="A"))
    assert error.problem == "the shape has the extent 2.5, which is not a whole number"
    error = refusal(IndexError, lambda: te.placeholder((4, -1), name="A"))
    assert error.problem == "placeholder A: dimension 1 of the shape is -1, negative"
    error = refusal(IndexError, lambda: te.placeholder((1 << 40, 1 << 40), name="A"))
    assert error.problem == "placeholder A: the shape overflows, it has more than 2^63 bytes"
    error = refusal(TypeError, lambda: te.placeholder((te.var("x", "float32"),), name="A"))
    assert error.problem.startswith("placeholder A: dimension 0 of the shape is float32")


def test_a_tensor_is_indexed_in_three_ways() -> None:
    a = te.placeholder((4, 8), name="A")
    i = te.var("i")
    for element in (a(i, 1), a[i, 1], a[i][1]):
        assert isinstance(element, tir.ProducerLoad)
        assert element.indices[0] is i
    k = te.reduce_axis((0, 4))
    assert a[k, 0].indices[0] is k.var


def test_a_tensor_wants_one_index_a_dimension() -> None:
    a = te.placeholder((4, 8), name="A")
    text = "tensor A has 2 dimensions, 1 indices were given"
    assert refusal(IndexError, lambda: a(0)).problem == text
    assert refusal(IndexError, lambda: a[0] + 1).problem == text
    assert refusal(IndexError, lambda: 1 - a[0]).problem == text
    error = refusal(IndexError, lambda: a[0, 0, 0])
    assert error.problem == "tensor A has 2 dimensions, 3 indices were given"
    error = refusal(IndexError, lambda: a[0, 8])
    assert error.problem == "tensor A: index 1 is 8, out of the range of extent 8"


def test_tensors_are_equal_when_they_are_the_same_output() -> None:
    a, b = te.placeholder((4,)), te.placeholder((4,))
    assert a == a.op.output(0)
    assert a != b
    assert {a: 1}[a.op.output(0)] == 1
    s, t = te.placeholder(()), te.placeholder(())
    assert "ambiguous" in refusal(ValueError, lambda: s == t).problem


def test_whole_tensors_are_computed_with() -> None:
    a = te.placeholder((4, 1, 8), name="A")
    b = te.placeholder((5, 1), name="B")
    total = (a + b * 2) / 3 - 1
    assert [int(extent) for extent in total.shape] == [4, 5, 8]
    assert total.op.tag == "elemwise"
    assert (2 - b).name == "T_subtract"
    assert (-a).dtype == "float32"
    assert a.astype("int8").dtype == "int8"
    error = refusal(TypeError, lambda: a + te.placeholder((7,), name="C"))
    assert "A and C do not broadcast" in error.problem


def test_a_tensor_without_dimensions_is_a_number_in_a_compute() -> None:
    a, s = te.placeholder((4,), name="A"), te.placeholder((), name="s")
    b = te.compute((4,), lambda i: a[i] + s, name="B")
    c = te.compute((4,), lambda i: s * a[i], name="C")
    assert isinstance(b.op.body[0], tir.Add)
    assert isinstance(c.op.body[0], tir.Mul)
    assert isinstance(s * 2, te.Tensor)


# ---- Compute ----


def test_the_parameters_name_the_axes() -> None:
    b = te.compute((2, 3), lambda y, x: y + x)
    assert [axis.var.name for axis in b.axis] == ["y", "x"]
    assert b.op.axis == list(b.axis)
    c = te.compute((2, 3, 4), lambda n, *rest: rest[0])
    assert [axis.var.name for axis in c.axis] == ["n", "i0", "i1"]
    d = te.compute((2, 3, 4), lambda *r: r[0], varargs_names=["p", "q", "r"])
    assert [axis.var.name for axis in d.axis] == ["p", "q", "r"]
    e = te.compute((2, 3), lambda: te.const(1.0))
    assert [axis.var.name for axis in e.axis] == ["i0", "i1"]
    # Fewer parameters than dimensions: the leading ones.
    f = te.compute((2, 3), lambda i: i)
    assert f.ndim == 1


def test_parameters_with_defaults_keep_them() -> None:
    tensors = [te.compute((2, 3), lambda i, j, step=step: i * step + j) for step in (2, 5)]
    for tensor, step in zip(tensors, (2, 5)):
        assert [axis.var.name for axis in tensor.axis] == ["i", "j"]
        out = np.empty((2, 3), "int32")
        ls.build(te.create_prim_func([tensor]))(out)
        np.testing.assert_array_equal(out, [[i * step + j for j in range(3)] for i in range(2)])
    assert te.compute((4,), lambda i, *, step=2: i * step).ndim == 1


def test_the_function_of_a_compute_takes_plain_parameters() -> None:
    for function in (lambda i=0: i, lambda j, i=0: i, lambda i=0, *r: i, lambda *, i: i):
        error = refusal(TypeError, lambda function=function: te.compute((2, 2), function))
        assert error.problem == "compute: the parameter i is not a plain positional one"
    error = refusal(ValueError, lambda: te.compute((2,), lambda i, j: i, name="B"))
    assert error.problem == "compute B: the function takes 2 indices, the shape has 1 dimensions"
    error = refusal(
        ValueError, lambda: te.compute((2, 3), lambda *r: r[0], name="B", varargs_names=["p"])
    )
    assert error.problem == "compute B: 1 names for the 2 axes of *r"
    error = refusal(TypeError, lambda: te.compute((2,), lambda i: object(), name="B"))
    assert error.problem == "compute B: a value is a object, not a number"


def test_an_error_in_the_function_arrives_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        te.compute((2,), lambda i: 1 / 0)


def test_a_tuple_makes_several_tensors() -> None:
    outputs = te.compute((4,), lambda i: (i, i * 2), name="B")
    assert isinstance(outputs, tuple)
    assert [t.name for t in outputs] == ["B.v0", "B.v1"]
    assert outputs[1].op.num_outputs == 2


def test_nodes_come_from_the_line_of_the_user() -> None:
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1)
    assert a.span is not None and a.span[:2] == (__file__, line)
    span = b.op.body[0].span
    assert span is not None and span[:2] == (__file__, line + 1)
    error = refusal(IndexError, lambda: a[0, 0])
    assert error.span is not None and error.span["source"] == __file__
    assert "refusal(IndexError, lambda: a[0, 0])" in str(error)


# ---- Reductions ----


def test_a_reduction_becomes_a_block_with_init() -> None:
    a, b = row_sums()
    assert [axis.var.name for axis in b.op.reduce_axis] == ["k"]
    assert body_of(te.create_prim_func([a, b])) == inspect.cleandoc(
        """
        for i, k in T.grid(n, 64):
            with T.block("B"):
                v_i, v_k = T.axis.remap("SR", [i, k])
                T.reads(A[v_i, v_k])
                T.writes(B[v_i])
                with T.init():
                    B[v_i] = T.float32(0)
                B[v_i] = B[v_i] + A[v_i, v_k]
        """
    )


def test_where_and_init_are_honoured() -> None:
    a, _ = row_sums()
    k = te.reduce_axis((0, 64), name="k")
    b = te.compute(
        (a.shape[0],), lambda i: te.max(a[i, k], axis=[k], where=k < i, init=-1.0), name="B"
    )
    text = body_of(te.create_prim_func([a, b]))
    assert "B[v_i] = T.float32(-1)" in text
    assert 'T.if_then_else(v_k < v_i, A[v_i, v_k], T.float32("-inf"))' in text


def test_a_reduction_stands_on_top() -> None:
    a, _ = row_sums()
    k = te.reduce_axis((0, 64), name="k")
    error = refusal(ls.UserError, lambda: te.compute((4,), lambda i: te.sum(a[i, k], k) + 1))
    assert error.problem == "compute compute: a reduction stands inside another expression"
    assert "a tensor of its own" in error.hint


def test_a_sum_keeps_its_type() -> None:
    a = te.placeholder((8,), "int8")
    k = te.reduce_axis((0, 8))
    assert te.compute((), lambda: te.sum(a[k], k)).dtype == "int8"
    assert te.compute((), lambda: te.sum(a[k].astype("int32"), k)).dtype == "int32"


def test_reducers_fold_what_is_no_axis() -> None:
    x, y = te.var("x"), te.var("y")
    assert str(te.max(x, y)).endswith("T.max(x, y)")
    assert int(te.sum(1, te.const(2), 3)) == 6  # type: ignore[arg-type]


def test_the_function_of_a_reducer_takes_plain_parameters() -> None:
    error = refusal(TypeError, lambda: te.comm_reducer(lambda x, *, y: x + y, te.const))
    assert error.problem == "comm_reducer: the parameter y is not a plain positional one"
    assert error.hint == "take the two operands as plain parameters, or as *args"


def test_a_reducer_of_ones_own_is_tried() -> None:
    a, _ = row_sums()
    k = te.reduce_axis((0, 64), name="k")
    product = te.comm_reducer(lambda p, q: p * q, lambda t: te.const(1, t), name="product")
    b = te.compute((4,), lambda i: product(a[i, k], axis=k))
    assert b.op.body[0].combiner.lhs[0].name == "p"

    minus = te.comm_reducer(lambda x, y: x - y, lambda t: te.const(0, t), name="minus")
    error = refusal(ls.UserError, lambda: te.compute((4,), lambda i: minus(a[i, k], axis=k)))
    assert error.problem == (
        "non-associative reducer minus: 3, 3, 3 combined from the left give -3, from the right 3"
    )


def test_tuples_are_reduced() -> None:
    a, _ = row_sums()
    k = te.reduce_axis((0, 64), name="k")

    def later(x: Any, y: Any) -> tuple[Any, Any]:
        keeps = x[1] >= y[1]
        return te.select(keeps, x[0], y[0]), te.select(keeps, x[1], y[1])

    argmax = te.comm_reducer(later, lambda i, v: (te.const(-1, i), te.min_value(v)), name="argmax")
    index, value = te.compute((4,), lambda i: argmax((k, a[i, k]), axis=k), name="best")
    assert (index.dtype, value.dtype) == ("int32", "float32")
    text = body_of(te.create_prim_func([a, index, value]))
    assert "v_best_v0: T.int32 = T.Select(best_v1[v_i] >= A[v_i, v_k], best_v0[v_i], v_k)" in text
    error = refusal(
        ls.UserError, lambda: te.compute((4,), lambda i: argmax((k, a[i, k]), axis=k)[1])
    )
    assert error.problem == "compute compute: 1 outputs for a reduction of 2 values"


def test_an_axis_to_reduce_over_has_bounds() -> None:
    n = te.var("n")
    assert int(te.reduce_axis((2, 6)).dom.extent) == 4  # type: ignore[union-attr]
    assert te.reduce_axis(n).dom.extent is n  # type: ignore[union-attr]
    assert int(te.reduce_axis(tir.Range(2, 6)).dom.extent) == 6  # type: ignore[union-attr]
    error = refusal(IndexError, lambda: te.reduce_axis((3, 1), name="k"))
    assert error.problem == "reduce_axis k: the extent is -2, negative"


def test_a_thread_axis_has_a_tag() -> None:
    thread = te.thread_axis("threadIdx.x")
    assert (thread.thread_tag, thread.var.name, thread.dom) == ("threadIdx.x", "threadIdx.x", None)
    assert int(te.thread_axis((0, 32), "threadIdx.y", "ty").dom.extent) == 32  # type: ignore[union-attr]
    error = refusal(ValueError, lambda: te.thread_axis((0, 32)))
    assert error.problem == "thread_axis: the tag is missing"


# ---- Scan, extern, tags ----


def test_a_scan_runs_over_time() -> None:
    m, n = te.size_var("m"), te.size_var("n")
    x = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n))
    init = te.compute((1, n), lambda _, i: x[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i], name="update")
    sums = te.scan(init, update, state, inputs=[x], name="sums")
    text = body_of(te.create_prim_func([x, sums]))
    assert "for sums_idx in range(1, m):" in text
    assert "sums[v_t, v_i] = sums[v_t - 1, v_i] + X[v_t, v_i]" in text
    error = refusal(ls.UserError, lambda: te.scan([init, init], update, state))
    assert error.problem == "scan scan: 2 inits, 1 updates, 1 states"


def test_a_tag_scope_gives_its_tag() -> None:
    with te.tag_scope("conv"):
        a = te.compute((4,), lambda i: i)
    assert a.op.tag == "conv"

    @te.tag_scope("pool")
    def pool() -> te.Tensor:
        result: te.Tensor = te.compute((4,), lambda i: i)
        return result

    assert pool().op.tag == "pool"
    assert pool().op.tag == "pool"
    with te.tag_scope("outer"):
        error = refusal(ValueError, lambda: te.tag_scope("inner").__enter__())
        assert error.problem == "tag_scope: scopes do not nest"
        error = refusal(ValueError, lambda: te.compute((4,), lambda i: i, tag="own"))
        assert error.problem == "the tag 'own' is given inside a tag_scope"
        te.compute((4,), lambda i: i)
    with pytest.warns(UserWarning, match="the tag 'unused' was not used"), te.tag_scope("unused"):
        pass


# ---- Functions ----


def test_a_function_takes_what_it_reads() -> None:
    a, b = row_sums()
    func = te.create_prim_func([a, b])
    assert func.attrs == {"global_symbol": "main", "tir.noalias": True}
    error = refusal(ls.UserError, lambda: te.create_prim_func([b]))
    assert error.problem == (
        "create_prim_func: placeholder A is read but is not among the arguments"
    )
    loose = te.var("loose")
    c = te.compute((4,), lambda i: i + loose, name="C")
    error = refusal(ls.UserError, lambda: te.create_prim_func([c]))
    assert error.problem == "create_prim_func: C uses variable loose, which nothing defines"
    assert len(te.create_prim_func([loose, c]).params) == 2


def test_indices_take_another_type() -> None:
    a, b = row_sums()
    text = str(te.create_prim_func([a, b], index_dtype_override="int64"))
    assert "T.int64(64)" in text
    error = refusal(TypeError, lambda: te.create_prim_func([a, b], index_dtype_override="float32"))
    assert error.problem == "create_prim_func: indices cannot be float32"


def test_constants_are_of_the_type_that_they_meet() -> None:
    a = te.placeholder((4,), "float64", name="A")[te.var("i")]
    exact = "T.float64(0.1)"
    for value in (
        a + 0.1,
        te.max(a, 0.1),
        te.min(0.1, a),
        te.if_then_else(a > 1, 0.1, a),
        te.select(a > 1, a, 0.1),
        te.power(a, 0.1),
        tir.cast("float64", 0.1),
        te.const(0.1, "float64"),
        te.const(np.float64(0.1), "float64x4"),
    ):
        assert exact in str(value)
    assert str(te.const(2.0**53 + 2, "int64")) == "T.int64(9007199254740994)"
    assert te.const(2**100, "float64").value == 2.0**100
    assert te.const(3, "float16").dtype == "float16"


def test_a_constant_is_a_value_of_its_type() -> None:
    for value, dtype in ((300, "uint8"), (-1, "uint64"), (2**63, "int64"), (128, "int8x4")):
        error = refusal(IndexError, lambda v=value, t=dtype: te.const(v, t))  # type: ignore[misc]
        assert error.code == "constant_in_range"
    error = refusal(IndexError, lambda: te.const(300, "uint8"))
    assert str(error) == ("constant 300 is out of the range of uint8\n  hint: use a wider type")
    error = refusal(IndexError, lambda: te.const(70000, "float16"))
    assert error.problem == "constant 70000 is out of the range of float16"
    error = refusal(IndexError, lambda: te.const(float("nan"), "int32"))
    assert error.problem == 'constant T.float32("nan") is out of the range of int32'
    error = refusal(IndexError, lambda: te.const(10**400, "float64"))
    assert error.problem == "an integer constant is out of the range of float64"
    error = refusal(TypeError, lambda: te.const("x", "float64"))
    assert error.problem == "constant: a str is no number"
    a = te.placeholder((4,), name="A")
    error = refusal(TypeError, lambda: a[0] + np.zeros(3))
    assert error.problem == "an array of 3 elements is no number"


def test_numbers_that_no_type_holds_are_refused_wherever_they_stand() -> None:
    large = 2**70
    x, a = te.var("x"), te.placeholder((4,), name="A")
    text = "an integer constant has more than 64 bits"
    for action in (
        lambda: te.placeholder((large,)),
        lambda: te.reduce_axis((0, large)),
        lambda: a[large],
        lambda: x + large,
        lambda: tir.Range(0, large),
        lambda: tir.call_extern("int32", "f", large),
        lambda: tir.all(x > 0, large),
        lambda: ls.arith.Analyzer().simplify(large),
        lambda: ls.arith.Analyzer().bind(x, large),
    ):
        assert refusal(IndexError, action).problem == text
    error = refusal(TypeError, lambda: te.placeholder((np.zeros(3),)))
    assert error.problem == "an array of 3 elements is no number"
    error = refusal(TypeError, lambda: te.extern([(4,)], [a], lambda i, o: x, dtype=["foo"]))
    assert error.problem == "'foo' is not a data type"
    error = refusal(TypeError, lambda: te.placeholder(None))
    assert error.problem == "the shape has the extent None, which is not a whole number"


def test_attributes_are_values_with_names() -> None:
    error = refusal(TypeError, lambda: te.compute((4,), lambda i: i, attrs={1: 2}))
    assert error.problem == "an attribute is named by a int"
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(RecursionError):
        te.compute((4,), lambda i: i, attrs={"a": endless})


def test_conditions_are_joined_one_by_one_or_as_a_list() -> None:
    x = te.var("x")
    both = str(te.all(x > 0, x < 1))
    assert str(tir.all([x > 0, x < 1])) == str(tir.all(x > 0, x < 1)) == both
    assert str(tir.any((x > 0, x < 1))) == str(te.any(x > 0, x < 1))
    assert str(tir.all()) == "T.bool(True)"
    assert str(tir.any()) == "T.bool(False)"


def test_scalar_functions_are_there() -> None:
    x = te.var("x", "float32")
    for function in (te.exp, te.log, te.tanh, te.sqrt, te.sigmoid, te.erf, te.floor, te.abs):
        assert function(x).dtype == "float32"
    assert te.power(x, 2).dtype == "float32"
    assert te.if_then_else(x > 0, x, 0.0).dtype == "float32"
    assert te.all(x > 0, x < 1).dtype == "bool"
    assert te.any(x > 0, x < 1).dtype == "bool"
    assert (te.add(x, 1).dtype, te.multiply(x, 2).dtype) == ("float32", "float32")


# ---- What programs compute ----


def test_where_leaves_out_and_init_starts() -> None:
    a = te.placeholder((9, 13), name="A")
    k = te.reduce_axis((0, 13), name="k")
    b = te.compute((9,), lambda i: te.sum(a[i, k], k, where=k < i, init=7.0), name="B")
    c = te.compute((9,), lambda i: te.max(a[i, k], k, where=k > i, init=-2.0), name="C")
    x = np.random.default_rng(0).uniform(-1, 1, (9, 13)).astype("float32")
    total, largest = np.zeros(9, "float32"), np.zeros(9, "float32")
    ls.build([a, b, c])(x, total, largest)
    rows = np.arange(9)
    np.testing.assert_allclose(total, [7 + x[i, :i].sum() for i in rows], rtol=1e-5)
    np.testing.assert_array_equal(largest, [max(-2, x[i, i + 1 :].max()) for i in rows])


def test_the_sum_of_nothing_is_its_identity() -> None:
    a = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((3, 3), name="k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], k), name="B")
    out = np.full(4, 9, "float32")
    ls.build([a, b])(np.ones((4, 8), "float32"), out)
    np.testing.assert_array_equal(out, 0)


def test_two_states_advance_together() -> None:
    m = te.size_var("m")
    x = te.placeholder((m, 5), name="X")
    p, q = te.placeholder((m, 5), name="p"), te.placeholder((m, 5), name="q")
    first = te.compute((2, 5), lambda t, i: x[t, i], name="first")
    half = te.compute((m, 5), lambda t, i: p[t - 1, i] / 2, name="half")
    new_p = te.compute((m, 5), lambda t, i: half[t, i] + q[t - 2, i], name="new_p")
    new_q = te.compute((m, 5), lambda t, i: new_p[t, i] - x[t, i], name="new_q")
    out_p, out_q = te.scan([first, first], [new_p, new_q], [p, q], name="both")
    data = np.random.default_rng(1).uniform(-1, 1, (11, 5)).astype("float32")
    expected_p, expected_q = data.copy(), data.copy()
    for t in range(2, 11):
        expected_p[t] = expected_p[t - 1] / 2 + expected_q[t - 2]
        expected_q[t] = expected_p[t] - data[t]
    got_p, got_q = np.zeros_like(data), np.zeros_like(data)
    ls.build([x, out_p, out_q])(data, got_p, got_q)
    np.testing.assert_allclose(got_p, expected_p, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got_q, expected_q, rtol=1e-5, atol=1e-6)


def test_wide_indices_compute_the_same() -> None:
    a, b = row_sums()
    x, out = np.ones((6, 64), "float32"), np.zeros(6, "float32")
    ls.build(te.create_prim_func([a, b], index_dtype_override="int64"))(x, out)
    np.testing.assert_array_equal(out, 64)
