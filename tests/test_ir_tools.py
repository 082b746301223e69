# SPDX-License-Identifier: Apache-2.0
"""Walks over the IR, functions for values of their parameters, addresses of elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import arith, te, tir
from loopsmith.script import tir as T


@T.prim_func
def scaled(a: T.handle, b: T.handle, factor: T.int32):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "int32")
    B = T.match_buffer(b, (m, n), "int32")
    for i, j in T.grid(n, m):
        B[j, i] = A[i, j] * factor


# ---- Walks ----


def test_visits_parents_first_and_children_first() -> None:
    before: list[str] = []
    tir.pre_order_visit(scaled.body, lambda node: before.append(type(node).__name__))
    assert before[0] == "For"
    after: list[str] = []
    tir.post_order_visit(scaled.body, lambda node: after.append(type(node).__name__))
    assert after[-1] == "For"
    assert sorted(set(before)) == sorted(set(after))
    outer: list[Any] = []

    def stop_at_loops(node: Any) -> bool:
        outer.append(node)
        return not isinstance(node, tir.For)

    tir.pre_order_visit(scaled.body, stop_at_loops)
    assert outer == [scaled.body]


def test_substitutes_and_rewrites() -> None:
    factor = scaled.params[2]
    doubled = tir.substitute(scaled, {factor: factor * 2})
    assert "A[i, j] * (factor * 2)" in doubled.script()

    def without_factor(node: Any) -> Any:
        return node.a if isinstance(node, tir.Mul) and node.b.same_as(factor) else None

    plain = tir.rewrite(scaled, after=without_factor)
    assert "B[j, i] = A[i, j]\n" in plain.script() + "\n"
    untouched = tir.rewrite(scaled, after=without_factor, only=["For"])
    assert untouched.same_as(scaled)
    with pytest.raises(ls.TypeMismatch, match="rewrite: a For cannot take the place of a Mul"):
        tir.rewrite(scaled, before=lambda n: scaled.body if isinstance(n, tir.Mul) else None)
    with pytest.raises(ls.TypeMismatch, match="substitute: a Buffer has no uses of variables"):
        tir.substitute(tir.decl_buffer((4,)), {factor: 1})
    with pytest.raises(
        ls.TypeMismatch, match="substitute: values are given of something else than variables"
    ):
        tir.substitute(scaled, {"factor": 1})  # type: ignore[dict-item]
    with pytest.raises(ls.TypeMismatch, match="a Buffer is none of those"):
        tir.rewrite(tir.decl_buffer((4,)))
    copy = tir.clone(scaled)
    assert ls.structural_equal(copy, scaled)
    assert not copy.params[0].same_as(scaled.params[0])


# ---- Functions for values of their parameters ----


def test_a_function_for_some_sizes_and_numbers() -> None:
    a, _, factor = scaled.params
    special = scaled.specialize({a: tir.decl_buffer((2, 3), "int32"), factor: 5})
    assert len(special.params) == 2
    assert 'B: T.Buffer((3, 2), "int32")' in special.script()
    A, B = np.arange(6, dtype=np.int32).reshape(2, 3), np.zeros((3, 2), np.int32)
    ls.build(special)(A, B)
    np.testing.assert_array_equal(B, A.T * 5)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (
            {0: tir.decl_buffer((2,), "int32")},
            "specialize: buffer A has 2 dimensions and 0 strides",
        ),
        ({0: 3}, "specialize: parameter a is a tensor"),
        ({2: tir.decl_buffer((2,))}, "specialize: parameter factor is a number"),
        (
            {0: tir.decl_buffer((2, 3), "int32"), 1: tir.decl_buffer((4, 2), "int32")},
            "specialize: m is 3 and 4",
        ),
        (
            {0: tir.decl_buffer((2, 3), "float32")},
            "specialize: buffers A and buffer differ in type, alignment or offset factor",
        ),
    ],
)
def test_values_that_do_not_fit_are_refused(values: dict[int, Any], problem: str) -> None:
    with pytest.raises(ls.UserError) as caught:
        scaled.specialize({scaled.params[i]: value for i, value in values.items()})
    assert caught.value.problem.startswith(problem)


def test_a_size_that_is_fixed_stays() -> None:
    special = scaled.specialize({scaled.params[0]: tir.decl_buffer((2, 3), "int32")})
    with pytest.raises(ls.TypeMismatch) as caught:
        special.specialize({special.params[0]: tir.decl_buffer((4, 3), "int32")})
    assert caught.value.problem == (
        "specialize: extent 2 of buffer A is given as 4, where the parameter expected an "
        "independent Var or that"
    )


def test_a_value_of_no_parameter_is_refused() -> None:
    with pytest.raises(ls.UserError, match="specialize: x is no parameter of scaled"):
        scaled.specialize({tir.var("x"): 1})


# ---- Addresses ----


def test_addresses_of_elements() -> None:
    buffer = tir.decl_buffer((4, 8), "float32", "A")
    i, j = tir.var("i"), tir.var("j")
    assert repr(buffer.offset_of([i, j])) == "i * 8 + j"
    with pytest.raises(ls.TypeMismatch, match="buffer A has 2 dimensions, 1 indices were given"):
        buffer.offset_of([i])
    pointer = buffer.access_ptr("rw", offset=8)
    assert pointer.dtype == "handle"
    assert [repr(arg) for arg in pointer.args[2:]] == ["8", "24", "3"]
    assert [repr(arg) for arg in buffer.access_ptr(1).args[2:]] == ["0", "32", "1"]
    with pytest.raises(ls.UserError, match="access_ptr: 'x' says neither r nor w"):
        buffer.access_ptr("x")


def test_flattened_buffers_keep_their_memory() -> None:
    n = tir.var("n")
    plain = tir.decl_buffer((n, 8), "float32", "A")
    flat = plain.get_flattened_buffer()
    assert [repr(extent) for extent in flat.shape] == ["n * 8"]
    assert flat.data.same_as(plain.data)
    grouped = tir.decl_buffer((2, 3, 4, 5), axis_separators=[2])
    flat = grouped.get_flattened_buffer()
    assert [int(extent) for extent in flat.shape] == [6, 20]
    assert list(flat.axis_separators) == [1]
    strided = tir.decl_buffer((4, 8), strides=[16, 1])
    assert [int(extent) for extent in strided.get_flattened_buffer().shape] == [64]
    assert flat.get_flattened_buffer().same_as(flat)


# ---- Numbers ----


def test_index_maps_keep_64_bits() -> None:
    narrow = arith.index_map(lambda i: [i // 4, i % 4 + 1], index_dtype="int32")
    wide = tir.var("x", "int64")
    assert [index.dtype for index in narrow.map_indices([wide])] == ["int64", "int64"]
    big = tir.const(2**40 + 3, "int64")
    assert [index.value for index in narrow.map_indices([big])] == [2**38, 4]


def test_a_remainder_by_zero_stays() -> None:
    x = tir.var("x")
    for node in (tir.FloorMod(x, 0), tir.Mod(x, 0)):
        simple = arith.Analyzer().simplify(node)
        assert not isinstance(simple, tir.IntImm)


def test_attributes_of_functions_are_set_together() -> None:
    made = scaled.with_attr({"tir.noalias": True, "key": [1, 2]})
    assert (made.attrs["tir.noalias"], made.attrs["key"]) == (True, [1, 2])
    assert made.attrs["global_symbol"] == "scaled"


def test_large_unsigned_constants_have_their_value() -> None:
    assert tir.const(2**63 + 5, "uint64").value == 2**63 + 5
    assert tir.IntImm("uint64", 2**63 + 5).value == 2**63 + 5
    with pytest.raises(ls.TypeMismatch, match="IntImm: the field 'value' cannot be a int"):
        tir.IntImm("int64", 2**63 + 5)
    assert tir.const(7, "uint64").value == 7
    assert tir.const(-7, "int64").value == -7


def test_an_unknown_target_is_named_with_those_that_there_are() -> None:
    for call in (ls.build, ls.lower):
        with pytest.raises(ls.UserError) as caught:
            call(scaled, target="lvm")
        assert caught.value.problem == "target: 'lvm' is not a kind of target"
        assert caught.value.hint == (
            "start with llvm, c, cuda or opencl, as in 'llvm -mcpu=native'"
        )
    with pytest.raises(ls.TypeMismatch, match="build: a int is no target"):
        ls.build(scaled, target=3)  # type: ignore[arg-type]


# ---- Statements by calls ----


def test_a_function_built_by_calls() -> None:
    buffer = tir.decl_buffer((10,), "float32", "A")
    ib = tir.ir_builder.create()
    A = ib.buffer_ptr(buffer)
    with ib.for_range(0, 10, name="i") as i:
        with ib.if_scope(i % 2 == 0):
            A[i] = A[i] + 1
        with ib.else_scope():
            A[i] = -A[i]
    func = tir.PrimFunc([tir.var("a", "handle")], [buffer], body=ib.get())

    @T.prim_func
    def expected(A: T.Buffer((10,))):
        for i in range(10):
            if i % 2 == 0:
                A[i] = A[i] + T.float32(1)
            else:
                A[i] = -A[i]

    ls.assert_structural_equal(func, expected.without_attr("global_symbol"))


def test_memory_names_and_loops_built_by_calls() -> None:
    n = 6
    x, y = te.placeholder((n,), name="x"), te.placeholder((n,), name="y")

    def doubled(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        source, out = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        total = ib.allocate("float32", (2, 3), name="total")
        with ib.for_range(0, n, kind="unroll") as i:
            total[i] = source[i] * 2
        scale = ib.let("scale", tir.const(10.0))
        count = ib.allocate("int32", (1,), name="count", scope="local")
        count[0] = 0
        with ib.while_loop(count[0] < n):
            out[count[0]] = total[count[0]] + scale
            count[0] = count[0] + 1
        with ib.new_scope():
            ib.emit(tir.Evaluate(0))
        return ib.get()

    z = te.extern((n,), [x], doubled, name="z", dtype="float32")
    func = te.create_prim_func([x, z])
    values, out = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    ls.build(func)(values, out)
    np.testing.assert_array_equal(out, values * 2 + 10)
    again = np.zeros(n, np.float32)
    ls.interp.run(func, values, again)
    np.testing.assert_array_equal(out, again)
    assert y.dtype == "float32"


def test_pointers_of_parameters_are_indexed() -> None:
    ib = tir.ir_builder.create()
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, 4) as i:
        A[i] = A[i] + 1.0
    func = tir.PrimFunc([A.asobject()], [None], body=ib.get())
    tir.verify_well_formed(func)
    assert "A_1[i] = A_1[i] + T.float32(1)" in func.script()
    view = tir.decl_buffer((4,), data=tir.decl_buffer((8,)).data)
    assert view.name == "buffer"


@pytest.mark.parametrize("target", ["llvm", "c", "interp"])
def test_buffers_of_nodes_need_no_declaration(target: str) -> None:
    A, B, C = (tir.decl_buffer((8,), "float32", name) for name in "ABC")
    i, j = tir.var("i", "int32"), tir.var("j", "int32")
    fill = tir.For(i, 0, 8, body=tir.BufferStore(C, A[i] * 2.0, [i]))
    read = tir.For(j, 0, 8, body=tir.BufferStore(B, C[j] + 1.0, [j]))
    body = tir.Allocate(C.data, "float32", [8], True, body=tir.SeqStmt([fill, read]))
    func = tir.PrimFunc([tir.var("a", "handle"), tir.var("b", "handle")], [A, B], body=body)

    @T.prim_func
    def expected(A: T.Buffer((8,)), B: T.Buffer((8,))):
        C = T.decl_buffer((8,))
        for i in range(8):
            C[i] = A[i] * T.float32(2)
        for j in range(8):
            B[j] = C[j] + T.float32(1)

    ls.assert_structural_equal(func, expected.without_attr("global_symbol"))
    given, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    if target == "interp":
        ls.interp.run(func, given, out)
    else:
        ls.build(func, target=target)(given, out)
    np.testing.assert_array_equal(out, given * 2 + 1)


def test_a_buffer_whose_pointer_nothing_defines_is_undefined() -> None:
    A, C = (tir.decl_buffer((8,), "float32", name) for name in "AC")
    view = tir.Buffer(data=A.data, dtype="float32", shape=[4, 2], name="view")
    store = tir.BufferStore(view, tir.const(1.0, "float32"), [3, 1])
    func = tir.PrimFunc([tir.var("a", "handle")], [A], body=store)
    out = np.zeros(8, np.float32)
    ls.build(func)(out)
    assert out.tolist() == [0] * 7 + [1]
    wrong = func.with_body(tir.BufferStore(C, tir.const(1.0, "float32"), [0]))
    with pytest.raises(ls.UserError, match="undefined buffer C"):
        ls.build(wrong)


def test_mistakes_in_calls_of_a_builder() -> None:
    ib = tir.ir_builder.create()
    out = ib.buffer_ptr(tir.decl_buffer((4,), "float32", "A"))
    with pytest.raises(ls.UserError, match="else_scope: it does not follow an if_scope"):
        with ib.else_scope():
            pass
    with pytest.raises(ls.FormatError, match="for_range: there is no kind of loop 'zigzag'"):
        with ib.for_range(0, 4, kind="zigzag"):
            pass
    with pytest.raises(ls.TypeMismatch, match="data type does not match content type: int32"):
        out[0] = tir.var("x", "int32")
    with ib.for_range(0, 4) as i, pytest.raises(ls.UserError, match="a scope is still open"):
        out[i] = 1.0
        ib.get()


# ---- Simplification ----


def test_chains_and_halves_simplify() -> None:
    x, y, z, w = (tir.var(name) for name in "xyzw")
    floordiv, floormod = tir.floordiv, tir.floormod
    rows = [
        (floordiv(x, 2) + floormod(x, 2), floordiv(x + 1, 2)),
        (floormod(x, 2) + floormod(x + 1, 2), tir.const(1)),
        (floormod(x, 2) + floormod(x + 3, 2), tir.const(1)),
        (tir.min(tir.min(tir.min(tir.min(x, y), z), w), y), tir.min(tir.min(tir.min(x, y), z), w)),
        (tir.max(tir.max(tir.max(tir.max(x, y), z), w), x), tir.max(tir.max(tir.max(x, y), z), w)),
        (tir.Not(tir.const(True, "bool")), tir.const(False, "bool")),
        (tir.Cast("float32", tir.const(3)), tir.const(3.0, "float32")),
    ]
    for before, after in rows:
        assert ls.structural_equal(arith.Analyzer().rewrite_simplify(before), after), before


def test_bounds_and_moduli_are_known_through_names() -> None:
    x, v = tir.var("x"), tir.var("v")
    analyzer = arith.Analyzer()
    bound = analyzer.const_int_bound(tir.Let(v, tir.floormod(x, 8), v + 1))
    assert (bound.min_value, bound.max_value) == (1, 8)
    modulus = analyzer.modular_set(tir.Let(v, x * 4, v + 1))
    assert (modulus.coeff, modulus.base) == (4, 1)
