// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/linear.h"

#include <optional>
#include <unordered_map>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// coefficient * var + base.
struct Line {
  Expr coefficient;
  Expr base;
};

/// Reads expressions as lines in one variable.
class LineReader {
 public:
  explicit LineReader(const Ptr<Var>& var) : var_(var) {}

  std::optional<Line> operator()(const Expr& expr) {
    if (const auto found = done_.find(expr); found != done_.end()) return found->second;
    auto result = deep_call([&] { return read(expr); });
    done_.emplace(expr, result);
    return result;
  }

 private:
  std::optional<Line> read(const Expr& expr) {
    const Expr zero = zero_of(expr.dtype());
    if (expr.same_as(var_)) return Line{const_of(expr.dtype(), 1), zero};
    if (expr.is<Var>() || expr.is<IntImm>()) return Line{zero, expr};
    if (const auto* node = expr.as<Add>()) {
      return both(*node, [](const Line& a, const Line& b) -> std::optional<Line> {
        return Line{a.coefficient + b.coefficient, a.base + b.base};
      });
    }
    if (const auto* node = expr.as<Sub>()) {
      return both(*node, [](const Line& a, const Line& b) -> std::optional<Line> {
        return Line{a.coefficient - b.coefficient, a.base - b.base};
      });
    }
    if (const auto* node = expr.as<Mul>()) {
      return both(*node, [](const Line& a, const Line& b) -> std::optional<Line> {
        const bool a_is_fixed = is_const_int(a.coefficient, 0);
        if (!a_is_fixed && !is_const_int(b.coefficient, 0)) return {};
        const Expr& factor = a_is_fixed ? a.base : b.base;
        const Line& line = a_is_fixed ? b : a;
        return Line{line.coefficient * factor, line.base * factor};
      });
    }
    return uses_variable(expr, var_) ? std::nullopt : std::optional(Line{zero, expr});
  }

  template <class Node, class Combine>
  std::optional<Line> both(const Node& node, Combine combine) {
    const auto a = (*this)(node.a);
    const auto b = a ? (*this)(node.b) : std::nullopt;
    return b ? combine(*a, *b) : std::nullopt;
  }

  const Ptr<Var>& var_;
  std::unordered_map<Ref, std::optional<Line>, RefHash, RefEqual> done_;
};

/// `limit`, or the tighter of the two.
void tighten(Expr& limit, const Expr& other, Expr (*tighter)(const Expr&, const Expr&)) {
  limit = limit.defined() ? tighter(limit, other) : other;
}

/// Adds the limits that one comparison sets; false when it is not of one variable.
bool add_limits(const Expr& comparison, std::span<const Ptr<Var>> vars, Analyzer& analyzer,
                std::vector<Expr>& limits) {
  const auto limit = arith::comparison_of(comparison);
  if (!limit) return false;
  Expr difference = limit->left - limit->right;
  if (limit->is_strict) difference = difference + const_of(difference.dtype(), 1);
  const auto line = detect_linear_equation(difference, vars);
  if (line.empty()) return false;
  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < vars.size(); ++i) {
    if (is_const_int(line[i], 0)) continue;
    if (chosen) return false;
    chosen = i;
  }
  if (!chosen) return false;
  const std::int64_t* sign = as_int(line[*chosen]);
  if (!sign || (*sign != 1 && *sign != -1)) return false;
  // v + base <= 0, or -v + base <= 0.
  const Expr& base = line.back();
  const Expr bound = analyzer.simplify(*sign > 0 ? -base : base);
  if (*sign > 0 || limit->is_equality) tighten(limits[2 * *chosen + 1], bound, min);
  if (*sign < 0 || limit->is_equality) tighten(limits[2 * *chosen], bound, max);
  return true;
}

}  // namespace

std::vector<Expr> detect_linear_equation(const Expr& expr, std::span<const Ptr<Var>> vars) {
  Analyzer analyzer;
  std::vector<Expr> result;
  Expr rest = expr;
  for (std::size_t i = 0; i < vars.size(); ++i) {
    const auto line = LineReader(vars[i])(rest);
    if (!line) return {};
    result.push_back(analyzer.simplify(line->coefficient));
    for (std::size_t later = i; later < vars.size(); ++later) {
      if (uses_variable(result.back(), vars[later])) return {};
    }
    rest = line->base;
  }
  result.push_back(analyzer.simplify(rest));
  return result;
}

std::vector<Expr> detect_clip_bound(const Expr& condition, std::span<const Ptr<Var>> vars) {
  Analyzer analyzer;
  std::vector<Expr> limits(2 * vars.size());
  for (const Expr& comparison : arith::conjuncts(condition)) {
    if (!add_limits(comparison, vars, analyzer, limits)) return {};
  }
  for (Expr& limit : limits) {
    if (limit.defined()) limit = analyzer.simplify(limit);
  }
  return limits;
}

}  // namespace loopsmith
