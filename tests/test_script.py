# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir
from loopsmith.script import from_source
from loopsmith.script import ir as I
from loopsmith.script import tir as T

ROOT = Path(__file__).parent.parent


def run(func: tir.PrimFunc, *arrays: np.ndarray) -> None:
    ls.build(func)(*arrays)


# ---- Programs that people wrote ----


def test_a_loop_that_starts_at_one() -> None:
    @T.prim_func
    def main(
        A: T.Buffer((100,), "float16"),
        B: T.Buffer((100,), "float16"),
    ):
        for i_ in range(1, 100):
            with T.block("block"):
                i = T.axis.remap("S", [i_,])  # fmt: skip
                B[i] = A[i] + 1

    a, b = np.random.rand(100).astype("float16"), np.zeros(100, "float16")
    run(main, a, b)
    np.testing.assert_array_equal(b[1:], a[1:] + np.float16(1))
    assert b[0] == 0


def test_a_prefix_sum() -> None:
    @T.prim_func
    def main(
        A: T.Buffer((100,), "float16"),
        B: T.Buffer((100,), "float16"),
    ):
        B[0] = 0
        for i_ in range(99):
            with T.block("block"):
                i = T.axis.remap("R", [i_,])  # fmt: skip
                B[i + 1] = B[i] + A[i + 1]

    a, b = np.ones(100, "float16"), np.zeros(100, "float16")
    run(main, a, b)
    np.testing.assert_array_equal(b, np.arange(100, dtype="float16"))


def test_an_operation_in_place() -> None:
    @T.prim_func
    def main(
        A: T.Buffer((100,), "float16"),
        B: T.Buffer((100,), "float16"),
    ):
        for i_ in range(100):
            with T.block("block"):
                i = T.axis.remap("S", [i_,])  # fmt: skip
                B[i] = B[i] + A[i]

    a, b = np.ones(100, "float16"), np.arange(100, dtype="float16")
    run(main, a, b)
    np.testing.assert_array_equal(b, np.arange(100, dtype="float16") + 1)


def test_a_branch_around_loops() -> None:
    @T.prim_func
    def main(A: T.Buffer((100, 100), "float16")):
        for i in range(100):
            if i % 2 == 0:
                for j in range(100):
                    with T.block("block1"):
                        A[i, j] = 1
            else:
                for j in range(100):
                    with T.block("block2"):
                        A[i, j] = 2

    a = np.zeros((100, 100), "float16")
    run(main, a)
    np.testing.assert_array_equal(a[::2], 1)
    np.testing.assert_array_equal(a[1::2], 2)


def test_the_syntax_of_2021() -> None:
    func = from_source("""
@tvm.script.tir
def matmul(x: ty.handle, y: ty.handle, z: ty.handle) -> None:
    X = tir.match_buffer(x, [128, 128], "float32")
    Y = tir.match_buffer(y, [128, 128], "float32")
    Z = tir.match_buffer(z, [128, 128], "float32")
    # the name of the block is "Z"
    with tir.block([128, 128, tir.reduce_axis(0, 128)], "Z") as [i, j, k]:
        with tir.init():
            Z[i, j] = tir.float32(0)
        Z[i, j] = Z[i, j] + (X[i, k] * Y[k, j])
""")
    x, y = np.random.rand(2, 128, 128).astype("float32")
    z = np.zeros((128, 128), "float32")
    run(func, x, y, z)
    np.testing.assert_allclose(z, x @ y, rtol=1e-5)


def test_loops_with_steps_scalars_and_leaps() -> None:
    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), B: T.Buffer((8,), "int32"), n: T.int32):
        total = 0
        for i in range(1, n, 3):
            if A[i] < 0:
                continue
            if A[i] > 90:
                break
            total += A[i]
        B[0] = total
        steps = 0
        x = A[0]
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            steps += 1
        B[1] = steps
        for i in range(7, 1, -1):
            B[i] = i * 10

    a = np.random.randint(-5, 95, 64).astype("int32")
    a[0] = 27
    b = np.zeros(8, "int32")
    run(main, a, b, 60)
    total = 0
    for i in range(1, 60, 3):
        if a[i] < 0:
            continue
        if a[i] > 90:
            break
        total += a[i]
    assert b.tolist() == [total, 111, 20, 30, 40, 50, 60, 70]


def test_indices_and_extents_that_are_read() -> None:
    @T.prim_func
    def gather(
        rows: T.Buffer((5,), "int32"),
        columns: T.Buffer((12,), "int32"),
        x: T.Buffer((6,), "float32"),
        y: T.Buffer((4,), "float32"),
    ):
        for i in range(4):
            s = T.float32(0)
            for k in range(rows[i], rows[i + 1]):
                s += x[columns[k]]
            y[i] = s

    rows = np.array([0, 3, 3, 7, 12], "int32")
    columns = np.random.randint(0, 6, 12).astype("int32")
    x, y = np.random.rand(6).astype("float32"), np.zeros(4, "float32")
    run(gather, rows, columns, x, y)
    expected = [x[columns[rows[i] : rows[i + 1]]].sum() for i in range(4)]
    np.testing.assert_allclose(y, expected, rtol=1e-6)


# ---- Python's values ----

WIDTH = 16


def scaled(x: tir.Expr, factor: float) -> tir.Expr:
    return T.max(x * T.float32(factor), 0)


def test_values_and_functions_of_the_closure() -> None:
    shape = (4, WIDTH)
    weights = [0.5, 2.0]
    table = {"bias": 3}

    @T.prim_func
    def main(A: T.Buffer(shape, "float32"), B: T.Buffer(shape, "float32")):
        for i, j in T.grid(*shape):
            B[i, j] = sum([scaled(A[i, j], w) for w in weights]) + table["bias"] + len(f"{WIDTH}")

    a = np.random.randn(4, WIDTH).astype("float32")
    b = np.zeros_like(a)
    run(main, a, b)
    np.testing.assert_allclose(b, np.maximum(a, 0) * 2.5 + 5, rtol=1e-6)


def test_what_is_known_chooses_the_branch() -> None:
    def make(bias: bool) -> tir.PrimFunc:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            for i in T.unroll(8):
                if bias:
                    A[i] = A[i] + 1
                else:
                    A[i] = 0

        return main

    assert "A[i] + " in make(True).script()
    assert "A[i] + " not in make(False).script()


def test_sizes_from_variables_of_python() -> None:
    n = T.int32(is_size_var=True)

    @T.prim_func
    def main(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (n, 4), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in T.parallel(n):
            B[i] = T.float32(0)
            for j in range(4):
                B[i] += A[i, j]

    a, b = np.random.rand(7, 4).astype("float32"), np.zeros(7, "float32")
    run(main, a, b)
    np.testing.assert_allclose(b, a.sum(1), rtol=1e-6)


def test_macros_take_names_from_where_they_stand() -> None:
    offset = 1

    @T.macro
    def add(buffer, i):
        buffer[i] = buffer[i] + offset

    @T.macro(hygienic=False)
    def add_there(buffer, i):
        buffer[i] = buffer[i] + offset

    assert add.hygienic and not add_there.hygienic

    def make() -> tir.PrimFunc:
        offset = 10

        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            for i in range(4):
                add(A, i)
                add_there(A, i + 4)
            A[0] += offset

        return main

    a = np.zeros(8, "int32")
    run(make(), a)
    assert a.tolist() == [11, 1, 1, 1, 10, 10, 10, 10]


def test_words_work_outside_of_scripts() -> None:
    x = tir.var("x", "float32")
    assert repr(T.exp(x) + T.float32(1)) == "T.exp(x) + T.float32(1)"
    assert repr(T.float16("inf")) == 'T.float16("inf")'
    assert isinstance(T.Buffer((8, 8), "float16"), tir.Buffer)
    assert T.float32x4 is not None
    assert repr(T.axis.spatial).startswith("<T.axis.spatial(dom")
    assert T.exp.doc == "e to the power of x."
    with pytest.raises(ls.ScriptError, match=r"T\.alloc_buffer is used outside of a function"):
        T.alloc_buffer((8,))
    with pytest.raises(ls.ScriptError, match=r"T\.reads is used outside of a function"):
        T.reads()


def test_annotations_may_be_texts() -> None:
    namespace: dict[str, object] = {"T": T}
    assert isinstance(namespace["T"], type(T))

    @T.prim_func
    def main(A: T.Buffer((8,), "float32"), x: "T.float32") -> T.float32:
        return A[0] + x

    assert main.ret_type == "float32"
    assert [p.dtype for p in main.params] == ["handle", "float32"]


# ---- Modules ----


def test_a_module_of_functions_that_call_each_other() -> None:
    size = 8

    @I.ir_module
    class Module:
        I.module_attrs({"version": 2})

        @T.prim_func(private=True)
        def double(x: T.float32) -> T.float32:
            return x * T.float32(2)

        @T.prim_func
        def main(A: T.Buffer((size,), "float32")):
            for i in range(size):
                A[i] = Module.double(A[i]) + cls.double(1.0)  # noqa: F821

    assert isinstance(Module, tir.IRModule)
    assert len(Module) == 2
    assert "double" in Module
    assert "A[i] = cls.double(A[i]) + cls.double(T.float32(1))" in Module.script()
    ls.assert_structural_equal(from_source(Module.script()), Module)


# ---- From text ----


def softmax() -> list[te.Tensor]:
    a = te.placeholder((16, 33), "float32", name="A")
    k, q = te.reduce_axis((0, 33), name="k"), te.reduce_axis((0, 33), name="q")
    most = te.compute((16,), lambda i: te.max(a[i, k], axis=k), name="most")
    power = te.compute((16, 33), lambda i, j: te.exp(a[i, j] - most[i]), name="power")
    total = te.compute((16,), lambda i: te.sum(power[i, q], axis=q), name="total")
    out = te.compute((16, 33), lambda i, j: power[i, j] / total[i], name="out")
    return [a, out]


def symbolic_matmul() -> list[te.Tensor]:
    n = te.size_var("n")
    a = te.placeholder((n, 48), "float16", name="A")
    b = te.placeholder((48, 31), "float16", name="B")
    k = te.reduce_axis((0, 48), name="k")
    c = te.compute((n, 31), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return [a, b, c]


@pytest.mark.parametrize("program", [softmax, symbolic_matmul])
def test_what_each_pass_makes_reads_back_from_its_text(program) -> None:
    records: list[ls.PassRecord] = []
    ls.lower(te.create_prim_func(program()), dump=records.append)
    assert len(records) > 10
    for record in records:
        again = from_source(record.after.script(), check_well_formed=False)
        ls.assert_structural_equal(again, record.after)


def test_a_script_reads_back_from_its_text() -> None:
    @T.prim_func
    def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128,), "float32")):
        for i, k in T.grid(128, 128):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                B[vi] += A[vi, vk]

    again = from_source(main.script())
    ls.assert_structural_equal(again, main)
    assert ls.structural_hash(again) == ls.structural_hash(main)
    assert again.script() == main.script()
    ls.assert_structural_equal(ls.from_source(main.script()), main)


def test_extra_names_of_a_text() -> None:
    func = from_source(
        "@T.prim_func\ndef f(A: T.Buffer((n,), 'float32')):\n    A[0] = g(A[n - 1])\n",
        {"n": 7, "g": lambda x: x * x},
    )
    assert "A[0] = A[6] * A[6]" in func.script()


# ---- Errors ----


def test_an_error_points_at_the_line_of_this_file() -> None:
    with pytest.raises(ls.ScriptError) as raised:

        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            for i in range(8):
                A[i] = B[i]  # noqa: F821

    span = raised.value.span
    assert span is not None
    line = Path(__file__).read_text().splitlines()[int(span["line"]) - 1]
    assert line.strip().startswith("A[i] = B[i]")
    assert line[int(span["column"]) - 1] == "B"
    assert raised.value.code == "name_is_defined"
    text = str(raised.value)
    assert text.startswith("undefined name B\n")
    assert f"test_script.py:{span['line']}\n" in text
    assert text.endswith("^")


def test_an_error_of_a_helper_says_what_python_says() -> None:
    def helper(x: int) -> int:
        return x // 0

    with pytest.raises(ls.ScriptError, match="ZeroDivisionError") as raised:

        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            A[0] = helper(3)

    span = raised.value.span
    assert span is not None
    line = Path(__file__).read_text().splitlines()[int(span["line"]) - 1]
    assert "A[0] = helper(3)" in line


def test_a_function_without_source_is_refused() -> None:
    names: dict[str, object] = {"T": T}
    with pytest.raises(ls.ScriptError, match="the source of f is not known"):
        exec("@T.prim_func\ndef f(a: T.int32):\n    pass\n", names)


def test_what_is_ill_formed_is_refused_unless_asked() -> None:
    text = """
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("b"):
            v = T.axis.spatial(8, i)
            A[v] = i
"""
    with pytest.raises(ls.ScriptError, match="loop variable i is used inside a block") as raised:
        from_source(text)
    assert raised.value.span is not None
    assert raised.value.span["line"] == 7
    from_source(text, check_well_formed=False)


# ---- The names of T ----


def test_the_stub_is_what_the_table_says() -> None:
    import script_stubs

    stub = ROOT / "python" / "loopsmith" / "script" / "tir.pyi"
    assert stub.read_text() == script_stubs.stub_text(), "run tools/script_stubs.py"
    ast.parse(stub.read_text())


def test_the_functions_of_numbers_are_those_of_the_table() -> None:
    import script_stubs

    module = ROOT / "python" / "loopsmith" / "functions.py"
    assert module.read_text() == script_stubs.functions_text(), "run tools/script_stubs.py"
    assert ls.te.nextafter is ls.tir.nextafter
    assert "e to the power of x." in (ls.te.exp.__doc__ or "")


def test_the_names_of_the_fields_scripts_are_there() -> None:
    named = """
    Buffer match_buffer alloc_buffer decl_buffer buffer_decl allocate allocate_const block init
    reads writes where block_attr func_attr serial parallel vectorized unroll thread_binding grid
    LetStmt Let let Assert attr evaluate env_thread launch_thread buffer_store meta_var var
    iter_var comm_reducer index_map Cast Select Ramp Broadcast Shuffle Range min max abs exp
    if_then_else likely reinterpret call_extern call_packed call_cpacked call_llvm_intrin
    call_intrin tvm_storage_sync ptx_mma mma_store vectorlow dp4a assume undef address_of truncdiv
    truncmod ceildiv shift_left q_multiply_shift int8 float32x4 bfloat16 boolean handle prefetch
    """
    missing = [name for name in re.findall(r"\w+", named) if not hasattr(T, name)]
    assert missing == []


def test_a_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(ls.ScriptError, match="from_source: character 2 of the text is half of a"):
        ls.from_source("# \ud800")


def test_python_does_not_choose_by_expressions() -> None:
    sizes = [1, 2]
    with pytest.raises(ls.ScriptError, match="'in' is no operator of expressions"):

        @T.prim_func
        def wrong(A: T.Buffer((8,), "int32"), n: T.int32):
            if n in sizes:
                A[0] = 1
