// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/interleave_stores.h"

#include <algorithm>
#include <optional>
#include <span>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Shuffles of more vectors than this cost what they save: members of a record.
constexpr std::int64_t max_members = 4;

/// A store of lanes some elements apart.
struct StridedStore {
  const BufferStore* store = nullptr;
  const Ramp* lanes = nullptr;
  std::int64_t stride = 0;
};

std::optional<StridedStore> strided_store(const Stmt& stmt) {
  const auto* store = stmt.as<BufferStore>();
  const auto* lanes = store && store->indices.size() == 1 ? store->indices[0].as<Ramp>() : nullptr;
  const std::int64_t* stride = lanes ? as_int(lanes->stride) : nullptr;
  const bool is_plain = stride && *stride > 1 && *stride <= max_members &&
                        !store->predicate.defined() && store->buffer->dtype.is_scalar() &&
                        store->buffer->dtype.bits >= 8;
  return is_plain ? std::optional(StridedStore{store, lanes, *stride}) : std::nullopt;
}

std::optional<std::int64_t> difference(const Expr& a, const Expr& b) {
  if (a.dtype() != b.dtype()) return {};
  const Expr found = Analyzer().simplify(a - b);
  const std::int64_t* number = as_int(found);
  return number ? std::optional(*number) : std::nullopt;
}

/// True when a value reads no element of a store that comes before it.
bool reads_nothing_of(const Expr& value, const StridedStore& before) {
  bool is_apart = is_pure(value);
  pre_order_visit(value, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    if (load && load->buffer->data.same_as(before.store->buffer->data)) {
      const auto* lanes = load->indices.size() == 1 ? load->indices[0].as<Ramp>() : nullptr;
      const std::int64_t* stride = lanes ? as_int(lanes->stride) : nullptr;
      const auto distance = stride && *stride % before.stride == 0 &&
                                    load->buffer->dtype == before.store->buffer->dtype
                                ? difference(lanes->base, before.lanes->base)
                                : std::nullopt;
      is_apart = is_apart && distance && *distance % before.stride != 0;
      return false;  // Indices of lanes read no memory.
    }
    is_apart = is_apart && !ref.same_as(before.store->buffer->data);
    return is_apart;
  });
  return is_apart;
}

/// The stores at the start of `rest` that fill all elements between their first and their last; and
/// by how many elements each is ahead of the first of these. Empty: there are none.
std::vector<std::int64_t> places_of_group(std::span<const Stmt> rest) {
  const auto first = strided_store(rest[0]);
  if (!first || static_cast<std::int64_t>(rest.size()) < first->stride) return {};
  std::vector<StridedStore> group;
  std::vector<std::int64_t> places;
  for (std::int64_t i = 0; i < first->stride; ++i) {
    const auto next = strided_store(rest[static_cast<std::size_t>(i)]);
    const bool is_alike = next && next->store->buffer.same_as(first->store->buffer) &&
                          next->stride == first->stride &&
                          next->lanes->lanes == first->lanes->lanes;
    const auto place = is_alike ? difference(next->lanes->base, first->lanes->base) : std::nullopt;
    if (!place || !std::ranges::all_of(group, [&](const StridedStore& before) {
          return reads_nothing_of(next->store->value, before);
        })) {
      return {};
    }
    group.push_back(*next);
    places.push_back(*place);
  }
  const std::int64_t least = std::ranges::min(places);
  for (std::int64_t& place : places) place -= least;
  for (std::int64_t place = 0; place < first->stride; ++place) {
    if (std::ranges::find(places, place) == places.end()) return {};
  }
  return places;
}

/// One store in the place of those that fill their elements so.
Stmt interleaved(std::span<const Stmt> group, const std::vector<std::int64_t>& places) {
  const auto stride = static_cast<std::int64_t>(places.size());
  std::vector<Expr> vectors(places.size());
  const BufferStore* lowest = nullptr;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto* store = group[i].as<BufferStore>();
    vectors[static_cast<std::size_t>(places[i])] = store->value;
    if (places[i] == 0) lowest = store;
  }
  const auto& lanes = *lowest->indices[0].as<Ramp>();
  std::vector<Expr> order;
  for (std::int64_t at = 0; at < stride * lanes.lanes; ++at) {
    order.push_back(int_imm(i32, at % stride * lanes.lanes + at / stride));
  }
  BufferStore all = *lowest;
  all.value = make(Shuffle{.vectors = std::move(vectors), .indices = std::move(order)});
  all.indices = {make(Ramp{.base = lanes.base,
                           .stride = int_imm(lanes.base.dtype(), 1),
                           .lanes = static_cast<int>(stride) * lanes.lanes})};
  return make(std::move(all));
}

}  // namespace

Ptr<PrimFunc> interleave_stores(const Ptr<PrimFunc>& func, bool is_for_device) {
  if (is_for_device) return func;
  Rewriter rewrite;
  rewrite.on<SeqStmt>([&](const SeqStmt& node) -> Stmt {
    const std::span<const Stmt> all(node.seq);
    std::vector<Stmt> made;
    bool any = false;
    for (std::size_t i = 0; i < all.size();) {
      const std::vector<std::int64_t> places = places_of_group(all.subspan(i));
      const std::size_t count = std::max<std::size_t>(places.size(), 1);
      any = any || !places.empty();
      made.push_back(places.empty() ? rewrite(all[i]) : interleaved(all.subspan(i, count), places));
      i += count;
    }
    return any ? seq(std::move(made)) : rewrite.children(node);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
