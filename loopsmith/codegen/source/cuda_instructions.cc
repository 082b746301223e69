// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/cuda_instructions.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <vector>

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
    {"ls_tf32", R"(/* Rounded to 11 bits, as products take it. */
LS_INLINE unsigned ls_tf32(float number) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(number));
  return bits;
}
)"},
    {"ls_mma_m16n8k8_tf32_fp32",
     R"(LS_INLINE void ls_mma_m16n8k8_tf32_fp32(void* results, const void* left, const void* right) {
  float* const c = (float*)results;
  const float* const a = (const float*)left;
  const float* const b = (const float*)right;
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
               "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(ls_tf32(a[0])), "r"(ls_tf32(a[1])), "r"(ls_tf32(a[2])), "r"(ls_tf32(a[3])),
                 "r"(ls_tf32(b[0])), "r"(ls_tf32(b[1])));
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
    {"ls_fence_for_products", R"(/* What threads have stored in shared memory, products see. */
LS_INLINE void ls_fence_for_products(void) {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
)"},
    {"ls_init_barrier",
     R"(/* A barrier of so many threads, and of the bytes that they say; copies of tiles see it. */
LS_INLINE void ls_init_barrier(void* barrier, unsigned threads) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(ls_shared_address(barrier)),
               "r"(threads)
               : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
)"},
    {"ls_arrive_barrier", R"(LS_INLINE void ls_arrive_barrier(void* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(ls_shared_address(barrier))
               : "memory");
}
)"},
    {"ls_wait_barrier", R"(LS_INLINE void ls_wait_barrier(void* barrier, unsigned phase) {
  unsigned has_come;
  do {
    asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                 " selp.u32 %0, 1, 0, p;}"
                 : "=r"(has_come)
                 : "r"(ls_shared_address(barrier)), "r"(phase)
                 : "memory");
  } while (!has_come);
}
)"},
    {"ls_see_map", R"(/* What the host has written of an array, the copy engine sees. */
LS_INLINE void ls_see_map(int64_t map) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(map) : "memory");
}
)"},
    {"ls_wait_for_products", R"(#define ls_wait_for_products(groups) \
  asm volatile("wgmma.wait_group.sync.aligned " #groups ";" ::: "memory")
)"},
    {"ls_tile_descriptor",
     R"(/* Rows of 128 bytes in shared memory, swizzled; `columns` bytes on, the next 64. */
LS_INLINE uint64_t ls_tile_descriptor(const void* tile, uint64_t columns) {
  const uint64_t rows = 1024, swizzle_128 = 1;
  return (uint64_t)((ls_shared_address(tile) & 0x3ffffu) >> 4) | (columns >> 4) << 16 |
         (rows >> 4) << 32 | swizzle_128 << 62;
}
)"},
};

/// A product that four warps do together.
struct WarpgroupProduct {
  int columns = 0, steps = 0;
  std::string_view type;
  bool left_has_steps_last = false, right_has_steps_last = false;
};

/// `ls_mma_m64n128k64_fp16_fp32_row_col`: results, operands, and how these lie.
std::optional<WarpgroupProduct> warpgroup_product(std::string_view name) {
  std::vector<std::string_view> words;
  for (const auto word : std::views::split(name, '_')) words.emplace_back(word.begin(), word.end());
  if (words.size() != 7 || words[1] != "mma" || !words[2].starts_with("m64n")) return {};
  const std::string_view shape = words[2].substr(4);
  const std::size_t mark = shape.find('k');
  WarpgroupProduct product{.type = words[3] == "fp16" ? "f16" : words[3],
                           .left_has_steps_last = words[5] == "row",
                           .right_has_steps_last = words[6] == "col"};
  const auto read = [](std::string_view digits, int& number) {
    const char* end = digits.data() + digits.size();
    return std::from_chars(digits.data(), end, number).ptr == end;
  };
  const bool is_known = mark != shape.npos && read(shape.substr(0, mark), product.columns) &&
                        read(shape.substr(mark + 1), product.steps) && product.columns % 64 == 0 &&
                        product.columns > 0 && product.columns <= 256 && product.steps == 64 &&
                        (product.type == "f16" || product.type == "bf16") && words[4] == "fp32";
  return is_known ? std::optional(product) : std::nullopt;
}

/// `wgmma` takes 16 steps of the sum: rows of 16 elements in a tile by rows, or 16 rows.
std::string text_of(std::string_view name, const WarpgroupProduct& product) {
  const int results = product.columns / 2;
  std::string outputs, operands;
  for (int i = 0; i < results; ++i) {
    outputs += fmt::format("{}%{}", i == 0 ? "" : ", ", i);
    operands += fmt::format("{}\"+f\"(c[{}])", i == 0 ? "" : ", ", i);
  }
  std::string text = fmt::format(
      "LS_INLINE void {}(void* results, const void* left, const void* right) {{\n"
      "  float* const c = (float*)results;\n"
      "  const uint64_t a = ls_tile_descriptor(left, {}), b = ls_tile_descriptor(right, {});\n"
      "  asm volatile(\"wgmma.fence.sync.aligned;\" ::: \"memory\");\n",
      name, product.left_has_steps_last ? 16 : product.steps * 128,
      product.right_has_steps_last ? 16 : product.steps * 128);
  // Descriptors count parts of 16 bytes.
  const int left_step = product.left_has_steps_last ? 2 : 128;
  const int right_step = product.right_has_steps_last ? 2 : 128;
  for (int k = 0; k < product.steps / 16; ++k) {
    text += fmt::format(
        "  asm volatile(\n"
        "      \"{{.reg .pred p; setp.ne.b32 p, 1, 0;\"\n"
        "      \"wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {{{2}}}, \"\n"
        "      \"%{3}, %{4}, p, 1, 1, {5}, {6};}}\"\n"
        "      : {7}\n"
        "      : \"l\"(a + {8}), \"l\"(b + {9}));\n",
        product.columns, product.type, outputs, results, results + 1,
        product.left_has_steps_last ? 0 : 1, product.right_has_steps_last ? 0 : 1, operands,
        k * left_step, k * right_step);
  }
  return text + "  asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n}\n";
}

/// `ls_finish_m64n256`: waits until no product is under way, and says that these registers have
/// changed until then.
std::string finish_text(std::string_view name) {
  int columns = 0;
  const std::string_view digits = name.substr(name.find('n', name.find("m64")) + 1);
  std::from_chars(digits.data(), digits.data() + digits.size(), columns);
  std::string results;
  for (int i = 0; i < columns / 2; ++i) {
    results += fmt::format("{}\"+f\"(c[{}])", i == 0 ? "" : ", ", i);
  }
  return fmt::format(
      "LS_INLINE void {}(void* results) {{\n"
      "  float* const c = (float*)results;\n"
      "  asm volatile(\"wgmma.wait_group.sync.aligned 0;\"\n"
      "      : {}\n"
      "      :\n"
      "      : \"memory\");\n}}\n",
      name, results);
}

/// `ls_copy_tile_2d`: a box of an array of two dimensions, by the copy engine.
std::string copy_tile_text(std::string_view name) {
  const int rank = name[name.size() - 2] - '0';
  std::string parameters, places, operands;
  for (int d = 0; d < rank; ++d) {
    parameters += fmt::format(", int at_{}", d);
    places += fmt::format("{}%{}", d == 0 ? "" : ", ", d + 3);
    operands += fmt::format(", \"r\"(at_{})", d);
  }
  return fmt::format(
      "/* Boxes of an array that `map` describes, by the copy engine; `barrier` counts the bytes. "
      "*/\n"
      "LS_INLINE void {0}(void* into, int64_t map, void* barrier, unsigned bytes{1}) {{\n"
      "  const unsigned counted = ls_shared_address(barrier);\n"
      "  asm volatile(\"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;\" "
      "::\"r\"(counted), \"r\"(bytes) : \"memory\");\n"
      "  asm volatile(\n"
      "      \"cp.async.bulk.tensor.{2}d.shared::cluster.global.mbarrier::complete_tx::bytes \"\n"
      "      \"[%0], [%1, {{{3}}}], [%2];\" ::\"r\"(ls_shared_address(into)), \"l\"(map), "
      "\"r\"(counted){4}\n"
      "      : \"memory\");\n}}\n",
      name, parameters, rank, places, operands);
}

/// `ls_dp4a_s8_u8`: four products of bytes with a sign and bytes without.
std::string dot_product_text(std::string_view name) {
  const auto word = [&](std::size_t at) { return name[at] == 's' ? "s32" : "u32"; };
  return fmt::format(
      "LS_INLINE int {}(int left, int right, int sum) {{\n"
      "  asm(\"dp4a.{}.{} %0, %1, %2, %0;\" : \"+r\"(sum) : \"r\"(left), \"r\"(right));\n"
      "  return sum;\n}}\n",
      name, word(8), word(11));
}

}  // namespace

std::optional<std::string> cuda_instruction(std::string_view name) {
  if (name.starts_with("ls_dp4a_")) return dot_product_text(name);
  if (name.starts_with("ls_copy_tile_")) return copy_tile_text(name);
  if (name.starts_with("ls_finish_m64n")) return finish_text(name);
  if (const auto product = warpgroup_product(name)) return text_of(name, *product);
  const auto* found = std::ranges::find(table, name, &Instruction::name);
  return found == std::end(table) ? std::nullopt : std::optional(std::string(found->text));
}

}  // namespace loopsmith::detail
