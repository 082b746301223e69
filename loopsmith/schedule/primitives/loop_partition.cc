// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/loop_partition.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/empty_reductions.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/rewrites/loop_parts.h"

namespace loopsmith {
namespace {

/// How long each part is, the inferred and the last one included; a refusal where that cannot be.
std::variant<std::vector<std::int64_t>, Refusal> lengths_of(const Schedule& schedule,
                                                            const LoopPartitionArguments& arguments,
                                                            std::int64_t extent) {
  std::vector<std::int64_t> lengths;
  std::optional<std::size_t> inferred;
  std::int64_t sum = 0;
  bool is_too_long = false;
  for (const Factor& factor : arguments.factors) {
    const std::size_t place = lengths.size();
    const std::int64_t length = schedule.get(factor).value_or(-1);
    if (length != -1 && length < 1) {
      return Refusal{
          &factor_is_positive,
          {Argument(static_cast<std::int64_t>(place)), Argument(arguments.loop), Argument(length)}};
    }
    if (length == -1 && inferred) {
      return Refusal{&one_factor_is_inferred, {Argument(arguments.loop)}};
    }
    if (length == -1) inferred = place;
    lengths.push_back(length == -1 ? 0 : length);
    is_too_long = is_too_long || __builtin_add_overflow(sum, lengths.back(), &sum);
  }
  const bool is_full = inferred ? sum >= extent : sum > extent;
  if (is_too_long || is_full) {
    return Refusal{&parts_fit_the_loop,
                   {is_too_long ? Argument("too many") : Argument(sum), Argument(arguments.loop),
                    Argument(extent)}};
  }
  if (inferred) {
    lengths[*inferred] = extent - sum;
  } else if (sum < extent) {
    lengths.push_back(extent - sum);
  }
  return lengths;
}

/// A block without axes around `body`, which says what that accesses.
Stmt without_axes(std::string name, Stmt body, const BufferOfPointer& buffers) {
  Block block{.name_hint = std::move(name), .body = std::move(body)};
  AccessRegions regions = access_regions(block, buffers);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  return make(BlockRealize{.block = make(std::move(block))});
}

/// True when parts of the loop that each give the init of the block, where there is nothing to
/// reduce, do what the loop did: all do the same, and nothing comes in between.
bool gives_init_in_each_part(const Schedule& schedule, BlockRV block, LoopRV loop) {
  const Ptr<Var>& variable = schedule.get(loop).loop_var;
  if (uses_variable(schedule.realize(block).predicate, variable)) return false;
  const NodeId end = schedule.node(loop);
  for (NodeId node = schedule.node(block); node != end; node = schedule.at(node).parent) {
    const auto* branch = schedule.as<IfThenElse>(node);
    if (branch && uses_variable(branch->condition, variable)) return false;
    if (schedule.as<SeqStmt>(node)) return false;
  }
  bool reads = false;
  if (const Stmt& init = schedule.get(block).init) {
    pre_order_visit(init, [&](const Ref& ref) {
      reads = reads || ref.is<BufferLoad>();
      return !reads;
    });
  }
  return !reads;
}

}  // namespace

Planned<LoopPartitionPlan> plan_loop_partition(const Schedule& schedule,
                                               const LoopPartitionArguments& arguments) {
  const For& loop = schedule.get(arguments.loop);
  if (auto refusal = refuse_unless_plain(schedule, arguments.loop)) return *std::move(refusal);
  const std::int64_t* extent = as_int(loop.extent);
  if (!extent || !as_int(loop.min) || !as_int(loop.step)) {
    return Refusal{&loop_bounds_are_constant, {Argument(arguments.loop)}};
  }
  auto lengths = lengths_of(schedule, arguments, std::max<std::int64_t>(*extent, 0));
  if (auto* refusal = std::get_if<Refusal>(&lengths)) return std::move(*refusal);
  if (is_left_by_break(schedule, arguments.loop)) {
    return Refusal{&iterations_reach_their_end, {Argument("break"), Argument(arguments.loop)}};
  }
  if (const auto block = reduction_empty_in_parts(schedule, arguments.loop)) {
    return changed_results(empty_reductions_start, {Argument(arguments.loop), Argument(*block)});
  }
  // Blocks around the parts keep inits from going outside of them, and each gives its own.
  const NodeId own = schedule.node(arguments.loop);
  for (const BlockRV block : child_blocks(schedule, own)) {
    const bool is_plain = gives_init_in_each_part(schedule, block, arguments.loop);
    const NodeId from = is_plain ? schedule.at(own).parent : own;
    if (const auto reduction = loop_of_empty_reduction(schedule, block, from)) {
      return changed_results(empty_reductions_start, {Argument(*reduction), Argument(block)});
    }
  }
  LoopPartitionPlan plan{.loop = arguments.loop, .drops_units = !arguments.preserve_unit_iters};
  std::int64_t first = 0;
  for (const std::int64_t length : std::get<std::vector<std::int64_t>>(lengths)) {
    LoopPart& part = plan.parts.emplace_back(LoopPart{.first = first, .count = length});
    part.going_on = blocks_without_start(schedule, arguments.loop, part.first, part.count);
    first += length;
  }
  const auto blocks = child_blocks(schedule, schedule.node(arguments.loop));
  if (!blocks.empty()) plan.block = schedule.name(blocks[0]);
  return plan;
}

Handles<LoopRV> commit_loop_partition(Schedule& schedule, LoopPartitionPlan&& plan) {
  const For loop = schedule.get(plan.loop);
  const NodeId node = schedule.node(plan.loop);
  const std::uint32_t function = schedule.function_of(node);
  const DataType type = loop.loop_var->dtype;
  const SpanScope span(schedule.span_from(loop.span));
  const auto buffers = buffers_by_pointer(*schedule.as<PrimFunc>(schedule.root(function)));
  std::vector<Stmt> parts;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const LoopPart& piece = plan.parts[i];
    names.push_back(
        schedule.fresh_loop_name(function, fmt::format("{}{}", loop.loop_var->name, i)));
    For part = loop;
    part.loop_var = var(names.back(), type);
    part.min = loop.min + int_imm(type, piece.first) * loop.step;
    part.extent = int_imm(type, piece.count);
    const Stmt body =
        body_of_part(schedule, function, loop.body, piece.going_on, "_" + names.back(), buffers);
    const bool is_value = plan.drops_units && piece.count == 1;
    part.body = clone_with(body, {{loop.loop_var, is_value ? part.min : Expr(part.loop_var)}});
    Stmt stmt = make(std::move(part));
    if (!plan.block.empty()) {
      const std::string name = fmt::format("{}_{}_partition", plan.block, names.back());
      stmt = without_axes(schedule.fresh_block_name(function, name), std::move(stmt), buffers);
    }
    parts.push_back(std::move(stmt));
  }
  Stmt all = seq(std::move(parts));
  if (!plan.block.empty()) {
    const std::string name = fmt::format("{}_{}_common", plan.block, loop.loop_var->name);
    all = without_axes(schedule.fresh_block_name(function, name), std::move(all), buffers);
  }
  schedule.replace(node, std::move(all));
  Handles<LoopRV> made;
  for (const std::string& name : names) {
    made.push_back(schedule.loops_named(function, name)[0]);
  }
  return made;
}

}  // namespace loopsmith
