// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/insert_barriers.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/atomics.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_axes.h"
#include "loopsmith/transform/thread_conflicts.h"
#include "loopsmith/transform/warp_conflicts.h"

namespace loopsmith {
namespace {

using Accesses = std::vector<ThreadAccess>;

/// What a statement does to memory that threads share, seen from before and after it.
struct MemoryEffects {
  Accesses first;              ///< What it uses before threads have waited in it.
  Accesses last;               ///< What it uses after threads have waited in it for the last time.
  bool always_waits = false;   ///< Threads wait in it, whichever way they take.
  bool waits_in_warp = false;  ///< The same of the threads of each warp.
  bool has_barrier = false;
};

/// What a thread's statement writes that others may use.
std::unordered_set<const Object*> written_memory(const Stmt& body) {
  std::unordered_set<const Object*> written;
  const auto add = [&](const Buffer& buffer) {
    if (!is_of_each_thread(memory_scope(buffer))) written.insert(buffer.data.get());
  };
  pre_order_visit(body, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) add(*store->buffer);
    const auto* call = ref.as<Call>();
    const auto* element =
        call && call->op == op("address_of") ? call->args[0].as<BufferLoad>() : nullptr;
    if (element) add(*element->buffer);
    return true;
  });
  return written;
}

class BarrierInserter {
 public:
  BarrierInserter(const Launch& launch, int warp_size)
      : conflicts_(launch.threads),
        warps_(warp_conflicts(launch, warp_size)),
        written_(written_memory(launch.body)) {
    for (const Ptr<For>& loop : launch.threads) own_.insert(loop->loop_var.get());
    pre_order_visit(launch.body, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      const Buffer* read = load ? load->buffer.get() : nullptr;
      uses_results_ = uses_results_ || (read && is_global(memory_scope(*read)) &&
                                        written_.contains(read->data.get()));
      return !uses_results_;
    });
  }

  Stmt run(const Stmt& body) {
    MemoryEffects effects;
    return place(body, effects);
  }

 private:
  Stmt place(const Stmt& stmt, MemoryEffects& effects) {
    return deep_call([&] { return place_in(stmt, effects); });
  }

  Stmt place_in(const Stmt& stmt, MemoryEffects& effects) {
    if (const auto* sequence = stmt.as<SeqStmt>()) return in_sequence(sequence->seq, effects);
    if (const auto* loop = stmt.as<For>()) return in_loop(*loop, effects);
    if (const auto* loop = stmt.as<While>()) return in_while(*loop, effects);
    if (const auto* branch = stmt.as<IfThenElse>()) return in_branch(*branch, effects);
    if (const auto* let = stmt.as<LetStmt>()) return in_let(*let, effects);
    if (const auto* allocate = stmt.as<Allocate>()) return in_body(stmt, allocate->body, effects);
    if (const auto* constant = stmt.as<AllocateConst>()) {
      return in_body(stmt, constant->body, effects);
    }
    if (const auto* decl = stmt.as<DeclBuffer>()) return in_body(stmt, decl->body, effects);
    if (const auto* attribute = stmt.as<AttrStmt>()) return in_body(stmt, attribute->body, effects);
    if (const auto* assertion = stmt.as<AssertStmt>()) {
      add_read(assertion->condition, effects);
      return in_body(stmt, assertion->body, effects);
    }
    const auto* evaluate = stmt.as<Evaluate>();
    if (evaluate && is_barrier(evaluate->value)) {
      effects.has_barrier = true;
      (is_block_barrier(evaluate->value) ? effects.always_waits : effects.waits_in_warp) = true;
    } else if (evaluate) {
      add_call(*evaluate, effects);
    } else if (stmt.is<BufferStore>() && uses_written(stmt)) {
      effects.first = effects.last = {{.nest = stmt}};
    }
    return stmt;
  }

  Stmt in_body(const Stmt& stmt, const Stmt& body, MemoryEffects& effects) {
    MemoryEffects inner;
    Stmt placed = place(body, inner);
    append(effects, std::move(inner));
    return placed.same_as(body) ? stmt : with_body(stmt, std::move(placed));
  }

  /// What `next` does after what `effects` has so far, without a barrier between the two.
  static void append(MemoryEffects& effects, MemoryEffects next) {
    if (effects.waits_in_warp) order_in_warp(next.first);
    if (!effects.always_waits) join(effects.first, next.first);
    if (next.waits_in_warp) order_in_warp(effects.last);
    if (next.always_waits) effects.last.clear();
    join(effects.last, next.last);
    effects.always_waits |= next.always_waits;
    effects.waits_in_warp |= next.waits_in_warp;
    effects.has_barrier |= next.has_barrier;
  }

  static void order_in_warp(Accesses& accesses) {
    for (ThreadAccess& each : accesses) each.is_ordered_in_warp = true;
  }

  /// What a barrier does.
  static MemoryEffects barrier_of(MemoryScope scope) {
    const bool is_of_warp = scope == MemoryScope::warp;
    return {.always_waits = !is_of_warp, .waits_in_warp = is_of_warp, .has_barrier = true};
  }

  static void join(Accesses& into, const Accesses& more) {
    into.insert(into.end(), more.begin(), more.end());
  }

  bool uses_written(const Ref& root) const {
    bool found = false;
    pre_order_visit(root, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      const auto* store = ref.as<BufferStore>();
      found = found || (load && written_.contains(load->buffer->data.get())) ||
              (store && written_.contains(store->buffer->data.get()));
      return !found;
    });
    return found;
  }

  void add_read(const Expr& value, MemoryEffects& effects) {
    if (!uses_written(value)) return;
    const ThreadAccess read{.nest = make(Evaluate{.value = value})};
    append(effects, {.first = {read}, .last = {read}});
  }

  void add_call(const Evaluate& evaluate, MemoryEffects& effects) {
    const auto* call = evaluate.value.as<Call>();
    // Where a group of copies begins and ends orders nothing; where it is done stands by itself.
    if (!call || call->op == op("ptx_commit_group")) return;
    ThreadAccess access{.nest = Stmt(&evaluate)};
    const auto* address = call->args.empty() ? nullptr : call->args[0].as<Call>();
    const auto* element =
        address && address->op == op("address_of") ? address->args[0].as<BufferLoad>() : nullptr;
    access.is_atomic = call->op.name().starts_with("atomic_") && element;
    if (access.is_atomic) {
      const Expr before(element);
      access.nest = store(element->buffer, stored_atomically(call->op, before, call->args[1]),
                          element->indices);
    } else {
      access.is_opaque = !is_pure(evaluate.value);
    }
    if (access.is_opaque || uses_written(access.nest)) effects.first = effects.last = {access};
  }

  bool is_global_conflict(const ThreadAccess& access) const {
    bool found = false;
    pre_order_visit(access.nest, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      const auto* store = ref.as<BufferStore>();
      const Buffer* buffer = load ? load->buffer.get() : store ? store->buffer.get() : nullptr;
      found = found ||
              (buffer && is_global(memory_scope(*buffer)) && written_.contains(buffer->data.get()));
      return !found;
    });
    return found || access.is_opaque;
  }

  /// Between two lists of accesses: `warp`, `shared` where threads of several warps conflict,
  /// `global` where that is what must be seen; none where threads need not wait.
  template <class MayConflict>
  std::optional<MemoryScope> wanted_barrier(const Accesses& before, const Accesses& after,
                                            MayConflict&& may_conflict) const {
    std::optional<MemoryScope> scope;
    for (const ThreadAccess& first : before) {
      for (const ThreadAccess& second : after) {
        const bool is_global = is_global_conflict(first) && is_global_conflict(second);
        const MemoryScope of_block =
            is_global || uses_results_ ? MemoryScope::global : MemoryScope::shared;
        if (scope && *scope != MemoryScope::warp && (*scope == MemoryScope::global || !is_global)) {
          continue;
        }
        const bool is_ordered = first.is_ordered_in_warp || second.is_ordered_in_warp;
        if (!is_ordered && !may_conflict(conflicts_, first, second)) continue;
        const bool of_warps = !warps_ || may_conflict(*warps_, first, second);
        if (is_ordered && !of_warps) continue;
        const MemoryScope found =
            of_warps || of_block == MemoryScope::global ? of_block : MemoryScope::warp;
        if (!scope || *scope == MemoryScope::warp || found == MemoryScope::global) scope = found;
      }
    }
    return scope;
  }

  Stmt in_sequence(const std::vector<Stmt>& statements, MemoryEffects& effects) {
    std::vector<Stmt> result;
    bool changed = false;
    for (const Stmt& each : statements) {
      MemoryEffects next;
      Stmt placed = place(each, next);
      const auto scope =
          wanted_barrier(effects.last, next.first,
                         [&](const auto& conflicts, const auto& first, const auto& second) {
                           return conflicts.may_conflict(first, second, around_);
                         });
      if (scope) {
        result.push_back(barrier(*scope));
        append(effects, barrier_of(*scope));
      }
      changed = changed || scope.has_value() || !placed.same_as(each);
      append(effects, std::move(next));
      result.push_back(std::move(placed));
    }
    return changed ? seq(std::move(result)) : seq(statements);
  }

  /// The accesses of a body, in what stands around it.
  static void wrap(MemoryEffects& effects, const Stmt& around) {
    for (Accesses* accesses : {&effects.first, &effects.last}) {
      for (ThreadAccess& access : *accesses) {
        if (!access.is_opaque) access.nest = with_body(around, access.nest);
      }
    }
  }

  Stmt in_loop(const For& loop, MemoryEffects& effects) {
    for (const Expr& bound : {loop.min, loop.extent, loop.step}) add_read(bound, effects);
    const bool is_uniform = same_in_all(loop.min) && same_in_all(loop.extent);
    if (!is_uniform) own_.insert(loop.loop_var.get());
    MemoryEffects inner;
    around_.emplace_back(&loop);
    Stmt body = place(loop.body, inner);
    around_.pop_back();
    const auto barrier_of_next = [&](const Accesses& first) {
      return wanted_barrier(
          inner.last, first, [&](const auto& conflicts, const auto& earlier, const auto& later) {
            return conflicts.may_conflict_later(earlier, later, loop, inner.always_waits, around_);
          });
    };
    auto scope = barrier_of_next(inner.first);
    if (scope) {
      if (const Stmt behind = with_late_barrier(loop, *scope, barrier_of_next)) {
        // What stands before it may wait there, too.
        inner = {};
        around_.emplace_back(&loop);
        body = place(behind, inner);
        around_.pop_back();
        scope = barrier_of_next(inner.first);
      }
    }
    if (scope) {
      body = seq({barrier(*scope), std::move(body)});
      MemoryEffects after = barrier_of(*scope);
      append(after, std::move(inner));
      inner = std::move(after);
    }
    if (inner.has_barrier) {
      require_reached(is_uniform, loop.span, fmt::format("loop {}", loop.loop_var->name),
                      "runs as often as the thread says");
      require_reached(!leaves_loop(loop.body), loop.span,
                      fmt::format("loop {}", loop.loop_var->name), "is left in the middle");
    }
    wrap(inner, Stmt(&loop));
    const bool runs = Analyzer().can_prove(loop.extent >= 1);
    inner.always_waits = inner.always_waits && runs;
    inner.waits_in_warp = inner.waits_in_warp && runs;
    append(effects, std::move(inner));
    return body.same_as(loop.body) ? Stmt(&loop) : with_body(Stmt(&loop), std::move(body));
  }

  /// The body of a loop with a barrier right before the first of its statements that wants one
  /// after the iteration before; null where that is the first of all, or is inside of another.
  template <class BarrierOfNext>
  Stmt with_late_barrier(const For& loop, MemoryScope scope, BarrierOfNext&& wanted) {
    const auto* sequence = loop.body.as<SeqStmt>();
    if (!sequence) return nullptr;
    for (std::size_t i = 0; i < sequence->seq.size(); ++i) {
      MemoryEffects effects;
      around_.emplace_back(&loop);
      place(sequence->seq[i], effects);
      around_.pop_back();
      if (wanted(effects.first)) {
        if (i == 0) return nullptr;
        std::vector<Stmt> statements = sequence->seq;
        statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(i), barrier(scope));
        return make(SeqStmt{.seq = std::move(statements)});
      }
      if (effects.has_barrier) return nullptr;
    }
    return nullptr;
  }

  Stmt in_while(const While& loop, MemoryEffects& effects) {
    MemoryEffects inner;
    add_read(loop.condition, inner);
    MemoryEffects of_body;
    Stmt body = place(loop.body, of_body);
    append(inner, std::move(of_body));
    const auto may_conflict = [&](const auto& conflicts, const auto& first, const auto& second) {
      return conflicts.may_conflict(first, second, around_);
    };
    const auto scope = wanted_barrier(inner.last, inner.first, may_conflict);
    if (scope) {
      // The condition reads, too: before it is asked again, and after it was.
      body = seq({barrier(*scope), std::move(body), barrier(*scope)});
      inner.has_barrier = true;
    }
    if (inner.has_barrier) {
      require_reached(same_in_all(loop.condition) && !leaves_loop(loop.body), loop.span,
                      "a while loop", "runs as often as the thread says");
    }
    inner.always_waits = inner.waits_in_warp = false;
    append(effects, std::move(inner));
    return body.same_as(loop.body) ? Stmt(&loop) : with_body(Stmt(&loop), std::move(body));
  }

  Stmt in_branch(const IfThenElse& branch, MemoryEffects& effects) {
    MemoryEffects then_effects, else_effects;
    const Stmt then_around = make(IfThenElse{.condition = branch.condition, .then_case = no_op()});
    const Stmt else_around = make(IfThenElse{.condition = !branch.condition, .then_case = no_op()});
    around_.push_back(then_around);
    Stmt then_case = place(branch.then_case, then_effects);
    around_.back() = else_around;
    Stmt else_case = branch.else_case;
    if (else_case) else_case = place(else_case, else_effects);
    around_.pop_back();
    const bool has_barrier = then_effects.has_barrier || else_effects.has_barrier;
    if (has_barrier && !same_in_all(branch.condition)) return place(spread(branch), effects);
    add_read(branch.condition, effects);
    wrap(then_effects, then_around);
    wrap(else_effects, else_around);
    MemoryEffects both{.first = then_effects.first,
                       .last = then_effects.last,
                       .always_waits = then_effects.always_waits && else_effects.always_waits,
                       .waits_in_warp = then_effects.waits_in_warp && else_effects.waits_in_warp,
                       .has_barrier = has_barrier};
    join(both.first, else_effects.first);
    join(both.last, else_effects.last);
    append(effects, std::move(both));
    IfThenElse copy = branch;
    copy.then_case = std::move(then_case);
    copy.else_case = std::move(else_case);
    return make(std::move(copy));
  }

  Stmt in_let(const LetStmt& let, MemoryEffects& effects) {
    if (!same_in_all(let.value)) own_.insert(let.var.get());
    add_read(let.value, effects);
    MemoryEffects inner;
    around_.emplace_back(&let);
    Stmt body = place(let.body, inner);
    around_.pop_back();
    wrap(inner, Stmt(&let));
    append(effects, std::move(inner));
    return body.same_as(let.body) ? Stmt(&let) : with_body(Stmt(&let), std::move(body));
  }

  /// A branch that not all threads take, with its condition inside of the statements of its body.
  Stmt spread(const IfThenElse& branch) {
    if (!is_timeless(branch.condition)) {
      const Ptr<Var> takes = var("takes", boolean);
      IfThenElse named = branch;
      named.condition = takes;
      return make(LetStmt{.value = branch.condition, .var = takes, .body = make(std::move(named))});
    }
    std::vector<Stmt> parts = {spread_over(branch.condition, branch.then_case)};
    if (branch.else_case) parts.push_back(spread_over(!branch.condition, branch.else_case));
    return seq(std::move(parts));
  }

  static Stmt spread_over(const Expr& condition, const Stmt& body) {
    if (const auto* sequence = body.as<SeqStmt>()) {
      std::vector<Stmt> parts;
      for (const Stmt& each : sequence->seq) parts.push_back(guarded(condition, each));
      return seq(std::move(parts));
    }
    if (const auto* inner = body.as<IfThenElse>()) {
      std::vector<Stmt> parts = {guarded(condition && inner->condition, inner->then_case)};
      if (inner->else_case) {
        parts.push_back(guarded(condition && !inner->condition, inner->else_case));
      }
      return seq(std::move(parts));
    }
    if (const auto* let = body.as<LetStmt>()) {
      LetStmt copy = *let;
      if (!is_timeless(let->value)) {
        const DataType type = let->value.dtype();
        copy.value = if_then_else(condition, let->value, make_zero(type));
      }
      copy.body = guarded(condition, let->body);
      return make(std::move(copy));
    }
    if (const auto* loop = body.as<For>()) {
      require_reached(is_timeless(loop->min) && is_timeless(loop->extent), loop->span,
                      fmt::format("loop {}", loop->loop_var->name),
                      "runs as often as the buffer's contents say");
      return with_body(body, guarded(condition, loop->body));
    }
    const Stmt inner = body.is<While>() || body.is<AssertStmt>() ? Stmt() : body_of(body);
    require_reached(inner.defined(), body.get()->span, "a statement",
                    "is run by some threads only");
    return with_body(body, guarded(condition, inner));
  }

  static Expr make_zero(DataType type) { return const_of(type, 0); }

  /// True when all threads of the block have the same value.
  bool same_in_all(const Expr& value) const {
    bool is_same = true;
    pre_order_visit(value, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      const auto* call = ref.as<Call>();
      is_same = is_same && !own_.contains(ref.get()) &&
                !(load && is_of_each_thread(memory_scope(*load->buffer))) &&
                !(call && call->op.info().effect == Effect::updates);
      return is_same;
    });
    return is_same;
  }

  static void require_reached(bool is_reached, const Span& span, std::string_view what,
                              std::string_view why) {
    require(is_reached, ErrorKind::lower, "barrier_is_reached",
            hint("make it the same for all threads of a block, with a condition inside"), span,
            "threads have to wait for each other in {}, which {}", what, why);
  }

  ThreadConflicts conflicts_;
  std::optional<WarpConflicts> warps_;         ///< None where a block has no whole warps.
  std::unordered_set<const Object*> written_;  ///< By pointer.
  std::unordered_set<const Object*> own_;      ///< Variables that differ from thread to thread.
  /// The kernel reads global memory that it writes: each barrier orders that as well, since what
  /// is before it is not looked at again.
  bool uses_results_ = false;
  std::vector<Stmt> around_;
};

}  // namespace

Ptr<PrimFunc> insert_barriers(const Ptr<PrimFunc>& func, int warp_size) {
  if (!has_launch(func->body)) return func;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt stmt(&loop);
    if (!is_launch_loop(stmt)) return rewrite.children(loop);
    Launch launch = launch_of(stmt);
    if (launch.threads.empty()) return stmt;
    launch.body = BarrierInserter(launch, warp_size).run(launch.body);
    return launch_stmt(launch);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
