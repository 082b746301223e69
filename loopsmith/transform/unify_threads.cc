// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/unify_threads.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

/// One axis of a launch.
struct LaunchAxis {
  Ptr<Var> index;
  Expr longest;    ///< The extent of its longest loop.
  Expr extent;     ///< How many there are in the launch.
  Ptr<For> first;  ///< The first loop that is bound to it.
};
using LaunchAxes = std::map<ThreadAxis, LaunchAxis>;

Expr extent_of(const For& loop) {
  Analyzer analyzer;
  const Expr extent = analyzer.simplify(loop.extent);
  const std::int64_t* constant = as_int(extent);
  return constant && *constant < 0 ? int_imm(extent.dtype(), 0) : extent;
}

bool is_same_extent(const Expr& a, const Expr& b) {
  return structural_equal(a, b) || Analyzer().can_prove(a == cast(a.dtype(), b));
}

/// True when statements stand beside the loops over an axis.
bool has_others_beside(const Stmt& root, ThreadAxis axis) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    if (is_expr(*ref.get()) || thread_axis_of(Stmt::from(ref)) == axis) return false;
    found = found || ref.is<BufferStore>() || ref.is<Evaluate>();
    return !found;
  });
  return found;
}

/// Finds the axes of a kernel, and how long they are.
class AxisFinder {
 public:
  explicit AxisFinder(const Stmt& root) {
    visit(root);
    for (auto& [thread_axis, axis] : axes) {
      Analyzer analyzer;
      const Expr one = int_imm(axis.longest.dtype(), 1);
      // What stands beside the loops runs where these have no iterations, too.
      const bool needs_one =
          !analyzer.can_prove(axis.longest >= one) && has_others_beside(root, thread_axis);
      axis.extent = needs_one ? analyzer.simplify(max(axis.longest, one)) : axis.longest;
    }
  }
  LaunchAxes axes;

 private:
  void visit(const Ref& ref) {
    if (is_expr(*ref.get())) return;
    const ThreadAxis axis = thread_axis_of(Stmt::from(ref));
    const auto* loop = ref.as<For>();
    if (is_launch_axis(axis)) add(*loop, axis);
    if (loop) inside_.insert(loop->loop_var.get());
    if (const auto* let = ref.as<LetStmt>()) inside_.insert(let->var.get());
    deep_call([&] {
      for_each_child(*ref.get(), [&](const Ref& child, Role role) {
        if (role != Role::thread && !child.is<Buffer>()) visit(child);
      });
    });
    if (is_launch_axis(axis)) open_.pop_back();
  }

  void add(const For& loop, ThreadAxis thread_axis) {
    const Expr extent = extent_of(loop);
    for (const Ptr<Var>& variable : free_variables(extent)) {
      require(!inside_.contains(variable.get()), ErrorKind::lower, "launch_extent_is_known_outside",
              hint("bind a loop whose extent is the same for all blocks and threads, with a "
                   "condition inside"),
              loop.span,
              "loop {} over {} has an extent that depends on {}, a variable of the kernel",
              loop.loop_var->name, tag_of(thread_axis), variable->name);
    }
    const auto outer = std::ranges::find(open_, thread_axis, &Open::axis);
    if (outer != open_.end()) {
      require(is_same_extent(outer->extent, extent), ErrorKind::lower, "thread_extents_agree",
              hint("split the inner loop by the extent of the outer one, and bind the inner part"),
              loop.span, "loop {} over {} has another extent than the loop over {} around it",
              loop.loop_var->name, tag_of(thread_axis), tag_of(thread_axis));
    }
    open_.push_back({thread_axis, extent});
    const auto [found, is_new] = axes.try_emplace(thread_axis);
    LaunchAxis& axis = found->second;
    if (is_new) {
      axis = {.index = var(loop.loop_var->name, loop.loop_var->dtype),
              .longest = extent,
              .extent = {},
              .first = Ptr<For>(&loop)};
    } else if (!is_same_extent(axis.longest, extent)) {
      axis.longest = Analyzer().simplify(max(axis.longest, cast(axis.longest.dtype(), extent)));
    }
  }

  struct Open {
    ThreadAxis axis;
    Expr extent;
  };
  std::vector<Open> open_;  ///< The loops over axes around.
  std::unordered_set<const Object*> inside_;
};

/// What decides which threads run a statement that has no loops over threads in it.
struct ThreadWork {
  bool stores = false;      ///< To memory that others see.
  bool is_of_each = false;  ///< Has memory of each thread, or calls.
};

ThreadWork thread_work_of(const Stmt& stmt) {
  ThreadWork work;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) {
      (is_of_each_thread(memory_scope(*store->buffer)) ? work.is_of_each : work.stores) = true;
    }
    const auto* evaluate = ref.as<Evaluate>();
    const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
    if (call) {
      (call->op.name().starts_with("atomic_") ? work.stores : work.is_of_each) = true;
    }
    // Its memory needs a place first.
    work.is_of_each = work.is_of_each || ref.is<Allocate>();
    return true;
  });
  return work;
}

/// One kernel.
class Unifier {
 public:
  explicit Unifier(const Stmt& root) : axes_(AxisFinder(root).axes) {
    for (const ThreadAxis each : launch_axes) {
      if (const auto axis = axes_.find(each); axis != axes_.end()) order_.push_back(&*axis);
    }
  }

  Stmt run(const Stmt& root) {
    Launch launch;
    launch.body = visit(root);
    launch.memory = std::move(shared_);
    for (const auto* axis : order_) {
      (is_block_axis(axis->first) ? launch.blocks : launch.threads).push_back(loop_over(*axis));
    }
    require_shared_sizes(launch);
    return launch_stmt(launch);
  }

 private:
  using Axis = LaunchAxes::value_type;

  Ptr<For> loop_over(const Axis& axis) const {
    const LaunchAxis& launch = axis.second;
    For loop = *launch.first;
    loop.loop_var = launch.index;
    loop.min = int_imm(launch.index->dtype, 0);
    loop.step = int_imm(launch.index->dtype, 1);
    loop.extent = cast(launch.index->dtype, launch.extent);
    loop.body = no_op();
    return make(std::move(loop));
  }

  Stmt visit(const Stmt& stmt) {
    return deep_call([&] { return visit_one(stmt); });
  }

  Stmt visit_one(const Stmt& stmt) {
    if (is_launch_loop(stmt)) return bound_loop(*stmt.as<For>());
    if (is_run_by_first(stmt)) return by_first(rename_(stmt));
    if (const auto* seq = stmt.as<SeqStmt>()) return sequence(*seq);
    if (const auto* branch = stmt.as<IfThenElse>()) {
      IfThenElse copy = *branch;
      copy.condition = rename_(copy.condition);
      copy.then_case = visit(copy.then_case);
      if (copy.else_case) copy.else_case = visit(copy.else_case);
      return make(std::move(copy));
    }
    if (const auto* allocate = stmt.as<Allocate>()) return memory(*allocate);
    if (const auto* decl = stmt.as<DeclBuffer>()) return view(*decl);
    if (const Stmt body = body_of(stmt)) {
      const Stmt renamed = rename_(with_body(stmt, no_op()));
      return with_body(renamed, visit(body));
    }
    return rename_(stmt);
  }

  /// A loop over an axis: each thread does its iteration.
  Stmt bound_loop(const For& loop) {
    const ThreadAxis thread_axis = thread_axis_of(loop);
    const LaunchAxis& axis = axes_.at(thread_axis);
    const DataType type = loop.loop_var->dtype;
    const Expr index = cast(type, axis.index);
    const Expr value = rename_(loop.min) + index * rename_(loop.step);
    rename_.replace_variable(loop.loop_var, value);
    rename_.replace_variable(loop.thread_binding->var, index);
    rename_.forget();
    const bool is_new = bound_.insert(thread_axis).second;
    Stmt body = visit(loop.body);
    if (is_new) bound_.erase(thread_axis);
    const Expr extent = extent_of(loop);
    if (is_same_extent(axis.extent, extent)) return body;
    // Alike for all threads, so that they may wait for each other inside.
    const bool is_longest = is_same_extent(axis.longest, extent);
    return guarded(is_longest ? extent > 0 : index < loop.extent, std::move(body));
  }

  /// Statements one after another; neighbours that first threads run are run under one condition.
  Stmt sequence(const SeqStmt& seq) {
    std::vector<Stmt> result, first;
    const auto flush = [&] {
      if (!first.empty()) result.push_back(by_first(loopsmith::seq(std::exchange(first, {}))));
    };
    for (const Stmt& each : seq.seq) {
      if (is_run_by_first(each)) {
        first.push_back(rename_(each));
      } else {
        flush();
        result.push_back(visit(each));
      }
    }
    flush();
    return loopsmith::seq(std::move(result));
  }

  /// The axes that have no loop around the statement that is visited.
  std::vector<const Axis*> idle_axes() const {
    std::vector<const Axis*> idle;
    for (const Axis* axis : order_) {
      if (!bound_.contains(axis->first)) idle.push_back(axis);
    }
    return idle;
  }

  bool is_run_by_first(const Stmt& stmt) const {
    if (idle_axes().empty() || has_launch(stmt)) return false;
    const ThreadWork work = thread_work_of(stmt);
    return work.stores && !work.is_of_each;
  }

  Stmt by_first(Stmt stmt) const {
    std::vector<Expr> conditions;
    for (const Axis* axis : idle_axes()) {
      require(is_thread_axis(axis->first) || is_const_int(axis->second.extent, 1), ErrorKind::lower,
              "block_axis_is_around",
              hint("bind the loop around it, or move the statement into a nest of its own"),
              span_in(stmt),
              "a statement stands beside the loop over {}: blocks cannot wait for each other",
              tag_of(axis->first));
      conditions.push_back(axis->second.index == int_imm(axis->second.index->dtype, 0));
    }
    return guarded(conjunction(conditions), std::move(stmt));
  }

  static Span span_in(const Stmt& stmt) {
    Span span = stmt.get()->span;
    pre_order_visit(stmt, [&](const Ref& ref) {
      if (!span.known()) span = ref.get()->span;
      return !span.known();
    });
    return span;
  }

  /// Shared memory goes to the block; all other memory is the thread's.
  Stmt memory(const Allocate& allocate) {
    const MemoryScope scope = memory_scope(*allocate.buffer_var);
    const bool is_in_threads =
        std::ranges::any_of(bound_, [](ThreadAxis axis) { return is_thread_axis(axis); });
    const bool is_shared =
        is_shared_by_threads(scope) || (scope == MemoryScope::global && !is_in_threads);
    const bool keeps_scope = is_shared_by_threads(scope) || is_fragment(scope);
    const MemoryScope wanted = is_shared ? MemoryScope::shared : MemoryScope::local;
    Allocate copy = allocate;
    for (Expr& extent : copy.extents) extent = rename_(extent);
    if (!keeps_scope && wanted != scope) {
      copy.buffer_var = with_scope(*allocate.buffer_var, wanted);
    }
    if (!copy.buffer_var.same_as(allocate.buffer_var)) {
      renamed_memory_[allocate.buffer_var] = copy.buffer_var;
      rename_.replace_variable(allocate.buffer_var, copy.buffer_var);
      rename_.forget();
    }
    if (!is_shared) {
      copy.body = visit(allocate.body);
      return make(std::move(copy));
    }
    copy.body = no_op();
    shared_.push_back(make(std::move(copy)));
    const auto* decl = allocate.body.as<DeclBuffer>();
    if (!decl) return visit(allocate.body);
    const Ptr<Buffer> buffer = moved(decl->buffer, allocate.extents);
    shared_.push_back(make(DeclBuffer{.buffer = buffer, .body = no_op()}));
    return visit(decl->body);
  }

  /// The buffer, where its memory has another scope now, or `extents` that are known outside of the
  /// kernel, as its shape need not be.
  Ptr<Buffer> moved(const Ptr<Buffer>& buffer, const std::vector<Expr>& extents = {}) {
    const auto found = renamed_memory_.find(buffer->data);
    const bool has_extents = extents.size() == buffer->shape.size() && buffer->strides.empty() &&
                             std::ranges::all_of(extents, as_int) &&
                             !std::ranges::all_of(buffer->shape, as_int);
    if (found == renamed_memory_.end() && !has_extents) return rename_.buffer(buffer);
    Buffer copy = *buffer;
    if (found != renamed_memory_.end()) copy.data = found->second;
    if (has_extents) copy.shape = extents;
    Ptr<Buffer> result = make(std::move(copy));
    rename_.replace_buffer(buffer, result);
    rename_.forget();
    return result;
  }

  Stmt view(const DeclBuffer& decl) {
    const Ptr<Buffer> buffer = moved(decl.buffer);
    const Stmt empty = rename_(Stmt(make(DeclBuffer{.buffer = buffer, .body = no_op()})));
    return with_body(empty, visit(decl.body));
  }

  static void require_shared_sizes(const Launch& launch) {
    for (const Stmt& stmt : launch.memory) {
      const auto* allocate = stmt.as<Allocate>();
      if (!allocate) continue;
      for (const Expr& extent : allocate->extents) {
        require(as_int(Analyzer().simplify(extent)), ErrorKind::lower, "shared_memory_is_constant",
                hint("cache a tile of constant size, or use scope global"), allocate->span,
                "{} is memory that the threads of a block share, and its size is not a constant",
                allocate->buffer_var->name);
      }
    }
  }

  LaunchAxes axes_;
  std::vector<const Axis*> order_;        ///< As they nest.
  std::unordered_set<ThreadAxis> bound_;  ///< The axes with a loop around what is visited.
  std::vector<Stmt> shared_;
  std::unordered_map<Ref, Ptr<Var>, RefHash, RefEqual> renamed_memory_;
  Rewriter rename_;
};

/// Memory of threads that is allocated outside of the kernels, and used by one of them alone: there
/// it goes. What others use as well stays, as memory like any other.
class Outside {
 public:
  explicit Outside(const Stmt& body) { visit(body, nullptr); }

  bool takes(const Allocate& allocate) {
    if (!is_of_one_kernel(allocate.buffer_var)) return false;
    memory_.push_back({.allocate = Ptr<Allocate>(&allocate)});
    return true;
  }
  bool takes(const DeclBuffer& decl) {
    const auto found = std::ranges::find_if(memory_, [&](const Memory& each) {
      return each.allocate->buffer_var.same_as(decl.buffer->data);
    });
    if (found == memory_.end()) return false;
    found->views.push_back(decl.buffer);
    return true;
  }

  /// A kernel with the memory that it uses.
  Stmt around(const Stmt& kernel) const {
    Stmt result = kernel;
    for (const Memory& each : memory_) {
      if (users_.at(each.allocate->buffer_var.get()).kernel != kernel.get()) continue;
      for (std::size_t i = each.views.size(); i-- > 0;) {
        result = make(DeclBuffer{.buffer = each.views[i], .body = std::move(result)});
      }
      result = with_body(each.allocate, std::move(result));
    }
    return result;
  }

 private:
  struct Memory {
    Ptr<Allocate> allocate;
    std::vector<Ptr<Buffer>> views = {};
  };
  struct User {
    const Object* kernel = nullptr;
    bool has_others = false;
  };

  bool is_of_one_kernel(const Ptr<Var>& pointer) const {
    const MemoryScope scope = memory_scope(*pointer);
    if (!is_shared_by_threads(scope) && !is_of_each_thread(scope)) return false;
    const auto user = users_.find(pointer.get());
    return user != users_.end() && user->second.kernel && !user->second.has_others;
  }

  /// Notes which statement uses which pointer.
  void visit(const Ref& ref, const Object* kernel) {
    const bool is_kernel = !kernel && is_launch_loop(Stmt::from(ref));
    if (is_kernel) kernel = ref.get();
    if (ref.is<Var>()) use(ref.get(), kernel);
    if (const auto* load = ref.as<BufferLoad>()) use(load->buffer->data.get(), kernel);
    if (const auto* store = ref.as<BufferStore>()) use(store->buffer->data.get(), kernel);
    deep_call([&] {
      for_each_child(*ref.get(), [&](const Ref& child, Role role) {
        const bool is_definition = role == Role::binds || role == Role::thread;
        if (!is_definition && !child.is<Buffer>()) visit(child, kernel);
      });
    });
  }

  void use(const Object* pointer, const Object* kernel) {
    const auto [user, is_new] = users_.try_emplace(pointer, User{.kernel = kernel});
    if (!is_new && user->second.kernel != kernel) user->second.has_others = true;
  }

  std::unordered_map<const Object*, User> users_;
  std::vector<Memory> memory_;
};

}  // namespace

Ptr<PrimFunc> unify_threads(const Ptr<PrimFunc>& func) {
  if (!has_launch(func->body)) return func;
  Outside outside(func->body);
  Rewriter rewrite;
  rewrite.on<Allocate>([&](const Allocate& allocate) -> Stmt {
    return outside.takes(allocate) ? rewrite(allocate.body) : rewrite.children(allocate);
  });
  rewrite.on<DeclBuffer>([&](const DeclBuffer& decl) -> Stmt {
    return outside.takes(decl) ? rewrite(decl.body) : rewrite.children(decl);
  });
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt stmt(&loop);
    if (!is_launch_loop(stmt)) return rewrite.children(loop);
    return Unifier(stmt).run(outside.around(stmt));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
