// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/pad_einsum.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/padding.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"
#include "loopsmith/schedule/rewrites/pointer_caches.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

class EinsumPlanner {
 public:
  EinsumPlanner(const Schedule& schedule, const PadEinsumArguments& arguments)
      : schedule_(schedule),
        padding_(arguments.padding),
        realize_(schedule.realize(arguments.block)),
        block_(*realize_.block) {
    plan_.block = arguments.block;
  }

  Planned<PadEinsumPlan> find() && {
    const NodeId node = schedule_.node(plan_.block);
    const auto count = static_cast<std::int64_t>(block_.iter_vars.size());
    if (!is_padding_of(block_, padding_)) {
      return Refusal{&padding_is_positive, {Argument(plan_.block), Argument(count)}};
    }
    const auto scope = block_around(schedule_, node);
    if (!scope) return Refusal{&block_is_not_root, {Argument(plan_.block)}};
    plan_.scope = *scope;
    if (auto refusal = refuse_other_kinds(schedule_, plan_.block, plan_.scope)) {
      return *std::move(refusal);
    }
    find_extents();
    if (auto refusal = find_loops()) return *std::move(refusal);
    if (!block_.body.is<BufferStore>()) return fail("its body is not one store");
    for (const auto& region : block_.reads) {
      if (auto refusal = add_operand(*region, false)) return *std::move(refusal);
    }
    for (const auto& region : block_.writes) {
      if (auto refusal = add_operand(*region, true)) return *std::move(refusal);
    }
    const bool changes =
        std::ranges::any_of(plan_.extents, [](const Expr& extent) { return extent.defined(); });
    if (!changes) return std::move(plan_);
    if (!is_alone_in(schedule_, nest_of(schedule_, plan_.scope, plan_.block), plan_.block)) {
      return Refusal{&nest_is_of_block_alone, {Argument(plan_.block)}};
    }
    const Instances instances = instances_of(schedule_, plan_.block);
    if (!instances.unknown.empty() || !instances.conditions.empty()) {
      return fail("not all values of its axes are run");
    }
    if (auto refusal = refuse_unwritten()) return *std::move(refusal);
    if (divides()) return fail("it divides integers, by zero in what is padded");
    if (auto refusal = refuse_zeros()) return *std::move(refusal);
    plan_.preservation = {schedule_.node(plan_.scope)};
    return std::move(plan_);
  }

 private:
  Refusal fail(std::string why) const {
    return {&block_is_einsum, {Argument(plan_.block), Argument(std::move(why))}};
  }

  void find_extents() {
    for (std::size_t k = 0; k < padding_.size(); ++k) {
      plan_.extents.push_back(padded_extent(*block_.iter_vars[k], padding_[k]));
    }
  }

  std::optional<std::size_t> axis_of(const Expr& expr) const {
    for (std::size_t k = 0; k < block_.iter_vars.size(); ++k) {
      if (expr.same_as(block_.iter_vars[k]->var)) return k;
    }
    return {};
  }

  /// The loops that changed axes are bound to.
  std::optional<Refusal> find_loops() {
    for (std::size_t k = 0; k < plan_.extents.size(); ++k) {
      if (!plan_.extents[k].defined()) continue;
      const Expr& value = realize_.iter_values[k];
      if (!is_const_int(block_.iter_vars[k]->dom->min, 0))
        return fail("its axes do not start at 0");
      for (const LoopRV loop : loops_around(schedule_, schedule_.node(plan_.block))) {
        const For& node = schedule_.get(loop);
        if (uses_variable(plan_.extents[k], node.loop_var)) {
          return fail("the extent of an axis depends on a loop");
        }
        if (!value.same_as(node.loop_var)) continue;
        for (std::size_t other = 0; other < plan_.extents.size(); ++other) {
          if (other != k && uses_variable(realize_.iter_values[other], node.loop_var)) {
            return fail("a loop is bound to two of its axes");
          }
        }
        if (is_const_int(node.min, 0) && is_const_int(node.step, 1)) {
          plan_.loops.emplace_back(loop, plan_.extents[k]);
        }
      }
    }
    return refuse_dependent_loops();
  }

  /// Of more iterations of a loop, others may be no longer.
  std::optional<Refusal> refuse_dependent_loops() const {
    for (const auto& [padded, extent] : plan_.loops) {
      const auto uses = [&](const Expr& expr) {
        return uses_variable(expr, schedule_.get(padded).loop_var);
      };
      const bool is_in_domain = std::ranges::any_of(block_.iter_vars, [&](const auto& axis) {
        return uses(axis->dom->min) || uses(axis->dom->extent);
      });
      const auto around = loops_around(schedule_, schedule_.node(plan_.block));
      const bool is_in_bound = std::ranges::any_of(around, [&](LoopRV loop) {
        return uses(schedule_.get(loop).min) || uses(schedule_.get(loop).extent);
      });
      if (is_in_domain || is_in_bound) return fail("the extent of an axis depends on a loop");
    }
    return {};
  }

  std::optional<Refusal> add_operand(const BufferRegion& region, bool is_write) {
    const Ptr<Buffer>& buffer = region.buffer;
    std::size_t uses = 0;
    for (const auto* regions : {&block_.reads, &block_.writes}) {
      for (const auto& other : *regions) uses += other->buffer.same_as(buffer) ? 1 : 0;
    }
    if (uses != 1 || !is_used_once(region) ||
        !uses_of(schedule_, schedule_.node(plan_.block), buffer).by_indices_alone()) {
      return fail(fmt::format("buffer {} is used in more than one way", buffer->name));
    }
    PaddedOperand operand{.buffer = buffer, .is_write = is_write};
    bool is_changed = false, starts_at_zero = true;
    for (std::size_t d = 0; d < region.region.size(); ++d) {
      const Range& side = *region.region[d];
      const auto axis = axis_of(side.min);
      if (!is_const_int(side.extent, 1) || (!axis && !may_stay(side.min, is_write))) {
        return fail(
            fmt::format("index {} of buffer {} is neither an axis nor a number", d, buffer->name));
      }
      const bool is_number = side.min.is<IntImm>();
      const Expr one = int_imm(side.min.dtype(), 1);
      const bool is_padded = axis && plan_.extents[*axis].defined();
      is_changed = is_changed || is_padded;
      if (axis) {
        starts_at_zero = starts_at_zero && is_const_int(block_.iter_vars[*axis]->dom->min, 0);
      }
      operand.indices.push_back(side.min);
      operand.extents.push_back(axis        ? copied_extent(*axis, buffer->shape[d])
                                : is_number ? one
                                            : buffer->shape[d]);
      operand.shape.push_back(is_padded   ? plan_.extents[*axis]
                              : is_number ? one
                                          : buffer->shape[d]);
    }
    if (is_changed && !starts_at_zero) return fail("its axes do not start at 0");
    if (is_write && !tells_axes(region)) {
      return fail(fmt::format("{} does not have an element for each value of its axes, from 0 on",
                              buffer->name));
    }
    if (is_changed) plan_.operands.push_back(std::move(operand));
    return {};
  }

  /// True of an index that padding leaves as it is: a number, or of what is read any that is made
  /// of other axes; then a copy has all of that dimension.
  bool may_stay(const Expr& index, bool is_write) const {
    if (index.is<IntImm>()) return true;
    for (std::size_t k = 0; k < block_.iter_vars.size(); ++k) {
      const bool is_padded = plan_.extents[k].defined();
      if (is_padded && uses_variable(index, block_.iter_vars[k]->var)) return false;
    }
    return !is_write && !reads_memory(index);
  }

  /// True when each access to the buffer of a region is by the indices that the region has.
  bool is_used_once(const BufferRegion& region) const {
    const auto is_it = [&](const std::vector<Expr>& indices) {
      return std::ranges::equal(indices, region.region, [](const Expr& index, const auto& side) {
        return structural_equal(index, side->min);
      });
    };
    bool is_once = true;
    const auto look = [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      const auto* store = ref.as<BufferStore>();
      if (load && load->buffer.same_as(region.buffer)) is_once = is_once && is_it(load->indices);
      if (store && store->buffer.same_as(region.buffer)) is_once = is_once && is_it(store->indices);
      return is_once && !ref.is<Buffer>();
    };
    pre_order_visit(block_.body, look);
    if (block_.init) pre_order_visit(block_.init, look);
    return is_once;
  }

  /// True when each spatial axis is one index of what is written, and starts at 0: values that are
  /// added to it write elements that are added.
  bool tells_axes(const BufferRegion& region) const {
    for (std::size_t k = 0; k < block_.iter_vars.size(); ++k) {
      const IterVar& axis = *block_.iter_vars[k];
      const auto uses = std::ranges::count_if(
          region.region, [&](const auto& side) { return side->min.same_as(axis.var); });
      const bool is_padded = plan_.extents[k].defined() && axis.iter_type == IterType::data_par;
      if (uses > 1 || (uses == 0 && is_padded)) return false;
      if (uses == 1 && !is_const_int(axis.dom->min, 0)) return false;
    }
    return true;
  }

  /// How far an axis goes in a dimension. What a condition in the block keeps it from is not there.
  Expr copied_extent(std::size_t axis, const Expr& dimension) const {
    const Expr& extent = block_.iter_vars[axis]->dom->extent;
    Analyzer analyzer;
    if (analyzer.can_prove(extent <= dimension, ProofStrength::symbolic_bound)) return extent;
    if (analyzer.can_prove(dimension <= extent, ProofStrength::symbolic_bound)) return dimension;
    return min(extent, dimension);
  }

  /// The copy of an operand takes all that the axes come to; the block may read less.
  std::optional<Refusal> refuse_unwritten() const {
    const NodeId scope = schedule_.node(plan_.scope);
    for (const PaddedOperand& operand : plan_.operands) {
      if (operand.is_write) continue;
      const auto is_used_twice = [&](const Expr& index) {
        return !index.is<IntImm>() &&
               std::ranges::count_if(operand.indices,
                                     [&](const Expr& other) { return other.same_as(index); }) > 1;
      };
      const auto is_made_of_axes = [&](const Expr& index) {
        return !index.is<IntImm>() && !axis_of(index);
      };
      const bool reads_all = !may_skip(realize_, operand.buffer) &&
                             std::ranges::none_of(operand.indices, is_used_twice) &&
                             std::ranges::none_of(operand.indices, is_made_of_axes);
      if (reads_all) continue;
      const auto found = cache_subject_by_index(schedule_, plan_.block, operand.buffer,
                                                BufferSelector::Side::read, "global");
      if (const auto* refusal = std::get_if<Refusal>(&found)) return *refusal;
      AffineRegion box = read_region(schedule_, operand.buffer, {plan_.block}, scope);
      for (std::size_t d = 0; d < box.sides.size(); ++d) {
        if (is_made_of_axes(operand.indices[d])) box.sides[d] = AffineInterval{};
      }
      const CopyPlace place{.at = nest_of(schedule_, plan_.scope, plan_.block), .around = scope};
      if (!is_written_before(schedule_, std::get<CacheSubject>(found), box, place)) {
        return changed_results(copied_elements_are_written,
                               {Argument(Ref(operand.buffer)), Argument(plan_.block)});
      }
    }
    return {};
  }

  /// True when an integer is divided by something that may be 0 in what is padded.
  bool divides() const {
    bool found = false;
    const auto look = [&](const auto* division) {
      if (!division || !division->b.dtype().is_integer()) return;
      const std::int64_t* divisor = as_int(division->b);
      found = found || !divisor || *divisor == 0;
    };
    pre_order_visit(block_.body, [&](const Ref& ref) {
      look(ref.as<Div>());
      look(ref.as<Mod>());
      look(ref.as<FloorDiv>());
      look(ref.as<FloorMod>());
      return !found;
    });
    return found;
  }

  /// True when an expression is 0 where the reads that `axis` indexes are.
  bool vanishes(const Expr& expr, const Expr& axis) const {
    if (const auto* node = expr.as<BufferLoad>()) {
      return std::ranges::any_of(node->indices, [&](const Expr& i) { return i.same_as(axis); });
    }
    if (const auto* node = expr.as<Cast>()) return vanishes(node->value, axis);
    if (const auto* node = expr.as<Mul>())
      return vanishes(node->a, axis) || vanishes(node->b, axis);
    if (const auto* node = expr.as<Add>())
      return vanishes(node->a, axis) && vanishes(node->b, axis);
    if (const auto* node = expr.as<Sub>())
      return vanishes(node->a, axis) && vanishes(node->b, axis);
    return false;
  }

  /// Refuses reductions over more values unless these add 0.
  std::optional<Refusal> refuse_zeros() const {
    const auto reduction = block_.init ? reduction_of(block_) : std::nullopt;
    for (std::size_t k = 0; k < plan_.extents.size(); ++k) {
      const IterVar& axis = *block_.iter_vars[k];
      if (!plan_.extents[k].defined() || axis.iter_type == IterType::data_par) continue;
      const auto* store = block_.body.as<BufferStore>();
      bool is_sum = reduction && reduction->reducer->name == "sum" && store;
      if (is_sum) {
        const auto added = right_side_of(*reduction->reducer, {store->value},
                                         {load(store->buffer, store->indices)});
        is_sum = added && vanishes((*added)[0], axis.var);
      }
      if (!is_sum) {
        return changed_results(zeros_are_neutral,
                               {Argument(axis.var->name), Argument(plan_.block)});
      }
    }
    return {};
  }

  const Schedule& schedule_;
  const std::vector<std::int64_t>& padding_;
  const BlockRealize& realize_;
  const Block& block_;
  PadEinsumPlan plan_;
};

/// A block that copies an operand into its padded copy, or what is not padding back.
Stmt copy_nest(Schedule& schedule, std::uint32_t function, const PaddedOperand& operand,
               const Ptr<Buffer>& copy) {
  std::vector<Ptr<Range>> domains;
  for (std::size_t d = 0; d < operand.shape.size(); ++d) {
    const Expr& extent = operand.is_write ? operand.extents[d] : operand.shape[d];
    domains.push_back(range(zero_of(extent.dtype()), extent));
  }
  const AxesNest nest = axes_nest(schedule, function, domains, "i");
  std::vector<Expr> outside, inside;
  Expr is_there = true;
  Analyzer analyzer;
  for (std::size_t d = 0; d < operand.shape.size(); ++d) {
    const Expr axis = nest.axes[d]->var;
    const bool is_number = operand.indices[d].is<IntImm>();
    inside.push_back(axis);
    outside.push_back(is_number ? operand.indices[d] : axis);
    const bool is_padded = !analyzer.can_prove_equal(operand.extents[d], operand.shape[d]);
    if (is_padded) is_there = is_there && axis < operand.extents[d];
  }
  Block block{.name_hint = schedule.fresh_block_name(function, copy->name)};
  if (operand.is_write) {
    block.reads = {point_region(copy, inside)};
    block.writes = {point_region(operand.buffer, outside)};
    block.body = store(operand.buffer, load(copy, inside), outside);
  } else {
    block.reads = {point_region(operand.buffer, outside)};
    block.writes = {point_region(copy, inside)};
    const Expr value = load(operand.buffer, outside);
    block.body = store(copy, if_then_else(is_there, value, zero_of(value.dtype())), inside);
  }
  return nest_around(nest, std::move(block), Expr());
}

}  // namespace

Planned<PadEinsumPlan> plan_pad_einsum(const Schedule& schedule,
                                       const PadEinsumArguments& arguments) {
  return EinsumPlanner(schedule, arguments).find();
}

Nothing commit_pad_einsum(Schedule& schedule, PadEinsumPlan&& plan) {
  const std::uint32_t function = schedule.function_of(schedule.node(plan.block));
  for (const PaddedOperand& operand : plan.operands) {
    const Buffer& buffer = *operand.buffer;
    Buffer padded = *buffer_like(buffer, schedule.fresh_buffer_name(function, buffer.name + "_pad"),
                                 buffer.scope());
    padded.shape = operand.shape;
    const Ptr<Buffer> copy = make(std::move(padded));
    AccessChange change{.from = operand.buffer, .to = copy};
    change.indices = [](const std::vector<Expr>& indices, const IndexForms&) {
      std::vector<Expr> made = indices;
      for (Expr& index : made) {
        if (index.is<IntImm>()) index = zero_of(index.dtype());
      }
      return made;
    };
    change.region = [](const std::vector<Ptr<Range>>& region, const IndexForms&) {
      std::vector<Ptr<Range>> made = region;
      for (auto& side : made) {
        if (side->min.is<IntImm>()) side = range(zero_of(side->min.dtype()), side->extent);
      }
      return made;
    };
    const NodeId node = schedule.node(plan.block);
    change_accesses(schedule, uses_of(schedule, node, operand.buffer), change);
    Stmt nest = copy_nest(schedule, function, operand, copy);
    const NodeId around = nest_of(schedule, plan.scope, plan.block);
    if (operand.is_write) {
      schedule.insert_after(around, std::move(nest));
    } else {
      schedule.insert_before(around, std::move(nest));
    }
    schedule.edit(plan.scope).alloc_buffers.push_back(copy);
    schedule.report().mirrors.push_back({operand.buffer, copy, true});
  }
  Block& block = schedule.edit(plan.block);
  for (std::size_t k = 0; k < plan.extents.size(); ++k) {
    if (!plan.extents[k].defined()) continue;
    IterVar axis = *block.iter_vars[k];
    axis.dom = range(axis.dom->min, plan.extents[k]);
    block.iter_vars[k] = make(std::move(axis));
  }
  for (const auto& [handle, extent] : plan.loops) {
    For& loop = schedule.edit(handle);
    loop.extent = cast(loop.loop_var->dtype, extent);
  }
  return {};
}

}  // namespace loopsmith
