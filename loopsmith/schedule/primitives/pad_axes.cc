// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/pad_axes.h"

#include <algorithm>
#include <functional>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives/padding.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

class AxesPadding {
 public:
  AxesPadding(const Schedule& schedule, const PadAxesArguments& arguments)
      : schedule_(schedule),
        padding_(arguments.padding),
        realize_(schedule.realize(arguments.block)),
        block_(*realize_.block) {
    plan_.block = arguments.block;
  }

  /// What is asked is the lemma above the commit.
  Planned<PadAxesPlan> find() && {
    const NodeId node = schedule_.node(plan_.block);
    const auto count = static_cast<std::int64_t>(block_.iter_vars.size());
    if (!is_padding_of(block_, padding_)) {
      return Refusal{&padding_is_positive, {Argument(plan_.block), Argument(count)}};
    }
    const auto scope = block_around(schedule_, node);
    if (!scope) return Refusal{&block_is_not_root, {Argument(plan_.block)}};
    if (!child_blocks(schedule_, node).empty()) {
      return Refusal{&block_is_leaf, {Argument(plan_.block)}};
    }
    if (auto refusal = refuse_other_kinds(schedule_, plan_.block, *scope)) {
      return *std::move(refusal);
    }
    for (std::size_t k = 0; k < padding_.size(); ++k) {
      if (auto refusal = pad_axis(k)) return *std::move(refusal);
    }
    if (plan_.loops.empty()) return std::move(plan_);
    if (!is_alone_in(schedule_, nest_of(schedule_, *scope, plan_.block), plan_.block)) {
      return Refusal{&nest_is_of_block_alone, {Argument(plan_.block)}};
    }
    if (!has_whole_axes()) return changed_results(instances_are_complete, {Argument(plan_.block)});
    if (has_effects()) return changed_results(block_has_no_effects, {Argument(plan_.block)});
    for (const auto& region : block_.writes) {
      if (auto refusal = enlarge(*region, *scope)) return *std::move(refusal);
    }
    return std::move(plan_);
  }

 private:
  /// Finds the new extent of an axis, and the loop that it is bound to.
  std::optional<Refusal> pad_axis(std::size_t k) {
    const IterVar& axis = *block_.iter_vars[k];
    const Expr padded = padded_extent(axis, padding_[k]);
    plan_.extents.emplace_back();
    if (!padded.defined()) return {};
    if (axis.iter_type != IterType::data_par) {
      return Refusal{&padded_axes_are_spatial, {Argument(axis.var->name), Argument(plan_.block)}};
    }
    const auto loop = loop_of(k);
    if (!loop) {
      return Refusal{&axes_have_loops_of_their_own,
                     {Argument(axis.var->name), Argument(plan_.block)}};
    }
    plan_.extents.back() = padded;
    plan_.loops.emplace_back(*loop, cast(schedule_.get(*loop).extent.dtype(), padded));
    return {};
  }

  /// The loop that an axis is bound to, from 0, and nothing else is: no other axis, and no bound of
  /// a loop inside, which would have more iterations there. Its extent is that of a buffer, too: no
  /// loop around moves it.
  std::optional<LoopRV> loop_of(std::size_t k) const {
    if (!is_const_int(block_.iter_vars[k]->dom->min, 0)) return {};
    const auto loops = loops_around(schedule_, schedule_.node(plan_.block));
    for (const LoopRV loop : loops) {
      const For& node = schedule_.get(loop);
      if (!realize_.iter_values[k].same_as(node.loop_var)) continue;
      const bool is_bound = std::ranges::any_of(loops, [&](LoopRV other) {
        return uses_variable(schedule_.get(other).min, node.loop_var) ||
               uses_variable(schedule_.get(other).extent, node.loop_var) ||
               uses_variable(node.extent, schedule_.get(other).loop_var);
      });
      if (is_bound) return {};
      for (std::size_t other = 0; other < padding_.size(); ++other) {
        if (other != k && uses_variable(realize_.iter_values[other], node.loop_var)) return {};
      }
      const bool is_plain = is_const_int(node.min, 0) && is_const_int(node.step, 1);
      return is_plain ? std::optional(loop) : std::nullopt;
    }
    return {};
  }

  /// True when no condition keeps a padded axis from some of its values.
  bool has_whole_axes() const {
    const Instances instances = instances_of(schedule_, plan_.block);
    if (!instances.unknown.empty()) return false;
    for (std::size_t k = 0; k < plan_.extents.size(); ++k) {
      if (!plan_.extents[k].defined()) continue;
      const bool is_whole = std::ranges::none_of(instances.conditions, [&](const Expr& condition) {
        return uses_variable(condition, block_.iter_vars[k]->var);
      });
      if (!is_whole) return false;
    }
    return true;
  }

  bool has_effects() const {
    bool found = false;
    pre_order_visit(block_.body, [&](const Ref& ref) {
      if (!is_expr(*ref.get())) {
        found = found || ref.is<AssertStmt>();
        return !found;
      }
      found = found || !is_pure(Expr::from(ref));
      return false;
    });
    return found;
  }

  /// True when accesses to a buffer that the block writes use an axis as one index alone: values
  /// beyond its domain lie beyond the others.
  bool is_only_index(const Buffer& buffer, std::size_t dimension, const Ptr<Var>& axis) const {
    bool found = true;
    const auto look = [&](const auto* access) {
      if (!access || access->buffer.get() != &buffer) return;
      for (std::size_t d = 0; d < access->indices.size(); ++d) {
        const Expr& index = access->indices[d];
        found = found && (d == dimension ? index.same_as(axis) : !uses_variable(index, axis));
      }
    };
    for (const Stmt& part : {block_.init, block_.body}) {
      if (!part.defined()) continue;
      pre_order_visit(part, [&](const Ref& ref) {
        look(ref.as<BufferStore>());
        look(ref.as<BufferLoad>());
        return found;
      });
    }
    return found;
  }

  /// Finds the new shape of what the block writes.
  std::optional<Refusal> enlarge(const BufferRegion& region, BlockRV scope) {
    const Ptr<Buffer>& buffer = region.buffer;
    const auto& allocated = schedule_.get(scope).alloc_buffers;
    if (std::ranges::none_of(allocated, [&](const auto& each) { return each.same_as(buffer); })) {
      return Refusal{&outputs_are_allocated, {Argument(Ref(buffer)), Argument(plan_.block)}};
    }
    if (!uses_of(schedule_, schedule_.node(scope), buffer).by_indices_alone() ||
        !buffer->strides.empty() || buffer->elem_offset.defined()) {
      return Refusal{&buffer_is_used_by_index, {Argument(Ref(buffer))}};
    }
    std::vector<Expr> shape = buffer->shape;
    for (std::size_t k = 0; k < plan_.extents.size(); ++k) {
      if (!plan_.extents[k].defined()) continue;
      const Ptr<Var>& axis = block_.iter_vars[k]->var;
      const auto is_it = [&](const auto& side) {
        return side->min.same_as(axis) && is_const_int(side->extent, 1);
      };
      const auto uses = [&](const auto& side) { return uses_variable(side->min, axis); };
      const auto found = std::ranges::find_if(region.region, is_it);
      const auto dimension = static_cast<std::size_t>(found - region.region.begin());
      if (found == region.region.end() || std::ranges::count_if(region.region, uses) != 1 ||
          !is_only_index(*buffer, dimension, axis)) {
        return Refusal{&axes_index_outputs,
                       {Argument(axis->name), Argument(plan_.block), Argument(Ref(buffer))}};
      }
      Expr& extent = shape[dimension];
      const Expr padded = cast(extent.dtype(), plan_.extents[k]);
      const bool has_room = Analyzer().can_prove(padded <= extent, ProofStrength::symbolic_bound);
      if (!has_room) extent = padded;
    }
    plan_.buffers.emplace_back(buffer, std::move(shape));
    return {};
  }

  const Schedule& schedule_;
  const std::vector<std::int64_t>& padding_;
  const BlockRealize& realize_;
  const Block& block_;
  PadAxesPlan plan_;
};

/// What has elements beyond the end of axes, too: `dimensions` says which of its indices may be
/// there.
struct LargerOperand {
  Ptr<Buffer> buffer;
  std::vector<bool> dimensions;
};

/// Finds operands whose elements beyond the end of axes were written, too. No statement needs what
/// is made of these, and nothing but values follows from it.
class LargerOperands {
 public:
  LargerOperands(const Schedule& schedule, const PadAxesPlan& plan)
      : schedule_(schedule), plan_(plan), block_(schedule.get(plan.block)) {}

  std::vector<LargerOperand> find() const {
    std::vector<LargerOperand> found;
    for (const auto& region : block_.reads) {
      const Ptr<Buffer>& buffer = region->buffer;
      const bool is_known =
          std::ranges::any_of(found, [&](const auto& each) { return each.buffer.same_as(buffer); });
      if (is_known || !buffer->dtype.is_float() || decides(buffer)) continue;
      std::vector<bool> dimensions = dimensions_with_room(buffer);
      if (is_written_beyond(buffer, dimensions)) found.push_back({buffer, std::move(dimensions)});
    }
    return found;
  }

 private:
  /// True when what lies beyond the end in some of these dimensions was written before.
  bool is_written_beyond(const Ptr<Buffer>& buffer, const std::vector<bool>& dimensions) const {
    if (std::ranges::none_of(dimensions, std::identity())) return false;
    const NodeId node = schedule_.node(plan_.block);
    const BlockRV scope = *block_around(schedule_, node);
    const auto found = cache_subject(schedule_, plan_.block, BufferSelector(buffer),
                                     BufferSelector::Side::read, "global");
    const auto* subject = std::get_if<CacheSubject>(&found);
    if (!subject) return false;
    const NodeId around = schedule_.node(scope);
    AffineRegion box = read_region(schedule_, buffer, {plan_.block}, around);
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      if (dimensions[d]) box.sides[d] = AffineInterval{};
    }
    return is_written_before(schedule_, *subject, box,
                             {.at = nest_of(schedule_, scope, plan_.block), .around = around});
  }

  /// True when a load of the buffer gives an index, a condition, or a divisor of integers.
  bool decides(const Ptr<Buffer>& buffer) const {
    bool found = false;
    for (const Stmt& part : {block_.init, block_.body}) {
      if (!part.defined()) continue;
      pre_order_visit(part, [&](const Ref& ref) {
        if (!is_expr(*ref.get())) return !found;
        const Expr expr = Expr::from(ref);
        found = found || (!expr.dtype().is_float() && loads_from(expr, buffer));
        return !found;
      });
    }
    return found;
  }

  /// The dimensions of an operand in which each index is another expression than a padded axis, or
  /// an axis whose new extent is that of the dimension.
  std::vector<bool> dimensions_with_room(const Ptr<Buffer>& buffer) const {
    std::vector<bool> have_room(buffer->shape.size(), true), are_padded(buffer->shape.size());
    Analyzer analyzer;
    const auto look = [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      if (!load || !load->buffer.same_as(buffer)) return true;
      for (std::size_t d = 0; d < load->indices.size(); ++d) {
        for (std::size_t k = 0; k < plan_.extents.size(); ++k) {
          if (!plan_.extents[k].defined() ||
              !uses_variable(load->indices[d], block_.iter_vars[k]->var)) {
            continue;
          }
          are_padded[d] = true;
          have_room[d] = have_room[d] && load->indices[d].same_as(block_.iter_vars[k]->var) &&
                         analyzer.can_prove_equal(plan_.extents[k], buffer->shape[d]);
        }
      }
      return true;
    };
    for (const Stmt& part : {block_.init, block_.body}) {
      if (part.defined()) pre_order_visit(part, look);
    }
    for (std::size_t d = 0; d < have_room.size(); ++d) have_room[d] = have_room[d] && are_padded[d];
    return have_room;
  }

  const Schedule& schedule_;
  const PadAxesPlan& plan_;
  const Block& block_;
};

/// `stmt` with what it reads taken from the last index where an axis is beyond it; accesses to
/// `outputs`, and those to operands that are `larger`, keep their indices.
Stmt repeat_last(const Stmt& stmt, const Substitution& clamped,
                 const std::vector<Ptr<Buffer>>& outputs,
                 const std::vector<LargerOperand>& larger) {
  const auto is_output = [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(outputs, [&](const auto& each) { return each.same_as(buffer); });
  };
  Rewriter rewrite;
  rewrite.on<Var>([&](const Var& variable) -> Expr {
    const auto value = clamped.find(Ref(&variable));
    return value == clamped.end() ? Expr(Ptr<Var>(&variable)) : value->second;
  });
  rewrite.on<BufferLoad>([&](const BufferLoad& access) -> Expr {
    if (is_output(access.buffer)) return Ptr<BufferLoad>(&access);
    const auto operand = std::ranges::find_if(
        larger, [&](const LargerOperand& each) { return each.buffer.same_as(access.buffer); });
    BufferLoad copy = access;
    for (std::size_t d = 0; d < copy.indices.size(); ++d) {
      const bool is_there = operand != larger.end() && operand->dimensions[d] &&
                            clamped.contains(Ref(copy.indices[d]));
      if (!is_there) copy.indices[d] = rewrite(copy.indices[d]);
    }
    return make(std::move(copy));
  });
  rewrite.on<BufferStore>([&](const BufferStore& access) -> Stmt {
    BufferStore copy = access;
    copy.value = rewrite(access.value);
    return make(std::move(copy));
  });
  return rewrite(stmt);
}

}  // namespace

Planned<PadAxesPlan> plan_pad_axes(const Schedule& schedule, const PadAxesArguments& arguments) {
  return AxesPadding(schedule, arguments).find();
}

/// Lemma. Let the block be the only writer of its outputs, one element or one accumulator for each
/// value of its spatial axes. An instance with an axis beyond its old end writes an element whose
/// index is beyond it, too, which no instance wrote, so that no statement reads it; and it reads
/// what an instance of the last index reads, which nothing writes in the block's nest, or what was
/// written before it and decides on nothing but the value that it writes. So (add) holds, and the
/// instances that there were stay in their order.
Nothing commit_pad_axes(Schedule& schedule, PadAxesPlan&& plan) {
  if (plan.loops.empty()) return {};
  const std::vector<LargerOperand> larger = LargerOperands(schedule, plan).find();
  const NodeId scope = schedule.node(*block_around(schedule, schedule.node(plan.block)));
  for (const auto& [buffer, shape] : plan.buffers) {
    Buffer padded = *buffer;
    padded.shape = shape;
    const Ptr<Buffer> to = make(std::move(padded));
    change_accesses(schedule, uses_of(schedule, scope, buffer), {.from = buffer, .to = to});
    replace_definition(schedule, scope, buffer, to);
  }
  BlockRealize realize = schedule.realize(plan.block);
  const Ptr<Block> before = realize.block;
  Block block = *before;
  std::vector<Ptr<Buffer>> outputs;
  for (const auto& region : block.writes) outputs.push_back(region->buffer);
  Substitution clamped;
  for (std::size_t k = 0; k < plan.extents.size(); ++k) {
    if (!plan.extents[k].defined()) continue;
    IterVar axis = *block.iter_vars[k];
    const Expr& last = axis.dom->extent;
    clamped[axis.var] = min(axis.var, last - int_imm(last.dtype(), 1));
    axis.dom = range(axis.dom->min, plan.extents[k]);
    block.iter_vars[k] = make(std::move(axis));
  }
  block.body = repeat_last(block.body, clamped, outputs, larger);
  if (block.init) block.init = repeat_last(block.init, clamped, outputs, larger);
  realize.block = make(std::move(block));
  const Schedule::Renewed renewed{{before.get(), realize.block.get()}};
  schedule.replace(schedule.node(plan.block), make(std::move(realize)), renewed);
  for (const auto& [loop, extent] : plan.loops) schedule.edit(loop).extent = extent;
  update_regions(schedule, plan.block);
  return {};
}

}  // namespace loopsmith
