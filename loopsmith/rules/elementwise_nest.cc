// SPDX-License-Identifier: Apache-2.0
// What becomes of elementwise nests: which of their axes join or are cut.
#include <algorithm>
#include <functional>
#include <ranges>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/collapse_axes.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/peel_boundaries.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/task_sizes.h"

namespace loopsmith {
namespace {

Stmt under_views(const std::vector<Ptr<Buffer>>& views, Stmt body) {
  for (const Ptr<Buffer>& view : views) {
    body = make(DeclBuffer{.buffer = view, .body = std::move(body)});
  }
  return body;
}

/// What a cut nest computes in the borders of its axis.
Stmt in_borders(const Nest& nest, const std::vector<Axis>& axes, const PeeledNest& cut,
                const Substitution& values, const CpuModel& machine) {
  std::vector<Axis> others = axes;
  std::erase_if(others, [&](const Axis& axis) {
    return axis.var.same_as(cut.axis.var) || (cut.cells && axis.var.same_as(cut.cells->var));
  });
  return loop_over_borders(cut, [&](const Expr& point) {
    Substitution all = values;
    all[cut.axis.var] = point;
    return loops_over(others, all, [&](Substitution outside) {
      if (!cut.cells) return at(nest.body, outside);
      return masked_vectors(*cut.cells, lanes_of(nest, machine), [&](const Expr& cell) {
        outside[cut.cells->var] = cell;
        return at(nest.body, outside);
      });
    });
  });
}

/// A one-dimensional nest, cut into tasks.
Stmt long_vector(const Nest& nest, const Axis& axis, const CpuModel& machine) {
  const DataType type = axis.extent.dtype();
  const std::int64_t lanes = lanes_of(nest, machine);
  const auto extent = constant_extent(axis);
  std::int64_t count = extent && *extent >= many_elements ? elements_a_long_task : elements_a_task;
  // The last task has a whole vector to do, or there is none.
  while (extent && *extent > count && *extent % count != 0 && *extent % count < lanes) {
    count += lanes;
  }
  const Expr size = int_imm(type, count);
  const bool exact = extent && *extent % count == 0;
  return loop(axis.var->name + "_p", ceildiv(axis.extent, size), ForKind::parallel,
              [&](const Expr& piece) {
                Axis part = axis;
                part.min = axis.min + piece * size;
                part.extent = exact ? size : min(size, axis.extent - piece * size);
                return elementwise(nest, {part}, {}, machine);
              });
}

/// True when the spatial axes, in order, are the indices of the access, and it covers the buffer:
/// then the whole nest walks through memory from one end to the other.
bool walks_whole(const NestAccess& access, const std::vector<Axis>& axes) {
  if (!access.buffer->strides.empty() || access.buffer->elem_offset.defined() ||
      !access.buffer->axis_separators.empty() || access.indices.size() != axes.size()) {
    return false;
  }
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (!access.indices[i].same_as(axes[i].var) || !is_const_int(axes[i].min, 0) ||
        !structural_equal(axes[i].extent, access.buffer->shape[i])) {
      return false;
    }
  }
  return true;
}

/// The nest over one axis and flat views of its buffers, where it walks through all of them in
/// order. `views` gets the views.
std::optional<Nest> flattened(const Nest& nest, std::vector<Ptr<Buffer>>& views) {
  const std::vector<NestAccess> accesses = accesses_in(nest);
  const bool uniform =
      nest.axes.size() > 1 && std::ranges::all_of(accesses, [&](const NestAccess& access) {
        return walks_whole(access, nest.axes);
      });
  const auto* only_store = nest.body.as<BufferStore>();
  if (!uniform || !only_store) return std::nullopt;
  bool only_as_index = true;  // the value itself does not mention an axis
  pre_order_visit(only_store->value, [&](const Ref& ref) {
    if (ref.is<Var>()) only_as_index = false;
    return !ref.is<BufferLoad>();
  });
  if (!only_as_index) return std::nullopt;

  const Expr total = number_of_points(nest.axes);
  std::string name = nest.axes[0].var->name;
  for (const Axis& axis : nest.axes | std::views::drop(1)) name += "_" + axis.var->name;
  Nest flat{.name = nest.name,
            .axes = {{var(name, total.dtype()), zero_of(total.dtype()), total, false}},
            .init = nullptr,
            .body = nullptr};
  std::unordered_map<Ref, Ptr<Buffer>, RefHash, RefEqual> view_of;
  for (const NestAccess& access : accesses) {
    if (view_of.contains(access.buffer)) continue;
    Buffer view = *access.buffer;
    view.shape = {total};
    views.push_back(make(std::move(view)));
    view_of[access.buffer] = views.back();
  }
  const std::vector<Expr> index{flat.axes[0].var};
  Rewriter rewrite;
  rewrite.on<BufferLoad>(
      [&](const BufferLoad& access) { return load(view_of.at(access.buffer), index); });
  rewrite.on<BufferStore>([&](const BufferStore& access) {
    return store(view_of.at(access.buffer), rewrite(access.value), index);
  });
  flat.body = rewrite(nest.body);
  return flat;
}

}  // namespace

Stmt single_elementwise(const Nest& nest, const CpuModel& machine) {
  std::vector<Ptr<Buffer>> views;
  std::optional<Nest> flat = flattened(nest, views);
  if (!flat) {
    std::vector<Axis> axes = nest.spatial();
    flat = with_collapsed_axes(nest, axes, lanes_of(nest, machine), views);
  }
  const Nest& chosen = flat ? *flat : nest;
  const std::vector<Axis> axes = chosen.spatial();
  const auto cut = flat ? std::nullopt : peel_boundaries(nest, axes, lanes_of(nest, machine));
  if (cut && cut->axes.size() == 1) {
    const Stmt middle = under_views(cut->views, long_vector(cut->nest, cut->axes[0], machine));
    return seq({middle, in_borders(nest, axes, *cut, {}, machine)});
  }
  if (axes.size() == 1) return under_views(views, long_vector(chosen, axes[0], machine));
  const std::optional<Axis> vector_axis = contiguous_axis(chosen);
  const auto is_inner = [&](const Axis& axis) {
    return (vector_axis && axis.var.same_as(vector_axis->var)) ||
           (cut && axis.var.same_as(cut->axis.var));
  };
  std::vector<Axis> outer = axes, inside = axes;
  std::erase_if(outer, is_inner);
  std::erase_if(inside, std::not_fn(is_inner));
  const std::size_t prefix = parallel_prefix(outer, machine);
  const std::vector<Axis> threads(outer.begin(),
                                  outer.begin() + static_cast<std::ptrdiff_t>(prefix));
  std::vector<Axis> inner = drop(outer, prefix);
  inner.insert(inner.end(), inside.begin(), inside.end());
  const Stmt loops = fused_loop(threads, ForKind::parallel, {}, [&](const Substitution& values) {
    const auto part = cut ? peel_boundaries(nest, inner, lanes_of(nest, machine)) : std::nullopt;
    if (!part) return elementwise(chosen, inner, values, machine);
    const Stmt middle = elementwise(part->nest, part->axes, values, machine);
    return seq({under_views(part->views, middle), in_borders(nest, inner, *part, values, machine)});
  });
  return under_views(views, loops);
}

}  // namespace loopsmith
