// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/peel_boundaries.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/linear.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/walks.h"

namespace loopsmith {
namespace {

/// Finds the points of one axis where minima, maxima and comparisons of it are decided.
class Borders {
 public:
  Borders(const Nest& nest, const Axis& axis)
      : nest_(nest), axis_(axis), begin_(axis.min), end_(axis.min + axis.extent) {
    for (const Ptr<Var>& scalar : nest.data) analyzer_.mark_data(scalar);
  }

  /// The body between the borders.
  Stmt inside() {
    Rewriter rewrite;
    rewrite.on<Min>([&](const Min& node) { return side_of(*rewrite.children(node), false); });
    rewrite.on<Max>([&](const Max& node) { return side_of(*rewrite.children(node), true); });
    rewrite.on<LT>([&](const LT& node) { return truth_of(*rewrite.children(node), false, 0); });
    rewrite.on<LE>([&](const LE& node) { return truth_of(*rewrite.children(node), false, 1); });
    rewrite.on<GT>([&](const GT& node) { return truth_of(*rewrite.children(node), true, 1); });
    rewrite.on<GE>([&](const GE& node) { return truth_of(*rewrite.children(node), true, 0); });
    return rewrite(nest_.body);
  }

  /// How many points each border has; nullopt where that is not known, or nothing is in between.
  std::optional<std::pair<std::int64_t, std::int64_t>> widths() const {
    const Expr before = analyzer_.simplify(begin_ - axis_.min);
    const Expr behind = analyzer_.simplify(axis_.min + axis_.extent - end_);
    const auto *first = as_int(before), *last = as_int(behind);
    const auto extent = constant_extent(axis_);
    if (!first || !last || *first + *last == 0) return std::nullopt;
    if (extent && *first + *last >= *extent) return std::nullopt;
    return std::pair(*first, *last);
  }

 private:
  const Nest& nest_;
  const Axis& axis_;
  Expr begin_;
  Expr end_;
  mutable Analyzer analyzer_;

  /// The first point at which `a - b`, which grows along the axis, is at least 0; null where it is
  /// not of that form, depends on other axes or on memory, or may leave its type.
  Expr first_not_below(const Expr& a, const Expr& b) {
    if (!a.dtype().is_int() || !a.dtype().is_scalar()) return nullptr;
    const std::array variables{axis_.var};
    const std::vector<Expr> linear = detect_linear_equation(a - b, variables);
    if (linear.empty()) return nullptr;
    const std::int64_t* scale = as_int(linear[0]);
    const bool is_fixed = std::ranges::none_of(
        nest_.axes, [&](const Axis& axis) { return uses_variable(linear[1], axis.var); });
    if (!scale || *scale <= 0 || !is_fixed || reads_memory(linear[1])) return nullptr;
    const Expr point = analyzer_.simplify(ceildiv(-linear[1], linear[0]));
    for (const Expr& each : {a, b, point}) {
      if (analyzer_.may_overflow(each)) return nullptr;
    }
    return point;
  }

  /// True when most of the axis lies at or behind `point`, false when before it; nullopt if neither
  /// border has a known width.
  std::optional<bool> is_mostly_behind(const Expr& point) {
    const Expr before = analyzer_.simplify(point - axis_.min);
    const Expr behind = analyzer_.simplify(axis_.min + axis_.extent - point);
    const auto *left = as_int(before), *right = as_int(behind);
    if (!left && !right) return std::nullopt;
    return left && (!right || *right >= *left);
  }

  /// Leaves what is before `point`, or what is at or behind it, to the borders.
  void keep(const Expr& point, bool behind) {
    if (behind) {
      begin_ = max(begin_, point);
    } else {
      end_ = min(end_, point);
    }
  }

  template <class Choice>
  Expr side_of(const Choice& node, bool is_max) {
    for (const bool first : {true, false}) {
      const Expr &moving = first ? node.a : node.b, &other = first ? node.b : node.a;
      const Expr point = first_not_below(moving, other);
      if (!point.defined()) continue;
      // A clamp moves with the axis nearly everywhere. Where both are equal, either will do.
      const bool behind = is_mostly_behind(point).value_or(is_max);
      const Expr border = behind ? point : first_not_below(moving, other + 1);
      if (!border.defined()) continue;
      keep(border, behind);
      return behind == is_max ? moving : other;
    }
    return make(node, node.dtype);
  }

  /// `a >= b + offset` or, where it is not `is_greater`, the opposite.
  template <class Comparison>
  Expr truth_of(const Comparison& node, bool is_greater, int offset) {
    if (!node.a.dtype().is_int() || !node.a.dtype().is_scalar()) return make(node, node.dtype);
    const Expr above = node.b + int_imm(node.b.dtype(), offset);
    for (const bool rises : {true, false}) {
      const Expr point =
          rises ? first_not_below(node.a, above) : first_not_below(above, node.a + 1);
      if (!point.defined()) continue;
      const std::optional<bool> behind = is_mostly_behind(point);
      if (!behind) break;
      keep(point, *behind);
      return int_imm(boolean, (*behind == rises) == is_greater);
    }
    return make(node, node.dtype);
  }
};

/// A nest between the borders of one axis.
struct Middle {
  Nest nest;
  Peeling peeling;
};

/// Nullopt if there are no borders whose widths are numbers.
std::optional<Middle> middle_along(const Nest& nest, const Axis& axis) {
  Borders borders(nest, axis);
  Middle middle{.nest = nest, .peeling = {.axis = axis, .first = 0, .last = 0}};
  middle.nest.body = borders.inside();
  const auto widths = borders.widths();
  if (middle.nest.body.same_as(nest.body) || !widths) return std::nullopt;
  std::tie(middle.peeling.first, middle.peeling.last) = *widths;
  return middle;
}

bool is_strided(const Nest& nest, const Axis& axis) {
  return std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
    return stride_along(access, axis.var) == Stride::other;
  });
}

/// True when the last axis would not fill vectors, or might not.
bool is_short(const Axis& cells, std::int64_t lanes) {
  const auto extent = constant_extent(cells);
  return !extent || (*extent < 2 * lanes && *extent != 1);
}

}  // namespace

std::optional<Peeling> peel_boundaries(const Nest& nest, std::int64_t lanes) {
  const std::optional<Axis> along = contiguous_axis(nest);
  if (!along || nest.init || lanes <= 1) return std::nullopt;
  const std::vector<Axis> axes = nest.spatial();
  const auto cell =
      std::ranges::find_if(axes, [&](const Axis& axis) { return axis.var.same_as(along->var); });
  if (cell != axes.begin() && is_short(*cell, lanes)) {
    auto middle = middle_along(nest, *(cell - 1));
    const NestLoop pair[] = {{.loop = {}, .axis = *(cell - 1)}, {.loop = {}, .axis = *cell}};
    if (middle && is_walk(middle->nest, pair)) {
      middle->peeling.cells = *cell;
      return middle->peeling;
    }
  }
  if (!is_strided(nest, *cell)) return std::nullopt;
  const auto middle = middle_along(nest, *cell);
  return middle && !is_strided(middle->nest, *cell) ? std::optional(middle->peeling) : std::nullopt;
}

}  // namespace loopsmith
