// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/loops.h"
#include "loopsmith/rules/reduce_in_lanes.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {
namespace {

/// Buffers for so many partial results of each target.
std::vector<Ptr<Buffer>> room_for(const TupleCombination& combination, const std::string& suffix,
                                  const Expr& count, const std::string& scope) {
  std::vector<Ptr<Buffer>> buffers;
  for (const Ptr<Buffer>& target : combination.targets) {
    buffers.push_back(decl_buffer({count}, target->dtype, target->name + suffix, scope));
  }
  return buffers;
}

Tuple loads(const std::vector<Ptr<Buffer>>& buffers, const std::vector<Expr>& indices) {
  Tuple values;
  for (const Ptr<Buffer>& buffer : buffers) values.push_back(load(buffer, indices));
  return values;
}

Stmt store_each(const std::vector<Ptr<Buffer>>& buffers, const std::vector<Expr>& indices,
                const Tuple& values) {
  std::vector<Stmt> stores;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    stores.push_back(store(buffers[i], values[i], indices));
  }
  return seq(std::move(stores));
}

/// Writes the combination of the elements at `values` over the reduction axes, with `axis` in the
/// place of the vectorised one.
class RowWriter {
 public:
  RowWriter(const RowReduction& reduction, std::int64_t lanes, Substitution values)
      : combination_(reduction.combination),
        axis_(reduction.axis),
        outer_(reduction.outer),
        lanes_(lanes),
        chains_(lane_shape(constant_extent(axis_), lanes).chains),
        values_(std::move(values)),
        partial_(room_for(combination_, "_partial", number(chains_ * lanes), "local")) {}

  /// All of it; `finish` stores the totals.
  Stmt run(const std::function<Stmt(const Tuple&)>& finish) const {
    return with_buffers(name() + "_reduction", partial_,
                        seq({clear(), update(), join(), finish(totals())}));
  }

 private:
  const std::string& name() const { return axis_.var->name; }
  Expr number(std::int64_t value) const { return int_imm(axis_.extent.dtype(), value); }
  Stmt each_lane(const BodyOf& body) const {
    return loop(name() + "_l", number(lanes_), ForKind::vectorized, body);
  }
  /// Of all chains.
  Stmt each_chain_and_lane(const BodyOf& body) const {
    return loop(name() + "_u", number(chains_), ForKind::unrolled, [&](const Expr& chain) {
      return each_lane([&](const Expr& lane) { return body(chain * number(lanes_) + lane); });
    });
  }

  Stmt clear() const;
  Stmt update() const;
  Stmt main(const Expr& whole, const Expr& step, const Substitution& outside) const;
  Stmt tail(const Expr& done, const Substitution& outside) const;
  Stmt visit(Substitution here, const Expr& place, const Expr& position, const Expr& mask) const;
  Stmt combine(const Tuple& sources, const Expr& place) const;
  Stmt join() const;
  Stmt join_with(std::int64_t count, const Expr& distance) const;
  Tuple totals() const;

  const TupleCombination& combination_;
  const Axis& axis_;
  const std::vector<Axis>& outer_;
  const std::int64_t lanes_;
  const std::int64_t chains_;
  const Substitution values_;
  const std::vector<Ptr<Buffer>> partial_;
};

Stmt RowWriter::clear() const {
  return each_chain_and_lane([&](const Expr& place) {
    return substitute(store_each(partial_, {place}, combination_.neutral), values_);
  });
}

/// Combines `sources` with the partial results at `place`.
Stmt RowWriter::combine(const Tuple& sources, const Expr& place) const {
  const Tuple so_far = loads(partial_, {place});
  // One source comes first: where a minimum looks for NaN, it does so beside the chain.
  const bool is_single = sources.size() == 1;
  return store_combined(partial_, {place}, *combination_.reducer, is_single ? sources : so_far,
                        is_single ? so_far : sources);
}

/// Combines the element at `position` of the row.
Stmt RowWriter::visit(Substitution here, const Expr& place, const Expr& position,
                      const Expr& mask) const {
  here[axis_.var] = axis_.min + position;
  return combine(combination_.sources_at(here, mask), place);
}

Stmt RowWriter::main(const Expr& whole, const Expr& step, const Substitution& outside) const {
  return loop(name() + "_o", whole, ForKind::serial, [&](const Expr& block) {
    return each_chain_and_lane(
        [&](const Expr& place) { return visit(outside, place, block * step + place, nullptr); });
  });
}

/// What is left after `done` elements, vector by vector.
Stmt RowWriter::tail(const Expr& done, const Substitution& outside) const {
  const Expr vectors = ceildiv(axis_.extent - done, number(lanes_));
  return loop(name() + "_t", vectors, ForKind::serial, [&](const Expr& vector) {
    return each_lane([&](const Expr& lane) {
      const Expr position = done + (vector * number(lanes_) + lane);
      return visit(outside, lane, position, position < axis_.extent);
    });
  });
}

Stmt RowWriter::update() const {
  const Expr step = number(chains_ * lanes_);
  const Expr whole = floordiv(axis_.extent, step);
  return loops_over(outer_, values_, [&](const Substitution& outside) {
    return seq({main(whole, step, outside), tail(whole * step, outside)});
  });
}

/// Combines the chains into the first, and its lanes where no instruction does that.
Stmt RowWriter::join() const {
  std::vector<Stmt> joined;
  for (std::int64_t chain = 1; chain < chains_; ++chain) {
    joined.push_back(join_with(lanes_, number(chain * lanes_)));
  }
  for (std::int64_t half = lanes_ / 2; half > 0 && !combination_.across_lanes; half /= 2) {
    joined.push_back(join_with(half, number(half)));
  }
  return seq(std::move(joined));
}

/// for l in count: (vectorized)  partial[l] = join(partial[l], partial[l + distance])
Stmt RowWriter::join_with(std::int64_t count, const Expr& distance) const {
  return loop(name() + "_l", number(count), ForKind::vectorized, [&](const Expr& lane) {
    return store_combined(partial_, {lane}, *combination_.joiner, loads(partial_, {lane}),
                          loads(partial_, {lane + distance}));
  });
}

Tuple RowWriter::totals() const {
  if (lanes_ == 1 || !combination_.across_lanes) return loads(partial_, {number(0)});
  const Expr all = make(Ramp{.base = number(0), .stride = number(1), .lanes = lanes_});
  return {call(partial_[0]->dtype, *combination_.across_lanes, {load(partial_[0], {all})})};
}

}  // namespace

std::optional<RowReduction> row_reduction_of(const Nest& nest) {
  const std::optional<TupleCombination> combination = tuple_combination_of(nest);
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

Stmt row_reduction(const RowReduction& reduction, std::int64_t lanes, const Substitution& values) {
  const TupleCombination& combination = reduction.combination;
  return RowWriter(reduction, lanes, values).run([&](const Tuple& totals) {
    Tuple initial;
    for (const Expr& value : combination.initial) initial.push_back(clone_with(value, values));
    return substitute(store_combined(combination.targets, combination.indices, *combination.reducer,
                                     initial, totals),
                      values);
  });
}

}  // namespace loopsmith
