// SPDX-License-Identifier: Apache-2.0
// What a predicate says of sums of digits.
#include <algorithm>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/iter_map/reader.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith::arith {

/// low <= members <= high, where there are such limits.
struct IterReader::Limits {
  std::vector<IterSplitExpr> members;
  bool has_low = false;
  bool has_high = false;
  SymbolicInt low;
  SymbolicInt high;
};

void IterReader::constrain(const Expr& predicate, bool skip_unknown) {
  if (failed() || !predicate.defined() || is_const_int(predicate, 1)) return;
  std::vector<Limits> limits;
  for (const Expr& comparison : conjuncts(predicate)) {
    const bool is_limit = add_limit(comparison, limits);
    if ((arithmetic_.take_failure() || !is_limit) && !skip_unknown)
      return fail("Could not parse predicate as constraints on the input iterators.");
  }
  // Those of few digits first: what a larger one is about may hold a smaller one.
  std::stable_sort(limits.begin(), limits.end(), [](const Limits& a, const Limits& b) {
    return a.members.size() < b.members.size();
  });
  for (Limits& limit : limits) {
    apply(std::move(limit));
    if (skip_unknown) arithmetic_.take_failure();
    if (failed()) return;
  }
}

/// Learns what one comparison says; false where it is none, or its arithmetic fails.
bool IterReader::add_limit(const Expr& comparison, std::vector<Limits>& limits) {
  const auto difference = comparison_of(comparison);
  if (!difference) return false;
  // a + base <= 0 for an inequality; 0 <= a + base, too, for an equality.
  IterSumExpr sum = this->sum(read(difference->left), read(difference->right), -1);
  if (difference->is_strict) sum.base = arithmetic_.add(sum.base, 1);
  if (sum.args.empty()) {
    const bool is_below = sum.base.is_constant() && sum.base.constant < 0;
    const bool is_above = sum.base.is_constant() && sum.base.constant > 0;
    return !is_above && !(is_below && difference->is_equality);
  }
  const bool is_positive = arithmetic_.at_most(0, sum.args[0].scale);
  if (!is_positive) sum = scaled(std::move(sum), -1);
  for (const IterSplitExpr& arg : sum.args) {
    if (!arithmetic_.at_most(0, arg.scale)) return false;
  }
  sort(sum.args);
  const SymbolicInt limit = arithmetic_.multiply(sum.base, -1);
  if (failed()) return false;
  auto known = std::find_if(limits.begin(), limits.end(), [&](const Limits& other) {
    return other.members.size() == sum.args.size() &&
           std::equal(other.members.begin(), other.members.end(), sum.args.begin(),
                      [&](const auto& a, const auto& b) { return same(a, b); });
  });
  if (known == limits.end()) {
    limits.emplace_back().members = std::move(sum.args);
    known = limits.end() - 1;
  }
  if (is_positive || difference->is_equality) {
    const SymbolicInt high = known->has_high ? arithmetic_.minimum(known->high, limit) : limit;
    if (failed()) return false;
    known->high = high;
    known->has_high = true;
  }
  if (!is_positive || difference->is_equality) {
    const SymbolicInt low = known->has_low ? arithmetic_.maximum(known->low, limit) : limit;
    if (failed()) return false;
    known->low = low;
    known->has_low = true;
  }
  return true;
}

void IterReader::apply(Limits limits) {
  IterSumExpr sum = constrained({std::move(limits.members), 0});
  for (const Constraint& known : constraints_) {
    for (const IterSplitExpr& member : known.members) {
      const bool is_cut = std::any_of(sum.args.begin(), sum.args.end(), [&](const auto& arg) {
        return arg.source == member.source &&
               arithmetic_.equal(arg.lower_factor, member.lower_factor);
      });
      if (is_cut) return fail("Invalid constraints.");
    }
  }
  const IterSplitExpr digit = fuse(sum.args);
  const SymbolicInt& scale = digit.scale;
  if (!scale.is_constant()) {
    fail("Could not normalize iterators using the constraints given.");
  }
  if (failed()) return;
  // The digit runs from `first` through `last`, both included.
  SymbolicInt first = 0;
  SymbolicInt last = arithmetic_.subtract(digit.extent, 1);
  if (limits.has_low) {
    first = arithmetic_.maximum(
        first, arithmetic_.ceil_quotient(arithmetic_.subtract(limits.low, sum.base), scale));
  }
  if (limits.has_high) {
    last = arithmetic_.minimum(
        last, arithmetic_.floor_quotient(arithmetic_.subtract(limits.high, sum.base), scale));
  }
  const SymbolicInt extent = arithmetic_.add(arithmetic_.subtract(last, first), 1);
  if (extent.is_constant() && extent.constant <= 0) {
    fail("The predicate never holds.");
  }
  if (first.is(0) && arithmetic_.equal(extent, digit.extent)) return;

  Constraint constraint;
  constraint.first = first;
  constraint.members = std::move(sum.args);
  for (IterSplitExpr& member : constraint.members) {
    member.scale = *arithmetic_.quotient(member.scale, scale);
  }
  IterMark mark;
  mark.extent = extent;
  mark.sum = {{digit}, arithmetic_.multiply(first, -1)};
  mark.sum.args[0].scale = 1;
  constraint.mark = mark_of(std::move(mark));
  if (!failed()) constraints_.push_back(std::move(constraint));
}

IterSumExpr IterReader::constrained(IterSumExpr sum) {
  for (const Constraint& constraint : constraints_) {
    if (constraint.members.size() > sum.args.size()) continue;
    // The factor by which all members occur.
    std::optional<SymbolicInt> factor;
    std::vector<std::size_t> found;
    for (const IterSplitExpr& member : constraint.members) {
      for (std::size_t i = 0; i < sum.args.size(); ++i) {
        const IterSplitExpr& arg = sum.args[i];
        if (arg.source != member.source ||
            !arithmetic_.equal(arg.lower_factor, member.lower_factor) ||
            !arithmetic_.equal(arg.extent, member.extent)) {
          continue;
        }
        const auto here = arithmetic_.quotient(arg.scale, member.scale);
        if (!here || (factor && !arithmetic_.equal(*factor, *here))) continue;
        factor = here;
        found.push_back(i);
        break;
      }
    }
    if (found.size() != constraint.members.size()) continue;
    std::sort(found.rbegin(), found.rend());
    for (const std::size_t i : found) {
      sum.args.erase(sum.args.begin() + static_cast<std::ptrdiff_t>(i));
    }
    add_term(sum.args,
             {.source = constraint.mark, .extent = constraint.mark->extent, .scale = *factor});
    sum.base = arithmetic_.add(sum.base, arithmetic_.multiply(constraint.first, *factor));
  }
  return sum;
}

}  // namespace loopsmith::arith
