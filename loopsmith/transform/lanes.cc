// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lanes.h"

#include <unordered_set>

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/storage_scope.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Looks for what may differ between the iterations of a loop.
class LaneSurvey {
 public:
  LaneSurvey(const For& loop, const Ptr<Buffer>& buffer) : buffer_(buffer) {
    differing_.insert(loop.loop_var.get());
    pre_order_visit(loop.body, [&](const Ref& ref) {
      if (const auto* store = ref.as<BufferStore>()) written_.insert(store->buffer->data.get());
      return true;
    });
  }

  bool is_alike(const Stmt& stmt) {
    return deep_call([&] {
      if (const auto* loop = stmt.as<For>()) {
        const bool is_same = is_same_in_all(loop->min) && is_same_in_all(loop->extent);
        if (!is_same) return !stores(loop->body);
        return is_alike(loop->body);
      }
      if (const auto* sequence = stmt.as<SeqStmt>()) {
        for (const Stmt& part : sequence->seq) {
          if (!is_alike(part)) return false;
        }
        return true;
      }
      if (const auto* let = stmt.as<LetStmt>()) {
        if (!is_same_in_all(let->value)) differing_.insert(let->var.get());
        return is_alike(let->body);
      }
      if (const auto* store = stmt.as<BufferStore>(); store && store->buffer.same_as(buffer_)) {
        bool is_same = !store->predicate.defined() && is_same_in_all(store->value);
        for (const Expr& index : store->indices) is_same = is_same && is_same_in_all(index);
        return is_same;
      }
      if (const auto* allocate = stmt.as<Allocate>()) return is_alike(allocate->body);
      if (const auto* declare = stmt.as<DeclBuffer>()) return is_alike(declare->body);
      // Under a condition, lanes may part.
      return !stores(stmt);
    });
  }

 private:
  bool stores(const Stmt& stmt) const {
    bool found = false;
    pre_order_visit(stmt, [&](const Ref& ref) {
      const auto* store = ref.as<BufferStore>();
      found = found || (store && store->buffer.same_as(buffer_));
      return !found;
    });
    return found;
  }

  bool is_same_in_all(const Expr& expr) const {
    bool is_same = is_pure(expr);
    pre_order_visit(expr, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      is_same = is_same && !differing_.contains(ref.get()) &&
                !(load && written_.contains(load->buffer->data.get()));
      return is_same;
    });
    return is_same;
  }

  const Ptr<Buffer>& buffer_;
  std::unordered_set<const Object*> differing_;  ///< Variables.
  std::unordered_set<const Object*> written_;    ///< Memory that the loop changes.
};

}  // namespace

bool is_of_one_thread(const For& loop, std::string_view scope) {
  const std::string& tag = loop.thread_binding->thread_tag;
  if (tag.starts_with("threadIdx.")) return scope == "local";
  return !tag.starts_with("blockIdx.") || scope == "local" || is_shared_by_threads(scope);
}

bool stores_alike(const For& loop, const Ptr<Buffer>& buffer) {
  return LaneSurvey(loop, buffer).is_alike(loop.body);
}

}  // namespace loopsmith
