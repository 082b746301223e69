# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from random import Random

import numpy as np
import pytest
from test_tensorize import bfloat16_matmul, bytes_for, packed, tensorized, u8_matmul

import loopsmith as ls
from loopsmith import te, tir

COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]


def matmul(n: int = 24) -> tir.PrimFunc:
    a = te.placeholder((n, n), "float32", name="A")
    b = te.placeholder((n, n), "float32", name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def softmax() -> tir.PrimFunc:
    n, m = te.size_var("n"), te.size_var("m")
    x = te.placeholder((n, m), "float32", name="X")
    k, r = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="r")
    top = te.compute((n,), lambda i: te.max(x[i, k], axis=k), name="top")
    e = te.compute((n, m), lambda i, j: te.exp(x[i, j] - top[i]), name="e")
    total = te.compute((n,), lambda i: te.sum(e[i, r], axis=r), name="total")
    y = te.compute((n, m), lambda i, j: e[i, j] / total[i], name="Y")
    return te.create_prim_func([x, y])


@pytest.mark.parametrize("default_schedule", [True, False])
def test_a_matmul_in_c_computes_what_numpy_does(default_schedule: bool) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 24, 24), dtype=np.float32)
    c = np.zeros((24, 24), np.float32)
    ls.build(matmul(), target="c", default_schedule=default_schedule)(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_a_softmax_of_symbolic_sizes_runs_in_parallel_in_c() -> None:
    f = ls.build(softmax(), target="c", num_threads=2)
    x = np.random.default_rng(1).standard_normal((37, 53)).astype(np.float32)
    y = np.zeros_like(x)
    f(x, y)
    e = np.exp(x - x.max(1, keepdims=True))
    np.testing.assert_allclose(y, e / e.sum(1, keepdims=True), rtol=1e-5)
    with pytest.raises(ls.CallError, match=r"Y.shape\[0\] is 36, not n = 37"):
        f(x, y[:36])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float64"])
def test_types_in_c_mean_what_they_mean_in_llvm(dtype: str) -> None:
    a = te.placeholder((64,), dtype, name="A")
    b = te.placeholder((64,), dtype, name="B")
    c = te.compute((64,), lambda i: te.max(a[i] * b[i] - a[i], b[i]), name="C")
    func = te.create_prim_func([a, b, c])
    rng = np.random.default_rng(2)
    x, y = (rng.integers(0, 120, (2, 64))).astype(dtype)
    results = []
    for target in ["c", "llvm -mcpu=native"]:
        results.append(np.zeros(64, dtype))
        ls.build(func, target=target, contract=False)(x, y, results[-1])
    np.testing.assert_array_equal(*results)


def test_the_text_is_one_that_people_can_read() -> None:
    text = ls.build(matmul(), target="c", default_schedule=False).inspect().c
    kernel = text[
        text.index("int32_t ls_call_main(ls_context* context, const ls_argument* arguments) {") :
    ]
    assert "for (int64_t i = 0; i < 24; ++i) {" in kernel
    assert "ls_muladd_f32(A[i * 24 + k], B[j + k * 24], C[cse])" in kernel
    assert "// test_target_c.py:" in kernel


@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_text_compiles_without_warnings(compiler: str, tmp_path: Path) -> None:
    for name, func in {"matmul": matmul(), "softmax": softmax()}.items():
        source = tmp_path / f"{name}.c"
        source.write_text(ls.build(func, target="c").inspect().c)
        command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", source.name]
        subprocess.run(command, cwd=tmp_path, check=True)


def test_two_builds_give_one_text() -> None:
    assert len({ls.build(softmax(), target="c").inspect().c for _ in range(2)}) == 1


def test_a_missing_compiler_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(ls.UserError, match="there is no C compiler: neither cc nor gcc nor clang"):
        ls.build(matmul(), target="c")


CONTROL = """
@T.prim_func
def kern(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32"), n: T.int32):
    T.func_attr({"tir.is_scheduled": True, "tir.noalias": True})
    for i in range(3, 60, 4):
        if A[i] < 0:
            continue
        B[i] = A[i] // 3 + n
    for j in T.serial(63, -1, -1):
        if A[j] == 7:
            break
        B[j] = B[j] - 1
    s = T.alloc_buffer((1,), "int32", scope="local")
    s[0] = 0
    while s[0] < 10:
        B[s[0]] = B[s[0]] + s[0] * 2
        s[0] = s[0] + 1
    for k in T.parallel(16):
        B[k] = B[k] * n
    B[T.Ramp(0, 2, 8)] = A[T.Ramp(40, -1, 8)] + B[T.Ramp(0, 1, 8)]
    assert n > 0, "n is positive"
"""


def test_loops_jumps_and_vectors_in_c_are_those_of_llvm() -> None:
    func = ls.from_source(CONTROL, name="kern.txt")
    rng = np.random.default_rng(3)
    a = rng.integers(-50, 50, 64).astype(np.int32)
    a[20] = 7
    b = rng.integers(0, 100, 64).astype(np.int32)
    results = []
    for target in ["c", "llvm -mcpu=native"]:
        module = ls.build(func, target)
        results.append(b.copy())
        module(a, results[-1], 5)
        with pytest.raises(ls.CallError, match="kern: n is positive"):
            module(a, b.copy(), -1)
    np.testing.assert_array_equal(*results)


def random_value(random: Random, leaves: list[tir.Expr], depth: int) -> tir.Expr:
    if depth == 0:
        return random.choice(leaves)
    a, b = (random_value(random, leaves, depth - 1) for _ in range(2))
    if a.dtype.startswith("float"):
        own = [tir.exp(a), tir.floor(a), tir.round(a), tir.tanh(a), a / b]
    else:
        own = [f(a, b) for f in (tir.floordiv, tir.floormod, tir.truncdiv, tir.truncmod)]
    both = [a + b, a - b, a * b, tir.min(a, b), tir.max(a, b), tir.if_then_else(a < b, b, a)]
    return random.choice(own + both)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint64", "float16", "float32"])
def test_random_programs_in_c_agree_with_llvm_to_the_bit(dtype: str) -> None:
    random, rng = Random(dtype), np.random.default_rng(4)
    n, m = 9, 7
    a = te.placeholder((n, m), dtype, name="A")
    b = te.placeholder((n, m), dtype, name="B")
    c = te.compute(
        (n, m),
        lambda i, j: random_value(random, [a[i, j], b[i, (j + 1) % m], tir.const(3, dtype)], 4),
        name="C",
    )
    k = te.reduce_axis((0, m), name="k")
    d = te.compute((n,), lambda i: te.max(c[i, k], axis=k), name="D")
    func = te.create_prim_func([a, b, c, d])
    if dtype.startswith("float"):
        x, y = rng.standard_normal((2, n, m)).astype(dtype) * 3
        y[0, :3] = [0, np.nan, np.inf]
    else:
        info = np.iinfo(dtype)
        x = rng.integers(info.min, info.max, (n, m), dtype=dtype, endpoint=True)
        y = rng.integers(max(info.min, -5), 6, (n, m)).astype(dtype)
        x[0, :2] = info.min
    results = []
    for target in ["c", "llvm -mcpu=native"]:
        results.append((np.zeros((n, m), dtype), np.zeros(n, dtype)))
        ls.build(func, target, contract=False)(x, y, *results[-1])
    for of_c, of_llvm in zip(*results):
        np.testing.assert_array_equal(of_c, of_llvm)


@pytest.mark.parametrize("intrin", ["dot_16x4_vnni", "dot_16x4_avx512"])
def test_a_tensorized_product_of_bytes_runs_in_c(intrin: str) -> None:
    a, b, expected = bytes_for(8, 48, 20)
    c = np.zeros_like(expected)
    module = ls.build(tensorized(u8_matmul(8, 48, 20), intrin), target="c")
    module(a, packed(b, 4), c)
    np.testing.assert_array_equal(c, expected)
    assert "memcpy(" in module.inspect().c


def test_a_tensorized_product_of_bfloat16_in_c_is_that_of_llvm() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    n, m, k = 4, 32, 8
    sch = tensorized(bfloat16_matmul(n, m, k), "dot_16x2_avx512bf16", 2)
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 9, (n, k)).astype(ml_dtypes.bfloat16)
    y = rng.integers(-9, 9, (k, m)).astype(ml_dtypes.bfloat16)
    z = np.zeros((n, m), np.float32)
    ls.build(sch, target="c")(x, packed(y, 2), z)
    np.testing.assert_array_equal(z, x.astype(np.float32) @ y.astype(np.float32))


@pytest.mark.parametrize("default_schedule", [True, False])
def test_the_text_names_the_blocks(default_schedule: bool) -> None:
    text = ls.build(softmax(), target="c", default_schedule=default_schedule).inspect().c
    named = set(re.findall(r"// test_target_c.py:\d+ \(block (\w+)\): ", text))
    assert {"e", "Y"} <= named
