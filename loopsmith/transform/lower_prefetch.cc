// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_prefetch.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {
namespace {

constexpr std::int64_t line_bytes = 64;

/// prefetch(&buffer[indices]) for reading, into all caches, as data.
Stmt prefetch_at(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) {
  const Expr pointer = call(handle_type, op("address_of"), {load(buffer, indices)});
  return make(
      Evaluate{.value = call(i32, op("prefetch"),
                             {pointer, int_imm(i32, 0), int_imm(i32, 3), int_imm(i32, 1)})});
}

Stmt lines_of(const Prefetch& node) {
  const Ptr<Buffer>& buffer = node.buffer;
  const std::int64_t bytes =
      std::max<std::int64_t>(1, buffer->dtype.bits * buffer->dtype.lanes / 8);
  const std::int64_t per_line = std::max<std::int64_t>(1, line_bytes / bytes);
  std::vector<Expr> indices;
  std::vector<Ptr<Var>> loops;
  std::vector<Expr> extents;
  Expr inside = true;
  for (std::size_t d = 0; d < node.bounds.size(); ++d) {
    const Range& bound = *node.bounds[d];
    const DataType type = bound.min.dtype();
    // Lines follow each other along the last dimension.
    const Expr step = int_imm(type, d + 1 == node.bounds.size() ? per_line : 1);
    const Expr count = ceildiv(bound.extent, step);
    Expr index = bound.min;
    if (!is_const_int(count, 1)) {
      loops.push_back(var(d + 1 == node.bounds.size() ? "line" : "row", type));
      extents.push_back(count);
      index = index + loops.back() * step;
    }
    inside = inside && int_imm(type, 0) <= index && index < buffer->shape[d];
    indices.push_back(std::move(index));
  }
  Stmt stmt = guarded(inside, prefetch_at(buffer, indices));
  for (std::size_t i = loops.size(); i-- > 0;) {
    stmt = for_loop(loops[i], zero_of(loops[i]->dtype), extents[i], std::move(stmt));
  }
  return stmt;
}

}  // namespace

Ptr<PrimFunc> lower_prefetch(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.enter_statements_anew();  // Loops are made of each.
  rewrite.on<Prefetch>([&](const Prefetch& node) -> Stmt {
    const bool is_parameter = std::ranges::any_of(
        func->buffer_map, [&](const auto& buffer) { return buffer.same_as(node.buffer); });
    return is_parameter ? lines_of(node) : no_op();
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
