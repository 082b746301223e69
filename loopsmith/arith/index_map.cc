// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/index_map.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/arith/swizzle.h"
#include "loopsmith/ir/fold_operators.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

UserError error_of(std::string_view code, Hint hint, std::string problem) {
  return {ErrorKind::user, std::string(code), "index map: " + std::move(problem),
          std::string(hint.text)};
}

bool is_empty(const Range& side) {
  const std::int64_t* extent = as_int(side.extent);
  return extent && *extent <= 0;
}

void require_rank(const IndexMap& map, std::size_t count) {
  require(map.initial_indices.size() == count, "index_map_arity",
          hint("give one for each parameter of the map"),
          "index map: number of parameters mismatch: the map takes {} indices, {} were given",
          map.initial_indices.size(), count);
}

/// Boxes without points are as those of one point at their start: any map of them has an inverse.
std::vector<Ptr<Range>> with_points(std::span<const Ptr<Range>> ranges) {
  std::vector<Ptr<Range>> result(ranges.begin(), ranges.end());
  for (Ptr<Range>& side : result) {
    if (is_empty(*side)) side = range(side->min, const_of(side->extent.dtype(), 1));
  }
  return result;
}

std::vector<Iterator> iterators_of(const IndexMap& map, std::span<const Ptr<Range>> ranges) {
  require_rank(map, ranges.size());
  std::vector<Iterator> result;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    result.push_back({map.initial_indices[i], ranges[i]->min, ranges[i]->extent});
  }
  return result;
}

IterMapResult detected(const IndexMap& map, std::span<const Ptr<Range>> ranges, IterMapLevel level,
                       Analyzer& analyzer) {
  return detect_iter_map(map.final_indices, iterators_of(map, ranges),
                         {.level = level, .simplify_trivial_iterators = false}, analyzer);
}

/// The last value of an index, and the first: what an index and its mirror image add up to.
Expr sum_of_ends(const Range& range) {
  return range.min + range.min + range.extent - const_of(range.extent.dtype(), 1);
}

/// What is detected of a map, some of whose indices are counted from their ends.
struct Turned {
  IndexMap map;
  std::vector<bool> is_turned;
  IterMapResult forms;
};

/// The map as it is, or where nothing is detected of that, with the fewest indices turned round.
Turned turned(const IndexMap& map, std::span<const Ptr<Range>> ranges, IterMapLevel level,
              Analyzer& analyzer) {
  constexpr std::size_t most = 6;
  const std::size_t count = ranges.size();
  Turned given{map, std::vector<bool>(count), detected(map, ranges, level, analyzer)};
  if (given.forms.ok() || count > most) return given;
  for (unsigned which = 1; which < 1U << count; ++which) {
    Turned made = given;
    Substitution values;
    for (std::size_t i = 0; i < count; ++i) {
      made.is_turned[i] = (which >> i & 1U) != 0;
      const Ptr<Var>& index = map.initial_indices[i];
      if (made.is_turned[i]) values[index] = sum_of_ends(*ranges[i]) - index;
    }
    for (Expr& index : made.map.final_indices) {
      index = analyzer.simplify(substitute(index, values));
    }
    made.forms = detected(made.map, ranges, level, analyzer);
    if (made.forms.ok()) return made;
  }
  return given;
}

/// The values that a detected index takes, and those between them.
Ptr<Range> range_of(const IterSumExpr& index, DataType type, Analyzer& analyzer) {
  Expr extent = int_imm(type, 1);
  for (const IterSplitExpr& arg : index.args) {
    extent = analyzer.simplify(arg.extent.expr(type) * arg.scale.expr(type));
  }
  return range(index.base.expr(type), extent);
}

/// The inverse, and where it has none, in terms of its own variables.
Expected<PaddedInverse> inverted(const Turned& given, std::span<const Ptr<Range>> ranges) {
  const auto& [map, is_turned, forms] = given;
  IndexMap result;
  std::vector<Expr> outputs;
  Analyzer inside;
  Expr padding = false;
  for (std::size_t i = 0; i < forms.indices.size(); ++i) {
    const IterSumExpr& form = forms.indices[i];
    const Ptr<Var> axis = var(fmt::format("axis{}", i), map.final_indices[i].dtype());
    result.initial_indices.push_back(axis);
    outputs.emplace_back(axis);
    inside.bind(axis, range_of(form, axis->dtype, inside));
    // Between the multiples of a scale lies nothing.
    for (const IterSplitExpr& arg : form.args) {
      if (arg.scale.is(1)) continue;
      const Expr offset = axis - form.base.expr(axis->dtype);
      padding = padding || floormod(offset, arg.scale.expr(axis->dtype)) != zero_of(axis->dtype);
    }
  }
  const auto found_values = inverse_affine_iter_map(forms.indices, outputs, inside);
  if (!found_values) return found_values.error();
  const Substitution& values = *found_values;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const Ptr<Var>& index = map.initial_indices[i];
    const auto found = values.find(index);
    // Only an index of a single value is told by none.
    const Expr value = found == values.end() ? cast(index->dtype, ranges[i]->min) : found->second;
    result.final_indices.push_back(is_turned[i] ? inside.simplify(sum_of_ends(*ranges[i]) - value)
                                                : value);
  }
  padding = padding || substitute(forms.padding_predicate, values);
  return PaddedInverse{make(std::move(result)), inside.simplify(padding)};
}

/// The inverse of a map, by that of the map without its swizzle.
Ptr<IndexMap> swizzled_back(const Unswizzled& plain, const IndexMap& inverse) {
  IndexMap result = inverse;
  Substitution values;
  for (std::size_t i = 0; i < inverse.final_indices.size(); ++i) {
    values[plain.map.initial_indices[i]] = inverse.final_indices[i];
  }
  Analyzer analyzer;
  result.final_indices.clear();
  for (const Expr& index : plain.back) {
    result.final_indices.push_back(analyzer.simplify(substitute(index, values)));
  }
  return make(std::move(result));
}

}  // namespace

std::vector<Expr> map_indices(const IndexMap& map, std::span<const Expr> indices,
                              Analyzer& analyzer) {
  require_rank(map, indices.size());
  // What is computed of an index that is wider than the map's own is wider, too.
  Rewriter mapped;
  fold_operators(mapped);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const DataType own = map.initial_indices[i]->dtype;
    const bool is_wider = indices[i].dtype().bits > own.bits;
    mapped.replace_variable(map.initial_indices[i], is_wider ? indices[i] : cast(own, indices[i]));
  }
  std::vector<Expr> result;
  for (const Expr& index : map.final_indices) {
    result.push_back(analyzer.simplify(mapped(index)));
  }
  return result;
}

namespace {

Expected<std::vector<Ptr<Range>>> image_of_points(const IndexMap& map,
                                                  std::span<const Ptr<Range>> ranges,
                                                  Analyzer& analyzer) {
  const IterMapResult forms = detected(map, ranges, IterMapLevel::no_check, analyzer);
  std::vector<Ptr<Range>> result;
  if (forms.ok()) {
    for (std::size_t i = 0; i < forms.indices.size(); ++i) {
      result.push_back(range_of(forms.indices[i], map.final_indices[i].dtype(), analyzer));
    }
    return result;
  }
  if (const auto plain = without_swizzle(map, ranges, analyzer)) {
    return image_of_points(plain->map, plain->ranges, analyzer);
  }
  Domains domains;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    domains[map.initial_indices[i]] = IntSet::from_range(ranges[i]);
  }
  for (const Expr& index : map.final_indices) {
    const IntSet values = analyzer.int_set(index, domains);
    if (!values.has_lower_bound() || !values.has_upper_bound()) {
      return error_of("index_map_is_bounded", hint("use + - * // % of the indices"),
                      "an index of the image has no bounds");
    }
    const Expr one = const_of(index.dtype(), 1);
    result.push_back(range(values.min_value(),
                           analyzer.simplify(values.max_value() - values.min_value() + one)));
  }
  return result;
}

}  // namespace

Expected<std::vector<Ptr<Range>>> map_ranges(const IndexMap& map,
                                             std::span<const Ptr<Range>> ranges,
                                             Analyzer& analyzer) {
  require_rank(map, ranges.size());
  auto image = image_of_points(map, with_points(ranges), analyzer);
  if (!image) return image;
  std::vector<Ptr<Range>>& result = *image;
  for (std::size_t k = 0; k < result.size(); ++k) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (is_empty(*ranges[i]) && uses_variable(map.final_indices[k], map.initial_indices[i])) {
        result[k] = range(result[k]->min, zero_of(result[k]->extent.dtype()));
      }
    }
  }
  return image;
}

Expected<std::vector<Expr>> shape_around(std::span<const Ptr<Range>> box, Analyzer& analyzer) {
  std::vector<Expr> result;
  for (const Ptr<Range>& side : box) {
    if (!analyzer.can_prove(side->min >= zero_of(side->min.dtype()))) {
      return error_of("index_map_begins_at_0",
                      hint("add what makes all indices of the image 0 or more"),
                      fmt::format("index {} of the image begins at {}, which may be below 0",
                                  result.size(), brief(side->min)));
    }
    result.push_back(analyzer.simplify(side->min + side->extent));
  }
  return result;
}

namespace {

/// The same map, whose indices are at least as wide as the extents.
IndexMap as_wide_as(const IndexMap& map, std::span<const Expr> shape, Analyzer& analyzer) {
  IndexMap wide = map;
  std::vector<Expr> indices;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const Ptr<Var>& index = map.initial_indices[i];
    if (shape[i].dtype().bits > index->dtype.bits) {
      wide.initial_indices[i] = var(index->name, shape[i].dtype());
    }
    indices.emplace_back(wide.initial_indices[i]);
  }
  wide.final_indices = map_indices(map, indices, analyzer);
  return wide;
}

}  // namespace

Expected<std::vector<Expr>> map_shape(const IndexMap& map, std::span<const Expr> shape,
                                      Analyzer& analyzer) {
  require_rank(map, shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].dtype().bits > map.initial_indices[i]->dtype.bits) {
      return map_shape(as_wide_as(map, shape, analyzer), shape, analyzer);
    }
  }
  std::vector<Ptr<Range>> ranges;
  for (const Expr& extent : shape) ranges.push_back(range(zero_of(extent.dtype()), extent));
  const auto image = map_ranges(map, ranges, analyzer);
  if (!image) return image.error();
  return shape_around(*image, analyzer);
}

Expected<PaddedInverse> non_surjective_inverse(const IndexMap& map,
                                               std::span<const Ptr<Range>> ranges,
                                               Analyzer& analyzer) {
  require_rank(map, ranges.size());
  if (map.inverse_index_map) return PaddedInverse{map.inverse_index_map, false};
  const auto box = with_points(ranges);
  const Turned found = turned(map, box, IterMapLevel::surjective, analyzer);
  const IterMapResult& forms = found.forms;
  if (!forms.ok()) {
    if (const auto plain = without_swizzle(map, box, analyzer)) {
      auto back = non_surjective_inverse(plain->map, plain->ranges, analyzer);
      if (back) back->map = swizzled_back(*plain, *back->map);
      return back;
    }
    return error_of("index_map_is_affine", hint("use + - * // % of the indices"),
                    "Could not parse mapping as sum of iterators. " + forms.errors[0]);
  }
  if (!forms.is_injective) {
    return error_of("index_map_is_injective",
                    hint("keep every part of each index in one index of the image"),
                    "different indices are mapped to the same");
  }
  return inverted(found, box);
}

Expected<Ptr<IndexMap>> inverse(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                                Analyzer& analyzer) {
  require_rank(map, ranges.size());
  if (map.inverse_index_map) return map.inverse_index_map;
  const auto box = with_points(ranges);
  const Turned found = turned(map, box, IterMapLevel::bijective, analyzer);
  const IterMapResult& forms = found.forms;
  if (!forms.ok()) {
    if (const auto plain = without_swizzle(map, box, analyzer)) {
      const auto back = inverse(plain->map, plain->ranges, analyzer);
      return back ? swizzled_back(*plain, **back) : back;
    }
    return error_of("index_map_is_bijective",
                    hint("let each index of the image be a part of its own, and leave none out"),
                    "Could not parse mapping as sum of iterators. " + forms.errors[0]);
  }
  const auto back = inverted(found, box);
  if (!back) return back.error();
  if (!is_const_int(back->padding, 0)) {
    return error_of("index_map_is_bijective",
                    hint("use non_surjective_inverse for a map that pads"),
                    "the image has points that no index is mapped to");
  }
  return back->map;
}

Ptr<IndexMap> simplified(const IndexMap& map, std::span<const Ptr<Range>> ranges,
                         Analyzer& analyzer) {
  IndexMap result = map;
  result.final_indices =
      iter_map_simplify(map.final_indices, iterators_of(map, ranges), {}, analyzer);
  Analyzer inside;
  for (std::size_t i = 0; i < ranges.size(); ++i) inside.bind(map.initial_indices[i], ranges[i]);
  for (Expr& index : result.final_indices) index = inside.simplify(index);
  return make(std::move(result));
}

bool is_equivalent(const IndexMap& a, const IndexMap& b, Analyzer& analyzer) {
  if (a.initial_indices.size() != b.initial_indices.size()) return false;
  if (a.final_indices.size() != b.final_indices.size()) return false;
  Substitution values;
  for (std::size_t i = 0; i < a.initial_indices.size(); ++i) {
    const Ptr<Var>& mine = a.initial_indices[i];
    values[b.initial_indices[i]] = cast(b.initial_indices[i]->dtype, mine);
  }
  for (std::size_t i = 0; i < a.final_indices.size(); ++i) {
    const Expr theirs = analyzer.simplify(substitute(b.final_indices[i], values));
    const Expr mine = analyzer.simplify(a.final_indices[i]);
    if (!structural_equal(mine, theirs) && !analyzer.can_prove_equal(mine, theirs)) return false;
  }
  return true;
}

}  // namespace loopsmith
