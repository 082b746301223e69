# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ctypes
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir

needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")

HOST = r"""
#include <stdio.h>
#include "scale.h"
int main(void) {
  float x[5] = {1, 2, 3, 4, 5}, y[5];
  int64_t shape[1] = {5};
  DLTensor X = {.data = x, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}};
  X.shape = shape;
  DLTensor Y = X;
  Y.data = y;
  if (scale(NULL, &X, &Y) != LS_OK) return 1;
  for (int i = 0; i < 5; ++i) printf("%g ", y[i]);
  Y.ndim = 2;
  ls_context context;
  ls_context_init(&context);
  char text[200];
  if (scale(&context, &X, &Y) != LS_RANK) return 2;
  ls_error_text(&context.error, text, sizeof text);
  puts(text);
  return 0;
}
"""


def scale() -> tir.PrimFunc:
    n = te.size_var("n")
    x = te.placeholder((n,), "float32", name="X")
    y = te.compute((n,), lambda i: x[i] * 2.0 + 1.0, name="Y")
    return te.create_prim_func([x, y]).with_attr("global_symbol", "scale")


def check(f: ls.Module) -> None:
    x = np.arange(37, dtype=np.float32)
    y = np.zeros_like(x)
    f(x, y)
    np.testing.assert_array_equal(y, 2 * x + 1)


@needs_compiler
@pytest.mark.parametrize(
    ("target", "suffix"),
    [("llvm", s) for s in ("so", "o", "a", "s")] + [("c", s) for s in ("so", "a", "c")],
)
def test_a_program_in_c_calls_it(target: str, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"libscale.{suffix}"
    ls.build(scale(), target=target).export(file, header=tmp_path / "scale.h")
    (tmp_path / "main.c").write_text(HOST)
    sources = ["main.c", file.name]
    if suffix in ("o", "s"):
        ls.export_runtime(tmp_path / "runtime.c")
        sources.append("runtime.c")
    command = ["gcc", "-std=c99", "-Wall", "-Werror", *sources, "-o", "main", "-lm", "-lpthread"]
    subprocess.run([*command, "-Wl,-rpath,$ORIGIN"], cwd=tmp_path, check=True)
    said = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout == "3 5 7 9 11 scale: Y: wrong number of dimensions (2, not 1)\n"


@needs_compiler
def test_what_it_contains_is_small(tmp_path: Path) -> None:
    file = tmp_path / "scale.so"
    ls.build(scale()).export(file)
    assert file.stat().st_size < 100_000
    needed = subprocess.run(["ldd", file], capture_output=True, text=True, check=True).stdout
    assert "python" not in needed
    assert "LLVM" not in needed
    assert "stdc++" not in needed


@pytest.mark.parametrize(
    ("target", "suffix"),
    [
        ("llvm", "o"),
        pytest.param("llvm", "so", marks=needs_compiler),
        pytest.param("c", "so", marks=needs_compiler),
    ],
)
def test_a_file_loads_with_its_signature(target: str, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"scale.{suffix}"
    ls.build(scale(), target=target).export(file)
    module = ls.load_module(file)
    assert module.names == ["scale"]
    check(module)
    with pytest.raises(ls.TypeMismatch, match="scale: X has dtype float64, not float32"):
        module(np.zeros(3), np.zeros(3, np.float32))
    with pytest.raises(ls.CallError, match=r"scale: Y.shape\[0\] is 4, not n = 3, which X.shape"):
        module(np.zeros(3, np.float32), np.zeros(4, np.float32))
    with pytest.raises(ls.UserError, match="export: the module was loaded from a file"):
        module.export(tmp_path / "again.so")


@pytest.mark.parametrize("suffix", ["o", "s", "ll", pytest.param("so", marks=needs_compiler)])
def test_two_exports_have_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    files = [tmp_path / f"{name}.{suffix}" for name in "ab"]
    for file in files:
        ls.build(scale()).export(file, header=tmp_path / f"{file.stem}.h")
    assert files[0].read_bytes() == files[1].read_bytes()
    assert (tmp_path / "a.h").read_bytes() == (tmp_path / "b.h").read_bytes()


@needs_compiler
def test_exported_functions_run_loops_on_many_threads(tmp_path: Path) -> None:
    file = tmp_path / "scale.so"
    ls.build(scale()).export(file)
    library = ctypes.CDLL(str(file))
    assert library.ls_context_init
    module = ls.load_module(file)
    x = np.arange(1_000_003, dtype=np.float32)
    y = np.zeros_like(x)
    for _ in range(20):
        module(x, y)
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_a_function_without_a_name_of_its_own_takes_that_of_the_file(tmp_path: Path) -> None:
    ls.build(scale(), name="main").export(tmp_path / "times_two.o", header=tmp_path / "t.h")
    assert ls.load_module(tmp_path / "times_two.o").names == ["times_two"]
    assert "int32_t times_two(ls_context* context" in (tmp_path / "t.h").read_text()


@pytest.mark.parametrize(("target", "suffix"), [("llvm", "o"), ("c", "so")])
def test_a_file_tells_the_schedule_that_made_it(target: str, suffix: str, tmp_path: Path) -> None:
    func = scale()
    sch = tir.Schedule(func)
    outer, _ = sch.split(sch.get_loops(sch.get_block("Y"))[0], factors=[None, 16])
    sch.parallel(outer)
    module = ls.build(sch, target)
    assert "schedule_trace" not in module.inspect().ir
    module.export(tmp_path / f"scale.{suffix}")
    loaded = ls.load_module(tmp_path / f"scale.{suffix}")
    check(loaded)
    described = json.loads(loaded.source("metadata"))["functions"][0]
    again = tir.Schedule(func)
    tir.Trace.apply_json_to_schedule(described["trace"], again)
    ls.assert_structural_equal(again.func, sch.func)
    ls.build(func, target).export(tmp_path / f"plain.{suffix}")
    plain = ls.load_module(tmp_path / f"plain.{suffix}").source("metadata")
    assert "trace" not in json.loads(plain)["functions"][0]


@needs_compiler
def test_two_processes_build_the_same_library(tmp_path: Path) -> None:
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); import loopsmith as ls\n"
        "from test_export import scale\n"
        "ls.build(scale(), sys.argv[2]).export(sys.argv[3])\n"
    )
    for target in ("llvm", "c"):
        files = [tmp_path / f"{target}_{name}" / "scale.so" for name in "ab"]
        for file in files:
            file.parent.mkdir()
            command = [sys.executable, "-c", program, str(Path(__file__).parent), target, str(file)]
            subprocess.run(command, check=True)
        assert files[0].read_bytes() == files[1].read_bytes()


def test_a_file_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    module = ls.build(scale())
    with pytest.raises(ls.UserError, match=r"export: 'scale.dll' ends with no known suffix"):
        module.export("scale.dll")
    with pytest.raises(ls.UserError, match=r"export: a .c file cannot be made from target llvm"):
        module.export(tmp_path / "scale.c")
    with pytest.raises(ls.UserError, match="export: 'main' cannot be the name of a function of C"):
        ls.build(scale(), name="main").export(tmp_path / "main.o")
    with pytest.raises(ls.UserError, match=r"export: /nowhere/scale.o cannot be written"):
        module.export("/nowhere/scale.o")


def test_a_file_of_others_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ls.CallError, match=r"load_module: .*nothing.so: cannot open"):
        ls.load_module(tmp_path / "nothing.so")
    with pytest.raises(ls.UserError, match=r"load_module: .*nothing.o cannot be read"):
        ls.load_module(tmp_path / "nothing.o")
    with pytest.raises(ls.UserError, match=r"load_module: x.txt is neither a .so nor a .o"):
        ls.load_module("x.txt")
    (tmp_path / "bad.o").write_bytes(b"no object file")
    with pytest.raises(ls.FormatError, match=r"load: this is no object file of this machine"):
        ls.load_module(tmp_path / "bad.o")
