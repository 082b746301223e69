// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_reductions.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/get_block.h"
#include "loopsmith/schedule/primitives/get_loops.h"
#include "loopsmith/schedule/primitives/reorder.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

using Values = std::vector<Expr>;

/// What a reduction combines, in terms of the loops around its block.
struct Combination {
  std::vector<Ptr<Buffer>> results;
  Values place;   ///< The element of each result.
  Values start;   ///< What each thread begins with.
  Values init;    ///< What the results begin with besides; none: that is in `start`.
  Values source;  ///< What each step brings.
  std::function<Values(const Values&, const Values&)> combine;
};

std::optional<Combination> combination_of(const BlockRealize& realize) {
  const Block& block = *realize.block;
  if (!block.alloc_buffers.empty() || !block.match_buffers.empty()) return {};
  Substitution axes;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    axes[block.iter_vars[i]->var] = realize.iter_values[i];
  }
  const auto bound = [&](const Values& values) {
    Values result;
    for (const Expr& value : values) result.push_back(substitute(value, axes));
    return result;
  };
  Combination made;
  if (const auto known = reduction_of(block)) {
    std::vector<DataType> types;
    for (const auto& buffer : known->buffers) types.push_back(buffer->dtype);
    made.results = known->buffers;
    made.place = bound(known->indices);
    made.source = bound(known->sources);
    made.combine = known->reducer->combine;
    made.init = bound(known->init);
    made.start = made.init;
    if (known->reducer->identity) made.start = known->reducer->identity(types);
    const auto is_equal = [](const Expr& a, const Expr& b) { return structural_equal(a, b); };
    if (std::ranges::equal(made.start, made.init, is_equal)) made.init.clear();
  } else {
    const auto* store = block.body.as<BufferStore>();
    const auto accumulation = store && !block.init ? accumulation_of(*store) : std::nullopt;
    if (!accumulation) return {};
    const Combiner combiner = accumulation->combiner;
    made.results = {store->buffer};
    made.place = bound(store->indices);
    made.source = bound({accumulation->operand});
    made.start = {neutral_element(combiner, store->buffer->dtype)};
    made.init = {load(store->buffer, made.place)};
    made.combine = [combiner](const Values& a, const Values& b) {
      return Values{combined(combiner, a[0], b[0])};
    };
  }
  // What it reads of its own results are other elements, which may not be there yet.
  for (const Expr& source : made.source) {
    for (const Ptr<Buffer>& buffer : free_buffers(source)) {
      const auto is_result = [&](const Ptr<Buffer>& result) {
        return result->data.same_as(buffer->data);
      };
      if (std::ranges::any_of(made.results, is_result)) return {};
    }
  }
  return made;
}

bool is_plain(const For& loop) {
  return is_const_int(loop.min, 0) && is_const_int(loop.step, 1);
}

bool uses_any(const Ref& expr, const std::vector<Ptr<Var>>& variables) {
  return std::ranges::any_of(variables,
                             [&](const auto& each) { return uses_variable(expr, each); });
}

/// A block that reduces over loops which are bound to threads, and the loops around it.
struct ThreadReduction {
  Ptr<BlockRealize> realize;
  std::vector<Ptr<For>> outer;    ///< Around all that follow, bound to other axes of threads.
  std::vector<Ptr<For>> threads;  ///< The loops over the threads that are reduced over.
  bool is_in_launch = false;      ///< Loops over threads or blocks are around them.
};

/// Finds the first reduction over threads by a block of a wanted name.
class ReductionFinder {
 public:
  using IsWanted = std::function<bool(const std::string&)>;

  ReductionFinder(const Stmt& body, IsWanted is_wanted) : is_wanted_(std::move(is_wanted)) {
    visit(body);
  }
  std::optional<ThreadReduction> found;

 private:
  void visit(const Ref& ref) {
    if (found || is_expr(*ref.get())) return;
    const auto* loop = ref.as<For>();
    if (loop) loops_.emplace_back(loop);
    if (const auto* realize = ref.as<BlockRealize>()) look_at(*realize);
    deep_call([&] {
      for_each_child(*ref.get(), [&](const Ref& child, Role role) {
        if (role != Role::thread && !child.is<Buffer>()) visit(child);
      });
    });
    if (loop) loops_.pop_back();
  }

  void look_at(const BlockRealize& realize) {
    if (!is_wanted_(realize.block->name_hint)) return;
    ThreadReduction made{.realize = Ptr<BlockRealize>(&realize)};
    for (const Ptr<For>& loop : loops_) {
      const std::string_view axis = launch_axis_of(loop);
      made.is_in_launch |= made.threads.empty() && is_block_axis(axis);
      if (!is_thread_axis(axis)) continue;
      const bool reduces = arith::is_reduction_loop(realize, loop->loop_var);
      (reduces ? made.threads : made.outer).push_back(loop);
    }
    made.is_in_launch |= !made.outer.empty();
    if (!made.threads.empty()) found = std::move(made);
  }

  IsWanted is_wanted_;
  std::vector<Ptr<For>> loops_;
};

/// The function with the loops of a block in the order spatial, threads, reduction, if that may be.
Ptr<PrimFunc> with_threads_outside(const Ptr<PrimFunc>& func, const std::string& block_name) {
  Schedule schedule(func, /*seed=*/1);
  try {
    const BlockRV block = get_block(schedule, block_name);
    const BlockRealize& realize = schedule.realize(block);
    std::vector<LoopRV> spatial, threads, serial;
    bool is_inside = false;
    for (const LoopRV handle : get_loops(schedule, block)) {
      const For& loop = schedule.get(handle);
      const bool reduces = arith::is_reduction_loop(realize, loop.loop_var);
      is_inside = is_inside || reduces;
      if (!is_inside) continue;
      const bool is_thread = is_thread_axis(launch_axis_of(Stmt(&loop)));
      (!reduces ? spatial : is_thread ? threads : serial).push_back(handle);
    }
    std::vector<LoopRV> order = spatial;
    order.insert(order.end(), threads.begin(), threads.end());
    order.insert(order.end(), serial.begin(), serial.end());
    if (order.size() > 1) reorder(schedule, order);
  } catch (const UserError&) {
    return func;  // They stay as they are.
  }
  return schedule.func();
}

/// Writes the reduction.
class ReductionWriter {
 public:
  ReductionWriter(ThreadReduction reduction, Combination combination)
      : reduction_(std::move(reduction)), combination_(std::move(combination)) {
    for (const Ptr<For>& loop : reduction_.outer) add_dimension(*loop);
    for (const Ptr<For>& loop : reduction_.threads) add_dimension(*loop);
    for (const Ptr<Buffer>& result : combination_.results) {
      own_.push_back(decl_buffer({1}, result->dtype, result->name + "_own", "local"));
      all_.push_back(decl_buffer(shape_, result->dtype, result->name + "_all", "shared"));
    }
  }

  /// What takes the place of the outermost loop over threads; null where its form is another.
  Stmt write() {
    for (const Ptr<For>& loop : reduction_.threads) variables_.push_back(loop->loop_var);
    const Stmt parts = partial_results(reduction_.threads[0]);
    if (!parts || !is_apart()) return nullptr;
    std::vector<Stmt> statements{parts};
    for (std::size_t i = reduction_.threads.size(); i-- > 0;) combine_axis(i, statements);
    statements.push_back(guarded(conjunction(spatial_), results()));
    Stmt result = seq(std::move(statements));
    for (std::size_t i = 0; i < all_.size(); ++i) {
      result = allocated(own_[i], allocated(all_[i], std::move(result)));
    }
    return reduction_.is_in_launch ? result : in_one_block(std::move(result));
  }

 private:
  /// What is one launch has to be in one loop.
  Stmt in_one_block(Stmt body) const {
    const For& threads = *reduction_.threads[0];
    const DataType type = threads.loop_var->dtype;
    IterVar block = *threads.thread_binding;
    block.var = var("block", type);
    block.thread_tag = "blockIdx.x";
    block.dom = nullptr;
    return make(For{.loop_var = var("block", type),
                    .min = int_imm(type, 0),
                    .extent = int_imm(type, 1),
                    .step = int_imm(type, 1),
                    .kind = ForKind::thread_binding,
                    .thread_binding = make(std::move(block)),
                    .body = std::move(body)});
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
    if (is_thread_axis(launch_axis_of(loop->body))) {
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
      statements.push_back(store(own_[i], combination_.start[i], {0}));
    }
    statements.push_back(steps);
    for (std::size_t i = 0; i < own_.size(); ++i) {
      statements.push_back(store(all_[i], load(own_[i], {0}), index_));
    }
    return with_body(stmt, seq(std::move(statements)));
  }

  /// The loops inside of those over threads, around the block.
  Stmt own_steps(const Stmt& stmt) {
    if (stmt.same_as(reduction_.realize)) {
      const Stmt step = update(own_, {0}, own_, {0}, combination_.source);
      return guarded(reduction_.realize->predicate, step);
    }
    const auto* loop = stmt.as<For>();
    const bool reduces = loop && loop->kind != ForKind::thread_binding &&
                         arith::is_reduction_loop(*reduction_.realize, loop->loop_var);
    if (!reduces) return nullptr;
    variables_.push_back(loop->loop_var);
    Stmt body = own_steps(loop->body);
    return body ? with_body(stmt, std::move(body)) : nullptr;
  }

  /// into[at] = combine(from[place], more), for all of the tuple at once.
  Stmt update(const std::vector<Ptr<Buffer>>& into, const Values& at,
              const std::vector<Ptr<Buffer>>& from, const Values& place, const Values& more) const {
    Values old;
    for (const Ptr<Buffer>& buffer : from) old.push_back(load(buffer, place));
    return store_tuple(into, at, combination_.combine(old, more));
  }

  static Stmt store_tuple(const std::vector<Ptr<Buffer>>& into, const Values& at, Values values) {
    std::vector<Ptr<Var>> names;
    std::vector<Stmt> stores;
    for (std::size_t i = 0; i < into.size(); ++i) {
      names.push_back(var("combined", into[i]->dtype));
      const Expr value = into.size() == 1 ? values[i] : Expr(names[i]);
      stores.push_back(store(into[i], value, at));
    }
    Stmt result = seq(std::move(stores));
    for (std::size_t i = into.size(); into.size() > 1 && i-- > 0;) {
      result = make(LetStmt{.value = values[i], .var = names[i], .body = std::move(result)});
    }
    return result;
  }

  /// Whether the results, and each part of the predicate, are either of the reduction or not.
  bool is_apart() {
    for (const Expr& index : combination_.place) {
      if (uses_any(index, variables_)) return false;
    }
    std::vector<Ptr<Var>> others;
    for (const Expr& value : reduction_.realize->iter_values) {
      for (const Ptr<Var>& variable : free_variables(value)) {
        if (!uses_any(variable, variables_)) others.push_back(variable);
      }
    }
    for (const Expr& condition : arith::conjuncts(reduction_.realize->predicate)) {
      const bool is_of_reduction = uses_any(condition, variables_);
      if (is_of_reduction && uses_any(condition, others)) return false;
      if (!is_of_reduction) spatial_.push_back(condition);
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
      For loop = *reduction_.threads[i];
      loop.loop_var = var(loop.loop_var->name, loop.loop_var->dtype);
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

  Stmt results() const {
    Values at = index_;
    for (std::size_t i = reduction_.outer.size(); i < at.size(); ++i) at[i] = 0;
    Values totals;
    for (const Ptr<Buffer>& buffer : all_) totals.push_back(load(buffer, at));
    if (!combination_.init.empty()) totals = combination_.combine(combination_.init, totals);
    return store_tuple(combination_.results, combination_.place, std::move(totals));
  }

  ThreadReduction reduction_;
  Combination combination_;
  std::vector<Ptr<Buffer>> own_, all_;
  Values shape_, index_;             ///< Of the memory that threads share: an element for each.
  std::vector<Ptr<Var>> variables_;  ///< Of the loops that are reduced over.
  Values spatial_;                   ///< What the predicate says of the results alone.
};

/// The function with that reduction written out; null where it has another form.
Ptr<PrimFunc> written_out(const Ptr<PrimFunc>& func, const std::string& block_name) {
  const Ptr<PrimFunc> ordered = with_threads_outside(func, block_name);
  auto reduction = ReductionFinder(ordered->body, [&](const std::string& name) {
                     return name == block_name;
                   }).found;
  if (!reduction) return nullptr;
  const auto has_size = [](const Ptr<For>& loop) {
    return is_plain(*loop) && as_int(loop->extent) != nullptr;
  };
  if (!std::ranges::all_of(reduction->outer, has_size) ||
      !std::ranges::all_of(reduction->threads, has_size)) {
    return nullptr;
  }
  auto combination = combination_of(*reduction->realize);
  if (!combination) return nullptr;
  const Ptr<For> outermost = reduction->threads[0];
  const Stmt written = ReductionWriter(*std::move(reduction), *std::move(combination)).write();
  if (!written) return nullptr;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    return &loop == outermost.get() ? written : Stmt(rewrite.children(loop));
  });
  return rewrite.body_of(ordered);
}

}  // namespace

Ptr<PrimFunc> thread_reductions(const Ptr<PrimFunc>& func) {
  if (!has_launch(func->body)) return func;
  Ptr<PrimFunc> current = func;
  std::unordered_set<std::string> left;
  for (;;) {
    const auto reduction = ReductionFinder(current->body, [&](const std::string& name) {
                             return !left.contains(name);
                           }).found;
    if (!reduction) return current;
    const std::string name = reduction->realize->block->name_hint;
    Ptr<PrimFunc> written = written_out(current, name);
    if (written) {
      current = std::move(written);
    } else {
      left.insert(name);
    }
  }
}

}  // namespace loopsmith
