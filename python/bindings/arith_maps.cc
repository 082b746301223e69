// SPDX-License-Identifier: Apache-2.0
// Iteration maps, index maps and regions in Python.
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/arith.h"
#include "bindings/ir_detail.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/index_map.h"
#include "loopsmith/arith/region_bounds.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace nb = nanobind;

namespace loopsmith::python {
namespace {

using Values = std::vector<std::pair<Ptr<Var>, Expr>>;

/// A constant is an int32 where it fits.
Expr expr_of(const SymbolicInt& amount) {
  if (!amount.is_constant()) return amount.symbolic;
  const bool fits = wrap_to(i32, amount.constant) == amount.constant;
  return amount.expr(fits ? i32 : i64);
}

std::string text_of(const SymbolicInt& amount) {
  return repr_of(expr_of(amount));
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

/// The mark of a variable that starts at 0, or of a sum.
IterMark mark_of(nb::handle source, const Expr& extent) {
  IterMark mark;
  mark.extent = SymbolicInt(extent);
  if (nb::isinstance<IterSumExpr>(source)) {
    mark.sum = nb::cast<IterSumExpr>(source);
    for (const IterSplitExpr& arg : mark.sum.args) {
      mark.depth = std::max(mark.depth, arg.source->depth + 1);
    }
    return mark;
  }
  const Expr expr = to_expr(source);
  require(expr.defined() && expr.is<Var>(), ErrorKind::type_mismatch, "mark_is_of_a_variable",
          hint("give the sum as an IterSumExpr"), {},
          "IterMark: the source is {}, neither a variable nor an IterSumExpr",
          nb::str(source).c_str());
  mark.var = Ptr<Var>::from(expr);
  mark.min = zero_of(expr.dtype());
  return mark;
}

/// What the caller knows of variables, or nothing.
class Known {
 public:
  explicit Known(Analyzer* given) : analyzer_(given ? given : &nothing_) {}
  Analyzer& operator*() { return *analyzer_; }

 private:
  Analyzer nothing_;
  Analyzer* analyzer_;
};

const IndexMap& map_of(const NodeHandle& self) {
  return *self.ref.as<IndexMap>();
}

}  // namespace

void bind_iter_map(nb::module_& m) {
  nb::enum_<IterMapLevel>(m, "IterMapLevel", "What is asked of an iteration map.")
      .value("Bijective", IterMapLevel::bijective)
      .value("Surjective", IterMapLevel::surjective)
      .value("NoCheck", IterMapLevel::no_check);
  nb::class_<IterSumExpr> sum(m, "IterSumExpr", "The sum of ``args`` and ``base``.");
  nb::class_<IterMark> mark(m, "IterMark", "A number that runs through 0, 1, ..., ``extent`` - 1.");
  mark.def(
          "__init__",
          [](IterMark* self, nb::handle source, const Expr& extent) {
            new (self) IterMark(mark_of(source, extent));
          },
          nb::arg("source"), nb::arg("extent"),
          nb::sig("def __init__(self, source: Var | IterSumExpr, extent: ExprLike) -> None"))
      .def_prop_ro(
          "source",
          [](const IterMark& self) {
            if (!self.var.defined()) return nb::cast(self.sum);
            return nb::cast(Analyzer().simplify(self.var - self.min));
          },
          nb::sig("def source(self) -> Expr | IterSumExpr"),
          "What it is: a variable, less its least value, or a sum.")
      .def_prop_ro(
          "extent", [](const IterMark& self) { return expr_of(self.extent); },
          nb::sig("def extent(self) -> Expr"))
      .def("__repr__", [](const IterMark& self) { return text_of(self); });
  nb::class_<IterSplitExpr> split(
      m, "IterSplitExpr",
      "``scale * ((source // lower_factor) % extent)``, a digit of its source.");
  split
      .def(
          "__init__",
          [](IterSplitExpr* self, std::shared_ptr<IterMark> source, const Expr& lower_factor,
             const Expr& extent, const Expr& scale) {
            new (self) IterSplitExpr{std::move(source), SymbolicInt(lower_factor),
                                     SymbolicInt(extent), SymbolicInt(scale)};
          },
          nb::arg("source"), nb::arg("lower_factor"), nb::arg("extent"), nb::arg("scale"),
          nb::sig("def __init__(self, source: IterMark, lower_factor: ExprLike, extent: ExprLike, "
                  "scale: ExprLike) -> None"))
      .def_prop_ro(
          "source",
          [](const IterSplitExpr& self) { return std::const_pointer_cast<IterMark>(self.source); })
      .def_prop_ro(
          "lower_factor", [](const IterSplitExpr& self) { return expr_of(self.lower_factor); },
          nb::sig("def lower_factor(self) -> Expr"))
      .def_prop_ro(
          "extent", [](const IterSplitExpr& self) { return expr_of(self.extent); },
          nb::sig("def extent(self) -> Expr"))
      .def_prop_ro(
          "scale", [](const IterSplitExpr& self) { return expr_of(self.scale); },
          nb::sig("def scale(self) -> Expr"))
      .def("__repr__", [](const IterSplitExpr& self) { return text_of(self); });
  sum.def(
         "__init__",
         [](IterSumExpr* self, std::vector<IterSplitExpr> args, const Expr& base) {
           new (self) IterSumExpr{std::move(args), SymbolicInt(base)};
         },
         nb::arg("args"), nb::arg("base"),
         nb::sig("def __init__(self, args: Sequence[IterSplitExpr], base: ExprLike) -> None"))
      .def_prop_ro("args", [](const IterSumExpr& self) { return self.args; })
      .def_prop_ro(
          "base", [](const IterSumExpr& self) { return expr_of(self.base); },
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
         IterMapLevel level, bool simplify_trivial, Analyzer* analyzer) {
        return detect_iter_map(indices, iterators_of(iterators),
                               {predicate, level, simplify_trivial}, *Known(analyzer));
      },
      nb::arg("indices"), nb::arg("iterators"), nb::arg("predicate"), nb::arg("level"),
      nb::arg("simplify_trivial_iterators"), nb::arg("analyzer").none());
  m.def(
      "arith_iter_map_simplify",
      [](const std::vector<Expr>& indices, const Iterators& iterators, const Expr& predicate,
         bool simplify_trivial, Analyzer* analyzer) {
        return iter_map_simplify(indices, iterators_of(iterators),
                                 {predicate, IterMapLevel::surjective, simplify_trivial},
                                 *Known(analyzer));
      },
      nb::arg("indices"), nb::arg("iterators"), nb::arg("predicate"),
      nb::arg("simplify_trivial_iterators"), nb::arg("analyzer").none(),
      nb::sig("def arith_iter_map_simplify(indices: Sequence[ExprLike], iterators: "
              "Sequence[tuple[Var, Range]], predicate: ExprLike, simplify_trivial_iterators: bool, "
              "analyzer: Analyzer | None) -> list[Expr]"));
  m.def(
      "arith_normalize_to_iter_sum",
      [](const Expr& index, const Iterators& iterators, Analyzer* analyzer) {
        return normalize_to_iter_sum(index, iterators_of(iterators), *Known(analyzer));
      },
      nb::arg("index"), nb::arg("iterators"), nb::arg("analyzer").none());
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
        for (const auto& [var, value] : inverse_affine_iter_map(map, outputs, analyzer).value()) {
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
         bool simplify_trivial, Analyzer* analyzer) {
        const SubspaceDivision division =
            subspace_divide(indices, iterators_of(iterators), inner,
                            {predicate, level, simplify_trivial}, *Known(analyzer));
        nb::list result;
        if (!division.ok()) return result;
        for (const SubspacePart& part : division.parts) {
          const auto as_mark = [](const IterSumExpr& sum, const SymbolicInt& extent) {
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
      nb::arg("level"), nb::arg("simplify_trivial_iterators"), nb::arg("analyzer").none(),
      nb::sig("def arith_subspace_divide(indices: Sequence[ExprLike], iterators: "
              "Sequence[tuple[Var, Range]], inner: Sequence[Var], predicate: ExprLike, level: "
              "IterMapLevel, simplify_trivial_iterators: bool, analyzer: Analyzer | None) -> "
              "list[tuple[typing.Any, typing.Any]]"));
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
        return map_shape(map_of(self), shape, analyzer).value();
      },
      nb::arg("shape"), "The smallest shape that holds the image of a shape.",
      nb::sig("def map_shape(self, shape: Sequence[ExprLike]) -> list[Expr]"));
  type.def(
      "inverse",
      [](const NodeHandle& self, const std::vector<Ptr<Range>>& ranges) {
        Analyzer analyzer;
        return inverse(map_of(self), ranges, analyzer).value();
      },
      nb::arg("ranges"), "The map back, of a map that is a bijection on the ranges.");
  type.def(
      "non_surjective_inverse",
      [](const NodeHandle& self, const std::vector<Ptr<Range>>& ranges) {
        Analyzer analyzer;
        const auto [back, padding] = non_surjective_inverse(map_of(self), ranges, analyzer).value();
        return std::pair(back, padding);
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

}  // namespace loopsmith::python
