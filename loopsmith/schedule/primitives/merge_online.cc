// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/merge_online.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/result_nest.h"

namespace loopsmith {
namespace {

/// The block of a loop in which nothing else is but loops.
std::optional<BlockRV> block_in(const Schedule& schedule, LoopRV loop) {
  NodeId at = schedule.node(loop);
  while (schedule.as<For>(at)) {
    const NodeId inside = only_child(schedule, at);
    if (inside == no_node) return {};
    at = inside;
  }
  return schedule.as<BlockRealize>(at) ? std::optional(schedule.block_at(at)) : std::nullopt;
}

std::optional<KnownReduction> maximum_of(const Block& block) {
  auto reduction = reduction_of(block);
  const bool is_maximum = reduction && reduction->reducer && reduction->reducer->name == "max" &&
                          reduction->buffers[0]->dtype.is_float();
  return is_maximum ? reduction : std::nullopt;
}

/// True when iterations of the loop add terms to the same results.
bool runs_over_terms(const Schedule& schedule, LoopRV loop, BlockRV block) {
  const BlockRealize& realize = schedule.realize(block);
  const Ptr<Var>& variable = schedule.get(loop).loop_var;
  return binds_axis(realize, variable, IterType::comm_reduce) &&
         !binds_axis(realize, variable, IterType::data_par);
}

/// Reads the maximum by other expressions in a block that scales with it.
void change_maximum(Schedule& schedule, BlockRV handle, const OnlineSums& sums,
                    const std::function<Expr(const BufferLoad&)>& change) {
  BlockRealize realize = schedule.realize(handle);
  const Ptr<Block> before = realize.block;
  Block block = *before;
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    return load.buffer.same_as(sums.buffer()) ? change(load) : Expr(rewrite.children(load));
  });
  block.body = rewrite(block.body);
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  realize.block = make(std::move(block));
  const Schedule::Renewed renewed{{before.get(), realize.block.get()}};
  schedule.replace(schedule.node(handle), make(std::move(realize)), renewed);
}

/// The inits of reductions in blocks of their own, before the loops: of the maximum, of each sum.
Planned<std::vector<BlockRV>> take_inits_out(Schedule& schedule, const std::vector<LoopRV>& loops,
                                             BlockRV maximum, const OnlineSums& sums) {
  std::vector<BlockRV> inits;
  std::vector<BlockRV> blocks{maximum};
  for (const OnlineSums::Sum& sum : sums.sums()) blocks.push_back(sum.block);
  for (const BlockRV block : blocks) {
    const auto around = std::ranges::find_if(loops, [&](LoopRV loop) {
      return is_inside(schedule, schedule.node(block), schedule.node(loop));
    });
    auto plan = plan_decompose_reduction(schedule, {.block = block, .loop = *around});
    if (auto* refusal = std::get_if<Refusal>(&plan)) return *std::move(refusal);
    inits.push_back(
        commit_decompose_reduction(schedule, std::get<DecomposeReductionPlan>(std::move(plan))));
  }
  return inits;
}

/// The first of what is kept that blocks other than the given ones use.
std::optional<Ptr<Buffer>> used_elsewhere(const Schedule& schedule, const OnlineSums& sums,
                                          const std::vector<BlockRV>& blocks) {
  for (const Ptr<Buffer>& buffer : sums.kept()) {
    const NodeId scope = scope_of(schedule, schedule.node(blocks[0]));
    const Handles<BlockRV> writers = writers_of(schedule, scope, buffer);
    const auto is_given = [&](BlockRV block) {
      return std::ranges::find(blocks, block) != blocks.end();
    };
    const bool is_own = writers.size() == 1 && !is_output_block(schedule, writers[0]) &&
                        std::ranges::all_of(readers_of(schedule, scope, buffer), is_given);
    if (!is_own) return buffer;
  }
  return {};
}

}  // namespace

Planned<MergeOnlinePlan> plan_merge_online(const Schedule& schedule,
                                           const MergeOnlineArguments& arguments) {
  const auto& loops = arguments.loops;
  if (loops.size() < 2) {
    return Refusal{&loops_are_given,
                   {Argument(static_cast<std::int64_t>(loops.size())), Argument(2)}};
  }
  std::vector<BlockRV> blocks;
  for (const LoopRV loop : loops) {
    const auto block = block_in(schedule, loop);
    if (!block) return Refusal{&loop_is_of_one_block, {Argument(loop)}};
    blocks.push_back(*block);
  }
  auto maximum = maximum_of(schedule.get(blocks[0]));
  if (!maximum) return Refusal{&block_is_a_maximum, {Argument(blocks[0])}};
  const auto parent = [&](LoopRV loop) { return schedule.at(schedule.node(loop)).parent; };
  for (const LoopRV loop : loops) {
    if (parent(loop) != parent(loops[0])) {
      return Refusal{&nests_follow_each_other, {Argument(loop), Argument(loops[0])}};
    }
  }
  const Argument buffer(maximum->buffers[0]->name);
  if (!runs_over_terms(schedule, loops[0], blocks[0])) {
    return Refusal{&loop_is_of_terms, {Argument(loops[0]), Argument(blocks[0])}};
  }
  OnlineSums sums(schedule, blocks[0], loops[0], *std::move(maximum));
  for (std::size_t i = 1; i < loops.size(); ++i) {
    const bool reduces = schedule.get(blocks[i]).init.defined();
    const bool is_of_terms = reduces && runs_over_terms(schedule, loops[i], blocks[i]);
    const bool is_whole = !binds_axis(schedule.realize(blocks[i]), schedule.get(loops[i]).loop_var,
                                      IterType::comm_reduce);
    if (!is_of_terms && !is_whole) {
      return Refusal{&loop_is_of_terms, {Argument(loops[i]), Argument(blocks[i])}};
    }
    if (std::string why = sums.add(blocks[i], loops[i], is_whole); !why.empty()) {
      return Refusal{&values_scale_with_maximum,
                     {Argument(blocks[i]), buffer, Argument(std::move(why))}};
    }
  }
  if (sums.sums().empty() && sums.kept().empty()) {
    return Refusal{
        &values_scale_with_maximum,
        {Argument(blocks.back()), buffer, Argument("it does not depend on the maximum")}};
  }
  if (const auto found = used_elsewhere(schedule, sums, blocks)) {
    return changed_results(values_are_used_up, {Argument((*found)->name)});
  }

  Schedule apart = schedule.snapshot();
  auto inits = take_inits_out(apart, loops, blocks[0], sums);
  if (auto* refusal = std::get_if<Refusal>(&inits)) return *std::move(refusal);
  // What is left, but that all need the maximum, has to allow that the loops become one.
  for (std::size_t i = 1; i < blocks.size(); ++i) {
    change_maximum(apart, blocks[i], sums,
                   [](const BufferLoad& load) { return const_of(load.dtype, 0); });
  }
  auto merging = merge_siblings.planned(apart, {.loops = loops});
  if (auto* refusal = std::get_if<Refusal>(&merging)) return in_terms_of(loops[0], *refusal);
  MergeOnlinePlan plan{.loops = loops,
                       .maximum = blocks[0],
                       .sums = std::move(sums),
                       .merging = std::get<MergeSiblingsPlan>(std::move(merging))};
  const LoopRV merged = commit_merge_siblings(apart, MergeSiblingsPlan(plan.merging));
  for (const Ptr<Buffer>& kept : plan.sums.kept()) {
    if (!stays_in_iterations(apart, merged, kept)) {
      return changed_results(values_are_used_up, {Argument(kept->name)});
    }
  }
  for (const OnlineSums::Sum& sum : plan.sums.sums())
    plan.reordered_reduction = Argument(sum.block);
  return plan;
}

LoopRV commit_merge_online(Schedule& schedule, MergeOnlinePlan&& plan) {
  const OnlineSums& sums = plan.sums;
  const Ptr<Buffer>& maximum = sums.buffer();
  const NodeId node = schedule.node(plan.maximum);
  const std::uint32_t function = schedule.function_of(node);
  const BlockRV scope = block_around_or_root(schedule, node);
  const SpanScope span(schedule.span_from(schedule.get(plan.maximum).span));
  const auto like_maximum = [&](std::string_view suffix) {
    const std::string name =
        schedule.fresh_buffer_name(function, maximum->name + std::string(suffix));
    const Ptr<Buffer> buffer =
        decl_buffer(maximum->shape, maximum->dtype, name, std::string(maximum->scope()));
    allocate_in(schedule, scope, buffer);
    return buffer;
  };
  // As they are before their inits are taken out.
  std::vector<Ptr<Block>> reductions{schedule.realize(plan.maximum).block};
  for (const auto& sum : sums.sums()) reductions.push_back(schedule.realize(sum.block).block);
  const std::vector<BlockRV> inits =
      std::get<std::vector<BlockRV>>(take_inits_out(schedule, plan.loops, plan.maximum, sums));
  const auto is_of_maximum = [&](const BufferLoad& load) { return sums.finite(Expr(&load)); };
  const LoopRV merged = commit_merge_siblings(schedule, std::move(plan.merging));
  const NodeId parts = schedule.at(schedule.node(merged)).first_child;
  const NodeId around = schedule.at(schedule.node(merged)).parent;
  for (const BlockRV block : child_blocks(schedule, schedule.node(merged))) {
    if (block != plan.maximum) change_maximum(schedule, block, sums, is_of_maximum);
  }

  const auto nest_of = [&](std::size_t which, const std::string& name, const Stmt& body) {
    const NodeId init = child_towards(schedule, schedule.node(inits[which]), around);
    return result_nest(schedule.statement(init), *reductions[which],
                       schedule.fresh_block_name(function, name), body);
  };
  const auto part_of = [&](BlockRV block) {
    return child_towards(schedule, schedule.node(block), parts);
  };
  const Ptr<Buffer> before = like_maximum("_before"), scale = like_maximum("_scale");
  const Expr now = load(maximum, sums.indices()), then = load(before, sums.indices());
  const std::string& name = reductions[0]->name_hint;
  schedule.insert_before(part_of(plan.maximum),
                         nest_of(0, name + "_before", store(before, now, sums.indices())));
  schedule.insert_after(
      part_of(plan.maximum),
      nest_of(0, name + "_scale", store(scale, sums.factor(then, now), sums.indices())));
  for (std::size_t i = 0; i < sums.sums().size(); ++i) {
    const auto& sum = sums.sums()[i];
    const KnownReduction reduction = *reduction_of(*reductions[i + 1]);
    const Ptr<Buffer>& result = reduction.buffers[0];
    const Expr factor = cast(result->dtype, load(scale, sum.maximum));
    const Stmt rescale = store(result, load(result, reduction.indices) * factor, reduction.indices);
    schedule.insert_before(part_of(sum.block),
                           nest_of(i + 1, reductions[i + 1]->name_hint + "_rescale", rescale));
  }
  return merged;
}

}  // namespace loopsmith
