// SPDX-License-Identifier: Apache-2.0
// Loops over threads, and what threads do together.
#include <algorithm>

#include "loopsmith/interp/access.h"
#include "loopsmith/interp/arith.h"
#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/control.h"
#include "loopsmith/interp/threads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::interp::detail {
namespace {

/// A loop over threads, in either form; `axis` is null for anything else.
ThreadLoop thread_loop_of(const Ref& ref) {
  if (const auto* loop = ref.as<For>(); loop && loop->kind == ForKind::thread_binding) {
    return {loop->thread_binding.get(), loop->loop_var, loop->min, loop->extent, loop->body};
  }
  const auto* attr = ref.as<AttrStmt>();
  const auto* axis = attr ? attr->node.as<IterVar>() : nullptr;
  if (!axis || (attr->attr_key != "thread_extent" && attr->attr_key != "virtual_thread")) return {};
  const Expr min = axis->dom ? axis->dom->min : int_imm(axis->var->dtype, 0);
  return {axis, axis->var, min, attr->value, attr->body};
}

ThreadAxis axis_of(const ThreadLoop& loop) {
  return loop.axis ? thread_axis_of(loop.axis->thread_tag) : ThreadAxis::none;
}

}  // namespace

bool has_threads(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const ThreadLoop loop = thread_loop_of(ref);
    found = found || is_thread_axis(axis_of(loop));
    return !found && !is_expr(*ref.get());
  });
  return found;
}

bool touches_shared_memory(const Stmt& stmt) {
  bool found = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* buffer = ref.as<Buffer>();
    const auto* store = ref.as<BufferStore>();
    found = found || (store && is_global(memory_scope(*store->buffer))) ||
            (buffer && (is_shared(memory_scope(*buffer)) || is_fragment(memory_scope(*buffer))));
    return !found;
  });
  return found;
}

namespace {

/// What a statement does that decides which threads run it.
struct ThreadWork {
  std::vector<ThreadAxis> axes;  ///< Of threads, over which it has loops.
  bool stores = false;           ///< To memory that threads share.
  bool is_of_each = false;       ///< Each thread has to run it: for memory of its own, or a call.
};

ThreadWork work_of(const Stmt& stmt) {
  ThreadWork work;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const ThreadLoop loop = thread_loop_of(ref);
    if (loop.axis) work.axes.push_back(axis_of(loop));
    if (const auto* store = ref.as<BufferStore>()) {
      const bool is_own = is_local(memory_scope(*store->buffer));
      (is_own ? work.is_of_each : work.stores) = true;
    }
    const auto* call = ref.as<Evaluate>();
    work.is_of_each = work.is_of_each || (call && call->value.is<Call>());
    return !work.is_of_each;
  });
  return work;
}

}  // namespace

/// Before lowering, a statement beside loops over threads, but inside others, is meant to run once
/// for each of these: the first thread of the axes that have no loop around it runs it. What only
/// writes memory of a thread's own each of them runs. True when it was compiled so.
bool Compiler::run_by_first_threads(const Stmt& stmt) {
  if (!region_ || !implies_barriers_ || bound_axes_.size() == region_->axes.size()) return false;
  const ThreadWork work = work_of(stmt);
  if (!work.stores || work.is_of_each) return false;
  std::vector<const ThreadDimension*> idle;
  for (const ThreadDimension& axis : region_->axes) {
    const bool has_loop = bound_axes_.contains(axis.axis) ||
                          std::ranges::find(work.axes, axis.axis) != work.axes.end();
    if (!has_loop) idle.push_back(&axis);
  }
  if (idle.empty()) return false;
  const auto wait_for_all = [&] {
    if (is_uniform_) emit({.run = barrier_handler(), .c = static_cast<Register>(Wait::block)});
  };
  wait_for_all();
  std::vector<std::size_t> to_end;
  for (const ThreadDimension* axis : idle) {
    bound_axes_.insert(axis->axis);
    const Register is_first = operation(binary_handler(kind_of<EQ>, i64, options_), boolean, i64,
                                        {{axis->index}, {integer(0)}})
                                  .reg;
    to_end.push_back(jump_unless(is_first));
  }
  const bool was_uniform = std::exchange(is_uniform_, false);
  this->stmt(stmt);
  is_uniform_ = was_uniform;
  for (const std::size_t jump : to_end) land(jump);
  for (const ThreadDimension* axis : idle) bound_axes_.erase(axis->axis);
  wait_for_all();
  return true;
}

bool Compiler::is_thread_loop(const Stmt& stmt) {
  return thread_loop_of(stmt).axis != nullptr;
}

void Compiler::thread_loop(const Stmt& stmt) {
  const ThreadLoop loop = thread_loop_of(stmt);
  const ThreadAxis axis = axis_of(loop);
  if (const auto found = threads_.find(axis); found != threads_.end()) {
    return bind_thread(loop, found->second);
  }
  if (is_thread_axis(axis)) {
    open_threads(loop, stmt);
    return;
  }
  const Register min = scalar(loop.min), extent = scalar(loop.extent);
  if (!is_block_axis(axis)) {
    const bool differs = differs_by_thread(loop.min) || differs_by_thread(loop.extent);
    return serial_loop(loop.var, min, extent, integer(1), loop.body, differs);
  }
  // Blocks run side by side, and never wait for each other.
  parallel_loop(loop.var, min, extent, integer(1), loop.body, /*is_vector=*/false,
                [&](Register index) {
                  code_.loops.back().is_of_blocks = true;
                  define(loop.axis->var, {index});
                  threads_[axis] = {index, extent};
                });
  threads_.erase(axis);
}

namespace {

/// True when statements stand beside the loops over an axis, which may all have no iterations.
bool needs_one_thread(const Stmt& stmt, ThreadAxis axis) {
  bool has_others = false, is_positive = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const ThreadLoop loop = thread_loop_of(ref);
    if (axis_of(loop) == axis) {
      const std::int64_t* extent = as_int(loop.extent);
      is_positive = is_positive || (extent && *extent > 0);
      return false;
    }
    has_others = has_others || ref.is<BufferStore>() || ref.is<Evaluate>();
    return !is_expr(*ref.get());
  });
  return has_others && !is_positive;
}

}  // namespace

/// Threads of this axis exist: the variable is the thread's own index. Those beyond the extent have
/// no part in the body.
void Compiler::bind_thread(const ThreadLoop& loop, const ThreadIndex& thread) {
  const Register extent = scalar(loop.extent);
  Value index{thread.index};
  std::size_t to_end = 0;
  const bool is_smaller = extent != thread.extent;
  const bool may_be_empty = region_ && std::ranges::any_of(region_->axes, [&](const auto& axis) {
                              return axis.index == thread.index && axis.extent != thread.extent;
                            });
  if (is_smaller || may_be_empty) {
    to_end = jump_unless(
        operation(binary_handler(kind_of<LT>, i64, options_), boolean, i64, {index, {extent}}).reg);
  }
  if (!is_const_int(loop.min, 0)) {
    index =
        operation(binary_handler(kind_of<Add>, i64, options_), i64, i64, {index, expr(loop.min)});
  }
  define(loop.var, index);
  define(loop.axis->var, index);
  thread_axes_[loop.var.get()] = thread_axes_[loop.axis->var.get()] = axis_of(loop);
  differing_.insert({loop.var.get(), loop.axis->var.get()});
  const bool was_uniform = std::exchange(is_uniform_, is_uniform_ && !is_smaller);
  const bool is_new = bound_axes_.insert(axis_of(loop)).second;
  stmt(loop.body);
  if (is_new) bound_axes_.erase(axis_of(loop));
  is_uniform_ = was_uniform;
  if (is_smaller || may_be_empty) land(to_end);
}

/// Here a block's threads begin: as many on each axis as any loop inside wants.
void Compiler::open_threads(const ThreadLoop& outer, const Stmt& stmt) {
  ThreadRegion& region = code_.regions.emplace_back();
  bool reduces = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const ThreadLoop loop = thread_loop_of(ref);
    if (!is_thread_axis(axis_of(loop))) return !is_expr(*ref.get());
    for (const Ptr<Var>& variable : free_variables(loop.extent)) {
      if (!values_.contains(variable.get())) {
        unsupported(*ref.get(), "threads whose number depends on other threads");
      }
    }
    reduces = reduces || feeds_reduction(loop.var, loop.body);
    const Register extent = scalar(loop.extent);
    const auto known = std::ranges::find(region.axes, axis_of(loop), &ThreadDimension::axis);
    if (known == region.axes.end()) {
      region.axes.push_back({axis_of(loop), extent, fresh()});
    } else if (known->extent != extent) {
      known->extent = operation(binary_handler(kind_of<Max>, i64, options_), i64, i64,
                                {{known->extent}, {extent}})
                          .reg;
    }
    return true;
  });
  std::ranges::sort(region.axes, std::greater(), &ThreadDimension::axis);
  region.loop = {.name = region.axes.size() == 1 ? outer.var->name : "thread",
                 .reduces = reduces,
                 .statement = next_statement(),
                 .span = span_};
  for (ThreadDimension& axis : region.axes) {
    threads_[axis.axis] = {axis.index, axis.extent};
    // What stands beside the loops over an axis runs where these have no iterations, too.
    if (needs_one_thread(stmt, axis.axis)) {
      axis.extent = operation(binary_handler(kind_of<Max>, i64, options_), i64, i64,
                              {{axis.extent}, {integer(1)}})
                        .reg;
    }
  }
  Instr fork{.run = fork_handler()};
  fork.data = &region;
  const std::size_t from = emit(fork);
  const ThreadRegion* outside = std::exchange(region_, &region);
  const auto exits = std::exchange(exits_, {});
  const bool was_uniform = std::exchange(is_uniform_, true);
  const auto bound_outside = std::exchange(bound_axes_, {});
  thread_loop(stmt);
  bound_axes_ = bound_outside;
  is_uniform_ = was_uniform;
  exits_ = exits;
  region_ = outside;
  emit({.run = thread_end_handler()});
  land(from);
  for (const ThreadDimension& axis : region.axes) threads_.erase(axis.axis);
}

/// True for an expression that may have different values in the threads that run together.
bool Compiler::differs_by_thread(const Expr& value) const {
  if (!region_) return false;
  bool found = false;
  pre_order_visit(value, [&](const Ref& ref) {
    found = found || differing_.contains(ref.get());
    return !found;
  });
  return found;
}

/// Before lowering, what threads write to memory that others see is there for the statements that
/// follow: a barrier stands between them, if all threads reach it.
void Compiler::implied_barrier(const Stmt& stmt) {
  if (region_ && implies_barriers_ && is_uniform_ && touches_shared_memory(stmt)) {
    emit({.run = barrier_handler(), .c = static_cast<Register>(Wait::block)});
  }
}

/// tvm_storage_sync(scope): of a warp where the scope says so, else of the block.
Value Compiler::barrier(const Call& call) {
  const auto* scope = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  const bool is_of_warp = scope && memory_scope(scope->value) == MemoryScope::warp;
  emit({.run = barrier_handler(),
        .c = static_cast<Register>(is_of_warp ? Wait::warp : Wait::block)});
  return {integer(0), 0};
}

Value Compiler::warp_shuffle(const Call& call) {
  const Shuffling how = call.op == op("tvm_warp_shuffle_up")     ? Shuffling::up
                        : call.op == op("tvm_warp_shuffle_down") ? Shuffling::down
                                                                 : Shuffling::direct;
  const int lanes = call.args[1].dtype().lanes;
  const Register published = fresh(lanes);
  copy_to(published, expr(call.args[1]), lanes);
  const Value lane = expr(call.args[2]), width = expr(call.args[3]);
  emit({.run = publish_handler(),
        .a = published,
        .b = lanes,
        .c = static_cast<Register>(Wait::lanes)});
  return operation(shuffle_handler(how), call.dtype, i64, {lane, width});
}

/// tvm_thread_allreduce(n, values..., condition, destinations..., threads...), in an attribute that
/// says how to combine.
Value Compiler::all_reduce(const Call& call) {
  const std::int64_t* count = call.args.empty() ? nullptr : as_int(call.args[0]);
  const auto n = static_cast<std::size_t>(count ? *count : 0);
  if (!combiner_ || !region_ || n == 0 || combiner_->lhs.size() != n ||
      call.args.size() < 2 + 2 * n) {
    unsupported(call, "a reduction over threads without threads and a `reduce_scope`");
  }
  const auto words = static_cast<int>(n + 1);
  const Register published = fresh(words);
  copy_to(published, expr(call.args[1 + n]), 1);
  for (std::size_t i = 0; i < n; ++i) {
    copy_to(published + 1 + static_cast<Register>(i), expr(call.args[1 + i]), 1);
  }
  emit({.run = publish_handler(),
        .a = published,
        .b = words,
        .c = static_cast<Register>(Wait::block)});

  Gather& gather = code_.gathers.emplace_back();
  gather.is_reduced.assign(region_->axes.size(), false);
  for (std::size_t i = 2 + 2 * n; i < call.args.size(); ++i) {
    const auto found = thread_axes_.find(call.args[i].get());
    if (found == thread_axes_.end()) unsupported(call, "a reduction over what is no thread");
    const auto axis = std::ranges::find(region_->axes, found->second, &ThreadDimension::axis);
    gather.is_reduced[static_cast<std::size_t>(axis - region_->axes.begin())] = true;
  }
  const Register total = fresh(static_cast<int>(n)), other = fresh(static_cast<int>(n));
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<Register>(i);
    copy_to(total + at, expr(combiner_->identity_element[i]), 1);
    define(combiner_->lhs[i], {total + at});
    define(combiner_->rhs[i], {other + at});
  }
  const Register next = fresh();
  copy_to(next, {integer(0)}, 1);
  const std::size_t begin = here();
  Instr take{.run = gather_handler(), .d = other, .a = next};
  take.data = &gather;
  emit(take);
  {
    const Scope scope(*this);
    std::vector<Value> combined;
    for (const Expr& result : combiner_->result) combined.push_back(expr(result));
    for (std::size_t i = 0; i < n; ++i) {
      copy_to(total + static_cast<Register>(i), combined[i], 1);
    }
  }
  jump_to(begin);
  land(begin);
  for (std::size_t i = 0; i < n; ++i) {
    const auto* target = call.args[2 + n + i].as<BufferLoad>();
    if (!target) unsupported(call, "a reduction over threads into what is no element");
    Access& access = new_access(target->buffer, target->indices, nullptr, call, true);
    // All threads store the same.
    access.accumulates = kind_of<CommReducer>;
    Instr store{.run = store_handler(access, options_),
                .a = total + static_cast<Register>(i),
                .type = target->dtype};
    store.access = &access;
    emit(store);
  }
  return {integer(0), 0};
}

}  // namespace loopsmith::interp::detail
