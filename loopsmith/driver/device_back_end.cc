// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/codegen/source/device_text.h"
#include "loopsmith/driver/back_end.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/runtime/device.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/expand_llvm_intrinsics.h"
#include "loopsmith/transform/split_host_device.h"

namespace loopsmith {
namespace {

constexpr int bits_of_device_vectors = 128;

std::string ptx_text(const CodeRequest& request) {
  return compile_cuda(device_text(request), request.target.get("arch", "sm_80"));
}

/// What is missing stands in its place: who looks at all forms wants the others.
TextWithLines ptx_lines(const CodeRequest& request, const StatementLines&) {
  TextWithLines made;
  try {
    made.text = ptx_text(request);
  } catch (const UserError& error) {
    made.text = "// " + error.problem().substr(0, error.problem().find('\n')) + "\n";
  }
  made.lines.resize(static_cast<std::size_t>(std::ranges::count(made.text, '\n')));
  return made;
}

constexpr TextForm opencl_forms[] = {{"opencl", device_text, device_lines}};
constexpr TextForm cuda_forms[] = {{"cuda", device_text, device_lines},
                                   {"ptx", ptx_text, ptx_lines}};

/// True for a loop over one store whose elements fit the widest load or store.
bool is_vector(const For& loop) {
  const std::int64_t* extent = as_int(loop.extent);
  const auto* realize = loop.body.as<BlockRealize>();
  const Stmt& body = realize ? realize->block->body : loop.body;
  const auto* store = body.as<BufferStore>();
  if (!extent || !store || (realize && realize->block->init)) return false;
  const bool is_even = *extent == 2 || *extent == 4 || *extent == 8 || *extent == 16;
  return is_even && *extent * store->buffer->dtype.bits <= bits_of_device_vectors;
}

/// The function with loops in the place of vectors that no instruction loads or stores.
Ptr<PrimFunc> with_serial_lanes(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const auto same = rewrite.children(loop);
    const bool stays = loop.kind == ForKind::vectorized && is_vector(loop);
    if (stays || (loop.kind != ForKind::vectorized && loop.kind != ForKind::parallel)) return same;
    For serial = *same;
    serial.kind = ForKind::serial;
    return make(std::move(serial));
  });
  return rewrite.body_of(func);
}

/// What both kinds of devices have in common.
class DeviceBackEnd : public BackEnd {
 public:
  std::string foreign_triple(const Target&) const override { return {}; }
  bool has_instructions_of(const Target&) const override { return true; }
  int vector_bits(const Target&) const override { return bits_of_device_vectors; }
  CpuModel machine_of(const Target&) const override {
    return {.vector_bytes = bits_of_device_vectors / 8};
  }

  Ptr<PrimFunc> adapted(const Ptr<PrimFunc>& func, const Target&) const override {
    return with_serial_lanes(expand_llvm_intrinsics(func, [](std::string_view) { return false; }));
  }

  /// The host's part.
  std::vector<char> object(const CodeRequest& request, const StatementLines*) const override {
    CodeRequest host{{}, Target("llvm -mcpu=native"), request.floats};
    for (const Ptr<PrimFunc>& func : request.functions) {
      host.functions.push_back(split_host_device(func).host);
    }
    return llvm_back_end().object(host, nullptr);
  }

  std::vector<LibraryPart> library_parts(const CodeRequest& request) const override {
    fail(ErrorKind::user, "library_has_no_kernels",
         hint("export the kernels' source: .cl from target opencl, .cu from target cuda"), {},
         "export: a library of target {} would need its driver's interface",
         to_string(request.target.kind()));
  }
};

class OpenClBackEnd final : public DeviceBackEnd {
 public:
  std::span<const TextForm> forms() const override { return opencl_forms; }
  std::optional<std::string> file(const CodeRequest& request,
                                  std::string_view suffix) const override {
    if (suffix != ".cl") return std::nullopt;
    return device_text(request);
  }
};

class CudaBackEnd final : public DeviceBackEnd {
 public:
  std::span<const TextForm> forms() const override { return cuda_forms; }
  std::optional<std::string> file(const CodeRequest& request,
                                  std::string_view suffix) const override {
    if (suffix == ".cu") return device_text(request);
    if (suffix == ".ptx") return ptx_text(request);
    return std::nullopt;
  }
};

}  // namespace

const BackEnd& opencl_back_end() {
  static const OpenClBackEnd back_end;
  return back_end;
}

const BackEnd& cuda_back_end() {
  static const CudaBackEnd back_end;
  return back_end;
}

}  // namespace loopsmith
