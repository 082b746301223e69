# SPDX-License-Identifier: Apache-2.0
"""Copies into shared memory that are done while threads go on."""

from __future__ import annotations

import re
from typing import Any

import gpu_devices
import numpy as np
import pytest
import test_gpu_schedules as schedules
from gpu_programs import RNG, run, script

import loopsmith as ls
from loopsmith import tir


def pipelined(
    stages: list[int],
    order: list[int],
    *,
    asynchronous: tuple[int, ...] = (0,),
    lanes: int = 1,
    text: str = schedules.MATMUL,
) -> tir.Schedule:
    """Return a product whose tiles are copied so many stages before they are used."""
    sch = script(text)
    i, j, k = sch.get_loops("C")
    i0, i1 = sch.split(i, [None, 8])
    j0, j1 = sch.split(j, [None, 8])
    k0, k1 = sch.split(k, [None, 8 * lanes])
    sch.reorder(i0, j0, i1, j1, k0, k1)
    for loop, axis in zip(
        (i0, j0, i1, j1), ("blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x")
    ):
        sch.bind(loop, axis)
    sch.reverse_compute_at(sch.cache_write("C", 0, "local"), j1)
    for number in (0, 1):
        copy = sch.cache_read("C", number, "shared")
        sch.compute_at(copy, k0)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, y, x, lane = sch.split(fused, [None, 8, 8, lanes])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lane)
    sch.decompose_reduction("C", k0)
    sch.annotate(k0, "software_pipeline_stage", stages)
    sch.annotate(k0, "software_pipeline_order", order)
    if asynchronous:
        sch.annotate(k0, "software_pipeline_async_stages", list(asynchronous))
    return sch


def check(sch: tir.Schedule, target: str, dtype: str = "float32") -> str:
    """Run a product, and give its source."""
    a, b = RNG.integers(-3, 4, (2, 64, 64)).astype(dtype)
    c = np.zeros((64, 64), dtype)
    module = run(sch, target, a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    return module.source(target)


@gpu_devices.both
@pytest.mark.parametrize(
    ("stages", "order"),
    [
        ([0, 0, 1], [0, 1, 2]),
        ([0, 0, 2], [0, 1, 2]),
        ([0, 0, 3], [0, 1, 2]),
        ([0, 0, 2], [1, 2, 0]),
        ([0, 1, 3], [2, 0, 1]),
        ([0, 0, 9], [0, 1, 2]),
    ],
)
def test_tiles_are_copied_stages_ahead(target: str, stages: list[int], order: list[int]) -> None:
    sch = pipelined(stages, order)
    lowered = ls.lower(sch, target=target)
    a, b = RNG.integers(-3, 4, (2, 64, 64)).astype("float32")
    c = np.zeros_like(a)
    ls.interp.run(lowered, a, b, c)
    np.testing.assert_array_equal(c, a @ b)
    source = check(sch, target)
    assert ("ls_copy_async_4(" in source) == (target == "cuda")
    assert ("barrier(" in source) == (target == "opencl")


def test_a_step_waits_for_what_it_uses_and_threads_wait_once() -> None:
    # Three tiles of each operand are under way while the fourth is used.
    source = check(pipelined([0, 0, 3], [0, 1, 2]), "cuda")
    loop = source[source.index("for (int32_t k_0") :]
    loop = loop[: loop.index("\n  }\n")]
    assert re.findall(r"ls_(?:wait|commit|copy)\w*\(|__syncthreads", loop) == [
        "ls_wait_for_copies(",
        "__syncthreads",
        "ls_copy_async_4(",
        "ls_copy_async_4(",
        "ls_commit_copies(",
    ]
    assert "ls_wait_for_copies(2);" in loop
    assert "A_shared[256]" in source


@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 4), ("float32", 2), ("int8", 4)])
def test_a_thread_copies_up_to_16_bytes_at_once(dtype: str, lanes: int) -> None:
    text = schedules.MATMUL.replace("(64, 64))", f'(64, 64), "{dtype}")')
    text = text.replace("T.float32(0)", f'T.cast(0, "{dtype}")')
    sch = pipelined([0, 0, 1], [0, 1, 2], lanes=lanes, text=text)
    size = lanes * np.dtype(dtype).itemsize
    assert f"ls_copy_async_{size}(&A_shared[" in check(sch, "cuda", dtype)


def test_elements_of_2_bytes_are_copied_at_once_as_no_instruction_moves_them() -> None:
    text = schedules.MATMUL.replace("(64, 64))", '(64, 64), "float16")')
    text = text.replace("T.float32(0)", "T.float16(0)")
    assert "ls_copy_async" not in check(
        pipelined([0, 0, 1], [0, 1, 2], text=text), "cuda", "float16"
    )


def test_older_gpus_copy_where_the_copy_stands() -> None:
    sch = pipelined([0, 0, 2], [0, 1, 2])
    gpu_devices.require("cuda")
    source = ls.build(sch, target="cuda -arch=sm_75").source("cuda")
    assert "ls_copy_async" not in source
    assert "ls_commit" not in source


def test_what_a_stage_uses_itself_is_copied_at_once() -> None:
    assert "ls_copy_async" not in check(pipelined([0, 0, 0], [0, 1, 2]), "cuda")


def test_double_buffers_are_two_stages() -> None:
    sch = pipelined([0, 0, 1], [0, 1, 2], asynchronous=())
    k0 = sch.get_loops("C_update")[-2]
    for key in ("software_pipeline_stage", "software_pipeline_order"):
        sch.unannotate(k0, key)
    for name in ("A_shared", "B_shared"):
        sch.annotate(sch.get_block(name), "double_buffer_scope", 0)
    for target in ("opencl", "cuda"):
        source = check(sch, target)
        assert "A_shared[128]" in source
        assert "ls_copy_async" not in source


@pytest.mark.parametrize("fault", ["ls_wait_for_copies(1);", "__syncthreads();"])
def test_a_missing_wait_shows_on_a_processor(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The header of the tests does copies late, and threads in turns."""
    sch = pipelined([0, 0, 2], [0, 1, 2])
    gpu_devices.require("cuda")
    gpu_devices.require_no_gpu()
    monkeypatch.setenv("CUDA_ON_CPU_LEAVES_OUT", fault)
    a, b = RNG.integers(1, 4, (2, 64, 64)).astype("float32")
    c = np.zeros_like(a)
    ls.build(sch, target="cuda")(a, b, c)
    assert not np.array_equal(c, a @ b)


def padded() -> tir.Schedule:
    """Return sums of what lies around the middle of rows; beyond element 56 there are zeros."""
    return script("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((4, 32), "float32", scope="shared")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for k in T.serial(4, annotations={"software_pipeline_stage": [0, 2],
                                          "software_pipeline_order": [0, 1],
                                          "software_pipeline_async_stages": [0]}):
            for i in T.thread_binding(32, thread="threadIdx.x"):
                with T.block("S"):
                    vk, vi = T.axis.remap("SS", [k, i])
                    S[vk, vi] = T.if_then_else(
                        vk * 16 + vi < 56, A[T.min(vk * 16 + vi, 63)], T.float32(0))
            for i in T.thread_binding(16, thread="threadIdx.x"):
                with T.block("C"):
                    vk, vi = T.axis.remap("SS", [k, i])
                    C[vk * 16 + vi] = S[vk, vi] + S[vk, 31 - vi]
""")


@gpu_devices.both
def test_zeros_stand_where_a_copy_has_no_source(target: str) -> None:
    a, c = RNG.random(64, "float32"), np.zeros(64, "float32")
    module = run(padded(), target, a, c)
    x = np.concatenate([a[:56], np.zeros(24, "float32")])
    rows = np.stack([x[k * 16 : k * 16 + 32] for k in range(4)])
    np.testing.assert_array_equal(c, (rows[:, :16] + rows[:, :15:-1]).ravel())
    if target == "cuda":
        assert re.search(r"ls_copy_async_4\(&S\[.*\], &A\[.*\], .* < \d+\);", module.source("cuda"))


def unordered(stages: list[int]) -> Any:
    with pytest.raises(ls.LowerError) as caught:
        ls.build(pipelined(stages, [0, 1, 2]), target="cuda")
    return caught.value


def test_a_product_before_its_tiles_is_refused() -> None:
    error = unordered([1, 0, 0])
    assert error.code == "pipeline_keeps_order"
    assert (
        "software_pipeline: in loop k_0, statement 0, which writes A_shared, would not be done "
        "before statement 2, which writes C_local, in the same iteration, which depends on it"
    ) in str(error)
