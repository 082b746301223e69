// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/shared_sources.h"

#include <vector>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/any_statement.h"

namespace loopsmith {

namespace {

bool stores_to_shared_memory(const Stmt& body) {
  return any_statement(body, [](const Stmt& stmt) {
    const auto* store = stmt.as<BufferStore>();
    return store && is_shared_by_threads(memory_scope(*store->buffer));
  });
}

}  // namespace

std::unordered_set<const Object*> sources_of_shared_memory(const Stmt& body) {
  if (!stores_to_shared_memory(body)) return {};
  struct Load {
    const Object* source;
    const Object* target;  ///< What is stored to; null where a condition or bound reads the source.
  };
  std::vector<Load> loads;
  std::unordered_set<const Object*> found;
  std::vector<const Object*> feeding;
  const auto add_loads = [&](const Ref& from, const Object* target) {
    pre_order_visit(from, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) {
        loads.push_back({load->buffer->data.get(), target});
      }
      return !ref.is<IntImm>() && !ref.is<Var>();
    });
  };
  pre_order_visit(body, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      const Object* target = store->buffer->data.get();
      if (is_shared_by_threads(memory_scope(*store->buffer))) feeding.push_back(target);
      add_loads(ref, target);
      return false;
    }
    if (!is_expr(*ref.get())) return true;
    add_loads(ref, nullptr);
    return false;
  });
  feeding.push_back(nullptr);
  while (!feeding.empty()) {
    const Object* target = feeding.back();
    feeding.pop_back();
    for (const Load& load : loads) {
      if (load.target == target && found.insert(load.source).second) feeding.push_back(load.source);
    }
  }
  return found;
}

}  // namespace loopsmith
