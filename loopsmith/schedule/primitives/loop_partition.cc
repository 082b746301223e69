// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/loop_partition.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

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

/// The blocks inside the loop whose init never runs in a part of it.
std::vector<const Block*> going_on_in(const Schedule& schedule, LoopRV handle,
                                      const LoopPart& part) {
  const For& loop = schedule.get(handle);
  const std::int64_t start = *as_int(loop.min) + part.first * *as_int(loop.step);
  const std::int64_t last = start + (part.count - 1) * *as_int(loop.step);
  std::vector<const Block*> found;
  const auto visit = [&](const auto& self, NodeId node, IndexForms forms) -> void {
    const auto* inner = schedule.as<For>(node);
    if (inner && node != schedule.node(handle)) {
      if (const auto range = range_of(*inner)) forms.add_range(*range);
    }
    if (const auto* realize = schedule.as<BlockRealize>(node)) {
      bool never_starts = false;
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        const IterVar& axis = *realize->block->iter_vars[i];
        forms.bind(axis.var, realize->iter_values[i]);
        const auto form = forms.read(axis.var);
        const auto values = form ? form->range() : std::nullopt;
        const std::int64_t* first = as_int(axis.dom->min);
        if (axis.iter_type != IterType::comm_reduce || !values || !first) continue;
        never_starts = never_starts || *first < values->first || *first > values->second;
      }
      if (realize->block->init && never_starts) found.push_back(realize->block.get());
    }
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      deep_call([&] { self(self, child, forms); });
    }
  };
  IndexForms forms(ranges_around(schedule, schedule.at(schedule.node(handle)).parent));
  forms.add_range({loop.loop_var.get(), std::min(start, last), std::max(start, last)});
  visit(visit, schedule.node(handle), std::move(forms));
  return found;
}

/// The loop's body for one part: blocks with `suffix`, and without the inits that never run there.
Stmt body_of_part(Schedule& schedule, std::uint32_t function, const Stmt& body,
                  const LoopPart& part, const std::string& suffix, const BufferOfPointer& buffers) {
  Rewriter rewrite;
  std::size_t changed = 0;
  rewrite.on<Block>([&](const Block& block) {
    const std::size_t before = changed;
    Block copy = *rewrite.children(block);
    copy.name_hint = schedule.fresh_block_name(function, block.name_hint + suffix);
    if (std::ranges::find(part.going_on, &block) != part.going_on.end()) {
      ++changed;
      copy.init = nullptr;
      copy.reads.insert(copy.reads.begin(), copy.writes.begin(), copy.writes.end());
    } else if (changed != before) {
      copy.reads = access_regions(copy, buffers).reads;
    }
    return make(std::move(copy));
  });
  return rewrite(body);
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
    return Refusal{&loop_runs_to_its_end, {Argument(arguments.loop)}};
  }
  if (auto refusal = refuse_hidden_init(schedule, arguments.loop)) return *std::move(refusal);
  LoopPartitionPlan plan{.loop = arguments.loop, .drops_units = !arguments.preserve_unit_iters};
  std::int64_t first = 0;
  for (const std::int64_t length : std::get<std::vector<std::int64_t>>(lengths)) {
    LoopPart& part = plan.parts.emplace_back(LoopPart{.first = first, .count = length});
    part.going_on = going_on_in(schedule, arguments.loop, part);
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
        body_of_part(schedule, function, loop.body, piece, "_" + names.back(), buffers);
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
