# SPDX-License-Identifier: Apache-2.0
"""Products of tiles on tensor cores, which are tensor intrinsics like any."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import gpu_devices
import ml_dtypes
import numpy as np
import pytest
from gpu_programs import RNG, run, script

import loopsmith as ls
from loopsmith import tir

DTYPES = {"f16": "float16", "bf16": "bfloat16", "s8": "int8", "f32": "float32", "s32": "int32"}
DTYPES["tf32"] = "float32"


def product(type_: str, sum_: str, *, trans: bool = False, n: int = 64) -> str:
    """Return a product of square matrices, the right one by rows or by columns."""
    dtype, wide = DTYPES[type_], DTYPES[sum_]
    of_right = "B[vj, vk]" if trans else "B[vk, vj]"
    widened = "{}" if dtype == wide else f'T.cast({{}}, "{wide}")'
    return f"""
@T.prim_func
def main(A: T.Buffer(({n}, {n}), "{dtype}"), B: T.Buffer(({n}, {n}), "{dtype}"),
         C: T.Buffer(({n}, {n}), "{wide}")):
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.cast(0, "{wide}")
            C[vi, vj] = C[vi, vj] + {widened.format("A[vi, vk]")} * {widened.format(of_right)}
"""


def tiles(sch: tir.Schedule, block: Any, intrinsic: str) -> None:
    """Put an intrinsic in the place of each tile of 16 x 16 of a copy."""
    y, x = sch.get_loops(block)[-2:]
    y0, y1 = sch.split(y, [None, 16])
    x0, x1 = sch.split(x, [None, 16])
    sch.reorder(y0, x0, y1, x1)
    sch.tensorize(y1, intrinsic)


def on_tensor_cores(text: str, type_: str, sum_: str, *, trans: bool = False) -> tir.Schedule:
    """Return a product by two warps of a block, each 16 rows of a tile of 32 x 32."""
    sch = script(text)
    i, j, k = sch.get_loops("C")
    i0, i1, i2 = sch.split(i, [None, 2, 16])
    j0, j1, j2 = sch.split(j, [None, 2, 16])
    k0, k1, k2 = sch.split(k, [None, 2, 16])
    sch.reorder(i0, j0, i1, k0, k1, j1, i2, j2, k2)
    for loop, axis in ((i0, "blockIdx.y"), (j0, "blockIdx.x"), (i1, "threadIdx.y")):
        sch.bind(loop, axis)
    result = sch.cache_write("C", 0, "wmma.accumulator")
    sch.reverse_compute_at(result, i1)
    suffix = "_trans" if trans else ""
    copies = {}
    for number, side in ((0, "a"), (1, "b")):
        shared = sch.cache_read("C", number, "shared")
        sch.compute_at(shared, k0)
        fused = sch.fuse(*sch.get_loops(shared)[-2:])
        _, y, x, lanes = sch.split(fused, [None, 2, 32, 8])
        sch.bind(y, "threadIdx.y")
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lanes)
        fragment = sch.cache_read("C", number, f"wmma.matrix_{side}")
        sch.compute_at(fragment, k1)
        of_side = suffix if side == "b" else ""
        copies[fragment] = f"wmma_load_16x16x16_{type_}_{side}{of_side}_shared"
    copies[sch.decompose_reduction("C", k0)] = f"wmma_fill_16x16x16_{sum_}"
    copies[result] = f"wmma_store_16x16x16_{sum_}_global"
    for block, intrinsic in copies.items():
        tiles(sch, block, intrinsic)
    sch.tensorize(i2, f"wmma_sync_16x16x16_{type_}{type_}{sum_}{suffix}")
    return sch


def operands(type_: str, sum_: str, n: int = 64) -> list[np.ndarray]:
    dtype = ml_dtypes.bfloat16 if type_ == "bf16" else np.dtype(DTYPES[type_])
    a, b = RNG.integers(-3, 4, (2, n, n)).astype(dtype)
    return [a, b, np.zeros((n, n), DTYPES[sum_])]


def expected(a: np.ndarray, b: np.ndarray, trans: bool) -> np.ndarray:
    return a.astype("float32") @ (b.T if trans else b).astype("float32")


KINDS = [
    ("f16", "f32", False),
    ("f16", "f32", True),
    ("f16", "f16", False),
    ("bf16", "f32", True),
    ("s8", "s32", True),
    ("s8", "s32", False),
    ("tf32", "f32", True),
    ("tf32", "f32", False),
]


@gpu_devices.both
@pytest.mark.parametrize(("type_", "sum_", "trans"), KINDS)
def test_products_of_fragments(target: str, type_: str, sum_: str, trans: bool) -> None:
    sch = on_tensor_cores(product(type_, sum_, trans=trans), type_, sum_, trans=trans)
    arrays = operands(type_, sum_)
    module = run(sch, target, *arrays)
    np.testing.assert_array_equal(arrays[2], expected(arrays[0], arrays[1], trans))
    source = module.source(target)
    shape = "m16n8k8" if type_ == "tf32" else "m16n8k16"
    assert (f"ls_mma_{shape}_" in source) == (target == "cuda")
    if target == "cuda":
        rows = {"s8": "ls_load_matrix_x2("}.get(type_, "ls_load_matrix_x4(")
        assert rows in source
        has_halves = type_ in ("f16", "bf16")
        assert ("ls_load_matrix_x4_trans(" in source) == (has_halves and not trans)
        # Registers: a tile of the left, of the right, two of the results.
        assert re.search(r"A_shared_wmma_matrix_a\[8\]", source)
        assert re.search(r"C_wmma_accumulator\[16\]", source)


def test_operands_of_tf32_are_rounded_to_11_bits_by_tensor_cores_alone() -> None:
    sch = on_tensor_cores(product("tf32", "f32", n=32), "tf32", "f32")
    a, b = RNG.standard_normal((2, 32, 32)).astype("float32")
    got, lowered, loops, exact = (np.zeros((32, 32), "float32") for _ in range(4))
    run(sch, "cuda", a, b, got)
    ls.interp.run(ls.lower(sch, target="cuda"), a, b, lowered)
    rounded = [((x.view("uint32") + 0x1000) & 0xFFFFE000).view("float32") for x in (a, b)]
    for made in (got, lowered):
        np.testing.assert_allclose(made, rounded[0] @ rounded[1], rtol=1e-4, atol=1e-5)
    ls.interp.run(ls.lower(sch, target="cuda -arch=sm_75"), a, b, loops)
    ls.interp.run(sch.func, a, b, exact)
    np.testing.assert_array_equal(loops, exact)
    assert 1e-5 < np.abs(got - exact).max() < 3e-2


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_the_interpreter_runs_what_tensor_cores_do(target: str) -> None:
    text = product("f16", "f32", n=32)
    sch = on_tensor_cores(text, "f16", "f32")
    assert sch.verify()
    for func in (sch.func, ls.lower(sch, target=target)):
        arrays = operands("f16", "f32", 32)
        ls.interp.run(func, *arrays)
        np.testing.assert_array_equal(arrays[2], expected(arrays[0], arrays[1], False))
    lowered = ls.lower(sch, target=target).script()
    assert ("T.ptx_mma(" in lowered) == (target == "cuda")


def test_rows_with_a_gap_of_16_bytes_are_loaded_by_their_lanes() -> None:
    """So that rows that follow each other lie in different banks."""
    sch = on_tensor_cores(product("f16", "f32"), "f16", "f32")
    for name in ("A_shared", "B_shared"):
        sch.storage_align(name, 0, axis=-2, factor=32, offset=8)
    arrays = operands("f16", "f32")
    source = run(sch, "cuda", *arrays).source("cuda")
    np.testing.assert_array_equal(arrays[2], expected(arrays[0], arrays[1], False))
    assert "ls_load_matrix_x4(" in source
    assert "ls_load_matrix_x4_trans(" in source
    assert "A_shared[1272]" in source or "A_shared[1280]" in source


def test_rows_that_are_not_aligned_are_loaded_by_elements() -> None:
    sch = on_tensor_cores(product("f16", "f32"), "f16", "f32")
    for name in ("A_shared", "B_shared"):
        sch.storage_align(name, 0, axis=-2, factor=32, offset=1)
    arrays = operands("f16", "f32")
    source = run(sch, "cuda", *arrays).source("cuda")
    np.testing.assert_array_equal(arrays[2], expected(arrays[0], arrays[1], False))
    assert "ls_load_matrix" not in source


def test_older_gpus_multiply_without_tensor_cores() -> None:
    gpu_devices.require("cuda")
    sch = on_tensor_cores(product("f16", "f32"), "f16", "f32")
    source = ls.build(sch, target="cuda -arch=sm_75").source("cuda")
    assert "ls_mma" not in source
    assert "__shared__" in source


def refused(sch: tir.Schedule) -> ls.LowerError:
    with pytest.raises(ls.LowerError) as caught:
        ls.build(sch, target="cuda")
    return caught.value


def test_a_fragment_that_no_instruction_uses_is_refused() -> None:
    sch = script("""
@T.prim_func
def main(A: T.Buffer((16, 16), "float16"), C: T.Buffer((16, 16), "float16")):
    F = T.alloc_buffer((16, 16), "float16", scope="wmma.matrix_a")
    for b in T.thread_binding(1, thread="threadIdx.x"):
        for i, j in T.grid(16, 16):
            with T.block("F"):
                vi, vj = T.axis.remap("SS", [i, j])
                F[vi, vj] = A[vi, vj]
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = F[vj, vi]
""")
    error = refused(sch)
    assert error.code == "fragment_is_used_by_instructions"
    assert (
        "buffer F is in wmma.matrix_a, whose elements lie in many threads, and is used outside of "
        "tensor intrinsics"
    ) in str(error)


SCALED = """
@T.prim_func
def main(A: T.Buffer((16, 16), "DTYPE"), C: T.Buffer((16, 16), "DTYPE")):
    F = T.alloc_buffer((16, 16), "DTYPE", scope="wmma.SCOPE")
    for b in T.thread_binding(1, thread="blockIdx.x"):
        for x in T.thread_binding(32, thread="threadIdx.x"):
            for g, h, e in T.grid(2, 2, 2):
                with T.block("F"):
                    vx, vg, vh, ve = T.axis.remap("SSSS", [x, g, h, e])
                    F[ROW, COLUMN] = A[ROW, COLUMN]
        for x in T.thread_binding(32, thread="threadIdx.x"):
            for g, h, e in T.grid(2, 2, 2):
                with T.block("C"):
                    vx, vg, vh, ve = T.axis.remap("SSSS", [x, g, h, e])
                    C[ROW, COLUMN] = F[ROW, COLUMN] * F[ROW, COLUMN]
"""
HELD = {
    "accumulator": ("float32", "vx // 4 + vh * 8", "vx % 4 * 2 + ve + vg * 8"),
    "matrix_a": ("float16", "vx // 4 + vh * 8", "vx % 4 * 2 + ve + vg * 8"),
    "matrix_b": ("float16", "vx % 4 * 2 + ve + vh * 8", "vx // 4 + vg * 8"),
}


@gpu_devices.both
@pytest.mark.parametrize("use", HELD)
def test_threads_compute_with_elements_that_they_hold(target: str, use: str) -> None:
    dtype, row, column = HELD[use]
    text = SCALED.replace("DTYPE", dtype).replace("SCOPE", use)
    sch = script(text.replace("ROW", row).replace("COLUMN", column))
    a, c = RNG.random((16, 16)).astype(dtype), np.zeros((16, 16), dtype)
    module = run(sch, target, a, c)
    np.testing.assert_array_equal(c, a * a)
    kernel = module.source(target).split("main_kernel(")[1]
    if target == "cuda":
        assert "__shared__" not in kernel and "__sync" not in kernel
    by_interpreter = np.zeros_like(a)
    ls.interp.run(sch.func, a, by_interpreter)
    np.testing.assert_array_equal(c, by_interpreter)


def test_elements_that_another_thread_holds_are_refused() -> None:
    _, row, column = HELD["matrix_b"]
    text = SCALED.replace("DTYPE", "float32").replace("SCOPE", "accumulator")
    error = refused(script(text.replace("ROW", row).replace("COLUMN", column)))
    assert error.code == "fragment_is_used_by_instructions"
    assert "by threads that do not hold them" in str(error)
    assert "let thread 4 a + b of 32 along x use elements of row a + 8 i" in str(error)


def test_a_tile_that_is_loaded_transposed_and_multiplied_as_it_is_is_refused() -> None:
    text = on_tensor_cores(
        product("f16", "f32", trans=True), "f16", "f32", trans=True
    ).func.script()
    error = refused(script(text.replace('"load_trans"', '"load"')))
    assert error.code == "fragment_has_one_layout"
    assert "lie in other threads than an instruction asks for" in str(error)


def test_an_instruction_that_is_not_known_is_refused() -> None:
    text = on_tensor_cores(product("f16", "f32"), "f16", "f32").func.script()
    error = refused(script(text.replace('"warp_instruction", "mma"', '"warp_instruction", "fma"')))
    assert error.code == "warp_instruction_is_known"
    assert "there is no warp instruction fma of such a form" in str(error)


def test_a_fragment_of_unknown_size_is_refused() -> None:
    sch = script("""
@T.prim_func
def main(a: T.handle, c: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (16, n), "float16")
    C = T.match_buffer(c, (16, n), "float16")
    F = T.alloc_buffer((16, n), "float16", scope="wmma.matrix_a")
    for b in T.thread_binding(1, thread="threadIdx.x"):
        for i, j in T.grid(16, n):
            with T.block("F"):
                vi, vj = T.axis.remap("SS", [i, j])
                F[vi, vj] = A[vi, vj]
        for i, j in T.grid(16, n):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = F[vi, n - 1 - vj]
""")
    error = refused(sch)
    assert error.code == "fragments_are_counted"
    assert "buffer F in wmma.matrix_a is no constant number of tiles of 16 x 16" in str(error)


def test_a_product_whose_operands_are_no_fragments_of_their_side_is_refused() -> None:
    text = on_tensor_cores(product("f16", "f32"), "f16", "f32").func.script()
    error = refused(script(text.replace('scope="wmma.matrix_b"', 'scope="wmma.matrix_a"')))
    assert error.code == "product_is_of_fragments"
    assert "mma multiplies tiles in wmma.matrix_a and wmma.matrix_b into wmma.accumulator" in str(
        error
    )


def test_a_product_on_other_threads_than_a_warp_along_x_is_refused() -> None:
    text = on_tensor_cores(product("f16", "f32"), "f16", "f32").func.script()
    axes = {"threadIdx.x": "threadIdx.y", "threadIdx.y": "threadIdx.x"}
    swapped = re.sub("threadIdx.[xy]", lambda found: axes[found[0]], text)
    error = refused(script(swapped))
    assert error.code == "thread_extents_agree"
    assert "threadIdx.x" in str(error)


def test_an_intrinsic_may_bind_threads_itself_inside_of_loops_over_blocks() -> None:
    """Its loops are none of the schedule's, of which it is known what they reduce."""

    text = """
@T.prim_func
def doubled(s: T.handle, d: T.handle):
    S = T.match_buffer(s, (32,), "float32", offset_factor=1)
    D = T.match_buffer(d, (32,), "float32", offset_factor=1)
    with T.block("root"):
        T.reads(S[0:32])
        T.writes(D[0:32])
        BODY
"""
    described = """for i in range(32):
            with T.block("tile"):
                vi = T.axis.spatial(32, i)
                D[vi] = S[vi] * T.float32(2)"""
    by_threads = """for i in T.thread_binding(32, thread="threadIdx.x"):
            D[i] = S[i] * T.float32(2)"""
    halves = [ls.from_source(text.replace("BODY", body)) for body in (described, by_threads)]
    tir.TensorIntrin.register("doubled_by_threads", *halves, override=True)
    sch = script("""
@T.prim_func
def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] * T.float32(2)
""")
    i, j = sch.split(sch.get_loops("B")[0], [None, 32])
    sch.bind(i, "blockIdx.x")
    sch.tensorize(j, "doubled_by_threads")
    a = RNG.random(64, "float32")
    b = np.zeros_like(a)
    ls.interp.run(sch.func, a, b)
    np.testing.assert_array_equal(b, a * 2)
    assert "threadIdx.x" in ls.build(sch, target="cuda").source("cuda")


@gpu_devices.both
@pytest.mark.parametrize("step", ["fragments", "pipelined"])
def test_the_steps_of_the_example(target: str, step: str) -> None:
    path = Path(__file__).parents[1] / "examples" / "gpu" / "tensor_cores.py"
    sch = runpy.run_path(str(path))[step](64)
    arrays = operands("f16", "f32")
    source = run(sch, target, *arrays).source(target)
    np.testing.assert_array_equal(arrays[2], expected(arrays[0], arrays[1], False))
    is_async = target == "cuda" and step == "pipelined"
    assert ("ls_copy_async_16(" in source) == is_async
    assert ("ls_mma_m16n8k16_fp16_fp32(" in source) == (target == "cuda")


def test_the_example_of_warpgroups_is_pipelined() -> None:
    gpu_devices.require("cuda")
    path = Path(__file__).parent.parent / "examples" / "gpu" / "tensor_cores.py"
    sch = runpy.run_path(str(path))["in_warpgroups"](256)
    module = ls.build(sch, target="cuda -arch=sm_90a")
    source = module.source("cuda")
    assert "ls_mma_m64n128k64_fp16_fp32_row_row(" in source and "ls_copy_async_16(" in source
    a, b = (RNG.integers(-3, 4, (256, 256)).astype("float16") for _ in range(2))
    c = np.zeros((256, 256), "float32")
    module(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))


def in_warpgroups(axis: str = "threadIdx.z", columns: int = 64) -> tir.Schedule:
    """Return a product of a tile by four warps, from operands in shared memory."""
    sch = script(f"""
@T.prim_func
def main(A: T.Buffer((64, 128), "float16"), B: T.Buffer((128, {columns}), "float16"),
         C: T.Buffer((64, {columns}), "float32")):
    for i, j, k in T.grid(64, {columns}, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")
""")
    i, j, k = sch.get_loops("C")
    warp, i1 = sch.split(i, [4, 16])
    step, k1 = sch.split(k, [None, 64])
    sch.reorder(warp, step, i1, j, k1)
    sch.bind(sch.add_unit_loop(warp), "blockIdx.x")
    sch.bind(warp, axis)
    result = sch.cache_write("C", 0, "wmma.accumulator")
    sch.reverse_compute_at(result, warp)
    for number in (0, 1):
        copy = sch.cache_read("C", number, "shared.dyn")
        sch.compute_at(copy, step)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, y, x, lanes = sch.split(fused, [None, 4, 32, 8])
        sch.bind(y, axis)
        sch.bind(x, "threadIdx.x")
        sch.vectorize(lanes)
    first = sch.decompose_reduction("C", step)
    sch.tensorize(i1, f"wgmma_sync_16x{columns}x64_f16f16f32")
    tiles(sch, first, "wmma_fill_16x16x16_f32")
    tiles(sch, result, "wmma_store_16x16x16_f32_global")
    return sch


@pytest.mark.parametrize("columns", [64, 128])
def test_four_warps_multiply_from_shared_memory(columns: int) -> None:
    gpu_devices.require("cuda")
    sch = in_warpgroups(columns=columns)
    a = RNG.integers(-3, 4, (64, 128)).astype("float16")
    b = RNG.integers(-3, 4, (128, columns)).astype("float16")
    c = np.zeros((64, columns), "float32")
    wanted = a.astype("float32") @ b.astype("float32")
    module = ls.build(sch, target="cuda -arch=sm_90a")
    assert f"ls_mma_m64n{columns}k64_fp16_fp32_row_row(" in module.source("cuda")
    module(a, b, c)
    np.testing.assert_array_equal(c, wanted)
    for func in (sch.func, ls.lower(sch, target="cuda -arch=sm_90a")):
        c[...] = 7
        ls.interp.run(func, a, b, c)
        np.testing.assert_array_equal(c, wanted)


def test_other_devices_multiply_by_the_loops_of_the_intrinsic() -> None:
    gpu_devices.require("opencl")
    a = RNG.integers(-3, 4, (64, 128)).astype("float16")
    b = RNG.integers(-3, 4, (128, 64)).astype("float16")
    c = np.zeros((64, 64), "float32")
    ls.build(in_warpgroups(), target="opencl -max_shared_memory_per_block=65536")(a, b, c)
    np.testing.assert_array_equal(c, a.astype("float32") @ b.astype("float32"))


def test_only_hopper_multiplies_by_four_warps() -> None:
    with pytest.raises(ls.LowerError) as caught:
        ls.build(in_warpgroups(), target="cuda -arch=sm_100")
    assert caught.value.code == "target_has_warpgroup_products"
    assert (
        "four warps multiply together (wgmma) on sm_90a alone, not on target cuda -arch=sm_100"
        in str(caught.value)
    )


def test_tiles_that_four_warps_cannot_multiply_are_refused() -> None:
    sch = in_warpgroups()
    for number in (0, 1):
        sch.storage_align(sch.get_block(f"{'AB'[number]}_shared_dyn"), 0, -2, 32, 8)
    with pytest.raises(ls.LowerError) as caught:
        ls.build(sch, target="cuda -arch=sm_90a")
    assert caught.value.code == "operand_tiles_are_whole"
    assert "buffer A_shared_dyn in shared.dyn is no tile that warps multiply from" in str(
        caught.value
    )


WARPGROUP_SCRIPT = """
@T.prim_func
def main(A: T.Buffer((64, 64), "float16"), B: T.Buffer((64, 64), "float16"),
         C: T.Buffer((64, 64), "float32")):
    for b in T.thread_binding(1, thread="blockIdx.x"):
        X = T.decl_buffer((64, 64), "float16", scope="shared.dyn")
        Y = T.decl_buffer((64, 64), "float16", scope="shared.dyn")
        for w in T.thread_binding(4, thread="threadIdx.z"):
            for i, t, j in T.grid(16, 1, 64):
                X[w * 16 + i, j] = A[w * 16 + i, j]
                Y[w * 16 + i, j] = B[w * 16 + i, j]
            Z = T.decl_buffer((16, 64), "float32", scope="wmma.accumulator")
            with T.attr(0, "warp_instruction", "fill"):
                for i, j in T.grid(16, 16):
                    Z[i, j] = T.float32(0)
            with T.attr(0, "warp_instruction", "wgmma"):
                for i, j, k in T.grid(16, 64, 64):
                    Z[i, j] = Z[i, j] + T.cast(LEFT[ROW + i, k], "float32") * T.cast(
                        Y[k, j], "float32")
            with T.attr(0, "warp_instruction", "store"):
                for i, j in T.grid(16, 16):
                    C[w * 16 + i, j] = Z[i, j]
"""


@pytest.mark.parametrize(
    ("left", "row", "code", "words"),
    [
        (
            "X",
            "(3 - w) * 16",
            "warps_have_rows_in_turn",
            "four warps one after another need rows of the left operand one after another",
        ),
        (
            "A",
            "w * 16",
            "product_is_of_shared_tiles",
            "wgmma multiplies tiles in shared.dyn into wmma.accumulator",
        ),
    ],
)
def test_products_that_four_warps_cannot_do_are_refused(
    left: str, row: str, code: str, words: str
) -> None:
    sch = script(WARPGROUP_SCRIPT.replace("LEFT", left).replace("ROW", row))
    with pytest.raises(ls.LowerError) as caught:
        ls.build(sch, target="cuda -arch=sm_90a")
    assert caught.value.code == code
    assert words in str(caught.value)
