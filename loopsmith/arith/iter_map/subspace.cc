// SPDX-License-Identifier: Apache-2.0
// Maps divided into an outer and an inner part.
#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/iter_map/check.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace arith {
namespace {

constexpr const char* is_mixed = "The subspace is not what changes fastest in an index.";

/// Digits in their order, the lowest first: the inner ones, then the outer ones. Their sum is
/// outer * inner_extent + inner; outer scales count from 1.
struct Parts {
  std::vector<IterSplitExpr> inner;
  std::vector<IterSplitExpr> outer;
  SymbolicInt inner_extent = 1;
  SymbolicInt outer_extent = 1;
};

class Divider {
 public:
  Divider(IterReader& reader, std::span<const Ptr<Var>> inner) : reader_(reader), inner_(inner) {}

  SubspacePart operator()(const IterSumExpr& sum) {
    Parts parts = divide(sum.args);
    SubspacePart result;
    result.outer = {std::move(parts.outer), 0};
    result.inner = {std::move(parts.inner), sum.base};
    result.outer_extent = parts.outer_extent;
    result.inner_extent = parts.inner_extent;
    return result;
  }

 private:
  Parts divide(std::vector<IterSplitExpr> args) {
    const auto [has_inner, has_outer] = contents(args);
    Parts result;
    if (!has_inner || !has_outer) {
      if (args.empty()) return result;
      IterSplitExpr digit = reader_.fuse(std::move(args));
      if (!digit.scale.is(1)) return fail();
      return pure(std::move(digit), has_inner);
    }
    SymbolicInt reached = 1;
    while (!args.empty()) {
      // The digit that continues where those before it end; one of a single value fits anywhere.
      const auto next = std::find_if(args.begin(), args.end(), [&](const IterSplitExpr& arg) {
        return arg.extent.is(1) || reader_.arithmetic().equal(arg.scale, reached);
      });
      if (next == args.end()) return fail();
      reached = reader_.arithmetic().multiply(reached, next->extent);
      add(result, divide(*next));
      args.erase(next);
    }
    return result;
  }

  /// Puts the parts of the next digit above what is there.
  void add(Parts& result, const Parts& digit) {
    SymbolicArithmetic& arithmetic = reader_.arithmetic();
    if (!digit.inner_extent.is(1) && !result.outer_extent.is(1)) arithmetic.fail(is_mixed);
    for (IterSplitExpr arg : digit.inner) {
      arg.scale = arithmetic.multiply(arg.scale, result.inner_extent);
      result.inner.push_back(std::move(arg));
    }
    for (IterSplitExpr arg : digit.outer) {
      arg.scale = arithmetic.multiply(arg.scale, result.outer_extent);
      result.outer.push_back(std::move(arg));
    }
    result.inner_extent = arithmetic.multiply(result.inner_extent, digit.inner_extent);
    result.outer_extent = arithmetic.multiply(result.outer_extent, digit.outer_extent);
  }

  static Parts pure(IterSplitExpr digit, bool is_inner) {
    const SymbolicInt extent = digit.extent;
    if (is_inner) return {.inner = {std::move(digit)}, .inner_extent = extent};
    return {.outer = {std::move(digit)}, .outer_extent = extent};
  }

  /// The parts of one digit, of scale 1.
  Parts divide(IterSplitExpr digit) {
    digit.scale = 1;
    const auto [has_inner, has_outer] = contents(*digit.source);
    if (!has_inner || !has_outer) return pure(std::move(digit), has_inner);
    const IterMark& mark = *digit.source;
    if (!mark.sum.base.is(0) || mark.overlaps) return fail();
    const Parts whole = divide(mark.sum.args);
    if (reader_.failed()) return {};
    SymbolicArithmetic& arithmetic = reader_.arithmetic();
    const SymbolicInt reach = arithmetic.multiply(digit.lower_factor, digit.extent);
    if (!arithmetic.quotient(mark.extent, reach)) return fail();
    if (digit.lower_factor.is(1) && arithmetic.equal(reach, mark.extent)) return whole;
    return cut(whole, digit, reach);
  }

  Parts fail() {
    reader_.fail(is_mixed);
    return {};
  }

  /// The digit of a mark whose parts are `whole`.
  Parts cut(const Parts& whole, const IterSplitExpr& digit, const SymbolicInt& reach) {
    SymbolicArithmetic& arithmetic = reader_.arithmetic();
    const SymbolicInt& boundary = whole.inner_extent;
    if (arithmetic.quotient(boundary, reach)) {
      IterSplitExpr inner = reader_.fuse(whole.inner);
      return pure(part(std::move(inner), digit.lower_factor, digit.extent), true);
    }
    if (const auto lower = arithmetic.quotient(digit.lower_factor, boundary)) {
      IterSplitExpr outer = reader_.fuse(whole.outer);
      return pure(part(std::move(outer), *lower, digit.extent), false);
    }
    const auto below = arithmetic.quotient(boundary, digit.lower_factor);
    const auto above = arithmetic.quotient(reach, boundary);
    if (!below || !above) return fail();
    return {.inner = {part(reader_.fuse(whole.inner), digit.lower_factor, *below)},
            .outer = {part(reader_.fuse(whole.outer), 1, *above)},
            .inner_extent = *below,
            .outer_extent = *above};
  }

  /// A digit of a digit.
  IterSplitExpr part(IterSplitExpr digit, const SymbolicInt& lower, const SymbolicInt& extent) {
    digit.lower_factor = reader_.arithmetic().multiply(digit.lower_factor, lower);
    digit.extent = extent;
    return digit;
  }

  /// Whether iterators in and out of the subspace are in a mark.
  std::pair<bool, bool> contents(const IterMark& mark) const {
    if (mark.var.defined()) {
      const bool is_inner = std::any_of(inner_.begin(), inner_.end(),
                                        [&](const Ptr<Var>& var) { return var.same_as(mark.var); });
      return {is_inner, !is_inner};
    }
    return contents(mark.sum.args);
  }

  std::pair<bool, bool> contents(const std::vector<IterSplitExpr>& args) const {
    std::pair<bool, bool> result;
    for (const IterSplitExpr& arg : args) {
      const auto inside = contents(*arg.source);
      result.first = result.first || inside.first;
      result.second = result.second || inside.second;
    }
    return result;
  }

  IterReader& reader_;
  std::span<const Ptr<Var>> inner_;
};

/// Divides the conditions that `predicate` joins among the two parts; false where one is of both.
bool divide_predicate(const Expr& predicate, std::span<const Iterator> iterators,
                      std::span<const Ptr<Var>> inner, SubspaceDivision& result) {
  result.outer_predicate = true;
  result.inner_predicate = true;
  if (!predicate.defined()) return true;
  for (const Expr& condition : conjuncts(predicate)) {
    bool is_inner = false;
    bool is_outer = false;
    for (const Ptr<Var>& variable : free_variables(condition)) {
      const auto is_this = [&](const Ptr<Var>& other) { return other.same_as(variable); };
      if (std::any_of(inner.begin(), inner.end(), is_this)) {
        is_inner = true;
      } else {
        is_outer = is_outer || std::any_of(iterators.begin(), iterators.end(),
                                           [&](const Iterator& it) { return is_this(it.var); });
      }
    }
    if (is_inner && is_outer) return false;
    Expr& part = is_inner ? result.inner_predicate : result.outer_predicate;
    part = part && condition;
  }
  return true;
}

}  // namespace
}  // namespace arith

SubspaceDivision subspace_divide(std::span<const Expr> indices, std::span<const Iterator> iterators,
                                 std::span<const Ptr<Var>> inner, const IterMapOptions& options,
                                 Analyzer& analyzer) {
  SubspaceDivision result;
  arith::IterReader reader(iterators, options, analyzer);
  if (!arith::divide_predicate(options.predicate, iterators, inner, result)) {
    reader.fail("A condition is about both parts of the space.");
  }
  reader.constrain(options.predicate, false);
  std::vector<IterSumExpr> whole;
  std::vector<IterSumExpr> sums;
  for (const Expr& index : indices) {
    sums.push_back(reader.constrained(reader.read(index)));
    whole.push_back(arith::fused(sums.back(), reader));
  }
  if (!reader.failed() && options.level != IterMapLevel::no_check) {
    arith::check_digits(whole, options, reader);
  }
  arith::Divider divide(reader, inner);
  for (const IterSumExpr& sum : sums) {
    if (!reader.failed()) result.parts.push_back(divide(sum));
  }
  if (const char* reason = reader.arithmetic().failure()) {
    result.parts.clear();
    result.errors.emplace_back(reason);
  }
  return result;
}

}  // namespace loopsmith
