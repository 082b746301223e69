// SPDX-License-Identifier: Apache-2.0
// Primitives that are wrong on purpose: the law refuses each of them, whatever its author forgot.
#include "loopsmith/schedule/legality/result_preservation.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/primitive_calls.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

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
  schedule.report_mirror({buffer, copy});
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
  schedule.report_mirror({buffer, copy});
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
using Wrong = Primitive<WrongArguments, WrongPlan, Nothing>;

inline constexpr const Condition* wrong_conditions[] = {&step_keeps_results};

Wrong wrong(Commit commit) {
  return Wrong(PrimitiveDefinition{.name = std::string_view("wrong"),
                                   .doc = std::string_view("Is wrong."),
                                   .conditions = wrong_conditions,
                                   .plan = plan_wrong,
                                   .commit = commit});
}

constexpr const char* chain = R"((A: T.Buffer((8,)), C: T.Buffer((8,))):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] * T.float32(2)
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[7 - vi]
    for i in range(8):
        with T.block("sum"):
            vi = T.axis.spatial(8, i)
            C[vi] = C[vi] + A[vi]
)";

std::string refused_by(Commit commit, const char* block) {
  Schedule sch(program(chain));
  const auto before = structural_hash(sch.func());
  const std::string error = error_of([&] { wrong(commit)(sch, get_block(sch, block)); });
  EXPECT_EQ(structural_hash(sch.func()), before) << "a refused step left something";
  return error;
}

TEST(result_preservation, refuses_statements_that_change_places) {
  EXPECT_EQ(refused_by(commit_exchange, "B"),
            "step_keeps_results: wrong: results would change: C (i=7) reads what B (vi=0) "
            "writes to B, which would not be there yet");
}

TEST(result_preservation, refuses_to_leave_out_what_is_seen) {
  EXPECT_EQ(refused_by(commit_leave_out, "B"),
            "step_keeps_results: wrong: results would change: sum (vi=0) would not run any more, "
            "and C is used outside");
}

TEST(result_preservation, refuses_to_repeat_what_adds_up_or_is_overwritten) {
  EXPECT_EQ(refused_by(commit_repeat, "C").substr(0, 18), "step_keeps_results");
  EXPECT_EQ(refused_by(commit_repeat, "sum").substr(0, 45),
            "step_keeps_results: wrong: results may change");
}

TEST(result_preservation, refuses_to_read_a_copy_that_is_made_too_early) {
  EXPECT_EQ(refused_by(commit_copy_early, "C").substr(0, 39),
            "step_keeps_results: wrong: results woul");
}

TEST(result_preservation, refuses_statements_that_do_something_else) {
  EXPECT_EQ(refused_by(commit_other_value, "C"),
            "step_keeps_results: wrong: results may change: "
            "`C[vi] = B[7 - vi] + T.float32(1)` is not what it was");
  EXPECT_EQ(refused_by(commit_copy_wrong, "C"),
            "step_keeps_results: wrong: results may change: "
            "`wrong[i_wrong] = B[i_wrong] + B[i_wrong]` is new, and no copy");
}

TEST(result_preservation, takes_back_a_step_in_which_something_is_thrown) {
  Schedule sch(program(chain));
  const BlockRV block = get_block(sch, "B");
  const auto loops = get_loops(sch, block);
  split(sch, loops[0], {infer, 2});
  const auto before = structural_hash(sch.func());
  const std::size_t steps = sch.steps().size();
  EXPECT_THROW(wrong(commit_half)(sch, block), std::runtime_error);
  EXPECT_EQ(structural_hash(sch.func()), before);
  EXPECT_EQ(sch.steps().size(), steps);
  sch.check_tree();
  // The handles from before are as good as they were.
  split(sch, get_loops(sch, block)[1], {infer, 2});
}

}  // namespace
}  // namespace loopsmith
