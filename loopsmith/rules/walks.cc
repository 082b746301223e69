// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/walks.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {

bool is_compact(const Buffer& buffer) {
  return buffer.strides.empty() && buffer.axis_separators.empty() &&
         (!buffer.elem_offset.defined() || is_const_int(buffer.elem_offset, 0));
}

namespace {

/// True when the access moves by one element from each iteration of the loops, fused, to the next:
/// its last indices are the variables of the loops, which go through all of its last dimensions but
/// the first of these.
bool walks(const NestAccess& access, std::span<const NestLoop> loops) {
  const std::size_t rank = access.indices.size();
  if (rank < loops.size() || !is_compact(*access.buffer)) return false;
  const std::size_t first = rank - loops.size();
  for (std::size_t d = 0; d < rank; ++d) {
    const Expr& index = access.indices[d];
    if (d > first) {
      const Axis& axis = loops[d - first].axis;
      if (!index.same_as(axis.var) || !structural_equal(access.buffer->shape[d], axis.extent) ||
          !is_const_int(axis.min, 0))
        return false;
      continue;
    }
    for (const NestLoop& each : loops) {
      const bool is_first = d == first && each.axis.var.same_as(loops[0].axis.var);
      if (!is_first && uses_variable(index, each.axis.var)) return false;
    }
    if (d < first) continue;
    const Ptr<Var>& along = loops[0].axis.var;
    const Expr ahead = substitute(index, {{along, zero_of(along->dtype)}});
    if (!Analyzer().can_prove_equal(index, along + ahead)) return false;
  }
  return true;
}

/// True when a value or a condition is computed from an axis itself, not from what it indexes.
bool computes_with(const Ref& root, std::span<const NestLoop> loops) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const auto is_axis = [&](const NestLoop& each) { return ref.same_as(each.axis.var); };
    found = found || std::ranges::any_of(loops, is_axis) ||
            (store && computes_with(store->value, loops));
    return !found && !store && !ref.is<BufferLoad>();
  });
  return found;
}

}  // namespace

bool is_walk(const Nest& nest, std::span<const NestLoop> loops) {
  const auto fits = [&](const NestAccess& access) {
    const bool is_fixed = std::ranges::none_of(loops, [&](const NestLoop& each) {
      return std::ranges::any_of(
          access.indices, [&](const Expr& index) { return uses_variable(index, each.axis.var); });
    });
    return is_fixed || walks(access, loops);
  };
  const bool are_axes = std::ranges::all_of(
      loops, [](const NestLoop& each) { return each.axis.var.get() != nullptr; });
  return are_axes && std::ranges::all_of(accesses_in(nest), fits) &&
         !computes_with(nest.body, loops);
}

std::size_t first_of_walk(const Nest& nest, const std::vector<NestLoop>& loops) {
  for (std::size_t first = 0; first + 1 < loops.size(); ++first) {
    if (is_walk(nest, std::span(loops).subspan(first))) return first;
  }
  return loops.size();
}

}  // namespace loopsmith
