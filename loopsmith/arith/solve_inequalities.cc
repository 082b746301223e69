// SPDX-License-Identifier: Apache-2.0
// Linear inequalities, by eliminating one variable after the other (Fourier and Motzkin).
#include <algorithm>
#include <numeric>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/arith/linear_row.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

using arith::combined;
using arith::LinearRow;

constexpr std::size_t max_rows = 4000;

class InequalitySolver {
 public:
  explicit InequalitySolver(const IntConstraints& system) : system_(system) {}

  PartialSolution operator()() {
    for (std::size_t i = 0; i < system_.variables.size(); ++i) {
      const Ptr<Range> range = arith::range_of(system_, i);
      if (!range) continue;
      for (const Expr& end : arith::relations_of(system_.variables[i], *range)) read(end);
    }
    for (const Expr& relation : system_.relations) read(relation);
    for (std::size_t i = 0; i < system_.variables.size(); ++i) eliminate(i);
    for (const LinearRow& row : rows_) {
      const Expr zero = zero_of(row.base.dtype());
      keep(row.is_equality ? row.base == zero : row.base <= zero);
    }
    if (!is_solvable_) return {{}, {false}};
    return std::move(result_);
  }

 private:
  void read(const Expr& relation) {
    auto row = arith::linear_row(relation, system_.variables);
    if (row) {
      add(*std::move(row));
    } else {
      keep(relation);
    }
  }

  void keep(const Expr& relation) {
    const Expr simple = analyzer_.simplify(relation);
    if (is_const_int(simple, 1)) return;
    if (is_const_int(simple, 0)) is_solvable_ = false;
    result_.relations.push_back(simple);
  }

  /// Adds a row in its lowest terms, where no row says the same or more.
  void add(LinearRow row) {
    std::int64_t factor = 0;
    for (const std::int64_t c : row.coefficients) factor = std::gcd(factor, c);
    const std::int64_t* base = as_int(row.base);
    if (factor > 1 && base && (!row.is_equality || *base % factor == 0)) {
      for (std::int64_t& c : row.coefficients) c /= factor;
      // 4 * x + 3 <= 0 is x + 1 <= 0: rounded up, as only whole x count.
      const std::int64_t reduced = -arith::floor_quotient(-*base, factor);
      row.base = int_imm(row.base.dtype(), reduced);
    }
    for (LinearRow& known : rows_) {
      if (known.coefficients != row.coefficients || known.is_equality != row.is_equality) continue;
      const std::int64_t* mine = as_int(row.base);
      const std::int64_t* other = as_int(known.base);
      if (!row.is_equality && mine && other) {
        if (*mine > *other) known.base = row.base;
        return;
      }
      if (structural_equal(known.base, row.base)) return;
    }
    require(rows_.size() < max_rows, "inequalities_are_few", hint("eliminate fewer variables"),
            "solve: more than {} inequalities arose", max_rows);
    rows_.push_back(std::move(row));
  }

  /// Takes the rows that mention a variable as its bounds; what they say of the others stays.
  void eliminate(std::size_t variable) {
    const auto mention = [&](const LinearRow& row) { return row.coefficients[variable] != 0; };
    std::vector<LinearRow> about;
    std::copy_if(rows_.begin(), rows_.end(), std::back_inserter(about), mention);
    std::erase_if(rows_, mention);
    VariableBounds bounds{system_.variables[variable], {}};
    for (const LinearRow& row : about) {
      bounds.bounds.coef = std::lcm(bounds.bounds.coef, row.coefficients[variable]);
    }
    for (const LinearRow& row : about) add_bound(row, variable, bounds.bounds);
    result_.bounds.push_back(std::move(bounds));
    for (std::size_t i = 0; i < about.size(); ++i) {
      for (std::size_t j = i + 1; j < about.size(); ++j) combine(about[i], about[j], variable);
    }
  }

  /// coef * variable against what else is in the row.
  void add_bound(const LinearRow& row, std::size_t variable, IntGroupBounds& bounds) {
    const std::int64_t own = row.coefficients[variable];
    const std::int64_t factor = -bounds.coef / own;
    const DataType type = row.base.dtype();
    Expr rest = row.base * int_imm(type, factor);
    for (std::size_t i = 0; i < row.coefficients.size(); ++i) {
      if (i == variable || row.coefficients[i] == 0) continue;
      const std::int64_t scale = combined(row.coefficients[i], factor, 0, 0);
      rest = rest + cast(type, system_.variables[i]) * int_imm(type, scale);
    }
    rest = analyzer_.simplify(rest);
    auto& list = row.is_equality ? bounds.equal : own > 0 ? bounds.upper : bounds.lower;
    list.push_back(rest);
  }

  /// What two rows say together once the variable is gone.
  void combine(const LinearRow& a, const LinearRow& b, std::size_t variable) {
    const std::int64_t x = a.coefficients[variable];
    const std::int64_t y = b.coefficients[variable];
    if (!a.is_equality && !b.is_equality && (x > 0) == (y > 0)) return;
    // Factors that cancel the variable; that of an inequality must be positive.
    const std::int64_t common = std::gcd(x, y);
    std::int64_t f = y / common;
    std::int64_t g = -x / common;
    if (b.is_equality ? f < 0 && !a.is_equality : g < 0) {
      f = -f;
      g = -g;
    }
    LinearRow row;
    row.is_equality = a.is_equality && b.is_equality;
    for (std::size_t i = 0; i < a.coefficients.size(); ++i) {
      row.coefficients.push_back(combined(f, a.coefficients[i], g, b.coefficients[i]));
    }
    const auto& type = a.base.dtype().bits < b.base.dtype().bits ? b.base : a.base;
    const DataType wide = type.dtype();
    row.base = analyzer_.simplify(cast(wide, a.base) * int_imm(wide, f) +
                                  cast(wide, b.base) * int_imm(wide, g));
    add(std::move(row));
  }

  const IntConstraints& system_;
  Analyzer analyzer_;
  std::vector<LinearRow> rows_;
  PartialSolution result_;
  bool is_solvable_ = true;
};

Expr ceil_of(const Expr& value, std::int64_t divisor) {
  return divisor == 1 ? value : ceildiv(value, int_imm(value.dtype(), divisor));
}
Expr floor_of(const Expr& value, std::int64_t divisor) {
  return divisor == 1 ? value : floordiv(value, int_imm(value.dtype(), divisor));
}

}  // namespace

Ptr<Range> IntGroupBounds::find_best_range(const Domains& domains) const {
  Analyzer analyzer;
  std::vector<Expr> low = lower;
  std::vector<Expr> high = upper;
  low.insert(low.end(), equal.begin(), equal.end());
  high.insert(high.end(), equal.begin(), equal.end());
  Ptr<Range> best;
  std::int64_t best_extent = 0;
  for (const Expr& a : low) {
    const Expr first = analyzer.simplify(ceil_of(a, coef));
    for (const Expr& b : high) {
      const Expr one = const_of(b.dtype(), 1);
      const Expr extent = analyzer.simplify(floor_of(b, coef) - first + one);
      const IntSet values = analyzer.int_set(extent, domains);
      const std::int64_t* most = values.has_upper_bound() ? as_int(values.max_value()) : nullptr;
      // Of multiples of coef from a to b, at the distance of a and b alone.
      const Expr distance = analyzer.simplify(b - a);
      const std::int64_t* width = as_int(distance);
      const std::int64_t size =
          std::min(most ? *most : ConstIntBound::pos_inf,
                   width ? arith::floor_quotient(*width, coef) + 1 : ConstIntBound::pos_inf);
      const bool is_constant = most || width;
      if (best && size >= best_extent) continue;
      best = range(first,
                   is_constant ? int_imm(extent.dtype(), std::max<std::int64_t>(size, 0)) : extent);
      best_extent = size;
    }
  }
  return best;
}

PartialSolution solve_linear_inequalities(const IntConstraints& system) {
  return InequalitySolver(system)();
}

IntConstraints solve_inequalities_to_range(const IntConstraints& system) {
  const PartialSolution solution = solve_linear_inequalities(system);
  IntConstraints result{system.variables, {}, {}};
  if (solution.bounds.empty() && !solution.relations.empty()) {
    result.variables.clear();
    result.relations = solution.relations;
    return result;
  }
  // The last variable first: its bounds mention no other.
  Analyzer analyzer;
  Domains domains;
  for (auto it = solution.bounds.rbegin(); it != solution.bounds.rend(); ++it) {
    Ptr<Range> range = it->bounds.find_best_range(domains);
    // Variables that have one value are that value.
    if (range) {
      range = loopsmith::range(analyzer.simplify(range->min), analyzer.simplify(range->extent));
    }
    result.ranges.insert(result.ranges.begin(), range);
    if (!range) continue;
    domains[it->variable] = IntSet::from_range(range);
    analyzer.bind(it->variable, range);
  }
  const auto keep = [&](const Expr& relation) {
    const Expr simple = analyzer.simplify(relation);
    if (!is_const_int(simple, 1)) result.relations.push_back(simple);
  };
  for (const auto& [variable, bounds] : solution.bounds) {
    const Expr value = variable * int_imm(variable->dtype, bounds.coef);
    for (const Expr& low : bounds.lower) keep(low <= value);
    for (const Expr& same : bounds.equal) keep(value == same);
    for (const Expr& high : bounds.upper) keep(value <= high);
  }
  for (const Expr& relation : solution.relations) keep(relation);
  return result;
}

IntConstraintsTransform solve_inequalities_deskew_range(const IntConstraints& system) {
  const IntConstraints solved = solve_inequalities_to_range(system);
  IntConstraintsTransform result;
  result.src = system;
  Analyzer analyzer;
  const auto add = [&](const Ptr<Var>& variable, const Ptr<Range>& range) {
    result.dst.variables.insert(result.dst.variables.begin(), variable);
    result.dst.ranges.insert(result.dst.ranges.begin(), range);
  };
  // The minimum of a variable mentions those after it, which are renewed first.
  for (std::size_t i = solved.ranges.size(); i-- > 0;) {
    const Ptr<Var>& old = solved.variables[i];
    const Ptr<Range>& range = solved.ranges[i];
    if (!range) {
      result.src_to_dst[old] = old;
      result.dst_to_src[old] = old;
      add(old, nullptr);
      continue;
    }
    const Expr min = substitute(range->min, result.src_to_dst);
    if (is_const_int(range->extent, 1)) {
      result.src_to_dst[old] = analyzer.simplify(min);
      continue;
    }
    const Ptr<Var> fresh = var(old->name, old->dtype);
    result.src_to_dst[old] = analyzer.simplify(fresh + min);
    result.dst_to_src[fresh] = analyzer.simplify(old - range->min);
    add(fresh, loopsmith::range(zero_of(old->dtype), substitute(range->extent, result.src_to_dst)));
    analyzer.bind(fresh, result.dst.ranges.front());
  }
  for (const Expr& relation : solved.relations) {
    const Expr simple = analyzer.simplify(substitute(relation, result.src_to_dst));
    if (!is_const_int(simple, 1)) result.dst.relations.push_back(simple);
  }
  return result;
}

}  // namespace loopsmith
