// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/strategy.h"
#include "loopsmith/rules/streams.h"

namespace loopsmith {
namespace {

/// Independent chains of combinations, enough to hide the latency of one.
constexpr std::int64_t most_chains = 4;
/// Partial results of a full reduction.
constexpr std::int64_t part_count = 64;

std::int64_t chains_for(const Axis& axis, std::int64_t lanes) {
  const auto extent = constant_extent(axis);
  if (!extent) return most_chains;
  std::int64_t chains = most_chains;
  while (chains > 1 && *extent < 2 * chains * lanes) chains /= 2;
  return chains;
}

/// The combination of `source` over the reduction axes, with `axis` in the place of the vectorised
/// one, stored by `finish(total)`.
Stmt reduce(const RowReduction& reduction, const Axis& axis, const std::vector<Axis>& outer,
            std::int64_t lanes, const Machine& machine, const Substitution& values,
            const std::function<Stmt(const Expr&)>& finish) {
  const Combination& combination = reduction.combination;
  const DataType index = axis.extent.dtype();
  const std::int64_t chains = chains_for(axis, lanes);
  const Expr step = int_imm(index, chains * lanes);
  const Ptr<Buffer> partial = decl_buffer({int_imm(index, chains * lanes)}, combination.dtype(),
                                          combination.target->name + "_partial", "local");

  const auto each_lane = [&](const std::string& name, std::int64_t count, const BodyOf& body) {
    return loop(name + "_u", int_imm(index, count), ForKind::unrolled, [&](const Expr& chain) {
      return loop(name + "_l", int_imm(index, lanes), ForKind::vectorized,
                  [&](const Expr& lane) { return body(chain * int_imm(index, lanes) + lane); });
    });
  };
  const std::string& name = axis.var->name;
  const Stmt clear = each_lane(name, chains, [&](const Expr& lane) {
    return store(partial, combination.neutral(), {lane});
  });

  const Expr whole = floordiv(axis.extent, step);
  const Stmt update = loops_over(outer, values, [&](const Substitution& outside) {
    const auto combine = [&](const Expr& lane, const Expr& position, const Expr& mask) {
      Substitution all = outside;
      all[axis.var] = axis.min + position;
      const Expr source = combination.source_at(all, mask);
      // The source first: where a minimum looks for NaN, it does so beside the chain.
      return store(partial, combination.combine(source, load(partial, {lane})), {lane});
    };
    const Stmt main = loop(name + "_o", whole, ForKind::serial, [&](const Expr& block) {
      Substitution here = outside;
      here[axis.var] = axis.min + block * step;
      return seq({read_ahead(accesses_in(make(Evaluate{.value = combination.source})), axis.var,
                             here, chains * lanes, machine),
                  each_lane(name, chains, [&](const Expr& lane) {
                    return combine(lane, block * step + lane, nullptr);
                  })});
    });
    const Expr rest = axis.extent - whole * step;
    const Expr vectors = ceildiv(rest, int_imm(index, lanes));
    const Stmt tail = loop(name + "_t", vectors, ForKind::serial, [&](const Expr& vector) {
      return loop(name + "_l", int_imm(index, lanes), ForKind::vectorized, [&](const Expr& lane) {
        const Expr position = whole * step + (vector * int_imm(index, lanes) + lane);
        return combine(lane, position, position < axis.extent);
      });
    });
    return seq({main, tail});
  });

  std::vector<Stmt> joined;
  for (std::int64_t chain = 1; chain < chains; ++chain) {
    joined.push_back(
        loop(name + "_l", int_imm(index, lanes), ForKind::vectorized, [&](const Expr& lane) {
          const Expr other = load(partial, {int_imm(index, chain * lanes) + lane});
          return store(partial, combination.combine(load(partial, {lane}), other), {lane});
        }));
  }
  const Expr all_lanes =
      make(Ramp{.base = zero_of(index), .stride = int_imm(index, 1), .lanes = lanes});
  const Expr total = lanes == 1 ? load(partial, {zero_of(index)})
                                : combination.across_lanes(load(partial, {all_lanes}));
  return with_buffers(name + "_reduction", {partial},
                      seq({clear, update, seq(joined), finish(total)}));
}

}  // namespace

std::optional<RowReduction> row_reduction_of(const Nest& nest) {
  const std::optional<Combination> combination = combination_of(nest);
  if (!combination) return std::nullopt;
  const std::vector<Axis> reduction = nest.reduction();
  for (std::size_t i = reduction.size(); i-- > 0;) {
    bool contiguous = false;
    bool strided = false;
    for (const NestAccess& access : accesses_in(nest)) {
      const Stride stride = stride_along(access, reduction[i].var);
      contiguous = contiguous || stride == Stride::one;
      strided = strided || stride == Stride::other;
    }
    if (!contiguous || strided) continue;
    RowReduction found{.combination = *combination, .axis = reduction[i], .outer = reduction};
    found.outer.erase(found.outer.begin() + static_cast<std::ptrdiff_t>(i));
    return found;
  }
  return std::nullopt;
}

Stmt row_reduction(const RowReduction& reduction, std::int64_t lanes, const Machine& machine,
                   const Substitution& values) {
  const Combination& combination = reduction.combination;
  return reduce(
      reduction, reduction.axis, reduction.outer, lanes, machine, values, [&](const Expr& total) {
        const Expr initial = clone_with(combination.initial, values);
        return substitute(
            store(combination.target, combination.combine(initial, total), combination.indices),
            values);
      });
}

Stmt full_reduction(const RowReduction& reduction, std::int64_t lanes, const Machine& machine,
                    const Substitution& values) {
  const Combination& combination = reduction.combination;
  // The outermost reduction axis is cut into parts; alone, it is also the vectorised one.
  const Axis& cut = reduction.outer.empty() ? reduction.axis : reduction.outer[0];
  const DataType index = cut.extent.dtype();
  const std::int64_t grain = reduction.outer.empty() ? most_chains * lanes : 1;
  const Expr size =
      ceildiv(ceildiv(cut.extent, int_imm(index, part_count)), int_imm(index, grain)) *
      int_imm(index, grain);
  const Ptr<Buffer> parts = decl_buffer({int_imm(index, part_count)}, combination.dtype(),
                                        combination.target->name + "_parts");
  const Stmt produce =
      loop("part", int_imm(index, part_count), ForKind::parallel, [&](const Expr& part) {
        const Expr begin = part * size;
        Axis piece = cut;
        piece.min = cut.min + begin;
        piece.extent = max(zero_of(index), min(size, cut.extent - begin));
        Axis axis = reduction.axis;
        std::vector<Axis> outer = reduction.outer;
        (outer.empty() ? axis : outer[0]) = piece;
        return reduce(reduction, axis, outer, lanes, machine, values,
                      [&](const Expr& total) { return store(parts, total, {part}); });
      });
  const Expr target = load(combination.target, combination.indices);
  const Stmt start = store(combination.target, combination.initial, combination.indices);
  const Stmt join =
      loop("part", int_imm(index, part_count), ForKind::serial, [&](const Expr& part) {
        return store(combination.target, combination.combine(target, load(parts, {part})),
                     combination.indices);
      });
  return with_buffers(combination.target->name + "_reduction", {parts},
                      seq({produce, substitute(seq({start, join}), values)}));
}

}  // namespace loopsmith
