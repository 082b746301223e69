// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/online_sums.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/legality.h"
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

/// The values of axes for which a pattern in terms of them is an expression, by what both load.
Substitution axes_of(const Expr& pattern, const Block& block, const Expr& expr) {
  Substitution values;
  for (const auto& axis : block.iter_vars) {
    if (is_const_int(axis->dom->extent, 1)) values[axis->var] = axis->dom->min;
  }
  const auto left = loads_in(pattern), right = loads_in(expr);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (!left[i]->buffer.same_as(right[i]->buffer)) return {};
    for (std::size_t d = 0; d < left[i]->indices.size(); ++d) {
      const Expr& index = left[i]->indices[d];
      const bool is_axis = std::ranges::any_of(
          block.iter_vars, [&](const auto& axis) { return index.same_as(axis->var); });
      if (is_axis) values.emplace(index, right[i]->indices[d]);
    }
  }
  return values;
}

}  // namespace

/// Finds by which power of exp(- m) a value scales with the maximum m.
class TermReader {
 public:
  static constexpr int any = -1000;  ///< Of 0, which scales with everything.

  TermReader(OnlineSums& sums) : sums_(sums) {}

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
    const std::vector<Expr> values = axes_from_indices(block, value->indices, load.indices);
    if (values.empty()) return {};
    Substitution axes;
    for (std::size_t i = 0; i < values.size(); ++i) axes[block.iter_vars[i]->var] = values[i];
    std::vector<Expr> maximum;
    for (const Expr& index : value->maximum) maximum.push_back(substitute(index, axes));
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
    if (sums_.is_read_by(x) || !sums_.is_term_of_maximum(x, load->indices)) return false;
    sums_.power_ = power.op;
    sums_.scale_ = scale;
    return is_of(load->indices);
  }

  OnlineSums& sums_;
  std::vector<Expr> maximum_;
};

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

bool OnlineSums::is_term_of_maximum(const Expr& x, const std::vector<Expr>& element) const {
  const Expr& source = reduction_.sources[0];
  const Substitution axes = axes_of(source, schedule_.get(maximum_), x);
  std::vector<Expr> own;
  for (const Expr& index : reduction_.indices) own.push_back(substitute(index, axes));
  return are_same(own, element) && structural_equal(substitute(source, axes), x);
}

std::string OnlineSums::add(BlockRV handle) {
  const BlockRealize& realize = schedule_.realize(handle);
  const Block& block = *realize.block;
  TermReader reader(*this);
  const auto reduction = reduction_of(block);
  const auto element = element_value_of(schedule_, handle);
  const auto* stored = std::get_if<ElementValue>(&element);
  if (!reduction && !stored) return "it neither sums up nor stores one value";
  const Expr& value = reduction ? reduction->sources[0] : stored->value;
  const auto& indices = reduction ? reduction->indices : stored->indices;
  const auto degree = reader.degree(value);
  if (!degree) return "its values are no products with one power of what the maximum is of";
  const auto is_read = [&](const Expr& expr) { return is_read_by(expr); };
  if (std::ranges::any_of(indices, is_read) || is_read(realize.predicate)) {
    return "its indices or conditions read the maximum";
  }
  const bool scales = *degree != 0 && *degree != TermReader::any;
  if (!reduction) {
    if (!scales) return {};
    kept_.push_back({handle, stored->indices, reader.maximum(), *degree});
    kept_buffers_.push_back(stored->buffer);
    return {};
  }
  if (!scales) return "it does not depend on the maximum";
  const auto* start = reduction->init[0].as<FloatImm>();
  if (!reduction->reducer || reduction->reducer->name != "sum" || !start || start->value != 0) {
    return "it is no sum that starts with 0";
  }
  if (*degree != 1) return "its terms have more than one power as a factor";
  const bool varies = std::ranges::any_of(reader.maximum(), [&](const Expr& index) {
    return std::ranges::any_of(block.iter_vars, [&](const auto& axis) {
      return axis->iter_type != IterType::data_par && uses_variable(index, axis->var);
    });
  });
  if (varies) return "one sum has terms of several maxima";
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
