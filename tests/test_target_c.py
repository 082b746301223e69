# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

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
