// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/regrouping.h"

#include <algorithm>
#include <optional>

#include "loopsmith/arith/accumulators.h"
#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/own_elements.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

using Buffers = std::vector<Ptr<Buffer>>;

bool is_among(std::span<const Ptr<Buffer>> buffers, const Ptr<Buffer>& buffer) {
  return std::ranges::any_of(buffers, [&](const auto& each) { return each.same_as(buffer); });
}

/// A buffer into which a loop may accumulate across iterations.
struct Candidate {
  Ptr<Buffer> buffer;
  Buffers tuple;                    ///< All that its block combines with it.
  bool is_of_reduction = false;     ///< A block that reduces over the loop stores to it.
  bool has_common_element = false;  ///< By an index that neither moves nor is read from memory.
  bool has_other_name = false;      ///< Another buffer in the loop has its name.
};

/// Finds the candidates in a loop.
class CandidateSearch {
 public:
  explicit CandidateSearch(const For& loop) : loop_(loop) { visit(loop.body); }

  std::vector<Candidate> run() && {
    std::erase_if(found_, [&](const Candidate& each) {
      const auto is_own = [&](const auto& data) { return data.same_as(each.buffer->data); };
      return std::ranges::any_of(own_, is_own) || has_for_itself(*each.buffer);
    });
    for (Candidate& each : found_) {
      each.has_other_name = std::ranges::any_of(stored_, [&](const Ptr<Buffer>& other) {
        return !other.same_as(each.buffer) && other->name == each.buffer->name;
      });
    }
    return std::move(found_);
  }

 private:
  /// True for memory that each of the threads has for itself, by its scope.
  bool has_for_itself(const Buffer& buffer) const {
    const MemoryScope scope = memory_scope(buffer);
    const ThreadAxis axis = thread_axis_of(loop_);
    if (is_block_axis(axis)) return !is_global(scope);
    return is_thread_axis(axis) && !is_global(scope) && !is_shared_by_threads(scope);
  }

  void visit(const Stmt& stmt) {
    deep_call([&] { enter(stmt); });
  }

  void enter(const Stmt& stmt) {
    if (const auto* realize = stmt.as<BlockRealize>()) return enter_block(*realize);
    if (const auto* store = stmt.as<BufferStore>()) return enter_store(*store);
    if (const auto* let = stmt.as<LetStmt>()) values_[let->var] = substitute(let->value, values_);
    if (const auto* allocate = stmt.as<Allocate>()) own_.push_back(allocate->buffer_var);
    for_each_child(*stmt.get(), [&](const Ref& child, Role) {
      if (const Stmt part = Stmt::from(child)) visit(part);
    });
  }

  void enter_block(const BlockRealize& realize) {
    const Block& block = *realize.block;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      values_[block.iter_vars[i]->var] = substitute(realize.iter_values[i], values_);
    }
    for (const Ptr<Buffer>& buffer : block.alloc_buffers) own_.push_back(buffer->data);
    Buffers tuple;
    tuple.swap(tuple_);
    const bool was_reducing =
        std::exchange(reduces_, reduces_ || arith::is_reduction_loop(realize, loop_.loop_var));
    pre_order_visit(block.body, [&](const Ref& ref) {
      const auto* store = ref.as<BufferStore>();
      if (store && !is_among(tuple_, store->buffer)) tuple_.push_back(store->buffer);
      return !is_expr(*ref.get());
    });
    visit(block.body);
    reduces_ = was_reducing;
    tuple_.swap(tuple);
  }

  void enter_store(const BufferStore& store) {
    if (!is_among(stored_, store.buffer)) stored_.push_back(store.buffer);
    const bool accumulates = accumulation_of(store).has_value();
    if (!accumulates && !reduces_) return;
    bool moves = false, is_own = false, is_common = true;
    for (const Expr& each : store.indices) {
      const Expr index = substitute(each, values_);
      const bool uses_loop = uses_variable(index, loop_.loop_var), reads = reads_memory(index);
      moves = moves || (uses_loop && !reads);
      is_own = is_own || index.same_as(loop_.loop_var);
      is_common = is_common && !uses_loop && !reads;
    }
    // What moves may yet reach one element again: atomic updates are for that.
    if (is_own || (moves && !reduces_ && !atomic_update_in(loop_, store))) return;
    const auto known = std::ranges::find_if(
        found_, [&](const Candidate& each) { return each.buffer.same_as(store.buffer); });
    Candidate& candidate =
        known == found_.end() ? found_.emplace_back(Candidate{store.buffer, tuple_}) : *known;
    candidate.is_of_reduction = candidate.is_of_reduction || reduces_;
    candidate.has_common_element = candidate.has_common_element || is_common;
  }

  const For& loop_;
  std::vector<Candidate> found_;
  std::vector<Ptr<Var>> own_;  ///< Memory that is declared in the loop.
  Buffers stored_;
  Buffers tuple_;         ///< What the innermost block around stores to.
  Substitution values_;   ///< Of axes and names, in terms of loops.
  bool reduces_ = false;  ///< A block around reduces over the loop.
};

/// True when each update of the buffer in the loop is by an index that moves with a loop whose
/// bounds are read from memory.
bool moves_by_memory(const For& loop, const Ptr<Buffer>& buffer) {
  std::vector<Ptr<Var>> moving;
  bool all = true;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* inner = ref.as<For>();
    if (inner && (reads_memory(inner->min) || reads_memory(inner->extent))) {
      moving.push_back(inner->loop_var);
    }
    const auto* store = ref.as<BufferStore>();
    if (store && store->buffer.same_as(buffer)) {
      all = all && std::ranges::any_of(moving, [&](const Ptr<Var>& variable) {
              const auto uses = [&](const Expr& index) { return uses_variable(index, variable); };
              return std::ranges::any_of(store->indices, uses);
            });
    }
    return all && !is_expr(*ref.get());
  });
  return all;
}

/// Whether the inits of what a loop accumulates into may run before it.
///
/// Lemma. Let an element be accessed in the loop by nothing but updates and the init of one block,
/// which starts it once, before the first of them, with what nothing in the loop stores; and let no
/// statement leave an iteration. Then the init may as well run before the loop.
class InitsFirst {
 public:
  InitsFirst(const For& loop, const Ptr<Buffer>& buffer, Dependences& dependences)
      : loop_(loop), buffer_(buffer), dependences_(dependences) {}

  bool hold(const Stmt& nest) && {
    visit(nest);
    return are_first_ && (starting_ == nullptr || updates_ == own_updates_);
  }

 private:
  void visit(const Stmt& stmt) {
    deep_call([&] { enter(stmt); });
  }

  void inside(arith::PathStep step, const Stmt& stmt) {
    path_.push_back(std::move(step));
    visit(stmt);
    path_.pop_back();
  }

  void enter(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      const bool is_it = loop->loop_var.same_as(loop_.loop_var);
      const auto place = static_cast<std::ptrdiff_t>(path_.size());
      const std::ptrdiff_t outside = std::exchange(place_, is_it ? place : place_);
      const bool was_inside = std::exchange(is_inside_, is_inside_ || is_it);
      inside({.loop = loop}, loop->body);
      is_inside_ = was_inside;
      place_ = outside;
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      inside({.condition = branch->condition}, branch->then_case);
      if (branch->else_case) inside({.condition = !branch->condition}, branch->else_case);
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      if (is_inside_ && realize->block->init) look_at(*realize);
      apart(realize->block->body);
    } else if (stmt.is<LetStmt>() || stmt.is<While>()) {
      for_each_child(*stmt.get(), [&](const Ref& child, Role) {
        if (const Stmt part = Stmt::from(child)) apart(part);
      });
    } else if (const auto* store = stmt.as<BufferStore>()) {
      updates_ += is_inside_ && store->buffer.same_as(buffer_);
    } else {
      path_.emplace_back();
      for_each_child(*stmt.get(), [&](const Ref& child, Role) {
        if (const Stmt part = Stmt::from(child)) visit(part);
      });
      path_.pop_back();
    }
  }

  void apart(const Stmt& stmt) {
    std::vector<arith::PathStep> outside;
    outside.swap(path_);
    const std::ptrdiff_t place = std::exchange(place_, -1);
    visit(stmt);
    place_ = place;
    outside.swap(path_);
  }

  void look_at(const BlockRealize& realize) {
    if (stores_in(realize.block->init) == 0) return;
    are_first_ = are_first_ && !starting_ && place_ >= 0 && !is_left_early() &&
                 !reads_what_changes(realize.block->init) && may_go_first(realize);
    starting_ = &realize;
    own_updates_ = stores_in(realize.block->body);
  }

  bool is_left_early() const {
    bool found = false;
    pre_order_visit(loop_.body, [&](const Ref& ref) {
      found = found || ref.is<Break>() || ref.is<Continue>() || ref.is<Return>();
      return !found && !is_expr(*ref.get());
    });
    return found;
  }

  bool reads_what_changes(const Stmt& init) const {
    bool found = false;
    pre_order_visit(init, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) found = found || is_stored(*load->buffer->data);
      return !found;
    });
    return found;
  }

  bool is_stored(const Var& memory) const {
    bool found = false;
    pre_order_visit(loop_.body, [&](const Ref& ref) {
      const auto* store = ref.as<BufferStore>();
      found = found || (store && store->buffer->data.get() == &memory);
      return !found && !is_expr(*ref.get());
    });
    return found;
  }

  int stores_in(const Stmt& stmt) const {
    int stores = 0;
    pre_order_visit(stmt, [&](const Ref& ref) {
      const auto* store = ref.as<BufferStore>();
      stores += store && store->buffer.same_as(buffer_);
      return !is_expr(*ref.get());
    });
    return stores;
  }

  bool may_go_first(const BlockRealize& realize) {
    const std::size_t place = arith::init_place(realize, path_, static_cast<std::size_t>(place_));
    const auto way = std::span(path_).subspan(place);
    if (!arith::init_before(realize, way)) return false;
    if (arith::have_own_elements(realize, way)) return true;
    return std::ranges::all_of(way, [&](const arith::PathStep& step) {
      if (!step.loop || arith::is_reduction_loop(realize, step.loop->loop_var)) return true;
      const auto carried = dependences_.carried(step.loop->loop_var);
      return std::ranges::none_of(carried, [&](const CarriedDependence& each) {
        return !each.buffer || each.buffer.same_as(buffer_);
      });
    });
  }

  const For& loop_;
  const Ptr<Buffer>& buffer_;
  Dependences& dependences_;
  std::vector<arith::PathStep> path_;
  std::ptrdiff_t place_ = -1;  ///< Of the loop on the path; -1: it is not on it.
  bool is_inside_ = false;
  const BlockRealize* starting_ = nullptr;  ///< The block with the init.
  int updates_ = 0, own_updates_ = 0;  ///< Stores to the buffer: in the loop, and by that block.
  bool are_first_ = true;
};

/// True when the loop records that its iterations accumulate into the buffer together.
bool records(const For& loop, const Buffer& buffer) {
  const auto names = regrouped_names(loop);
  return names && std::ranges::find(*names, buffer.name) != names->end();
}

/// True when lowering can make the updates of each part, or thread, apart.
bool has_parts(const For& loop, const Stmt& nest, const Candidate& candidate) {
  if (is_block_axis(thread_axis_of(loop))) return false;  // Blocks do not wait for each other.
  if (!candidate.buffer->dtype.is_scalar()) return false;
  auto found = accumulators_of(loop, {&candidate.buffer, 1}, nest);
  if (!found && candidate.tuple.size() > 1) found = accumulators_of(loop, candidate.tuple, nest);
  if (!found) return false;
  // Elements of its own for each iteration, which overlap: copies of all may cost more than they
  // gain. What a loop records, its iterations accumulate whatever form the indices get.
  const bool moves = std::ranges::any_of(*found, &Accumulator::moves);
  if (moves && !records(loop, *candidate.buffer) && !copies_pay(loop, *found)) return false;
  if (loop.kind == ForKind::thread_binding) return true;
  const MemoryScope scope = memory_scope(*candidate.buffer);
  const bool is_plain = scope == MemoryScope::global || scope == MemoryScope::local;
  return is_plain && partial_result_count(loop, *found) > 0;
}

bool starts_first(const For& loop, const Stmt& nest, const Candidate& candidate,
                  Dependences& dependences) {
  return !candidate.has_other_name && InitsFirst(loop, candidate.buffer, dependences).hold(nest);
}

void add(Regrouping& result, const Ptr<Buffer>& buffer, bool is_free) {
  if (is_free) {
    result.buffers.push_back(buffer);
  } else if (!result.ordered) {
    result.ordered = buffer;
  }
}

/// True when lowering updates the buffer atomically, or runs the loop in order: an iteration may
/// then read what it has updated.
bool stays_in_place(const For& loop, const Ptr<Buffer>& buffer) {
  if (!updates_are_atomic(loop, buffer)) return false;
  const auto found = accumulators_of(loop, {&buffer, 1});
  return prefers_atomic_updates(loop, found ? &*found : nullptr) ||
         partial_result_count(loop, *found) <= 1;
}

}  // namespace

bool may_regroup(const For& loop) {
  return !CandidateSearch(loop).run().empty();
}

bool has_fitting_record(const For& loop) {
  const auto names = regrouped_names(loop);
  if (!names) return false;
  if (names->empty()) return true;
  const std::vector<Candidate> candidates = CandidateSearch(loop).run();
  return std::ranges::all_of(*names, [&](const std::string& name) {
    return std::ranges::any_of(candidates, [&](const Candidate& each) {
      return each.buffer->name == name && !each.has_other_name;
    });
  });
}

Regrouping regrouping_of(const For& loop, const Stmt& nest, std::span<const Ptr<Buffer>> shared) {
  const std::vector<Candidate> candidates = CandidateSearch(loop).run();
  Dependences dependences(nest);
  Regrouping result;
  for (const Ptr<Buffer>& buffer : shared) {
    const auto candidate = std::ranges::find_if(
        candidates, [&](const Candidate& each) { return each.buffer.same_as(buffer); });
    const bool is_free = candidate != candidates.end() &&
                         (stays_in_place(loop, buffer) || has_parts(loop, nest, *candidate));
    add(result, buffer, is_free && starts_first(loop, nest, *candidate, dependences));
  }
  return result;
}

Regrouping regrouping_on_trust(const For& loop, const Stmt& nest,
                               std::span<const Ptr<Buffer>> local) {
  std::vector<Candidate> candidates = CandidateSearch(loop).run();
  if (candidates.empty()) return {};
  Dependences dependences(nest, {.local_buffers = Buffers(local.begin(), local.end())});
  const DependenceAnswer answer = dependences.parallelizable(loop.loop_var);
  if (answer && !answer.reductions) return {};
  const auto carried = dependences.carried(loop.loop_var);
  const bool has_own_elements = loop.annotations.contains(own_elements_key);
  // Where not all is known of the loop, what the function allocates may yet become its own.
  std::erase_if(candidates, [&](const Candidate& each) {
    const bool is_shared = !is_among(answer.private_buffers, each.buffer) &&
                           std::ranges::any_of(carried, [&](const CarriedDependence& dependence) {
                             return dependence.buffer.same_as(each.buffer) &&
                                    (dependence.is_reduction || each.is_of_reduction);
                           });
    return !is_shared || (has_own_elements && moves_by_memory(loop, each.buffer));
  });
  Regrouping result;
  for (const Candidate& each : candidates) {
    const bool is_atomic = updates_are_atomic(loop, each.buffer);
    // Where nothing is known, as of indices from memory, the loop's kind is believed; but
    // all iterations accumulate in an element whose index does not move.
    const bool is_certain =
        answer || each.has_common_element || (is_atomic && !is_among(local, each.buffer));
    if (!is_certain) continue;
    add(result, each.buffer,
        (stays_in_place(loop, each.buffer) || has_parts(loop, nest, each)) &&
            starts_first(loop, nest, each, dependences));
  }
  return result;
}

}  // namespace loopsmith
