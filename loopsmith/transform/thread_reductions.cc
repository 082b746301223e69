// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_reductions.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <unordered_set>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/empty_reductions.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"
#include "loopsmith/transform/thread_reduction_form.h"
#include "loopsmith/transform/thread_reduction_start.h"

namespace loopsmith {
namespace {

using Values = std::vector<Expr>;

bool is_plain(const For& loop) {
  return is_const_int(loop.min, 0) && is_const_int(loop.step, 1);
}

/// The loops of a block, perfectly nested from the outermost that it reduces over, in the order
/// spatial, threads, reduction, where their bounds let them. Updates that are made apart and
/// combined have no order to keep.
Ptr<PrimFunc> with_threads_outside(const Ptr<PrimFunc>& func, const ThreadReduction& reduction) {
  const BlockRealize& realize = *reduction.realize;
  std::vector<const For*> nest;  // The loops with nothing but each other around the block.
  const auto find = [&](const auto& self, const Stmt& stmt) -> bool {
    if (stmt.same_as(reduction.realize)) return true;
    const auto* loop = stmt.as<For>();
    if (!loop) return false;
    nest.push_back(loop);
    return self(self, loop->body);
  };
  const auto reduces = [&](const For* loop) {
    return arith::is_reduction_loop(realize, loop->loop_var);
  };
  std::vector<const For*> outermost;
  pre_order_visit(func->body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    nest.clear();
    const bool is_it = loop && outermost.empty() && reduces(loop) && find(find, Stmt(loop));
    if (is_it) outermost = nest;
    return outermost.empty() && !is_expr(*ref.get());
  });
  nest = std::move(outermost);
  const auto rank = [&](const For* loop) {
    return !reduces(loop) ? 0 : is_thread_axis(thread_axis_of(*loop)) ? 1 : 2;
  };
  std::vector<const For*> order = nest;
  std::ranges::stable_sort(order, {}, rank);
  if (order == nest) return func;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = i; j < order.size(); ++j) {
      for (const Expr& bound : {order[i]->min, order[i]->extent, order[i]->step}) {
        if (uses_variable(bound, order[j]->loop_var)) return func;
      }
    }
  }
  Stmt made = reduction.realize;
  for (std::size_t i = order.size(); i-- > 0;) {
    For loop = *order[i];
    loop.body = std::move(made);
    if (rank(order[i]) == 0 && loop.kind == ForKind::vectorized) loop.kind = ForKind::serial;
    made = make(std::move(loop));
  }
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    return &loop == nest[0] ? made : Stmt(rewrite.children(loop));
  });
  return rewrite.body_of(func);
}

/// Writes the reduction.
class ReductionWriter {
 public:
  ReductionWriter(ThreadReduction reduction, ReducedTuple tuple, int warp_size)
      : reduction_(std::move(reduction)),
        tuple_(std::move(tuple)),
        warps_(warps_of(reduction_, warp_size)) {
    for (const Ptr<For>& loop : reduced_loops(reduction_)) variables_.push_back(loop->loop_var);
    for (const Ptr<For>& loop : reduction_.outer) add_dimension(*loop);
    if (warps_) {
      shape_.push_back(int_imm(i32, warps_->groups));
      index_.push_back(floordiv(thread_number(), int_imm(i32, warps_->lanes)));
    } else {
      for (const Ptr<For>& loop : reduction_.threads) add_dimension(*loop);
    }
    for (const Ptr<Buffer>& result : tuple_.results) {
      own_.push_back(decl_buffer({1}, result->dtype, result->name + "_own", "local"));
      if (warps_ && warps_->groups == 1) continue;
      all_.push_back(decl_buffer(shape_, result->dtype, result->name + "_all", "shared"));
    }
    is_of_each_ = is_of_each_thread(memory_scope(*tuple_.results[0]));
  }

  /// What takes the place of the outermost loop over threads; null where its form is another.
  Stmt write() {
    if (!is_apart() || !find_start()) return nullptr;
    if (has_earlier_results() && tuple_.is_idempotent) start_from_results();
    guard_start();
    const Stmt parts = partial_results(reduction_.threads[0]);
    if (!parts) return nullptr;
    std::vector<Stmt> statements{parts};
    if (warps_) {
      if (warps_->groups > 1) statements.push_back(combine_warps());
    } else {
      for (std::size_t i = reduction_.threads.size(); i-- > 0;) combine_axis(i, statements);
      statements.push_back(is_of_each_ ? in_each_thread(results_in_memory()) : results_in_memory());
    }
    Stmt result = seq(std::move(statements));
    for (const auto* buffers : {&all_, &own_}) {
      for (const Ptr<Buffer>& buffer : *buffers) result = allocated(buffer, std::move(result));
    }
    return reduction_.is_in_launch ? result
                                   : in_one_block(*reduction_.threads[0], std::move(result));
  }

 private:
  /// Finds whether the init is among the iterations written here; false where that is not told.
  bool find_start() {
    if (!reduction_.realize->block->init) return true;
    const std::optional<Expr> starts = start_condition(reduction_);
    if (starts) starts_here_ = *starts;
    return starts.has_value();
  }

  /// Whether results may have begun, or got terms, before the iterations written here.
  bool has_earlier_results() const {
    return reduction_.realize->block->init.defined() && !is_const_int(starts_here_, 1);
  }

  /// Lets each thread begin with what the results had before, unless their init is here.
  void start_from_results() {
    for (std::size_t i = 0; i < tuple_.results.size(); ++i) {
      const Expr old = load(tuple_.results[i], tuple_.place);
      tuple_.start[i] = if_then_else(starts_here_, tuple_.start[i], old);
    }
  }

  /// Threads without a result begin, too: not with what is in memory that may not be there.
  void guard_start() {
    const Expr has_result = conjunction(spatial_);
    for (Expr& start : tuple_.start) {
      if (is_const_int(has_result, 1) || !reads_memory(start)) continue;
      start = if_then_else(has_result, start, zero_of(start.dtype()));
    }
  }

  void add_dimension(const For& loop) {
    shape_.push_back(cast(i32, loop.extent));
    index_.push_back(cast(i32, loop.loop_var));
  }

  static Stmt allocated(const Ptr<Buffer>& buffer, Stmt body) {
    return make(Allocate{.dtype = buffer->dtype,
                         .extents = buffer->shape,
                         .condition = true,
                         .buffer_var = buffer->data,
                         .body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)})});
  }

  /// The loops over threads, with what each of them adds up; null where something else is inside.
  Stmt partial_results(const Stmt& stmt) {
    const auto* loop = stmt.as<For>();
    const bool is_reduced = std::ranges::any_of(
        reduction_.threads, [&](const Ptr<For>& each) { return each.same_as(stmt); });
    if (!is_reduced) return nullptr;
    if (is_thread_axis(thread_axis_of(loop->body))) {
      Stmt body = partial_results(loop->body);
      return body ? with_body(stmt, std::move(body)) : nullptr;
    }
    std::vector<Stmt> statements;
    Stmt nest = loop->body;
    if (const auto* seq = nest.as<SeqStmt>()) {
      statements.assign(seq->seq.begin(), seq->seq.end() - 1);
      nest = seq->seq.back();
    }
    const Stmt steps = own_steps(nest);
    if (!steps) return nullptr;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      statements.push_back(store(own_[i], tuple_.start[i], {0}));
    }
    statements.push_back(steps);
    if (warps_) {
      combine_lanes_of(thread_number(), warps_->lanes, statements);
      statements.push_back(warps_->groups == 1 ? results_of(thread_number())
                                               : guarded(is_first_lane(), share_own()));
    } else {
      statements.push_back(share_own());
    }
    return with_body(stmt, seq(std::move(statements)));
  }

  /// Of those that are reduced over.
  template <class Loops>
  static Expr number_in(const Loops& threads) {
    Expr number;
    for (const Ptr<For>& loop : threads) {
      const Expr index = cast(i32, loop->loop_var);
      number = number.defined() ? number * cast(i32, loop->extent) + index : index;
    }
    return number;
  }
  Expr thread_number() const { return number_in(reduction_.threads); }

  Expr is_first_lane() const {
    return floormod(thread_number(), int_imm(i32, warps_->lanes)) == int_imm(i32, 0);
  }

  /// What a thread has, for the others.
  Stmt share_own() const {
    std::vector<Stmt> stores;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      stores.push_back(store(all_[i], load(own_[i], {0}), index_));
    }
    return seq(std::move(stores));
  }

  void combine_lanes_of(const Expr& thread, int lanes, std::vector<Stmt>& into) const {
    std::vector<Stmt> steps = combine_lanes(own_, thread, lanes, warps_->warp_size, tuple_.combine);
    into.insert(into.end(), steps.begin(), steps.end());
  }

  /// A loop over the threads like the one that is reduced over.
  For more_threads(std::size_t number) const {
    For loop = *reduction_.threads[number];
    loop.loop_var = var(loop.loop_var->name, loop.loop_var->dtype);
    return loop;
  }

  /// What the warps have, combined by each of them, so that no further barrier is needed.
  Stmt combine_warps() const {
    std::vector<Ptr<For>> loops;
    for (std::size_t i = 0; i < reduction_.threads.size(); ++i) {
      loops.push_back(make(more_threads(i)));
    }
    const Expr thread = number_in(loops);
    const int lanes = static_cast<int>(std::bit_ceil(static_cast<unsigned>(warps_->groups)));
    const Expr lane = floormod(thread, int_imm(i32, lanes));
    Values at = index_;
    at.back() = lane;
    std::vector<Stmt> statements;
    for (std::size_t i = 0; i < own_.size(); ++i) {
      Expr value = load(all_[i], at);
      if (lanes != warps_->groups) {
        value = if_then_else(lane < int_imm(i32, warps_->groups), value, tuple_.start[i]);
      }
      statements.push_back(store(own_[i], value, {0}));
    }
    combine_lanes_of(thread, lanes, statements);
    statements.push_back(results_of(thread));
    Stmt body = seq(std::move(statements));
    for (std::size_t i = loops.size(); i-- > 0;) body = with_body(Stmt(loops[i]), std::move(body));
    return body;
  }

  /// The results, where each thread has them in memory of its own: stored by each, or by one.
  Stmt results_of(const Expr& thread) const {
    Values totals;
    for (const Ptr<Buffer>& buffer : own_) totals.push_back(load(buffer, {0}));
    Values conditions = spatial_;
    if (!is_of_each_) conditions.push_back(thread == int_imm(thread.dtype(), 0));
    return guarded(conjunction(conditions), results(std::move(totals)));
  }

  Stmt in_each_thread(Stmt body) const {
    for (std::size_t i = reduction_.threads.size(); i-- > 0;) {
      For loop = more_threads(i);
      loop.body = std::move(body);
      body = make(std::move(loop));
    }
    return body;
  }

  /// The loops inside of those over threads, around the block.
  Stmt own_steps(const Stmt& stmt) {
    if (stmt.same_as(reduction_.realize)) {
      const Stmt step = update(own_, {0}, own_, {0}, tuple_.source);
      return guarded(reduction_.realize->predicate, step);
    }
    const auto* loop = stmt.as<For>();
    const bool reduces = loop && loop->kind != ForKind::thread_binding &&
                         arith::is_reduction_loop(*reduction_.realize, loop->loop_var);
    if (!reduces) return nullptr;
    Stmt body = own_steps(loop->body);
    return body ? with_body(stmt, std::move(body)) : nullptr;
  }

  /// into[at] = combine(from[place], more), for all of the tuple at once.
  Stmt update(const std::vector<Ptr<Buffer>>& into, const Values& at,
              const std::vector<Ptr<Buffer>>& from, const Values& place, const Values& more) const {
    Values old;
    for (const Ptr<Buffer>& buffer : from) old.push_back(load(buffer, place));
    return store_tuple(into, at, tuple_.combine(old, more));
  }

  /// Whether the results are none of the reduction; finds the parts of the predicate that are about
  /// them alone.
  bool is_apart() {
    for (const Expr& index : tuple_.place) {
      if (uses_any_of(index, variables_)) return false;
    }
    for (const Expr& condition : arith::conjuncts(reduction_.realize->predicate)) {
      if (!uses_any_of(condition, variables_)) spatial_.push_back(condition);
    }
    return true;
  }

  /// Combines all results along one axis; those along later axes are combined already.
  void combine_axis(std::size_t number, std::vector<Stmt>& statements) const {
    std::int64_t count = *as_int(reduction_.threads[number]->extent);
    while (count > 1) {
      const std::int64_t half = (count + 1) / 2;
      statements.push_back(combine_halves(number, count - half, half));
      count = half;
    }
  }

  Stmt combine_halves(std::size_t number, std::int64_t count, std::int64_t half) const {
    Values into = index_, from = index_;
    const std::size_t first = reduction_.outer.size();
    std::vector<For> loops;
    for (std::size_t i = 0; i < reduction_.threads.size(); ++i) {
      if (i > number) {
        into[first + i] = from[first + i] = 0;
        continue;
      }
      For loop = more_threads(i);
      if (i == number) loop.extent = int_imm(loop.loop_var->dtype, count);
      into[first + i] = from[first + i] = cast(i32, loop.loop_var);
      loops.push_back(std::move(loop));
    }
    from[first + number] = from[first + number] + int_imm(i32, half);
    Values more;
    for (const Ptr<Buffer>& buffer : all_) more.push_back(load(buffer, from));
    Stmt stmt = update(all_, into, all_, into, more);
    for (std::size_t i = loops.size(); i-- > 0;) {
      loops[i].body = std::move(stmt);
      stmt = make(std::move(loops[i]));
    }
    return stmt;
  }

  Stmt results_in_memory() const {
    Values at = index_;
    for (std::size_t i = reduction_.outer.size(); i < at.size(); ++i) at[i] = 0;
    Values totals;
    for (const Ptr<Buffer>& buffer : all_) totals.push_back(load(buffer, at));
    return guarded(conjunction(spatial_), results(std::move(totals)));
  }

  /// The results, with what they begin with, or had before.
  Stmt results(const Values& totals) const {
    const auto stored = [&](Values values) {
      return store_tuple(tuple_.results, tuple_.place, std::move(values));
    };
    const Stmt first = stored(tuple_.init.empty() ? totals : tuple_.combine(tuple_.init, totals));
    if (!has_earlier_results() || tuple_.is_idempotent) return first;
    Values old;
    for (const Ptr<Buffer>& result : tuple_.results) old.push_back(load(result, tuple_.place));
    const Stmt more = stored(tuple_.combine(old, totals));
    if (is_const_int(starts_here_, 0)) return more;
    return make(IfThenElse{.condition = starts_here_, .then_case = first, .else_case = more});
  }

  ThreadReduction reduction_;
  ReducedTuple tuple_;
  std::optional<WarpGroup> warps_;  ///< None: all goes through memory.
  bool is_of_each_ = false;         ///< Each thread has results of its own.
  std::vector<Ptr<Buffer>> own_, all_;
  Values shape_, index_;             ///< Of the memory that threads share: an element for each.
  std::vector<Ptr<Var>> variables_;  ///< Of the loops that are reduced over.
  Expr starts_here_ = true;          ///< One of the iterations written here has the init.
  Values spatial_;                   ///< What the predicate says of the results alone.
};

/// The loops inside without a record that they accumulate into the buffers together.
Stmt without_records(const Stmt& stmt, const std::vector<Ptr<Buffer>>& buffers) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& node) -> Stmt {
    const Ptr<For> loop = rewrite.children(node);
    auto names = regrouped_names(*loop);
    if (!names) return loop;
    std::erase_if(*names, [&](const std::string& name) {
      return std::ranges::any_of(buffers, [&](const auto& each) { return each->name == name; });
    });
    return make(with_regrouped(*loop, *names));
  });
  return rewrite(stmt);
}

/// The init that runs before a loop around the threads of a reduction if there is nothing to
/// reduce, and that loop; none where the threads give it.
std::optional<std::pair<const For*, Stmt>> init_around(const PrimFunc& func,
                                                       const ThreadReduction& reduction) {
  arith::EmptyReductions empty;
  pre_order_visit(func.body, [&](const Ref& ref) {
    if (const auto* loop = ref.as<For>()) empty.before(*loop);
    return !is_expr(*ref.get());
  });
  const auto found = empty.init_of(*reduction.realize->block);
  const bool is_around = found && std::ranges::any_of(reduction.around, [&](const Ref& ref) {
                           return ref.get() == found->first;
                         });
  return is_around ? found : std::nullopt;
}

/// The function with that reduction written out; null where it has another form.
Ptr<PrimFunc> written_out(const Ptr<PrimFunc>& func, const std::string& block_name, int warp_size) {
  const auto is_it = [&](const std::string& name) { return name == block_name; };
  auto reduction = find_thread_reduction(func->body, is_it);
  if (!reduction) return nullptr;
  const Ptr<PrimFunc> ordered = with_threads_outside(func, *reduction);
  reduction = find_thread_reduction(ordered->body, is_it);
  const auto has_size = [](const Ptr<For>& loop) {
    return is_plain(*loop) && as_int(loop->extent) != nullptr;
  };
  if (!std::ranges::all_of(reduction->outer, has_size) ||
      !std::ranges::all_of(reduction->threads, has_size)) {
    return nullptr;
  }
  auto tuple = reduced_tuple_of(*reduction->realize);
  if (!tuple) return nullptr;
  const Ptr<For> outermost = reduction->threads[0];
  const auto if_empty = init_around(*ordered, *reduction);
  const std::vector<Ptr<Buffer>> results = tuple->results;
  Stmt written = ReductionWriter(*std::move(reduction), *std::move(tuple), warp_size).write();
  if (!written) return nullptr;
  written = without_records(written, results);
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    if (&loop == outermost.get()) return written;
    const Stmt inside = rewrite.children(loop);
    return if_empty && &loop == if_empty->first ? seq({if_empty->second, inside}) : inside;
  });
  return rewrite.body_of(ordered);
}

/// The function with loops over threads that have one iteration reducing nothing: what is inside
/// says the first value for their variables.
Ptr<PrimFunc> without_unit_threads(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const std::int64_t* extent = as_int(loop.extent);
    if (loop.kind != ForKind::thread_binding || !extent || *extent != 1)
      return rewrite.children(loop);
    For copy = loop;
    copy.body = rewrite(substitute(loop.body, {{loop.loop_var, loop.min}}));
    return make(std::move(copy));
  });
  return rewrite.body_of(func);
}

}  // namespace

Ptr<PrimFunc> thread_reductions(const Ptr<PrimFunc>& func, int warp_size) {
  if (!has_launch(func->body)) return func;
  Ptr<PrimFunc> current = without_unit_threads(func);
  std::unordered_set<std::string> left;
  for (;;) {
    const auto reduction = find_thread_reduction(
        current->body, [&](const std::string& name) { return !left.contains(name); });
    if (!reduction) return current;
    const std::string name = reduction->realize->block->name_hint;
    Ptr<PrimFunc> written = written_out(current, name, warp_size);
    if (written) {
      current = std::move(written);
    } else {
      left.insert(name);
    }
  }
}

}  // namespace loopsmith
