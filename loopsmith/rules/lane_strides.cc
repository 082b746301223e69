// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/lane_strides.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// Elements so far apart are loaded as vectors, without masks: codegen/llvm/emit_memory.cc.
constexpr std::int64_t max_lane_stride = 4;

bool is_in_lines(const NestAccess& access, const Axis& axis) {
  if (stride_along(access, axis.var) != Stride::other) return true;
  if (access.is_store || !access.buffer->strides.empty()) return false;
  for (std::size_t d = 0; d + 1 < access.indices.size(); ++d) {
    if (uses_variable(access.indices[d], axis.var)) return false;
  }
  const Expr& last = access.indices.back();
  const Expr one = int_imm(axis.var->dtype, 1);
  const Expr step = Analyzer().simplify(substitute(last, {{axis.var, axis.var + one}}) - last);
  return as_int(step) && *as_int(step) > 1 && *as_int(step) <= max_lane_stride;
}

}  // namespace

bool are_in_lines(const Nest& nest, const Axis& axis) {
  return std::ranges::all_of(accesses_in(nest),
                             [&](const NestAccess& access) { return is_in_lines(access, axis); });
}

}  // namespace loopsmith
