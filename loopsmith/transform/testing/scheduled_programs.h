// SPDX-License-Identifier: Apache-2.0
// Programs that random schedules start from.
#pragma once

namespace loopsmith::testing {

inline constexpr const char* scheduled_programs[] = {
    R"(@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), B: T.Buffer((12, 6), "float32"), C: T.Buffer((8, 6), "float32")):
    for i, j, k in T.grid(8, 6, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj])",
    R"(@T.prim_func
def main(A: T.Buffer((14, 10), "float32"), D: T.Buffer((12, 10), "float32")):
    B = T.alloc_buffer((14, 10))
    for i, j in T.grid(14, 10):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(12, 10):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, 9 - vj] + B[vi + 2, vj] + A[vi // 2 + vj // 3, vj])",
    R"(@T.prim_func
def main(A: T.Buffer((9, 8), "float32"), C: T.Buffer((9, 8), "float32")):
    B = T.alloc_buffer((9, 8))
    S = T.alloc_buffer((9,))
    for i, j in T.grid(9, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + T.float32(1)
    for i, k in T.grid(9, 8):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + B[vi, vk]
    for i, j in T.grid(9, 8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] * S[vi])",
    // Rows that are computed where they are read, some again, and what is added to a sum.
    R"(@T.prim_func
def main(A: T.Buffer((10, 8), "float32"), C: T.Buffer((8, 8), "float32"), S: T.Buffer((8,), "float32")):
    W = T.alloc_buffer((10, 8))
    R = T.alloc_buffer((8,))
    for i in range(8):
        for j, k in T.grid(3, 8):
            with T.block("W"):
                vi = T.axis.spatial(10, i + j)
                vk = T.axis.spatial(8, k)
                W[vi, vk] = A[vi, vk] * T.float32(2)
        for k in range(8):
            with T.block("C"):
                vi, vk = T.axis.remap("SS", [i, k])
                C[vi, vk] = W[vi, vk] + W[vi + 2, vk]
    for i, k in T.grid(8, 8):
        with T.block("R"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = T.float32(0)
            R[vi] = R[vi] + C[vi, vk]
    for i in range(8):
        with T.block("S"):
            vi = T.axis.spatial(8, i)
            S[vi] = R[vi] + T.float32(3))",
    // A border, what is done in place, and one reader of each result.
    R"(@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), B: T.Buffer((12, 8), "float32"), D: T.Buffer((12, 8), "float32")):
    P = T.alloc_buffer((8, 12))
    for i, j in T.grid(8, 12):
        with T.block("P"):
            vi, vj = T.axis.remap("SS", [i, j])
            P[vi, vj] = T.if_then_else(vi >= 1 and vj < 11, A[vi - 1, vj], T.float32(0))
    for i, j in T.grid(12, 8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = B[vi, vj] * P[vj, vi]
    for i, j in T.grid(12, 8):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] * T.float32(3))",
    // Integers that wrap: the largest of each row and its place, sums of a row, data as a place.
    R"(@T.prim_func
def main(A: T.Buffer((8, 12), "int16"), C: T.Buffer((8, 12), "int16"), D: T.Buffer((4,), "int16")):
    P = T.alloc_buffer((8,), "int32")
    M = T.alloc_buffer((8,), "int16")
    for i, k in T.grid(8, 12):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                P[vi] = -1
                M[vi] = T.min_value("int16")
            kept = M[vi] > A[vi, vk] or (M[vi] == A[vi, vk] and P[vi] < vk)
            place: T.int32 = T.Select(kept, P[vi], vk)
            value: T.int16 = T.Select(kept, M[vi], A[vi, vk])
            P[vi] = place
            M[vi] = value
    for i, j in T.grid(8, 12):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            vj = T.axis.opaque(12, j)
            C[vi, vj] = T.if_then_else(vj >= 1, C[vi, vj - 1], M[vi]) + A[vi, vj]
    for i, j in T.grid(8, 12):
        with T.block("D"):
            vi = T.axis.opaque(8, i)
            vj = T.axis.opaque(12, j)
            D[P[vi] % 4] = D[P[vi] % 4] + C[vi, vj])",
    // Loops that start elsewhere or have a step, data that decides, rows seen as buffers.
    R"(@T.prim_func
def main(A: T.Buffer((8, 12), "float32"), D: T.Buffer((8, 12), "float32")):
    B = T.alloc_buffer((8, 12))
    C = T.alloc_buffer((8, 12))
    for i, j in T.grid(8, 12):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            if A[vi, vj] > T.float32(0):
                B[vi, vj] = A[vi, vj] * T.float32(2)
            else:
                B[vi, vj] = A[vi, 11 - vj] + T.float32(1)
    for i in range(-3, 5):
        with T.block("C"):
            vi = T.axis.spatial(8, i + 3)
            T.reads(B[vi, 0:12])
            T.writes(C[vi, 0:12])
            x = T.match_buffer(B[vi, 0:12], (12,), offset_factor=1)
            y = T.match_buffer(C[vi, 0:12], (12,), offset_factor=1)
            for j in range(12):
                y[j] = x[j] + T.float32(1)
    for i, j in T.grid(8, 12):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = C[vi, vj]
    for i in range(1, 8, 2):
        for j in range(12):
            with T.block("odd"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(12, j)
                D[vi, vj] = B[vi, vj] * T.float32(3))",
};

}  // namespace loopsmith::testing
