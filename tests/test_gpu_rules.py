# SPDX-License-Identifier: Apache-2.0
"""Schedules for GPUs by rule: what they compute, at which sizes, and what they are made of."""

from __future__ import annotations

import random
from typing import Any, Callable, NamedTuple

import gpu_devices
import numpy as np
import pytest
from gpu_programs import RNG
from random_tensors import random_tensors

import loopsmith as ls
from loopsmith import te, tir

Sizes = tuple[Any, ...]


class Program(NamedTuple):
    """A program of some sizes, what it computes, and the sizes at which it is tried."""

    make: Callable[[Sizes], list[te.Tensor]]
    expected: Callable[..., np.ndarray]
    sizes: list[tuple[int, ...]]


def product(sizes: Sizes) -> list[te.Tensor]:
    n, m, k = sizes
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    return [a, b, te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")]


def dense(sizes: Sizes) -> list[te.Tensor]:
    """Batches of A times B transposed, with a bias, and what is negative left out."""
    s, n, m, k = sizes
    a, b = te.placeholder((s, n, k), name="A"), te.placeholder((s, m, k), name="B")
    bias = te.placeholder((m,), name="bias")
    r = te.reduce_axis((0, k), name="r")
    c = te.compute((s, n, m), lambda b_, i, j: te.sum(a[b_, i, r] * b[b_, j, r], axis=r), name="C")
    return [
        a,
        b,
        bias,
        te.compute((s, n, m), lambda b_, i, j: te.max(c[b_, i, j] + bias[j], 0.0), name="D"),
    ]


def times_vector(sizes: Sizes) -> list[te.Tensor]:
    n, k = sizes
    a, x = te.placeholder((n, k), name="A"), te.placeholder((k,), name="X")
    r = te.reduce_axis((0, k), name="r")
    return [a, x, te.compute((n,), lambda i: te.sum(a[i, r] * x[r], axis=r), name="Y")]


def reduction(along: int, combine: Any) -> Callable[[Sizes], list[te.Tensor]]:
    """Of a matrix: along its rows (1), its columns (0), or both (2)."""

    def make(sizes: Sizes) -> list[te.Tensor]:
        n, m = sizes
        a = te.placeholder((n, m), name="A")
        i, j = te.reduce_axis((0, n), name="i"), te.reduce_axis((0, m), name="j")
        if along == 2:
            return [a, te.compute((1,), lambda _: combine(a[i, j], axis=[i, j]), name="R")]
        if along == 1:
            return [a, te.compute((n,), lambda r: combine(a[r, j], axis=j), name="R")]
        return [a, te.compute((m,), lambda c: combine(a[i, c], axis=i), name="R")]

    return make


def softmax(sizes: Sizes) -> list[te.Tensor]:
    n, m = sizes
    x = te.placeholder((n, m), name="X")
    j, k = te.reduce_axis((0, m), name="j"), te.reduce_axis((0, m), name="k")
    most = te.compute((n,), lambda i: te.max(x[i, j], axis=j), name="M")
    e = te.compute((n, m), lambda i, c: te.exp(x[i, c] - most[i]), name="E")
    total = te.compute((n,), lambda i: te.sum(e[i, k], axis=k), name="S")
    return [x, te.compute((n, m), lambda i, c: e[i, c] / total[i], name="Y")]


def layer_norm(sizes: Sizes) -> list[te.Tensor]:
    n, m = sizes
    x, g = te.placeholder((n, m), name="X"), te.placeholder((m,), name="G")
    j, k = te.reduce_axis((0, m), name="j"), te.reduce_axis((0, m), name="k")
    total = te.compute((n,), lambda i: te.sum(x[i, j], axis=j), name="S")
    squares = te.compute((n,), lambda i: te.sum(x[i, k] * x[i, k], axis=k), name="Q")
    count = te.Cast("float32", m) if not isinstance(m, int) else float(m)

    def normal(i: Any, c: Any) -> Any:
        mean = total[i] / count
        return (x[i, c] - mean) * te.rsqrt(squares[i] / count - mean * mean + 1e-5) * g[c]

    return [x, g, te.compute((n, m), normal, name="Y")]


def transpose(sizes: Sizes) -> list[te.Tensor]:
    s, n, m = sizes
    a = te.placeholder((s, n, m), name="A")
    return [a, te.compute((m, s, n), lambda j, b, i: a[b, i, j] + 1.0, name="B")]


def diagonal(sizes: Sizes) -> list[te.Tensor]:
    """Elements across that lie far from each other: a tile of them would bring others along."""
    n, m = sizes
    a = te.placeholder((m, 2 * n, n), name="A")
    return [a, te.compute((2, n, m), lambda b, i, j: a[m - 1 - j, 2 * i, i], name="B")]


def elements(sizes: Sizes) -> list[te.Tensor]:
    n, m = sizes
    a, b = te.placeholder((n, m), name="A"), te.placeholder((m,), name="B")
    c = te.compute((n, m), lambda i, j: a[i, j] * b[j], name="C")
    return [a, b, te.compute((n, m), lambda i, j: te.exp(c[i, j]) + a[i, j], name="D")]


def convolution(sizes: Sizes) -> list[te.Tensor]:
    n, c, f, h = sizes
    x, w = te.placeholder((n, c, h, h), name="X"), te.placeholder((f, c, 3, 3), name="W")
    padded = te.compute(
        (n, c, h + 2, h + 2),
        lambda b, k, y, z: te.if_then_else(
            te.all(y >= 1, y < h + 1, z >= 1, z < h + 1), x[b, k, y - 1, z - 1], 0.0
        ),
        name="P",
    )
    rc = te.reduce_axis((0, c), name="rc")
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    return [
        x,
        w,
        te.compute(
            (n, f, h, h),
            lambda b, k, y, z: te.sum(
                padded[b, rc, y + ry, z + rx] * w[k, rc, ry, rx], axis=[rc, ry, rx]
            ),
            name="Y",
        ),
    ]


def convolved(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    h = x.shape[2]
    p = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    parts = [
        np.einsum("nchw,fc->nfhw", p[:, :, i : i + h, j : j + h], w[:, :, i, j])
        for i in range(3)
        for j in range(3)
    ]
    return np.sum(parts, axis=0)


def normalized(x: np.ndarray, g: np.ndarray) -> np.ndarray:
    return (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * g


def soft(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


PROGRAMS: dict[str, Program] = {
    "product": Program(
        product, lambda a, b: a @ b, [(1, 1, 1), (50, 70, 33), (130, 128, 64), (7, 200, 0)]
    ),
    "dense": Program(
        dense,
        lambda a, b, bias: np.maximum(a @ b.transpose(0, 2, 1) + bias, 0),
        [(2, 65, 67, 17), (1, 1, 3, 5)],
    ),
    "times_vector": Program(times_vector, lambda a, x: a @ x, [(5, 300), (1, 4100), (3, 0)]),
    "row_sums": Program(reduction(1, te.sum), lambda a: a.sum(1), [(30, 200), (3, 5000), (1, 1)]),
    "column_sums": Program(reduction(0, te.sum), lambda a: a.sum(0), [(200, 30), (1, 1), (0, 3)]),
    "column_maxima": Program(reduction(0, te.max), lambda a: a.max(0), [(77, 130)]),
    "whole_sum": Program(
        reduction(2, te.sum), lambda a: a.sum().reshape(1), [(30, 20), (257, 300), (0, 5)]
    ),
    "softmax": Program(softmax, soft, [(5, 64), (1, 1), (3, 1000), (0, 4)]),
    "layer_norm": Program(layer_norm, normalized, [(5, 64), (2, 300)]),
    "transpose": Program(
        transpose, lambda a: (a + 1).transpose(2, 0, 1), [(1, 64, 64), (3, 33, 65), (1, 1, 1)]
    ),
    "diagonal": Program(
        diagonal,
        lambda a: np.stack([a[::-1, ::2, :].diagonal(axis1=1, axis2=2).T] * 2),
        [(9, 2), (40, 40)],
    ),
    "elements": Program(
        elements, lambda a, b: np.exp(a * b) + a, [(5, 7), (1, 1), (0, 3), (300, 256)]
    ),
    # Of one filter too: no product of matrices.
    "convolution": Program(convolution, convolved, [(1, 3, 4, 9), (2, 4, 8, 8), (2, 3, 1, 5)]),
}


def arguments(tensors: list[te.Tensor]) -> list[np.ndarray]:
    """Return arrays for inputs, and one for the result."""
    arrays = [RNG.random([int(s) for s in t.shape], "float32") for t in tensors]
    arrays[-1][...] = -7
    return arrays


@gpu_devices.both
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_a_rule_computes_what_the_program_says(target: str, name: str) -> None:
    gpu_devices.require(target)
    program = PROGRAMS[name]
    made = [program.make(sizes) for sizes in program.sizes]
    names = [tir.GlobalVar(f"f{i}") for i in range(len(made))]
    functions = [te.create_prim_func(tensors) for tensors in made]
    module = ls.build(tir.IRModule(names=names, functions=functions), target=target)
    for i, (tensors, sizes) in enumerate(zip(made, program.sizes)):
        arrays = arguments(tensors)
        module[f"f{i}"](*arrays)
        expected = program.expected(*arrays[:-1])
        np.testing.assert_allclose(arrays[-1], expected, rtol=2e-4, atol=1e-5, err_msg=str(sizes))


def replayed(sch: tir.Schedule, func: tir.PrimFunc) -> tir.Schedule:
    again = tir.Schedule(func)
    sch.trace.apply_to_schedule(again)
    return again


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_the_schedule_of_a_gpu_is_steps_that_can_be_taken_again(name: str) -> None:
    program = PROGRAMS[name]
    for sizes in program.sizes:
        tensors = program.make(sizes)
        func = te.create_prim_func(tensors)
        sch = ls.default_schedule(func, target="cuda")
        assert "sch.bind(" in str(sch.trace)
        ls.assert_structural_equal(replayed(sch, func).mod, sch.mod)
        if np.prod(sizes) > 20000:
            continue  # The interpreter takes its time.
        arrays = arguments(tensors)
        ls.interp.run(sch.func, *arrays)
        expected = program.expected(*arrays[:-1])
        np.testing.assert_allclose(arrays[-1], expected, rtol=2e-4, atol=1e-5, err_msg=str(sizes))
        arrays[-1][...] = -7
        ls.interp.run(ls.lower(sch, target="cuda"), *arrays)
        np.testing.assert_allclose(arrays[-1], expected, rtol=2e-4, atol=1e-5, err_msg=str(sizes))


def test_a_product_is_one_kernel_whose_results_stay_in_registers() -> None:
    for sizes, barriers in (((128, 128, 64), 3), ((130, 128, 65), 4)):
        sch = ls.default_schedule(te.create_prim_func(product(sizes)), target="cuda")
        text = str(sch.trace)
        assert 'storage_scope="local"' in text and text.count('storage_scope="shared.dyn"') == 2
        source = ls.build(sch, target="cuda").source("cuda")
        assert source.count("__global__ void") == 1
        # Tiles are copied two steps ahead: a barrier a step, in the loop and after it; one more
        # after a loop of several iterations.
        assert source.count("__syncthreads();") == barriers
        assert "ls_copy_async_" in source
        older = ls.build(te.create_prim_func(product(sizes)), target="cuda -arch=sm_75")
        assert older.source("cuda").count("__syncthreads();") == 2


def test_tiles_of_operands_are_copied_by_16_bytes() -> None:
    source = ls.build(te.create_prim_func(product((128, 128, 64))), target="cuda").source("cuda")
    assert source.count("ls_copy_async_16(&A_shared_dyn[") == 3
    assert source.count("ls_copy_async_16(&B_shared_dyn[") == 3
    assert "ls_wait_for_copies(" in source


def test_the_trace_is_python_that_makes_the_same_kernels() -> None:
    func = te.create_prim_func(product((130, 128, 64)))
    sch = ls.default_schedule(func, target="opencl")
    names: dict[str, Any] = {}
    exec(str(sch.trace), {"tir": tir, "T": ls.script.tir, "__name__": "trace"}, names)
    again = tir.Schedule(func)
    names["apply_trace"](again)
    ls.assert_structural_equal(again.mod, sch.mod)
    built = ls.build(func, target="opencl").source("opencl")
    assert ls.build(sch, target="opencl").source("opencl") == built


@gpu_devices.both
def test_the_schedule_of_a_gpu_may_be_continued(target: str) -> None:
    gpu_devices.require(target)
    tensors = product((130, 128, 64))
    sch = ls.default_schedule(te.create_prim_func(tensors), target=target)
    steps = sch.get_loops("C_update")[4:]
    sch.unroll(steps[1])
    arrays = arguments(tensors)
    ls.build(sch, target=target)(*arrays)
    np.testing.assert_allclose(arrays[-1], arrays[0] @ arrays[1], rtol=2e-4)


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_numbers_of_a_gpu_may_be_left_open(name: str) -> None:
    func = te.create_prim_func(PROGRAMS[name].make(PROGRAMS[name].sizes[0]))
    sch = ls.default_schedule(func, target="opencl", holes=True)
    closed = ls.default_schedule(func, target="opencl")
    assert "sample_categorical" in str(sch.trace)
    assert sch.func.script() == closed.func.script()


@gpu_devices.both
def test_other_numbers_give_the_same_results(target: str) -> None:
    gpu_devices.require(target)
    tried = 0
    for name in ("product", "softmax", "column_sums", "row_sums", "elements"):
        program = PROGRAMS[name]
        tensors = program.make(program.sizes[1 if name == "product" else 0])
        func = te.create_prim_func(tensors)
        trace = ls.default_schedule(func, target=target, holes=True).trace
        for step, decision in list(trace.decisions.items()):
            other = tir.Schedule(func)
            trace.with_decision(step, 0 if decision else 1, False).apply_to_schedule(other)
            arrays = arguments(tensors)
            ls.build(other, target=target)(*arrays)
            expected = program.expected(*arrays[:-1])
            np.testing.assert_allclose(arrays[-1], expected, rtol=2e-4, atol=1e-5, err_msg=name)
            tried += 1
    assert tried > 5


@pytest.mark.parametrize("first", range(7000, 7080, 20))
def test_random_tensors_keep_results_on_gpus(first: int) -> None:
    """Integers, so that each order of a sum gives the same."""
    drawn = {seed: random_tensors(random.Random(seed)) for seed in range(first, first + 20)}
    cases = {seed: case for seed, case in drawn.items() if case}
    assert len(cases) > 5
    names = [tir.GlobalVar(f"f{seed}") for seed in cases]
    targets = [t for t in ("opencl", "cuda") if getattr(gpu_devices, f"has_{t}")()]
    functions = [case.func for case in cases.values()]
    modules = {
        t: ls.build(tir.IRModule(names=names, functions=functions), target=t) for t in targets
    }
    for seed, case in cases.items():
        sch = ls.default_schedule(case.func, target="opencl", holes=seed % 2 == 0)
        ls.assert_structural_equal(replayed(sch, case.func).mod, sch.mod)
        numbers = np.random.default_rng(seed)
        inputs = [numbers.integers(-9, 10, shape).astype(case.dtype) for shape in case.inputs]
        expected = [np.zeros(shape, case.dtype) for shape in case.outputs]
        ls.interp.run(case.func, *inputs, *expected)
        found = [np.full(shape, 7, case.dtype) for shape in case.outputs]
        ls.interp.run(sch.func, *inputs, *found)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other, f"interpreter, seed {seed}")
        for target, module in modules.items():
            found = [np.full(shape, 7, case.dtype) for shape in case.outputs]
            module[f"f{seed}"](*inputs, *found)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other, f"{target}, seed {seed}")


def written(text: str) -> tir.PrimFunc:
    return ls.from_source(text)


FROM_1 = """
@T.prim_func
def main(A: T.Buffer((100,), "float16"), B: T.Buffer((100,), "float16")):
    for i_ in range(1, 100):
        with T.block("block"):
            i = T.axis.remap("S", [i_])
            B[i] = A[i] + 1
"""
PREFIX_SUM = """
@T.prim_func
def main(A: T.Buffer((COUNT,), "DTYPE"), B: T.Buffer((COUNT,), "DTYPE")):
    B[0] = 0
    for i_ in range(COUNT - 1):
        with T.block("block"):
            i = T.axis.remap("R", [i_])
            B[i + 1] = B[i] + A[i + 1]
"""
IN_PLACE = """
@T.prim_func
def main(A: T.Buffer((100,), "float16"), B: T.Buffer((100,), "float16")):
    for i_ in range(100):
        with T.block("block"):
            i = T.axis.remap("S", [i_])
            B[i] = B[i] + A[i]
"""
BRANCHES = """
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
"""


def prefix_sum(count: int, dtype: str) -> str:
    return PREFIX_SUM.replace("COUNT", str(count)).replace("DTYPE", dtype)


@gpu_devices.both
def test_loops_that_no_pattern_fits_are_bound(target: str) -> None:
    gpu_devices.require(target)
    a = RNG.integers(-3, 4, 100).astype("float16")
    b = np.ones(100, "float16")
    ls.build(written(FROM_1), target=target)(a, b)
    np.testing.assert_array_equal(b, np.concatenate([[1], a[1:] + 1]))
    ls.build(written(prefix_sum(100, "float16")), target=target)(a, b)
    np.testing.assert_array_equal(b, np.concatenate([[0], a[1:].cumsum()]))
    b = np.ones(100, "float16")
    ls.build(written(IN_PLACE), target=target)(a, b)
    np.testing.assert_array_equal(b, a + 1)
    square = np.zeros((100, 100), "float16")
    ls.build(written(BRANCHES), target=target)(square)
    assert (square[::2] == 1).all() and (square[1::2] == 2).all()


def kernels(module: ls.Module, target: str) -> list[str]:
    head = "__kernel void" if target == "opencl" else "__global__ void"
    return [line for line in module.source(target).splitlines() if head in line]


@gpu_devices.both
def test_rows_are_one_kernel(target: str) -> None:
    gpu_devices.require(target)
    for name in ("softmax", "layer_norm"):
        func = te.create_prim_func(PROGRAMS[name].make((5, 64)))
        assert len(kernels(ls.build(func, target=target), target)) == 1, name


@gpu_devices.both
@pytest.mark.parametrize(("along", "sizes"), [(1, (30, 200)), (1, (3, 5000)), (0, (200, 70))])
def test_what_is_made_of_the_result_of_a_reduction_is_in_its_kernel(
    target: str, along: int, sizes: Sizes
) -> None:
    gpu_devices.require(target)
    a, r = reduction(along, te.sum)(sizes)
    root = te.compute(r.shape, lambda i: te.sqrt(r[i]) + 1.0, name="Q")
    tensors = [a, te.compute(r.shape, lambda i: root[i] * 2.0, name="Y")]
    module = ls.build(te.create_prim_func(tensors), target=target)
    assert len(kernels(module, target)) == 1
    arrays = arguments(tensors)
    module(*arrays)
    expected = (np.sqrt(arrays[0].sum(along)) + 1) * 2
    np.testing.assert_allclose(arrays[1], expected, rtol=2e-4)


N, M, K = te.size_var("n"), te.size_var("m"), te.size_var("k")
SYMBOLIC: dict[str, tuple[str, Sizes, list[tuple[tuple[int, ...], ...]]]] = {
    "product of any rows and columns": (
        "product",
        (N, M, 33),
        [((50, 33), (33, 70), (50, 70)), ((1, 33), (33, 1), (1, 1)), ((0, 33), (33, 4), (0, 4))],
    ),
    "product of any size": (
        "product",
        (N, M, K),
        [((50, 33), (33, 70), (50, 70)), ((3, 0), (0, 5), (3, 5))],
    ),
    "softmax of any rows": ("softmax", (N, 100), [((3, 100), (3, 100)), ((0, 100), (0, 100))]),
    "softmax of any size": ("softmax", (N, M), [((3, 77), (3, 77)), ((1, 1), (1, 1))]),
    "sums of columns of any size": ("column_sums", (N, M), [((70, 33), (33,)), ((0, 2), (2,))]),
    "elements of any size": (
        "elements",
        (N, M),
        [((5, 70), (70,), (5, 70)), ((0, 3), (3,), (0, 3))],
    ),
}


@gpu_devices.both
@pytest.mark.parametrize("name", list(SYMBOLIC))
def test_a_rule_takes_sizes_that_only_a_call_knows(target: str, name: str) -> None:
    gpu_devices.require(target)
    of, sizes, shapes = SYMBOLIC[name]
    program = PROGRAMS[of]
    module = ls.build(te.create_prim_func(program.make(sizes)), target=target)
    for each in shapes:
        arrays = [RNG.random(shape, "float32") for shape in each]
        module(*arrays)
        expected = program.expected(*arrays[:-1])
        np.testing.assert_allclose(arrays[-1], expected, rtol=2e-4, atol=1e-5, err_msg=str(each))


@gpu_devices.both
def test_rows_in_batches_are_as_long_as_they_are_many(target: str) -> None:
    """Which terms there are depends on a size that says which rows there are, too."""
    gpu_devices.require(target)
    n = te.var("n")
    a = te.placeholder((2, n, n), "float32")
    module = ls.build(te.create_prim_func([a, te.nn.softmax(a)]), target=target)
    for size in (1, 77):
        x = RNG.random((2, size, size), "float32")
        actual = np.full_like(x, np.nan)
        module(x, actual)
        powers = np.exp(x - x.max(-1, keepdims=True))
        np.testing.assert_allclose(actual, powers / powers.sum(-1, keepdims=True), rtol=2e-4)
