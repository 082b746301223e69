// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_axes.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {

bool is_launch_loop(const Stmt& stmt) {
  return is_launch_axis(thread_axis_of(stmt));
}

bool has_launch(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    found = found || is_launch_loop(Stmt::from(ref));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

namespace {

/// What an allocation, a view or a name is for; null of any other statement.
Stmt memory_or_name_body(const Stmt& stmt) {
  if (const auto* allocate = stmt.as<Allocate>()) return allocate->body;
  if (const auto* decl = stmt.as<DeclBuffer>()) return decl->body;
  const auto* let = stmt.as<LetStmt>();
  return let ? let->body : nullptr;
}

}  // namespace

bool is_barrier(const Expr& value) {
  const auto* call = value.as<Call>();
  return call && call->op == op("tvm_storage_sync");
}

bool is_block_barrier(const Expr& value) {
  if (!is_barrier(value)) return false;
  const Call& sync = *value.as<Call>();
  const auto* scope = sync.args.empty() ? nullptr : sync.args[0].as<StringImm>();
  return !scope || memory_scope(scope->value) != MemoryScope::warp;
}

Stmt barrier(MemoryScope scope) {
  const Expr name = string_imm(std::string(name_of(scope)));
  return make(Evaluate{.value = call(i32, op("tvm_storage_sync"), {name})});
}

bool has_barrier(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* evaluate = ref.as<Evaluate>();
    found = found || (evaluate && is_barrier(evaluate->value));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

bool multiplies_in_warpgroups(const Call& call) {
  const auto* shape =
      call.op == op("ptx_mma") && !call.args.empty() ? call.args[0].as<StringImm>() : nullptr;
  return shape && shape->value.starts_with("m64") && call.args.size() > 10;
}

std::vector<Ptr<Buffer>> operands_of_warpgroups(const Stmt& body) {
  std::vector<Ptr<Buffer>> found;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    if (!call || !multiplies_in_warpgroups(*call)) return true;
    for (const std::size_t operand : {6, 8}) {
      const auto* address = call->args[operand].as<Call>();
      const auto* load = address ? address->args[0].as<BufferLoad>() : nullptr;
      if (load) found.push_back(load->buffer);
    }
    return false;
  });
  return found;
}

Ptr<Var> with_scope(const Var& pointer, MemoryScope scope) {
  Var copy = pointer;
  PointerType type = *pointer.pointer;
  type.storage_scope = name_of(scope);
  copy.pointer = make(std::move(type));
  return make(std::move(copy));
}

Stmt body_of(const Stmt& around) {
  if (const auto* loop = around.as<For>()) return loop->body;
  if (const auto* loop = around.as<While>()) return loop->body;
  if (const auto* let = around.as<LetStmt>()) return let->body;
  if (const auto* attribute = around.as<AttrStmt>()) return attribute->body;
  if (const auto* allocate = around.as<Allocate>()) return allocate->body;
  if (const auto* constant = around.as<AllocateConst>()) return constant->body;
  if (const auto* decl = around.as<DeclBuffer>()) return decl->body;
  const auto* assertion = around.as<AssertStmt>();
  return assertion ? assertion->body : nullptr;
}

Launch launch_of(const Stmt& root) {
  Launch launch;
  std::vector<Stmt> names;
  for (Stmt at = root;;) {
    const ThreadAxis axis = thread_axis_of(at);
    if (is_block_axis(axis) && launch.threads.empty()) {
      launch.blocks.push_back(Ptr<For>::from(at));
      at = launch.blocks.back()->body;
    } else if (is_thread_axis(axis)) {
      launch.threads.push_back(Ptr<For>::from(at));
      at = launch.threads.back()->body;
    } else if (const Stmt body = has_launch(at) ? memory_or_name_body(at) : Stmt()) {
      (at.is<LetStmt>() ? names : launch.memory).push_back(at);
      at = body;
    } else {
      launch.body = at;
      break;
    }
  }
  for (std::size_t i = names.size(); i-- > 0;) {
    launch.body = with_body(names[i], std::move(launch.body));
  }
  return launch;
}

std::int64_t bytes_in_shared_pool(const Allocate& allocate) {
  constexpr std::int64_t alignment = 16;
  std::int64_t bytes = allocate.dtype.bytes();
  for (const Expr& extent : allocate.extents) bytes *= *as_int(extent);
  return (bytes + alignment - 1) / alignment * alignment;
}

std::int64_t bytes_in_shared_pool(const Launch& launch) {
  std::int64_t bytes = 0;
  for (const Stmt& memory : launch.memory) {
    const auto* allocate = memory.as<Allocate>();
    const bool is_in_pool =
        allocate && memory_scope(*allocate->buffer_var) == MemoryScope::shared_dynamic;
    if (!is_in_pool) continue;
    const std::int64_t offset = allocate->annotations.get_int(pool_offset_key, bytes);
    bytes = std::max(bytes, offset + bytes_in_shared_pool(*allocate));
  }
  return bytes;
}

Stmt launch_stmt(const Launch& launch) {
  Stmt stmt = launch.body;
  for (std::size_t i = launch.threads.size(); i-- > 0;) {
    stmt = with_body(launch.threads[i], std::move(stmt));
  }
  for (std::size_t i = launch.memory.size(); i-- > 0;) {
    stmt = with_body(launch.memory[i], std::move(stmt));
  }
  for (std::size_t i = launch.blocks.size(); i-- > 0;) {
    stmt = with_body(launch.blocks[i], std::move(stmt));
  }
  return stmt;
}

}  // namespace loopsmith
