// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/make_loops.h"

#include <algorithm>

#include "loopsmith/arith/data_parameters.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/parallel_condition.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/threads_pay.h"

namespace loopsmith {
namespace {

/// Lets parallel loops inside `stmt` run in threads under a condition only.
Stmt with_threads_if(const Expr& condition, const Stmt& stmt) {
  if (is_const_int(condition, 1)) return stmt;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    For copy = *rewrite.children(loop);
    if (copy.kind != ForKind::parallel) return make(std::move(copy));
    if (is_const_int(condition, 0)) {
      copy.kind = ForKind::serial;
    } else {
      copy.annotations = copy.annotations.with(std::string(parallel_if_key), condition);
    }
    return make(std::move(copy));
  });
  return rewrite(stmt);
}

/// Results one by one: in lanes along a row, or as written.
Stmt one_by_one(const Nest& nest, const std::optional<RowReduction>& by_row,
                const CpuModel& machine) {
  const std::vector<Axis> spatial = nest.spatial();
  const std::size_t prefix = parallel_prefix(spatial, machine);
  const std::vector<Axis> threads(spatial.begin(),
                                  spatial.begin() + static_cast<std::ptrdiff_t>(prefix));
  return fused_parallel_loop(threads, [&](const Substitution& outside) {
    return loops_over(drop(spatial, prefix), outside, [&](const Substitution& all) {
      if (by_row) return row_reduction(*by_row, lanes_of(nest, machine), all);
      return seq({at(nest.init, all),
                  loops_over(nest.reduction(), all,
                             [&](const Substitution& inside) { return at(nest.body, inside); })});
    });
  });
}

Stmt unpacked_reduction(const Nest& nest, const CpuModel& machine) {
  const std::optional<RowReduction> by_row = row_reduction_of(nest);
  const std::int64_t lanes = lanes_of(nest, machine);
  const bool fills_lanes = by_row && constant_extent(by_row->axis).value_or(lanes) >= lanes;
  const std::optional<Axis> vector_axis = contiguous_axis(nest);
  const bool strided =
      vector_axis && std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
        return stride_along(access, vector_axis->var) == Stride::other;
      });
  if (!vector_axis || (strided && fills_lanes)) return one_by_one(nest, by_row, machine);
  return tiled_reduction(nest, *vector_axis, machine);
}

Stmt single_reduction(const Nest& nest, const CpuModel& machine) {
  const auto packed = packed_reduction(nest, machine);
  if (!packed) return unpacked_reduction(nest, machine);
  if (is_const_int(packed->pays, 1)) return packed->stmt;
  return either(packed->pays, packed->stmt, unpacked_reduction(nest, machine));
}

bool are_left(const Stmt& statement, const std::unordered_set<const Object*>& left) {
  bool are_all = true;
  pre_order_visit(statement, [&](const Ref& ref) {
    are_all = are_all && (!ref.is<Block>() || left.contains(ref.get()));
    return are_all;
  });
  return are_all;
}

}  // namespace

Ptr<PrimFunc> make_loops(const Ptr<PrimFunc>& func, const std::unordered_set<const Object*>& left,
                         const CpuModel& machine) {
  if (left.empty()) return func;
  const auto* realize = func->body.as<BlockRealize>();
  const bool has_root = realize && realize->block->iter_vars.empty() &&
                        is_const_int(realize->predicate, 1) && !realize->block->init &&
                        realize->block->match_buffers.empty();
  if (!has_root) return func;
  Block root = *realize->block;
  std::vector<Stmt> statements{root.body};
  if (const auto* sequence = root.body.as<SeqStmt>()) statements = sequence->seq;
  bool is_changed = false;
  for (Stmt& statement : statements) {
    std::vector<Nest> nests = are_left(statement, left) ? nests_of(statement) : std::vector<Nest>();
    const auto reduces = [](const Nest& nest) { return !nest.reduction().empty(); };
    if (nests.empty() || !std::ranges::all_of(nests, reduces)) continue;
    is_changed = true;
    std::vector<Stmt> loops;
    for (Nest& nest : nests) {
      nest.data = arith::data_parameters(*func);
      loops.push_back(
          with_threads_if(threads_pay({nest}, *func, machine), single_reduction(nest, machine)));
    }
    statement = seq(std::move(loops));
  }
  if (!is_changed) return func;
  root.body = seq(std::move(statements));
  return with_body(func, make(BlockRealize{.block = make(std::move(root))}));
}

}  // namespace loopsmith
