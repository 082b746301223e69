# SPDX-License-Identifier: Apache-2.0
"""Calls that leave out outputs, or name their arguments."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from lender import Lender

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import from_source


def product() -> ls.Module:
    A = te.placeholder((8, 16), name="A")
    B = te.placeholder((16, 4), name="B")
    return ls.build([A, B, te.nn.matmul(A, B)], name="product")


@pytest.fixture(scope="module")
def matmul() -> ls.Module:
    return product()


def inputs() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.random((8, 16), "float32"), random.random((16, 4), "float32")


def built(body: str) -> ls.Module:
    return ls.build(from_source(f"@T.prim_func\ndef f({body}"))


def outputs_of(body: str) -> list[str]:
    return built(body)["f"].outputs


def test_an_output_that_is_left_out_is_returned(matmul: ls.Module):
    a, b = inputs()
    made = matmul(a, b)
    assert isinstance(made, np.ndarray)
    np.testing.assert_allclose(made, a @ b, rtol=1e-5)


def test_arrays_are_given_by_name(matmul: ls.Module):
    a, b = inputs()
    np.testing.assert_allclose(matmul(B=b, A=a), a @ b, rtol=1e-5)
    np.testing.assert_allclose(matmul(a, B=b), a @ b, rtol=1e-5)
    c = np.zeros((8, 4), "float32")
    assert matmul(a, b, matmul=c) is None
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_out_is_written_and_returned(matmul: ls.Module):
    a, b = inputs()
    c = np.zeros((8, 4), "float32")
    assert matmul(a, b, out=c) is c
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_outputs_are_of_the_library_of_the_inputs(matmul: ls.Module):
    a, b = inputs()
    made = matmul(ls.array(a), ls.array(b))
    assert isinstance(made, ls.NDArray)
    np.testing.assert_allclose(made.numpy(), a @ b, rtol=1e-5)


class ArrayOfJax(Lender):
    """What JAX's arrays are to a call: lent by DLPack, for reading alone."""

    __module__ = "jaxlib"
    shape = property(lambda self: self.data.shape)


def test_an_output_for_arrays_of_jax_is_made_by_jax(
    matmul: ls.Module, monkeypatch: pytest.MonkeyPatch
):
    jax = SimpleNamespace(numpy=SimpleNamespace(asarray=ArrayOfJax))
    monkeypatch.setitem(sys.modules, "jax", jax)
    a, b = inputs()
    for array in (a, b):
        array.setflags(write=False)
    made = matmul(ArrayOfJax(a), ArrayOfJax(b))
    assert isinstance(made, ArrayOfJax)
    np.testing.assert_allclose(made.data, a @ b, rtol=1e-5)
    with pytest.raises(ls.CallError, match="read-only"):
        matmul(ArrayOfJax(a), ArrayOfJax(b), ArrayOfJax(a))


def test_several_outputs_are_a_tuple():
    A = te.placeholder((4, 6), name="A")
    f = ls.build([A, A.T, A.sum(1)])
    a = np.arange(24, dtype="float32").reshape(4, 6)
    transposed, sums = f(a)
    np.testing.assert_array_equal(transposed, a.T)
    np.testing.assert_array_equal(sums, a.sum(1))


def test_symbolic_sizes_of_outputs_come_from_the_inputs(add: ls.Module):
    a = np.ones((5, 4), "float32")
    np.testing.assert_array_equal(add(a), a + 1)


def test_sizes_of_outputs_follow_from_those_of_inputs(tmp_path):
    n, m = te.size_var("n"), te.size_var("m")
    A = te.placeholder((n, m), name="A")
    C = te.compute((n - 1, (m - 2) // 2 + 1), lambda i, j: A[i, j * 2] + A[i + 1, j * 2], name="C")
    program = ls.build([A, C], name="pooled")
    program.export(tmp_path / "pooled.so")
    x = np.arange(40, dtype="float32").reshape(5, 8)
    for each in (program, ls.load_module(tmp_path / "pooled.so")):
        np.testing.assert_array_equal(each(x), x[:-1, ::2] + x[1:, ::2])
    # One that no input has alone.
    starts = te.placeholder((n + 1,), dtype="int32", name="starts")
    lengths = te.compute((n,), lambda i: starts[i + 1] - starts[i], name="lengths")
    given = np.array([0, 2, 5], "int32")
    np.testing.assert_array_equal(ls.build([starts, lengths])(given), [2, 3])


def test_a_size_that_follows_from_none_is_asked_for():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    C = te.compute((te.min(n, 4),), lambda i: A[i], name="C")
    with pytest.raises(ls.UserError) as caught:
        ls.build([A, C])(np.zeros(3, "float32"))
    assert "a size of the output C is not known\n  hint: pass an array for C" in str(caught.value)


def test_what_is_read_before_it_is_written_is_no_output():
    update = "A: T.Buffer((8,), 'float32')):\n    for i in range(8):\n        A[i] = A[i] + 1.0\n"
    assert outputs_of(update) == []
    with pytest.raises(TypeError) as caught:
        built(update)()
    assert str(caught.value) == (
        "f: takes 1 arguments (A), not 0\n  hint: pass one for each parameter, outputs too"
    )


def test_what_is_read_after_it_was_written_is_an_output():
    # A whole nest, then one that reads it.
    assert outputs_of(
        "A: T.Buffer((8,), 'float32'), B: T.Buffer((8,), 'float32'), "
        "C: T.Buffer((8,), 'float32')):\n"
        "    for i in range(8):\n        B[i] = A[i] + 1.0\n"
        "    for i in range(8):\n        C[i] = B[7 - i]\n"
    ) == ["B", "C"]
    # The element that was just written.
    assert outputs_of(
        "A: T.Buffer((8, 8), 'float32'), B: T.Buffer((8,), 'float32')):\n"
        "    for i in range(8):\n        B[i] = 0.0\n"
        "        for k in range(8):\n            B[i] = B[i] + A[i, k]\n"
    ) == ["B"]


def test_what_may_not_be_written_before_it_is_read_is_no_output():
    # Half of it, under a condition, or another element.
    half = (
        "A: T.Buffer((8,), 'float32'), B: T.Buffer((8,), 'float32'), "
        "C: T.Buffer((8,), 'float32')):\n"
        "    for i in range({}):\n{}"
        "    for i in range(8):\n        C[i] = B[i]\n"
    )
    assert outputs_of(half.format(4, "        B[i] = A[i]\n")) == ["C"]
    guarded = "        if A[i] > 0.0:\n            B[i] = A[i]\n"
    assert outputs_of(half.format(8, guarded)) == ["C"]
    assert (
        outputs_of(
            "B: T.Buffer((9,), 'float32')):\n    for i in range(8):\n        B[i + 1] = B[i]\n"
        )
        == []
    )


def test_the_outputs_of_a_scheduled_program_are_those_of_the_program():
    A = te.placeholder((16, 16), name="A")
    sch = tir.Schedule(te.create_prim_func([A, te.nn.softmax(A)]))
    sums = sch.get_block("A_exp_sum")
    sch.decompose_reduction(sums, sch.get_loops(sums)[1])
    f = ls.build(sch)
    a = np.random.default_rng(1).random((16, 16), "float32")
    expected = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    np.testing.assert_allclose(f(a), expected, rtol=1e-5)


def test_an_exported_module_knows_its_outputs(matmul: ls.Module, tmp_path):
    matmul.export(tmp_path / "product.so")
    a, b = inputs()
    np.testing.assert_allclose(ls.load_module(tmp_path / "product.so")(a, b), a @ b, rtol=1e-5)


def test_mistakes_in_calls_are_named(matmul: ls.Module):
    a, b = inputs()
    cases = {
        "product: there is no parameter X\n  hint: its parameters are A, B, matmul":
            lambda: matmul(a, b, X=1),
        "product: A is given twice\n  hint: leave one out": lambda: matmul(a, A=a),
        "product: takes 3 arguments (A, B, matmul), not 1\n"
        "  hint: pass one for each parameter, outputs too": lambda: matmul(a),
        "product: out has 2 arrays for matmul\n"
        "  hint: pass one for each output that is left out": lambda: matmul(a, b, out=(a, b)),
    }  # fmt: skip
    for text, call in cases.items():
        with pytest.raises(TypeError) as caught:
            call()
        assert str(caught.value) == text


def test_an_input_by_name_that_is_missing_is_named():
    A, B = (te.placeholder((4,), name=name) for name in "AB")
    C = te.compute((4,), lambda i: A[i] + B[i], name="C")
    f = ls.build([A, B, C], name="f")
    ones = np.ones(4, "float32")
    with pytest.raises(TypeError, match="f: takes 3 arguments"):
        f(C=ones)
    with pytest.raises(TypeError) as caught:
        f(A=ones, C=ones, out=None)
    assert "takes 3 arguments (A, B, C), not 2" in str(caught.value)
