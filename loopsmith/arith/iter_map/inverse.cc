// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace arith {
namespace {

/// Values of marks, from those of the digits that were taken of them.
class Inversion {
 public:
  /// Learns that `digit`, without its scale, is `value`.
  void add(const IterSplitExpr& digit, const Expr& value) {
    auto known = std::find_if(marks_.begin(), marks_.end(),
                              [&](const Known& k) { return k.mark == digit.source; });
    const Expr part = value * digit.lower_factor.expr(value.dtype());
    if (known != marks_.end()) {
      known->value = known->value + part;
    } else {
      marks_.push_back({digit.source, part});
    }
  }

  /// Takes sums apart until only variables are left.
  Expected<Substitution> variables(Analyzer& analyzer) {
    Substitution result;
    while (!marks_.empty()) {
      // All digits of a mark are known once no deeper mark is left.
      const auto deepest = std::max_element(
          marks_.begin(), marks_.end(),
          [](const Known& a, const Known& b) { return a.mark->depth < b.mark->depth; });
      const Known known = std::move(*deepest);
      marks_.erase(deepest);
      const IterMark& mark = *known.mark;
      if (mark.var) {
        const Expr value = cast(mark.var->dtype, known.value) + mark.min;
        result[mark.var] = analyzer.simplify(value);
        continue;
      }
      if (mark.overlaps) {
        return UserError(ErrorKind::user, "map_is_invertible",
                         "inverse: different values of the iterators give the same index",
                         "leave out the windows that overlap");
      }
      take_apart(mark, known.value);
    }
    return result;
  }

 private:
  struct Known {
    std::shared_ptr<const IterMark> mark;
    Expr value;
  };

  void take_apart(const IterMark& mark, const Expr& value) {
    const DataType type = value.dtype();
    const Expr rest = value - mark.sum.base.expr(type);
    bool is_first = true;  // The largest, of which nothing is cut.
    for (const IterSplitExpr& arg : mark.sum.args) {
      Expr digit = floordiv(rest, arg.scale.expr(type));
      if (!is_first) digit = floormod(digit, arg.extent.expr(type));
      is_first = false;
      add(arg, digit);
    }
  }

  std::vector<Known> marks_;
};

}  // namespace
}  // namespace arith

Expected<Substitution> inverse_affine_iter_map(std::span<const IterSumExpr> map,
                                               std::span<const Expr> outputs, Analyzer& analyzer) {
  require(map.size() == outputs.size(), "one_output_for_each_index",
          hint("give as many outputs as the map has indices"),
          "inverse: the map has {} indices, {} outputs were given", map.size(), outputs.size());
  arith::Inversion inversion;
  for (std::size_t i = 0; i < map.size(); ++i) {
    const DataType type = outputs[i].dtype();
    for (const IterSplitExpr& arg : map[i].args) {
      const Expr offset = outputs[i] - map[i].base.expr(type);
      inversion.add(arg, floordiv(offset, arg.scale.expr(type)));
    }
  }
  return inversion.variables(analyzer);
}

}  // namespace loopsmith
