# SPDX-License-Identifier: Apache-2.0
"""te.gradient, against finite differences in float64 and closed forms of NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from random_gradients import RandomRead
from te_outline import lowered

import loopsmith as ls
from loopsmith import te

Arrays = list[np.ndarray[Any, Any]]


def given(*shape: Any, name: str = "A", dtype: str = "float64") -> te.Tensor:
    return te.placeholder(shape, dtype, name)


def sizes(tensor: te.Tensor) -> list[int]:
    return [int(extent) for extent in tensor.shape]


def random_values(inputs: Sequence[te.Tensor]) -> Arrays:
    rng = np.random.default_rng(3)
    return [rng.uniform(0.1, 0.9, sizes(x)).astype(x.dtype) for x in inputs]


def evaluated(outputs: Sequence[te.Tensor], inputs: Sequence[te.Tensor], values: Arrays) -> Arrays:
    results = [np.zeros(sizes(x), x.dtype) for x in outputs]
    ls.build([*inputs, *outputs])(*values, *results)
    return results


def finite_differences(
    output: te.Tensor, inputs: Sequence[te.Tensor], values: Arrays, head: np.ndarray[Any, Any]
) -> Arrays:
    """Return the derivatives of sum(head * output) by each element of each input."""
    function = ls.build([*inputs, output])
    step = 1e-6

    def total(arrays: Arrays) -> float:
        result = np.zeros(sizes(output), output.dtype)
        function(*arrays, result)
        return float((result * head).sum())

    derivatives = []
    for place, value in enumerate(values):
        derivative = np.zeros_like(value)
        for index in np.ndindex(value.shape):
            ends = []
            for sign in (1, -1):
                moved = [array.copy() for array in values]
                moved[place][index] += sign * step
                ends.append(total(moved))
            derivative[index] = (ends[0] - ends[1]) / (2 * step)
        derivatives.append(derivative)
    return derivatives


def check(
    output: te.Tensor, inputs: Sequence[te.Tensor], values: Arrays | None = None
) -> list[te.Tensor]:
    """Compare the gradient with finite differences, and return it."""
    values = random_values(inputs) if values is None else values
    head = given(*output.shape, name="head")
    gradients = te.gradient(output, inputs, head)
    assert [sizes(g) for g in gradients] == [sizes(x) for x in inputs]
    weights = np.random.default_rng(5).standard_normal(sizes(output))
    found = evaluated(gradients, [*inputs, head], [*values, weights])
    expected = finite_differences(output, inputs, values, weights)
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
    return gradients


def outline(gradients: list[te.Tensor], args: Sequence[te.Tensor]) -> str:
    s = te.create_schedule([g.op for g in gradients])
    return lowered(s, [*args, *gradients])


# ---- Linear algebra ----


def matmul(n: Any, m: Any, depth: Any, dtype: str = "float64") -> list[te.Tensor]:
    A = given(n, depth, name="A", dtype=dtype)
    B = given(depth, m, name="B", dtype=dtype)
    k = te.reduce_axis((0, depth), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return [A, B, C]


def test_the_gradient_of_a_matmul_is_a_matmul_of_any_size() -> None:
    A, B, C = matmul(te.var("n"), te.var("m"), te.var("depth"), "float32")
    dC = given(*C.shape, name="dC", dtype="float32")
    dA, dB = te.gradient(C, [A, B], dC)
    module = ls.build([A, B, dC, dA, dB])
    rng = np.random.default_rng(0)
    a, b, c = (rng.random(s, "float32") for s in [(7, 5), (5, 9), (7, 9)])
    da, db = np.empty_like(a), np.empty_like(b)
    module(a, b, c, da, db)
    np.testing.assert_allclose(da, c @ b.T, rtol=1e-5)
    np.testing.assert_allclose(db, a.T @ c, rtol=1e-5)


def test_the_gradient_of_a_matmul_has_its_loops_alone() -> None:
    A, B, C = matmul(8, 16, 4)
    dC = given(*C.shape, name="dC")
    assert outline(te.gradient(C, A, dC), [B, dC]).splitlines() == [
        "for i in 8",
        "  for k in 4",
        "    A.grad =",
        "    for j in 16",
        "      A.grad =",
    ]


def test_without_a_head_all_derivatives_of_all_elements_are_given() -> None:
    A, B, C = matmul(3, 2, 4)
    (jacobian,) = te.gradient(C, [A])
    assert sizes(jacobian) == [3, 2, 3, 4]
    a, b = random_values([A, B])
    (found,) = evaluated([jacobian], [B], [b])
    np.testing.assert_allclose(found, np.einsum("pi,kq->pqik", np.eye(3), b))
    assert "for" not in outline([jacobian], [B]).split("A.grad =")[1]  # No sum with a condition.
    (identity,) = te.gradient(C, [C])
    np.testing.assert_array_equal(
        evaluated([identity], [A, B], [a, b])[0], np.eye(6).reshape(3, 2, 3, 2)
    )


def test_a_head_may_have_dimensions_of_its_own_in_front() -> None:
    A, B, C = matmul(3, 2, 4)
    head = given(5, 3, 2, name="head")
    (dA,) = te.gradient(C, [A], head)
    b, h = random_values([B, head])
    np.testing.assert_allclose(
        evaluated([dA], [B, head], [b, h])[0], np.einsum("pij,kj->pik", h, b)
    )


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (2, 3)])
def test_the_gradient_of_a_convolution_is_a_convolution(stride: int, dilation: int) -> None:
    X, W = given(1, 2, 9, 9, name="X"), given(2, 2, 3, 3, name="W")
    c = te.reduce_axis((0, 2), name="c")
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    out = (9 - 2 * dilation - 1) // stride + 1

    def value(n: Any, f: Any, y: Any, x: Any) -> Any:
        at = X[n, c, y * stride + ry * dilation, x * stride + rx * dilation]
        return te.sum(at * W[f, c, ry, rx], axis=[c, ry, rx])

    Y = te.compute((1, 2, out, out), value, name="Y")
    dX, dW = check(Y, [X, W])
    extents = {axis.var.name: int(axis.dom.extent) for axis in dW.op.reduce_axis}
    assert extents == {"y": out, "x": out}
    # As many iterations as an element has readers, not as the output has elements.
    most = -(-3 // stride) if dilation == 1 else 3
    assert [int(axis.dom.extent) for axis in dX.op.reduce_axis][1:] <= [most, most]
    assert str(dW.op.reduce_axis[0].var.name) == "y"


def test_the_gradient_of_a_strided_convolution_runs_over_its_few_readers() -> None:
    X = given(64, name="X")
    W = given(3, name="W")
    r = te.reduce_axis((0, 3), name="r")
    Y = te.compute((31,), lambda y: te.sum(X[y * 2 + r] * W[r], axis=r), name="Y")
    dX, _dW = check(Y, [X, W])
    assert [int(axis.dom.extent) for axis in dX.op.reduce_axis] == [2]


# ---- Indices ----


def padded(A: te.Tensor) -> te.Tensor:
    return te.compute(
        (8,), lambda i: te.if_then_else(te.all(i >= 1, i < 7), A[i - 1] * A[i - 1], 0.0), name="pad"
    )


INDEXED: dict[str, tuple[Callable[[te.Tensor], te.Tensor], int]] = {
    "transposed": (lambda A: te.compute((4, 3), lambda i, j: A[j * 4 + i], name="B"), 12),
    "shifted": (lambda A: te.compute((4,), lambda i: A[i] + 2 * A[i + 1] - A[i + 2], name="B"), 6),
    "reversed": (lambda A: te.compute((6,), lambda i: A[5 - i] * A[i], name="B"), 6),
    "padded": (padded, 6),
    "repeated": (lambda A: te.compute((5, 6), lambda i, j: A[j] * A[j], name="B"), 6),
    "flattened": (lambda A: te.compute((3, 2), lambda i, j: A[i * 2 + j], name="B"), 6),
    "cut up": (lambda A: te.compute((12,), lambda i: A[i // 4 * 4 + i % 4], name="B"), 12),
    "enlarged": (lambda A: te.compute((12,), lambda i: A[i // 2] * A[i // 2], name="B"), 6),
    "wrapped": (lambda A: te.compute((14,), lambda i: A[i % 6], name="B"), 6),
    "clamped": (
        lambda A: te.compute((8,), lambda i: A[te.max(te.min(i - 1, 5), 0)], name="B"),
        6,
    ),
    "chosen": (
        lambda A: te.compute((6,), lambda i: A[te.if_then_else(i < 3, i, 5 - i)], name="B"),
        6,
    ),
    "joined": (
        lambda A: te.compute((6,), lambda i: te.if_then_else(i < 2, A[i], A[i - 2] * 3), name="B"),
        6,
    ),
    "every third": (lambda A: te.compute((4,), lambda i: A[i * 3], name="B"), 12),
    "summed up to here": (
        lambda A: te.compute(
            (6,),
            lambda i: te.sum(A[K6] * A[K6], axis=K6, where=K6.var <= i),
            name="B",
        ),
        6,
    ),
    "one of them": (lambda A: te.compute((3,), lambda i: A[4] * 2.0, name="B"), 6),
    "no element twice": (lambda A: te.compute((2, 3), lambda i, j: A[i + j], name="B"), 6),
}

K6 = te.reduce_axis((0, 6), name="k")


@pytest.mark.parametrize("name", INDEXED)
def test_indices_are_inverted(name: str) -> None:
    make, extent = INDEXED[name]
    A = given(extent)
    check(make(A), [A])


@pytest.mark.parametrize("name", ["flattened", "cut up", "transposed", "every third", "padded"])
def test_an_element_with_one_reader_needs_no_loop(name: str) -> None:
    make, extent = INDEXED[name]
    A = given(extent)
    B = make(A)
    (dA,) = te.gradient(B, [A], given(*B.shape, name="head"))
    assert dA.op.reduce_axis == []


def test_what_an_index_reads_is_a_condition() -> None:
    A, rows = given(6), te.placeholder((5,), "int32", "I")
    B = te.compute((5,), lambda i: A[rows[i]] * A[rows[i]], name="B")
    head = given(5, name="head")
    (dA,) = te.gradient(B, [A], head)
    a, i, h = np.arange(1.0, 7), np.array([3, 1, 3, 0, 5], "int32"), np.arange(1.0, 6)
    expected = np.zeros(6)
    np.add.at(expected, i, 2 * a[i] * h)
    np.testing.assert_allclose(evaluated([dA], [A, rows, head], [a, i, h])[0], expected)


@pytest.mark.parametrize("seed", range(120))
def test_random_indices_are_inverted(seed: int) -> None:
    read = RandomRead(seed)
    try:
        read.check()
    except AssertionError as error:
        raise AssertionError(str(read)) from error


def test_sizes_may_be_symbolic() -> None:
    n = te.var("n")
    A = given(n)
    B = te.compute((n - 1,), lambda i: A[i + 1] - A[i], name="B")
    head = given(n - 1, name="head")
    (dA,) = te.gradient(B, [A], head)
    h = np.arange(1.0, 8)
    result = np.zeros(8)
    ls.build([A, head, dA])(np.zeros(8), h, result)
    np.testing.assert_allclose(result, np.append(0, h) - np.append(h, 0))


# ---- Graphs ----


def test_tensors_that_are_read_in_several_places_add_up() -> None:
    A, W = given(3, 4, name="A"), given(4, 5, name="W")
    k, j, m = (te.reduce_axis((0, e), name=n) for e, n in [(4, "k"), (5, "j"), (5, "m")])
    T = te.compute((3, 4), lambda i, j: te.tanh(A[i, j]), name="T")
    M = te.compute((3, 5), lambda i, j: te.sum(T[i, k] * W[k, j], axis=k), name="M")
    largest = te.compute((3,), lambda i: te.max(M[i, m], axis=m), name="largest")
    E = te.compute((3, 5), lambda i, j: te.exp(M[i, j] - largest[i]), name="E")
    total = te.compute((3,), lambda i: te.sum(E[i, j], axis=j), name="total")
    softmax = te.compute((3, 5), lambda i, j: E[i, j] / total[i], name="softmax")
    dA, _dW = check(softmax, [A, W])
    names = [stage.op.name for stage in te.create_schedule(dA.op).stages]
    assert len(set(names)) == len(names)  # Nothing is computed twice.


def test_the_derivative_by_a_tensor_on_the_way_is_given_too() -> None:
    A = given(4)
    B = te.compute((4,), lambda i: A[i] * A[i], name="B")
    C = te.compute((4,), lambda i: te.sin(B[i]), name="C")
    head = given(4, name="head")
    dB, dA = te.gradient(C, [B, A], head)
    a, h = np.arange(1.0, 5), np.ones(4)
    found = evaluated([dB, dA], [A, head], [a, h])
    np.testing.assert_allclose(found[0], np.cos(a * a))
    np.testing.assert_allclose(found[1], 2 * a * np.cos(a * a))


def test_what_does_not_count_has_the_derivative_zero() -> None:
    A, B = given(4, name="A"), given(3, 2, name="B")
    C = te.compute((4,), lambda i: A[i] * 2.0, name="C")
    _dA, dB = te.gradient(C, [A, B], given(4, name="head"))
    assert sizes(dB) == [3, 2]
    assert not evaluated([dB], [], [])[0].any()
    floor = te.compute((4,), lambda i: te.floor(A[i]), name="floor")
    assert not evaluated(te.gradient(floor, [A]), [], [])[0].any()


def test_several_outputs_of_one_compute_add_up() -> None:
    A = given(4)
    S, C = te.compute((4,), lambda i: (te.sin(A[i]), te.cos(A[i]) * A[i]), name="SC")
    check(te.compute((4,), lambda i: S[i] * C[3 - i], name="D"), [A])


def test_a_number_has_a_gradient() -> None:
    A = given(3, 4)
    i, j = te.reduce_axis((0, 3), name="i"), te.reduce_axis((0, 4), name="j")
    B = te.compute((), lambda: te.sum(A[i, j] * A[i, j], axis=[i, j]), name="B")
    (dA,) = te.gradient(B, [A])
    a = random_values([A])
    np.testing.assert_allclose(evaluated([dA], [A], a)[0], 2 * a[0])
    assert dA.op.reduce_axis == []


def test_a_gradient_has_a_gradient() -> None:
    A = given(4)
    B = te.compute((4,), lambda i: A[i] * A[i] * A[i], name="B")
    (first,) = te.gradient(B, [A], given(4, name="head"))
    k = te.reduce_axis((0, 4), name="k")
    L = te.compute((), lambda: te.sum(te.exp(A[k]) * A[k], axis=k), name="L")
    (hessian,) = te.gradient(te.gradient(L, [A])[0], [A])
    a = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_allclose(evaluated([hessian], [A], [a])[0], np.diag(np.exp(a) * (a + 2)))
    assert first.dtype == "float64"


def test_a_gradient_is_scheduled_like_any_tensor() -> None:
    A, B, C = matmul(16, 16, 16, "float32")
    dC = given(16, 16, name="dC", dtype="float32")
    (dA,) = te.gradient(C, [A], dC)
    s = te.create_schedule(dA.op)
    _outer, inner = s[dA].split(dA.op.axis[1], factor=8)
    s[dA].vectorize(inner)
    b, c = (np.random.default_rng(0).random((16, 16), "float32") for _ in range(2))
    da = np.empty_like(b)
    ls.build(s, [B, dC, dA])(b, c, da)
    np.testing.assert_allclose(da, c @ b.T, rtol=1e-5)


# ---- Refusals ----


def refused(
    output: te.Tensor, inputs: Any, problem: str, advice: str, head: te.Tensor | None = None
) -> None:
    with pytest.raises(ls.UserError) as error:
        te.gradient(output, inputs, head)
    assert problem in str(error.value)
    assert advice in str(error.value)


def test_integers_have_no_derivatives() -> None:
    A, rows = given(4), te.placeholder((4,), "int32", "I")
    B = te.compute((4,), lambda i: A[rows[i]], name="B")
    refused(B, [rows], "gradient: the input I is int32: only floating-point numbers", "cast it")


def test_a_scan_is_refused() -> None:
    X = given(5, 3, name="X")
    state = given(5, 3, name="S")
    init = te.compute((1, 3), lambda _, j: X[0, j], name="init")
    update = te.compute((5, 3), lambda t, j: state[t - 1, j] + X[t, j], name="update")
    R = te.scan(init, update, state, [X], name="running")
    refused(
        R,
        [X],
        "running is a scan: its derivative would run its steps backwards, "
        "and need all of their states",
        "steps",
    )
    doubled = te.compute((5, 3), lambda i, j: R[i, j] * 2.0, name="doubled")
    assert sizes(te.gradient(doubled, [R], given(5, 3, name="head"))[0]) == [5, 3]


def test_a_statement_is_refused() -> None:
    A = given(4)
    B = te.extern(
        (4,), [A], lambda ins, outs: ls.tir.call_packed("twice", ins[0], outs[0]), name="B"
    )
    refused(B, [A], "gradient: B is made by a statement, whose derivative is not known", "head")


def test_a_combiner_that_is_not_known_is_refused() -> None:
    A = given(3, 4)
    k = te.reduce_axis((0, 4), name="k")
    softmax = te.comm_reducer(
        lambda x, y: te.log(te.exp(x) + te.exp(y)), lambda t: te.min_value(t), name="softmax"
    )
    B = te.compute((3,), lambda i: softmax(A[i, k], axis=k), name="B")
    refused(B, [A], "gradient: the combiner of B is no sum, product, min, max or choice", "te.sum")
    C = te.compute((3,), lambda i: te.max(A[i, k], axis=k, init=0.5), name="C")
    refused(C, [A], "gradient: the choice C starts from a value of its own", "compute of its own")


def test_a_function_that_is_not_known_is_refused() -> None:
    A = given(4)
    B = te.compute(
        (4,), lambda i: ls.tir.call_pure_extern("float64", "gamma", A[i]) * 2.0, name="B"
    )
    refused(B, [A], "gradient: the derivative of T.call_pure_extern", "derivatives are known")


def test_a_head_that_does_not_fit_is_refused() -> None:
    A, _B, C = matmul(3, 2, 4)
    head = given(2, 3, name="head")
    refused(
        C,
        [A],
        "gradient: the last dimensions of head head are not those of C",
        "output's shape",
        head,
    )
    head = given(2, name="head")
    refused(
        C,
        [A],
        "gradient: the last dimensions of head head are not those of C",
        "output's shape",
        head,
    )
    head = given(3, 2, name="head", dtype="float32")
    refused(C, [A], "gradient: head head is float32, C is float64", "cast it", head)
