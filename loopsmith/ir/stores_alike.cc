// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/stores_alike.h"

#include <unordered_set>

#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Looks for what may differ between iterations of a loop.
class Survey {
 public:
  Survey(const For& loop, const Ptr<Buffer>& buffer, std::span<const Ptr<Buffer>> own)
      : buffer_(buffer), differing_{loop.loop_var.get()} {
    pre_order_visit(loop.body, [&](const Ref& ref) {
      if (const auto* store = ref.as<BufferStore>()) written_.insert(store->buffer->data.get());
      if (const auto* view = ref.as<MatchBufferRegion>()) {
        written_.insert(view->source->buffer->data.get());
      }
      if (const auto* call = ref.as<Evaluate>()) add_written_by(*call);
      return !is_expr(*ref.get());
    });
    for (const Ptr<Buffer>& each : own) {
      if (!is_shared_by_threads(memory_scope(*each))) {
        written_.erase(each->data.get());
      } else if (!each->data.same_as(buffer->data)) {
        written_together_.insert(each->data.get());
      }
    }
  }

  bool is_alike(const Stmt& stmt) {
    return deep_call([&] { return is_alike_inside(stmt); });
  }

 private:
  bool is_alike_inside(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      const bool is_same = is_same_in_all(loop->min) && is_same_in_all(loop->extent);
      return is_same ? is_alike(loop->body) : !stores(loop->body);
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
    if (const auto* realize = stmt.as<BlockRealize>()) return is_alike(*realize);
    if (const auto* store = stmt.as<BufferStore>(); store && store->buffer.same_as(buffer_)) {
      bool is_same = !store->predicate.defined() && is_same_when_stored(store->value);
      for (const Expr& index : store->indices) is_same = is_same && is_same_when_stored(index);
      return is_same;
    }
    if (const auto* allocate = stmt.as<Allocate>()) return is_alike(allocate->body);
    if (const auto* declare = stmt.as<DeclBuffer>()) return is_alike(declare->body);
    // Under a condition, iterations may part.
    return !stores(stmt);
  }

  bool is_alike(const BlockRealize& realize) {
    const Block& block = *realize.block;
    if (!is_same_in_all(realize.predicate) || !block.match_buffers.empty()) return !stores(block);
    bool starts_alike = true;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      if (is_same_in_all(realize.iter_values[i])) continue;
      const IterVar& axis = *block.iter_vars[i];
      differing_.insert(axis.var.get());
      starts_alike = starts_alike && axis.iter_type != IterType::comm_reduce;
    }
    if (block.init && !(starts_alike ? is_alike(block.init) : !stores(*block.init.get()))) {
      return false;
    }
    return is_alike(block.body);
  }

  bool stores(const Stmt& stmt) const { return stores(*stmt.get()); }
  bool stores(const Object& node) const {
    bool found = false;
    pre_order_visit(Ref(&node), [&](const Ref& ref) {
      const auto* store = ref.as<BufferStore>();
      const auto* view = ref.as<MatchBufferRegion>();
      found = found || (store && store->buffer->data.same_as(buffer_->data)) ||
              (view && view->source->buffer->data.same_as(buffer_->data));
      return !found && !is_expr(*ref.get());
    });
    return found;
  }

  bool is_same_in_all(const Expr& expr, bool is_stored = false) const {
    if (expr.is<IntImm>() || expr.is<Var>()) return !differing_.contains(expr.get());
    const auto differs = [&](const Object* memory) {
      return written_.contains(memory) && !(is_stored && written_together_.contains(memory));
    };
    bool is_same = is_pure(expr);
    pre_order_visit(expr, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      is_same = is_same && !differing_.contains(ref.get()) &&
                !(load && differs(load->buffer->data.get()));
      return is_same;
    });
    return is_same;
  }

  /// The same of what a store reads, before and after which threads wait.
  bool is_same_when_stored(const Expr& expr) const { return is_same_in_all(expr, true); }

  /// Adds memory that a call gets the address of.
  void add_written_by(const Evaluate& call) {
    if (is_pure(call.value)) return;
    pre_order_visit(call.value, [&](const Ref& ref) {
      const auto* variable = ref.as<Var>();
      if (variable && variable->dtype.is_handle()) written_.insert(variable);
      const auto* inner = ref.as<Call>();
      if (inner && inner->op == op("address_of")) {
        written_.insert(inner->args[0].as<BufferLoad>()->buffer->data.get());
      }
      return !ref.is<Buffer>();
    });
  }

  const Ptr<Buffer>& buffer_;
  std::unordered_set<const Object*> differing_;         ///< Variables.
  std::unordered_set<const Object*> written_;           ///< Memory that changes meanwhile.
  std::unordered_set<const Object*> written_together_;  ///< Of that, what threads fill alike.
};

}  // namespace

bool stores_alike(const For& loop, const Ptr<Buffer>& buffer, std::span<const Ptr<Buffer>> own) {
  return Survey(loop, buffer, own).is_alike(loop.body);
}

}  // namespace loopsmith
