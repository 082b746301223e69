// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/host_memory.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// The statement that follows what defines memory or a value for it; null after any other.
const Stmt* statement_after(const Stmt& definition) {
  if (const auto* allocate = definition.as<Allocate>()) return &allocate->body;
  if (const auto* declaration = definition.as<DeclBuffer>()) return &declaration->body;
  if (const auto* let = definition.as<LetStmt>()) return &let->body;
  if (const auto* attribute = definition.as<AttrStmt>()) return &attribute->body;
  return nullptr;
}

bool reads_memory(const Expr& extent) {
  bool found = false;
  pre_order_visit(extent, [&](const Ref& ref) {
    found = found || ref.is<BufferLoad>() || ref.is<Call>();
    return !found;
  });
  return found;
}

}  // namespace

std::vector<const Allocate*> allocations_of_all_iterations(const For& loop) {
  std::vector<const Allocate*> found;
  std::vector<Ptr<Var>> own{loop.loop_var};
  for (const Stmt* part = &loop.body; part; part = statement_after(*part)) {
    if (const auto* let = part->as<LetStmt>()) own.push_back(let->var);
    const auto* allocate = part->as<Allocate>();
    if (!allocate) continue;
    const bool is_same = std::ranges::none_of(allocate->extents, [&](const Expr& extent) {
      return reads_memory(extent) || std::ranges::any_of(own, [&](const Ptr<Var>& variable) {
               return uses_variable(extent, variable);
             });
    });
    if (is_same) found.push_back(allocate);
  }
  return found;
}

}  // namespace loopsmith
