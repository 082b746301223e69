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

/// The instruction that sums most products of 16-bit integers in vectors of so many bits; null
/// where there is none.
const DotIntrinsic* pair_products_of(const Target& target, int vector_bits) {
  for (const DotIntrinsic& each : dot_intrinsics()) {
    const bool fits = each.a == i16 && each.b == i16 && each.group == 2 &&
                      each.result == i32.with_lanes(vector_bits / 32);
    if (fits && has_features(target, std::string(each.features))) return &each;
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

  CpuModel machine_of(const Target& target) const override {
    const int vector_bytes = vector_bits(target) / 8;
    const bool is_x86 = x86_vector_bits(target) > 0;
    return {.vector_bytes = vector_bytes,
            .vector_registers = has_features(target, "+avx512vl") ? 32 : 16,
            .core_cache_bytes =
                is_foreign(target) ? CpuModel().core_cache_bytes : own_core_cache_bytes(),
            .streamed_bytes = is_x86 ? vector_bytes : 0,
            .prefetch_bytes = is_x86 ? prefetch_bytes : 0,
            .dot_product = is_x86 ? pair_products_of(target, vector_bytes * 8) : nullptr};
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
