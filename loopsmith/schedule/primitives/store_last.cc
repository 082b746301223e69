// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/store_last.h"

#include <algorithm>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"

namespace loopsmith {
namespace {

/// The stores of a statement that is nothing else.
std::optional<std::vector<Stmt>> plain_stores_of(const Stmt& stmt) {
  const auto* sequence = stmt.as<SeqStmt>();
  std::vector<Stmt> stores = sequence ? sequence->seq : std::vector<Stmt>{stmt};
  const auto is_store = [](const Stmt& each) {
    const auto* store = each.as<BufferStore>();
    return store && !store->predicate.defined();
  };
  return std::ranges::all_of(stores, is_store) ? std::optional(std::move(stores)) : std::nullopt;
}

/// True when a value is the same whenever it is computed from the same memory: nothing in it is
/// rounded, which may depend on the code around.
bool is_exact(const Expr& value) {
  bool is = true;
  pre_order_visit(value, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    const Expr part = Expr::from(ref);
    is = is && (!part.defined() || part.dtype().is_integer() || ref.is<BufferLoad>() ||
                ref.is<Cast>() || ref.is<FloatImm>() || (call && call->op == op("fabs")));
    return is && !ref.is<BufferLoad>();
  });
  return is;
}

/// True when memory in a function may have a name besides that of its buffers.
bool names_pointers(const Schedule& schedule, NodeId node) {
  bool found = false;
  const NodeId root = schedule.root(schedule.function_of(node));
  pre_order_visit(schedule.as<PrimFunc>(root)->body, [&](const Ref& ref) {
    const auto* let = ref.as<LetStmt>();
    found = found || (let && let->var->dtype.is_handle());
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// True when there is a number that comes before those of a loop.
bool has_number_before(const For& loop) {
  const std::int64_t *step = as_int(loop.step), *min = as_int(loop.min);
  const DataType type = loop.loop_var->dtype;
  std::int64_t before = 0;
  return step && (!min || (!__builtin_sub_overflow(*min, *step, &before) &&
                           before >= min_int(type) && before <= max_int(type)));
}

/// A variable of one element around what uses it.
Stmt with_variable(const Ptr<Buffer>& variable, Stmt body) {
  return make(Allocate{.dtype = variable->dtype,
                       .extents = {},
                       .condition = true,
                       .buffer_var = variable->data,
                       .body = make(DeclBuffer{.buffer = variable, .body = std::move(body)})});
}

Stmt if_then(const Expr& condition, Stmt body) {
  return make(IfThenElse{.condition = condition, .then_case = std::move(body), .else_case = {}});
}

/// Stores the number of an iteration in `found`, the later or the earlier one.
Stmt search(For loop, const Expr& condition, const Ptr<Buffer>& found, bool takes_largest) {
  const Combiner combiner = takes_largest ? Combiner::maximum : Combiner::minimum;
  loop.body =
      if_then(condition, store(found, combined(combiner, load(found, {}), loop.loop_var), {}));
  return make(std::move(loop));
}

}  // namespace

Planned<StoreLastPlan> plan_store_last(const Schedule& schedule,
                                       const StoreLastArguments& arguments) {
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  const For& loop = schedule.get(arguments.loop);
  const auto refused = [&](const char* why) {
    return Refusal{&values_of_one_iteration, {Argument(arguments.loop), Argument(why)}};
  };
  const auto* branch = loop.body.as<IfThenElse>();
  auto stores = branch && !branch->else_case ? plain_stores_of(branch->then_case) : std::nullopt;
  if (!stores) return refused("its body is no `if` around stores");
  if (!has_number_before(loop)) return refused("there is no number before its first one");
  if (names_pointers(schedule, schedule.node(arguments.loop))) {
    return refused("pointers in the function have names");
  }
  StoreLastPlan plan{arguments.loop, branch->condition, {}, {}, false};
  std::vector<Expr> read{loop.min, loop.extent};
  for (const Stmt& each : *stores) {
    const auto& stored = *each.as<BufferStore>();
    IfThenElse alone = *branch;
    alone.then_case = each;
    if (!plan.update && selected_update(alone) && is_exact(stored.value)) {
      plan.takes_first = branch->condition.is<LT>() || branch->condition.is<GT>();
      plan.condition = stored.value == load(stored.buffer, stored.indices);
      plan.update = make(std::move(alone));
      read.push_back(stored.value);
    } else {
      plan.stores.push_back(each);
      read.push_back(stored.value);
    }
    for (const Expr& index : stored.indices) {
      if (uses_variable(index, loop.loop_var)) return refused("it stores into many elements");
      read.push_back(index);
    }
  }
  const auto overwrites_extreme = [&](const Stmt& each) {
    const auto& extreme = *plan.update.as<IfThenElse>()->then_case.as<BufferStore>();
    return each.as<BufferStore>()->buffer->data.same_as(extreme.buffer->data);
  };
  if (plan.update && std::ranges::any_of(plan.stores, overwrites_extreme)) {
    return refused("it stores the extreme, and beside it into the same memory");
  }
  if (plan.stores.empty()) return refused("it is an extreme and nothing else, a reduction");
  if (!plan.update) read.push_back(branch->condition);
  const auto is_fixed = [&](const Expr& expr) {
    return is_pure(expr) && !may_change(expr, branch->then_case);
  };
  if (!std::ranges::all_of(read, is_fixed)) return refused("it reads what it stores");
  return plan;
}

Handles<LoopRV> commit_store_last(Schedule& schedule, StoreLastPlan&& plan) {
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const For loop = schedule.get(plan.loop);
  const SpanScope span(schedule.span_from(loop.span));
  const DataType type = loop.loop_var->dtype;
  const auto variable = [&](DataType dtype, const char* name) {
    return decl_buffer({}, dtype, schedule.fresh_buffer_name(function, name), "local");
  };
  const Ptr<Buffer> found = variable(type, plan.takes_first ? "first" : "last");
  const bool takes_largest = plan.takes_first == (*as_int(loop.step) < 0);
  std::vector<Ptr<Var>> variables{loop.loop_var};
  For searching = loop;
  if (plan.update) {
    const std::string name = schedule.fresh_loop_name(function, loop.loop_var->name);
    searching.loop_var = var(name, type);
    variables.push_back(searching.loop_var);
    plan.condition = substitute(plan.condition, {{loop.loop_var, searching.loop_var}});
  }
  const Expr none =
      plan.takes_first ? (takes_largest ? min_value(type) : max_value(type)) : loop.min - loop.step;
  const Stmt results = substitute(seq(std::move(plan.stores)), {{loop.loop_var, load(found, {})}});
  Stmt made = with_variable(
      found, seq({store(found, none, {}), search(searching, plan.condition, found, takes_largest),
                  plan.takes_first ? results : if_then(load(found, {}) != none, results)}));
  if (plan.update) {
    For extreme = loop;
    extreme.body = plan.update;
    const auto& branch = *plan.update.as<IfThenElse>();
    const auto& stored = *branch.then_case.as<BufferStore>();
    const Expr best = load(stored.buffer, stored.indices);
    if (plan.takes_first) {
      const Ptr<Buffer> before = variable(stored.value.dtype(), "before");
      // The same comparison, with what was there in the place of what it was compared with.
      const Combiner combiner =
          accumulation_of(*selected_update(branch).as<BufferStore>())->combiner;
      const bool is_largest = combiner == Combiner::larger || combiner == Combiner::maximum;
      const Expr old = load(before, {});
      made = with_variable(before, seq({store(before, best, {}), make(std::move(extreme)),
                                        if_then(is_largest ? best > old : best < old, made)}));
    } else {
      made = seq({make(std::move(extreme)), made});
    }
  }
  schedule.replace(node, std::move(made));
  return loops_of_vars(schedule, function, variables);
}

}  // namespace loopsmith
