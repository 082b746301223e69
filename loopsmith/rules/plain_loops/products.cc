// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/plain_loops/products.h"

#include <algorithm>

#include "loopsmith/ir/walk.h"
#include "loopsmith/rules/plain_loops/innermost_loop.h"

namespace loopsmith::plain_loops {
namespace {

bool uses_loops(const For& loop, const std::vector<const For*>& others) {
  return std::ranges::any_of(others, [&](const For* other) {
    return other != &loop && (uses_variable(loop.min, other->loop_var) ||
                              uses_variable(loop.extent, other->loop_var));
  });
}

}  // namespace

std::optional<ProductLoops> product_of(const Statement& statement, std::size_t first,
                                       const Machine& machine) {
  const std::vector<const For*>& loops = statement.loops;
  if (!statement.is_accumulation || statement.is_conditional || loops.size() < first + 3) return {};
  const auto motion = [&](const Reference& reference, std::size_t loop) {
    return motion_of(reference, *loops[loop]).kind;
  };
  const std::size_t columns = best_innermost(statement, first, machine);
  const Reference& stored = statement.references[0];
  if (motion(stored, columns) != Motion::Kind::contiguous) return {};
  for (std::size_t sum = first; sum < loops.size(); ++sum) {
    if (sum == columns || motion(stored, sum) != Motion::Kind::none) continue;
    for (std::size_t rows = loops.size(); rows-- > first;) {
      if (rows == sum || rows == columns || motion(stored, rows) == Motion::Kind::none) continue;
      const bool shares = std::ranges::any_of(statement.references, [&](const Reference& each) {
        return !each.is_store && motion(each, columns) == Motion::Kind::contiguous &&
               motion(each, sum) != Motion::Kind::none && motion(each, rows) == Motion::Kind::none;
      });
      const std::vector<const For*> tiled{loops[rows], loops[sum], loops[columns]};
      const bool is_box =
          std::ranges::none_of(tiled, [&](const For* each) { return uses_loops(*each, tiled); });
      if (shares && is_box) return ProductLoops{rows, sum, columns};
    }
  }
  return {};
}

}  // namespace loopsmith::plain_loops
