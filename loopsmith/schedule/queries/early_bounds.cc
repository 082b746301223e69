// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/early_bounds.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/path_condition.h"

namespace loopsmith {
namespace {

/// Calls `found` with the divisor of each division in an expression.
void each_divisor(const Expr& expr, const auto& found) {
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto of = [&](const auto* node) {
      if (node) found(node->b);
    };
    of(ref.as<FloorDiv>());
    of(ref.as<FloorMod>());
    of(ref.as<Div>());
    of(ref.as<Mod>());
    return true;
  });
}

/// Tells which loops of a band run, and which expressions have a value, in parts of the band.
class BandPlaces {
 public:
  BandPlaces(const Schedule& schedule, std::span<const LoopRV> band)
      : schedule_(schedule), band_(band), function_(schedule.function_of(top())) {}

  /// True when a loop has an iteration in each one of those around it, but for `except`.
  bool runs(std::size_t place, std::size_t except) const {
    std::vector<std::size_t> around;
    for (std::size_t i = 0; i < place; ++i) {
      if (i != except) around.push_back(i);
    }
    const Expr& extent = schedule_.get(band_[place]).extent;
    return holds(extent > int_imm(extent.dtype(), 0), around);
  }

  /// True when an expression has a value in all iterations of the loops `around`.
  bool has_value(const Expr& expr, std::span<const std::size_t> around) const {
    if (!is_pure(expr)) return false;
    bool has = true;
    each_divisor(expr, [&](const Expr& divisor) {
      has = has && holds(divisor != int_imm(divisor.dtype(), 0), around);
    });
    pre_order_visit(expr, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      has = has && (!load || (is_parameter(*load->buffer) && is_inside(*load, around)));
      return has;
    });
    return has;
  }

 private:
  NodeId top() const { return schedule_.at(schedule_.node(band_.front())).parent; }

  bool is_parameter(const Buffer& buffer) const {
    const auto* func = schedule_.as<PrimFunc>(schedule_.root(function_));
    return func && std::ranges::any_of(func->buffer_map, [&](const Ptr<Buffer>& parameter) {
             return parameter && parameter->data.same_as(buffer.data);
           });
  }

  bool is_inside(const BufferLoad& load, std::span<const std::size_t> around) const {
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      const Expr& index = load.indices[d];
      const Expr extent = cast(index.dtype(), load.buffer->shape[d]);
      if (!holds(index >= int_imm(index.dtype(), 0), around)) return false;
      if (!holds(index < extent, around)) return false;
    }
    return true;
  }

  bool holds(const Expr& condition, std::span<const std::size_t> around) const {
    Analyzer analyzer;
    learn_sizes(schedule_, function_, analyzer);
    Expr known = path_condition(schedule_, top());
    for (const std::size_t place : around) {
      const Expr range = range_condition(schedule_.get(band_[place]));
      if (range.defined() && !reads_memory(range)) known = known && range;
    }
    const auto scope = analyzer.constraint_scope(known);
    return analyzer.can_prove(condition, ProofStrength::symbolic_bound);
  }

  const Schedule& schedule_;
  std::span<const LoopRV> band_;
  std::uint32_t function_;
};

}  // namespace

bool has_value_always(const Expr& expr) {
  if (reads_memory(expr)) return false;
  bool divides = false;
  each_divisor(expr, [&](const Expr& divisor) { divides = divides || !divisor.is<IntImm>(); });
  return !divides;
}

std::optional<Refusal> refuse_early_bounds(const Schedule& schedule, std::span<const LoopRV> band,
                                           std::span<const std::size_t> order) {
  const BandPlaces places(schedule, band);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const For& loop = schedule.get(band[order[i]]);
    if (has_value_always(loop.min) && has_value_always(loop.extent)) continue;
    const auto crossed = std::find_if(order.begin() + i, order.end(), [&](std::size_t other) {
      return other < order[i] && !places.runs(other, order[i]);
    });
    const auto around = order.first(i);
    if (crossed == order.end() ||
        (places.has_value(loop.min, around) && places.has_value(loop.extent, around))) {
      continue;
    }
    return Refusal{&bounds_have_values, {Argument(band[order[i]]), Argument(band[*crossed])}};
  }
  return {};
}

}  // namespace loopsmith
