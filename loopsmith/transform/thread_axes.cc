// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_axes.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {

bool is_thread_axis(std::string_view tag) {
  return tag.starts_with("threadIdx.");
}

bool is_block_axis(std::string_view tag) {
  return tag.starts_with("blockIdx.");
}

std::string_view launch_axis_of(const Stmt& stmt) {
  const auto* loop = stmt.as<For>();
  if (!loop || loop->kind != ForKind::thread_binding) return {};
  const std::string_view tag = loop->thread_binding->thread_tag;
  return std::ranges::find(launch_axes, tag) == launch_axes.end() ? std::string_view() : tag;
}

bool has_launch(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    found = found || !launch_axis_of(Stmt::from(ref)).empty();
    return !found && !is_expr(*ref.get());
  });
  return found;
}

bool is_block_barrier(const Expr& value) {
  const auto* call = value.as<Call>();
  if (!call || call->op != op("tvm_storage_sync")) return false;
  const auto* scope = call->args.empty() ? nullptr : call->args[0].as<StringImm>();
  return !scope || scope->value != "warp";
}

bool has_block_barrier(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* evaluate = ref.as<Evaluate>();
    found = found || (evaluate && is_block_barrier(evaluate->value));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

Launch launch_of(const Stmt& root) {
  Launch launch;
  Stmt at = root;
  for (; is_block_axis(launch_axis_of(at)); at = launch.blocks.back()->body) {
    launch.blocks.push_back(Ptr<For>::from(at));
  }
  for (;;) {
    if (const auto* allocate = at.as<Allocate>()) {
      launch.memory.push_back(at);
      at = allocate->body;
    } else if (const auto* decl = at.as<DeclBuffer>()) {
      launch.memory.push_back(at);
      at = decl->body;
    } else {
      break;
    }
  }
  for (; is_thread_axis(launch_axis_of(at)); at = launch.threads.back()->body) {
    launch.threads.push_back(Ptr<For>::from(at));
  }
  launch.body = at;
  return launch;
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
