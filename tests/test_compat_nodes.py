# SPDX-License-Identifier: Apache-2.0
"""Nodes, modules and passes as programs that import tvm use them."""

from __future__ import annotations

from typing import Any

import loopsmith.compat
import numpy as np
import pytest

import loopsmith as ls


def test_classes_have_their_own_attributes_again(tvm: Any) -> None:
    x = tvm.te.var("x")
    call = tvm.tir.exp(tvm.te.var("y", "float32"))
    assert (str(x + 1), call.op.name) == ("x + 1", "tir.exp")
    loopsmith.compat.uninstall()
    assert str(x + 1) == "x = T.int32()\nx + 1"
    assert call.op == "exp"
    assert not hasattr(ls.tir.Buffer, "READ")
    loopsmith.compat.install()


def test_vectors_have_lanes_of_any_kind(tvm: Any) -> None:
    tir = tvm.tir
    ramp = tir.Ramp(0, 1, tir.IntImm("int64", 11))
    assert (ramp.lanes.value, ramp.lanes.dtype) == (11, "int32")
    scalable = tir.Broadcast(1, tir.vscale() * 4)
    assert (scalable.dtype, repr(scalable.lanes)) == ("int32xvscalex4", "T.vscale() * 4")
    with pytest.raises(tvm.TVMError, match="is no multiple of vscale"):
        tir.Ramp(0, 1, tir.vscale() + 3)
    wide = tir.Ramp(tir.IntImm("int64", 0), 1, 4)
    assert wide.dtype == "int64x4"
    buffer = tir.decl_buffer((24,), "int32")
    index = tir.Ramp(0, 1, tir.vscale() * 4)
    assert tir.BufferLoad(buffer, [index]).dtype == "int32xvscalex4"
    with pytest.raises(tvm.TVMError, match="must be boolean values, but got int32"):
        tir.BufferLoad(buffer, [index], scalable)
    func = tir.PrimFunc([buffer], tir.BufferStore(buffer, scalable, [index]))
    assert "T.Broadcast(1, T.vscale() * 4)" in func.script()
    assert ls.structural_equal(ls.from_source(func.script()), func)
    filled = np.zeros(24, "int32")
    ls.build(func)(filled)
    # As many as a register holds.
    assert filled.sum() in (4, 8, 16) and not filled[filled.sum() :].any()


def test_numbers_know_their_types(tvm: Any) -> None:
    tir = tvm.tir
    assert [tir.const(data).dtype for data in (np.uint8(1), np.float16(1), True, 1)] == [
        "uint8",
        "float16",
        "bool",
        "int32",
    ]
    assert tvm.te.var("p", tvm.ir.PointerType(tvm.ir.PrimType("float"))).dtype == "handle"
    assert repr(tir.isnan(tvm.te.var("z"))) == "T.bool(False)"
    assert repr(tir.isnan(tvm.te.var("h", "float16"))) == 'T.isnan(T.Cast("float32", h))'
    assert tir.call_intrin("int32", "tir.clz", tir.IntImm("int64", 1)).dtype == "int32"
    with pytest.raises(ValueError, match="at least 1 argument"):
        tir.all()
    x = tvm.te.var("x")
    with pytest.raises(ValueError, match="no Python bool"):
        bool(x)
    with pytest.raises(tvm.TVMError, match="Shift amount must be non-negative"):
        x << 32
    with pytest.raises(RuntimeError, match="bitwise_not"):
        ~tir.const(1.5)


def test_buffers_point_and_load(tvm: Any) -> None:
    tir = tvm.tir
    n = tvm.te.size_var("n")
    buffer = tir.decl_buffer((16, n), "float32", elem_offset=100)
    assert [repr(each) for each in buffer.offset_of([2, 3])] == ["n * 2 + 103"]
    pointer = buffer.access_ptr("rw", offset=4)
    assert pointer.args[4].value == tir.Buffer.READ | tir.Buffer.WRITE
    with pytest.raises(ValueError, match="Unknown access_mask x"):
        buffer.access_ptr("x")
    assert buffer.vload([0, 0], "float32x4").dtype == "float32x4"
    assert isinstance(buffer.vstore([0, 0], 1.0), tir.BufferStore)
    with pytest.raises(ValueError, match="Axis separators"):
        tir.decl_buffer([1], axis_separators=[1, 2])


def test_statements_are_joined_and_parted(tvm: Any) -> None:
    tir = tvm.tir
    both = tir.stmt_seq(tvm.te.var("x"), tir.Evaluate(1))
    assert (len(both), repr(both[0].value)) == (2, "x")
    assert [each.same_as(part) for each, part in zip(tir.stmt_list(both), both.seq)] == [True] * 2
    assert tir.stmt_list(both[1])[0].same_as(both[1])


def test_modules_change_in_place(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def one(A: T.Buffer((4,), "int32")):
        A[0] = 1

    @T.prim_func
    def two(A: T.Buffer((4,), "int32")):
        A[0] = 2

    module = tvm.IRModule({"one": one})
    before = module
    module["two"] = two
    assert [name.name_hint for name, _ in module.functions.items()] == ["one", "two"]
    assert module.functions["two"].same_as(two)
    module.update_func(module.get_global_var("one"), two)
    assert before["one"].same_as(two)
    module.update(tvm.IRModule({"three": one}))
    assert len(module.get_global_vars()) == 3
    with pytest.raises(ValueError, match='Cannot find global var "four"'):
        module.get_global_var("four")


def test_passes_run_by_their_names(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def main(A: T.Buffer((16,), "int32")):
        for i in T.unroll(4):
            A[i * 1 + 0] = i

    module = tvm.IRModule({"main": main})
    passes = [tvm.tir.transform.Simplify(), tvm.tir.transform.UnrollLoop()]
    unrolled = tvm.transform.Sequential(passes)(module)
    assert len(unrolled["main"].body) == 4
    out = np.full(16, 7, "int32")
    ls.interp.run(unrolled["main"], out)
    assert out[:5].tolist() == [0, 1, 2, 3, 7]

    @tvm.tir.transform.prim_func_pass(opt_level=0)
    def mark(func: Any, mod: Any, context: Any) -> Any:
        return func.with_attr("marked", 1)

    assert mark.info.name == "mark"
    assert mark(module)["main"].attrs["marked"] == 1
    assert len(tvm.tir.transform.Filter(lambda func: False)(module)) == 0
    with pytest.raises(TypeError, match="takes no such options"):
        tvm.tir.transform.Simplify(1)
    with pytest.raises(ls.LowerError, match="there is no pass 'nothing'"):
        ls.run_pass(main, "nothing")


def test_a_pass_is_compared_before_and_after(tvm: Any) -> None:
    from tvm import testing
    from tvm.script import tir as T

    class Case(testing.CompareBeforeAfter):
        transform = tvm.tir.transform.Simplify()

        @T.prim_func
        def before(A: T.Buffer((16,), "int32")):  # noqa: N805
            A[0] = T.Add(1, 2)

        @T.prim_func
        def expected(A: T.Buffer((16,), "int32")):  # noqa: N805
            A[0] = 3

    case = Case()
    parts = [vars(Case)[name] for name in ("before", "expected")]
    before, expected = (
        getattr(part, "__wrapped__", getattr(part, "_fixture_function", None))(case)
        for part in parts
    )
    case.test_compare(before, expected, Case.transform)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        case.test_compare(expected, before, Case.transform)


def test_layouts_map_indices_and_shapes(tvm: Any) -> None:
    tir = tvm.tir
    layout = tir.layout("NCHW16c")
    assert (len(layout), layout[1], layout.index_of("c"), layout.factor_of("C")) == (5, "C", 4, 16)
    maps = tir.bijective_layout("NCHW", "NCHW16c")
    assert [int(x) for x in maps.forward_shape([1, 32, 7, 7])] == [1, 2, 7, 7, 16]
    assert [int(x) for x in maps.backward_shape([1, 2, 7, 7, 16])] == [1, 32, 7, 7]
    assert [int(x) for x in maps.forward_index([0, 18, 6, 6])] == [0, 1, 6, 6, 2]
    assert [int(x) for x in maps.backward_index([0, 1, 6, 6, 2])] == [0, 18, 6, 6]
    for wrong in ("NCHW16C", "NCC", "N4c"):
        with pytest.raises(ValueError, match="Invalid layout"):
            tir.layout(wrong)
    with pytest.raises(ValueError, match="different dimensions"):
        tir.bijective_layout("NCHW", "NHW")


def test_functions_are_compared_without_their_names(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def one(A: T.Buffer((4,), "int32")):
        A[0] = 1

    @T.prim_func
    def other(A: T.Buffer((4,), "int32")):
        A[0] = 1

    assert not ls.structural_equal(one, other)
    tvm.ir.assert_structural_equal(one, other)
    tvm.ir.assert_structural_equal(tvm.tir.Schedule(one).mod["main"], other)
    modules = [tvm.IRModule({"main": func}) for func in (one, other)]
    assert tvm.ir.structural_equal(*modules)
    assert tvm.ir.structural_hash(one) == tvm.ir.structural_hash(other)
    assert not tvm.ir.structural_equal(modules[0], tvm.IRModule({"name": one}))
    assert not tvm.ir.structural_equal(one, other.with_attr("key", 1))
    x, y = tvm.te.var("x"), tvm.te.var("y")
    assert tvm.ir.structural_hash(x + 1, True) == tvm.ir.structural_hash(y + 1, True)


def test_scripts_take_options_of_text(tvm: Any) -> None:
    from tvm.script import tir as T

    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        A[0] = 1

    assert main.script(show_meta=True, verbose_expr=False) == main.script()
    with pytest.raises(loopsmith.compat.MissingName, match="int_dtype='int64'"):
        main.script(int_dtype="int64")
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        main.script(colour=True)
    with pytest.raises(TypeError, match="specialize"):
        main.specialize({main.params[0]: tvm.tir.decl_buffer((4, 4), "int32")})


def test_modules_have_attributes_and_other_names(tvm: Any) -> None:
    from tvm.script import ir as I
    from tvm.script import tir as T

    @I.ir_module
    class Module:
        @T.prim_func
        def next(x: T.int32) -> T.int32:  # noqa: N805
            return x + 1

        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):  # noqa: N805
            A[0] = Module.next(3)

    renamed = Module.replace_global_vars({"next": "after"})
    assert "after" in renamed
    assert "next" not in renamed
    assert "cls.after(3)" in renamed.script()
    assert renamed["after"].attrs["global_symbol"] == "after"
    with pytest.raises(ValueError, match="there is no function nothing"):
        Module.replace_global_vars({"nothing": "after"})
    marked = Module.with_attr("a", 1).with_attrs({"b": 2})
    assert (marked.get_attr("a"), marked.get_attr("b"), marked.get_attr("c")) == (1, 2, None)
    assert marked.without_attr("a").get_attr("a") is None
    del marked["next"]
    assert "next" not in marked
    for_gpu = Module["main"].with_attr("target", tvm.target.Target("cuda"))
    assert for_gpu.attrs["target"] == "cuda"
    with pytest.raises(tvm.TVMError, match="with_attr: the value of what is a object"):
        Module["main"].with_attr("what", object())


def test_digits_are_made_and_compared(tvm: Any) -> None:
    x = tvm.te.var("x")
    mark = tvm.arith.IterMark(x, 64)
    digit = tvm.arith.IterSplitExpr(mark, 8, 8, 1)
    found = tvm.arith.detect_iter_map([x // 8, x % 8], {x: tvm.ir.Range(0, 64)})
    tvm.ir.assert_structural_equal(found.indices[0], tvm.arith.IterSumExpr([digit], 0))
    other = tvm.arith.IterSumExpr([tvm.arith.IterSplitExpr(mark, 1, 8, 1)], 0)
    assert not tvm.ir.structural_equal(found.indices[0], other)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        tvm.ir.assert_structural_equal(found.indices[0], other)
    of_sum = tvm.arith.IterMark(tvm.arith.IterSumExpr([digit], 0), 8)
    tvm.ir.assert_structural_equal(
        tvm.arith.normalize_iter_map_to_expr(
            tvm.arith.IterSumExpr([tvm.arith.IterSplitExpr(of_sum, 1, 8, 2)], 3)
        ),
        x // 8 * 2 + 3,
    )
    with pytest.raises(tvm.TVMError, match=r"x \+ 1, neither a variable nor an IterSumExpr"):
        tvm.arith.IterMark(x + 1, 64)


def test_bounds_of_one_unknown_give_a_range(tvm: Any) -> None:
    bounds = tvm.arith.IntGroupBounds.from_range(tvm.ir.Range(2, 12))
    best = bounds.find_best_range()
    assert (best.min.value, best.extent.value) == (2, 10)
    n = tvm.te.var("n")
    several = tvm.arith.IntGroupBounds(2, [0], [], [n, tvm.tir.const(9)])
    best = several.find_best_range({n: tvm.ir.Range(0, 4)})
    tvm.testing.assert_prim_expr_equal(best.extent, n // 2 + 1)


def test_types_of_elements_have_parts(tvm: Any) -> None:
    dtype = tvm.DataType("float32x4")
    assert (dtype, dtype.type_code, dtype.bits, dtype.lanes) == ("float32x4", 2, 32, 4)
    assert dtype.with_lanes(1) == "float32"
    assert (tvm.DataType("bool").bits, tvm.DataType("handle").type_code) == (1, 3)
    with pytest.raises(ValueError, match="nonsense"):
        tvm.DataType("nonsense7")
    pointer = tvm.ir.PointerType(tvm.ir.PrimType("float32"))
    assert pointer.element_type.dtype == "float32"
    assert tvm.target.Target("cuda", host="llvm").host.kind.name == "llvm"


def test_ways_lead_to_the_fields_of_constants(tvm: Any) -> None:
    x = tvm.tir.Var("x", "int32")
    find = tvm.ir.get_first_structural_mismatch
    root = tvm.runtime.ObjectPath.root()
    assert find(x + 1, x + 2) == (root.attr("b").attr("value"),) * 2
    assert find(tvm.tir.const(1, "int32"), tvm.tir.const(1, "int64"))[0] == root.attr("dtype")
    assert find(x + 1, x + x)[0] == root.attr("b")
    with pytest.raises(ValueError, match=r"lhs at <root>\.b\.value and rhs at <root>\.b\.value"):
        tvm.ir.assert_structural_equal(x + 1, x + 2)


def test_a_negation_is_a_product(tvm: Any) -> None:
    x = tvm.te.var("x")
    assert tvm.ir.structural_equal(-x, x * -1) and isinstance(-x, tvm.tir.Mul)
    assert int(-tvm.tir.const(3)) == -3 and (-tvm.te.var("u", "uint8")).dtype == "uint8"


def test_classes_visit_and_change_trees(tvm: Any) -> None:
    from tvm.script import tir as T
    from tvm.tir.functor import PyStmtExprMutator, PyStmtExprVisitor, mutator, visitor

    @T.prim_func
    def main(A: T.Buffer((8,), "float32")):
        for i in range(8):
            if i < 4:
                A[i] = A[i] * 2.0 + 1.0

    @visitor
    class Names(PyStmtExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.seen: list[str] = []

        def visit_for_(self, op: Any) -> None:
            self.seen.append("for")
            self.visit_stmt(op.body)

        def visit_if_then_else_(self, op: Any) -> None:
            self.seen.append("if")
            super().visit_if_then_else_(op)

        def visit_buffer_load_(self, op: Any) -> None:
            self.seen.append("load")

    names = Names()
    names.visit_stmt(main.body)
    assert names.seen == ["for", "if", "load"]

    @mutator
    class Sums(PyStmtExprMutator):
        def visit_mul_(self, op: Any) -> Any:
            return tvm.tir.Add(self.visit_expr(op.a), op.b)

    text = str(Sums().visit_stmt(main.body))
    assert "A[i] = A[i] + T.float32(2) + T.float32(1)" in text
