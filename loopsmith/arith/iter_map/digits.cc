// SPDX-License-Identifier: Apache-2.0
// Digits of one mark, put together and taken apart again; and sums of digits that are one mark.
#include <algorithm>

#include "loopsmith/arith/iter_map/reader.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::arith {
namespace {

/// Longer sums are no index that a person or a schedule wrote.
constexpr std::size_t max_terms = 128;
constexpr std::size_t max_marks = 4096;
/// Marks of marks of marks: what walks them may then recurse.
constexpr int max_depth = 64;

bool is_constant(const IterSplitExpr& split) {
  return split.lower_factor.is_constant() && split.extent.is_constant() &&
         split.scale.is_constant();
}

}  // namespace

void IterReader::add_term(std::vector<IterSplitExpr>& args, IterSplitExpr term) {
  bool is_proved = false;
  while (!is_proved) {
    is_proved = true;
    for (auto it = args.begin(); it != args.end(); ++it) {
      auto both = it->source == term.source ? merged(*it, term) : std::nullopt;
      if (!both) continue;
      args.erase(it);
      if (both->scale.is(0)) return;
      term = *std::move(both);
      is_proved = false;
      break;
    }
  }
  if (args.size() >= max_terms) {
    fail("A sum has too many terms.");
  } else {
    args.push_back(std::move(term));
  }
}

/// The sum of two digits of one mark, where it is one digit; of scale 0, where it is nothing.
std::optional<IterSplitExpr> IterReader::merged(const IterSplitExpr& a, const IterSplitExpr& b) {
  if (arithmetic_.equal(a.lower_factor, b.lower_factor) && arithmetic_.equal(a.extent, b.extent)) {
    IterSplitExpr result = a;
    result.scale = arithmetic_.add(a.scale, b.scale);
    return result;
  }
  for (const auto& [low, high] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (auto result = merged_neighbours(*low, *high)) return result;
    if (auto result = without_top(*low, *high)) return result;
    if (auto result = without_bottom(*low, *high)) return result;
  }
  return {};
}

/// (s // l) % e + ((s // (l * e)) % f) * e is (s // l) % (e * f).
std::optional<IterSplitExpr> IterReader::merged_neighbours(const IterSplitExpr& a,
                                                           const IterSplitExpr& b) {
  if (!arithmetic_.equal(arithmetic_.multiply(a.lower_factor, a.extent), b.lower_factor) ||
      !arithmetic_.equal(arithmetic_.multiply(a.scale, a.extent), b.scale)) {
    return {};
  }
  IterSplitExpr result = a;
  // Digits above what the source reaches are 0.
  result.extent = is_top(arithmetic_, b)
                      ? arithmetic_.ceil_quotient(a.source->extent, a.lower_factor)
                      : arithmetic_.multiply(a.extent, b.extent);
  return result;
}

/// x - (x // k) * k is x % k.
std::optional<IterSplitExpr> IterReader::without_top(const IterSplitExpr& a,
                                                     const IterSplitExpr& b) {
  if (!is_constant(a) || !is_constant(b)) return {};
  const auto factor = arithmetic_.quotient(b.lower_factor, a.lower_factor);
  if (!factor || factor->constant <= 1) return {};
  if (!arithmetic_.equal(b.scale,
                         arithmetic_.multiply(a.scale, arithmetic_.multiply(*factor, -1)))) {
    return {};
  }
  const bool ends_alike = arithmetic_.equal(a.extent, arithmetic_.multiply(*factor, b.extent)) ||
                          (is_top(arithmetic_, a) && is_top(arithmetic_, b));
  if (!ends_alike) return {};
  IterSplitExpr result = a;
  result.extent = *factor;
  return result;
}

/// x - x % k is (x // k) * k.
std::optional<IterSplitExpr> IterReader::without_bottom(const IterSplitExpr& a,
                                                        const IterSplitExpr& b) {
  if (!is_constant(a) || !is_constant(b)) return {};
  if (!arithmetic_.equal(a.lower_factor, b.lower_factor) ||
      b.extent.constant >= a.extent.constant) {
    return {};
  }
  if (!arithmetic_.equal(b.scale, arithmetic_.multiply(a.scale, -1))) return {};
  const SymbolicInt& factor = b.extent;
  if (a.extent.constant % factor.constant != 0 && !is_top(arithmetic_, a)) return {};
  IterSplitExpr result = a;
  result.lower_factor = arithmetic_.multiply(a.lower_factor, factor);
  result.extent = arithmetic_.ceil_quotient(a.extent, factor);
  result.scale = arithmetic_.multiply(a.scale, factor);
  return result;
}

namespace {

/// How many factors a symbolic scale has: the more, the further out its digit stands.
int factor_count(const Expr& scale) {
  if (const auto* product = scale.as<Mul>()) {
    return deep_call([&] { return factor_count(product->a) + factor_count(product->b); });
  }
  return as_int(scale) ? 0 : 1;
}

}  // namespace

/// Small scales first; symbolic ones after constants.
void IterReader::sort(std::vector<IterSplitExpr>& args) {
  const auto key = [](const IterSplitExpr& term) {
    return std::tuple(term.scale.is_constant() ? 0 : factor_count(term.scale.symbolic),
                      term.scale.constant, term.extent.is(1) ? 0 : 1);
  };
  std::stable_sort(args.begin(), args.end(),
                   [&](const auto& a, const auto& b) { return key(a) < key(b); });
}

IterSplitExpr IterReader::fuse(std::vector<IterSplitExpr> args) {
  if (args.size() == 1) return args[0];
  sort(args);
  const SymbolicInt scale = args[0].scale;
  for (IterSplitExpr& arg : args) {
    const auto relative = arithmetic_.quotient(arg.scale, scale);
    if (!relative || (relative->is_constant() && relative->constant <= 0)) {
      fail("Fuse iters failed: the scales are no multiples of the smallest.");
      return args[0];
    }
    arg.scale = *relative;
  }
  // Each digit in turn is the one whose scale the digits below it reach.
  IterMark mark;
  mark.extent = 1;
  for (std::size_t done = 0; done < args.size(); ++done) {
    const auto next = std::find_if(
        args.begin() + static_cast<std::ptrdiff_t>(done), args.end(),
        [&](const IterSplitExpr& arg) { return arithmetic_.equal(arg.scale, mark.extent); });
    if (next != args.end()) {
      std::rotate(args.begin() + static_cast<std::ptrdiff_t>(done), next, next + 1);
      mark.extent = arithmetic_.multiply(mark.extent, args[done].extent);
      continue;
    }
    const IterSplitExpr& arg = args[done];
    if (!may_overlap_ || !arithmetic_.at_most(arg.scale, mark.extent)) {
      fail("Fuse iters failed: the digits leave holes, or overlap.");
      return args[0];
    }
    // Windows that overlap, of sizes that are known, reach every value up to their last.
    mark.overlaps = true;
    const SymbolicInt last = arithmetic_.multiply(arg.scale, arithmetic_.subtract(arg.extent, 1));
    mark.extent = arithmetic_.add(last, mark.extent);
  }
  std::reverse(args.begin(), args.end());
  mark.sum.args = std::move(args);
  const SymbolicInt extent = mark.extent;
  return {.source = mark_of(std::move(mark)), .extent = extent, .scale = scale};
}

bool IterReader::same(const IterSplitExpr& a, const IterSplitExpr& b) {
  return a.source == b.source && arithmetic_.equal(a.lower_factor, b.lower_factor) &&
         arithmetic_.equal(a.extent, b.extent) && arithmetic_.equal(a.scale, b.scale);
}

/// The mark that was made of the same sum before, or this one; it is not kept where it fails.
std::shared_ptr<const IterMark> IterReader::mark_of(IterMark mark) {
  for (const auto& known : marks_) {
    if (known->sum.args.size() == mark.sum.args.size() &&
        std::equal(known->sum.args.begin(), known->sum.args.end(), mark.sum.args.begin(),
                   [&](const auto& a, const auto& b) { return same(a, b); }) &&
        arithmetic_.equal(known->sum.base, mark.sum.base) &&
        arithmetic_.equal(known->extent, mark.extent)) {
      return known;
    }
  }
  for (const IterSplitExpr& arg : mark.sum.args) {
    mark.depth = std::max(mark.depth, arg.source->depth + 1);
  }
  if (mark.depth > max_depth || marks_.size() >= max_marks) {
    fail("Divisions are nested too deeply.");
  }
  auto made = std::make_shared<const IterMark>(std::move(mark));
  if (!failed()) marks_.push_back(made);
  return made;
}

}  // namespace loopsmith::arith
