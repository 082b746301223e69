# SPDX-License-Identifier: Apache-2.0
"""Tiles that the copy engine (TMA) brings, for products of four warps that go on meanwhile."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import gpu_devices
import ml_dtypes
import numpy as np
import pytest
from gpu_programs import RNG
from test_gpu_tensor_cores import tiles

import loopsmith as ls
from loopsmith import te, tir

TARGET = "cuda -arch=sm_90a"
ROWS, COLUMNS, STEPS = 64, 128, 256
"""Of the product: one tile, in four steps."""


def operands(
    *, left_by_columns: bool, right_by_columns: bool, batch: int, dtype: str, width: int = 0
) -> list[te.Tensor]:
    """Return placeholders A and B, whose rows have `width` elements more than are read."""
    outer = (batch,) if batch else ()
    left = (STEPS, ROWS + width) if left_by_columns else (ROWS, STEPS + width)
    right = (COLUMNS, STEPS + width) if right_by_columns else (STEPS, COLUMNS + width)
    return [
        te.placeholder(outer + left, dtype, name="A"),
        te.placeholder(outer + right, dtype, name="B"),
    ]


def product(
    a: te.Tensor, b: te.Tensor, *, left_by_columns: bool, right_by_columns: bool, batch: int
) -> te.Tensor:
    """Return C[(b,) i, j], the sum over k in float32."""
    k = te.reduce_axis((0, STEPS), name="k")
    outer = (batch,) if batch else ()

    def element(*index: Any) -> Any:
        *of, i, j = index
        left = a[(*of, k, i)] if left_by_columns else a[(*of, i, k)]
        right = b[(*of, j, k)] if right_by_columns else b[(*of, k, j)]
        return te.sum(left.astype("float32") * right.astype("float32"), axis=k)

    return te.compute((*outer, ROWS, COLUMNS), element, name="C")


def scheduled(
    tensors: list[te.Tensor],
    *,
    left_by_columns: bool,
    right_by_columns: bool,
    in_flight: int = 1,
    dtype: str = "f16",
) -> tir.Schedule:
    """Return the product by four warps, the first thread of each copying parts of tiles."""
    sch = tir.Schedule(te.create_prim_func(tensors))
    *batch, i, j, k = sch.get_loops("C")
    warp, i = sch.split(i, [4, 16])
    step, k = sch.split(k, [None, 64])
    sch.reorder(*batch, warp, step, i, j, k)
    result = sch.cache_write("C", 0, "wmma.accumulator")
    sch.reverse_compute_at(result, warp)
    sch.bind(batch[0] if batch else sch.split(warp, [1, None])[0], "blockIdx.x")
    sch.bind(sch.get_loops("C")[1], "threadIdx.z")
    for number in (0, 1):
        copy = sch.cache_read("C", number, "shared.dyn")
        sch.compute_at(copy, step, preserve_unit_loops=True)
        rows, columns = sch.get_loops(copy)[-2:]
        parts = sch.get(columns).extent // 64
        row_part, row = sch.split(rows, [4 // int(parts), None])
        column_part, column = sch.split(columns, [int(parts), None])
        sch.reorder(row_part, column_part, row, column)
        sch.bind(sch.fuse(row_part, column_part), "threadIdx.z")
    first = sch.decompose_reduction("C", step)
    suffix = {
        (False, False): "",
        (False, True): "_trans",
        (True, False): "_trans_left",
        (True, True): "_trans_both",
    }[left_by_columns, right_by_columns]
    sch.tensorize(i, f"wgmma_sync_16x{COLUMNS}x64_{dtype}{dtype}f32{suffix}")
    tiles(sch, first, "wmma_fill_16x16x16_f32")
    tiles(sch, result, "wmma_store_16x16x16_f32_global")
    sch.annotate(step, "software_pipeline_stage", [0, 0, 2])
    sch.annotate(step, "software_pipeline_order", [0, 1, 2])
    sch.annotate(step, "software_pipeline_async_stages", [0])
    if in_flight:
        sch.annotate(step, "software_pipeline_products_in_flight", in_flight)
    return sch


def made(
    *,
    left_by_columns: bool = False,
    right_by_columns: bool = False,
    batch: int = 0,
    dtype: str = "float16",
    in_flight: int = 1,
    width: int = 0,
) -> tuple[tir.Schedule, list[np.ndarray], np.ndarray]:
    """Return the schedule, arrays of it with a poisoned result, and what the result is to be."""
    order = {"left_by_columns": left_by_columns, "right_by_columns": right_by_columns}
    given = operands(**order, batch=batch, dtype=dtype, width=width)
    short = {"float16": "f16", "bfloat16": "bf16"}[dtype]
    result = product(*given, **order, batch=batch)
    sch = scheduled([*given, result], **order, in_flight=in_flight, dtype=short)
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    arrays = [
        RNG.integers(-3, 4, tuple(int(extent) for extent in tensor.shape)).astype(kind)
        for tensor in given
    ]
    a, b = (each.astype("float32") for each in arrays)
    a = np.swapaxes(a[..., :ROWS], -1, -2) if left_by_columns else a[..., :STEPS]
    b = np.swapaxes(b[..., :STEPS], -1, -2) if right_by_columns else b[..., :COLUMNS]
    wanted: np.ndarray = a @ b
    for each in arrays:
        each.flags.writeable = False
    return sch, [*arrays, np.full(wanted.shape, np.nan, "float32")], wanted


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("left_by_columns", [False, True])
@pytest.mark.parametrize("right_by_columns", [False, True])
def test_the_copy_engine_brings_tiles(
    dtype: str, left_by_columns: bool, right_by_columns: bool
) -> None:
    gpu_devices.require("cuda")
    sch, arrays, wanted = made(
        left_by_columns=left_by_columns, right_by_columns=right_by_columns, dtype=dtype
    )
    module = ls.build(sch, target=TARGET)
    source = module.source("cuda")
    assert "ls_copy_tile_2d((" in source and "ls_copy_async" not in source
    # Engine and products see what the engine brings without a fence.
    assert "ls_fence_for_products();" not in source
    module(*arrays)
    np.testing.assert_array_equal(arrays[-1], wanted)


@pytest.mark.parametrize("in_flight", [0, 1])
def test_the_interpreter_runs_them_as_lowered(in_flight: int) -> None:
    sch, arrays, wanted = made(in_flight=in_flight)
    for func in (sch.func, ls.lower(sch, target=TARGET)):
        arrays[-1][...] = np.nan
        ls.interp.run(func, *arrays)
        np.testing.assert_array_equal(arrays[-1], wanted)


def test_a_dimension_of_batches_is_one_of_the_map() -> None:
    gpu_devices.require("cuda")
    sch, arrays, wanted = made(batch=3)
    module = ls.build(sch, target=TARGET)
    assert "ls_copy_tile_3d((" in module.source("cuda")
    for _ in range(2):  # The second call finds the maps of the first.
        arrays[-1][...] = np.nan
        module(*arrays)
        np.testing.assert_array_equal(arrays[-1], wanted)


def test_products_are_in_flight_while_the_next_step_begins() -> None:
    source = ls.build(made(in_flight=1)[0], target=TARGET).source("cuda")
    assert source.count("ls_wait_for_products(1);") == 2
    # The statements that read the results wait for all.
    assert source.count("ls_finish_m64n128((") == 1
    # One tile of A (8 KiB) more than the two ahead and the one at hand.
    assert "B_shared_dyn = (uint16_t*)(shared_memory + 32768)" in source
    source = ls.build(made(in_flight=0)[0], target=TARGET).source("cuda")
    assert "ls_wait_for_products(" not in source
    assert "B_shared_dyn = (uint16_t*)(shared_memory + 24576)" in source


def test_a_wait_that_is_missing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The header of the tests brings tiles when somebody asks for them."""
    gpu_devices.require("cuda")
    gpu_devices.require_no_gpu()
    sch, arrays, wanted = made()
    monkeypatch.setenv("CUDA_ON_CPU_LEAVES_OUT", "ls_wait_barrier")
    ls.build(sch, target=TARGET)(*arrays)
    assert not np.array_equal(arrays[-1], wanted)


def test_rows_that_begin_in_the_middle_of_16_bytes_are_copied_by_threads() -> None:
    gpu_devices.require("cuda")
    sch, arrays, wanted = made(width=4)
    module = ls.build(sch, target=TARGET)
    assert "ls_copy_tile_" not in module.source("cuda")
    module(*arrays)
    np.testing.assert_array_equal(arrays[-1], wanted)


def test_a_wider_array_is_described_by_its_rows() -> None:
    gpu_devices.require("cuda")
    sch, arrays, wanted = made(width=8)
    module = ls.build(sch, target=TARGET)
    assert "ls_copy_tile_2d((" in module.source("cuda")
    module(*arrays)
    np.testing.assert_array_equal(arrays[-1], wanted)


def test_devices_without_the_engine_copy_by_the_loops() -> None:
    gpu_devices.require("opencl")
    sch, arrays, wanted = made()
    ls.build(sch, target="opencl -max_shared_memory_per_block=131072")(*arrays)
    np.testing.assert_array_equal(arrays[-1], wanted)


CALL = """
import loopsmith as ls
from test_gpu_copy_engine import TARGET, made
sch, arrays, _ = made()
try:
    ls.build(sch, target=TARGET)(*arrays)
except ls.CallError as error:
    print(error.code, error)
"""


def test_a_driver_that_describes_no_arrays_is_named() -> None:
    gpu_devices.require("cuda")
    gpu_devices.require_no_gpu()
    old = gpu_devices.driver_in(
        os.environ["CUDA_ON_CPU_FOLDER"], "-DcuTensorMapEncodeTiled=hidden_from_all"
    )
    told = subprocess.run(
        [sys.executable, "-c", CALL],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "LOOPSMITH_CUDA": old, "LOOPSMITH_NVRTC": old},
    ).stdout
    assert "driver_describes_arrays" in told
    assert "cuda: the driver has no cuTensorMapEncodeTiled" in told
    assert "install a driver of CUDA 12 or later" in told
