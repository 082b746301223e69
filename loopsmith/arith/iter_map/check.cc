// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/iter_map/check.h"

#include <algorithm>
#include <numeric>

#include "loopsmith/ir/operators.h"

namespace loopsmith::arith {
namespace {

/// The digits that a map takes of one mark.
struct Group {
  std::shared_ptr<const IterMark> mark;
  std::vector<IterSplitExpr> digits;
};

/// The digits of all marks that indices are made of, through marks of marks.
class MapDigits {
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

/// Puts the digits of a mark in order, the lowest first, and tells whether together they are all of
/// it. Fails where one overlaps another.
bool order(Group& group, SymbolicArithmetic& arithmetic) {
  SymbolicInt reached = 1;
  bool is_whole = true;
  auto& digits = group.digits;
  for (std::size_t done = 0; done < digits.size(); ++done) {
    auto next = digits.end();
    SymbolicInt gap;
    for (auto it = digits.begin() + static_cast<std::ptrdiff_t>(done); it != digits.end(); ++it) {
      const auto here = arithmetic.quotient(it->lower_factor, reached);
      if (!here || (here->is_constant() && here->constant <= 0)) continue;
      if (next != digits.end() && !here->is(1) && !arithmetic.at_most(*here, gap)) continue;
      next = it;
      gap = *here;
      if (gap.is(1)) break;
    }
    if (next == digits.end()) {
      arithmetic.fail("Mapped indices are not independent.");
      return false;
    }
    is_whole = is_whole && gap.is(1);
    reached = arithmetic.multiply(next->lower_factor, next->extent);
    std::iter_swap(digits.begin() + static_cast<std::ptrdiff_t>(done), next);
  }
  return is_whole && is_top(arithmetic, digits.back());
}

/// True when `digits`, in order, end where their mark ends.
bool is_exact(const Group& group, SymbolicArithmetic& arithmetic) {
  const IterSplitExpr& last = group.digits.back();
  return group.mark->left_pad == 0 &&
         arithmetic.equal(arithmetic.multiply(last.lower_factor, last.extent), group.mark->extent);
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
  SymbolicArithmetic& arithmetic = reader.arithmetic();
  const IterMark& mark = *group.mark;
  SymbolicInt unit = 1;
  for (const IterSplitExpr& digit : group.digits) {
    const SymbolicInt reach = is_top(arithmetic, digit)
                                  ? digit.lower_factor
                                  : arithmetic.multiply(digit.lower_factor, digit.extent);
    if (unit.is_constant() && reach.is_constant()) {
      unit = arithmetic.multiply(unit, reach.constant / std::gcd(unit.constant, reach.constant));
    } else if (!arithmetic.quotient(unit, reach)) {
      unit = reach;
    }
  }
  const SymbolicInt count = arithmetic.ceil_quotient(mark.extent, unit);
  const SymbolicInt right = arithmetic.subtract(arithmetic.multiply(count, unit), mark.extent);
  if (mark.left_pad == 0 && right.is(0)) return false;
  const DataType type = type_of(mark);
  const Expr value = source_expr(reader, mark, type);
  const auto digit_of = [&](const SymbolicInt& amount) { return amount.expr(type); };
  const Expr high = floordiv(value, digit_of(unit));
  const Expr low = floormod(value, digit_of(unit));
  Expr result = false;
  if (mark.left_pad != 0) {
    result = high == zero_of(type) && low < int_imm(type, mark.left_pad);
  }
  if (!right.is(0)) {
    const Expr first = digit_of(arithmetic.subtract(unit, right));
    result = result || (high == digit_of(arithmetic.subtract(count, 1)) &&
                        (right.is(1) ? low == first : low >= first));
  }
  return result;
}

}  // namespace

IterSumExpr fused(IterSumExpr sum, IterReader& reader) {
  sum = reader.constrained(std::move(sum));
  if (sum.args.empty()) return sum;
  const IterSplitExpr digit = reader.fuse(std::move(sum.args));
  if (digit.scale.is_constant() && digit.scale.constant <= 0) {
    reader.fail("Fuse iters failed: a scale is negative.");
  }
  return {{digit}, sum.base};
}

bool check_digits(const std::vector<IterSumExpr>& indices, const IterMapOptions& options,
                  IterReader& reader) {
  MapDigits digits;
  for (const IterSumExpr& index : indices) {
    for (const IterSplitExpr& arg : index.args) digits.add(arg);
  }
  bool is_injective = true;
  // What a constraint is about is not independent, unless it is taken whole.
  for (const Constraint& constraint : reader.constraints()) {
    const auto& mark = constraint.mark;
    if (digits.has(mark)) continue;
    is_injective = is_injective && mark->extent.is(1);
    digits.add({.source = mark, .extent = mark->extent});
  }
  for (const auto& leaf : reader.leaves()) {
    is_injective = is_injective && (!leaf || leaf->extent.is(1) || digits.has(leaf));
  }
  for (Group& group : digits.groups()) {
    is_injective = order(group, reader.arithmetic()) && !group.mark->overlaps && is_injective;
  }
  if (options.level != IterMapLevel::bijective) return is_injective;
  if (!is_injective) {
    reader.fail("Index mapping does not form a bijective transform.");
    return false;
  }
  for (const Group& group : digits.groups()) {
    if (!is_exact(group, reader.arithmetic())) {
      reader.fail("The iterations do not traverse full iter space");
    }
  }
  return true;
}

Expr padding_predicate(const std::vector<IterSumExpr>& indices, IterReader& reader) {
  MapDigits digits;
  for (const IterSumExpr& index : indices) {
    for (const IterSplitExpr& arg : index.args) digits.add(arg);
  }
  Expr result = false;
  for (const Group& group : digits.groups()) result = result || padding_of(group, reader);
  return result;
}

}  // namespace loopsmith::arith
