// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/lane_strides.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// Elements so far apart are loaded as vectors, without masks: codegen/llvm/emit_memory.cc.
constexpr std::int64_t max_lane_stride = 4;

}  // namespace

std::optional<std::int64_t> stride_in_lines(const NestAccess& access, const Axis& axis) {
  if (stride_along(access, axis.var) != Stride::other) return 1;
  if (access.is_store || !access.buffer->strides.empty()) return std::nullopt;
  for (std::size_t d = 0; d + 1 < access.indices.size(); ++d) {
    if (uses_variable(access.indices[d], axis.var)) return std::nullopt;
  }
  const Expr& last = access.indices.back();
  const Expr one = int_imm(axis.var->dtype, 1);
  const Expr step = Analyzer().simplify(substitute(last, {{axis.var, axis.var + one}}) - last);
  const std::int64_t* stride = as_int(step);
  if (!stride || *stride <= 1 || *stride > max_lane_stride) return std::nullopt;
  return *stride;
}

std::optional<std::int64_t> stride_in_lines(const Nest& nest, const Axis& axis) {
  std::int64_t largest = 1;
  for (const NestAccess& access : accesses_in(nest)) {
    const auto stride = stride_in_lines(access, axis);
    if (!stride) return std::nullopt;
    largest = std::max(largest, *stride);
  }
  return largest;
}

}  // namespace loopsmith
