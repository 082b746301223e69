// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_ends/c.h"

#include "loopsmith/codegen/signature.h"
#include "loopsmith/codegen/source/c_compiler.h"
#include "loopsmith/codegen/source/c_export.h"
#include "loopsmith/codegen/source/c_text.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/expand_llvm_intrinsics.h"

namespace loopsmith {
namespace {

/// C compilers make vectors of loops as well as we do; what people read should be loops.
constexpr int bits_of_vectors = 256;

constexpr TextForm forms_of_c[] = {{"c", c_text, c_lines}};

Ptr<PrimFunc> without_vectors(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const auto same = rewrite.children(loop);
    if (loop.kind != ForKind::vectorized) return same;
    For serial = *same;
    serial.kind = ForKind::serial;
    return make(std::move(serial));
  });
  return rewrite.body_of(func);
}

/// The functions as C with the runtime, for hosts in C.
std::string exported_text(const CodeRequest& request) {
  std::vector<Signature> signatures;
  for (const Ptr<PrimFunc>& func : request.functions) signatures.push_back(signature_of(*func));
  return weak_kernel_source() + c_text(request) +
         c_wrappers(signatures, request.exported.value_or(""));
}

class CBackEnd final : public BackEnd {
 public:
  std::string foreign_triple(const Target&) const override { return {}; }
  bool has_instructions_of(const Target&) const override { return true; }

  int vector_bits(const Target&) const override { return bits_of_vectors; }

  CpuModel machine_of(const Target&) const override {
    return {.vector_bytes = bits_of_vectors / 8, .core_cache_bytes = own_core_cache_bytes()};
  }

  Ptr<PrimFunc> adapted(const Ptr<PrimFunc>& func, const Target&) const override {
    return without_vectors(expand_llvm_intrinsics(func, [](std::string_view) { return false; }));
  }

  std::vector<char> object(const CodeRequest& request, const StatementLines*) const override {
    return compile_c(c_text(request));
  }
  std::span<const TextForm> forms() const override { return forms_of_c; }

  std::optional<std::string> file(const CodeRequest& request,
                                  std::string_view suffix) const override {
    if (suffix != ".c") return std::nullopt;
    return exported_text(request);
  }

  std::vector<LibraryPart> library_parts(const CodeRequest& request) const override {
    return {{"kernel.c", exported_text(request), {"-O3", "-fno-math-errno"}}};
  }
};

}  // namespace

const BackEnd& c_back_end() {
  static const CBackEnd back_end;
  return back_end;
}

}  // namespace loopsmith
