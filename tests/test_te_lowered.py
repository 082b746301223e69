# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501
"""What schedules are lowered to, with every index: memory, loops, guards and statements."""

from __future__ import annotations

import contextlib
import io
import textwrap
from pathlib import Path
from typing import Any

import loopsmith.compat
import pytest

import loopsmith as ls
from loopsmith import compiled_program, te

PROGRAMS = Path(__file__).parent / "compat_programs"

# The last schedule of each program.
LOWERED = {
    "cache_read": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        A_shared = T.decl_buffer((1048576,), scope="shared")
        for ax0, ax1 in T.grid(1024, 1024):
            cse: T.int32 = ax0 * 1024 + ax1
            A_shared[cse] = A_1[cse]
        for i in range(1024):
            B[i] = T.float32(0)
            for k in range(1024):
                B[i] = B[i] + A_shared[i * 1024 + k]
    """,
    "cache_write": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        B_local = T.decl_buffer((1024,), scope="local")
        for i_c in range(1024):
            B_local[i_c] = T.float32(0)
            for k in range(1024):
                B_local[i_c] = B_local[i_c] + A_1[i_c * 1024 + k]
        for i in range(1024):
            B[i] = B_local[i]
    """,
    "set_scope": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        B = T.decl_buffer((1024,), scope="shared")
        for i in range(1024):
            B[i] = T.float32(0)
            for k in range(1024):
                B[i] = B[i] + A_1[i * 1024 + k]
        for i in range(1024):
            C[i] = B[i] + T.float32(10)
    """,
    "storage_align": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        A_shared = T.decl_buffer((1134508,), scope="shared")
        for ax0, ax1 in T.grid(1024, 1024):
            A_shared[ax0 * 1108 + ax1] = A_1[ax0 * 1024 + ax1]
        for i in range(1024):
            B[i] = T.float32(0)
            for k in range(1024):
                B[i] = B[i] + A_shared[i * 1108 + k]
    """,
    "compute_at": """
        for block in T.thread_binding(1, thread="blockIdx.x"):
            B_all = T.decl_buffer((32,), scope="shared")
            for k_inner_v in T.thread_binding(32, thread="threadIdx.x"):
                with T.decl_buffer((1,), scope="local") as B_rf:
                    B_own = T.decl_buffer((1,), scope="local")
                    B_rf[0] = T.float32(0)
                    for k_outer in range(32):
                        B_rf[0] = B_rf[0] + A[k_inner_v + k_outer * 32]
                    B_own[0] = T.float32(0)
                    B_own[0] = B_own[0] + B_rf[0]
                    B_all[k_inner_v] = B_own[0]
                T.tvm_storage_sync("shared")
                if k_inner_v < 16:
                    B_all[k_inner_v] = B_all[k_inner_v] + B_all[k_inner_v + 16]
                T.tvm_storage_sync("shared")
                if k_inner_v < 8:
                    B_all[k_inner_v] = B_all[k_inner_v] + B_all[k_inner_v + 8]
                T.tvm_storage_sync("shared")
                if k_inner_v < 4:
                    B_all[k_inner_v] = B_all[k_inner_v] + B_all[k_inner_v + 4]
                T.tvm_storage_sync("shared")
                if k_inner_v < 2:
                    B_all[k_inner_v] = B_all[k_inner_v] + B_all[k_inner_v + 2]
                T.tvm_storage_sync("shared")
                if k_inner_v < 1:
                    B_all[0] = B_all[0] + B_all[1]
                if k_inner_v == 0:
                    B[0] = B_all[0]
    """,
    "compute_inline": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        W_1 = T.decl_buffer((9,), data=W.data)
        B_1 = T.decl_buffer((1052676,), data=B.data)
        for yy, xx in T.grid(1026, 1026):
            B_1[yy * 1026 + xx] = T.float32(0)
            for ry, rx in T.grid(3, 3):
                cse: T.int32 = yy * 1026 + xx
                B_1[cse] = B_1[cse] + T.if_then_else(1 < yy + ry and yy + ry < 1026 and 1 < xx + rx and xx + rx < 1026, A_1[yy * 1024 + xx + ry * 1024 + rx - 2050], T.float32(0)) * W_1[ry * 3 + rx]
    """,
    "compute_root": """
        B_rf = T.decl_buffer((32,))
        for k_inner in range(32):
            B_rf[k_inner] = T.float32(0)
            for k_outer in range(32):
                B_rf[k_inner] = B_rf[k_inner] + A[k_inner + k_outer * 32]
        for block in T.thread_binding(1, thread="blockIdx.x"):
            B_all = T.decl_buffer((32,), scope="shared")
            for k_inner_v in T.thread_binding(32, thread="threadIdx.x"):
                with T.decl_buffer((1,), scope="local") as B_own:
                    B_own[0] = T.float32(0)
                    B_own[0] = B_own[0] + B_rf[k_inner_v]
                    B_all[k_inner_v] = B_own[0]
                T.tvm_storage_sync("shared")
                if k_inner_v < 16:
                    B_all[k_inner_v] = B_all[k_inner_v] + B_all[k_inner_v + 16]
                T.tvm_storage_sync("shared")
                if k_inner_v < 8:
                    B_all[k_inner_v] = B_all[k_inner_v] + B_all[k_inner_v + 8]
                T.tvm_storage_sync("shared")
                if k_inner_v < 4:
                    B_all[k_inner_v] = B_all[k_inner_v] + B_all[k_inner_v + 4]
                T.tvm_storage_sync("shared")
                if k_inner_v < 2:
                    B_all[k_inner_v] = B_all[k_inner_v] + B_all[k_inner_v + 2]
                T.tvm_storage_sync("shared")
                if k_inner_v < 1:
                    B_all[0] = B_all[0] + B_all[1]
                if k_inner_v == 0:
                    B[0] = B_all[0]
    """,
    "fuse": """
        B[0] = T.float32(0)
        for k_outer_k_inner_fused in range(1024):
            B[0] = B[0] + A[k_outer_k_inner_fused]
    """,
    "split": """
        B[0] = T.float32(0)
        for k_outer, k_inner in T.grid(32, 32):
            B[0] = B[0] + A[k_outer * 32 + k_inner]
    """,
    "reorder": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        B_1 = T.decl_buffer((1048576,), data=B.data)
        C_1 = T.decl_buffer((1048576,), data=C.data)
        for i_outer, j_outer, j_inner, i_inner in T.grid(32, 32, 32, 32):
            cse: T.int32 = i_outer * 32768 + j_outer * 32 + j_inner + i_inner * 1024
            C_1[cse] = A_1[cse] + B_1[cse]
    """,
    "tile": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        B_1 = T.decl_buffer((1048576,), data=B.data)
        C_1 = T.decl_buffer((1048576,), data=C.data)
        for i_outer, j_outer, i_inner, j_inner in T.grid(32, 32, 32, 32):
            C_1[i_outer * 32768 + j_outer * 32 + i_inner * 1024 + j_inner] = T.float32(0)
            for K in range(1024):
                cse: T.int32 = i_outer * 32768 + j_outer * 32 + i_inner * 1024 + j_inner
                C_1[cse] = C_1[cse] + A_1[i_outer * 32768 + i_inner * 1024 + K] * B_1[j_outer * 32 + j_inner + K * 1024]
    """,
    "unroll": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        B_1 = T.decl_buffer((1048576,), data=B.data)
        C_1 = T.decl_buffer((1048576,), data=C.data)
        for i_outer in range(256):
            for j in range(1024):
                cse: T.int32 = i_outer * 4096 + j
                C_1[cse] = A_1[cse] + B_1[cse]
            for j in range(1024):
                cse: T.int32 = i_outer * 4096 + j + 1024
                C_1[cse] = A_1[cse] + B_1[cse]
            for j in range(1024):
                cse: T.int32 = i_outer * 4096 + j + 2048
                C_1[cse] = A_1[cse] + B_1[cse]
            for j in range(1024):
                cse: T.int32 = i_outer * 4096 + j + 3072
                C_1[cse] = A_1[cse] + B_1[cse]
    """,
    "vectorize": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        B_1 = T.decl_buffer((1048576,), data=B.data)
        C_1 = T.decl_buffer((1048576,), data=C.data)
        for x_outer, y_outer, x_inner in T.grid(32, 32, 32):
            cse: T.int32 = x_outer * 32768 + y_outer * 32 + x_inner * 1024
            C_1[cse:cse + 16] = A_1[cse:cse + 16] + B_1[cse:cse + 16]
            C_1[cse + 16:cse + 16 + 16] = A_1[cse + 16:cse + 16 + 16] + B_1[cse + 16:cse + 16 + 16]
    """,
    "parallel": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        for i in range(1024):
            B[i] = T.float32(0)
            B_parts = T.decl_buffer((64,))
            for l_part in T.parallel(64):
                B_parts[l_part] = T.float32(-0.0)
                for l_in_part in range(16):
                    B_parts[l_part] = B_parts[l_part] + A_1[i * 1024 + l_part * 16 + l_in_part]
            for group in range(8):
                B_parts_kept = T.decl_buffer((1,), scope="local")
                B_parts_kept[0] = B_parts[group * 8]
                for other in range(1, 8):
                    B_parts_kept[0] = B_parts_kept[0] + B_parts[group * 8 + other]
                B_parts[group * 8] = B_parts_kept[0]
            for row in range(8):
                B[i] = B[i] + B_parts[row * 8]
    """,
    "pragma": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        for i in range(1024):
            B[i] = T.float32(0)
            for l_outer in range(256):
                cse: T.int32 = i * 1024 + l_outer * 4
                B[i] = B[i] + A_1[cse]
                B[i] = B[i] + A_1[cse + 1]
                B[i] = B[i] + A_1[cse + 2]
                B[i] = B[i] + A_1[cse + 3]
    """,
    "prefetch": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        for i in range(1024):
            B[i] = T.float32(0)
            for k in range(1024):
                if k < 1023:
                    T.prefetch(T.address_of(A_1[i * 1024 + k + 1]), 0, 3, 1)
                B[i] = B[i] + A_1[i * 1024 + k]
    """,
    "tensorize": """
        C_1 = T.decl_buffer((524288,), data=C.data)
        for i, j_outer in T.grid(1024, 32):
            for j_inner_init in range(16):
                C_1[i * 512 + j_outer * 16 + j_inner_init] = T.float32(0)
            T.call_extern("int32", "gemv_update", T.tvm_access_ptr(T.type_annotation("float32"), C.data, i * 512 + j_outer * 16, 16, 2), T.tvm_access_ptr(T.type_annotation("float32"), A.data, i * 64, 64, 1), T.tvm_access_ptr(T.type_annotation("float32"), B.data, j_outer * 1024, 1024, 1), 16, 64, 64)
    """,
    "rfactor": """
        B_rf = T.decl_buffer((32,))
        for k_inner in range(32):
            B_rf[k_inner] = T.float32(0)
            for k_outer in range(32):
                B_rf[k_inner] = B_rf[k_inner] + A[k_inner + k_outer * 32]
        B[0] = T.float32(0)
        for k_inner_v in range(32):
            B[0] = B[0] + B_rf[k_inner_v]
    """,
    "create_group": """
        A_1 = T.decl_buffer((1048576,), data=A.data)
        B_1 = T.decl_buffer((1048576,), data=B.data)
        E_1 = T.decl_buffer((1048576,), data=E.data)
        for i in range(1024):
            F = T.decl_buffer((1,))
            for k in range(1024):
                D = T.decl_buffer((1,))
                cse: T.int32 = i * 1024 + k
                D[0] = A_1[cse] + B_1[cse]
                E_1[cse] = D[0] + B_1[cse]
    """,
}


@pytest.mark.parametrize("name", LOWERED)
def test_a_schedule_is_lowered_to_these_statements(name: str) -> None:
    recorded: list[tuple[te.Schedule, Any]] = []

    def observe(schedule: te.Schedule, args: Any, _binds: Any) -> None:
        recorded.append((schedule.copy(), args))

    with compiled_program.observed_schedules(observe), contextlib.redirect_stdout(io.StringIO()):  # noqa: SIM117
        with contextlib.suppress(SystemExit):
            loopsmith.compat.run_program(PROGRAMS / f"te_{name}.py")
    schedule, args = recorded[-1]
    script = ls.lower(schedule, args, target="llvm", simple_mode=True).script()
    body = script[script.index("T.func_attr") :].splitlines()[1:]
    expected = textwrap.dedent(LOWERED[name]).strip()
    assert textwrap.dedent("\n".join(line for line in body if line.strip())) == expected
