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
  Amount low;
  Amount high;
};

namespace {

constexpr NoIterMap unparsed{"Could not parse predicate as constraints on the input iterators."};

}  // namespace

void IterReader::constrain(const Expr& predicate, bool skip_unknown) {
  if (!predicate.defined() || is_const_int(predicate, 1)) return;
  std::vector<Limits> limits;
  for (const Expr& comparison : conjuncts(predicate)) {
    try {
      if (!add_limit(comparison, limits)) throw unparsed;
    } catch (const NoIterMap&) {
      if (!skip_unknown) throw unparsed;
    }
  }
  // Those of few digits first: what a larger one is about may hold a smaller one.
  std::stable_sort(limits.begin(), limits.end(), [](const Limits& a, const Limits& b) {
    return a.members.size() < b.members.size();
  });
  for (Limits& limit : limits) {
    try {
      apply(std::move(limit));
    } catch (const NoIterMap&) {
      if (!skip_unknown) throw;
    }
  }
}

bool IterReader::add_limit(const Expr& comparison, std::vector<Limits>& limits) {
  const auto difference = comparison_of(comparison);
  if (!difference) return false;
  // a + base <= 0 for an inequality; 0 <= a + base, too, for an equality.
  IterSumExpr sum = this->sum(read(difference->left), read(difference->right), -1);
  if (difference->is_strict) sum.base = amounts_.add(sum.base, 1);
  if (sum.args.empty()) {
    const bool is_below = sum.base.is_constant() && sum.base.constant < 0;
    const bool is_above = sum.base.is_constant() && sum.base.constant > 0;
    if (is_above || (is_below && difference->is_equality)) {
      throw NoIterMap{"The predicate never holds."};
    }
    return true;
  }
  const bool is_positive = amounts_.at_most(0, sum.args[0].scale);
  if (!is_positive) sum = scaled(std::move(sum), -1);
  for (const IterSplitExpr& arg : sum.args) {
    if (!amounts_.at_most(0, arg.scale)) {
      throw NoIterMap{"Could not normalize iterators using the constraints given."};
    }
  }
  sort(sum.args);
  const Amount limit = amounts_.multiply(sum.base, -1);
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
    known->high = known->has_high ? amounts_.minimum(known->high, limit) : limit;
    known->has_high = true;
  }
  if (!is_positive || difference->is_equality) {
    known->low = known->has_low ? amounts_.maximum(known->low, limit) : limit;
    known->has_low = true;
  }
  return true;
}

void IterReader::apply(Limits limits) {
  IterSumExpr sum = constrained({std::move(limits.members), 0});
  for (const Constraint& known : constraints_) {
    for (const IterSplitExpr& member : known.members) {
      const bool is_cut = std::any_of(sum.args.begin(), sum.args.end(), [&](const auto& arg) {
        return arg.source == member.source && amounts_.equal(arg.lower_factor, member.lower_factor);
      });
      if (is_cut) throw NoIterMap{"Invalid constraints."};
    }
  }
  const IterSplitExpr digit = fuse(sum.args);
  const Amount& scale = digit.scale;
  if (!scale.is_constant()) {
    throw NoIterMap{"Could not normalize iterators using the constraints given."};
  }
  // The digit runs from `first` through `last`, both included.
  Amount first = 0;
  Amount last = amounts_.subtract(digit.extent, 1);
  if (limits.has_low) {
    first = amounts_.maximum(
        first, amounts_.ceil_quotient(amounts_.subtract(limits.low, sum.base), scale));
  }
  if (limits.has_high) {
    last = amounts_.minimum(
        last, amounts_.floor_quotient(amounts_.subtract(limits.high, sum.base), scale));
  }
  const Amount extent = amounts_.add(amounts_.subtract(last, first), 1);
  if (extent.is_constant() && extent.constant <= 0) throw NoIterMap{"The predicate never holds."};
  if (first.is(0) && amounts_.equal(extent, digit.extent)) return;

  Constraint constraint;
  constraint.first = first;
  constraint.members = std::move(sum.args);
  for (IterSplitExpr& member : constraint.members) {
    member.scale = *amounts_.quotient(member.scale, scale);
  }
  IterMark mark;
  mark.extent = extent;
  mark.sum = {{digit}, amounts_.multiply(first, -1)};
  mark.sum.args[0].scale = 1;
  constraint.mark = mark_of(std::move(mark));
  constraints_.push_back(std::move(constraint));
}

IterSumExpr IterReader::constrained(IterSumExpr sum) {
  for (const Constraint& constraint : constraints_) {
    if (constraint.members.size() > sum.args.size()) continue;
    // The factor by which all members occur.
    std::optional<Amount> factor;
    std::vector<std::size_t> found;
    for (const IterSplitExpr& member : constraint.members) {
      for (std::size_t i = 0; i < sum.args.size(); ++i) {
        const IterSplitExpr& arg = sum.args[i];
        if (arg.source != member.source || !amounts_.equal(arg.lower_factor, member.lower_factor) ||
            !amounts_.equal(arg.extent, member.extent)) {
          continue;
        }
        const auto here = amounts_.quotient(arg.scale, member.scale);
        if (!here || (factor && !amounts_.equal(*factor, *here))) continue;
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
    sum.base = amounts_.add(sum.base, amounts_.multiply(constraint.first, *factor));
  }
  return sum;
}

}  // namespace loopsmith::arith
