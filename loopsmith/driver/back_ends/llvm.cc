// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_ends/llvm.h"

#include "loopsmith/codegen/llvm/compile.h"
#include "loopsmith/codegen/processor.h"
#include "loopsmith/ir/llvm_intrinsics.h"
#include "loopsmith/transform/expand_llvm_intrinsics.h"

namespace loopsmith {
namespace {

/// By measurement: a page is too near, four pages gain nothing more.
constexpr int prefetch_bytes = 8192;

/// The instruction that sums products of operands of type `a` in vectors of `result`; null where
/// there is none.
const DotIntrinsic* dot_product_of(const Target& target, DataType a, DataType result) {
  for (const DotIntrinsic& each : dot_intrinsics()) {
    const bool fits = each.a == a && each.result == result;
    if (!fits) continue;
    const bool has_other =
        !each.or_these.empty() && has_features(target, std::string(each.or_these));
    if (has_other || has_features(target, std::string(each.features))) return &each;
  }
  return nullptr;
}

constexpr TextForm forms_of_llvm[] = {{"llvm", llvm_text, llvm_lines},
                                      {"assembly", assembly_text, assembly_lines}};

class LlvmBackEnd final : public BackEnd {
 public:
  std::string foreign_triple(const Target& target) const override {
    return is_foreign(target) ? processor_of(target).triple : std::string();
  }

  bool has_instructions_of(const Target& target) const override {
    return host_has_instructions_of(target);
  }

  int vector_bits(const Target& target) const override { return preferred_vector_bits(target); }
  bool has_ldexp(const Target& target) const override { return x86_vector_bits(target) == 512; }

  CpuModel machine_of(const Target& target) const override {
    const int vector_bytes = vector_bits(target) / 8;
    const bool is_x86 = x86_vector_bits(target) > 0;
    const auto dot_product = [&](DataType a, DataType sum) {
      return is_x86 ? dot_product_of(target, a, sum.with_lanes(vector_bytes / sum.bytes()))
                    : nullptr;
    };
    return {.vector_bytes = vector_bytes,
            .vector_registers = has_features(target, "+avx512vl") ? 32 : 16,
            .core_cache_bytes =
                is_foreign(target) ? CpuModel().core_cache_bytes : own_core_cache_bytes(),
            .streamed_bytes = is_x86 ? vector_bytes : 0,
            .prefetch_bytes = is_x86 ? prefetch_bytes : 0,
            .dot_product = dot_product(i16, i32),
            .byte_product = dot_product(u8, i32),
            .bfloat16_product = dot_product(bf16, f32)};
  }

  Ptr<PrimFunc> adapted(const Ptr<PrimFunc>& func, const Target& target) const override {
    return expand_llvm_intrinsics(func, [&](std::string_view features) {
      return has_features(target, std::string(features));
    });
  }

  std::vector<char> object(const CodeRequest& request, const StatementLines* lines) const override {
    return compile_object(request, lines);
  }
  std::span<const TextForm> forms() const override { return forms_of_llvm; }

  std::optional<std::string> file(const CodeRequest& request,
                                  std::string_view suffix) const override {
    if (suffix == ".s") return assembly_text(request);
    if (suffix == ".ll") return llvm_text(request);
    if (suffix == ".o") return object_text(request);
    return std::nullopt;
  }

  std::vector<LibraryPart> library_parts(const CodeRequest& request) const override {
    return {{"kernel.o", object_text(request)}, {"runtime.c", weak_kernel_source()}};
  }

 private:
  static std::string object_text(const CodeRequest& request) {
    const std::vector<char> bytes = compile_object(request);
    return {bytes.begin(), bytes.end()};
  }
};

}  // namespace

const BackEnd& llvm_back_end() {
  static const LlvmBackEnd back_end;
  return back_end;
}

}  // namespace loopsmith
