// SPDX-License-Identifier: Apache-2.0
// The tensor intrinsics that are built in.
#include <iterator>
#include <vector>

#include "loopsmith/schedule/intrinsics/dot_intrins.h"
#include "loopsmith/schedule/intrinsics/tensor_core_intrins.h"
#include "loopsmith/schedule/intrinsics/tensor_intrin.h"

namespace loopsmith {
namespace {

/// 16 results, each a sum of 4 products of bytes.
constexpr std::string_view dot_16x4_desc = R"(
@T.prim_func
def dot_16x4(
    A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((16,), "int32")
):
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        for i, k in T.grid(16, 4):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.cast(A[vk], "int32") * T.cast(B[vi, vk], "int32")
)";

constexpr std::string_view dot_16x4_vnni = R"(
@T.prim_func
def dot_16x4_vnni(
    A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((16,), "int32")
):
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        C[0:16] = T.call_llvm_pure_intrin(
            "int32x16", "llvm.x86.avx512.vpdpbusd.512", T.uint32(3),
            C.vload([0], "int32x16"),
            T.Broadcast(T.reinterpret("int32", A.vload([0], "uint8x4")), 16),
            B.vload([0, 0], "int8x64"),
        )
)";

// Sums of two products of 16 bits, of the even and of the odd bytes. (Multiplying bytes by
// vpmaddubsw would saturate at 16 bits.)
constexpr std::string_view dot_16x4_avx512 = R"(
@T.prim_func
def dot_16x4_avx512(
    A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"), C: T.Buffer((16,), "int32")
):
    with T.block("root"):
        T.reads(C[0:16], A[0:4], B[0:16, 0:4])
        T.writes(C[0:16])
        a: T.int32 = T.reinterpret("int32", A.vload([0], "uint8x4"))
        b: T.int16x32 = T.reinterpret("int16x32", B.vload([0, 0], "int8x64"))
        even: T.int32x16 = T.call_llvm_pure_intrin(
            "int32x16", "llvm.x86.avx512.pmaddw.d.512", T.uint32(2),
            T.reinterpret("int16x32", T.Broadcast(T.bitwise_and(a, 0x00FF00FF), 16)),
            T.shift_right(T.shift_left(b, T.Broadcast(T.int16(8), 32)), T.Broadcast(T.int16(8), 32)),
        )
        odd: T.int32x16 = T.call_llvm_pure_intrin(
            "int32x16", "llvm.x86.avx512.pmaddw.d.512", T.uint32(2),
            T.reinterpret(
                "int16x32", T.Broadcast(T.bitwise_and(T.shift_right(a, 8), 0x00FF00FF), 16)
            ),
            T.shift_right(b, T.Broadcast(T.int16(8), 32)),
        )
        C[0:16] = C.vload([0], "int32x16") + even + odd
)";

/// 16 results, each a sum of 2 products of bfloat16.
constexpr std::string_view dot_16x2_desc = R"(
@T.prim_func
def dot_16x2(
    A: T.Buffer((2,), "bfloat16"), B: T.Buffer((16, 2), "bfloat16"), C: T.Buffer((16,), "float32")
):
    with T.block("root"):
        T.reads(C[0:16], A[0:2], B[0:16, 0:2])
        T.writes(C[0:16])
        for i, k in T.grid(16, 2):
            with T.block("update"):
                vi, vk = T.axis.remap("SR", [i, k])
                C[vi] = C[vi] + T.cast(A[vk], "float32") * T.cast(B[vi, vk], "float32")
)";

constexpr std::string_view dot_16x2_avx512bf16 = R"(
@T.prim_func
def dot_16x2_avx512bf16(
    A: T.Buffer((2,), "bfloat16"), B: T.Buffer((16, 2), "bfloat16"), C: T.Buffer((16,), "float32")
):
    with T.block("root"):
        T.reads(C[0:16], A[0:2], B[0:16, 0:2])
        T.writes(C[0:16])
        C[0:16] = T.call_llvm_pure_intrin(
            "float32x16", "llvm.x86.avx512bf16.dpbf16ps.512", T.uint32(3),
            C.vload([0], "float32x16"),
            T.Shuffle(
                [A.vload([0], "bfloat16x2")],
                [0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1,
                 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1],
            ),
            B.vload([0, 0], "bfloat16x32"),
        )
)";

}  // namespace

std::span<const BuiltinIntrin> builtin_intrins() {
  constexpr BuiltinIntrin of_processors[] = {
      {"dot_16x4_vnni", dot_16x4_desc, dot_16x4_vnni},
      {"dot_16x4_avx512", dot_16x4_desc, dot_16x4_avx512},
      {"dot_16x2_avx512bf16", dot_16x2_desc, dot_16x2_avx512bf16},
  };
  static const auto* all = [&] {
    auto* made = new std::vector<BuiltinIntrin>(std::begin(of_processors), std::end(of_processors));
    for (const auto* more : {&dot_intrins(), &tensor_core_intrins()}) {
      made->insert(made->end(), more->begin(), more->end());
    }
    return made;
  }();
  return *all;
}

}  // namespace loopsmith
