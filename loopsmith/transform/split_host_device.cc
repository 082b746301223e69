// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/split_host_device.h"

#include <algorithm>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/packed_array.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/copy_tiles.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

Stmt call_host(std::vector<Expr> args) {
  return make(Evaluate{.value = call(i32, op("tvm_call_packed"), std::move(args))});
}

class HostDeviceSplitter {
 public:
  explicit HostDeviceSplitter(const PrimFunc& func) : func_(func) {}

  SplitFunction run(const Ptr<PrimFunc>& func) {
    Rewriter rewrite;
    rewrite.on<For>([&](const For& loop) -> Stmt {
      const Stmt stmt(&loop);
      return !is_launch_loop(stmt) ? rewrite.children(loop) : launch(stmt, rewrite);
    });
    rewrite.on<Allocate>(
        [&](const Allocate& allocate) { return device_memory(allocate, rewrite); });
    rewrite.on<DeclBuffer>([&](const DeclBuffer& decl) { return rewrite(decl.body); });
    rewrite.on<BufferStore>([&](const BufferStore& store) -> Stmt {
      fail(
          ErrorKind::lower, "stores_are_in_kernels",
          hint("bind the loops around it to blockIdx.x and threadIdx.x"), store.span,
          "{} is written outside of all loops that are bound to threads: the host does not see the "
          "memory of the device",
          store.buffer->name);
    });
    // The host cannot fetch what only the device reads.
    rewrite.on<Evaluate>([&](const Evaluate& node) -> Stmt {
      const auto* call = node.value.as<Call>();
      return call && call->op == op("prefetch") ? no_op() : Stmt(rewrite.children(node));
    });
    rewrite.on<BufferLoad>([&](const BufferLoad& load) { return read(load, rewrite); });
    rewrite.on<Call>([&](const Call& call) -> Expr {
      const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
      // The host passes where an array lies to what describes it to the device.
      if (name && name->value == device_tensor_map) return Expr(&call);
      const bool passes_memory = std::ranges::any_of(call.args, [&](const Expr& arg) {
        return find_packed_array(arg) || is_parameter_memory(arg);
      });
      require(!passes_memory, ErrorKind::lower, "host_calls_take_numbers",
              hint("call it before or after, from the host's own program"), call.span,
              "{} passes memory to a function of the host, which does not see that of the device",
              call.op.name());
      return rewrite.children(call);
    });
    SplitFunction made{.host = rewrite.body_of(func), .kernels = {}};
    made.kernels = std::move(kernels_);
    return made;
  }

 private:
  Stmt launch(const Stmt& stmt, Rewriter& rewrite) {
    const std::string name = kernels_.empty()
                                 ? func_.name() + "_kernel"
                                 : fmt::format("{}_kernel_{}", func_.name(), kernels_.size());
    const Launch parts = launch_of(stmt);
    std::vector<Expr> args{string_imm(name)};
    using enum ThreadAxis;
    for (const ThreadAxis axis : {block_x, block_y, block_z, thread_x, thread_y, thread_z}) {
      args.push_back(rewrite(extent_of(parts, axis)));
    }
    const std::vector<Ptr<Var>> variables = kernel_arguments(stmt);
    for (const Ptr<Var>& variable : variables) args.push_back(argument(variable));
    kernels_.push_back(kernel(name, stmt, variables));
    return call_host(std::move(args));
  }

  /// An element for the host: its bits, which the device is asked for.
  Expr read(const BufferLoad& load, Rewriter& rewrite) const {
    const DataType dtype = load.dtype;
    require(dtype.is_scalar() && (dtype.bits % 8 == 0 || dtype.is_bool()), ErrorKind::lower,
            "loads_are_in_kernels",
            hint("pass the number as a scalar, or read it inside of the kernel"), load.span,
            "{} is read outside of all loops that are bound to threads: the host gets numbers of "
            "whole bytes from the device, not {}",
            load.buffer->name, to_string(dtype));
    const Expr bytes = int_imm(i64, dtype.bytes());
    const Expr offset = cast(i64, rewrite(load.indices[0])) * bytes;
    const Expr bits =
        call(i64, op("tvm_call_packed"),
             {string_imm(std::string(device_read)), argument(load.buffer->data), offset, bytes});
    if (!dtype.is_float()) return cast(dtype, bits);
    return reinterpret(dtype, cast(u8.with_bits(dtype.bits), bits));
  }

  bool is_parameter_memory(const Expr& expr) const {
    return std::ranges::any_of(func_.buffer_map, [&](const Ptr<Buffer>& buffer) {
      return buffer && buffer->data.same_as(expr);
    });
  }

  static Expr extent_of(const Launch& launch, ThreadAxis axis) {
    for (const auto* loops : {&launch.blocks, &launch.threads}) {
      for (const Ptr<For>& loop : *loops) {
        if (thread_axis_of(*loop) == axis) return cast(i64, loop->extent);
      }
    }
    return int_imm(i64, 1);
  }

  /// What the host passes for a variable of the kernel.
  Expr argument(const Ptr<Var>& variable) const {
    if (!variable->dtype.is_handle()) return variable;
    if (const auto own = memory_.find(variable); own != memory_.end()) return own->second;
    for (const Ptr<Buffer>& buffer : func_.buffer_map) {
      if (buffer && buffer->data.same_as(variable)) return make_packed_array(buffer);
    }
    fail(ErrorKind::lower, "kernel_memory_is_known",
         hint("take the memory as a buffer, by T.match_buffer"), {},
         "{} is a pointer that the host cannot pass to a kernel", variable->name);
  }

  Ptr<PrimFunc> kernel(const std::string& name, const Stmt& stmt,
                       const std::vector<Ptr<Var>>& variables) const {
    Stmt body = stmt;
    for (const Ptr<Buffer>& buffer : free_buffers(stmt)) {
      body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)});
    }
    PrimFunc made{.params = variables,
                  .buffer_map = std::vector<Ptr<Buffer>>(variables.size()),
                  .attrs = {},
                  .body = std::move(body)};
    made.attrs = made.attrs.with("global_symbol", string_imm(name));
    made.attrs = made.attrs.with("tir.noalias", Expr(func_.attrs.get_int("tir.noalias", 0) != 0));
    return make(std::move(made));
  }

  /// Memory for the time of `body`, asked of the device.
  Stmt device_memory(const Allocate& allocate, Rewriter& rewrite) {
    Expr bytes = int_imm(i64, allocate.dtype.bytes());
    for (const Expr& extent : allocate.extents) bytes = bytes * rewrite(cast(i64, extent));
    const Ptr<Var> address = var(allocate.buffer_var->name + "_address", i64);
    const Ptr<Var> memory = var(allocate.buffer_var->name, handle_type);
    memory_[allocate.buffer_var] = memory;
    Stmt body = rewrite(allocate.body);
    body = seq({std::move(body), call_host({string_imm(std::string(device_release)), memory})});
    body = make(LetStmt{
        .value = reinterpret(handle_type, address), .var = memory, .body = std::move(body)});
    const Expr allocated =
        call(i64, op("tvm_call_packed"), {string_imm(std::string(device_allocate)), bytes});
    return make(LetStmt{.value = allocated, .var = address, .body = std::move(body)});
  }

  const PrimFunc& func_;
  std::vector<Ptr<PrimFunc>> kernels_;
  std::unordered_map<Ref, Ptr<Var>, RefHash, RefEqual> memory_;
};

}  // namespace

std::vector<Ptr<Var>> kernel_arguments(const Stmt& launch) {
  std::vector<Ptr<Var>> variables = free_variables(launch);
  for (const Ptr<Buffer>& buffer : free_buffers(launch)) {
    const auto is_it = [&](const Ptr<Var>& each) { return each.same_as(buffer->data); };
    if (std::ranges::none_of(variables, is_it)) variables.push_back(buffer->data);
    for (const Expr& extent : buffer->shape) {
      for (const Ptr<Var>& size : free_variables(extent)) {
        const auto is_size = [&](const Ptr<Var>& each) { return each.same_as(size); };
        if (std::ranges::none_of(variables, is_size)) variables.push_back(size);
      }
    }
  }
  std::ranges::stable_partition(
      variables, [](const Ptr<Var>& variable) { return variable->dtype.is_handle(); });
  return variables;
}

SplitFunction split_host_device(const Ptr<PrimFunc>& func) {
  return HostDeviceSplitter(*func).run(func);
}

}  // namespace loopsmith
