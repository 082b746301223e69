# SPDX-License-Identifier: Apache-2.0
"""Every word of the script language: what it means prints and reads back, or it says why not."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import _core, tir
from loopsmith.script import ir as I  # noqa: N812
from loopsmith.script import tir as T  # noqa: N812

HEADER = """@T.prim_func
def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((64,), "int32"), p: T.handle, n: T.int32):
"""
BLOCK = """for i, j in T.grid(8, 8):
    with T.block("b"):
        vi, vj = T.axis.remap("SS", [i, j])
"""

# Words that stand for whole lines, or take what no other word takes.
TYPE = ['"float32"']
IN_FUNCTION = {
    "Assert": 'with T.Assert(n > 0, "n"):\n    B[0] = n',
    "Buffer": 'C = T.Buffer((4, 4), "int32", data=B.data)\nB[0] = C[0, 0]',
    "BufferLoad": "B[0] = T.BufferLoad(B, [n])",
    "Call": 'A[0, 0] = T.Call("float32", "exp", [A[0, 0]])',
    "Cast": 'A[0, 0] = T.Cast("float32", n)',
    "Broadcast": "B[0:4] = T.Broadcast(n, 4)",
    "FloatImm": 'A[0, 0] = T.FloatImm("float32", 1.5)',
    "IntImm": 'B[0] = T.IntImm("int32", 7)',
    "If": "with T.If(n > 0):\n    with T.Then():\n        B[0] = 1",
    "Then": "with T.If(n > 0):\n    with T.Then():\n        B[0] = 1",
    "Else": "with T.If(n > 0):\n    with T.Then():\n        B[0] = 1\n"
    "    with T.Else():\n        B[0] = 2",
    "While": "with T.While(B[0] > 0):\n    B[0] = B[0] - 1",
    "Let": "B[0] = T.Let(x + x, where={x: B[1]})",
    "LetStmt": "with T.LetStmt(n + 1) as x:\n    B[0] = x",
    "broadcast": "B[0:4] = T.broadcast(n, 4)",
    "ramp": "B[T.ramp(0, 2, 4)] = B[T.ramp(n, 1, 4)]",
    "Ramp": "B[T.Ramp(0, 2, 4)] = B[T.Ramp(n, 1, 4)]",
    "Ptr": 'q: T.Ptr("float32") = A.data\nC = T.Buffer((64,), data=q)\nC[0] = T.float32(0)',
    "Range": "with T.block('b'):\n    v = T.axis.spatial(T.Range(0, 8), n)\n    B[v] = 1",
    "Select": "B[0] = T.Select(n > 0, n, 1)",
    "Shuffle": "B[0:2] = T.Shuffle([B[0:2]], [1, 0])",
    "SizeVar": 'm = T.meta_var(T.SizeVar("m", "int32"))',
    "Var": 'm = T.meta_var(T.Var("m", "int32"))',
    "StringImm": 'T.evaluate(T.call_extern("int32", "f", T.StringImm("text")))',
    "address_of": 'T.evaluate(T.call_extern("int32", "f", T.address_of(B[n])))',
    "alloc_buffer": "C = T.alloc_buffer((8,))\nC[0] = 1.0",
    "allocate": 'q = T.allocate([8], "float32")\nC = T.Buffer((8,), data=q)\nC[0] = 1.0',
    "allocate_const": 'q = T.allocate_const([1, 2], "int32", [2])\n'
    'C = T.Buffer((2,), "int32", data=q)\nB[0] = C[1]',
    "attr": 'T.attr(B, "key", 1)\nB[0] = 1',
    "block": "with T.block('b'):\n    v = T.axis.spatial(8, n)\n    B[v] = 1",
    "buffer_decl": 'C = T.buffer_decl((4, 4), "int32", data=B.data)\nB[0] = C[0, 0]',
    "buffer_store": "T.buffer_store(B, n, [0])",
    "call_intrin": 'A[0, 0] = T.call_intrin("float32", "tir.exp", A[0, 0])',
    "call_global": None,
    "comm_reducer": 'T.attr(T.comm_reducer(lambda x, y: x + y, [T.int32(0)]), "key", 1)\nB[0] = 1',
    "decl_buffer": "C = T.decl_buffer((8,))\nC[0] = 1.0",
    "env_thread": 'bx = T.env_thread("blockIdx.x")\nT.launch_thread(bx, 8)\nB[bx] = 1',
    "evaluate": "T.evaluate(n)",
    "func_attr": 'T.func_attr({"key": 1})',
    "grid": "for i, j in T.grid(8, 8):\n    B[i * 8 + j] = 1",
    "index_map": 'T.attr(T.index_map(lambda i, j: (j, i)), "key", 1)\nB[0] = 1',
    "iter_var": 'T.attr(T.iter_var("v", T.Range(0, 8), "DataPar"), "key", 1)\nB[0] = 1',
    "launch_thread": 'bx = T.launch_thread("blockIdx.x", 8)\nB[bx] = 1',
    "let": "x = T.var('int32')\nwith T.let(x, n):\n    B[0] = x",
    "macro": None,
    "match_buffer": "C = T.match_buffer(p, (8,))\nC[0] = 1.0",
    "meta_var": "x = T.meta_var(n + 1)\nB[0] = x",
    "parallel": "for i in T.parallel(8):\n    B[i] = 1",
    "prefetch": "T.prefetch(A[0:4, 0:8])",
    "realize": 'C = T.Buffer((8,), "int32")\nwith T.realize(C[0:8]):\n    C[0] = 1',
    "reinterpret": 'A[0, 0] = T.reinterpret("float32", n)',
    "serial": 'for i in T.serial(1, 8, annotations={"key": 1}):\n    B[i] = 1',
    "range": "for i in T.range(8):\n    B[i] = 1",
    "size_var": "m = T.size_var('int32')\nC = T.match_buffer(p, (m,))\nC[0] = 1.0",
    "target": 'T.func_attr({"target": T.target({"kind": "llvm", "mcpu": "native"})})',
    "thread_binding": 'for i in T.thread_binding(8, thread="threadIdx.x"):\n    B[i] = 1',
    "tvm_access_ptr": 'T.evaluate(T.call_extern("int32", "f", B.access_ptr("r")))',
    "unroll": "for i in T.unroll(8):\n    B[i] = 1",
    "var": "m = T.var('int32')\nC = T.match_buffer(p, (m,))\nC[0] = 1.0",
    "vectorized": "for i in T.vectorized(8):\n    B[i] = 1",
}
IN_BLOCK = {
    "init": "with T.init():\n    A[vi, vj] = 0.0\nA[vi, vj] = 1.0",
    "reads": "T.reads(A[vi, vj])\nT.writes(A[vi, vj])\nA[vi, vj] = A[vi, vj] + 1.0",
    "writes": "T.reads()\nT.writes(A[vi, 0:8])\nA[vi, vj] = 1.0",
    "where": "T.where(i < 7)\nA[vi, vj] = 1.0",
    "block_attr": 'T.block_attr({"key": 1})\nA[vi, vj] = 1.0',
}
OF_2021 = {
    "bind": 'with T.block([8], "b") as [v]:\n    T.bind(v, n)\n    B[v] = 1',
    "range_axis": None,
    "reduce_axis": 'with T.block([T.reduce_axis(0, 8)], "b") as [v]:\n    B[0] = B[0] + v',
    "scan_axis": 'with T.block([T.scan_axis(0, 8)], "b") as [v]:\n    B[v] = 1',
    "opaque_axis": 'with T.block([T.opaque_axis(0, 8)], "b") as [v]:\n    B[v] = 1',
}
REFUSED = {
    "T.call_kernel(1)": "T.call_kernel: kernels of other compilers are not embedded",
    "T.ProducerLoad(A, [0])": "T.ProducerLoad: elements of tensors stand in tensor expressions",
    "T.Reduce(A)": "T.Reduce: reductions stand in tensor expressions",
    "T.CommReducer([], [], [], [])": "T.CommReducer: it is made of a lambda",
    "T.CallEffectKind()": "T.CallEffectKind: what a call may do is known of each intrinsic",
    "T.realize(B[0:8])": "T.realize: dimension 0 of B is realized in part",
    'T.func_attr({"target": T.target("abacus")})': "target: 'abacus' is not a kind of target",
    'T.func_attr({"target": T.target("c", host="c")})': "T.target: a host is given",
    'T.func_attr({"target": T.target({"kind": "c", "x": [1]})})': "T.target: x is no text",
    'T.FloatImm("int32", 1.5)': "T.FloatImm: int32 is no floating type",
    "T.BufferLoad(n, [0])": "T.BufferLoad: a value of type int32 is no buffer",
}


def read(lines: str) -> ls.tir.PrimFunc:
    return ls.from_source(HEADER + textwrap.indent(lines, "    ") + "\n")


def assert_round_trip(lines: str) -> None:
    func = read(lines)
    again = ls.from_source(func.script())
    ls.assert_structural_equal(func, again)
    assert again.script() == func.script()


ROWS = {**IN_FUNCTION, **OF_2021}
NODES = [
    *("Add", "Sub", "Mul", "Div", "Mod", "FloorDiv", "FloorMod", "Min", "Max"),
    *("EQ", "NE", "LT", "LE", "GT", "GE"),
]
REFUSED_WORDS = {call.split("(")[0][2:] for call in REFUSED}
INTRINSICS = sorted(
    word.name
    for word in _core.script_words("T")
    if word.name not in ROWS
    and word.name not in IN_BLOCK
    and word.name not in NODES
    and word.name not in REFUSED_WORDS
)


@pytest.mark.parametrize("word", [word for word, lines in ROWS.items() if lines])
def test_a_word_prints_and_reads_back(word: str) -> None:
    assert hasattr(T, word)
    lines = ROWS[word]
    assert lines
    assert_round_trip(lines)


@pytest.mark.parametrize("word", IN_BLOCK)
def test_a_word_of_blocks_prints_and_reads_back(word: str) -> None:
    assert hasattr(T, word)
    assert_round_trip(BLOCK + textwrap.indent(IN_BLOCK[word], " " * 8))


@pytest.mark.parametrize("word", [*NODES, "And", "Or"])
def test_a_node_prints_and_reads_back(word: str) -> None:
    assert_round_trip(f"T.evaluate(T.{word}(n, B[0]))" if word in NODES else
                      f"T.evaluate(T.{word}(n > 0, B[0] > 0))")  # fmt: skip


@pytest.mark.parametrize("kind", ["spatial", "S", "reduce", "R", "scan", "opaque"])
def test_an_axis_prints_and_reads_back(kind: str) -> None:
    assert_round_trip(f"with T.block('b'):\n    v = T.axis.{kind}(8, n)\n    B[v] = 1")


OPERANDS = {"x": tir.var("x", "float32"), "i": tir.var("i"), "c": tir.var("c", "bool")}


# Those that take what no other takes.
CALLS = {
    "get_active_lane_mask": 'T.get_active_lane_mask("boolx4", i, i)',
    "large_uint_imm": 'T.large_uint_imm("uint64", 1, 2)',
    "vectorcombine": 'T.vectorcombine("float32x4", T.Broadcast(x, 2), T.Broadcast(x, 2))',
    "vectorhigh": 'T.vectorhigh("float32x2", T.Broadcast(x, 4))',
    "vectorlow": 'T.vectorlow("float32x2", T.Broadcast(x, 4))',
}


def call_of(word: str) -> str | None:
    """Return operands with which an intrinsic can be called; None when none were found."""
    if word in CALLS:
        return f"T.evaluate({CALLS[word]})"
    for count in range(11):
        for operand in OPERANDS:
            for given in ([operand] * count, ["float32", *[operand] * count]):
                try:
                    getattr(T, word)(*(OPERANDS.get(each, each) for each in given))
                except ls.UserError:
                    continue
                shown = (each if each in OPERANDS else f'"{each}"' for each in given)
                return f"T.evaluate(T.{word}({', '.join(shown)}))"
    return None


def test_realized_memory_may_be_in_a_scope_of_its_own() -> None:
    lines = 'C = T.Buffer((8,), "int32")\nwith T.realize(C[0:8], "shared"):\n    C[0] = 1'
    script = read(f"{lines}\n    B[0] = C[0]").script()
    assert 'C = T.decl_buffer((8,), "int32", scope="shared")' in script
    assert "C = T.Buffer" not in script
    assert_round_trip(lines)


def test_every_intrinsic_prints_and_reads_back() -> None:
    calls = {word: call_of(word) for word in INTRINSICS}
    assert [word for word, call in calls.items() if call is None] == []
    header = "@T.prim_func\ndef main(x: T.float32, i: T.int32, p: T.handle, c: T.bool):\n"
    func = ls.from_source(header + "".join(f"    {call}\n" for call in calls.values()))
    again = ls.from_source(func.script())
    ls.assert_structural_equal(func, again)
    assert again.script() == func.script()


def stored(call: str) -> str:
    """Return lines that use the value of a call, so that it is not left out."""
    value = call[len("T.evaluate(") : -1]
    dtype = eval(value, {"T": T, **OPERANDS}).dtype
    if dtype in ("handle", "void") or "x" in dtype:
        return call
    lines = [f'O = T.decl_buffer((1,), "{dtype}")', f"O[0] = {value}"]
    return "\n    ".join([*lines, 'Q[0] = T.Cast("float32", O[0])'])


def test_every_intrinsic_has_code_or_says_what_has() -> None:
    header = "@T.prim_func\ndef main(x: T.float32, i: T.int32, c: T.bool, Q: T.Buffer((4,))):\n"
    with_code, refused = [], {}
    for word in INTRINSICS:
        lines = stored(call_of(word))
        func = ls.from_source(f"{header}    {lines}\n")
        try:
            ls.build(func)
        except ls.LowerError as error:
            if error.code == "intrinsic_has_code":
                refused[word] = f"{error.problem}: {error.hint}"
                with pytest.raises(ls.LowerError, match="target c has no code for"):
                    ls.build(func, target="c")
        except ls.UserError as error:
            assert error.code in ("call_names_function", "return_has_no_value", "atomic_type")
        else:
            with_code.append(re.sub(r"\bO\b", f"O_{word}", lines))
    ls.build(ls.from_source(header + "".join(f"    {lines}\n" for lines in with_code)), target="c")
    assert refused["tvm_call_trace_packed"] == (
        "target llvm has no code for tvm_call_trace_packed: "
        "call a function of the host by T.call_packed, one of C by T.call_extern"
    )
    assert "tvm_storage_sync" in refused and "ptx_mma" in refused and "dp4a" in refused


WRONG_CALLS = {
    'T.isnan("text")': "isnan takes a number, not (handle) for a result of bool",
    'T.large_uint_imm("uint64", i, i)': "large_uint_imm takes the constants of the lower and the",
    'T.get_active_lane_mask("float32", i, i)': "get_active_lane_mask takes two integers, not",
    'T.vectorlow("float32x4", x)': "vectorlow takes a vector of twice the lanes, or two of half",
    'T.call_intrin("float64", "tir.exp", x)': "exp takes numbers of the type of its result, not",
    'T.call_intrin("int32", "tir.if_then_else", i, i, i)': "if_then_else takes a bool and two",
    'T.call_intrin("int32", "tir.isnullptr", i)': "isnullptr takes a pointer, not (int32)",
    'T.call_intrin("float32", "tir.atomic_add", x, x)': "atomic_add takes an address and a number",
    'T.call_intrin("float32", "tir.vector_reduce_add", "a")': "vector_reduce_add takes a vector of",
    'T.call_extern("int32", "f", T.Broadcast(i, 2))': "call_extern takes values with the lanes of",
    "T.tvm_access_ptr(x, x, i, i, i)": "tvm_access_ptr takes a type, a pointer and three integers",
    "T.prefetch(x, 0, 0, 0)": "prefetch takes an address and the constants 0..1, 0..3, 0..1, not",
    "T.sqrt(i)": "sqrt: the operands are int32, not floating-point numbers",
    "T.fma(i, i, i)": "fma: the operands are int32, not floating-point numbers",
    "i ** i": "pow: the operands are int32, not floating-point numbers",
    "T.popcount(x)": "popcount: the operands are float32, not integers",
}


@pytest.mark.parametrize("call", WRONG_CALLS)
def test_a_call_of_wrong_types_is_refused_where_it_stands(call: str) -> None:
    header = "@T.prim_func\ndef main(x: T.float32, i: T.int32):\n"
    with pytest.raises(ls.ScriptError) as caught:
        ls.from_source(f"{header}    T.evaluate({call})\n")
    assert caught.value.problem.startswith(WRONG_CALLS[call])
    assert caught.value.hint


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_powers_of_integers_are_products(target: str) -> None:
    @T.prim_func
    def powers(A: T.Buffer((4,), "int32"), n: T.int32):
        A[0] = n**0
        A[1] = n**1
        A[2] = n**5
        A[3] = (n - 5) ** 3

    results, expected = np.zeros(4, np.int32), [1, 3, 243, -8]
    ls.build(powers, target)(results, 3)
    assert results.tolist() == expected
    ls.interp.run(powers, results, 3)
    assert results.tolist() == expected
    assert repr(tir.var("x") ** 2) == "x * x"


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_constants_of_odd_bits_are_refused(target: str) -> None:
    func = read(
        'q = T.allocate_const([1, 2], "int3", [2])\n'
        'C = T.Buffer((2,), "int3", data=q)\nB[0] = T.Cast("int32", C[1])'
    )
    with pytest.raises(ls.LowerError, match="constant q: memory of int3 is not written into code"):
        ls.build(func, target)


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_function_of_c_is_called_for_each_lane(target: str) -> None:
    @T.prim_func
    def roots(A: T.Buffer((16,)), B: T.Buffer((16,))):
        for i in T.vectorized(16):
            B[i] = T.call_pure_extern("float32", "cbrtf", A[i])

    values, results = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    ls.build(roots, target)(values, results)
    np.testing.assert_allclose(results, np.cbrt(values), rtol=1e-6)


@pytest.mark.parametrize("name", T.type_names)
def test_a_type_makes_constants_and_variables(name: str) -> None:
    if name in ("handle", "void"):
        return
    is_vector = "x" in name
    if not is_vector:
        assert_round_trip(f"T.evaluate(T.{name}({'True' if 'bool' in name else 1}))")
    func = read(f"x = T.{name}()\nT.evaluate(T.call_extern('int32', 'f', n))")
    assert func.name == "main"


@pytest.mark.parametrize("lines", REFUSED)
def test_a_word_without_a_meaning_says_why(lines: str) -> None:
    with pytest.raises(ls.ScriptError) as caught:
        read(lines)
    assert caught.value.problem.startswith(REFUSED[lines])
    assert caught.value.hint
    assert "at <script" in str(caught.value) and f"    {lines}" in str(caught.value)


def test_words_of_modules() -> None:
    text = """
@I.ir_module
class Module:
    I.module_attrs({"a": 1})
    I.module_set_attr("b", 2)
    c = I.module_get_attr("b")
    @T.prim_func
    def main(B: T.Buffer((8,), "int32")):
        B[0] = 1
"""
    module = ls.from_source(text)
    ls.assert_structural_equal(module, ls.from_source(module.script()))
    for word in ("module_global_infos({})", "dummy_global_info()"):
        wrong = text.replace('I.module_attrs({"a": 1})', f"I.{word}")
        with pytest.raises(ls.ScriptError, match="modules have functions and attributes"):
            ls.from_source(wrong)
    assert set(I.__all__) >= {word.name for word in _core.script_words("I")}
