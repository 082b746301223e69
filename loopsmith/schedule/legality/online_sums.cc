// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/online_sums.h"

#include <algorithm>
#include <cmath>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/legality.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/expression_replacement.h"
#include "loopsmith/schedule/rewrites/inline_value.h"

namespace loopsmith {
namespace {

/// A value times a positive constant.
struct Scaled {
  Expr value;
  double scale = 1;
};
Scaled scaled(const Expr& expr) {
  const auto* product = expr.as<Mul>();
  if (!product) return {expr};
  for (const auto& [value, constant] :
       {std::pair(product->a, product->b), std::pair(product->b, product->a)}) {
    const auto* number = constant.as<FloatImm>();
    if (number && number->value > 0) return {value, number->value};
  }
  return {expr};
}

bool are_same(const std::vector<Expr>& a, const std::vector<Expr>& b) {
  return std::ranges::equal(
      a, b, [](const Expr& x, const Expr& y) { return x.same_as(y) || structural_equal(x, y); });
}

/// The loads of memory, by first occurrence.
std::vector<const BufferLoad*> loads_in(const Expr& expr) {
  std::vector<const BufferLoad*> loads;
  pre_order_visit(expr, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) loads.push_back(load);
    return !ref.is<Buffer>();
  });
  return loads;
}

/// An index of a pattern in terms of axes, and what stands in its place.
using IndexPair = std::pair<Expr, Expr>;

/// The pairs for which a pattern in terms of axes is an expression, by what both load.
std::vector<IndexPair> index_pairs(const Expr& pattern, const Expr& expr) {
  std::vector<IndexPair> pairs;
  const auto left = loads_in(pattern), right = loads_in(expr);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (!left[i]->buffer.same_as(right[i]->buffer)) return {};
    for (std::size_t d = 0; d < left[i]->indices.size(); ++d) {
      if (!as_int(left[i]->indices[d])) {
        pairs.emplace_back(left[i]->indices[d], right[i]->indices[d]);
      }
    }
  }
  return pairs;
}

/// The expression with the first of each pair replaced by the second.
Expr with_pairs(const Expr& expr, const std::vector<IndexPair>& pairs) {
  const auto change = [&](const Expr& each) -> Expr {
    for (const auto& [from, to] : pairs) {
      if (each.same_as(from) || structural_equal(each, from)) return to;
    }
    return nullptr;
  };
  Rewriter rewrite;
  replace_expressions(rewrite, change);
  rewrite.on<Var>([&](const Var& variable) -> Expr {
    const Expr made = change(Expr(&variable));
    return made.defined() ? made : Expr(&variable);
  });
  return rewrite(expr);
}

Substitution axes_of_one_value(const Block& block) {
  Substitution values;
  for (const auto& axis : block.iter_vars) {
    if (is_const_int(axis->dom->extent, 1)) values[axis->var] = axis->dom->min;
  }
  return values;
}

Expr last_value(const Expr& min, const Expr& extent) {
  return Analyzer().simplify(min + extent - int_imm(extent.dtype(), 1));
}

Substitution values_in_loops(const BlockRealize& realize) {
  Substitution values;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    values[realize.block->iter_vars[i]->var] = realize.iter_values[i];
  }
  return values;
}

/// The axes of a block where it stores to an element: `stored` are the indices in terms of them.
Substitution axes_of_element(const Block& block, const std::vector<Expr>& stored,
                             const std::vector<Expr>& element) {
  Substitution axes = axes_of_one_value(block);
  for (std::size_t d = 0; d < stored.size(); ++d) {
    if (stored[d].is<Var>()) axes.emplace(stored[d], element[d]);
  }
  return axes;
}

bool uses_axes(const Expr& expr, const Block& block, bool of_sums_alone) {
  return std::ranges::any_of(block.iter_vars, [&](const auto& axis) {
    return (!of_sums_alone || axis->iter_type != IterType::data_par) &&
           uses_variable(expr, axis->var);
  });
}

}  // namespace

/// Finds by which power of exp(- m) a value scales with the maximum m.
class TermReader {
 public:
  static constexpr int any = -1000;  ///< Of 0, which scales with everything.

  TermReader(OnlineSums& sums, BlockRV block, LoopRV loop)
      : sums_(sums), block_(block), loop_(loop) {}

  /// None where a value does not scale.
  std::optional<int> degree(const Expr& expr) {
    if (!sums_.is_read_by(expr)) {
      const auto* number = expr.as<FloatImm>();
      return number && number->value == 0 ? any : 0;
    }
    if (const auto* node = expr.as<Mul>()) return joined(degree(node->a), degree(node->b), 1);
    if (const auto* node = expr.as<Div>()) return joined(degree(node->a), degree(node->b), -1);
    if (const auto* node = expr.as<Add>()) return equal(degree(node->a), degree(node->b));
    if (const auto* node = expr.as<Sub>()) return equal(degree(node->a), degree(node->b));
    if (const auto* node = expr.as<Select>()) {
      if (sums_.is_read_by(node->condition)) return {};
      return equal(degree(node->true_value), degree(node->false_value));
    }
    if (const auto* node = expr.as<Cast>()) {
      const bool is_float = node->dtype.is_float() && node->value.dtype().is_float();
      return is_float ? degree(node->value) : std::nullopt;
    }
    if (const auto* node = expr.as<BufferLoad>()) return of_kept(*node);
    const auto* node = expr.as<Call>();
    if (!node) return {};
    if (node->op == op("if_then_else")) {
      if (sums_.is_read_by(node->args[0])) return {};
      return equal(degree(node->args[1]), degree(node->args[2]));
    }
    const bool is_power = node->op == op("exp") || node->op == op("exp2");
    return is_power && is_power_of_difference(*node) ? std::optional(1) : std::nullopt;
  }

  /// The element of the maximum that all values are of.
  const std::vector<Expr>& maximum() const { return maximum_; }

 private:
  using Degree = std::optional<int>;

  static Degree joined(Degree a, Degree b, int sign) {
    if (!a || !b) return {};
    return *a == any || *b == any ? any : *a + sign * *b;
  }
  static Degree equal(Degree a, Degree b) {
    if (!a || !b) return {};
    if (*a == any) return b;
    return *b == any || *a == *b ? a : std::nullopt;
  }

  bool is_of(const std::vector<Expr>& maximum) {
    if (maximum_.empty()) maximum_ = maximum;
    return are_same(maximum_, maximum);
  }

  Degree of_kept(const BufferLoad& load) {
    const OnlineSums::Kept* value = sums_.kept_in(load.buffer);
    if (!value ||
        std::ranges::any_of(load.indices, [&](const auto& e) { return sums_.is_read_by(e); })) {
      return {};
    }
    const Block& block = sums_.schedule_.get(value->block);
    const Substitution axes = axes_of_element(block, value->indices, load.indices);
    std::vector<Expr> maximum;
    for (const Expr& index : value->maximum) {
      maximum.push_back(substitute(index, axes));
      if (uses_axes(maximum.back(), block, false)) return {};
    }
    return is_of(maximum) ? Degree(value->degree) : std::nullopt;
  }

  /// Of c (x - m), or c x - c m, with x one of those that m is the maximum of.
  bool is_power_of_difference(const Call& power) {
    const Scaled whole = scaled(power.args[0]);
    const auto* difference = whole.value.as<Sub>();
    if (!difference) return false;
    const Scaled maximum = scaled(difference->b);
    const auto* load = maximum.value.as<BufferLoad>();
    if (!load || !load->buffer.same_as(sums_.buffer())) return false;
    Expr x = difference->a;
    if (maximum.scale != 1) {
      const Scaled term = scaled(x);
      if (term.scale != maximum.scale) return false;
      x = term.value;
    }
    const double scale = whole.scale * maximum.scale;
    if (sums_.power_ && (*sums_.power_ != power.op || sums_.scale_ != scale)) return false;
    if (sums_.is_read_by(x) || !sums_.is_term_so_far(x, load->indices, block_, loop_)) return false;
    sums_.power_ = power.op;
    sums_.scale_ = scale;
    return is_of(load->indices);
  }

  OnlineSums& sums_;
  BlockRV block_;
  LoopRV loop_;
  std::vector<Expr> maximum_;
};

OnlineSums::OnlineSums(const Schedule& schedule, BlockRV maximum, LoopRV loop,
                       KnownReduction reduction)
    : schedule_(schedule), maximum_(maximum), loop_(loop), reduction_(std::move(reduction)) {
  const BlockRealize& realize = schedule.realize(maximum);
  const Substitution units = axes_of_one_value(*realize.block);
  for (Expr& index : reduction_.indices) index = substitute(index, units);
  add_term(substitute(reduction_.sources[0], units));
  for (const LoopRV each : loops_around(schedule, schedule.node(maximum))) {
    const For& inner = schedule.get(each);
    const bool is_inside_loop = is_inside(schedule, schedule.node(each), schedule.node(loop));
    if (each != loop && is_inside_loop) last_[inner.loop_var] = last_value(inner.min, inner.extent);
  }
  for (const auto& [axis, value] : values_in_loops(realize)) last_[axis] = substitute(value, last_);
  // Of maxima of parts.
  const NodeId scope = scope_of(schedule, schedule.node(maximum));
  std::vector<BlockRV> followed{maximum};
  while (const auto* load = terms_.back().value.as<BufferLoad>()) {
    const Handles<BlockRV> writers = writers_of(schedule, scope, load->buffer);
    const auto part = writers.size() == 1 ? reduction_of(schedule.get(writers[0])) : std::nullopt;
    if (!part || part->reducer != reduction_.reducer) return;
    if (std::ranges::find(followed, writers[0]) != followed.end()) return;  // It reads its own.
    followed.push_back(writers[0]);
    const Block& block = schedule.get(writers[0]);
    const Substitution axes = axes_of_element(block, part->indices, load->indices);
    for (const auto& axis : block.iter_vars) {
      if (axis->iter_type == IterType::data_par) continue;
      last_[axis->var] = last_value(axis->dom->min, axis->dom->extent);
    }
    add_term(substitute(part->sources[0], axes));
  }
}

/// Where a condition does not hold, a term that is no number of its own, as of a part of a tile, is
/// left out.
void OnlineSums::add_term(Expr term) {
  terms_.push_back({term, true});
  const auto* choice = term.as<Call>();
  if (!choice || choice->op != op("if_then_else")) return;
  const auto* other = choice->args[2].as<FloatImm>();
  const bool is_least = other && std::isinf(other->value) && other->value < 0;
  if (is_least) terms_.push_back({choice->args[1], choice->args[0]});
}

/// True when a condition in terms of axes holds in all instances of the block.
bool OnlineSums::holds_in(const Expr& condition, BlockRV block) const {
  Analyzer analyzer;
  for (const auto& axis : schedule_.get(block).iter_vars) analyzer.bind(axis->var, axis->dom);
  return analyzer.can_prove(condition);
}

const OnlineSums::Kept* OnlineSums::kept_in(const Ptr<Buffer>& buffer) const {
  const auto found = std::ranges::find_if(
      kept_buffers_, [&](const Ptr<Buffer>& other) { return other.same_as(buffer); });
  return found == kept_buffers_.end() ? nullptr : &kept_[found - kept_buffers_.begin()];
}

bool OnlineSums::is_read_by(const Ref& expr) const {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && (load->buffer.same_as(buffer()) || kept_in(load->buffer)));
    return !found && !ref.is<Buffer>();
  });
  return found;
}

/// True when an index has, in each iteration of the loops, a value that the maximum has reached.
bool OnlineSums::is_reached(const Expr& last, const Expr& index, BlockRV block, LoopRV loop) const {
  Analyzer analyzer;
  const LoopRV own = loop_;
  Substitution same{{schedule_.get(loop).loop_var, schedule_.get(own).loop_var}};
  for (const LoopRV each : loops_around(schedule_, schedule_.node(block))) {
    const For& around = schedule_.get(each);
    if (each != loop)
      analyzer.bind(around.loop_var, make(Range{.min = around.min, .extent = around.extent}));
  }
  // Nothing is reached before the loop of the maximum starts.
  const For &steps = schedule_.get(own), &joining = schedule_.get(loop);
  if (!analyzer.can_prove(steps.min <= joining.min)) return false;
  analyzer.bind(steps.loop_var, make(Range{.min = joining.min, .extent = joining.extent}));
  const Expr value = substitute(substitute(index, values_in_loops(schedule_.realize(block))), same);
  return analyzer.can_prove(value <= substitute(last, last_));
}

bool OnlineSums::is_term_so_far(const Expr& value, const std::vector<Expr>& place, BlockRV block,
                                LoopRV loop) const {
  const Substitution units = axes_of_one_value(schedule_.get(block));
  const Expr x = substitute(value, units);
  std::vector<Expr> element;
  for (const Expr& index : place) element.push_back(substitute(index, units));
  return std::ranges::any_of(terms_, [&](const GuardedTerm& term) {
    const std::vector<IndexPair> pairs = index_pairs(term.value, x);
    std::vector<Expr> own;
    for (const Expr& index : reduction_.indices) own.push_back(with_pairs(index, pairs));
    const bool is_it = are_same(own, element) && structural_equal(with_pairs(term.value, pairs), x);
    if (!is_it || !holds_in(with_pairs(term.condition, pairs), block)) return false;
    return std::ranges::all_of(pairs, [&](const IndexPair& pair) {
      const bool is_of_result = std::ranges::any_of(
          reduction_.indices, [&](const Expr& index) { return index.same_as(pair.first); });
      return is_of_result || is_reached(pair.first, pair.second, block, loop);
    });
  });
}

/// True when, in each iteration of the loops around, an element in terms of axes of the block is
/// one of those that the loop of the maximum finds then: others do not change with it.
bool OnlineSums::is_found_in_loop(const std::vector<Expr>& element, BlockRV block) const {
  if (loops_around(schedule_, schedule_.node(loop_)).empty()) return true;
  Analyzer analyzer;
  for (const LoopRV each : loops_around(schedule_, schedule_.node(block))) {
    const For& around = schedule_.get(each);
    analyzer.bind(around.loop_var, make(Range{.min = around.min, .extent = around.extent}));
  }
  Substitution first;
  for (const LoopRV each : loops_around(schedule_, schedule_.node(maximum_))) {
    const For& inner = schedule_.get(each);
    if (last_.contains(inner.loop_var)) first[inner.loop_var] = inner.min;
  }
  const Substitution own = values_in_loops(schedule_.realize(maximum_));
  const Substitution values = values_in_loops(schedule_.realize(block));
  const Substitution units = axes_of_one_value(schedule_.get(block));
  for (std::size_t d = 0; d < element.size(); ++d) {
    const Expr found = substitute(reduction_.indices[d], own);
    const Expr value = substitute(substitute(element[d], units), values);
    const auto holds = [&](const Expr& condition) {
      return analyzer.can_prove(condition, ProofStrength::symbolic_bound);
    };
    if (!holds(substitute(found, first) <= value) || !holds(value <= substitute(found, last_))) {
      return false;
    }
  }
  return true;
}

std::string OnlineSums::add(BlockRV handle, LoopRV loop, bool is_whole) {
  const BlockRealize& realize = schedule_.realize(handle);
  const Block& block = *realize.block;
  TermReader reader(*this, handle, loop);
  const auto reduction = reduction_of(block);
  const auto element = element_value_of(schedule_, handle);
  const auto* stored = std::get_if<ElementValue>(&element);
  if (!reduction && !stored) return "it neither sums up nor stores one value";
  const Expr& value = reduction ? reduction->sources[0] : stored->value;
  const auto& indices = reduction ? reduction->indices : stored->indices;
  const auto degree = reader.degree(value);
  if (!degree) return "its values are no products with one power of what the maximum is of by then";
  const auto is_read = [&](const Expr& expr) { return is_read_by(expr); };
  if (std::ranges::any_of(indices, is_read) || is_read(realize.predicate)) {
    return "its indices or conditions read the maximum";
  }
  const bool scales = *degree != 0 && *degree != TermReader::any;
  if (!scales) {
    return reduction && !is_whole ? "it does not depend on the maximum" : "";
  }
  if (reduction) {
    const auto* start = reduction->init[0].as<FloatImm>();
    const bool is_sum = reduction->reducer && reduction->reducer->name == "sum";
    if (!is_sum || !start || start->value != 0) return "it is no sum that starts with 0";
    const bool varies = std::ranges::any_of(
        reader.maximum(), [&](const Expr& index) { return uses_axes(index, block, true); });
    if (varies) return "one sum has terms of several maxima";
  }
  if (!is_found_in_loop(reader.maximum(), handle)) {
    return "it is of a maximum that another iteration of the loops around finds";
  }
  if (is_whole) {
    kept_.push_back({handle, indices, reader.maximum(), *degree});
    kept_buffers_.push_back(reduction ? reduction->buffers[0] : stored->buffer);
    return {};
  }
  if (*degree != 1) return "its terms have more than one power as a factor";
  sums_.push_back({handle, reader.maximum()});
  return {};
}

Expr OnlineSums::finite(const Expr& maximum) const {
  const auto* start = reduction_.init[0].as<FloatImm>();
  const Expr least = min_value(maximum.dtype());
  const bool is_finite = start && start->value >= least.as<FloatImm>()->value;
  return is_finite ? maximum : max(maximum, least);
}

Expr OnlineSums::factor(const Expr& before, const Expr& after) const {
  const Expr difference = before - finite(after);
  if (scale_ == 1) return call(*power_, {difference});
  return call(*power_, {difference * const_of(difference.dtype(), scale_)});
}

bool stays_in_iterations(const Schedule& schedule, LoopRV loop, const Ptr<Buffer>& buffer) {
  return std::ranges::none_of(
      conflicting_buffers(schedule, loop, Concurrency::in_block_threads),
      [&](const Ptr<Buffer>& other) { return !other.defined() || other.same_as(buffer); });
}

}  // namespace loopsmith
