// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/changed_accesses.h"

#include <algorithm>
#include <span>
#include <vector>

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

using Statements = std::vector<const Stmt*>;

/// The statements that run one after another, sequences inside each other taken apart.
void flatten(const Stmt& stmt, Statements& parts) {
  const auto* sequence = stmt.as<SeqStmt>();
  if (!sequence) return parts.push_back(&stmt);
  for (const Stmt& part : sequence->seq) flatten(part, parts);
}

template <class T>
bool are_same_nodes(const std::vector<T>& a, const std::vector<T>& b) {
  return std::ranges::equal(a, b, [](const T& one, const T& other) { return one.same_as(other); });
}

/// A load or a store: with the same buffer and the same indices, it is the same access.
struct LoadOrStore {
  const Buffer* buffer;
  bool is_write;
  const std::vector<Expr>* indices;

  bool operator==(const LoadOrStore& other) const {
    return buffer == other.buffer && is_write == other.is_write &&
           are_same_nodes(*indices, *other.indices);
  }
};

bool is_plain_store(const Stmt* stmt) {
  return stmt->is<BufferStore>();
}

/// The accesses of stores, in their order.
std::vector<LoadOrStore> accesses_of_stores(std::span<const Stmt* const> stores) {
  std::vector<LoadOrStore> found;
  for (const Stmt* stmt : stores) {
    pre_order_visit(*stmt, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) {
        found.push_back({load->buffer.get(), false, &load->indices});
      }
      return true;
    });
    const auto& store = *stmt->as<BufferStore>();
    found.push_back({store.buffer.get(), true, &store.indices});
  }
  return found;
}

std::vector<LoadOrStore> of_memory(const std::vector<LoadOrStore>& accesses,
                                   const Object* pointer) {
  std::vector<LoadOrStore> found;
  for (const LoadOrStore& access : accesses) {
    if (access.buffer->data.get() == pointer) found.push_back(access);
  }
  return found;
}

/// True for statements that may be aligned: the same, or with headers and bodies to compare.
bool may_align(const Stmt& a, const Stmt& b) {
  if (a.same_as(b)) return true;
  if (a.get()->kind != b.get()->kind) return false;
  if (const auto* loop = a.as<For>()) return loop->loop_var.same_as(b.as<For>()->loop_var);
  if (const auto* branch = a.as<IfThenElse>()) {
    return branch->condition.same_as(b.as<IfThenElse>()->condition);
  }
  if (const auto* loop = a.as<While>()) return loop->condition.same_as(b.as<While>()->condition);
  if (const auto* let = a.as<LetStmt>()) return let->var.same_as(b.as<LetStmt>()->var);
  const auto* realize = a.as<BlockRealize>();
  if (!realize) return false;
  const Block& block = *realize->block;
  const Block& other = *b.as<BlockRealize>()->block;
  if (block.iter_vars.empty() && block.name_hint != other.name_hint) return false;
  return are_same_nodes(block.iter_vars, other.iter_vars);
}

/// True for calls with effects, jumps, and views.
bool may_access_anything(const Ref& ref) {
  const auto* call = ref.as<Call>();
  return (call && !call->op.is_pure()) || ref.is<Break>() || ref.is<Continue>() ||
         ref.is<Return>() || ref.is<MatchBufferRegion>();
}

}  // namespace

/// Compares statements of two states.
class AccessComparison {
 public:
  explicit AccessComparison(ChangedAccesses& changed) : changed_(changed) {}

  void compare(const Stmt& a, const Stmt& b) {
    if (changed_.is_all_ || a.same_as(b)) return;
    Statements before, after;
    if (a.defined()) flatten(a, before);
    if (b.defined()) flatten(b, after);
    compare(before, after);
  }

  void add_memory(const Ptr<Buffer>& buffer) {
    if (buffer.defined()) changed_.memory_.insert(buffer->data.get());
  }

 private:
  void compare(std::span<const Stmt* const> before, std::span<const Stmt* const> after) {
    const auto is_same = [](const Stmt* a, const Stmt* b) { return a->same_as(*b); };
    while (!before.empty() && !after.empty() && is_same(before.front(), after.front())) {
      before = before.subspan(1);
      after = after.subspan(1);
    }
    while (!before.empty() && !after.empty() && is_same(before.back(), after.back())) {
      before = before.first(before.size() - 1);
      after = after.first(after.size() - 1);
    }
    // What each statement of `after` is aligned with stands in the order of `before`, or nothing is
    // known of them all.
    std::size_t next_before = 0, next_after = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      const auto partner = std::ranges::find_if(
          before, [&](const Stmt* stmt) { return may_align(*stmt, *after[i]); });
      if (partner == before.end()) continue;
      const auto place = static_cast<std::size_t>(partner - before.begin());
      if (place < next_before) {
        add(before);
        add(after);
        return;
      }
      compare_unaligned(before.subspan(next_before, place - next_before),
                        after.subspan(next_after, i - next_after));
      compare_aligned(*before[place], *after[i]);
      next_before = place + 1;
      next_after = i + 1;
    }
    compare_unaligned(before.subspan(next_before), after.subspan(next_after));
  }

  /// Stores in place of other stores may have accesses in common.
  void compare_unaligned(std::span<const Stmt* const> before, std::span<const Stmt* const> after) {
    if (before.empty() || after.empty() || !std::ranges::all_of(before, is_plain_store) ||
        !std::ranges::all_of(after, is_plain_store)) {
      add(before);
      add(after);
      return;
    }
    const std::vector<LoadOrStore> old_ones = accesses_of_stores(before),
                                   new_ones = accesses_of_stores(after);
    for (const auto* accesses : {&old_ones, &new_ones}) {
      for (const LoadOrStore& access : *accesses) {
        const Object* pointer = access.buffer->data.get();
        if (of_memory(old_ones, pointer) != of_memory(new_ones, pointer)) {
          changed_.memory_.insert(pointer);
        }
      }
    }
    for (const auto part : {before, after}) add_calls(part);
  }

  void compare_aligned(const Stmt& a, const Stmt& b) {
    if (a.same_as(b)) return;
    if (has_same_header(a, b)) {
      deep_call([&] { compare_inside(a, b); });
    } else {
      add(a);
      add(b);
    }
  }

  static bool has_same_header(const Stmt& a, const Stmt& b) {
    if (const auto* loop = a.as<For>()) {
      const auto& other = *b.as<For>();
      return loop->min.same_as(other.min) && loop->extent.same_as(other.extent) &&
             loop->step.same_as(other.step) && loop->kind == other.kind &&
             loop->thread_binding.same_as(other.thread_binding);
    }
    if (const auto* let = a.as<LetStmt>()) return let->value.same_as(b.as<LetStmt>()->value);
    if (const auto* realize = a.as<BlockRealize>()) {
      const auto& other = *b.as<BlockRealize>();
      return are_same_nodes(realize->iter_values, other.iter_values) &&
             realize->predicate.same_as(other.predicate);
    }
    return true;  // Their headers are conditions, which are the same.
  }

  void compare_inside(const Stmt& a, const Stmt& b) {
    if (const auto* loop = a.as<For>()) {
      compare(loop->body, b.as<For>()->body);
    } else if (const auto* let = a.as<LetStmt>()) {
      compare(let->body, b.as<LetStmt>()->body);
    } else if (const auto* condition = a.as<While>()) {
      compare(condition->body, b.as<While>()->body);
    } else if (const auto* branch = a.as<IfThenElse>()) {
      compare(branch->then_case, b.as<IfThenElse>()->then_case);
      compare(branch->else_case, b.as<IfThenElse>()->else_case);
    } else {
      compare_blocks(*a.as<BlockRealize>()->block, *b.as<BlockRealize>()->block);
    }
  }

  void compare_blocks(const Block& a, const Block& b) {
    // Views are other names of memory.
    if (!a.match_buffers.empty() || !b.match_buffers.empty()) changed_.is_all_ = true;
    add_difference(a.alloc_buffers, b.alloc_buffers);
    add_difference(a.reads, b.reads);
    add_difference(a.writes, b.writes);
    if (!a.init.same_as(b.init)) {
      if (a.init) add(a.init);
      if (b.init) add(b.init);
    }
    compare(a.body, b.body);
  }

  void add_memory(const Ptr<BufferRegion>& region) { add_memory(region->buffer); }

  /// Adds the memory of what is in one of two lists alone.
  template <class T>
  void add_difference(const std::vector<T>& a, const std::vector<T>& b) {
    const auto add_missing = [&](const std::vector<T>& from, const std::vector<T>& in) {
      for (const T& each : from) {
        const auto is_it = [&](const T& other) { return other.same_as(each); };
        if (std::ranges::none_of(in, is_it)) add_memory(each);
      }
    };
    if (are_same_nodes(a, b)) return;
    add_missing(a, b);
    add_missing(b, a);
  }

  void add(std::span<const Stmt* const> statements) {
    for (const Stmt* stmt : statements) add(*stmt);
  }

  /// Adds all memory that a statement may access.
  void add(const Stmt& stmt) {
    pre_order_visit(stmt, [&](const Ref& ref) {
      if (const auto* buffer = ref.as<Buffer>()) changed_.memory_.insert(buffer->data.get());
      const auto* variable = ref.as<Var>();
      if (variable && variable->dtype.is_handle()) changed_.memory_.insert(variable);
      if (const auto* realize = ref.as<BlockRealize>()) {
        for (const auto& buffer : realize->block->alloc_buffers) add_memory(buffer);
      }
      if (may_access_anything(ref)) changed_.is_all_ = true;
      return !changed_.is_all_;
    });
  }

  void add_calls(std::span<const Stmt* const> statements) {
    for (const Stmt* stmt : statements) {
      pre_order_visit(*stmt, [&](const Ref& ref) {
        if (may_access_anything(ref)) changed_.is_all_ = true;
        return !changed_.is_all_;
      });
    }
  }

  ChangedAccesses& changed_;
};

bool ChangedAccesses::are_in(const Ref& node) const {
  if (is_all_) return true;
  if (node.is<IntImm>() || node.is<Var>()) return false;
  const auto [known, is_new] = asked_.try_emplace(node.get(), false);
  if (!is_new) return known->second;
  bool found = false;
  pre_order_visit(node, [&](const Ref& ref) {
    if (const auto* buffer = ref.as<Buffer>()) found = found || has(*buffer);
    const auto* variable = ref.as<Var>();
    found = found || may_access_anything(ref) || (variable && variable->dtype.is_handle());
    return !found;
  });
  return known->second = found;
}

ChangedAccesses::ChangedAccesses(const Schedule& before, const Schedule& after) {
  AccessComparison comparison(*this);
  const std::size_t count = after.original()->functions.size();
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto& old = *before.as<PrimFunc>(before.root(i));
    const auto& now = *after.as<PrimFunc>(after.root(i));
    if (!are_same_nodes(old.buffer_map, now.buffer_map)) {
      for (const auto* buffers : {&old.buffer_map, &now.buffer_map}) {
        for (const Ptr<Buffer>& buffer : *buffers) comparison.add_memory(buffer);
      }
    }
    comparison.compare(old.body, now.body);
  }
}

}  // namespace loopsmith
