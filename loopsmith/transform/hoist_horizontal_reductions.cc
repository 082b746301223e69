// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/hoist_horizontal_reductions.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loop_body.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/reduction_op.h"

namespace loopsmith {
namespace {

/// Loops around more loops than this are not surveyed, so that the cost stays linear.
constexpr int max_levels = 8;
/// More elements of a tile than this have no registers.
constexpr std::int64_t max_tile = 32;

/// A store that adds up the lanes of `vector` into one element.
struct LaneReduction {
  const BufferStore* store;
  Combiner combiner;
  Expr vector;
  Expr runs = true;  ///< Whether the loops around it, inside of the surveyed one, have iterations.
  std::vector<const For*> tile = {};  ///< The unrolled ones among these, outermost first.
};

/// How many times a loop runs that is unrolled; 0 for others.
std::int64_t unrolled_count(const For& loop) {
  const std::int64_t* extent = as_int(loop.extent);
  const bool is_known = extent && as_int(loop.min) && is_const_int(loop.step, 1);
  return loop.kind == ForKind::unrolled && is_known && *extent > 0 ? *extent : 0;
}

std::optional<LaneReduction> lane_reduction_of(const BufferStore& store) {
  const auto accumulation = accumulation_of_lanes(store);
  const auto* call = accumulation ? accumulation->operand.as<Call>() : nullptr;
  if (!call || !(call->op == *lane_reduction(accumulation->combiner))) return {};
  // A NaN among the lanes leaves out all of them.
  if (!is_without_nans(accumulation->combiner, call->args[0])) return {};
  return LaneReduction{&store, accumulation->combiner, call->args[0]};
}

using Counts = std::unordered_map<const Object*, int>;

/// The lane reductions right inside nested loops, not under a condition, in `stmt`; how often each
/// pointer is used and each store stands anywhere; and what variables are defined.
struct Survey {
  std::vector<LaneReduction> reductions;
  Counts uses;
  std::unordered_set<const Object*> defined;

  void visit(const Stmt& stmt) {
    count(stmt);
    find(stmt, true);
  }

  /// Leaves of the unrolled loops around a reduction those with which its element moves.
  static void narrow_tile(LaneReduction& reduction) {
    std::erase_if(reduction.tile, [&](const For* loop) {
      return std::ranges::none_of(reduction.store->indices, [&](const Expr& index) {
        return uses_variable(index, loop->loop_var);
      });
    });
  }

 private:
  void count(const Stmt& stmt) {
    deep_call([&] {
      if (const auto* store = stmt.as<BufferStore>()) {
        ++uses[store];
        ++uses[store->buffer->data.get()];
      }
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
        found->tile = tile_;
        narrow_tile(*found);
        reductions.push_back(*std::move(found));
      } else if (const auto* seq = stmt.as<SeqStmt>()) {
        for (const Stmt& child : seq->seq) find(child, runs);
      } else if (const auto* loop = stmt.as<For>()) {
        const bool is_tile = unrolled_count(*loop) > 0;
        if (is_tile) tile_.push_back(loop);
        if (loop->kind != ForKind::parallel) find(loop->body, runs && loop->extent > 0);
        if (is_tile) tile_.pop_back();
      } else if (const auto* let = stmt.as<LetStmt>()) {
        find(let->body, runs);
      }
    });
  }

  std::vector<const For*> tile_;  ///< Unrolled loops around what is looked at.
};

std::int64_t size_of_tile(const LaneReduction& reduction) {
  std::int64_t size = 1;
  for (const For* loop : reduction.tile) {
    size = std::min(size, max_tile) * std::min(unrolled_count(*loop), max_tile + 1);
  }
  return size;
}

/// The lanes of the element of the tile that the loops are at.
Expr lanes_in_tile(const LaneReduction& reduction) {
  const int lanes = reduction.vector.dtype().lanes;
  Expr place = 0;
  for (const For* loop : reduction.tile) {
    const DataType type = loop->loop_var->dtype;
    place = place * int_imm(type, unrolled_count(*loop)) + (loop->loop_var - loop->min);
  }
  return make(Ramp{.base = Analyzer().simplify(place * int_imm(place.dtype(), lanes)),
                   .stride = int_imm(place.dtype(), 1),
                   .lanes = lanes});
}

/// Does it for each element of the tile.
Stmt for_each_in_tile(const LaneReduction& reduction, Stmt stmt) {
  for (const For* each : reduction.tile | std::views::reverse) {
    For loop = *each;
    loop.body = std::move(stmt);
    stmt = make(std::move(loop));
  }
  return reduction.tile.empty() ? stmt : clone_with(stmt, {});
}

/// True when the element is the same, and accessed by nothing else, as long as the surveyed loop
/// runs. `around` are the loops around it, from the outside in.
bool can_lift(const LaneReduction& reduction, const Survey& survey, const For& loop,
              std::span<const For* const> around) {
  const BufferStore& store = *reduction.store;
  // Where it stands again, in a tail that shares the statement, other loops or conditions run.
  if (survey.uses.at(&store) > 1) return false;
  if (survey.defined.contains(store.buffer->data.get())) return false;
  const auto is_of_tile = [&](const Ptr<Var>& v) {
    return std::ranges::any_of(reduction.tile,
                               [&](const For* inner) { return inner->loop_var.same_as(v); });
  };
  const auto is_fixed = [&](const Expr& e) {
    return is_timeless(e) && std::ranges::none_of(free_variables(e), [&](const auto& v) {
             return survey.defined.contains(v.get()) && !is_of_tile(v);
           });
  };
  if (size_of_tile(reduction) > max_tile) return false;
  if (!std::ranges::all_of(store.indices, is_fixed) || !is_fixed(reduction.runs)) return false;
  if (survey.uses.at(store.buffer->data.get()) == 2) return true;
  // Other elements of the buffer may be used, as in a triangular solve.
  Dependences dependences(in_turn_inside(loop, around));
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
  struct Lanes {
    Ptr<Buffer> sum;
    Expr index;
  };
  std::unordered_map<const Object*, Lanes> sums;
  std::vector<Stmt> statements;
  std::vector<Stmt> after;
  for (const LaneReduction& each : reductions) {
    const DataType type = each.vector.dtype();
    const Expr lanes = lanes_in_tile(each);
    const Ptr<Buffer> sum =
        decl_buffer({int_imm(i32, size_of_tile(each) * type.lanes)}, type.element(),
                    each.store->buffer->name + "_lanes", "local");
    sums[each.store] = {sum, lanes};
    const Expr start = neutral_element(each.combiner, type.element());
    statements.push_back(for_each_in_tile(each, store(sum, broadcast(start, type.lanes), {lanes})));
    const Expr total = all_lanes_combined(each.combiner, load(sum, {lanes}));
    const Expr old = load(each.store->buffer, each.store->indices);
    const Stmt update =
        store(each.store->buffer, combined(each.combiner, old, total), each.store->indices);
    after.push_back(guarded((ran ? Expr(ran) : runs) && each.runs, for_each_in_tile(each, update)));
  }
  rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
    const auto found = sums.find(&node);
    if (found == sums.end()) return Stmt(&node);
    const LaneReduction each = *lane_reduction_of(node);
    const auto& [sum, lanes] = found->second;
    // The new one first: where an extreme looks for NaN, it does so beside the chain.
    const Expr value = combined(each.combiner, each.vector, load(sum, {lanes}));
    return store(sum, value, {lanes});
  });
  statements.push_back(rewrite(Stmt(&loop)));
  statements.insert(statements.end(), after.begin(), after.end());
  Stmt result = seq(std::move(statements));
  if (ran) result = make(LetStmt{.value = runs, .var = ran, .body = std::move(result)});
  for (const LaneReduction& each : reductions) {  // in their order, so that code repeats
    const Ptr<Buffer>& sum = sums.at(each.store).sum;
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
  std::vector<const For*> around;
  const auto children = [&](const For& loop) -> Stmt {
    around.push_back(&loop);
    const Stmt result = rewrite.children(loop);
    around.pop_back();
    return result;
  };
  // From the outside in: what cannot leave this loop may leave one inside it.
  rewrite.on<For>([&](const For& loop) -> Stmt {
    // Loops over a tile that were made here are in none of the counts, and have nothing to leave.
    const auto content = contents.find(loop.loop_var.get());
    const bool is_small = content != contents.end() && content->second.levels <= max_levels;
    if (!is_serial(loop) || !is_small) return children(loop);
    Survey survey;
    survey.defined.insert(loop.loop_var.get());
    survey.visit(loop.body);
    std::vector<LaneReduction> reductions;
    for (const LaneReduction& each : survey.reductions) {
      if (can_lift(each, survey, loop, around)) reductions.push_back(each);
    }
    return reductions.empty() ? children(loop) : rewrite(lift(loop, reductions));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
