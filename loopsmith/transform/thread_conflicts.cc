// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_conflicts.h"

#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/dependence/find_carried.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/conflict_witness.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_owners.h"

namespace loopsmith {
namespace {

/// The memory that a statement uses and threads share, by its pointer: whether it is written.
std::unordered_map<const Object*, bool> shared_uses(const Stmt& stmt) {
  std::unordered_map<const Object*, bool> uses;
  const auto add = [&](const Buffer& buffer, bool is_write) {
    if (!is_of_each_thread(memory_scope(buffer))) uses[buffer.data.get()] |= is_write;
  };
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) add(*store->buffer, true);
    if (const auto* load = ref.as<BufferLoad>()) add(*load->buffer, false);
    return true;
  });
  return uses;
}

bool share_memory(const Stmt& first, const Stmt& second) {
  const auto of_second = shared_uses(second);
  for (const auto& [pointer, is_write] : shared_uses(first)) {
    const auto found = of_second.find(pointer);
    if (found != of_second.end() && (is_write || found->second)) return true;
  }
  return false;
}

/// True when elements of memory that threads share have several indices: what indices say of
/// accesses is nothing then.
bool overlaps_itself(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const auto* load = ref.as<BufferLoad>();
    const Buffer* buffer = store ? store->buffer.get() : load ? load->buffer.get() : nullptr;
    found = found || (buffer && !is_of_each_thread(memory_scope(*buffer)) &&
                      !has_elements_apart(*buffer).value_or(true));
    return !found;
  });
  return found;
}

std::unordered_set<const Object*> statements_in(const Stmt& stmt) {
  std::unordered_set<const Object*> found;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (!is_expr(*ref.get())) found.insert(ref.get());
    return !is_expr(*ref.get());
  });
  return found;
}

/// That `value` is one of the values of the loop's variable; less where its step has a size.
Expr is_in_range(const For& loop, const Expr& value) {
  if (!is_const_int(loop.step, 1)) return true;
  return loop.min <= value && value < loop.min + loop.extent;
}

/// `body` where what is known in `around` holds; loops there are in one and the same iteration.
Stmt inside(const Stmt& around, Stmt body) {
  if (const auto* loop = around.as<For>()) {
    return guarded(is_in_range(*loop, loop->loop_var), std::move(body));
  }
  return with_body(around, std::move(body));
}

/// Without stores to fragments, which are of a warp each and are no index of anything:
/// `F[i] = S[i]` reads `S[i]`.
ThreadAccess without_fragments(const ThreadAccess& access) {
  Rewriter rewrite;
  rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
    if (!is_fragment(memory_scope(*node.buffer))) return Stmt(&node);
    return make(Evaluate{.value = node.value});
  });
  ThreadAccess copy = access;
  copy.nest = rewrite(access.nest);
  return copy;
}

struct IndexedAccess {
  const Buffer* buffer;
  const std::vector<Expr>* indices;
};

/// All accesses to memory that threads share, by its pointer.
std::unordered_map<const Object*, std::vector<IndexedAccess>> accesses_of(const Stmt& stmt) {
  std::unordered_map<const Object*, std::vector<IndexedAccess>> found;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      found[store->buffer->data.get()].push_back({store->buffer.get(), &store->indices});
    }
    if (const auto* load = ref.as<BufferLoad>()) {
      found[load->buffer->data.get()].push_back({load->buffer.get(), &load->indices});
    }
    return true;
  });
  return found;
}

/// True when two values, of the same variables, are never equal.
bool never_equal(Analyzer& analyzer, const Expr& a, const Expr& b) {
  const auto is_no_multiple_of = [&](const Expr& difference, std::int64_t divisor) {
    const Expr simple = analyzer.simplify(difference);
    const std::int64_t* constant = as_int(simple);
    return constant && (divisor == 0 ? *constant != 0 : *constant % divisor != 0);
  };
  const auto *mod_a = a.as<FloorMod>(), *mod_b = b.as<FloorMod>();
  if (mod_a && mod_b) {
    const std::int64_t *divisor = as_int(mod_a->b), *other = as_int(mod_b->b);
    if (divisor && other && *divisor == *other && *divisor > 0) {
      return is_no_multiple_of(mod_a->a - mod_b->a, *divisor);
    }
  }
  return a.dtype() == b.dtype() && is_no_multiple_of(a - b, 0);
}

/// True when all accesses to one memory are by one buffer, and differ in an index that all threads
/// have alike, as stages of a pipeline are. `around` are the statements around both: their loops
/// are in one iteration.
bool are_apart(const Stmt& first, const Stmt& second, const std::vector<Stmt>& around) {
  std::unordered_set<const Object*> alike;
  for (const Stmt& each : around) {
    if (const auto* loop = each.as<For>()) alike.insert(loop->loop_var.get());
  }
  const auto is_alike = [&](const Expr& index) {
    bool is = true;
    pre_order_visit(index, [&](const Ref& ref) {
      is = is && !ref.is<BufferLoad>() && !ref.is<Call>() &&
           (!ref.is<Var>() || alike.contains(ref.get()));
      return is;
    });
    return is;
  };
  Analyzer analyzer;
  const auto differ = [&](const IndexedAccess& first_one, const IndexedAccess& second_one) {
    if (first_one.buffer != second_one.buffer) return false;
    const std::vector<Expr>&a = *first_one.indices, &b = *second_one.indices;
    for (std::size_t d = 0; d < a.size(); ++d) {
      if (is_alike(a[d]) && is_alike(b[d]) && never_equal(analyzer, a[d], b[d])) return true;
    }
    return false;
  };
  const auto first_uses = shared_uses(first), second_uses = shared_uses(second);
  const auto of_second = accesses_of(second);
  for (const auto& [pointer, accesses] : accesses_of(first)) {
    const auto found = of_second.find(pointer);
    const bool is_of_both = first_uses.contains(pointer) && second_uses.contains(pointer);
    if (!is_of_both || !(first_uses.at(pointer) || second_uses.at(pointer))) continue;
    for (const IndexedAccess& a : accesses) {
      for (const IndexedAccess& b : found->second) {
        if (!differ(a, b)) return false;
      }
    }
  }
  return true;
}

/// Adds the variables that statements name: threads may give them values of their own.
void add_names(const Stmt& stmt, std::unordered_set<const Object*>& names) {
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* let = ref.as<LetStmt>()) names.insert(let->var.get());
    if (const auto* let = ref.as<Let>()) names.insert(let->var.get());
    return true;
  });
}

}  // namespace

/// What two statements of a block's threads access, and where they are.
class ThreadConflicts::Pair {
 public:
  Pair(std::span<const Ptr<For>> threads, const Stmt& first, const Stmt& second,
       const std::vector<Stmt>& around, const Ptr<For>& loop = nullptr, bool is_next = false)
      : threads_(threads), around_(around), loop_(loop), is_next_(is_next) {
    auto a = shared_accesses(first), b = shared_accesses(second);
    if (!a || !b) return;
    is_known_ = true;
    first_ = *std::move(a);
    second_ = *std::move(b);
    for (const Stmt& each : around) {
      if (const auto* let = each.as<LetStmt>()) own_.insert(let->var.get());
    }
    add_names(first, own_);
    add_names(second, own_);
  }

  bool is_of_one_thread() const {
    return is_known_ && are_of_one_thread({threads_, first_, second_, loop_, own_});
  }
  bool has_met() const {
    return is_known_ && has_conflict_witness({threads_, around_, loop_, is_next_}, first_, second_);
  }

 private:
  std::span<const Ptr<For>> threads_;
  const std::vector<Stmt>& around_;
  Ptr<For> loop_;
  bool is_next_;
  bool is_known_ = false;
  std::vector<SharedAccess> first_, second_;
  std::unordered_set<const Object*> own_;
};

bool ThreadConflicts::carries(const ThreadAccess& first, const ThreadAccess& second, Stmt both,
                              const std::vector<Stmt>& around, const Ptr<For>& outermost) const {
  for (std::size_t i = around.size(); i-- > 0;) both = inside(around[i], std::move(both));
  for (std::size_t i = threads_.size(); i-- > 0;) {
    For loop = *threads_[i];
    loop.kind = ForKind::serial;
    loop.thread_binding = nullptr;
    loop.body = std::move(both);
    both = make(std::move(loop));
  }
  if (outermost) both = with_body(Stmt(outermost), std::move(both));
  const auto of_first = statements_in(first.nest), of_second = statements_in(second.nest);
  const auto is_between = [&](const Stmt& a, const Stmt& b) {
    return of_first.contains(a.get()) && of_second.contains(b.get());
  };
  const auto is_shared = [&](const CarriedDependence& each) {
    const bool is_own = each.buffer && is_of_each_thread(memory_scope(*each.buffer));
    return !is_own && (is_between(each.source, each.sink) || is_between(each.sink, each.source));
  };
  std::vector<Ptr<Var>> threads;
  for (const Ptr<For>& loop : threads_) threads.push_back(loop->loop_var);
  return find_carried(both, threads, is_shared).has_value();
}

bool ThreadConflicts::may_conflict(const ThreadAccess& first, const ThreadAccess& second,
                                   const std::vector<Stmt>& around) const {
  if (first.is_atomic && second.is_atomic) return false;
  if (first.is_opaque || second.is_opaque) return true;
  if (!share_memory(first.nest, second.nest)) return false;
  if (overlaps_itself(first.nest) || overlaps_itself(second.nest)) return true;
  const ThreadAccess one = without_fragments(first);
  ThreadAccess other = without_fragments(second);
  const Pair pair(threads_, one.nest, other.nest, around);
  if (are_likely_ && pair.has_met()) return true;
  if (pair.is_of_one_thread()) return false;
  other.nest = clone_with(other.nest, {});
  if (are_apart(one.nest, other.nest, around)) return false;
  if (!are_likely_ && pair.has_met()) return true;
  return carries(one, other, seq({one.nest, other.nest}), around);
}

bool ThreadConflicts::may_conflict_later(const ThreadAccess& first, const ThreadAccess& second,
                                         const For& loop, bool is_next,
                                         const std::vector<Stmt>& around) const {
  if (first.is_atomic && second.is_atomic) return false;
  if (first.is_opaque || second.is_opaque) return true;
  if (!share_memory(first.nest, second.nest)) return false;
  if (overlaps_itself(first.nest) || overlaps_itself(second.nest)) return true;
  const Ptr<Var>& variable = loop.loop_var;
  // Of the later iteration from the next one.
  const Ptr<Var> further = var("further", variable->dtype);
  const Expr next = int_imm(variable->dtype, 1);
  const Expr later = variable + (is_next ? next : further + next) * loop.step;
  const ThreadAccess one = without_fragments(first);
  ThreadAccess other = without_fragments(second);
  const Pair pair(threads_, one.nest, other.nest, around, Ptr<For>(&loop), is_next);
  if (are_likely_ && pair.has_met()) return true;
  if (pair.is_of_one_thread()) return false;
  other.nest = clone_with(other.nest, {{variable, later}});
  std::vector<Stmt> in_loop = around;
  in_loop.emplace_back(&loop);
  if (is_next && are_apart(one.nest, other.nest, in_loop)) return false;
  if (!are_likely_ && pair.has_met()) return true;
  Stmt both = seq({one.nest, other.nest});
  both = guarded(is_in_range(loop, variable) && is_in_range(loop, later), std::move(both));
  if (is_next) return carries(one, other, std::move(both), around);
  const Ptr<For> distances = make(For{.loop_var = further,
                                      .min = int_imm(variable->dtype, 0),
                                      .extent = Analyzer().simplify(loop.extent - next),
                                      .body = no_op()});
  // As a loop around the threads the distance has bounds, which mostly suffice; as a number of
  // which a condition is known, it is less for an exact answer.
  if (as_int(distances->extent) && !carries(one, other, both, around, distances)) return false;
  both = guarded(further >= int_imm(variable->dtype, 0), std::move(both));
  return carries(one, other, std::move(both), around);
}

}  // namespace loopsmith
