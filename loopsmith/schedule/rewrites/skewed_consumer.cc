// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/skewed_consumer.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {
namespace {

/// Windows move over no more, so that no sum overflows.
constexpr std::int64_t max_window_moves = std::int64_t{1} << 40;

/// A loop, and how far one of its iterations moves a window.
struct Pace {
  const For* loop;
  std::int64_t weight;
};

/// `width` values from the sum of the loops and `start` on; the loops innermost first. Each
/// iteration has the next ones.
struct MovingWindow {
  std::vector<Pace> paces;
  std::int64_t start = 0;
  std::int64_t width = 1;

  /// The first value of the first window, where that is constant.
  std::optional<std::int64_t> beginning() const {
    std::int64_t sum = start;
    for (const Pace& pace : paces) {
      const auto* min = pace.loop->min.as<IntImm>();
      if (!min) return {};
      sum += pace.weight * min->value;
    }
    return sum;
  }

  /// The last value of the last window.
  Expr end(DataType type) const {
    Expr sum = int_imm(type, start + width - 1);
    for (const Pace& pace : paces) {
      const Expr last = pace.loop->min + pace.loop->extent - int_imm(pace.loop->min.dtype(), 1);
      sum = sum + cast(type, last) * int_imm(type, pace.weight);
    }
    return sum;
  }
};

/// The last index that an instance reads: scale * ((axis + shift) // by) + offset.
struct LastIndex {
  std::int64_t scale = 1;
  std::int64_t shift = 0;
  std::int64_t by = 1;
  std::int64_t offset = 0;
};

std::int64_t floor_divided(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}

bool is_positive(const Expr& expr) {
  const std::int64_t* value = as_int(expr);
  return value && *value > 0;
}

/// The larger, or the smaller, of two expressions.
struct Extreme {
  bool is_max;
  Expr a;
  Expr b;
};

/// The expression as an extreme of two, which may stand inside sums, products, and quotients that
/// grow with it; nullopt when it is none.
std::optional<Extreme> extreme_of(const Expr& expr) {
  if (const auto* node = expr.as<Max>()) return Extreme{true, node->a, node->b};
  if (const auto* node = expr.as<Min>()) return Extreme{false, node->a, node->b};
  const auto lift = [](const auto* node, auto rebuild) -> std::optional<Extreme> {
    if (!node || !node->b.template is<IntImm>()) return {};
    auto inner = deep_call([&] { return extreme_of(node->a); });
    if (!inner) return {};
    return Extreme{inner->is_max, rebuild(inner->a, node->b), rebuild(inner->b, node->b)};
  };
  if (const auto* node = expr.as<Add>()) {
    return lift(node, [](const Expr& x, const Expr& y) { return x + y; });
  }
  if (const auto* node = expr.as<Sub>()) {
    return lift(node, [](const Expr& x, const Expr& y) { return x - y; });
  }
  const auto* product = expr.as<Mul>();
  if (product && is_positive(product->b)) {
    return lift(product, [](const Expr& x, const Expr& y) { return x * y; });
  }
  const auto* quotient = expr.as<FloorDiv>();
  if (quotient && is_positive(quotient->b)) {
    return lift(quotient, [](const Expr& x, const Expr& y) { return floordiv(x, y); });
  }
  return {};
}

class Skewer {
 public:
  Skewer(const Schedule& schedule, BlockRV handle, LoopRV loop)
      : schedule_(schedule),
        handle_(handle),
        loop_(loop),
        block_(schedule.get(handle)),
        forms_(ranges_around(schedule, schedule.node(loop))),
        axis_forms_(forms_of_axes(block_)),
        windows_(block_.iter_vars.size()) {
    for (NodeId node = schedule.node(loop); !schedule.as<BlockRealize>(node) && node != no_node;
         node = schedule.at(node).parent) {
      if (const auto* around = schedule.as<For>(node)) loops_.emplace_back(node, around);
    }
  }

  std::optional<SkewedConsumer> find(std::span<const ComputedInput> inputs,
                                     const Instances& instances) && {
    for (const ComputedInput& input : inputs) {
      for (std::size_t d = 0; d < input.box.size(); ++d) {
        if (!wait_for(input.box[d], *input.read->region[d])) return {};
      }
    }
    SkewedConsumer place{instances_within(schedule_, handle_, loop_,
                                          std::vector<arith::Interval>(windows_.size()), instances),
                         {}};
    for (std::size_t i = 0; i < windows_.size(); ++i) {
      if (windows_[i] && !canonicalize(i, place)) return {};
    }
    return place;
  }

 private:
  bool uses_loops(const Expr& expr) const {
    return std::ranges::any_of(
        loops_, [&](const auto& entry) { return uses_variable(expr, entry.second->loop_var); });
  }

  /// The window that iterations move over one dimension: each begins where the one before ended.
  /// Of what several compute, it has what the one before did not.
  std::optional<MovingWindow> window_of(const arith::Interval& computed) const {
    const auto first = forms_.read(computed.min);
    const auto length = forms_.read(computed.max - computed.min);
    if (!first || !length || !length->terms.empty()) return {};
    MovingWindow window{{}, first->constant, length->constant + 1};
    std::int64_t next = window.width;
    bool is_open = false;  // A loop whose extent is not constant is the outermost.
    for (const auto& [node, loop] : loops_) {
      const auto term = std::ranges::find_if(
          first->terms, [&](const auto& t) { return t.atom.same_as(loop->loop_var); });
      if (term == first->terms.end()) continue;
      if (window.paces.empty() && term->coefficient > 0 && term->coefficient < next) {
        window.start += next - term->coefficient;
        window.width = next = term->coefficient;
      }
      if (is_open || term->coefficient != next || !is_const_int(loop->step, 1)) return {};
      window.paces.push_back({loop, next});
      const auto* extent = loop->extent.as<IntImm>();
      is_open = !extent;
      if (extent && __builtin_mul_overflow(next, extent->value, &next)) return {};
      if (next > max_window_moves) return {};
    }
    if (window.paces.size() != first->terms.size()) return {};
    return window;
  }

  /// Lets the block wait until the last index that an instance reads is computed.
  bool wait_for(const arith::Interval& computed, const Range& part) {
    if (!computed.min.defined() || !computed.max.defined()) return false;
    // What does not move is computed as a whole.
    if (!uses_loops(computed.min) && !uses_loops(computed.max)) return true;
    const auto window = window_of(computed);
    if (!window || window->width < 1) return false;

    Analyzer analyzer;
    for (const auto& axis : block_.iter_vars) analyzer.bind(axis->var, axis->dom);
    const Expr last =
        analyzer.simplify(analyzer.simplify(part.min) + analyzer.simplify(part.extent) -
                          int_imm(part.extent.dtype(), 1));
    // One axis moves; of others its instances wait for the last.
    std::optional<std::size_t> axis;
    for (std::size_t i = 0; i < block_.iter_vars.size(); ++i) {
      const IterVar& candidate = *block_.iter_vars[i];
      if (candidate.iter_type != IterType::data_par || !uses_variable(last, candidate.var)) {
        continue;
      }
      if (!axis || is_longer(*candidate.dom, *block_.iter_vars[*axis]->dom)) axis = i;
    }
    return axis && wait_for(*axis, *window, last);
  }

  static bool is_longer(const Range& a, const Range& b) {
    const std::int64_t *length = as_int(a.extent), *other = as_int(b.extent);
    return other && (!length || *length > *other);
  }

  /// The same, for the last index that an instance reads.
  bool wait_for(std::size_t axis, const MovingWindow& window, const Expr& last) {
    arith::Intervals others;
    for (std::size_t i = 0; i < block_.iter_vars.size(); ++i) {
      if (i == axis) continue;
      const Range& domain = *block_.iter_vars[i]->dom;
      others[block_.iter_vars[i]->var] =
          arith::Interval{domain.min, domain.min + domain.extent - int_imm(domain.min.dtype(), 1)};
    }
    const auto relaxed = arith::relax(last, others);
    if (!relaxed || !relaxed->max.defined()) return false;
    LastIndices found{axis, {}, INT64_MIN};
    if (!read_last(Analyzer().simplify(relaxed->max), found)) return false;
    const auto first = window.beginning();
    const std::int64_t* least = as_int(block_.iter_vars[axis]->dom->min);
    return first && least && !found.indices.empty() &&
           std::ranges::all_of(found.indices, [&](LastIndex index) {
             if (found.constant >= *first + window.width) {
               // As if instances up to the first one that reads it read that much further.
               const std::int64_t digit = floor_divided(*least + index.shift, index.by);
               index.offset = std::max(index.offset, found.constant - index.scale * digit);
             }
             return lag(axis, window, index);
           });
  }

  /// Bounds of the last index that an instance reads: all of them hold.
  struct LastIndices {
    std::size_t axis;
    std::vector<LastIndex> indices;
    std::int64_t constant;
  };

  /// Reads bounds of the last index, which are to have one that moves with the axis.
  bool read_last(const Expr& expr, LastIndices& found) const {
    if (const auto extreme = extreme_of(expr)) {
      const auto read = [&](const Expr& side) {
        return deep_call([&] { return read_last(side, found); });
      };
      if (!extreme->is_max) {
        // To wait for the larger one is to wait for both.
        return read(is_moving(extreme->a) ? extreme->a : extreme->b);
      }
      return read(extreme->a) && read(extreme->b);
    }
    const auto form = axis_forms_.read(expr);
    constexpr std::int64_t most = 1 << 20;  // Larger factors and offsets are no stencil's.
    if (!form || form->terms.size() > 1 || std::abs(form->constant) >= most) return false;
    if (form->terms.empty()) {
      found.constant = std::max(found.constant, form->constant);
      return true;
    }
    const IndexTerm& term = form->terms[0];
    if (term.coefficient < 1 || term.coefficient >= most || term.by >= most) return false;
    LastIndex index{.scale = term.coefficient, .offset = form->constant};
    Expr variable = term.atom;
    if (term.kind == IndexTerm::Kind::quotient) {
      const auto inner = axis_forms_.read(term.inner());
      if (!inner || inner->terms.size() != 1 || inner->terms[0].coefficient != 1) return false;
      index.shift = inner->constant;
      index.by = term.by;
      variable = inner->terms[0].atom;
    }
    found.indices.push_back(index);
    return variable.same_as(block_.iter_vars[found.axis]->var);
  }

  /// True when the expression uses an axis.
  bool is_moving(const Expr& expr) const {
    return std::ranges::any_of(block_.iter_vars,
                               [&](const auto& axis) { return uses_variable(expr, axis->var); });
  }

  /// The instances of which the last index is in the window, and those that other inputs delay.
  bool lag(std::size_t axis, const MovingWindow& window, const LastIndex& index) {
    if (window.width % index.scale != 0) return false;
    MovingWindow lagging;
    for (const Pace& pace : window.paces) {
      lagging.paces.push_back({pace.loop, pace.weight / index.scale * index.by});
    }
    lagging.width = window.width / index.scale * index.by;
    const std::int64_t done = floor_divided(window.start - 1 - index.offset, index.scale);
    lagging.start = (done + 1) * index.by - index.shift;
    auto& known = windows_[axis];
    if (known) {
      const bool is_alike =
          known->width == lagging.width &&
          std::ranges::equal(known->paces, lagging.paces, [](const Pace& a, const Pace& b) {
            return a.loop == b.loop && a.weight == b.weight;
          });
      known->start = std::min(known->start, lagging.start);
      return is_alike;
    }
    for (const auto& other : windows_) {
      if (!other) continue;
      for (const Pace& pace : lagging.paces) {
        if (std::ranges::find(other->paces, pace.loop, &Pace::loop) != other->paces.end()) {
          return false;  // One loop cannot move two axes.
        }
      }
    }
    known = std::move(lagging);
    return true;
  }

  /// Sees to it that all instances of an axis run: the first loop goes on where it has to.
  bool canonicalize(std::size_t i, SkewedConsumer& place) {
    MovingWindow& window = *windows_[i];
    const IterVar& axis = *block_.iter_vars[i];
    const DataType type = axis.var->dtype;
    const auto* least = axis.dom->min.as<IntImm>();
    auto first = window.beginning();
    if (!least || !first) return false;
    if (*first > least->value) {
      window.start -= *first - least->value;
      first = least->value;
    }
    const Expr last = axis.dom->min + axis.dom->extent - int_imm(type, 1);
    Expr end = window.end(type);
    const auto more = iterations_until(end, last, window.paces.back().weight);
    if (!more) return false;
    if (*more > 0) {
      const auto outermost = std::ranges::find_if(
          loops_, [&](const auto& entry) { return entry.second == window.paces.back().loop; });
      if (!may_go_on(outermost->first)) return false;
      place.extensions.push_back({schedule_.loop_at(outermost->first), *more});
      end = end + int_imm(type, *more * window.paces.back().weight);
    }

    IndexForm start;
    start.constant = window.start;
    for (std::size_t k = window.paces.size(); k-- > 0;) {
      start.terms.push_back(
          {.atom = window.paces[k].loop->loop_var, .coefficient = window.paces[k].weight});
    }
    const Expr value = place.instances.values[i];
    AxisRange run{forms_.write(start, type), int_imm(type, window.width), {}};
    if (*first < least->value) run.guards.push_back(value >= axis.dom->min);
    if (!holds(end <= last)) run.guards.push_back(value < axis.dom->min + axis.dom->extent);
    place.instances.axes[i] = std::move(run);
    return true;
  }

  static bool holds(const Expr& condition) {
    Analyzer analyzer;
    return analyzer.can_prove(condition, ProofStrength::symbolic_bound);
  }

  /// How many steps of `weight` take `end` to `last`.
  std::optional<std::int64_t> iterations_until(const Expr& end, const Expr& last,
                                               std::int64_t weight) const {
    if (const auto missing = forms_.read(last - end); missing && missing->terms.empty()) {
      return std::max<std::int64_t>(0, -floor_divided(-missing->constant, weight));
    }
    constexpr std::int64_t max_tried = 8;
    for (std::int64_t more = 0; more <= max_tried; ++more) {
      if (holds(last <= end + int_imm(end.dtype(), more * weight))) return more;
    }
    return {};
  }

  /// True when a loop may run longer, as conditions keep what is inside it from that.
  bool may_go_on(NodeId node) const {
    const auto& loop = *schedule_.as<For>(node);
    const bool is_in_order = loop.kind == ForKind::serial || loop.kind == ForKind::unrolled;
    return is_in_order && holds_blocks_alone(schedule_, node);
  }

  const Schedule& schedule_;
  const BlockRV handle_;
  const LoopRV loop_;
  const Block& block_;
  const IndexForms forms_;
  const IndexForms axis_forms_;
  std::vector<std::pair<NodeId, const For*>> loops_;  // Around the new place, innermost first.
  std::vector<std::optional<MovingWindow>> windows_;  // Of axes that move with the loops.
};

}  // namespace

std::optional<SkewedConsumer> skewed_consumer(const Schedule& schedule, BlockRV block, LoopRV loop,
                                              std::span<const ComputedInput> inputs,
                                              const Instances& instances) {
  return Skewer(schedule, block, loop).find(inputs, instances);
}

}  // namespace loopsmith
