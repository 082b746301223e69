// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/mapped_indices.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/index_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/rewrites/layout.h"

namespace loopsmith {
namespace {

bool is_in(const std::vector<Expr>& indices, const Ptr<Var>& variable) {
  return std::ranges::any_of(indices,
                             [&](const Expr& index) { return uses_variable(index, variable); });
}

}  // namespace

std::variant<std::vector<Ptr<IterVar>>, Refusal> axes_in_map(const Schedule& schedule,
                                                             BlockRV handle, const IndexMap& map) {
  const Block& block = schedule.get(handle);
  if (map.initial_indices.size() != block.iter_vars.size()) {
    return Refusal{&index_map_fits,
                   {Argument(static_cast<std::int64_t>(map.initial_indices.size())),
                    Argument("block"), Argument(handle),
                    Argument(static_cast<std::int64_t>(block.iter_vars.size())), Argument("axes")}};
  }
  std::vector<Ptr<IterVar>> axes;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    if (is_in(map.final_indices, map.initial_indices[i])) axes.push_back(block.iter_vars[i]);
  }
  return axes;
}

std::variant<MappedIndices, Refusal> map_axes(const Schedule& schedule, BlockRV handle,
                                              const IndexMap& given,
                                              const std::function<bool(const Ptr<Var>&)>& is_used) {
  const auto in_map = axes_in_map(schedule, handle, given);
  if (const auto* refusal = std::get_if<Refusal>(&in_map)) return *refusal;
  const Block& block = schedule.get(handle);
  std::vector<Expr> variables;
  for (const auto& axis : block.iter_vars) variables.push_back(axis->var);
  const DataType type = widest_index(variables);
  const IndexMap map = *with_index_type(given, type);
  MappedIndices mapped;
  Substitution axes;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    axes[map.initial_indices[i]] = cast(type, variables[i]);
  }
  for (const Expr& index : map.final_indices) mapped.indices.push_back(substitute(index, axes));
  IndexMap used{.final_indices = map.final_indices};
  std::vector<Ptr<Range>> domains;
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Ptr<IterVar>& axis = block.iter_vars[i];
    const bool is_old = is_used(axis->var);
    if (is_old != is_in(mapped.indices, axis->var)) {
      return Refusal{&index_map_uses_the_same_axes,
                     {Argument(axis->var->name), Argument(is_old ? "old" : "new"),
                      Argument(is_old ? "new" : "old")}};
    }
    if (!is_old) continue;
    used.initial_indices.push_back(map.initial_indices[i]);
    domains.push_back(range(cast(type, axis->dom->min), cast(type, axis->dom->extent)));
  }
  Analyzer analyzer;
  const auto refused = [](const UserError& error) {
    return changed_results(mapping_is_injective, {Argument(error.problem())});
  };
  const auto back = non_surjective_inverse(used, domains, analyzer);
  if (!back) return refused(back.error());
  const auto box = map_ranges(used, domains, analyzer);
  if (!box) return refused(box.error());
  auto shape = shape_around(*box, analyzer);
  if (!shape) return refused(shape.error());
  mapped.shape = std::move(*shape);
  return mapped;
}

}  // namespace loopsmith
