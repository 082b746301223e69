# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import _core, ir, tir


def matmul_like(value: float = 0.0) -> tir.PrimFunc:
    a = tir.decl_buffer((128, 64), "float32", name="A")
    i, j = tir.var("i"), tir.var("j")
    body = tir.BufferStore(a, tir.const(value, "float32"), [i, j])
    inner = tir.For(loop_var=j, min=0, extent=64, body=body)
    return tir.PrimFunc(
        params=[tir.Var("a", "handle")],
        buffer_map=[a],
        attrs={"global_symbol": "main", "tir.noalias": True},
        body=tir.For(loop_var=i, min=0, extent=128, body=inner),
    )


def test_a_node_shows_its_fields_by_name() -> None:
    func = matmul_like()
    loop = func.body
    assert isinstance(loop, tir.For)
    assert (loop.kind, int(loop.min), int(loop.extent), int(loop.step)) == ("serial", 0, 128, 1)
    assert loop.loop_var.name == "i"
    assert loop.loop_var.dtype == "int32"
    assert loop.thread_binding is None
    assert func.ret_type == "void"
    assert func.attrs == {"global_symbol": "main", "tir.noalias": True}
    ((param, buffer),) = func.buffer_map.items()
    assert param is func.params[0]
    assert [int(extent) for extent in buffer.shape] == [128, 64]
    assert buffer.scope() == "global"
    assert buffer.data.pointer.element == "float32"


def test_a_node_is_one_object_while_it_lives() -> None:
    func = matmul_like()
    assert func.body is func.body
    assert func.params[0] is func.params[0]
    body = weakref.ref(func.body)
    gc.collect()
    assert body() is None
    x = tir.var("x")
    assert (x + 1).a is x
    assert {x: 1}[(x + 1).a] == 1


def test_lists_of_nodes_are_read_only_sequences() -> None:
    i = tir.var("i")
    buffer = tir.decl_buffer((4, i, 6))
    shape = buffer.shape
    assert len(shape) == 3
    assert shape[1] is i
    assert shape[-1] is shape[2]
    assert [int(e) for e in shape[::2]] == [4, 6]
    assert i in shape
    assert tir.var("j") not in shape
    with pytest.raises(IndexError):
        shape[3]
    with pytest.raises(TypeError):
        shape[0] = i


def test_operators_convert_python_numbers_to_the_other_operand() -> None:
    x, f, wide = tir.var("x"), tir.var("f", "float16"), tir.var("w", "int64")
    cases = {
        "x + 1": x + 1,
        "1 - x": 1 - x,
        "x * 2 // 3 % 4": x * 2 // 3 % 4,
        "f / T.float16(2)": f / 2,
        "T.float16(0.5) * f": 0.5 * f,
        'T.Cast("float32", x) * T.float32(0.5)': x * 0.5,
        "w + T.int64(1)": wide + 1,
        'w + T.Cast("int64", x)': wide + x,
        "x < 3": x < 3,
        "x > 3": x > 3,
        "0 - x": -x,
        "T.pow(f, T.float16(2))": f**2,
        'T.Cast("float32", f) + T.float32(1.5)': f + np.float32(1.5),
        'T.float32(1.5) + T.Cast("float32", f)': np.float32(1.5) + f,
        "T.float16(3) + f": np.float16(3) + f,
    }
    for text, expr in cases.items():
        assert repr(expr) == text
    assert repr((x << 2) & 7) == "x << 2 & 7"
    assert repr(~x) == "T.bitwise_not(x)"
    assert int(tir.const(3) + 4) == 7
    assert float(tir.const(0.5, "float32")) == 0.5


def test_equality_is_an_expression_whose_truth_is_identity() -> None:
    x, y = tir.var("x"), tir.var("x")
    assert isinstance(x == y, tir.EQ)
    assert x == x
    assert not bool(x == y)
    assert x != y
    assert hash(x) != hash(y)
    assert [y, x].index(x) == 1
    assert x not in [y, 1, None, "x"]
    p = tir.Var("p", pointer=tir.PointerType("float32", "shared"))
    assert p == p
    assert p != x


def test_an_expression_has_no_truth_value() -> None:
    x = tir.var("x")
    with pytest.raises(ls.TypeMismatch, match=r"the expression x < 1 is no Python bool") as caught:
        bool(x < 1)
    assert caught.value.code == "expression_has_no_truth_value"
    assert caught.value.hint == "write tir.all, tir.any or tir.Not; in a script, and, or, not"
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: tir.For(loop_var=tir.var("i"), min=0), "For: the field 'extent' is missing"),
        (lambda: tir.Add(1, 2, 3), "Add has 2 fields, 3 were given"),
        (lambda: tir.Add(a=1, c=2), "Add has no field 'c'"),
        (lambda: tir.Add(1, []), "Add: the field 'b' cannot be a list"),
        (lambda: tir.Evaluate(tir.Break()), "Evaluate: the field 'value' cannot be a Break"),
        (lambda: tir.Var("x", "flaot32"), "'flaot32' is not a data type"),
        (lambda: tir.Add(1, 2.0), "Add: the operands are int32 and float32, not of one type"),
        (lambda: tir.exp("x", "y"), "exp takes 1 arguments, 2 were given"),
        (lambda: tir.exp([]), "an argument is a list, not an expression"),
        (lambda: tir.var("x") / 2, "/: division of int32 by int32 may round in two ways"),
        (lambda: tir.var("x") // 0, "floordiv: divide by zero"),
        (lambda: tir.var("x") + 2**64, "an integer constant has more than 64 bits"),
        (
            lambda: tir.decl_buffer((4, 4))[1],
            "buffer buffer has 2 dimensions, 1 indices were given",
        ),
        (lambda: tir.decl_buffer((4,))["a"], "buffer buffer cannot be indexed with a str"),
        (lambda: tir.call_intrin("int32", "no_such"), "there is no intrinsic 'no_such'"),
        (lambda: int(tir.var("x")), "only a constant can become a Python number"),
    ],
)
def test_mistakes_are_errors_with_a_text(make: object, text: str) -> None:
    with pytest.raises((ls.UserError, TypeError)) as caught:
        make()  # type: ignore[operator]
    assert text in str(caught.value)


def test_functions_of_the_script_language() -> None:
    x, f = tir.var("x"), tir.var("f", "float32")
    assert repr(tir.exp(f)) == "T.exp(f)"
    assert repr(tir.max(x, 0)) == "T.max(x, 0)"
    assert repr(tir.atan2(f, 1.0)) == "T.atan2(f, T.float32(1))"
    assert repr(tir.if_then_else(x < 1, f, 0.0)) == "T.if_then_else(x < 1, f, T.float32(0))"
    assert repr(tir.all([x < 1, x > -1])) == "x < 1 and x > -1"
    assert repr(tir.reinterpret("int32", f)) == 'T.reinterpret("int32", f)'
    assert repr(tir.call_extern("int32", "puts", x)) == 'T.call_extern("int32", "puts", x)'
    assert repr(tir.call_intrin("float32", "tir.exp", f)) == "T.exp(f)"
    assert repr(tir.const(2**40)) == "T.int64(1099511627776)"
    assert repr(tir.const(2**63)) == "T.uint64(9223372036854775808)"
    assert tir.isnan(f).dtype == "bool"
    assert int(tir.max_value("int8")) == 127


def test_buffers_are_indexed_like_arrays() -> None:
    a = tir.decl_buffer((16, 32), "float32", name="A")
    i = tir.var("i")
    assert repr(a[i, i + 1]) == "A[i, i + 1]"
    assert repr(a[i, 0:16:4]) == "A[i, 0:16:4]"
    assert a[i, 0:16:4].dtype == "float32x4"
    region = a[i, 4:12]
    assert isinstance(region, tir.BufferRegion)
    assert repr(region) == "A[i, 4:12]"
    assert repr(a[:, i]) == "A[0:16, i]"


def test_a_function_prints() -> None:
    func = matmul_like()
    text = """# from loopsmith.script import tir as T

@T.prim_func
def main(A: T.Buffer((128, 64), "float32")):
    T.func_attr({"tir.noalias": True})
    for i, j in T.grid(128, 64):
        A[i, j] = T.float32(0)"""
    assert func.script() == str(func) == text
    assert func.script(name="f", indent_spaces=2).splitlines()[3:5] == [
        'def f(A: T.Buffer((128, 64), "float32")):',
        '  T.func_attr({"global_symbol": "main", "tir.noalias": True})',
    ]
    store = func.body.body.body
    assert "^^^" in func.script(obj_to_underline=[store])
    assert "A[i, j] = T.float32(0)  # here" in func.script(obj_to_annotate={store: "here"})
    assert str(tir.var("x") + 1) == "x = T.int32()\nx + 1"


def test_show_prints_and_html_is_coloured(capsys: pytest.CaptureFixture[str]) -> None:
    func = matmul_like()
    func.show()
    assert capsys.readouterr().out == func.script() + "\n"
    html = func._repr_html_()
    assert "prim_func" in html
    assert "<" in html


def test_structure_is_compared_and_hashed() -> None:
    a, b, c = matmul_like(), matmul_like(), matmul_like(1.0)
    assert ir.structural_equal(a, b)
    assert not ir.structural_equal(a, c)
    assert ir.structural_hash(a) == ir.structural_hash(b) != ir.structural_hash(c)
    assert len(ir.structural_hash(a)) == 32
    ir.assert_structural_equal(a, b)
    with pytest.raises(ls.UserError, match=r"body\.body\.body\.value: FloatImm") as caught:
        ir.assert_structural_equal(a, c)
    assert "A[i, j] = T.float32(1)" in str(caught.value)
    assert ir.first_difference(a, b) is None
    x, y = tir.var("x"), tir.var("y")
    assert ir.structural_equal(x + 1, y + 1, map_free_vars=True)


def test_functions_and_modules_are_changed_by_copy() -> None:
    func = matmul_like()
    tiled = func.with_attr("tile", [1, 2, {"deep": "x"}])
    assert tiled.attrs["tile"] == [1, 2, {"deep": "x"}]
    assert "tile" not in func.attrs
    assert tiled.without_attr("tile").attrs == func.attrs
    module = ir.make_module({"main": func})
    assert module["main"] is func
    assert "main" in module
    assert "f" not in module
    with pytest.raises(KeyError):
        module["f"]
    assert "class Module:" in module.script()


def test_bad_functions_are_refused() -> None:
    stray = tir.PrimFunc(params=[], body=tir.Evaluate(tir.var("stray") + 1))
    assert not tir.is_well_formed(stray)
    with pytest.raises(ls.UserError, match="undefined variable stray"):
        tir.verify_well_formed(stray)
    tir.verify_well_formed(matmul_like())


def test_tir_names_all_nodes_and_intrinsics() -> None:
    ours = {"Tensor", "PlaceholderOp", "ComputeOp", "ScanOp", "ExternOp", "List", "Dict"}
    classes = {
        name
        for name, value in vars(_core).items()
        if isinstance(value, type) and issubclass(value, _core.Node)
    }
    assert classes - ours <= set(tir.__all__)
