// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/readers.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/arith/int_constraints.h"
#include "loopsmith/arith/linear_row.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith::te {
namespace {

constexpr std::size_t max_cases = 32;

/// A choice inside of indices: `chosen` where the condition holds, `other` elsewhere.
struct Choice {
  Expr node;
  Expr condition;
  Expr chosen;
  Expr other;
};

/// A min, max or choice that contains no other one; nothing: there is none.
std::optional<Choice> choice_in(const std::vector<Expr>& exprs) {
  std::optional<Choice> found;
  for (const Expr& root : exprs) {
    post_order_visit(root, [&](const Ref& ref) {
      if (found) return;
      const Expr node = Expr::from(ref);
      const auto* call = ref.as<Call>();
      if (const auto* larger = ref.as<Max>()) {
        found = {node, larger->a >= larger->b, larger->a, larger->b};
      } else if (const auto* smaller = ref.as<Min>()) {
        found = {node, smaller->a <= smaller->b, smaller->a, smaller->b};
      } else if (const auto* choice = ref.as<Select>()) {
        found = {node, choice->condition, choice->true_value, choice->false_value};
      } else if (call && call->op == op("if_then_else")) {
        found = {node, call->args[0], call->args[1], call->args[2]};
      }
    });
    if (found) return found;
  }
  return found;
}

Expr replaced(const Expr& root, const Expr& node, const Expr& by) {
  if (root.same_as(node) || structural_equal(root, node)) return by;
  Rewriter rewrite;
  const auto rule = [&](const auto& inner) -> Expr {
    const Expr same(&inner);
    return same.same_as(node) || structural_equal(same, node) ? by : rewrite.children(inner);
  };
  rewrite.on<Max>(rule);
  rewrite.on<Min>(rule);
  rewrite.on<Select>(rule);
  rewrite.on<Call>(rule);
  return rewrite(root);
}

/// The cases of the choices in equations, each with its condition among the guards.
void add_cases(ElementRead read, std::vector<ElementRead>& cases) {
  const auto choice = cases.size() < max_cases ? choice_in(read.equations) : std::nullopt;
  if (!choice) return cases.push_back(std::move(read));
  const auto with = [&](const Expr& condition, const Expr& value) {
    ElementRead one = read;
    for (Expr& equation : one.equations) equation = replaced(equation, choice->node, value);
    one.guards.push_back(condition);
    return one;
  };
  add_cases(with(choice->condition, choice->chosen), cases);
  add_cases(with(!choice->condition, choice->other), cases);
}

/// Quotients and remainders by constants as variables of their own: e == divisor * q + r.
class Divisions {
 public:
  Divisions(std::vector<Ptr<Var>>& variables, std::vector<Ptr<Range>>& ranges,
            std::vector<Expr>& equations)
      : variables_(variables), ranges_(ranges), equations_(equations) {
    for (std::size_t i = 0; i < variables.size(); ++i) {
      domains_[variables[i]] = IntSet::from_range(ranges[i]);
      analyzer_.bind(variables[i], ranges[i]);
    }
    rewrite_.on<FloorDiv>([&](const FloorDiv& node) { return part_of(node, true); });
    rewrite_.on<FloorMod>([&](const FloorMod& node) { return part_of(node, false); });
    rewrite_.on<Div>([&](const Div& node) { return part_of(node, true); });
    rewrite_.on<Mod>([&](const Mod& node) { return part_of(node, false); });
    // What a load reads is no part of a linear form.
    rewrite_.on<ProducerLoad>([](const ProducerLoad& load) { return Expr(&load); });
  }

  Expr operator()(const Expr& expr) { return rewrite_(expr); }

 private:
  struct Known {
    Expr dividend;
    std::int64_t divisor;
    Ptr<Var> quotient;
    Ptr<Var> remainder;
  };

  template <class Node>
  Expr part_of(const Node& node, bool is_quotient) {
    const Expr dividend = rewrite_(node.a);
    const std::int64_t* divisor = as_int(node.b);
    constexpr bool rounds_down = std::is_same_v<Node, FloorDiv> || std::is_same_v<Node, FloorMod>;
    const bool is_mine =
        divisor && *divisor > 0 &&
        (rounds_down || analyzer_.can_prove(dividend >= zero_of(dividend.dtype())));
    const IntSet values = is_mine ? analyzer_.int_set(dividend, domains_) : IntSet();
    if (!values.has_lower_bound() || !values.has_upper_bound()) return rewrite_.children(node);
    const Known& known = parts(dividend, *divisor, values);
    return is_quotient ? known.quotient : known.remainder;
  }

  const Known& parts(const Expr& dividend, std::int64_t divisor, const IntSet& values) {
    for (const Known& known : known_) {
      if (known.divisor == divisor && structural_equal(known.dividend, dividend)) return known;
    }
    const DataType type = dividend.dtype();
    const Expr by = int_imm(type, divisor);
    const Expr first = analyzer_.simplify(floordiv(values.min_value(), by));
    const Expr extent = floordiv(values.max_value(), by) - first + int_imm(type, 1);
    const Ptr<Var> quotient = add("q", type, range(first, analyzer_.simplify(extent)));
    const Ptr<Var> remainder = add("r", type, range(zero_of(type), by));
    equations_.push_back(dividend == quotient * by + remainder);
    return known_.emplace_back(Known{dividend, divisor, quotient, remainder});
  }

  Ptr<Var> add(std::string name, DataType type, const Ptr<Range>& domain) {
    const Ptr<Var> fresh = var(std::move(name), type);
    variables_.push_back(fresh);
    ranges_.push_back(domain);
    domains_[fresh] = IntSet::from_range(domain);
    analyzer_.bind(fresh, domain);
    return fresh;
  }

  std::vector<Ptr<Var>>& variables_;
  std::vector<Ptr<Range>>& ranges_;
  std::vector<Expr>& equations_;
  std::vector<Known> known_;
  Domains domains_;
  Analyzer analyzer_;
  Rewriter rewrite_;
};

class Inverter {
 public:
  explicit Inverter(const ElementRead& read) : read_(read) {
    bind_axes(analyzer_, read.known);
    for (const IterVar& axis : read.axes) {
      variables_.push_back(axis->var);
      ranges_.push_back(axis->dom);
    }
    for (const Expr& guard : read.guards) {
      for (const Expr& part : arith::conjuncts(analyzer_.simplify(guard))) relate(part);
    }
    Divisions divisions(variables_, ranges_, equations_);
    for (const Expr& equation : read.equations) equations_.push_back(divisions(equation));
  }

  /// Nothing where no instance reads the element.
  std::optional<Readers> operator()() {
    fix_single_values();
    while (eliminate_one()) {
    }
    solve_rest();
    tighten();
    return is_possible_ ? result() : std::nullopt;
  }

 private:
  void relate(const Expr& relation) {
    const Expr simple = analyzer_.simplify(relation);
    if (is_const_int(simple, 0)) is_possible_ = false;
    if (!is_const_int(simple, 1)) relations_.push_back(simple);
  }

  /// The value of a variable in terms of others takes its place everywhere.
  void replace(std::size_t i, const Expr& value) {
    const Ptr<Var> variable = variables_[i];
    const Substitution by{{variable, value}};
    for (auto& [from, to] : values_) to = substitute(to, by);
    values_[variable] = value;
    variables_.erase(variables_.begin() + static_cast<std::ptrdiff_t>(i));
    const Ptr<Range> domain = ranges_[i];
    ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(i));
    for (Expr& equation : equations_) equation = substitute(equation, by);
    for (Expr& relation : relations_) relation = substitute(relation, by);
    for (const Expr& end : arith::relations_of(value, *domain)) relate(end);
  }

  void fix_single_values() {
    for (std::size_t i = variables_.size(); i-- > 0;) {
      if (is_const_int(ranges_[i]->extent, 1)) replace(i, ranges_[i]->min);
    }
  }

  /// A variable's extent, to compare; the largest number where it is no constant.
  std::int64_t size_of(std::size_t i) const {
    const std::int64_t* extent = as_int(ranges_[i]->extent);
    return extent ? *extent : std::numeric_limits<std::int64_t>::max();
  }

  /// Solves an equation for a variable that occurs in it once: of several, the one with the most
  /// values. The variables that stay are those of small loops.
  bool eliminate_one() {
    for (std::size_t e = 0; e < equations_.size(); ++e) {
      const auto row = arith::linear_row(analyzer_.simplify(equations_[e]), variables_);
      if (!row || !row->is_equality) continue;
      std::optional<std::size_t> best;
      for (std::size_t i = 0; i < variables_.size(); ++i) {
        const std::int64_t c = row->coefficients[i];
        if ((c == 1 || c == -1) && (!best || size_of(i) > size_of(*best))) best = i;
      }
      if (!best) continue;
      equations_.erase(equations_.begin() + static_cast<std::ptrdiff_t>(e));
      replace(*best, solved(*row, *best));
      return true;
    }
    return false;
  }

  Expr solved(const arith::LinearRow& row, std::size_t place) {
    const DataType type = row.base.dtype();
    Expr rest = row.base;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (i == place || row.coefficients[i] == 0) continue;
      rest = rest + cast(type, variables_[i]) * int_imm(type, row.coefficients[i]);
    }
    const Expr value = row.coefficients[place] == 1 ? -rest : rest;
    return analyzer_.simplify(cast(variables_[place]->dtype, value));
  }

  /// Equations without a coefficient of 1 by the solver for systems; others are conditions.
  void solve_rest() {
    IntConstraints system{variables_, ranges_, {}};
    for (const Expr& equation : equations_) {
      const Expr simple = analyzer_.simplify(equation);
      const auto row = arith::linear_row(simple, variables_);
      const bool is_linear =
          row && std::ranges::any_of(row->coefficients, [](auto c) { return c; });
      if (is_linear) {
        system.relations.push_back(simple);
      } else {
        relate(simple);
      }
    }
    equations_.clear();
    if (system.relations.empty()) return;
    const IntConstraintsTransform solution = solve_linear_equations(system);
    if (std::ranges::all_of(solution.dst.ranges,
                            [](const auto& range) { return range.defined(); })) {
      take(solution);
    } else {
      for (const Expr& relation : system.relations) relate(relation);
    }
  }

  void take(const IntConstraintsTransform& solution) {
    for (auto& [from, to] : values_) to = substitute(to, solution.src_to_dst);
    for (const auto& [from, to] : solution.src_to_dst) values_[from] = to;
    for (Expr& relation : relations_) relation = substitute(relation, solution.src_to_dst);
    variables_ = solution.dst.variables;
    ranges_ = solution.dst.ranges;
    for (const Expr& relation : solution.dst.relations) relate(relation);
  }

  /// Ranges that the relations allow, where they are smaller.
  void tighten() {
    const auto is_about_variables = [&](const Expr& relation) {
      const auto row = arith::linear_row(relation, variables_);
      return row && std::ranges::any_of(row->coefficients, [](std::int64_t c) { return c != 0; });
    };
    if (!is_possible_ || std::ranges::none_of(relations_, is_about_variables)) return;
    try {
      const auto solution = solve_inequalities_deskew_range({variables_, ranges_, relations_});
      for (const Expr& relation : solution.dst.relations) {
        if (is_const_int(relation, 0)) is_possible_ = false;
      }
      if (!is_usable(solution)) return;
      relations_.clear();
      take(solution);
    } catch (const UserError&) {
      // Too many inequalities: they stay conditions.
    }
  }

  /// True when loops can have the new ranges: their extents depend on sizes alone.
  bool is_usable(const IntConstraintsTransform& solution) const {
    if (solution.dst.variables.size() != solution.dst.ranges.size()) return false;
    return std::ranges::all_of(solution.dst.ranges, [&](const Ptr<Range>& range) {
      if (!range) return false;
      const auto used = free_variables(range->extent);
      return std::ranges::none_of(used, [&](const Ptr<Var>& variable) {
        const auto is_it = [&](const auto& other) { return other.same_as(variable); };
        return std::ranges::any_of(solution.dst.variables, is_it) ||
               std::ranges::any_of(read_.known,
                                   [&](const IterVar& axis) { return is_it(axis->var); });
      });
    });
  }

  std::optional<Readers> result() {
    fix_single_values();
    Readers readers;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      if (is_const_int(ranges_[i]->extent, 0)) return {};
      readers.axes.emplace_back(make(loopsmith::IterVar{
          .dom = ranges_[i], .var = variables_[i], .iter_type = IterType::comm_reduce}));
    }
    renew(readers);
    Analyzer analyzer;
    bind_axes(analyzer, read_.known);
    bind_axes(analyzer, readers.axes);
    keep_conditions(analyzer, readers);
    if (!is_possible_) return {};
    for (auto& [from, to] : readers.values) to = analyzer.simplify(to);
    return readers;
  }

  /// Axes of its own for each result: an axis of the computation may be in several.
  void renew(Readers& readers) {
    Substitution by;
    for (IterVar& axis : readers.axes) {
      loopsmith::IterVar copy = *axis;
      copy.var = var(axis->var->name, axis->var->dtype);
      by[axis->var] = copy.var;
      axis = make(std::move(copy));
    }
    readers.values = by;
    for (const auto& [from, to] : values_) readers.values[from] = substitute(to, by);
    for (Expr& relation : relations_) relation = substitute(relation, by);
  }

  /// The relations that neither the ranges nor the others imply.
  void keep_conditions(Analyzer& analyzer, Readers& readers) {
    std::vector<ConstraintScope> scopes;
    for (const Expr& relation : relations_) {
      const Expr simple = analyzer.simplify(relation);
      if (is_const_int(simple, 0)) is_possible_ = false;
      if (is_const_int(simple, 1) || analyzer.can_prove(simple, ProofStrength::symbolic_bound)) {
        continue;
      }
      readers.conditions.push_back(simple);
      scopes.push_back(analyzer.constraint_scope(simple));
    }
    while (!scopes.empty()) scopes.pop_back();  // In the reverse order.
  }

  const ElementRead& read_;
  Analyzer analyzer_;  ///< Knows the coordinates.
  std::vector<Ptr<Var>> variables_;
  std::vector<Ptr<Range>> ranges_;
  std::vector<Expr> equations_;
  std::vector<Expr> relations_;
  Substitution values_;
  bool is_possible_ = true;
};

}  // namespace

void bind_axes(Analyzer& analyzer, const std::vector<IterVar>& axes) {
  for (const IterVar& axis : axes) analyzer.bind(axis->var, axis->dom, true);
}

std::vector<Readers> readers_of_element(const ElementRead& read) {
  std::vector<ElementRead> cases;
  add_cases(read, cases);
  std::vector<Readers> all;
  for (const ElementRead& one : cases) {
    if (auto readers = Inverter(one)()) all.push_back(*std::move(readers));
  }
  return all;
}

}  // namespace loopsmith::te
