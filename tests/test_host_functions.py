# SPDX-License-Identifier: Apache-2.0
"""Functions of the host that programs call by their names."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith import te, tir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TARGETS = ["llvm -mcpu=native", "c"]
needs_compiler = pytest.mark.skipif(not shutil.which("gcc"), reason="there is no gcc")


@pytest.fixture
def registered() -> Iterator[None]:
    """Forget what a test registers."""
    before = dict(ls.host.registered)
    yield
    ls.host.registered.clear()
    ls.host.registered.update(before)


def run(program: tir.PrimFunc, target: str, *args: Any, **functions: Callable[..., Any]) -> None:
    if target == "interp":
        ls.interp.run(program, *args, functions=functions, check_races=False)
    else:
        ls.build(program, target, functions=functions)(*args)


ROWS = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((2, 3), "float32"), C: T.Buffer((2, 3), "float32"), n: T.int32):
    for i in T.parallel(2):
        T.call_packed("f", A, C, n + i, T.float16(2.5), n > 3, "a text", T.uint64(2**64 - 1))
""")


@pytest.mark.parametrize("target", ["interp", *TARGETS])
def test_numbers_texts_and_arrays_are_passed(target: str) -> None:
    seen = []

    def f(a: Any, c: Any, i: int, x: float, is_more: bool, text: str, big: int) -> None:
        seen.append((a.shape, c.dtype.name, i, x, is_more, text, big))
        c[i - 7] = a[i - 7] * x

    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    c = np.zeros_like(a)
    run(ROWS, target, a, c, 7, f=f)
    rest = (2.5, True, "a text", 2**64 - 1)
    assert sorted(seen) == [((2, 3), "float32", i, *rest) for i in (7, 8)]


def matmul() -> tir.PrimFunc:
    a = te.placeholder((4, 4), name="A")
    b = te.placeholder((4, 4), name="B")
    d = te.compute((4, 4), lambda i, j: a[i, j] + 1, name="D")
    c = te.extern(
        (4, 4), [d, b], lambda i, o: tir.call_packed("my.matmul", i[0], i[1], o[0]), name="C"
    )
    return te.create_prim_func([a, b, te.compute((4, 4), lambda i, j: c[i, j] * 2, name="E")])


@pytest.mark.parametrize("target", TARGETS)
def test_an_extern_tensor_is_computed_by_a_registered_function(
    target: str, registered: None
) -> None:
    @ls.register_func("my.matmul")
    def my_matmul(x: Any, y: Any, out: Any) -> None:
        out[...] = x @ y

    assert ls.get_global_func("my.matmul") is my_matmul
    program = matmul()
    f = ls.build(program, target)
    a, b = (np.random.default_rng(0).random((4, 4), np.float32) for _ in range(2))
    out, expected = np.zeros_like(a), np.zeros_like(a)
    f(a, b, out)
    np.testing.assert_allclose(out, 2 * ((a + 1) @ b), rtol=1e-6)
    ls.interp.run(program, a, b, expected)
    np.testing.assert_array_equal(out, expected)
    # The name is looked up at each call.
    ls.register_func("my.matmul", lambda x, y, z: z.fill(1), override=True)
    f(a, b, out)
    assert (out == 2).all()
    ls.remove_global_func("my.matmul")
    with pytest.raises(ls.CallError, match=r"calls 'my\.matmul', a function of the host that was"):
        f(a, b, out)


@pytest.mark.parametrize("target", TARGETS)
def test_exceptions_come_back_from_all_threads(target: str) -> None:
    f = ls.build(ROWS, target, num_threads=2, functions={"f": lambda *args: {}["missing"]})
    a = np.zeros((2, 3), np.float32)
    for _ in range(20):
        with pytest.raises(KeyError, match="missing"):
            f(a, a.copy(), 1)
    program = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((1,), "int32")):
    A[0] = T.call_packed("f")
""")
    with pytest.raises(TypeError, match="f returned a str, the program takes its result as an int"):
        run(program, target, np.zeros(1, np.int32), f=lambda: "no")


@pytest.mark.parametrize("target", ["interp", *TARGETS])
def test_results_are_integers(target: str) -> None:
    program = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((4,), "int32"), B: T.Buffer((1,), "bool")):
    for i in range(4):
        if T.call_packed("is_odd", i) == 1:
            A[i] = T.call_packed("next", i) * 10
    T.call_packed("nothing")
    B[0] = T.call_packed("nothing") == 0
""")
    a, b = np.zeros(4, np.int32), np.zeros(1, np.bool_)
    run(program, target, a, b, is_odd=lambda i: i % 2, next=lambda i: i + 1, nothing=lambda: None)
    assert a.tolist() == [0, 20, 0, 40] and b[0]


@pytest.mark.parametrize("target", ["interp", *TARGETS])
def test_arrays_keep_their_strides_and_their_neighbours(target: str) -> None:
    """Columns that two threads write: what lies between is not theirs."""
    program = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((64, 8), "int16")):
    for j in T.parallel(8):
        with T.block("column"):
            v = T.axis.spatial(8, j)
            T.reads()
            T.writes(A[0:64, v])
            s = T.int64()
            column = T.match_buffer(
                A[0:64, v], (64, 1), "int16", strides=[s, 1], offset_factor=1
            )
            T.call_packed("fill", column, v)
            T.call_packed("look", column.access_ptr("r", extent=1), v)
""")
    seen = set()

    def fill(column: Any, j: int) -> None:
        column[:, 0] = np.arange(64) * 8 + j

    def look(first: Any, j: int) -> None:
        seen.add((first.shape, int(first[0]), j, first.flags.writeable))

    a = np.zeros((64, 8), np.int16)
    run(program, target, a, fill=fill, look=look)
    np.testing.assert_array_equal(a, np.arange(512).reshape(64, 8))
    assert seen == {((1,), j, j, False) for j in range(8)}


def test_threads_of_the_host_call_at_once() -> None:
    """A call gives Python's lock away, so that its threads can take it."""
    f = ls.build(ROWS, num_threads=2, functions={"f": lambda a, c, i, *rest: c.fill(i)})
    errors = []

    def call(n: int) -> None:
        a = np.zeros((2, 3), np.float32)
        for _ in range(50):
            f(a, a, n)
            errors.extend([n] if a.min() < n or a.max() > n + 1 else [])

    threads = [threading.Thread(target=call, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_arrays_may_be_kept() -> None:
    kept = []
    a = np.ones((2, 3), np.float32)
    run(ROWS, TARGETS[0], a, a.copy(), 0, f=lambda x, *rest: kept.append(x))
    a[:] = 5
    assert all((x == 1).all() for x in kept) and len(kept) == 2


def test_what_cannot_be_passed_is_refused() -> None:
    def refused(operand: str) -> str:
        program = ls.from_source(f"""
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int4")):
    T.call_packed("f", {operand})
""")
        with pytest.raises(ls.UserError) as error:
            ls.build(program)
        return f"{error.value.problem}: {error.value.hint}"

    assert refused("A.data") == (
        "llvm calls 'f' with a bare pointer: how much it leads to is not known: "
        "pass the buffer itself, or its access_ptr"
    )
    array = "T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(2, 4), {}, 2, T.float32(0), 0)"
    assert refused(array.format("T.tvm_stack_make_shape(1)")) == (
        "tvm_stack_make_array: 1 strides for 2 dimensions: give a stride for each dimension"
    )
    assert refused("A[0:4]") == (
        "llvm calls 'f' with a vector float32x4, functions of the host take numbers: "
        "pass the vector in a buffer"
    )
    assert refused('B.access_ptr("r", offset=1)') == (
        "llvm calls 'f' with an array of int4 that starts inside of its memory: "
        "pass the whole buffer"
    )
    program = ls.from_source("""
@T.prim_func
def main(B: T.Buffer((8,), "int4")):
    T.call_packed("f", T.tvm_stack_make_array(
        B.data, T.tvm_stack_make_shape(4), T.tvm_stack_make_shape(2), 1, T.int4(0), 0))
""")
    with pytest.raises(TypeError, match="int4 with strides goes to a function of the host"):
        run(program, TARGETS[0], ls.zeros((8,), "int4"), f=print)


def test_registering_is_checked(registered: None) -> None:
    ls.register_func("f", abs)
    with pytest.raises(ls.UserError, match="there is a function f already"):
        ls.register_func("f", abs)
    with pytest.raises(TypeError, match="g is a int, not a function"):
        ls.register_func("g", 3)
    with pytest.raises(TypeError, match="the name is <built-in function abs>"):
        ls.register_func(abs)  # type: ignore[call-overload]
    with pytest.raises(ls.UserError, match="there is no function g"):
        ls.get_global_func("g")
    assert ls.get_global_func("g", allow_missing=True) is None
    with pytest.raises(ls.UserError, match="there is no function g"):
        ls.remove_global_func("g")
    with pytest.raises(TypeError, match="functions has 3 under 'f'"):
        ls.build(ROWS, functions={"f": 3})  # type: ignore[dict-item]


def test_nothing_is_kept_that_refers_to_itself(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("""
import gc, weakref
import loopsmith as ls

class Kept: ...

def build(kept):
    program = ls.from_source('''
@T.prim_func
def main(A: T.Buffer((2,), "float32")):
    T.call_packed("f", A)
''')
    def f(a):
        return module, kept
    module = ls.build(program, functions={"f": f})
    return module["main"]

kept = Kept()
watched = weakref.ref(kept)
function = build(kept)
del kept, function
gc.collect()
print(watched())
""")
    said = subprocess.run([sys.executable, str(script)], check=True, capture_output=True, text=True)
    assert said.stdout == "None\n" and said.stderr == ""


HOST = r"""
#include <stdio.h>
#include <string.h>
#include "rows.h"

static int32_t call(void* data, const char* name, const ls_argument* arguments, int32_t count,
                    ls_argument* result) {
  const DLTensor* a = arguments[0].value.as_tensor;
  DLTensor* c = arguments[1].value.as_tensor;
  const int64_t row = arguments[2].value.as_int - 7;
  if (strcmp(name, "f") != 0 || count != 7) return LS_HOST_FUNCTION;
  if (*(int*)data != 42) return 99;
  if (strcmp(arguments[5].value.as_text, "a text") != 0 || a->ndim != 2) return 100;
  for (int64_t i = 0; i < a->shape[1]; ++i) {
    ((float*)c->data)[row * 3 + i] =
        ((const float*)a->data)[row * 3 + i] * (float)arguments[3].value.as_float;
  }
  result->value.as_int = 0;
  return LS_OK;
}

int main(void) {
  float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
  int64_t shape[2] = {2, 3};
  DLTensor X = {.data = x, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}};
  X.shape = shape;
  DLTensor Y = X;
  Y.data = y;
  ls_context context;
  char text[200];
  int data = 42;
  ls_context_init(&context);
  if (rows(&context, &X, &Y, 7) != LS_HOST_FUNCTION) return 1;
  ls_error_text(&context.error, text, sizeof text);
  puts(text);
  context.call_host = call;
  context.call_host_data = &data;
  if (rows(&context, &X, &Y, 7) != LS_OK) return 2;
  for (int i = 0; i < 6; ++i) printf("%g ", y[i]);
  data = 0;
  if (rows(&context, &X, &Y, 7) != LS_HOST_FUNCTION) return 3;
  ls_error_text(&context.error, text, sizeof text);
  puts(text);
  return 0;
}
"""


@needs_compiler
@pytest.mark.parametrize(("target", "suffix"), [("llvm", "so"), ("c", "c")])
def test_a_host_in_c_gives_functions(target: str, suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"librows.{suffix}"
    program = ROWS.with_attr("global_symbol", "rows")
    ls.build(program, target=target).export(file, header=tmp_path / "rows.h")
    (tmp_path / "main.c").write_text(HOST)
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    command += ["main.c", file.name, "-o", "main", "-lm", "-lpthread", "-Wl,-rpath,$ORIGIN"]
    subprocess.run(command, cwd=tmp_path, check=True)
    said = subprocess.run(["./main"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert said.stdout == (
        "kernel: the host's function 'f' was not given (18)\n"
        "2.5 5 7.5 10 12.5 15 kernel: the host's function 'f' failed (99)\n"
    )
    if suffix == "so":
        loaded = ls.load_module(file, functions={"f": lambda a, c, i, *rest: c.fill(i)})
        out = np.zeros((2, 3), np.float32)
        loaded(out.copy(), out, 3)
        assert set(out.ravel().tolist()) <= {3, 4}
