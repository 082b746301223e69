// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/cuda_instructions.h"

#include <algorithm>
#include <iterator>

#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

struct Instruction {
  std::string_view name, text;
};

constexpr Instruction table[] = {
    {"ls_shared_address", R"(/* The address of shared memory, as instructions take it. */
LS_INLINE unsigned ls_shared_address(const void* memory) {
  return (unsigned)__cvta_generic_to_shared(memory);
}
)"},
    {"ls_copy_async_4",
     R"(LS_INLINE void ls_copy_async_4(void* into, const void* from, bool exists) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(ls_shared_address(into)),
               "l"(from), "r"(exists ? 4 : 0)
               : "memory");
}
)"},
    {"ls_copy_async_8",
     R"(LS_INLINE void ls_copy_async_8(void* into, const void* from, bool exists) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(ls_shared_address(into)),
               "l"(from), "r"(exists ? 8 : 0)
               : "memory");
}
)"},
    {"ls_copy_async_16",
     R"(LS_INLINE void ls_copy_async_16(void* into, const void* from, bool exists) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(ls_shared_address(into)),
               "l"(from), "r"(exists ? 16 : 0)
               : "memory");
}
)"},
    {"ls_commit_copies", R"(LS_INLINE void ls_commit_copies(void) {
  asm volatile("cp.async.commit_group;" ::: "memory");
}
)"},
    {"ls_wait_for_copies", R"(#define ls_wait_for_copies(groups) \
  asm volatile("cp.async.wait_group " #groups ";" ::: "memory")
)"},
    {"ls_mma_m16n8k16_fp16_fp32",
     R"(LS_INLINE void ls_mma_m16n8k16_fp16_fp32(void* results, const void* left, const void* right) {
  float* const c = (float*)results;
  const unsigned* const a = (const unsigned*)left;
  const unsigned* const b = (const unsigned*)right;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)"},
    {"ls_mma_m16n8k16_fp16_fp16",
     R"(LS_INLINE void ls_mma_m16n8k16_fp16_fp16(void* results, const void* left, const void* right) {
  unsigned* const c = (unsigned*)results;
  const unsigned* const a = (const unsigned*)left;
  const unsigned* const b = (const unsigned*)right;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 "
               "{%0, %1}, {%2, %3, %4, %5}, {%6, %7}, {%0, %1};"
               : "+r"(c[0]), "+r"(c[1])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)"},
    {"ls_mma_m16n8k16_bf16_fp32",
     R"(LS_INLINE void ls_mma_m16n8k16_bf16_fp32(void* results, const void* left, const void* right) {
  float* const c = (float*)results;
  const unsigned* const a = (const unsigned*)left;
  const unsigned* const b = (const unsigned*)right;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
)"},
    {"ls_mma_m16n8k16_int8_int32",
     R"(LS_INLINE void ls_mma_m16n8k16_int8_int32(void* results, const void* left, const void* right) {
  unsigned* const c = (unsigned*)results;
  const unsigned* const a = (const unsigned*)left;
  const unsigned* const b = (const unsigned*)right;
  asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 "
               "{%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
               : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
)"},
    {"ls_load_matrix_x4", R"(LS_INLINE void ls_load_matrix_x4(void* into, const void* row) {
  unsigned* const to = (unsigned*)into;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(ls_shared_address(row))
               : "memory");
}
)"},
    {"ls_load_matrix_x4_trans",
     R"(LS_INLINE void ls_load_matrix_x4_trans(void* into, const void* row) {
  unsigned* const to = (unsigned*)into;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(ls_shared_address(row))
               : "memory");
}
)"},
    {"ls_load_matrix_x2", R"(LS_INLINE void ls_load_matrix_x2(void* into, const void* row) {
  unsigned* const to = (unsigned*)into;
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(to[0]), "=r"(to[1])
               : "r"(ls_shared_address(row))
               : "memory");
}
)"},
};

}  // namespace

std::string_view cuda_instruction(std::string_view name) {
  const auto* found = std::ranges::find(table, name, &Instruction::name);
  check(found != std::end(table), "codegen", "CUDA has no instruction {}", name);
  return found->text;
}

bool has_cuda_instruction(std::string_view name) {
  return std::ranges::find(table, name, &Instruction::name) != std::end(table);
}

}  // namespace loopsmith::detail
