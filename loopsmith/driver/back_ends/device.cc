// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/back_ends/device.h"

#include "loopsmith/driver/back_ends/llvm.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/expand_llvm_intrinsics.h"
#include "loopsmith/transform/split_host_device.h"

namespace loopsmith {
namespace {

constexpr int bits_of_device_vectors = 128;

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

/// The function with `dp4a` of numbers of 32 bits, which an instruction takes, each with the sign
/// of the four bytes that it is.
Ptr<PrimFunc> with_words(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<Call>([&](const Call& call) -> Expr {
    const Ptr<Call> same = rewrite.children(call);
    if (call.op != op("dp4a")) return same;
    Call copy = *same;
    for (std::size_t i = 0; i < 2; ++i) {
      const DataType type = copy.args[i].dtype();
      if (type.lanes == 4) copy.args[i] = reinterpret(type.is_uint() ? u32 : i32, copy.args[i]);
    }
    const DataType type = copy.dtype;
    return make(std::move(copy), type);
  });
  return rewrite.body_of(func);
}

}  // namespace

int DeviceBackEnd::vector_bits(const Target&) const {
  return bits_of_device_vectors;
}

CpuModel DeviceBackEnd::machine_of(const Target&) const {
  return {.vector_bytes = bits_of_device_vectors / 8};
}

Ptr<PrimFunc> DeviceBackEnd::adapted(const Ptr<PrimFunc>& func, const Target& target) const {
  const auto has_features = [&](std::string_view features) {
    return features == "+dp4a" && gpu_limits(target).has_dp4a;
  };
  return with_serial_lanes(with_words(expand_llvm_intrinsics(func, has_features)));
}

std::vector<char> DeviceBackEnd::object(const CodeRequest& request, const StatementLines*) const {
  CodeRequest host{{}, Target("llvm -mcpu=native"), request.floats};
  for (const Ptr<PrimFunc>& func : request.functions) {
    host.functions.push_back(split_host_device(func).host);
  }
  return llvm_back_end().object(host, nullptr);
}

std::vector<LibraryPart> DeviceBackEnd::library_parts(const CodeRequest& request) const {
  fail(ErrorKind::user, "library_has_no_kernels",
       hint("export the kernels' source: .cl from target opencl, .cu from target cuda"), {},
       "export: a library of target {} would need its driver's interface",
       to_string(request.target.kind()));
}

}  // namespace loopsmith
