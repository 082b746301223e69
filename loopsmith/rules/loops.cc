// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/loops.h"

#include <algorithm>
#include <ranges>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

constexpr std::int64_t pieces_a_core = 8;

}  // namespace

Stmt loop(const std::string& name, const Expr& extent, ForKind kind, const BodyOf& body) {
  if (is_const_int(extent, 0)) return no_op();
  if (is_const_int(extent, 1)) return body(zero_of(extent.dtype()));
  Ptr<Var> variable = var(name, extent.dtype());
  Stmt inside = body(variable);
  return for_loop(variable, zero_of(extent.dtype()), extent, std::move(inside), kind);
}

Stmt loop_over(const Axis& axis, ForKind kind, const BodyOf& body) {
  return loop(axis.var->name, axis.extent, kind,
              [&](const Expr& value) { return body(axis.min + value); });
}

Stmt loops_over(const std::vector<Axis>& axes, Substitution values,
                const std::function<Stmt(const Substitution&)>& body) {
  if (axes.empty()) return body(values);
  const std::vector<Axis> inner(axes.begin() + 1, axes.end());
  return loop_over(axes[0], ForKind::serial, [&](const Expr& value) {
    values[axes[0].var] = value;
    return loops_over(inner, values, body);
  });
}

Expr number_of_points(std::span<const Expr> extents) {
  DataType type = extents[0].dtype();
  bool is_known = true, is_one_type = true;
  std::int64_t count = 1;
  for (const Expr& extent : extents) {
    const std::int64_t* constant = as_int(extent);
    is_known = is_known && constant && !__builtin_mul_overflow(count, *constant, &count);
    is_one_type = is_one_type && extent.dtype() == type;
  }
  const bool fits = is_known && is_one_type && count <= max_int(type);
  if (extents.size() > 1 && !fits) type = i64;
  Expr total = cast(type, extents[0]);
  for (const Expr& extent : extents.subspan(1)) total = total * cast(type, extent);
  return total;
}

Expr number_of_points(const std::vector<Axis>& axes) {
  std::vector<Expr> extents;
  for (const Axis& axis : axes) extents.push_back(axis.extent);
  return number_of_points(extents);
}

Stmt fused_parallel_loop(const std::vector<Axis>& axes,
                         const std::function<Stmt(const Substitution&)>& body) {
  if (axes.empty()) return body({});
  std::string name = axes[0].var->name;
  for (const Axis& axis : axes | std::views::drop(1)) name += "_" + axis.var->name;
  return loop(name, number_of_points(axes), ForKind::parallel,
              [&](const Expr& number) { return body(values_of(axes, number, {})); });
}

Substitution values_of(const std::vector<Axis>& axes, const Expr& number, Substitution values) {
  Expr rest = number;
  for (const Axis& axis : axes | std::views::drop(1) | std::views::reverse) {
    const Expr extent = cast(number.dtype(), axis.extent);
    values[axis.var] = axis.min + cast(axis.extent.dtype(), floormod(rest, extent));
    rest = floordiv(rest, extent);
  }
  values[axes[0].var] = axes[0].min + cast(axes[0].extent.dtype(), rest);
  return values;
}

Section section_of(const Expr& all, std::int64_t size, const Expr& number) {
  const Expr full = int_imm(all.dtype(), size);
  const Expr first = number * full;
  const std::int64_t* count = as_int(all);
  return {first, count && *count % size == 0 ? full : min(full, all - first)};
}

Stmt either(const Expr& condition, const Stmt& yes, const Stmt& no) {
  if (is_const_int(condition, 1)) return yes;
  if (is_const_int(condition, 0)) return no;
  return make(IfThenElse{.condition = condition, .then_case = yes, .else_case = no});
}

Stmt guarded(const Expr& condition, const Stmt& body) {
  if (is_const_int(condition, 1)) return body;
  if (is_const_int(condition, 0)) return no_op();
  return make(IfThenElse{.condition = condition, .then_case = body});
}

Stmt vectorized_loop(const Axis& axis, std::int64_t lanes, const BodyOf& body) {
  const DataType type = axis.extent.dtype();
  const std::int64_t* constant = as_int(axis.extent);
  if (lanes <= 1 || (constant && *constant <= 1)) return loop_over(axis, ForKind::serial, body);
  const std::string& name = axis.var->name;
  if (constant && *constant <= lanes) {
    return loop(name, axis.extent, ForKind::vectorized,
                [&](const Expr& lane) { return body(axis.min + lane); });
  }
  const Expr width = int_imm(type, lanes);
  const Expr whole = floordiv(axis.extent, width);
  const Stmt main = loop(name + "_o", whole, ForKind::serial, [&](const Expr& outer) {
    return loop(name + "_i", width, ForKind::vectorized,
                [&](const Expr& lane) { return body(axis.min + (outer * width + lane)); });
  });
  const Stmt tail = loop(name + "_t", width, ForKind::vectorized, [&](const Expr& lane) {
    const Expr position = whole * width + lane;
    return guarded(position < axis.extent, body(axis.min + position));
  });
  return seq({main, guarded(floormod(axis.extent, width) > zero_of(type), tail)});
}

std::size_t parallel_prefix(const std::vector<Axis>& axes, const CpuModel& machine) {
  std::int64_t points = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto extent = constant_extent(axes[i]);
    if (!extent) return i + 1;
    points *= *extent;
    if (points >= pieces_a_core * machine.cores) return i + 1;
  }
  return axes.size();
}

std::vector<Axis> drop(const std::vector<Axis>& axes, std::size_t count) {
  return {axes.begin() + static_cast<std::ptrdiff_t>(count), axes.end()};
}

Stmt with_buffers(const std::string& name, std::vector<Ptr<Buffer>> buffers, Stmt body) {
  if (buffers.empty()) return body;
  return make(BlockRealize{
      .block = make(
          Block{.name_hint = name, .alloc_buffers = std::move(buffers), .body = std::move(body)})});
}

}  // namespace loopsmith
