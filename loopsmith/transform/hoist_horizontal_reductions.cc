// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/hoist_horizontal_reductions.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/reduction_op.h"

namespace loopsmith {
namespace {

/// Loops around more loops than this are not surveyed, so that the cost stays linear.
constexpr int max_levels = 8;

/// A store that adds up the lanes of `vector` into one element.
struct LaneReduction {
  const BufferStore* store;
  Combiner combiner;
  Expr vector;
  Expr runs = true;  ///< Whether the loops around it, inside of the surveyed one, have iterations.
};

std::optional<LaneReduction> lane_reduction_of(const BufferStore& store) {
  const auto accumulation = accumulation_of_lanes(store);
  const auto* call = accumulation ? accumulation->operand.as<Call>() : nullptr;
  if (!call || !(call->op == *lane_reduction(accumulation->combiner))) return {};
  return LaneReduction{&store, accumulation->combiner, call->args[0]};
}

using Counts = std::unordered_map<const Object*, int>;

/// The lane reductions right inside nested loops, not under a condition, in `stmt`; how often each
/// pointer is used anywhere; and what variables are defined.
struct Survey {
  std::vector<LaneReduction> reductions;
  Counts uses;
  std::unordered_set<const Object*> defined;

  void visit(const Stmt& stmt) {
    count(stmt);
    find(stmt, true);
  }

 private:
  void count(const Stmt& stmt) {
    deep_call([&] {
      if (const auto* store = stmt.as<BufferStore>()) ++uses[store->buffer->data.get()];
      if (const auto* loop = stmt.as<For>()) defined.insert(loop->loop_var.get());
      if (const auto* let = stmt.as<LetStmt>()) defined.insert(let->var.get());
      if (const auto* allocate = stmt.as<Allocate>()) defined.insert(allocate->buffer_var.get());
      // Each statement by itself: expressions may be shared between them.
      for_each_child(*stmt.get(), [&](const Ref& child, Role role) {
        if (role == Role::binds || child.is<Buffer>()) return;
        if (const Stmt inner = Stmt::from(child)) return count(inner);
        pre_order_visit(child, [&](const Ref& ref) {
          if (const auto* load = ref.as<BufferLoad>()) ++uses[load->buffer->data.get()];
          if (ref.is<Var>()) uses[ref.get()] += 2;  // By its pointer, anything may happen.
          return true;
        });
      });
    });
  }
  void find(const Stmt& stmt, const Expr& runs) {
    deep_call([&] {
      if (const auto* store = stmt.as<BufferStore>()) {
        auto found = lane_reduction_of(*store);
        if (!found) return;
        found->runs = runs;
        reductions.push_back(*std::move(found));
      } else if (const auto* seq = stmt.as<SeqStmt>()) {
        for (const Stmt& child : seq->seq) find(child, runs);
      } else if (const auto* loop = stmt.as<For>()) {
        if (loop->kind != ForKind::parallel) find(loop->body, runs && loop->extent > 0);
      } else if (const auto* let = stmt.as<LetStmt>()) {
        find(let->body, runs);
      }
    });
  }
};

/// True when the element is the same, and nobody else's, as long as the surveyed loop runs.
bool can_lift(const LaneReduction& reduction, const Survey& survey, const For& loop) {
  const BufferStore& store = *reduction.store;
  if (survey.defined.contains(store.buffer->data.get())) return false;
  const auto is_fixed = [&](const Expr& e) {
    return is_timeless(e) && std::ranges::none_of(free_variables(e), [&](const auto& v) {
             return survey.defined.contains(v.get());
           });
  };
  if (!std::ranges::all_of(store.indices, is_fixed) || !is_fixed(reduction.runs)) return false;
  if (survey.uses.at(store.buffer->data.get()) == 2) return true;
  // Other elements of the buffer may be used, as in a triangular solve.
  Dependences dependences{Stmt(Ptr<For>(&loop))};
  return dependences.accumulator_is_private(loop.loop_var, store.buffer).verdict == Verdict::proved;
}

bool is_serial(const For& loop) {
  return loop.kind == ForKind::serial || loop.kind == ForKind::unrolled;
}

/// A vector of its own for each of `reductions`, around `loop`. Where no loop runs, the element
/// stays untouched: it may be another's, or not be there.
Stmt lift(const For& loop, const std::vector<LaneReduction>& reductions) {
  // The loop may change the memory that its extent is read from.
  const Expr runs = loop.extent > 0;
  const Ptr<Var> ran = is_timeless(runs) ? Ptr<Var>() : var("ran", boolean);
  Rewriter rewrite;
  std::unordered_map<const Object*, Ptr<Buffer>> sums;
  std::vector<Stmt> statements;
  std::vector<Stmt> after;
  for (const LaneReduction& each : reductions) {
    const DataType type = each.vector.dtype();
    const Expr lanes = make(Ramp{.base = 0, .stride = 1, .lanes = type.lanes});
    const Ptr<Buffer> sum = decl_buffer({int{type.lanes}}, type.element(),
                                        each.store->buffer->name + "_lanes", "local");
    sums[each.store] = sum;
    const Expr start = neutral_element(each.combiner, type.element());
    statements.push_back(store(sum, broadcast(start, type.lanes), {lanes}));
    const Expr total = all_lanes_combined(each.combiner, load(sum, {lanes}));
    const Expr old = load(each.store->buffer, each.store->indices);
    after.push_back(guarded(
        (ran ? Expr(ran) : runs) && each.runs,
        store(each.store->buffer, combined(each.combiner, old, total), each.store->indices)));
  }
  rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
    const auto found = sums.find(&node);
    if (found == sums.end()) return Stmt(&node);
    const LaneReduction each = *lane_reduction_of(node);
    const Expr lanes = make(Ramp{.base = 0, .stride = 1, .lanes = each.vector.dtype().lanes});
    // The new one first: where an extreme looks for NaN, it does so beside the chain.
    const Expr value = combined(each.combiner, each.vector, load(found->second, {lanes}));
    return store(found->second, value, {lanes});
  });
  statements.push_back(rewrite(Stmt(&loop)));
  statements.insert(statements.end(), after.begin(), after.end());
  Stmt result = seq(std::move(statements));
  if (ran) result = make(LetStmt{.value = runs, .var = ran, .body = std::move(result)});
  for (const LaneReduction& each : reductions) {  // in their order, so that code repeats
    const Ptr<Buffer>& sum = sums.at(each.store);
    result = make(DeclBuffer{.buffer = sum, .body = std::move(result)});
    result = make(Allocate{.dtype = sum->dtype,
                           .extents = sum->shape,
                           .condition = true,
                           .buffer_var = sum->data,
                           .body = std::move(result)});
  }
  return result;
}

}  // namespace

Ptr<PrimFunc> hoist_horizontal_reductions(const Ptr<PrimFunc>& func) {
  // A quick look first: most functions have no lanes to add up.
  bool found = false;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    found = found || (store && lane_reduction_of(*store));
    return !found && !is_expr(*ref.get());
  });
  if (!found) return func;

  const LoopContents contents = measure_loops(func->body);
  Rewriter rewrite;
  // From the outside in: what cannot leave this loop may leave one inside it.
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const bool is_small = contents.at(loop.loop_var.get()).levels <= max_levels;
    if (!is_serial(loop) || !is_small) return rewrite.children(loop);
    Survey survey;
    survey.defined.insert(loop.loop_var.get());
    survey.visit(loop.body);
    std::vector<LaneReduction> reductions;
    for (const LaneReduction& each : survey.reductions) {
      if (can_lift(each, survey, loop)) reductions.push_back(each);
    }
    return reductions.empty() ? Stmt(rewrite.children(loop)) : rewrite(lift(loop, reductions));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
