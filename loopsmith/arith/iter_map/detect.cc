// SPDX-License-Identifier: Apache-2.0
// What is asked of maps as a whole.
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map/reader.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace arith {
namespace {

constexpr NoIterMap not_independent{"Mapped indices are not independent."};
constexpr NoIterMap not_bijective{"Index mapping does not form a bijective transform."};

/// The digits that a map takes of one mark.
struct Group {
  std::shared_ptr<const IterMark> mark;
  std::vector<IterSplitExpr> digits;
};

/// The digits of all marks that indices are made of, through marks of marks.
class Digits {
 public:
  void add(const IterSplitExpr& digit) {
    auto group = std::find_if(groups_.begin(), groups_.end(),
                              [&](const Group& g) { return g.mark == digit.source; });
    if (group != groups_.end()) {
      group->digits.push_back(digit);
      return;
    }
    groups_.push_back({digit.source, {digit}});
    for (const IterSplitExpr& arg : digit.source->sum.args) add(arg);
  }

  std::vector<Group>& groups() { return groups_; }
  bool has(const std::shared_ptr<const IterMark>& mark) const {
    return std::any_of(groups_.begin(), groups_.end(),
                       [&](const Group& group) { return group.mark == mark; });
  }

 private:
  std::vector<Group> groups_;
};

/// Puts the digits of a mark in order, the lowest first. Throws unless none overlaps another; with
/// `is_exact`, unless together they are the whole mark.
void order(Group& group, bool is_exact, Amounts& amounts) {
  Amount reached = 1;
  auto& digits = group.digits;
  for (std::size_t done = 0; done < digits.size(); ++done) {
    auto next = digits.end();
    Amount gap;
    for (auto it = digits.begin() + static_cast<std::ptrdiff_t>(done); it != digits.end(); ++it) {
      const auto here = amounts.quotient(it->lower_factor, reached);
      if (!here || (here->is_constant() && here->constant <= 0)) continue;
      if (next != digits.end() && !here->is(1) && !amounts.at_most(*here, gap)) continue;
      next = it;
      gap = *here;
      if (gap.is(1)) break;
    }
    if (next == digits.end()) throw not_independent;
    if (is_exact && !gap.is(1)) throw not_bijective;
    reached = amounts.multiply(next->lower_factor, next->extent);
    std::iter_swap(digits.begin() + static_cast<std::ptrdiff_t>(done), next);
  }
  if (is_exact && !amounts.equal(reached, group.mark->extent)) throw not_bijective;
}

/// Throws unless the digits that `indices` are made of are as the level asks.
void check_digits(const std::vector<IterSumExpr>& indices, const IterMapOptions& options,
                  IterReader& reader) {
  Digits digits;
  for (const IterSumExpr& index : indices) {
    for (const IterSplitExpr& arg : index.args) digits.add(arg);
  }
  const bool is_exact = options.level == IterMapLevel::bijective;
  // What a constraint is about is not independent, unless it is taken whole.
  for (const Constraint& constraint : reader.constraints()) {
    const auto& mark = constraint.mark;
    if (digits.has(mark)) continue;
    if (is_exact && !mark->extent.is(1)) throw not_bijective;
    digits.add({.source = mark, .extent = mark->extent});
  }
  if (is_exact) {
    for (const auto& leaf : reader.leaves()) {
      if (leaf && !leaf->extent.is(1) && !digits.has(leaf)) throw not_bijective;
    }
  }
  for (Group& group : digits.groups()) {
    order(group, is_exact, reader.amounts());
    if (is_exact && group.mark->left_pad != 0) {
      throw NoIterMap{"The iterations do not traverse full iter space"};
    }
  }
}

/// The widest type of the variables that a mark is made of.
DataType type_of(const IterMark& mark) {
  DataType result = mark.var.defined() ? mark.var->dtype : i32;
  for (const IterSplitExpr& arg : mark.sum.args) {
    result = result.with_bits(std::max(result.bits, type_of(*arg.source).bits));
  }
  return result;
}

/// True where a point is there only because a mark was padded to a multiple of what divides it.
Expr padding_of(const Group& group, IterReader& reader) {
  Amounts& amounts = reader.amounts();
  const IterMark& mark = *group.mark;
  Amount unit = 1;
  for (const IterSplitExpr& digit : group.digits) {
    const Amount reach = is_top(amounts, digit)
                             ? digit.lower_factor
                             : amounts.multiply(digit.lower_factor, digit.extent);
    if (unit.is_constant() && reach.is_constant()) {
      unit = amounts.multiply(unit, reach.constant / std::gcd(unit.constant, reach.constant));
    } else if (!amounts.quotient(unit, reach)) {
      unit = reach;
    }
  }
  const Amount count = amounts.ceil_quotient(mark.extent, unit);
  const Amount right = amounts.subtract(amounts.multiply(count, unit), mark.extent);
  if (mark.left_pad == 0 && right.is(0)) return false;
  const DataType type = type_of(mark);
  const Expr value = source_expr(reader, mark, type);
  const auto digit_of = [&](const Amount& amount) { return amount.expr(type); };
  const Expr high = floordiv(value, digit_of(unit));
  const Expr low = floormod(value, digit_of(unit));
  Expr result = false;
  if (mark.left_pad != 0) {
    result = high == zero_of(type) && low < int_imm(type, mark.left_pad);
  }
  if (!right.is(0)) {
    result = result || (high == digit_of(amounts.subtract(count, 1)) &&
                        low >= digit_of(amounts.subtract(unit, right)));
  }
  return result;
}

Expr padding_predicate(const std::vector<IterSumExpr>& indices, IterReader& reader) {
  Digits digits;
  for (const IterSumExpr& index : indices) {
    for (const IterSplitExpr& arg : index.args) digits.add(arg);
  }
  Expr result = false;
  for (const Group& group : digits.groups()) result = result || padding_of(group, reader);
  return result;
}

/// The index as at most one digit, and a base.
IterSumExpr fused(IterSumExpr sum, IterReader& reader) {
  sum = reader.constrained(std::move(sum));
  if (sum.args.empty()) return sum;
  const IterSplitExpr digit = reader.fuse(std::move(sum.args));
  if (digit.scale.is_constant() && digit.scale.constant <= 0) {
    throw NoIterMap{"Fuse iters failed: a scale is negative."};
  }
  return {{digit}, sum.base};
}

}  // namespace
}  // namespace arith

IterMapResult detect_iter_map(std::span<const Expr> indices, std::span<const Iterator> iterators,
                              const IterMapOptions& options, Analyzer& analyzer) {
  IterMapResult result;
  try {
    arith::IterReader reader(iterators, options, analyzer);
    reader.constrain(options.predicate, false);
    for (const Expr& index : indices) {
      result.indices.push_back(arith::fused(reader.read(index), reader));
    }
    if (options.level != IterMapLevel::no_check) {
      arith::check_digits(result.indices, options, reader);
    }
    reader.forget_constraints();
    result.padding_predicate = arith::padding_predicate(result.indices, reader);
  } catch (const arith::NoIterMap& failure) {
    result.indices.clear();
    result.padding_predicate = false;
    result.errors.emplace_back(failure.reason);
  }
  return result;
}

std::vector<Expr> iter_map_simplify(std::span<const Expr> indices,
                                    std::span<const Iterator> iterators,
                                    const IterMapOptions& options, Analyzer& analyzer) {
  std::vector<Expr> result(indices.begin(), indices.end());
  try {
    arith::IterReader reader(iterators, options, analyzer);
    reader.constrain(options.predicate, true);
    // An index that has no such form stays as it is; its neighbours need not.
    std::vector<std::optional<IterSumExpr>> sums(result.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      try {
        sums[i] = reader.read(result[i]);
      } catch (const arith::NoIterMap&) {
      }
    }
    reader.forget_constraints();
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (!sums[i]) continue;
      const Expr simple = arith::to_expr(reader, *sums[i], result[i].dtype());
      if (!structural_equal(simple, result[i])) result[i] = simple;
    }
  } catch (const arith::NoIterMap&) {  // The iterators have no form that is known.
  }
  return result;
}

IterSumExpr normalize_to_iter_sum(const Expr& index, std::span<const Iterator> iterators,
                                  Analyzer& analyzer) {
  IterMapOptions options;
  options.level = IterMapLevel::no_check;
  options.simplify_trivial_iterators = false;
  try {
    return arith::IterReader(iterators, options, analyzer).read_what_is_known(index);
  } catch (const arith::NoIterMap&) {
    return {{}, Amount(index)};
  }
}

Expr normalize_iter_map_to_expr(const IterSumExpr& sum, DataType dtype, Analyzer& analyzer) {
  arith::IterReader reader({}, {}, analyzer);
  return arith::to_expr(reader, sum, dtype);
}

}  // namespace loopsmith
