// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/region_bounds.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

bool mentions(const Expr& expr, std::span<const Iterator> iterators) {
  return std::any_of(iterators.begin(), iterators.end(),
                     [&](const Iterator& iterator) { return uses_variable(expr, iterator.var); });
}

/// The values of `extent` numbers from each value of a detected index on; nullopt where they leave
/// holes between them.
std::optional<IntSet> swept(const IterSumExpr& index, const Expr& extent, Analyzer& analyzer) {
  const DataType type = extent.dtype();
  const Expr first = index.base.expr(type);
  Expr count = extent;
  for (const IterSplitExpr& arg : index.args) {
    const Expr scale = arg.scale.expr(type);
    if (!analyzer.can_prove(scale <= extent, ProofStrength::symbolic_bound)) return {};
    count = (arg.extent.expr(type) - const_of(type, 1)) * scale + extent;
  }
  const Expr last = analyzer.simplify(first + count - const_of(type, 1));
  return IntSet(analyzer.simplify(first), last);
}

/// True when each value of a sum occurs: it is the highest digit of a mark of its own that sums
/// whole variables, so that padding adds no value to it.
bool is_complete(const IterSumExpr& index) {
  const auto is_whole = [](const IterSplitExpr& part) {
    return part.source->var.defined() && part.lower_factor.is(1) && part.extent.is_constant() &&
           part.source->extent.is(part.extent.constant);
  };
  return std::ranges::all_of(index.args, [&](const IterSplitExpr& arg) {
    const IterMark& mark = *arg.source;
    if (!arg.lower_factor.is_constant() || !arg.extent.is_constant() ||
        !mark.extent.is_constant() || mark.left_pad >= arg.lower_factor.constant) {
      return false;
    }
    const bool is_top = -arith::floor_quotient(-mark.extent.constant, arg.lower_factor.constant) ==
                        arg.extent.constant;
    return is_top && (mark.var.defined() || std::ranges::all_of(mark.sum.args, is_whole));
  });
}

/// A region that runs down while iterators run up, mirrored at 0.
bool is_falling(const Expr& start, std::span<const Iterator> iterators, Analyzer& analyzer) {
  const IterSumExpr sum = normalize_to_iter_sum(start, iterators, analyzer);
  return !sum.args.empty() && std::ranges::all_of(sum.args, [](const IterSplitExpr& arg) {
    return arg.scale.is_constant() && arg.scale.constant < 0;
  });
}

}  // namespace

std::optional<IntBox> estimate_region_strict_bound(std::span<const Ptr<Range>> region,
                                                   std::span<const Iterator> iterators,
                                                   const Expr& predicate, Analyzer& analyzer) {
  std::vector<Expr> starts;
  std::vector<bool> is_mirrored;
  for (const Ptr<Range>& range : region) {
    if (mentions(range->extent, iterators)) return {};
    is_mirrored.push_back(is_falling(range->min, iterators, analyzer));
    const Expr zero = zero_of(range->min.dtype());
    const Expr one = const_of(range->extent.dtype(), 1);
    starts.push_back(is_mirrored.back() ? zero - (range->min + range->extent - one) : range->min);
  }
  const IterMapResult map = detect_iter_map(starts, iterators, {.predicate = predicate}, analyzer);
  // A map that pads misses points, but where only highest digits are looked at.
  const bool has_all_points = map.ok() && (is_const_int(map.padding_predicate, 0) ||
                                           std::ranges::all_of(map.indices, is_complete));
  if (!has_all_points) return {};
  IntBox result;
  for (std::size_t i = 0; i < region.size(); ++i) {
    const auto set = swept(map.indices[i], region[i]->extent, analyzer);
    if (!set) return {};
    const auto negated = [&](const Expr& end) {
      return analyzer.simplify(zero_of(end.dtype()) - end);
    };
    result.push_back(is_mirrored[i] ? IntSet(negated(set->max_value()), negated(set->min_value()))
                                    : *set);
  }
  return result;
}

std::optional<IntBox> estimate_region_lower_bound(std::span<const Ptr<Range>> region,
                                                  std::span<const Iterator> iterators,
                                                  const Expr& predicate, Analyzer& analyzer) {
  return estimate_region_strict_bound(region, iterators, predicate, analyzer);
}

IntBox estimate_region_upper_bound(std::span<const Ptr<Range>> region,
                                   std::span<const Iterator> iterators, const Expr& predicate,
                                   Analyzer& analyzer) {
  if (auto exact = estimate_region_strict_bound(region, iterators, predicate, analyzer)) {
    return *std::move(exact);
  }
  Domains domains;
  for (const Iterator& iterator : iterators) {
    domains[iterator.var] = IntSet::from_range(range(iterator.min, iterator.extent));
  }
  IntBox result;
  for (const Ptr<Range>& range : region) {
    const auto exact =
        estimate_region_strict_bound(std::span(&range, 1), iterators, predicate, analyzer);
    if (exact) {
      result.push_back(exact->front());
      continue;
    }
    const IntSet first = analyzer.int_set(range->min, domains);
    const Expr end = range->min + range->extent - const_of(range->extent.dtype(), 1);
    const IntSet last = analyzer.int_set(end, domains);
    result.emplace_back(first.min_value(), last.max_value());
  }
  return result;
}

namespace {

/// True when a <= b is known; an open end is null.
bool is_at_most(const Expr& a, const Expr& b, Analyzer& analyzer) {
  return a.defined() && b.defined() && analyzer.can_prove(a <= b, ProofStrength::symbolic_bound);
}

Expr next_to(const Expr& end, int step) {
  return end + int_imm(end.dtype(), step);
}

/// True when the interval is known to have no value.
bool is_empty(const IntSet& set, Analyzer& analyzer) {
  if (set.is_nothing()) return true;
  return set.has_lower_bound() && set.has_upper_bound() &&
         analyzer.can_prove(set.max_value() < set.min_value(), ProofStrength::symbolic_bound);
}

/// The end that is further in, by `is_further(a, b)`; either may be open.
template <class IsFurther>
Expr inner_end(const Expr& a, const Expr& b, IsFurther is_further,
               Expr (*fold)(const Expr&, const Expr&)) {
  if (!a.defined()) return b;
  if (!b.defined() || is_further(a, b)) return a;
  return is_further(b, a) ? b : fold(a, b);
}

/// The values of both, with ends that are known to be further in where that is known.
IntSet common(const IntSet& a, const IntSet& b, Analyzer& analyzer) {
  const auto is_above = [&](const Expr& x, const Expr& y) { return is_at_most(y, x, analyzer); };
  const auto is_below = [&](const Expr& x, const Expr& y) { return is_at_most(x, y, analyzer); };
  return {inner_end(a.min_value(), b.min_value(), is_above,
                    [](const Expr& x, const Expr& y) { return max(x, y); }),
          inner_end(a.max_value(), b.max_value(), is_below,
                    [](const Expr& x, const Expr& y) { return min(x, y); })};
}

/// Adds to `result` what is left of `box` without `cover`: boxes beside it, dimension by dimension.
void subtract(IntBox box, const IntBox& cover, Analyzer& analyzer, std::vector<IntBox>& result) {
  for (std::size_t i = 0; i < box.size(); ++i) {
    const bool is_apart =
        cover[i].is_nothing() || is_empty(common(box[i], cover[i], analyzer), analyzer);
    if (is_apart) {
      result.push_back(std::move(box));
      return;
    }
  }
  const auto keep = [&](std::size_t i, const IntSet& part) {
    if (is_empty(part, analyzer)) return;
    result.push_back(box);
    result.back()[i] = part;
  };
  for (std::size_t i = 0; i < box.size(); ++i) {
    const IntSet& hole = cover[i];
    if (hole.has_lower_bound()) keep(i, {box[i].min_value(), next_to(hole.min_value(), -1)});
    if (hole.has_upper_bound()) keep(i, {next_to(hole.max_value(), 1), box[i].max_value()});
    box[i] = common(box[i], hole, analyzer);
  }
}

}  // namespace

IntSet union_lower_bound(std::span<const IntSet> sets, Analyzer& analyzer) {
  std::vector<IntSet> open;
  for (const IntSet& set : sets) {
    if (!set.is_nothing()) open.push_back(set);
  }
  if (open.empty()) return IntSet::nothing();
  IntSet result = open.front();
  open.erase(open.begin());
  const auto reaches = [&](const Expr& low, const Expr& high) {
    return !low.defined() || !high.defined() || is_at_most(low, next_to(high, 1), analyzer);
  };
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (auto it = open.begin(); it != open.end(); ++it) {
      if (!reaches(it->min_value(), result.max_value()) ||
          !reaches(result.min_value(), it->max_value())) {
        continue;
      }
      const IntSet both = unite(result, *it);
      const auto simple = [&](const Expr& end) {
        return end.defined() ? analyzer.simplify(end) : end;
      };
      result = {simple(both.min_value()), simple(both.max_value())};
      open.erase(it);
      has_grown = true;
      break;
    }
  }
  return result;
}

bool is_covered(const IntBox& box, std::span<const IntBox> covers, Analyzer& analyzer) {
  constexpr std::size_t max_pieces = 1000;
  for (const IntSet& side : box) {
    if (is_empty(side, analyzer)) return true;
  }
  std::vector<IntBox> left{box};
  for (const IntBox& cover : covers) {
    require(cover.size() == box.size(), "regions_have_one_rank",
            hint("compare regions of one buffer"),
            "is_covered: a region has {} dimensions, another {}", box.size(), cover.size());
    std::vector<IntBox> next;
    for (IntBox& piece : left) subtract(std::move(piece), cover, analyzer, next);
    left = std::move(next);
    if (left.empty()) return true;
    if (left.size() > max_pieces) return false;
  }
  return false;
}

}  // namespace loopsmith
