# SPDX-License-Identifier: Apache-2.0
"""Products that default schedules of CUDA give to tensor cores, and those that they do not."""

from __future__ import annotations

from typing import Any

import gpu_devices
import ml_dtypes
import numpy as np
import pytest
from gpu_programs import RNG

import loopsmith as ls
from loopsmith import te, tir

NUMPY = {"bfloat16": ml_dtypes.bfloat16}


def numpy_type(dtype: str) -> Any:
    return NUMPY.get(dtype, dtype)


def wide(value: Any, dtype: str, sum_: str) -> Any:
    return value if dtype == sum_ else value.astype(sum_)


def product(
    n: Any,
    m: Any,
    k: Any,
    *,
    dtype: str = "float16",
    sum_: str = "float32",
    left: bool = False,
    right: bool = False,
) -> list[te.Tensor]:
    """A @ B, of which `left` or `right` is stored by its columns."""
    a = te.placeholder((k, n) if left else (n, k), dtype, name="A")
    b = te.placeholder((m, k) if right else (k, m), dtype, name="B")
    r = te.reduce_axis((0, k), name="r")

    def element(i: Any, j: Any) -> Any:
        x, y = a[r, i] if left else a[i, r], b[j, r] if right else b[r, j]
        return te.sum(wide(x, dtype, sum_) * wide(y, dtype, sum_), axis=r)

    return [a, b, te.compute((n, m), element, name="C")]


def with_bias(tensors: list[te.Tensor], dtype: str) -> list[te.Tensor]:
    """What is negative of A @ B + bias left out, in another type."""
    *operands, c = tensors
    bias = te.placeholder((c.shape[1],), c.dtype, name="bias")
    zero = te.const(0, c.dtype)
    d = te.compute(c.shape, lambda i, j: te.max(c[i, j] + bias[j], zero).astype(dtype), name="D")
    return [*operands, bias, d]


def batches(s: int, n: int, m: int, k: int) -> list[te.Tensor]:
    """Of each of `s` pairs A @ B.T."""
    a = te.placeholder((s, n, k), "float16", name="A")
    b = te.placeholder((s, m, k), "float16", name="B")
    r = te.reduce_axis((0, k), name="r")

    def element(h: Any, i: Any, j: Any) -> Any:
        return te.sum(a[h, i, r].astype("float32") * b[h, j, r].astype("float32"), axis=r)

    return [a, b, te.compute((s, n, m), element, name="C")]


def convolution(n: int, c: int, f: int, h: int) -> list[te.Tensor]:
    """3 x 3, of pictures with channels last, and zeros around."""
    x = te.placeholder((n, h, h, c), "float16", name="X")
    w = te.placeholder((f, 3, 3, c), "float16", name="W")
    padded = te.compute(
        (n, h + 2, h + 2, c),
        lambda b, y, z, k: te.if_then_else(
            te.all(y >= 1, y < h + 1, z >= 1, z < h + 1),
            x[b, y - 1, z - 1, k],
            te.const(0, "float16"),
        ),
        name="P",
    )
    ry, rx = te.reduce_axis((0, 3), name="ry"), te.reduce_axis((0, 3), name="rx")
    rc = te.reduce_axis((0, c), name="rc")

    def element(b: Any, y: Any, z: Any, k: Any) -> Any:
        taken = padded[b, y + ry, z + rx, rc].astype("float32")
        return te.sum(taken * w[k, ry, rx, rc].astype("float32"), axis=[ry, rx, rc])

    return [x, w, te.compute((n, h, h, f), element, name="Y")]


def arguments(tensors: list[te.Tensor], sizes: dict[str, int] | None = None) -> list[np.ndarray]:
    """Return small integers for inputs, so that every order of a sum gives the same."""
    arrays = []
    for tensor in tensors:
        shape = [int((sizes or {}).get(getattr(s, "name", ""), s)) for s in tensor.shape]
        drawn = RNG.integers(-3, 4, shape)
        arrays.append(drawn.astype(numpy_type(tensor.dtype)))
    arrays[-1][...] = 7
    return arrays


def scheduled(tensors: list[te.Tensor], target: str = "cuda") -> tir.Schedule:
    return ls.default_schedule(te.create_prim_func(tensors), target=target)


def run(
    tensors: list[te.Tensor], sizes: dict[str, int] | None = None, target: str = "cuda"
) -> tuple[str, Any]:
    """Build by rule, compare with the interpreter's result, and give the source."""
    gpu_devices.require("cuda")
    func = te.create_prim_func(tensors)
    module = ls.build(func, target=target)
    arrays = arguments(tensors, sizes)
    expected = [array.copy() for array in arrays]
    module(*arrays)
    ls.interp.run(func, *expected)
    np.testing.assert_array_equal(arrays[-1], expected[-1])
    return module.source("cuda"), module


def is_on_tensor_cores(source: str) -> bool:
    return "ls_mma_m16n8k" in source


KINDS = [
    ("float16", "float32", False, False),
    ("float16", "float32", True, False),
    ("float16", "float32", True, True),
    ("float16", "float16", False, True),
    ("bfloat16", "float32", False, True),
    ("int8", "int32", False, True),
    ("int8", "int32", True, False),
]


@pytest.mark.parametrize(("dtype", "sum_", "left", "right"), KINDS)
def test_products_of_these_types_are_on_tensor_cores(
    dtype: str, sum_: str, left: bool, right: bool
) -> None:
    tensors = product(64, 32, 160, dtype=dtype, sum_=sum_, left=left, right=right)
    source, _ = run(tensors)
    assert is_on_tensor_cores(source)
    assert "ls_copy_async_16(" in source
    assert source.count("__global__ void") == 1


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("sizes", [(64, 32, 160), (17, 40, 33)])
def test_float32_is_rounded_for_tensor_cores_where_the_target_allows_it(
    sizes: tuple[int, int, int], left: bool, right: bool
) -> None:
    tensors = product(*sizes, dtype="float32", left=left, right=right)
    source, module = run(tensors, target="cuda -allow_tf32")
    assert "ls_mma_m16n8k8_tf32_fp32(" in source
    # Rows of steps are loaded by `ldmatrix`; what lies across them has a gap of eight elements.
    assert ("ls_load_matrix_x4(" in source) == (right or not left)
    assert not [remark for remark in module.report().remarks if " is read with bank" in remark]
    assert not is_on_tensor_cores(run(tensors)[0])
    assert not is_on_tensor_cores(run(tensors, target="cuda -arch=sm_75 -allow_tf32")[0])


@pytest.mark.parametrize("sizes", [(1, 1, 1), (17, 40, 33), (64, 72, 40), (5, 130, 200)])
def test_sizes_that_tiles_do_not_divide_are_padded_in_shared_memory(
    sizes: tuple[int, int, int],
) -> None:
    source, _ = run(product(*sizes))
    assert is_on_tensor_cores(source)
    assert source.count("__global__ void") == 1


@pytest.mark.parametrize(("sizes", "right"), [((64, 64, 64), True), ((33, 50, 20), False)])
def test_what_is_made_of_results_is_made_where_they_are(
    sizes: tuple[int, int, int], right: bool
) -> None:
    source, _ = run(with_bias(product(*sizes, right=right), "float16"))
    assert is_on_tensor_cores(source)
    assert source.count("__global__ void") == 1


def test_batches_are_blocks_along_z() -> None:
    for sizes in ((3, 32, 32, 64), (2, 20, 30, 40)):
        source, _ = run(batches(*sizes))
        assert is_on_tensor_cores(source)
        assert "blockIdx.z" in source


def test_convolutions_are_products_of_gathered_elements() -> None:
    source, _ = run(convolution(2, 16, 16, 6))
    assert is_on_tensor_cores(source)
    assert source.count("__global__ void") == 1
    # Of one filter: no product of matrices.
    run(convolution(2, 16, 1, 6))


def test_sizes_may_be_known_by_the_call_alone() -> None:
    n, m, k = te.size_var("n"), te.size_var("m"), te.size_var("k")
    for tensors in (product(n, 64, 32), with_bias(product(n, m, k, right=True), "float16")):
        func = te.create_prim_func(tensors)
        gpu_devices.require("cuda")
        module = ls.build(func, target="cuda")
        assert is_on_tensor_cores(module.source("cuda"))
        for rows in (1, 64, 70):
            arrays = arguments(tensors, {"n": rows, "m": 40, "k": 24})
            expected = [array.copy() for array in arrays]
            module(*arrays)
            ls.interp.run(func, *expected)
            np.testing.assert_array_equal(arrays[-1], expected[-1])


def test_a_right_operand_may_be_written_first() -> None:
    a, b = (te.placeholder((32, 32), "float16", name=name) for name in "AB")
    r = te.reduce_axis((0, 32), name="r")
    c = te.compute(
        (32, 32),
        lambda i, j: te.sum(b[r, j].astype("float32") * a[i, r].astype("float32"), axis=r),
        name="C",
    )
    source, _ = run([a, b, c])
    assert is_on_tensor_cores(source)


def test_the_trace_is_python_and_goes_on_by_hand() -> None:
    gpu_devices.require("cuda")
    tensors = product(64, 64, 128)
    func = te.create_prim_func(tensors)
    sch = scheduled(tensors)
    names: dict[str, Any] = {}
    exec(str(sch.trace), {"tir": tir, "T": ls.script.tir, "__name__": "trace"}, names)
    again = tir.Schedule(func)
    names["apply_trace"](again)
    ls.assert_structural_equal(again.mod, sch.mod)
    step = again.get_loops("A_shared_dyn")[4]
    again.unannotate(step, "software_pipeline_async_stages")
    source = ls.build(again, target="cuda").source("cuda")
    assert is_on_tensor_cores(source)
    assert "ls_copy_async" not in source


@pytest.mark.parametrize("sizes", [(32, 32, 64), (20, 30, 40)])
def test_the_interpreter_runs_the_schedule_and_what_it_is_lowered_to(
    sizes: tuple[int, int, int],
) -> None:
    tensors = with_bias(product(*sizes), "float16")
    sch = scheduled(tensors)
    expected = arguments(tensors)
    inputs = [array.copy() for array in expected]
    ls.interp.run(te.create_prim_func(tensors), *expected)
    for func in (sch.func, ls.lower(sch, target="cuda")):
        arrays = [array.copy() for array in inputs]
        ls.interp.run(func, *arrays)
        np.testing.assert_array_equal(arrays[-1], expected[-1])


def test_tiles_are_as_large_as_shared_memory_allows() -> None:
    tensors = product(2048, 2048, 512)
    threads = {}
    for kib in (163, 99, 24):
        target = f"cuda -arch=sm_80 -max_shared_memory_per_block={kib * 1024}"
        source = ls.build(te.create_prim_func(tensors), target=target).source("cuda")
        assert is_on_tensor_cores(source)
        threads[kib] = int(source.split("__launch_bounds__(")[1].split(")")[0])
    assert threads[163] == 256
    assert threads[24] < 256


def test_what_tensor_cores_do_not_multiply_is_multiplied_by_threads() -> None:
    a, b = (te.placeholder((32, 32), "float16", name=name) for name in "AB")
    r = te.reduce_axis((0, 32), name="r")
    rounded = te.compute(
        (32, 32), lambda i, j: te.sum((a[i, r] * b[r, j]).astype("float32"), axis=r), name="C"
    )
    largest = te.compute((32, 32), lambda i, j: te.max(a[i, r] * b[r, j], axis=r), name="C")
    for tensors in (product(32, 32, 32, dtype="float32"), [a, b, rounded], [a, b, largest]):
        source, _ = run(tensors)
        assert not is_on_tensor_cores(source)
    older = ls.build(te.create_prim_func(product(32, 32, 32)), target="cuda -arch=sm_75")
    assert not is_on_tensor_cores(older.source("cuda"))


WARPGROUP_KINDS = [
    ("float16", 256, 128, False, False),
    ("float16", 250, 200, False, True),
    ("bfloat16", 256, 128, True, False),
    ("bfloat16", 256, 128, True, True),
]


@pytest.mark.parametrize(("dtype", "columns", "steps", "left", "right"), WARPGROUP_KINDS)
def test_four_warps_multiply_together_on_hopper(
    dtype: str, columns: int, steps: int, left: bool, right: bool
) -> None:
    gpu_devices.require("cuda")
    rows = te.size_var("n")  # As many as make large tiles worth it, for all that a build knows.
    tensors = with_bias(
        product(rows, columns, steps, dtype=dtype, left=left, right=right), "float32"
    )
    func, target = te.create_prim_func(tensors), "cuda -arch=sm_90a"
    module = ls.build(func, target=target)
    source = module.source("cuda")
    short = {"float16": "fp16", "bfloat16": "bf16"}[dtype]
    layouts = f"{'col' if left else 'row'}_{'col' if right else 'row'}"
    assert f"ls_mma_m64n256k64_{short}_fp32_{layouts}(" in source
    assert "wgmma.mma_async.sync.aligned.m64n256k16" in source
    # What threads have copied is made known to the instruction before each barrier.
    assert source.count("ls_fence_for_products();\n") == source.count("__syncthreads();\n")
    arrays = arguments(tensors, {"n": 150})
    expected = [array.copy() for array in arrays]
    ls.interp.run(func, *expected)
    module(*arrays)
    np.testing.assert_array_equal(arrays[-1], expected[-1])
    if not left:
        lowered = [array.copy() for array in expected]
        lowered[-1][...] = 7
        ls.interp.run(ls.lower(ls.default_schedule(func, target=target), target=target), *lowered)
        np.testing.assert_array_equal(lowered[-1], expected[-1])


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize(("n", "in_turn"), [(2048, 1), (4096, 8)])
def test_the_copy_engine_brings_tiles_of_large_arrays(
    n: int, in_turn: int, left: bool, right: bool
) -> None:
    func = te.create_prim_func(product(n, n, n, left=left, right=right))
    module = ls.build(func, target="cuda -arch=sm_90a")
    source = module.source("cuda")
    assert "ls_copy_tile_2d((" in source and "ls_copy_async_16(" not in source
    assert "ls_wait_for_products(1);" in source
    # Blocks that use more than the second cache keeps run near each other: rows first, of eight.
    trace = str(ls.default_schedule(func, target="cuda -arch=sm_90a").trace)
    assert f"factors=[None, {in_turn}, 8, 16]" in trace
    # Pairs of results are stored together, in two steps of half a warp.
    conflicts = [remark for remark in module.report().remarks if "bank conflicts" in remark]
    assert not [remark for remark in conflicts if " 2 accesses " not in remark]


@pytest.mark.parametrize("sizes", [(4096, 4000, 4096), (4000, 4096, 4096), (4096, 4096, 4000)])
def test_where_one_operand_is_padded_threads_copy_both(sizes: tuple[int, int, int]) -> None:
    func = te.create_prim_func(product(*sizes))
    source = ls.build(func, target="cuda -arch=sm_90a").source("cuda")
    assert "ls_copy_tile_2d((" not in source and "ls_mma_m64n256k64_fp16" in source
    # By 16 bytes, and none element by element.
    assert "ls_copy_async_16(&A_" in source and "ls_copy_async_16(&B_" in source
    assert "] = A[" not in source and "] = B[" not in source


def test_few_tiles_are_left_to_single_warps_on_hopper() -> None:
    func = te.create_prim_func(product(512, 512, 512))
    assert is_on_tensor_cores(ls.build(func, target="cuda -arch=sm_90a").source("cuda"))
    # Only the architecture with an `a` has the instruction.
    large = te.create_prim_func(product(4096, 4096, 4096))
    for arch, has in (("sm_90a", True), ("sm_90", False), ("sm_100", False)):
        source = ls.build(large, target=f"cuda -arch={arch}").source("cuda")
        assert ("wgmma" in source) == has and is_on_tensor_cores(source) != has
