// SPDX-License-Identifier: Apache-2.0
// Integer analysis in Python. What takes maps of Python takes pairs here: loopsmith.arith has the
// functions that users call.
#include "bindings/arith.h"

#include <fmt/format.h>
#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/deduce_bound.h"
#include "loopsmith/arith/int_constraints.h"
#include "loopsmith/arith/linear.h"

namespace nb = nanobind;

namespace loopsmith::python {

std::vector<Iterator> iterators_of(const Iterators& ranges) {
  std::vector<Iterator> result;
  for (const auto& [var, range] : ranges) result.push_back({var, range->min, range->extent});
  return result;
}

std::string repr_of(const Expr& expr) {
  return expr.defined() ? nb::cast<std::string>(nb::str(nb::cast(expr))) : "None";
}

namespace {

using Sets = std::vector<std::pair<Ptr<Var>, IntSet>>;
using Values = std::vector<std::pair<Ptr<Var>, Expr>>;

Domains domains_of(const Sets& sets) {
  Domains result;
  for (const auto& [var, set] : sets) result[var] = set;
  return result;
}

Values values_of(const Substitution& values, const std::vector<Ptr<Var>>& order) {
  Values result;
  for (const Ptr<Var>& var : order) {
    if (const auto found = values.find(var); found != values.end()) {
      result.emplace_back(var, found->second);
    }
  }
  return result;
}

/// A condition that holds within a `with`.
struct Scope {
  Analyzer* analyzer;
  Expr condition;
  std::optional<ConstraintScope> open = std::nullopt;
};

void bind_sets(nb::module_& m) {
  nb::class_<ConstIntBound>(m, "ConstIntBound",
                            "Constants between which a value lies, ends included.")
      .def(nb::init<std::int64_t, std::int64_t>(), nb::arg("min_value"), nb::arg("max_value"))
      .def_ro("min_value", &ConstIntBound::min_value)
      .def_ro("max_value", &ConstIntBound::max_value)
      .def("__repr__",
           [](const ConstIntBound& self) {
             return fmt::format("ConstIntBound({}, {})", self.min_value, self.max_value);
           })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  nb::class_<ModularSet>(m, "ModularSet", "The values ``coeff * k + base`` for integers k.")
      .def(
          "__init__",
          [](ModularSet* self, std::int64_t coeff, std::int64_t base) {
            new (self) ModularSet(arith::modular(coeff, base));
          },
          nb::arg("coeff"), nb::arg("base"))
      .def_ro("coeff", &ModularSet::coeff)
      .def_ro("base", &ModularSet::base)
      .def("__repr__",
           [](const ModularSet& self) {
             return fmt::format("ModularSet(coeff={}, base={})", self.coeff, self.base);
           })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  nb::class_<IntSet>(m, "IntSet", "The integers between two expressions, ends included; or none.")
      .def(
          "__init__",
          [](IntSet* self, nb::handle min_value, nb::handle max_value) {
            const auto end = [](nb::handle value) {
              return value.is_none() ? Expr() : to_expr(value);
            };
            new (self) IntSet(end(min_value), end(max_value));
          },
          nb::arg("min_value").none(), nb::arg("max_value").none(), "None leaves a side open.",
          nb::sig("def __init__(self, min_value: ExprLike | None, max_value: ExprLike | None) -> "
                  "None"))
      .def_static("single_point", &IntSet::single_point, nb::arg("value"))
      .def_static("nothing", &IntSet::nothing)
      .def_static("everything", [] { return IntSet(); })
      .def_static("from_range", &IntSet::from_range, nb::arg("range"))
      .def_prop_ro("min_value", &IntSet::min_value, nb::sig("def min_value(self) -> Expr | None"))
      .def_prop_ro("max_value", &IntSet::max_value, nb::sig("def max_value(self) -> Expr | None"))
      .def("is_nothing", &IntSet::is_nothing)
      .def("is_everything", &IntSet::is_everything)
      .def("is_single_point", &IntSet::is_single_point)
      .def("__repr__", [](const IntSet& self) {
        if (self.is_nothing()) return std::string("IntSet.nothing()");
        return fmt::format("IntSet({}, {})", repr_of(self.min_value()), repr_of(self.max_value()));
      });
}

void bind_analyzer(nb::module_& m) {
  nb::enum_<ProofStrength>(m, "ProofStrength", "How hard a proof is tried.")
      .value("DEFAULT", ProofStrength::simplify)
      .value("SYMBOLIC_BOUND", ProofStrength::symbolic_bound);
  nb::class_<Scope>(m, "ConstraintScope", "A condition that holds within a ``with``.")
      .def("__enter__",
           [](Scope& self) { self.open.emplace(self.analyzer->constraint_scope(self.condition)); })
      .def(
          "__exit__", [](Scope& self, const nb::args&) { self.open.reset(); },
          nb::sig("def __exit__(self, *args: object) -> None"));
  nb::class_<Analyzer>(m, "Analyzer", "Facts about variables, and the questions they answer.")
      .def(nb::init<>())
      .def(
          "bind",
          [](Analyzer& self, const Ptr<Var>& var, const Ptr<Range>& range, bool override) {
            self.bind(var, range, override);
          },
          nb::arg("var"), nb::arg("value"), nb::arg("override") = false,
          "From here on, the variable is one of a range, or a value.")
      .def(
          "bind",
          [](Analyzer& self, const Ptr<Var>& var, const Expr& value, bool override) {
            self.bind(var, value, override);
          },
          nb::arg("var"), nb::arg("value"), nb::arg("override") = false)
      .def(
          "update",
          [](Analyzer& self, const Ptr<Var>& var, const ConstIntBound& bound, bool override) {
            self.update(var, bound, override);
          },
          nb::arg("var"), nb::arg("info"), nb::arg("override") = false,
          "From here on, the variable lies within the bound, too.")
      .def("simplify", &Analyzer::simplify, nb::arg("expr"), nb::arg("steps") = 2,
           "The simplest form that is known.",
           nb::sig("def simplify(self, expr: ExprLike, steps: int = 2) -> Expr"))
      .def("rewrite_simplify", &Analyzer::rewrite_simplify, nb::arg("expr"),
           "Simplified by the tables of rules alone.",
           nb::sig("def rewrite_simplify(self, expr: ExprLike) -> Expr"))
      .def("canonical_simplify", &Analyzer::canonical_simplify, nb::arg("expr"),
           "As a sum of products of pieces of digits.",
           nb::sig("def canonical_simplify(self, expr: ExprLike) -> Expr"))
      .def("can_prove", &Analyzer::can_prove, nb::arg("cond"),
           nb::arg("strength") = ProofStrength::simplify,
           "True when the condition follows from the facts; false says nothing.")
      .def("can_prove_equal", &Analyzer::can_prove_equal, nb::arg("lhs"), nb::arg("rhs"))
      .def("const_int_bound", &Analyzer::const_int_bound, nb::arg("expr"))
      .def("modular_set", &Analyzer::modular_set, nb::arg("expr"))
      .def(
          "constraint_scope",
          [](Analyzer& self, const Expr& condition) { return Scope{&self, condition}; },
          nb::arg("constraint"), nb::keep_alive<0, 1>(),
          "A context in which the condition is held to be true.");
  m.def(
      "arith_int_set",
      [](Analyzer& analyzer, const Expr& expr, const Sets& sets) {
        return analyzer.int_set(expr, domains_of(sets));
      },
      nb::arg("analyzer"), nb::arg("expr"), nb::arg("domains"));
  m.def(
      "arith_deduce_bound",
      [](const Ptr<Var>& var, const Expr& condition, const Sets& hints, const Sets& relaxed) {
        return deduce_bound(var, condition, domains_of(hints), domains_of(relaxed));
      },
      nb::arg("var"), nb::arg("cond"), nb::arg("hint_map"), nb::arg("relax_map"));
  m.def(
      "arith_linear_equation",
      [](const Expr& expr, const std::vector<Ptr<Var>>& vars) {
        return detect_linear_equation(expr, vars);
      },
      nb::arg("expr"), nb::arg("vars"),
      nb::sig("def arith_linear_equation(expr: ExprLike, vars: Sequence[Var]) -> list[Expr]"));
  m.def(
      "arith_clip_bound",
      [](const Expr& condition, const std::vector<Ptr<Var>>& vars) {
        return detect_clip_bound(condition, vars);
      },
      nb::arg("cond"), nb::arg("vars"),
      nb::sig("def arith_clip_bound(cond: ExprLike, vars: Sequence[Var]) -> list[Expr | None]"));
}

IntConstraints system_of(const std::vector<Expr>& relations, const std::vector<Ptr<Var>>& vars,
                         const Iterators& ranges) {
  IntConstraints system{vars, std::vector<Ptr<Range>>(vars.size()), relations};
  for (std::size_t i = 0; i < vars.size(); ++i) {
    for (const auto& [var, range] : ranges) {
      if (var.same_as(vars[i])) system.ranges[i] = range;
    }
  }
  return system;
}

void bind_solvers(nb::module_& m) {
  nb::class_<IntConstraints>(m, "IntConstraints", "Conditions on variables.")
      .def_ro("variables", &IntConstraints::variables)
      .def_prop_ro(
          "ranges",
          [](const IntConstraints& self) {
            Iterators result;
            for (std::size_t i = 0; i < self.ranges.size(); ++i) {
              if (self.ranges[i]) result.emplace_back(self.variables[i], self.ranges[i]);
            }
            return result;
          },
          "Variables of known ranges, and these.")
      .def_prop_ro(
          "relations", [](const IntConstraints& self) { return self.relations; },
          nb::sig("def relations(self) -> list[Expr]"));
  nb::class_<IntConstraintsTransform>(m, "IntConstraintsTransform",
                                      "The same solutions, told by other variables.")
      .def_ro("src", &IntConstraintsTransform::src)
      .def_ro("dst", &IntConstraintsTransform::dst)
      .def_prop_ro(
          "src_to_dst",
          [](const IntConstraintsTransform& self) {
            return values_of(self.src_to_dst, self.src.variables);
          },
          nb::sig("def src_to_dst(self) -> list[tuple[Var, Expr]]"))
      .def_prop_ro(
          "dst_to_src",
          [](const IntConstraintsTransform& self) {
            return values_of(self.dst_to_src, self.dst.variables);
          },
          nb::sig("def dst_to_src(self) -> list[tuple[Var, Expr]]"));
  m.def(
      "arith_solve_linear_equations",
      [](const std::vector<Expr>& relations, const std::vector<Ptr<Var>>& vars,
         const Iterators& ranges) {
        return solve_linear_equations(system_of(relations, vars, ranges));
      },
      nb::arg("equations"), nb::arg("variables"), nb::arg("ranges"));
  m.def(
      "arith_solve_linear_inequalities",
      [](const std::vector<Expr>& relations, const std::vector<Ptr<Var>>& vars,
         const Iterators& ranges) {
        return solve_inequalities_to_range(system_of(relations, vars, ranges));
      },
      nb::arg("inequalities"), nb::arg("variables"), nb::arg("ranges"));
  m.def(
      "arith_solve_deskewed",
      [](const std::vector<Expr>& relations, const std::vector<Ptr<Var>>& vars,
         const Iterators& ranges) {
        return solve_inequalities_deskew_range(system_of(relations, vars, ranges));
      },
      nb::arg("inequalities"), nb::arg("variables"), nb::arg("ranges"));
}

}  // namespace

void bind_arith(nb::module_& m) {
  bind_sets(m);
  bind_analyzer(m);
  bind_iter_map(m);
  bind_regions(m);
  bind_solvers(m);
}

}  // namespace loopsmith::python
