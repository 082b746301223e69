// SPDX-License-Identifier: Apache-2.0
// For tests: a function compiled and called with plain arrays.
#pragma once
#include <cstdlib>
#include <deque>
#include <numeric>
#include <string>
#include <vector>

#include "loopsmith/codegen/entry_symbol.h"
#include "loopsmith/codegen/llvm/compile.h"
#include "loopsmith/codegen/llvm/loader.h"
#include "loopsmith/codegen/source/c_compiler.h"
#include "loopsmith/codegen/source/c_text.h"
#include "loopsmith/runtime/thread_pool.h"

namespace loopsmith::testing {

/// base, base + stride, ...: so many lanes.
inline Expr ramp(const Expr& base, int stride, int lanes) {
  return make(Ramp{.base = base, .stride = stride, .lanes = lanes});
}

/// 1, 2, 3, ...
inline std::vector<float> counted(int count) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 1.F);
  return values;
}

/// A context whose memory is counted, and may be made to run out.
struct CountingContext : ls_context {
  int allocations = 0;  ///< That were not given back.
  int total_allocations = 0;
  bool is_out_of_memory = false;

  CountingContext() : ls_context{} {
    abi_version = LS_ABI_VERSION;
    parallel_for = &ThreadPool::run_for_kernel;
    parallel_for_data = ThreadPool::shared().get();
    allocator_data = this;
    allocate = [](void* data, std::size_t size, std::size_t alignment) -> void* {
      auto& self = *static_cast<CountingContext*>(data);
      if (self.is_out_of_memory) return nullptr;
      ++self.allocations;
      ++self.total_allocations;
      return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    };
    release = [](void* data, void* memory, std::size_t, std::size_t) {
      --static_cast<CountingContext*>(data)->allocations;
      std::free(memory);
    };
    fail = [](ls_context* context, const ls_error* error) -> std::int32_t {
      context->error = *error;
      return error->code;
    };
  }
};

/// A compiled function with its arguments.
class Kernel {
 public:
  explicit Kernel(const Ptr<PrimFunc>& func, const FloatOptions& floats = {},
                  const std::string& target = "llvm -mcpu=native")
      : request_{{func}, Target(target), floats},
        object_(request_.target.kind() == TargetKind::c ? compile_c(c_text(request_))
                                                        : compile_object(request_)),
        loaded_(object_),
        call_(reinterpret_cast<ls_packed_function>(loaded_.find(entry_symbol(func->name())))) {}

  /// Adds a one-dimensional tensor, or one of the given shape.
  template <class T>
  Kernel& tensor(std::vector<T>& data, std::vector<std::int64_t> shape = {}) {
    if (shape.empty()) shape = {static_cast<std::int64_t>(data.size())};
    shapes_.push_back(std::move(shape));
    tensors_.push_back({.data = data.data(),
                        .device = {kDLCPU, 0},
                        .ndim = static_cast<std::int32_t>(shapes_.back().size()),
                        .dtype = {},
                        .shape = shapes_.back().data(),
                        .strides = nullptr,
                        .byte_offset = 0});
    arguments_.push_back({{.as_tensor = &tensors_.back()}, LS_TENSOR, 0});
    return *this;
  }
  /// The last tensor starts so many bytes after its data.
  Kernel& at_byte(std::uint64_t offset) {
    tensors_.back().byte_offset = offset;
    return *this;
  }
  Kernel& integer(std::int64_t value) {
    arguments_.push_back({{.as_int = value}, LS_INT, 0});
    return *this;
  }
  Kernel& real(double value) {
    arguments_.push_back({{.as_float = value}, LS_FLOAT, 0});
    return *this;
  }
  /// Calls the function; gives its status.
  std::int32_t run() { return call_(&context, arguments_.data()); }

  const std::vector<char>& object() const { return object_; }
  std::string assembly() const { return assembly_text(request_); }

  CountingContext context;

 private:
  CodeRequest request_;
  std::vector<char> object_;
  LoadedObject loaded_;
  ls_packed_function call_;
  std::deque<std::vector<std::int64_t>> shapes_;
  std::deque<DLTensor> tensors_;
  std::vector<ls_argument> arguments_;
};

/// A function of tensors with these buffers, in their order, whose buffers do not overlap.
inline Ptr<PrimFunc> function_of(const std::vector<Ptr<Buffer>>& buffers, Stmt body) {
  PrimFunc func;
  for (const Ptr<Buffer>& buffer : buffers) {
    func.params.push_back(var(buffer->name + "_handle", handle_type));
    func.buffer_map.push_back(buffer);
  }
  func.attrs = {{"tir.noalias", int_imm(boolean, 1)}};
  func.body = std::move(body);
  return make(std::move(func));
}

}  // namespace loopsmith::testing
