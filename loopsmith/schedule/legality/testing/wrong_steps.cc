// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/testing/wrong_steps.h"

#include <stdexcept>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitive_calls.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith::schedule_testing {
namespace {

struct WrongArguments {
  BlockRV block;

  static constexpr std::tuple parameters{Parameter{"block", &WrongArguments::block}};
};

struct WrongPlan {
  BlockRV block;
  NodeId scope = no_node;
  std::optional<Preservation> preservation = {};
};

Planned<WrongPlan> plan_wrong(const Schedule& schedule, const WrongArguments& arguments) {
  const NodeId scope = schedule.node(*block_around(schedule, schedule.node(arguments.block)));
  return WrongPlan{arguments.block, scope, Preservation{scope}};
}

const SeqStmt& sequence_of(const Schedule& schedule, const WrongPlan& plan) {
  return *schedule.as<SeqStmt>(schedule.at(plan.scope).first_child);
}

void put(Schedule& schedule, const WrongPlan& plan, std::vector<Stmt> statements) {
  schedule.replace(schedule.at(plan.scope).first_child, seq(std::move(statements)));
}

/// Exchanges the first two statements of the scope.
Nothing commit_exchange(Schedule& schedule, WrongPlan&& plan) {
  std::vector<Stmt> statements = sequence_of(schedule, plan).seq;
  std::swap(statements[0], statements[1]);
  put(schedule, plan, std::move(statements));
  return {};
}

/// Leaves out the last statement.
Nothing commit_leave_out(Schedule& schedule, WrongPlan&& plan) {
  std::vector<Stmt> statements = sequence_of(schedule, plan).seq;
  statements.pop_back();
  put(schedule, plan, std::move(statements));
  return {};
}

/// Runs the block once more at the end.
Nothing commit_repeat(Schedule& schedule, WrongPlan&& plan) {
  std::vector<Stmt> statements = sequence_of(schedule, plan).seq;
  const Stmt again = schedule.statement(
      child_towards(schedule, schedule.node(plan.block), schedule.at(plan.scope).first_child));
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) {
    For copy = loop;
    const Ptr<Var> renamed = var("again", copy.loop_var->dtype);
    copy.body = substitute(copy.body, {{copy.loop_var, renamed}});
    copy.loop_var = renamed;
    return make(std::move(copy));
  });
  statements.push_back(rewrite(again));
  put(schedule, plan, std::move(statements));
  return {};
}

/// Caches what the block reads, and copies it before anything else happens.
Nothing commit_copy_early(Schedule& schedule, WrongPlan&& plan) {
  const Ptr<Buffer> buffer = schedule.get(plan.block).reads[0]->buffer;
  const BlockRV scope = schedule.block_at(plan.scope);
  const Ptr<Buffer> copy = buffer_like(*buffer, "early", "global");
  schedule.edit(scope).alloc_buffers.push_back(copy);
  schedule.report().mirrors.push_back({buffer, copy});
  change_accesses(schedule, uses_of(schedule, schedule.node(plan.block), buffer),
                  {.from = buffer, .to = copy});
  const Ptr<Var> i = var("i_early");
  const NodeId first = schedule.at(schedule.at(plan.scope).first_child).first_child;
  schedule.insert_before(first,
                         for_loop(i, 0, buffer->shape[0], store(copy, load(buffer, {i}), {i})));
  return {};
}

/// Lets the block store something else.
Nothing commit_other_value(Schedule& schedule, WrongPlan&& plan) {
  Block& block = schedule.edit(plan.block);
  const auto* before = block.body.as<BufferStore>();
  block.body = store(before->buffer, before->value + float_imm(f32, 1), before->indices);
  return {};
}

/// Copies in time, and something else than what is read.
Nothing commit_copy_wrong(Schedule& schedule, WrongPlan&& plan) {
  const Ptr<Buffer> buffer = schedule.get(plan.block).reads[0]->buffer;
  const Ptr<Buffer> copy = buffer_like(*buffer, "wrong", "global");
  schedule.edit(schedule.block_at(plan.scope)).alloc_buffers.push_back(copy);
  schedule.report().mirrors.push_back({buffer, copy});
  change_accesses(schedule, uses_of(schedule, schedule.node(plan.block), buffer),
                  {.from = buffer, .to = copy});
  const Ptr<Var> i = var("i_wrong");
  const NodeId nest =
      child_towards(schedule, schedule.node(plan.block), schedule.at(plan.scope).first_child);
  schedule.insert_before(nest, for_loop(i, 0, buffer->shape[0],
                                        store(copy, load(buffer, {i}) + load(buffer, {i}), {i})));
  return {};
}

/// Changes the program, then finds that it cannot.
Nothing commit_half(Schedule& schedule, WrongPlan&& plan) {
  commit_exchange(schedule, std::move(plan));
  throw std::runtime_error("half done");
}

using Commit = Nothing (*)(Schedule&, WrongPlan&&);

constexpr const Condition* wrong_conditions[] = {&step_keeps_results};

void take(Commit commit, Schedule& schedule, BlockRV block) {
  const Primitive<WrongArguments, WrongPlan, Nothing> wrong(
      PrimitiveDefinition{.name = std::string_view("wrong"),
                          .doc = std::string_view("Is wrong."),
                          .conditions = wrong_conditions,
                          .plan = plan_wrong,
                          .commit = commit});
  wrong(schedule, block);
}

}  // namespace

void exchange_statements(Schedule& schedule, BlockRV block) {
  take(commit_exchange, schedule, block);
}
void leave_out_the_last(Schedule& schedule, BlockRV block) {
  take(commit_leave_out, schedule, block);
}
void repeat_the_block(Schedule& schedule, BlockRV block) {
  take(commit_repeat, schedule, block);
}
void copy_too_early(Schedule& schedule, BlockRV block) {
  take(commit_copy_early, schedule, block);
}
void store_another_value(Schedule& schedule, BlockRV block) {
  take(commit_other_value, schedule, block);
}
void copy_another_value(Schedule& schedule, BlockRV block) {
  take(commit_copy_wrong, schedule, block);
}
void throw_half_done(Schedule& schedule, BlockRV block) {
  take(commit_half, schedule, block);
}

}  // namespace loopsmith::schedule_testing
