// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/make_loops.h"

#include <algorithm>

#include "loopsmith/arith/data_parameters.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/fuse_row_nests.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/nontemporal_stores.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/task_sizes.h"

namespace loopsmith {
namespace {

ForKind kind_for(const std::vector<Nest>& nests) {
  std::int64_t points = 0;
  for (const Nest& nest : nests) {
    const auto count = point_count(nest.axes);
    if (!count) return ForKind::parallel;
    points += *count;
  }
  return points < min_parallel_points ? ForKind::serial : ForKind::parallel;
}

/// Turns parallel loops inside `stmt` into serial ones: there is too little to do.
Stmt without_threads(const Stmt& stmt) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    For copy = *rewrite.children(loop);
    if (copy.kind == ForKind::parallel) copy.kind = ForKind::serial;
    return make(std::move(copy));
  });
  return rewrite(stmt);
}

/// A nest inside the loops that `values` come from, over its remaining spatial axes.
Stmt inner_nest(const Nest& nest, const std::vector<Axis>& axes, const Substitution& values,
                const CpuModel& machine) {
  if (nest.reduction().empty()) return inner_elementwise(nest, axes, values, machine);
  if (const auto reduction = row_reduction_of(nest)) {
    return loops_over(axes, values, [&](const Substitution& all) {
      return row_reduction(*reduction, lanes_of(nest, machine), machine, all);
    });
  }
  return loops_over(axes, values, [&](const Substitution& all) {
    return seq({at(nest.init, all),
                loops_over(nest.reduction(), all,
                           [&](const Substitution& inside) { return at(nest.body, inside); })});
  });
}

Stmt unpacked_reduction(const Nest& nest, const CpuModel& machine) {
  const std::vector<Axis> spatial = nest.spatial();
  const std::optional<RowReduction> by_row = row_reduction_of(nest);
  const std::int64_t lanes = lanes_of(nest, machine);
  const bool fills_lanes = by_row && constant_extent(by_row->axis).value_or(lanes) >= lanes;
  const std::optional<Axis> vector_axis = contiguous_axis(nest);
  const bool strided =
      vector_axis && std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
        return stride_along(access, vector_axis->var) == Stride::other;
      });
  if (vector_axis && !(strided && fills_lanes)) return tiled_reduction(nest, *vector_axis, machine);
  const std::size_t prefix = parallel_prefix(spatial, machine);
  const std::vector<Axis> threads(spatial.begin(),
                                  spatial.begin() + static_cast<std::ptrdiff_t>(prefix));
  return fused_loop(threads, ForKind::parallel, {}, [&](const Substitution& values) {
    return inner_nest(nest, drop(spatial, prefix), values, machine);
  });
}

Stmt single_reduction(const Nest& nest, const CpuModel& machine) {
  const auto packed = packed_reduction(nest, machine);
  if (!packed) return unpacked_reduction(nest, machine);
  if (is_const_int(packed->pays, 1)) return packed->stmt;
  return either(packed->pays, packed->stmt, unpacked_reduction(nest, machine));
}

/// True when only nests of the group use the buffer.
bool is_private(const Ptr<Buffer>& buffer, const std::vector<Group>& groups, const Group& group) {
  return std::ranges::all_of(groups, [&](const Group& other) {
    if (&other == &group) return true;
    return std::ranges::none_of(
        other.nests, [&](const Nest& nest) { return reads(nest, buffer) || writes(nest, buffer); });
  });
}

/// Replaces a buffer that lives within one point of the shared axes by one without their
/// dimensions.
Ptr<Buffer> shrink(Group& group, const Ptr<Buffer>& buffer) {
  std::vector<bool> kept(buffer->shape.size(), true);
  // The same ones in each nest that uses the buffer.
  for (const Nest& nest : group.nests) {
    for (const std::size_t d : shared_dimensions(nest, buffer, group.shared)) kept[d] = false;
  }
  const auto keep = [&](const std::vector<Expr>& all) {
    std::vector<Expr> some;
    for (std::size_t d = 0; d < kept.size(); ++d) {
      if (kept[d]) some.push_back(all[d]);
    }
    if (some.empty()) some.push_back(zero_of(all.empty() ? i32 : all[0].dtype()));
    return some;
  };
  std::vector<Expr> shape = keep(buffer->shape);
  if (std::ranges::none_of(kept, [](bool k) { return k; })) shape = {1};
  const Ptr<Buffer> row =
      decl_buffer(shape, buffer->dtype, buffer->name, std::string(buffer->scope()));
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& access) -> Expr {
    const Ptr<BufferLoad> inside = rewrite.children(access);
    return access.buffer.same_as(buffer) ? load(row, keep(inside->indices)) : Expr(inside);
  });
  rewrite.on<BufferStore>([&](const BufferStore& access) -> Stmt {
    const Ptr<BufferStore> inside = rewrite.children(access);
    return access.buffer.same_as(buffer) ? store(row, inside->value, keep(inside->indices))
                                         : Stmt(inside);
  });
  for (Nest& nest : group.nests) {
    nest.body = rewrite(nest.body);
    if (nest.init) nest.init = rewrite(nest.init);
  }
  return row;
}

Stmt schedule_group(Group group, const std::vector<Ptr<Buffer>>& rows, const CpuModel& machine) {
  const std::vector<Axis> shared(
      group.nests[0].axes.begin(),
      group.nests[0].axes.begin() + static_cast<std::ptrdiff_t>(group.shared));
  const std::size_t prefix = parallel_prefix(shared, machine);
  const std::vector<Axis> threads(shared.begin(),
                                  shared.begin() + static_cast<std::ptrdiff_t>(prefix));
  return fused_loop(threads, ForKind::parallel, {}, [&](const Substitution& outside) {
    return loops_over(drop(shared, prefix), outside, [&](const Substitution& values) {
      std::vector<Stmt> parts;
      Substitution own = values;
      for (std::size_t i = 0; i < group.nests.size(); ++i) {
        const Nest& nest = group.nests[i];
        for (std::size_t k = 0; k < group.shared; ++k) {
          own[nest.axes[k].var] = values.at(shared[k].var);
          if (i + 1 < group.nests.size()) {
            own[group.nests[i + 1].axes[k].var] = values.at(shared[k].var);
          }
        }
        const auto fed = i + 1 < group.nests.size()
                             ? fed_by(nest, group.nests[i + 1], group.shared, machine)
                             : std::nullopt;
        if (fed) {
          parts.push_back(row_reduction(*fed, lanes_of(nest, machine), machine, own));
          ++i;
        } else {
          parts.push_back(inner_nest(nest, drop(nest.spatial(), group.shared), own, machine));
        }
      }
      return with_buffers(group.nests[0].name + "_row", rows, seq(std::move(parts)));
    });
  });
}

bool are_left(const Stmt& statement, const std::unordered_set<const Object*>& left) {
  bool are_all = true;
  pre_order_visit(statement, [&](const Ref& ref) {
    are_all = are_all && (!ref.is<Block>() || left.contains(ref.get()));
    return are_all;
  });
  return are_all;
}

Program program_of(const PrimFunc& func, const Block& root,
                   const std::unordered_set<const Object*>& left) {
  const std::vector<Ptr<Var>> data = arith::data_parameters(func);
  std::vector<Stmt> statements{root.body};
  if (const auto* sequence = root.body.as<SeqStmt>()) statements = sequence->seq;
  Program program{.parts = {}, .locals = root.alloc_buffers};
  for (const Stmt& statement : statements) {
    const std::vector<Nest> nests =
        are_left(statement, left) ? nests_of(statement) : std::vector<Nest>();
    for (const Nest& nest : nests) {
      program.parts.push_back({.nest = nest, .opaque = nullptr});
      program.parts.back().nest->data = data;
    }
    if (nests.empty()) program.parts.push_back({.nest = std::nullopt, .opaque = statement});
  }
  return program;
}

/// The loops of `nests`, without threads where there is too little to do.
Stmt finished(const Stmt& scheduled, const std::vector<Nest>& nests) {
  return mark_nontemporal_stores(
      kind_for(nests) == ForKind::serial ? without_threads(scheduled) : scheduled, nests);
}

Stmt single_nest(const Nest& nest, const CpuModel& machine) {
  return finished(nest.reduction().empty() ? single_elementwise(nest, machine)
                                           : single_reduction(nest, machine),
                  {nest});
}

Stmt schedule_program(Program program, Block root, const CpuModel& machine) {
  std::vector<Group> groups = fuse_row_nests(program, machine);
  std::vector<Stmt> statements;
  for (Group& group : groups) {
    if (group.opaque) {
      statements.push_back(group.opaque);
      continue;
    }
    for (Nest& nest : group.nests) nest.streamed = nontemporal_outputs(nest, program, machine);
    if (group.nests.size() == 1) {
      statements.push_back(single_nest(group.nests[0], machine));
    } else {
      std::vector<Ptr<Buffer>> rows;
      std::erase_if(program.locals, [&](const Ptr<Buffer>& local) {
        const bool used_here =
            std::ranges::any_of(group.nests, [&](const Nest& n) { return writes(n, local); });
        if (!used_here || program.used_by_opaque(local) || !is_private(local, groups, group))
          return false;
        rows.push_back(shrink(group, local));
        return true;
      });
      statements.push_back(finished(schedule_group(group, rows, machine), group.nests));
    }
  }
  root.alloc_buffers = program.locals;
  root.body = seq(std::move(statements));
  return make(BlockRealize{.block = make(std::move(root))});
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
  const Program program = program_of(*func, *realize->block, left);
  const bool any =
      std::ranges::any_of(program.parts, [](const Part& part) { return part.nest.has_value(); });
  return any ? with_body(func, schedule_program(program, *realize->block, machine)) : func;
}

}  // namespace loopsmith
