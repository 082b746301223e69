// SPDX-License-Identifier: Apache-2.0
// Integer analysis in Python. What takes maps of Python takes pairs here: loopsmith.arith has the
// functions that users call.
#include "loopsmith/arith/analyzer.h"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "bindings/bindings.h"
#include "bindings/ir_detail.h"
#include "loopsmith/arith/deduce_bound.h"
#include "loopsmith/arith/index_map.h"
#include "loopsmith/arith/int_constraints.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/linear.h"
#include "loopsmith/arith/region_bounds.h"
#include "loopsmith/ir/operators.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

using Iterators = std::vector<std::pair<Ptr<Var>, Ptr<Range>>>;
using Sets = std::vector<std::pair<Ptr<Var>, IntSet>>;
using Values = std::vector<std::pair<Ptr<Var>, Expr>>;

std::vector<Iterator> iterators_of(const Iterators& ranges) {
  std::vector<Iterator> result;
  for (const auto& [var, range] : ranges) result.push_back({var, range->min, range->extent});
  return result;
}

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

/// A constant is an int32 where it fits.
Expr to_expr(const Amount& amount) {
  if (!amount.is_constant()) return amount.symbolic;
  const bool fits = wrap_to(i32, amount.constant) == amount.constant;
  return amount.expr(fits ? i32 : i64);
}

std::string text_of(const Expr& expr) {
  return expr.defined() ? nb::cast<std::string>(nb::str(nb::cast(expr))) : "None";
}
std::string text_of(const Amount& amount) {
  return text_of(to_expr(amount));
}
std::string text_of(const IterSumExpr& sum);
std::string text_of(const IterMark& mark) {
  const std::string source = mark.var ? mark.var->name : text_of(mark.sum);
  return fmt::format("IterMark({}, extent={})", source, text_of(mark.extent));
}
std::string text_of(const IterSplitExpr& split) {
  return fmt::format("IterSplitExpr({}, lower_factor={}, extent={}, scale={})",
                     text_of(*split.source), text_of(split.lower_factor), text_of(split.extent),
                     text_of(split.scale));
}
std::string text_of(const IterSumExpr& sum) {
  std::string args;
  for (const IterSplitExpr& arg : sum.args) args += (args.empty() ? "" : ", ") + text_of(arg);
  return fmt::format("IterSumExpr([{}], base={})", args, text_of(sum.base));
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
      .def_ro("coeff", &ModularSet::coeff)
      .def_ro("base", &ModularSet::base)
      .def("__repr__",
           [](const ModularSet& self) {
             return fmt::format("ModularSet(coeff={}, base={})", self.coeff, self.base);
           })
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"));
  nb::class_<IntSet>(m, "IntSet", "The integers between two expressions, ends included; or none.")
      .def(nb::init<Expr, Expr>(), nb::arg("min_value").none(), nb::arg("max_value").none(),
           "None leaves a side open.",
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
        return fmt::format("IntSet({}, {})", text_of(self.min_value()), text_of(self.max_value()));
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

void bind_iter_map(nb::module_& m) {
  nb::enum_<IterMapLevel>(m, "IterMapLevel", "What is asked of an iteration map.")
      .value("Bijective", IterMapLevel::bijective)
      .value("Surjective", IterMapLevel::surjective)
      .value("NoCheck", IterMapLevel::no_check);
  nb::class_<IterSumExpr> sum(m, "IterSumExpr", "The sum of ``args`` and ``base``.");
  nb::class_<IterMark> mark(m, "IterMark", "A number that runs through 0, 1, ..., ``extent`` - 1.");
  mark.def_prop_ro(
          "source",
          [](const IterMark& self) {
            if (!self.var.defined()) return nb::cast(self.sum);
            return nb::cast(Analyzer().simplify(self.var - self.min));
          },
          nb::sig("def source(self) -> Expr | IterSumExpr"),
          "What it is: a variable, less its least value, or a sum.")
      .def_prop_ro(
          "extent", [](const IterMark& self) { return to_expr(self.extent); },
          nb::sig("def extent(self) -> Expr"))
      .def("__repr__", [](const IterMark& self) { return text_of(self); });
  nb::class_<IterSplitExpr> split(
      m, "IterSplitExpr",
      "``scale * ((source // lower_factor) % extent)``, a digit of its source.");
  split
      .def_prop_ro(
          "source",
          [](const IterSplitExpr& self) { return std::const_pointer_cast<IterMark>(self.source); })
      .def_prop_ro(
          "lower_factor", [](const IterSplitExpr& self) { return to_expr(self.lower_factor); },
          nb::sig("def lower_factor(self) -> Expr"))
      .def_prop_ro(
          "extent", [](const IterSplitExpr& self) { return to_expr(self.extent); },
          nb::sig("def extent(self) -> Expr"))
      .def_prop_ro(
          "scale", [](const IterSplitExpr& self) { return to_expr(self.scale); },
          nb::sig("def scale(self) -> Expr"))
      .def("__repr__", [](const IterSplitExpr& self) { return text_of(self); });
  sum.def_prop_ro("args", [](const IterSumExpr& self) { return self.args; })
      .def_prop_ro(
          "base", [](const IterSumExpr& self) { return to_expr(self.base); },
          nb::sig("def base(self) -> Expr"))
      .def("__repr__", [](const IterSumExpr& self) { return text_of(self); });
  nb::class_<IterMapResult>(m, "IterMapResult",
                            "The indices as sums of at most one term; none where there are errors.")
      .def_ro("indices", &IterMapResult::indices)
      .def_ro("errors", &IterMapResult::errors)
      .def_ro("is_injective", &IterMapResult::is_injective)
      .def_prop_ro(
          "padding_predicate", [](const IterMapResult& self) { return self.padding_predicate; },
          nb::sig("def padding_predicate(self) -> Expr"));

  m.def(
      "arith_detect_iter_map",
      [](const std::vector<Expr>& indices, const Iterators& iterators, const Expr& predicate,
         IterMapLevel level, bool simplify_trivial) {
        Analyzer analyzer;
        return detect_iter_map(indices, iterators_of(iterators),
                               {predicate, level, simplify_trivial}, analyzer);
      },
      nb::arg("indices"), nb::arg("iterators"), nb::arg("predicate"), nb::arg("level"),
      nb::arg("simplify_trivial_iterators"));
  m.def(
      "arith_iter_map_simplify",
      [](const std::vector<Expr>& indices, const Iterators& iterators, const Expr& predicate,
         bool simplify_trivial) {
        Analyzer analyzer;
        return iter_map_simplify(indices, iterators_of(iterators),
                                 {predicate, IterMapLevel::surjective, simplify_trivial}, analyzer);
      },
      nb::arg("indices"), nb::arg("iterators"), nb::arg("predicate"),
      nb::arg("simplify_trivial_iterators"),
      nb::sig("def arith_iter_map_simplify(indices: Sequence[ExprLike], iterators: "
              "Sequence[tuple[Var, Range]], predicate: ExprLike, simplify_trivial_iterators: bool) "
              "-> list[Expr]"));
  m.def(
      "arith_normalize_to_iter_sum",
      [](const Expr& index, const Iterators& iterators) {
        Analyzer analyzer;
        return normalize_to_iter_sum(index, iterators_of(iterators), analyzer);
      },
      nb::arg("index"), nb::arg("iterators"));
  m.def(
      "arith_iter_map_to_expr",
      [](const IterSumExpr& sum, DataType dtype) {
        Analyzer analyzer;
        return normalize_iter_map_to_expr(sum, dtype, analyzer);
      },
      nb::arg("sum"), nb::arg("dtype"),
      nb::sig("def arith_iter_map_to_expr(sum: IterSumExpr, dtype: str) -> Expr"));
  m.def(
      "arith_inverse_affine_iter_map",
      [](const std::vector<IterSumExpr>& map, const std::vector<Expr>& outputs) {
        Analyzer analyzer;
        Values result;
        for (const auto& [var, value] : inverse_affine_iter_map(map, outputs, analyzer)) {
          result.emplace_back(Ptr<Var>::from(var), value);
        }
        return result;
      },
      nb::arg("iter_map"), nb::arg("outputs"),
      nb::sig("def arith_inverse_affine_iter_map(iter_map: Sequence[IterSumExpr], outputs: "
              "Sequence[ExprLike]) -> list[tuple[Var, Expr]]"));
  m.def(
      "arith_subspace_divide",
      [](const std::vector<Expr>& indices, const Iterators& iterators,
         const std::vector<Ptr<Var>>& inner, const Expr& predicate, IterMapLevel level,
         bool simplify_trivial) {
        Analyzer analyzer;
        const SubspaceDivision division =
            subspace_divide(indices, iterators_of(iterators), inner,
                            {predicate, level, simplify_trivial}, analyzer);
        nb::list result;
        if (!division.ok()) return result;
        for (const SubspacePart& part : division.parts) {
          const auto as_mark = [](const IterSumExpr& sum, const Amount& extent) {
            auto mark = std::make_shared<IterMark>();
            mark->sum = sum;
            mark->extent = extent;
            return mark;
          };
          result.append(nb::make_tuple(as_mark(part.outer, part.outer_extent),
                                       as_mark(part.inner, part.inner_extent)));
        }
        result.append(nb::make_tuple(division.outer_predicate, division.inner_predicate));
        return result;
      },
      nb::arg("indices"), nb::arg("iterators"), nb::arg("inner"), nb::arg("predicate"),
      nb::arg("level"), nb::arg("simplify_trivial_iterators"),
      nb::sig("def arith_subspace_divide(indices: Sequence[ExprLike], iterators: "
              "Sequence[tuple[Var, Range]], inner: Sequence[Var], predicate: ExprLike, level: "
              "IterMapLevel, simplify_trivial_iterators: bool) -> list[tuple[typing.Any, "
              "typing.Any]]"));
}

void bind_regions(nb::module_& m) {
  using Estimate = std::optional<IntBox> (*)(std::span<const Ptr<Range>>, std::span<const Iterator>,
                                             const Expr&, Analyzer&);
  const auto define = [&](const char* name, Estimate estimate) {
    m.def(
        name,
        [estimate](const std::vector<Ptr<Range>>& region, const Iterators& iterators,
                   const Expr& predicate) {
          Analyzer analyzer;
          return estimate(region, iterators_of(iterators), predicate, analyzer);
        },
        nb::arg("region"), nb::arg("iterators"), nb::arg("predicate"));
  };
  define("arith_region_strict_bound", estimate_region_strict_bound);
  define("arith_region_lower_bound", estimate_region_lower_bound);
  m.def(
      "arith_region_upper_bound",
      [](const std::vector<Ptr<Range>>& region, const Iterators& iterators, const Expr& predicate) {
        Analyzer analyzer;
        return estimate_region_upper_bound(region, iterators_of(iterators), predicate, analyzer);
      },
      nb::arg("region"), nb::arg("iterators"), nb::arg("predicate"));
  m.def(
      "arith_union_lower_bound",
      [](const std::vector<IntSet>& sets) {
        Analyzer analyzer;
        return union_lower_bound(sets, analyzer);
      },
      nb::arg("sets"));
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

const IndexMap& map_of(const NodeHandle& self) {
  return *self.ref.as<IndexMap>();
}

}  // namespace

void extend(nb::class_<Handle<IndexMap>>& type) {
  type.def(
      "map_indices",
      [](const NodeHandle& self, const std::vector<Expr>& indices) {
        Analyzer analyzer;
        return map_indices(map_of(self), indices, analyzer);
      },
      nb::arg("indices"), "The image of indices, simplified.",
      nb::sig("def map_indices(self, indices: Sequence[ExprLike]) -> list[Expr]"));
  type.def(
      "map_shape",
      [](const NodeHandle& self, const std::vector<Expr>& shape) {
        Analyzer analyzer;
        return map_shape(map_of(self), shape, analyzer);
      },
      nb::arg("shape"), "The smallest shape that holds the image of a shape.",
      nb::sig("def map_shape(self, shape: Sequence[ExprLike]) -> list[Expr]"));
  type.def(
      "inverse",
      [](const NodeHandle& self, const std::vector<Ptr<Range>>& ranges) {
        Analyzer analyzer;
        return inverse(map_of(self), ranges, analyzer);
      },
      nb::arg("ranges"), "The map back, of a map that is a bijection on the ranges.");
  type.def(
      "non_surjective_inverse",
      [](const NodeHandle& self, const std::vector<Ptr<Range>>& ranges) {
        Analyzer analyzer;
        return non_surjective_inverse(map_of(self), ranges, analyzer);
      },
      nb::arg("ranges"),
      "The map back, and a condition on the new indices: true where nothing is mapped to them.",
      nb::sig(
          "def non_surjective_inverse(self, ranges: Sequence[Range]) -> tuple[IndexMap, Expr]"));
  type.def(
      "simplify",
      [](const NodeHandle& self, const std::vector<Ptr<Range>>& ranges) {
        Analyzer analyzer;
        return simplified(map_of(self), ranges, analyzer);
      },
      nb::arg("ranges"), "The map in the simplest form that it has on the ranges.");
  type.def(
      "is_equivalent_to",
      [](const NodeHandle& self, const Ptr<IndexMap>& other) {
        Analyzer analyzer;
        return is_equivalent(map_of(self), *other, analyzer);
      },
      nb::arg("other_map"), "True when both are known to map equal indices to equal indices.");
}

void bind_arith(nb::module_& m) {
  bind_sets(m);
  bind_analyzer(m);
  bind_iter_map(m);
  bind_regions(m);
  bind_solvers(m);
}

}  // namespace loopsmith::python
