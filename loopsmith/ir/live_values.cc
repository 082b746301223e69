// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/live_values.h"

#include <algorithm>
#include <ranges>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

/// Walks backwards. Each function says whether the memory is live before a statement, of whether
/// it is `after` it.
class Liveness {
 public:
  Liveness(const For* loop, const Ptr<Buffer>& buffer) : loop_(loop), buffer_(buffer) {}

  bool is_live_after_loop(const Stmt& root) {
    before(root, false);
    return is_live_ || !is_found_ || !is_plain_;
  }
  bool is_live_before(const Stmt& stmt) { return before(stmt, false) || !is_plain_; }

 private:
  bool before(const Stmt& stmt, bool after) {
    return stmt.defined() ? deep_call([&] { return before_here(stmt, after); }) : after;
  }

  bool before_here(const Stmt& stmt, bool after) {
    if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& part : std::views::reverse(sequence->seq)) after = before(part, after);
      return after;
    }
    if (const auto* store = stmt.as<BufferStore>()) {
      const bool is_it = store->buffer.same_as(buffer_);
      is_plain_ = is_plain_ && (is_it || !store->buffer->data.same_as(buffer_->data));
      const bool is_certain = is_it && !store->predicate.defined() && has_one_element(*buffer_);
      return reads(store->value) || reads(store->predicate) || reads_any(store->indices) ||
             (after && !is_certain);
    }
    if (const auto* loop = stmt.as<For>()) return before_loop(*loop, after);
    if (const auto* branch = stmt.as<IfThenElse>()) {
      const bool is_live = before(branch->then_case, after);
      return before(branch->else_case, after) || is_live || reads(branch->condition);
    }
    if (const auto* realize = stmt.as<BlockRealize>()) {
      const Block& block = *realize->block;
      for (const auto& match : block.match_buffers)
        is_plain_ = is_plain_ && !match->source->buffer.same_as(buffer_);
      bool is_live = before(block.body, after);
      if (block.init) {
        // Of nothing to reduce, it runs before the loops around it.
        is_plain_ = is_plain_ && !before(block.init, false);
        is_live = before(block.init, is_live) || is_live;
      }
      const bool is_certain = is_const_int(realize->predicate, 1);
      return is_live || (after && !is_certain) || reads(realize->predicate) ||
             reads_any(realize->iter_values);
    }
    const auto* let = stmt.as<LetStmt>();
    const bool is_name = let && let->var->dtype.is_handle() && reads(let->value);
    const bool is_jump = stmt.is<Break>() || stmt.is<Continue>() || stmt.is<Return>();
    is_plain_ = is_plain_ && !is_name && !is_jump;
    // What is inside of other statements runs once, or again while a condition holds.
    bool is_read = false, is_live = after;
    for_each_child(*stmt.get(), [&](const Ref& child, Role role) {
      const Expr part = role == Role::binds ? Expr() : Expr::from(child);
      if (part.defined()) is_read = reads(part) || is_read;
    });
    const bool runs_again = stmt.is<While>();
    for_each_child(*stmt.get(), [&](const Ref& child, Role) {
      const Stmt part = Stmt::from(child);
      if (!part.defined()) return;
      is_live = before(part, after || (runs_again && is_read));
      if (runs_again && is_live && !after) before(part, true);
    });
    return is_read || is_live || (runs_again && after);
  }

  bool before_loop(const For& loop, bool after) {
    if (&loop == loop_) {
      is_found_ = true;
      is_live_ = is_live_ || after;
    }
    bool is_live = before(loop.body, after);
    if (is_live && !after) before(loop.body, true);  // What the next iteration reads.
    const std::int64_t* extent = as_int(loop.extent);
    if (!extent || *extent < 1) is_live = is_live || after;
    return is_live || reads(loop.min) || reads(loop.extent) || reads(loop.step);
  }

  bool reads(const Expr& expr) {
    bool found = false;
    pre_order_visit(expr, [&](const Ref& ref) {
      const auto* used = ref.as<Buffer>();
      const bool is_it = used && used->data.same_as(buffer_->data);
      found = found || is_it;
      is_plain_ = is_plain_ && !(is_it && used != buffer_.get()) && !ref.same_as(buffer_->data);
      return !used;
    });
    return found;
  }

  bool reads_any(const std::vector<Expr>& values) {
    return std::ranges::any_of(values, [this](const Expr& expr) { return reads(expr); });
  }

  const For* loop_;  ///< May be null.
  const Ptr<Buffer>& buffer_;
  bool is_found_ = false;
  bool is_live_ = false;
  bool is_plain_ = true;  ///< No jumps, and no other names of the memory.
};

}  // namespace

bool has_one_element(const Buffer& buffer) {
  return buffer.dtype.is_scalar() && std::ranges::all_of(buffer.shape, [](const Expr& extent) {
           return is_const_int(extent, 1);
         });
}

bool is_live_after(const Stmt& root, const For& loop, const Ptr<Buffer>& buffer) {
  return Liveness(&loop, buffer).is_live_after_loop(root);
}

bool is_live_before(const Stmt& stmt, const Ptr<Buffer>& buffer) {
  return Liveness(nullptr, buffer).is_live_before(stmt);
}

}  // namespace loopsmith
