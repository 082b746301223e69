// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/privatize_buffers.h"

#include <algorithm>

#include "loopsmith/arith/dependence/find_carried.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/live_values.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/stores_alike.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/definite_assignment.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/plan_allocations.h"

namespace loopsmith {
namespace {

/// More than a schedule's step may take: this is asked once.
constexpr unsigned max_operations = 50000;

/// A loop whose iterations run concurrently, around accesses to memory that is allocated outside.
struct LoopOfUses {
  const Scope* scope;
  std::size_t first, last;  ///< Of the accesses inside.
  bool reads = false;
  bool writes = false;

  const For& loop() const { return *scope->stmt.as<For>(); }
};

/// True when the iterations of a loop run concurrently, and may have memory each.
bool may_have_own(const For& loop, const Ptr<Buffer>& buffer) {
  const MemoryScope scope = memory_scope(*buffer);
  if (loop.kind == ForKind::parallel) return !is_shared_by_threads(scope);
  if (loop.kind == ForKind::vectorized) {
    return !is_shared_by_threads(scope) && !stores_alike(loop, buffer);
  }
  return loop.kind == ForKind::thread_binding && is_of_one_thread(thread_axis_of(loop), scope);
}

/// True when parallel iterations, or threads, only store to memory, and nothing reads it later:
/// they would store there at the same time for nothing.
bool stores_for_nothing(const Allocation& allocation, const LoopOfUses& uses) {
  const ForKind kind = uses.loop().kind;
  return !uses.reads && (kind == ForKind::parallel || kind == ForKind::thread_binding) &&
         !is_live_after(allocation.allocate->body, uses.loop(), allocation.buffer);
}

/// The loops that fill memory and read it, or store there for nothing, those inside first.
std::vector<LoopOfUses> loops_of(const Allocation& allocation) {
  std::vector<LoopOfUses> loops;
  for (std::size_t i = 0; i < allocation.accesses.size(); ++i) {
    const Access& access = allocation.accesses[i];
    for (const Scope* s = access.scope; s != allocation.inside; s = s->parent) {
      const auto* loop = s->stmt.as<For>();
      if (!loop || loop->kind == ForKind::serial || loop->kind == ForKind::unrolled) continue;
      auto known = std::ranges::find(loops, s, &LoopOfUses::scope);
      if (known == loops.end()) known = loops.insert(known, {.scope = s, .first = i, .last = i});
      known->last = i;
      (access.is_write ? known->writes : known->reads) = true;
    }
  }
  std::erase_if(loops, [&](const LoopOfUses& each) {
    return !each.writes || (!each.reads && !stores_for_nothing(allocation, each));
  });
  std::ranges::stable_sort(loops, std::ranges::greater(),
                           [](const LoopOfUses& each) { return each.scope->depth; });
  return loops;
}

/// True when a write and a read are of different elements, whatever iterations they are in.
bool never_alias(AccessTable& table, const Allocation& allocation, const Access& write,
                 const Access& read) {
  Analyzer& analyzer = table.analyzer_at(allocation.inside);
  for (std::size_t d = 0; d < write.indices->size(); ++d) {
    const auto written = table.values((*write.indices)[d], allocation.inside);
    const auto taken = table.values((*read.indices)[d], allocation.inside);
    if (!written || !taken) continue;
    if (analyzer.can_prove(written->max < taken->min)) return true;
    if (analyzer.can_prove(taken->max < written->min)) return true;
  }
  return false;
}

/// True when no value that the loop writes is read outside of it: what is read there are other
/// elements, or a write outside comes in between.
bool keeps_its_values(AccessTable& table, const Allocation& allocation, const LoopOfUses& uses) {
  const std::vector<Access>& all = allocation.accesses;
  if (!is_live_after(allocation.allocate->body, uses.loop(), allocation.buffer)) return true;
  const auto stands_apart = [&](std::size_t write, std::size_t read) {
    const Scope* common = common_scope(all[write].scope, all[read].scope);
    if (!is_around(common, uses.scope)) return true;
    const std::size_t nearest = uses.last < write ? write : read;
    const bool is_before_or_after = uses.last < write || read < uses.first;
    return is_before_or_after && common_scope(uses.scope, all[nearest].scope) == common;
  };
  for (std::size_t read = 0; read < all.size(); ++read) {
    if (all[read].is_write || is_around(uses.scope, all[read].scope)) continue;
    bool is_safe = true;
    for (std::size_t write = uses.first; write <= uses.last && is_safe; ++write) {
      is_safe = !all[write].is_write || !is_around(uses.scope, all[write].scope) ||
                never_alias(table, allocation, all[write], all[read]);
    }
    for (std::size_t write = 0; write < read && !is_safe; ++write) {
      is_safe = all[write].is_write && !is_around(uses.scope, all[write].scope) &&
                stands_apart(write, read) && fills_before(table, allocation, all[write], all[read]);
    }
    if (!is_safe) return false;
  }
  return true;
}

DependenceAnswer independence(Dependences& dependences, const For& loop) {
  return loop.kind == ForKind::vectorized ? dependences.vectorizable(loop.loop_var)
                                          : dependences.parallelizable(loop.loop_var);
}

/// The same with calls as the loads of `buffer` in them: whatever they do elsewhere, none of them
/// has the pointer to its memory.
Stmt without_calls(const Stmt& stmt, const Ptr<Buffer>& buffer) {
  Rewriter rewrite;
  rewrite.on<Evaluate>([&](const Evaluate& node) -> Stmt {
    const auto* call = node.value.as<Call>();
    if (call && call->op.info().effect == Effect::control) return Stmt(&node);
    std::vector<Stmt> loads;
    pre_order_visit(node.value, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      if (load && load->buffer.same_as(buffer))
        loads.push_back(make(Evaluate{.value = Expr(load)}));
      return !ref.is<Buffer>();
    });
    return seq(std::move(loads));
  });
  return rewrite(stmt);
}

/// The loop inside of what stands around it, alone: so much is known of the variables outside.
Stmt alone(const Scope& loop) {
  Stmt result = loop.stmt;
  for (const Scope* s = loop.parent; s; s = s->parent) {
    if (s->condition.defined()) {
      result = make(IfThenElse{.condition = s->condition, .then_case = std::move(result)});
    } else if (s->stmt.is<For>() || s->stmt.is<LetStmt>()) {
      result = with_body(s->stmt, std::move(result));
    }
  }
  return result;
}

/// True when each iteration reads only what it wrote itself: memory of its own changes nothing.
bool fills_itself(AccessTable& table, const Allocation& allocation, const LoopOfUses& uses) {
  Allocation inside = allocation;
  std::erase_if(inside.accesses,
                [&](const Access& access) { return !is_around(uses.scope, access.scope); });
  return writes_before_reads(table, inside, uses.scope);
}

/// `index` less `variable`, which it adds once; null where it does not.
Expr without_variable(const Expr& index, const Ptr<Var>& variable) {
  if (index.same_as(variable)) return int_imm(variable->dtype, 0);
  const auto* sum = index.as<Add>();
  if (!sum) return {};
  for (const auto& [own, rest] : {std::pair(sum->b, sum->a), std::pair(sum->a, sum->b)}) {
    if (own.same_as(variable) && !uses_variable(rest, variable)) return rest;
  }
  return {};
}

/// True when each iteration has elements of its own, as one sees: all accesses have the same
/// indices, one of which is the loop's variable and what does not change inside the loop.
bool has_own_elements(const Allocation& allocation, const LoopOfUses& uses) {
  const Ptr<Var>& variable = uses.loop().loop_var;
  const std::vector<Expr>* indices = nullptr;
  const auto changes_inside = [&](const Expr& rest, const Scope* scope) {
    for (const Scope* s = scope; s != uses.scope; s = s->parent) {
      const auto* loop = s->stmt.as<For>();
      const auto* let = s->stmt.as<LetStmt>();
      if (loop && uses_variable(rest, loop->loop_var)) return true;
      if (let && uses_variable(rest, let->var)) return true;
    }
    return reads_memory(rest);
  };
  for (std::size_t i = uses.first; i <= uses.last; ++i) {
    const Access& access = allocation.accesses[i];
    if (!is_around(uses.scope, access.scope)) continue;
    if (!indices) indices = access.indices;
    const bool is_told = std::ranges::any_of(*access.indices, [&](const Expr& index) {
      const Expr rest = without_variable(index, variable);
      return rest.defined() && !changes_inside(rest, access.scope);
    });
    if (!is_told || !are_same_indices(*indices, *access.indices)) return false;
  }
  return true;
}

/// What iterations of a loop have to do with each other in one piece of memory.
struct AliasQuery {
  bool may_happen = false;
  bool wants_own = false;  ///< It does not where each iteration has memory for itself.
};

AliasQuery query_aliases(AccessTable& table, const Allocation& allocation, const LoopOfUses& uses) {
  const For& loop = uses.loop();
  const auto is_it = [&](const Ptr<Buffer>& other) { return other.same_as(allocation.buffer); };
  const Stmt nest = without_calls(alone(*uses.scope), allocation.buffer);
  const DependenceOptions options{.operations = max_operations,
                                  .local_buffers = {allocation.buffer}};
  Dependences dependences(nest, options);
  const DependenceAnswer answer = independence(dependences, loop);
  if (answer) {
    const bool wants_own = std::ranges::any_of(answer.private_buffers, is_it);
    return {.may_happen = wants_own, .wants_own = wants_own};
  }
  // It may be another buffer of which that is not known. Updates are combined by lanes.
  const bool is_vectorized = loop.kind == ForKind::vectorized;
  const auto concerns_it = [&](const CarriedDependence& each) {
    return is_it(each.buffer) && !(each.is_reduction && is_vectorized);
  };
  if (!find_carried(nest, {&loop.loop_var, 1}, concerns_it, options)) return {};
  const bool wants_own = fills_itself(table, allocation, uses) ||
                         dependences.may_be_private(loop.loop_var, allocation.buffer);
  return {.may_happen = true, .wants_own = wants_own};
}

/// Refuses a loop of which two iterations are certain to access one element of the memory, whatever
/// the sizes.
void refuse_race(const PrimFunc& func, const For& loop, const Ptr<Buffer>& buffer) {
  Dependences dependences(without_calls(func.body, buffer));
  const DependenceAnswer answer = independence(dependences, loop);
  const auto& witness = answer.witness;
  const bool is_certain =
      witness && witness->sizes.empty() && witness->buffer->data.same_as(buffer->data);
  if (!is_certain) return;
  fail(ErrorKind::lower, "iterations_are_independent",
       hint("make the loop serial, or give each iteration elements of its own"), loop.span,
       "iterations of loop {}, which is {}, race on {}: {}", loop.loop_var->name,
       loop.kind == ForKind::vectorized ? "vectorized" : "parallel", buffer->name, witness->text());
}

/// A loop, and the memory that its iterations get; without any, they run one by one.
struct LoopMemory {
  const For* loop = nullptr;
  const Allocation* allocation = nullptr;
};

/// The first loop that needs memory for each iteration; none when all is well.
LoopMemory find_shared(const PrimFunc& func, AccessTable& table) {
  for (const Allocation& allocation : table.allocations()) {
    if (!allocation.buffer) continue;
    for (const LoopOfUses& uses : loops_of(allocation)) {
      const For& loop = uses.loop();
      // Statements that have its pointer, or a view of it, would not see a copy.
      if (allocation.is_opaque) {
        const bool is_parallel = loop.kind == ForKind::parallel;
        if (is_parallel && may_have_own(loop, allocation.buffer)) {
          refuse_race(func, loop, allocation.buffer);
        }
        continue;
      }
      if (!may_have_own(loop, allocation.buffer) || has_own_elements(allocation, uses)) continue;
      const AliasQuery aliases = query_aliases(table, allocation, uses);
      if (!aliases.may_happen) continue;
      if (aliases.wants_own && keeps_its_values(table, allocation, uses)) {
        return {&loop, &allocation};
      }
      const bool is_vectorized = loop.kind == ForKind::vectorized;
      if (!is_vectorized || aliases.wants_own) refuse_race(func, loop, allocation.buffer);
      // Lanes that cannot go in step, as in a reduction of pairs, go one by one.
      if (is_vectorized) return {&loop};
    }
  }
  return {};
}

Ptr<PrimFunc> one_by_one(const Ptr<PrimFunc>& func, const For& found) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ptr<For> inner = rewrite.children(loop);
    if (&loop != &found) return inner;
    For serial = *inner;
    serial.kind = ForKind::serial;
    return make(std::move(serial));
  });
  return rewrite.body_of(func);
}

/// The function with memory of its own for each iteration of the loop.
Ptr<PrimFunc> privatized(const Ptr<PrimFunc>& func, const LoopMemory& found) {
  const Ptr<Buffer>& shared = found.allocation->buffer;
  Buffer copy = *shared;
  copy.data = make(Var(*shared->data));
  const Ptr<Buffer> own = make(std::move(copy));
  Rewriter rename;
  rename.replace_buffer(shared, own);
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    if (&loop != found.loop) return rewrite.children(loop);
    Allocate allocate = *found.allocation->allocate;
    allocate.buffer_var = own->data;
    allocate.body = make(DeclBuffer{.buffer = own, .body = rename(loop.body)});
    For result = loop;
    result.body = make(std::move(allocate));
    return make(std::move(result));
  });
  return rewrite.body_of(func);
}

}  // namespace

Ptr<PrimFunc> privatize_buffers(const Ptr<PrimFunc>& func) {
  if (!contains<Allocate>(func->body)) return func;
  Ptr<PrimFunc> current = func;
  for (;;) {
    AccessTable table(*current);
    const LoopMemory found = find_shared(*current, table);
    if (!found.loop) return current;
    // What is new may be needed in a smaller place, and what is old nowhere.
    current = found.allocation ? plan_allocations(privatized(current, found))
                               : one_by_one(current, *found.loop);
  }
}

}  // namespace loopsmith
