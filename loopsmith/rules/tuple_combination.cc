// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/tuple_combination.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/rules/combination.h"
#include "loopsmith/transform/reduction_op.h"

namespace loopsmith {
namespace {

const KnownReducer& reducer_named(std::string_view name) {
  return *std::ranges::find(known_reducers(), name, &KnownReducer::name);
}

/// True when the index that goes with a value is the reduction's own axis: it rises from step to
/// step, so that what came first has the smaller index.
bool counts_steps(const Expr& index, const Nest& nest) {
  const std::vector<Axis> reduction = nest.reduction();
  const auto* conversion = index.as<Cast>();
  const Expr& counted = conversion ? conversion->value : index;
  return reduction.size() == 1 && counted.same_as(reduction[0].var) && index.dtype().is_int() &&
         index.dtype().bits >= counted.dtype().bits;
}

/// Extremes and their indices: of equal values the first operand, or the one with the smaller
/// index.
struct Extreme {
  std::string_view in_order, by_index;
};
constexpr Extreme extremes[] = {{"argmax", "first argmax"}, {"argmin", "first argmin"}};

/// Which reducer takes a step, and which combines partial results whose steps took turns.
struct StepAndJoin {
  const KnownReducer* step;
  const KnownReducer* join;
};

/// Nothing where the order of steps matters.
std::optional<StepAndJoin> step_and_join_of(const KnownReduction& reduction, const Nest& nest) {
  const std::string_view name = reduction.reducer->name;
  const auto extreme = std::ranges::find_if(extremes, [&](const Extreme& each) {
    return name == each.in_order || name == each.by_index;
  });
  if (extreme == std::end(extremes)) return StepAndJoin{reduction.reducer, reduction.reducer};
  const bool counts = counts_steps(reduction.sources[0], nest);
  if (name == extreme->in_order) {
    if (!counts) return std::nullopt;
    return StepAndJoin{reduction.reducer, &reducer_named(extreme->by_index)};
  }
  // Where indices rise from the one at the start, the first has the smaller one.
  const std::int64_t* start = as_int(reduction.init[0]);
  const std::int64_t* least = counts ? as_int(nest.reduction()[0].min) : nullptr;
  const bool rises = start && least && *start <= *least;
  return StepAndJoin{rises ? &reducer_named(extreme->in_order) : reduction.reducer,
                     reduction.reducer};
}

bool may_be_partial(const KnownReduction& reduction) {
  return std::ranges::all_of(reduction.buffers, [&](const Ptr<Buffer>& buffer) {
    const bool is_logical = reduction.reducer->takes && reduction.reducer->takes(buffer->dtype);
    return !buffer->dtype.is_float8() && (!buffer->dtype.is_bool() || is_logical);
  });
}

Expr neutral_of(Combiner combiner, DataType type) {
  return combiner == Combiner::sum ? zero_of(type) : neutral_element(combiner, type);
}

bool loads_any_of(const Expr& expr, const std::vector<Ptr<Buffer>>& buffers) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && std::ranges::any_of(buffers, [&](const Ptr<Buffer>& buffer) {
                        return load->buffer.same_as(buffer);
                      }));
    return !found;
  });
  return found;
}

}  // namespace

Tuple TupleCombination::sources_at(const Substitution& values, const Expr& mask) const {
  Expr allowed = mask;
  if (condition.defined()) {
    const Expr own = clone_with(condition, values);
    allowed = allowed.defined() ? allowed && own : own;
  }
  Tuple all;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Expr value = clone_with(sources[i], values);
    all.push_back(allowed.defined() ? if_then_else(allowed, value, clone_with(neutral[i], values))
                                    : value);
  }
  return all;
}

Stmt store_combined(const std::vector<Ptr<Buffer>>& buffers, const std::vector<Expr>& indices,
                    const KnownReducer& reducer, const Tuple& x, const Tuple& y) {
  if (x.size() == 1) return store(buffers[0], reducer.combine(x, y)[0], indices);
  // Each is used more than once, and evaluated once.
  std::vector<std::pair<Ptr<Var>, Expr>> named;
  const auto name = [&](const Tuple& values) {
    Tuple names;
    for (std::size_t i = 0; i < values.size(); ++i) {
      named.emplace_back(var(buffers[i]->name + "_v", values[i].dtype()), values[i]);
      names.emplace_back(named.back().first);
    }
    return names;
  };
  const Tuple first = name(x), second = name(y);
  const Tuple results = name(reducer.combine(first, second));
  std::vector<Stmt> stores;
  for (std::size_t i = 0; i < results.size(); ++i) {
    stores.push_back(store(buffers[i], results[i], indices));
  }
  Stmt body = seq(std::move(stores));
  for (std::size_t i = named.size(); i-- > 0;) {
    body = make(LetStmt{.value = named[i].second, .var = named[i].first, .body = std::move(body)});
  }
  return body;
}

std::optional<TupleCombination> tuple_combination_of(const Nest& nest) {
  const auto [condition, update] = guarded_update(nest);
  const auto reduction =
      reduction_of(*make(Block{.name_hint = nest.name, .init = nest.init, .body = update}));
  if (!reduction || !may_be_partial(*reduction)) return {};
  if (condition.defined() && loads_any_of(condition, reduction->buffers)) return {};
  const auto reducers = step_and_join_of(*reduction, nest);
  if (!reducers) return {};
  TupleCombination found{.targets = reduction->buffers,
                         .indices = reduction->indices,
                         .sources = reduction->sources,
                         .condition = condition,
                         .initial = reduction->init,
                         .neutral = reduction->init,
                         .reducer = reducers->step,
                         .joiner = reducers->join,
                         .across_lanes = {}};
  const auto* single = update.as<BufferStore>();
  const auto accumulation = single ? accumulation_of(*single) : std::nullopt;
  if (accumulation) {
    found.neutral = {neutral_of(accumulation->combiner, single->value.dtype())};
    found.across_lanes = lane_reduction(accumulation->combiner);
  } else if (reduction->reducer->identity) {
    std::vector<DataType> types;
    for (const Ptr<Buffer>& buffer : found.targets) types.push_back(buffer->dtype);
    found.neutral = reduction->reducer->identity(types);
  }
  return found;
}

}  // namespace loopsmith
