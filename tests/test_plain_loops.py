# SPDX-License-Identifier: Apache-2.0
"""Scripts of plain loops by the default schedule, beside themselves as they are written."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopsmith as ls
from loopsmith.script import tir as T  # noqa: N812

FOLDER = Path(__file__).resolve().parent.parent / "bench" / "loops"
sys.path.insert(0, str(FOLDER))
KERNELS: dict[str, Any] = importlib.import_module("polybench").KERNELS
LOOPS: dict[str, Any] = importlib.import_module("tsvc").LOOPS
sys.path.remove(str(FOLDER))


def small(kernel: Any, size: int) -> dict[str, int]:
    """Return sizes near that number, no two alike, so that no loop is taken for another."""
    return {name: size + 3 * place for place, name in enumerate(kernel.sizes)}


def run(module: ls.Module, kernel: Any, sizes: dict[str, int] | None) -> list[Any]:
    """Call a function of a kernel; its results."""
    arguments = kernel.arguments(sizes)
    module(*arguments)
    return arguments


def compare(kernel: Any, sizes: dict[str, int] | None) -> None:
    """Expect that the default schedule computes what the program as it is written does."""
    func = kernel.func(sizes)
    written = run(ls.build(func, default_schedule=False), kernel, sizes)
    scheduled = run(ls.build(func, num_threads=2), kernel, sizes)
    for (name, dtype, _), one, other in zip(kernel.shapes(sizes), written, scheduled):
        tolerance = 1e-3 if dtype == "float32" else 1e-9
        assert np.allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True), name


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("size", [7, 41])
def test_kernels_compute_what_is_written(name: str, size: int) -> None:
    compare(KERNELS[name], small(KERNELS[name], size))


def in_blocks(func: ls.tir.PrimFunc) -> ls.tir.PrimFunc:
    """Return a function whose stores each stand in a block without axes."""
    store = re.compile(r"^(\s+)(?!T\.)\w+\[[^=]*\] = (?!T\.(match|decl)_buffer)")
    lines: list[str] = []
    for line in func.script().split("\n"):
        found = store.match(line)
        if found:
            lines.append(f'{found[1]}with T.block("s{len(lines)}"):')
        lines.append("    " + line if found else line)
    return ls.from_source("\n".join(lines))


@pytest.mark.parametrize("name", KERNELS)
def test_blocks_without_axes_are_scheduled_as_what_they_hold(name: str) -> None:
    kernel = KERNELS[name]
    sizes = small(kernel, 7)
    func = in_blocks(kernel.func(sizes))
    assert "T.block" in func.script()
    written = run(ls.build(func, default_schedule=False), kernel, sizes)
    scheduled = run(ls.build(func, num_threads=2), kernel, sizes)
    for one, other in zip(written, scheduled):
        assert np.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True)


def test_a_nest_with_a_condition_around_blocks_is_vectorized() -> None:
    func = ls.from_source("""
@T.prim_func
def main(A: T.Buffer((100, 100), "float16")):
    for i in range(100):
        if i % 2 == 0:
            for j in range(100):
                with T.block("even"):
                    A[i, j] = 1
        else:
            for j in range(100):
                with T.block("odd"):
                    A[i, j] = 2
""")
    assert ls.default_schedule(func).func.script().count("T.vectorized(100)") == 2
    found = np.zeros((100, 100), "float16")
    ls.build(func)(found)
    assert (found[::2] == 1).all() and (found[1::2] == 2).all()


@pytest.mark.parametrize("name", LOOPS)
def test_loops_compute_what_is_written(name: str) -> None:
    # What reads beyond these sizes keeps its own.
    sizes = None if name in ("s126", "s176") else {"LEN": 1603, "HALF": 801, "L2": 37}
    compare(LOOPS[name], sizes)


@pytest.mark.parametrize("name", ["gemm", "atax", "jacobi_2d", "symm"])
@pytest.mark.parametrize("size", [0, 1])
def test_sizes_of_nothing_and_one_are_sizes(name: str, size: int) -> None:
    sizes = dict.fromkeys(KERNELS[name].sizes, size)
    if size == 0 and name == "jacobi_2d":
        sizes["N"] = 2
    compare(KERNELS[name], sizes)


def test_arguments_that_overlap_run_what_is_written() -> None:
    func = ls.from_source(
        "@T.prim_func\n"
        'def shift(A: T.Buffer((63,), "float32"), B: T.Buffer((63,), "float32")):\n'
        "    for i in range(63):\n"
        "        B[i] = A[i] + T.float32(1)\n"
    )
    memory = np.zeros(64, np.float32)
    ls.build(func)(memory[:63], memory[1:])
    assert (memory == np.arange(64)).all()


def test_a_table_of_open_size_may_be_in_the_cache() -> None:
    func = ls.from_source("""
@T.prim_func
def compacted(a: T.handle, w: T.handle, b: T.handle):
    T.func_attr({"tir.noalias": T.bool(True)})
    n = T.int32()
    A = T.match_buffer(a, (n,), "int32")
    Places = T.match_buffer(w, (n + 1,), "int32")
    B = T.match_buffer(b, (n,), "int32")
    for i in range(n):
        if Places[i + 1] > Places[i]:
            B[Places[i]] = A[i]
""")
    assert "T.vectorized" in ls.default_schedule(func).func.script()


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "float64"])
@pytest.mark.parametrize("size", [0, 1, 2, 7, 32, 100])
def test_loops_are_cut_at_the_row_that_all_rows_read(dtype: str, size: int) -> None:
    @T.prim_func
    def paths(d: T.handle):
        n = T.int32()
        D = T.match_buffer(d, (n, n), dtype)
        for k, i, j in T.grid(n, n, n):
            D[i, j] = T.min(D[i, j], D[i, k] + D[k, j])

    # Ways back for less than nothing change the row that is read, and grow beyond 32 bits.
    least = 0 if dtype in ("uint16", "int32") else -1
    given = np.random.default_rng(size).integers(least, 100, (size, size)).astype(dtype)
    found, expected = given.copy(), given.copy()
    ls.build(paths, num_threads=2)(found)
    ls.build(paths, default_schedule=False)(expected)
    np.testing.assert_array_equal(found, expected)
    assert "at=" in str(ls.default_schedule(paths, num_threads=2).trace)


@pytest.mark.parametrize("size", [0, 1, 7, 100])
@pytest.mark.parametrize("limit", [-(2**31) + 1, -1, 0, 1, 50, 99, 100, 101, 2**31 - 1])
def test_vectors_have_no_masks_where_a_branch_changes(size: int, limit: int) -> None:
    @T.prim_func
    def branches(a: T.handle, b: T.handle, limit: T.int32):
        n = T.int32()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        for i in range(n):
            if i + 1 < n - 40:
                A[i] = A[i] + B[i]
            else:
                A[i] = A[i] - B[i]
            if i > limit - 1:
                B[i] = B[i] * A[i]
            if i >= 3:
                A[i] = A[i] * T.float32(3)

    generator = np.random.default_rng(size)
    a, b = (generator.random(size, "float32") for _ in range(2))
    given = [a.copy(), b.copy()]
    a = np.where(np.arange(size) + 1 < size - 40, a + b, a - b)
    b = np.where(np.arange(size) > limit - 1, b * a, b)
    a = np.where(np.arange(size) >= 3, a * np.float32(3), a)
    module = ls.build(branches, "llvm -mcpu=haswell", num_threads=1)
    module(*given, limit)
    np.testing.assert_array_equal(given[0], a)
    np.testing.assert_array_equal(given[1], b)


def test_values_are_carried_where_arguments_are_apart() -> None:
    @T.prim_func
    def waves(
        a: T.Buffer((64,), "float32"), b: T.Buffer((64,), "float32"), c: T.Buffer((64,), "float32")
    ):
        for i in range(1, 64):
            a[i] = b[i - 1] + c[i]
            b[i] = a[i] * c[i]

    module = ls.build(waves, num_threads=1)
    assert "b_carry" in module.inspect().ir
    plain = ls.build(waves, default_schedule=False)
    for begin in (0, 1, 64):
        memory = np.random.default_rng(0).random(192, "float32")
        expected = memory.copy()
        for each, function in ((memory, module), (expected, plain)):
            function(each[64:128], each[begin : begin + 64], each[128:])
        np.testing.assert_array_equal(memory, expected)
