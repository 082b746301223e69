// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/iter_map/reader.h"

#include <algorithm>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::arith {

IterReader::IterReader(std::span<const Iterator> iterators, const IterMapOptions& options,
                       Analyzer& analyzer)
    : iterators_(iterators),
      may_overlap_(options.level != IterMapLevel::bijective),
      arithmetic_(analyzer) {
  leaves_.reserve(iterators.size());
  Expr has_values = true;
  for (const Iterator& iterator : iterators) {
    for (const Expr& end : {iterator.min, iterator.extent}) {
      if (!is_free(end)) {
        fail("Invalid iterators. Iterators may not be expressions of each other.");
      }
    }
    const SymbolicInt extent(iterator.extent);
    if (!extent.is_constant()) has_values = has_values && 0 < iterator.extent;
    if (extent.is_constant() && extent.constant <= 0) {
      fail("An iterator runs through nothing.");
    }
    if (extent.is(1) && options.simplify_trivial_iterators) {
      leaves_.push_back(nullptr);
    } else {
      IterMark mark;
      mark.var = iterator.var;
      mark.min = iterator.min;
      mark.extent = extent;
      leaves_.push_back(std::make_shared<const IterMark>(std::move(mark)));
    }
  }
  if (!as_int(has_values)) has_values_.emplace(analyzer.constraint_scope(has_values));
}

IterSumExpr IterReader::unreadable(const char* reason) {
  fail(reason);
  return {};
}

IterSumExpr IterReader::read(const Expr& expr) {
  if (failed()) return {};
  if (!expr.dtype().is_index() || !expr.dtype().is_scalar()) {
    return unreadable("An index is no signed integer of 32 bits or more.");
  }
  if (const std::int64_t* value = as_int(expr)) return {{}, *value};
  if (expr.is<Var>()) return variable(expr);
  const bool is_shared = expr.get()->count.load(std::memory_order_relaxed) > 1;
  if (is_shared) {
    if (const auto found = shared_.find(expr.get()); found != shared_.end()) {
      is_known_ = is_known_ && found->second.second;
      return found->second.first;
    }
  }
  const bool was_known = std::exchange(is_known_, true);
  IterSumExpr result =
      deep_call([&] { return keeps_unknown_ ? read_known(expr) : read_node(expr); });
  if (failed()) return {};
  if (is_shared) shared_.emplace(expr.get(), std::pair(result, is_known_));
  is_known_ = is_known_ && was_known;
  return result;
}

namespace {

/// True when a type has all values of a sum.
bool fits(const IterSumExpr& sum, DataType type) {
  if (!sum.base.is_constant()) return false;
  __int128 least = sum.base.constant, largest = least;
  for (const IterSplitExpr& term : sum.args) {
    if (!term.scale.is_constant() || !term.extent.is_constant()) return false;
    const __int128 reach = static_cast<__int128>(term.scale.constant) * (term.extent.constant - 1);
    (reach < 0 ? least : largest) += reach;
  }
  return least >= min_int(type) && largest <= max_int(type);
}

}  // namespace

/// Reads a node; as its own base, where it has no form, or is more than a sum of what has none.
IterSumExpr IterReader::read_known(const Expr& expr) {
  IterSumExpr result = read_node(expr);
  if (arithmetic_.take_failure()) {
    is_known_ = false;
  } else if (is_known_ || expr.is<Add>() || expr.is<Sub>()) {
    return result;
  }
  return {{}, SymbolicInt(expr)};
}

IterSumExpr IterReader::read_what_is_known(const Expr& expr) {
  keeps_unknown_ = true;
  IterSumExpr result = read(expr);
  keeps_unknown_ = false;
  sort(result.args);
  std::reverse(result.args.begin(), result.args.end());
  return result;
}

IterSumExpr IterReader::read_node(const Expr& expr) {
  if (const auto* node = expr.as<Add>()) return sum(read(node->a), read(node->b));
  if (const auto* node = expr.as<Sub>()) return sum(read(node->a), read(node->b), -1);
  if (const auto* node = expr.as<Mul>()) return product(read(node->a), read(node->b));
  if (const auto* node = expr.as<FloorDiv>()) return division(node->a, node->b, false, false);
  if (const auto* node = expr.as<FloorMod>()) return division(node->a, node->b, true, false);
  if (const auto* node = expr.as<Div>()) return division(node->a, node->b, false, true);
  if (const auto* node = expr.as<Mod>()) return division(node->a, node->b, true, true);
  if (const auto* node = expr.as<Cast>(); node && node->value.dtype().is_index()) {
    if (node->dtype.bits >= node->value.dtype().bits) return read(node->value);
    if (is_free(expr)) return {{}, SymbolicInt(expr)};
    IterSumExpr value = read(node->value);
    if (failed() || fits(value, node->dtype)) return value;
  }
  if (!is_free(expr)) return unreadable("An operation on iterators is none of + - * // %.");
  return {{}, SymbolicInt(expr)};
}

IterSumExpr IterReader::variable(const Expr& expr) {
  for (std::size_t i = 0; i < iterators_.size(); ++i) {
    if (!iterators_[i].var.same_as(expr)) continue;
    const SymbolicInt min(iterators_[i].min);
    if (!leaves_[i]) return {{}, min};
    return {{{.source = leaves_[i], .extent = leaves_[i]->extent}}, min};
  }
  return {{}, SymbolicInt(expr)};
}

bool IterReader::is_free(const Expr& expr) const {
  if (as_int(expr)) return true;
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    for (const Iterator& iterator : iterators_) found = found || iterator.var.same_as(ref);
    return !found;
  });
  return !found;
}

IterSumExpr IterReader::sum(IterSumExpr a, const IterSumExpr& b, std::int64_t factor) {
  for (IterSplitExpr term : b.args) {
    term.scale = arithmetic_.multiply(term.scale, factor);
    add_term(a.args, std::move(term));
  }
  a.base = arithmetic_.add(a.base, arithmetic_.multiply(b.base, factor));
  return a;
}

IterSumExpr IterReader::scaled(IterSumExpr sum, const SymbolicInt& factor) {
  if (factor.is(0)) return {};
  for (IterSplitExpr& term : sum.args) term.scale = arithmetic_.multiply(term.scale, factor);
  sum.base = arithmetic_.multiply(sum.base, factor);
  return sum;
}

IterSumExpr IterReader::product(const IterSumExpr& a, const IterSumExpr& b) {
  if (!a.args.empty() && !b.args.empty()) {
    return unreadable("Product of two iterators cannot be represented as an IterMap.");
  }
  return a.args.empty() ? scaled(b, a.base) : scaled(a, b.base);
}

IterSumExpr IterReader::division(const Expr& a, const Expr& b, bool is_remainder,
                                 bool rounds_to_zero) {
  IterSumExpr dividend = read(a);
  const IterSumExpr divisor = read(b);
  if (!divisor.args.empty()) return unreadable("A divisor mentions an iterator.");
  if (!arithmetic_.is_divisor(divisor.base) || divisor.base.is(0)) {
    return unreadable("A divisor is not known to be positive.");
  }
  if (rounds_to_zero && !is_never_negative(dividend)) {
    return unreadable("A division that rounds to zero may be of a negative number.");
  }
  Division result = divide(std::move(dividend), divisor.base);
  return std::move(is_remainder ? result.remainder : result.quotient);
}

bool IterReader::is_never_negative(const IterSumExpr& sum) {
  if (!arithmetic_.at_most(0, sum.base)) return false;
  for (const IterSplitExpr& term : sum.args) {
    if (!arithmetic_.at_most(0, term.scale)) return false;
  }
  return true;
}

}  // namespace loopsmith::arith
