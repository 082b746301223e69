// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/sure_stores.h"

#include <algorithm>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/effects.h"

namespace loopsmith {

bool stores_element_of(const std::vector<Ptr<BufferStore>>& stores, const BufferStore& store) {
  return std::ranges::any_of(stores, [&](const Ptr<BufferStore>& sure) {
    return sure->buffer.same_as(store.buffer) && are_same_indices(sure->indices, store.indices);
  });
}

std::vector<Ptr<BufferStore>> sure_stores(const Stmt& stmt) {
  if (!stmt) return {};
  if (const auto* store = stmt.as<BufferStore>()) {
    const bool is_sure =
        !store->predicate.defined() &&
        std::ranges::all_of(store->indices, [](const Expr& index) { return is_timeless(index); });
    return is_sure ? std::vector{Ptr<BufferStore>(store)} : std::vector<Ptr<BufferStore>>{};
  }
  if (const auto* let = stmt.as<LetStmt>()) return sure_stores(let->body);
  std::vector<Ptr<BufferStore>> found;
  if (const auto* sequence = stmt.as<SeqStmt>()) {
    for (const Stmt& each : sequence->seq) {
      const auto stores = sure_stores(each);
      found.insert(found.end(), stores.begin(), stores.end());
    }
  } else if (const auto* branch = stmt.as<IfThenElse>()) {
    const auto otherwise = sure_stores(branch->else_case);
    for (const Ptr<BufferStore>& store : sure_stores(branch->then_case)) {
      if (stores_element_of(otherwise, *store)) found.push_back(store);
    }
  }
  return found;
}

}  // namespace loopsmith
