// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/scan_parts.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {
namespace {

/// Totals of operations that commute are collected in lanes, where parts are longer than these.
constexpr std::int64_t lanes = 16;

/// `stores` as if all values were computed before the first is stored.
Stmt at_once(std::vector<Stmt> stores) {
  std::vector<Stmt> ordered;
  const auto is_read_by_others = [&](const Stmt& stmt) {
    const Ptr<Buffer>& buffer = stmt.as<BufferStore>()->buffer;
    return std::ranges::any_of(stores, [&](const Stmt& other) {
      return !other.same_as(stmt) && loads_from(other.as<BufferStore>()->value, buffer);
    });
  };
  while (!stores.empty()) {
    const auto next = std::ranges::find_if_not(stores, is_read_by_others);
    if (next == stores.end()) break;
    ordered.push_back(*next);
    stores.erase(next);
  }
  std::vector<std::pair<Ptr<Var>, Expr>> values;
  for (const Stmt& stmt : stores) {
    BufferStore copy = *stmt.as<BufferStore>();
    const Ptr<Var> value = var(copy.buffer->name + "_next", copy.value.dtype());
    values.emplace_back(value, std::exchange(copy.value, value));
    ordered.push_back(make(std::move(copy)));
  }
  Stmt result = seq(std::move(ordered));
  for (std::size_t i = values.size(); i-- > 0;) {
    result =
        make(LetStmt{.value = values[i].second, .var = values[i].first, .body = std::move(result)});
  }
  return result;
}

class ScanBuilder {
 public:
  ScanBuilder(Schedule& schedule, std::uint32_t function, const For& loop,
              const Recurrence& recurrence, const Expr& guard, std::span<const Stmt> stores,
              std::int64_t length, std::int64_t tile)
      : schedule_(schedule),
        function_(function),
        loop_(loop),
        recurrence_(recurrence),
        composition_(*recurrence.composition),
        guard_(guard),
        stores_(stores),
        type_(loop_.loop_var->dtype),
        length_(int_imm(type_, (length + lanes - 1) / lanes * lanes)),
        tile_(int_imm(type_, tile)) {
    loop_.body = nullptr;
    parts_ = analyzer_.simplify(ceildiv(loop_.extent, length_));
    if (!parts_.is<IntImm>()) parts_ = max(parts_, zero());
  }

  ScanParts build() && {
    for (const Ptr<Buffer>& like : composition_.named_after) {
      totals_.push_back(buffer(*like, "total", {parts_}));
    }
    for (const CarriedValue& value : recurrence_.carried) {
      carries_.push_back(
          buffer(*value.buffer, "carry", {analyzer_.simplify(parts_ + int_imm(type_, 1))}));
    }
    const bool has_tiles = *as_int(tile_) > 0;
    const bool has_lanes = composition_.commutes && *as_int(length_) > lanes;
    found_.totals = has_tiles ? totals_of_tiles() : has_lanes ? totals_in_lanes() : totals();
    found_.carries = carries();
    found_.parts = has_tiles ? parts_of_tiles() : parts();
    if (recurrence_.is_in_place) {
      const CarriedValue& value = recurrence_.carried[0];
      found_.last = store(value.buffer, load(carries_[0], {parts_}), at_start(value.indices));
    }
    return std::move(found_);
  }

 private:
  using Buffers = std::vector<Ptr<Buffer>>;
  using Indices = std::vector<Expr>;

  Ptr<Buffer> buffer(const Buffer& like, const char* what, Indices shape) {
    const std::string name = fmt::format("{}_{}", like.name, what);
    found_.buffers.push_back(
        decl_buffer(std::move(shape), like.dtype, schedule_.fresh_buffer_name(function_, name)));
    return found_.buffers.back();
  }

  static std::vector<Expr> loads(const Buffers& buffers, const Indices& indices) {
    std::vector<Expr> values;
    for (const Ptr<Buffer>& buffer : buffers) values.push_back(load(buffer, indices));
    return values;
  }

  static Stmt store_all(const Buffers& buffers, const std::vector<Expr>& values,
                        const Indices& indices) {
    std::vector<Stmt> stores;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      stores.push_back(store(buffers[i], values[i], indices));
    }
    return at_once(std::move(stores));
  }

  Ptr<Var> variable(const char* what) {
    const std::string name = fmt::format("{}_{}", loop_.loop_var->name, what);
    return var(schedule_.fresh_loop_name(function_, name), type_);
  }

  /// Memory inside of the loops, with the type and name of each of `like`.
  Buffers own_memory(const Buffers& like, const char* what, const Indices& shape,
                     const std::string& scope) {
    Buffers own;
    for (const Ptr<Buffer>& each : like) {
      const std::string name = fmt::format("{}_{}", each->name, what);
      own.push_back(
          decl_buffer(shape, each->dtype, schedule_.fresh_buffer_name(function_, name), scope));
    }
    return own;
  }

  /// What `storage_align` says: an odd number of elements from row to row, so that neighbouring
  /// parts lie in different banks.
  static Attrs odd_rows() {
    List row;
    for (const std::int64_t number : {0, 0, 2, 1}) row.items.emplace_back(int_imm(i32, number));
    return Attrs().with(alignments_key, Ref(make(List{.items = {make(std::move(row))}})));
  }

  static Stmt with_memory(const Buffers& own, Stmt body) {
    for (const Ptr<Buffer>& each : own) {
      body = make(Allocate{.dtype = each->dtype,
                           .extents = each->shape,
                           .condition = true,
                           .annotations = is_shared(memory_scope(*each)) ? odd_rows() : Attrs(),
                           .buffer_var = each->data,
                           .body = make(DeclBuffer{.buffer = each, .body = std::move(body)})});
    }
    return body;
  }

  /// What is done in an iteration, where there is one.
  Stmt in_iteration(const Expr& number, const Stmt& body) {
    const Expr value = analyzer_.simplify(loop_.min + number * loop_.step);
    const Stmt guarded =
        guard_.defined() ? make(IfThenElse{.condition = guard_, .then_case = body}) : body;
    const Stmt inside = clone_with(guarded, {{loop_.loop_var, value}});
    return make(IfThenElse{.condition = number < loop_.extent, .then_case = inside});
  }

  Expr zero() const { return int_imm(type_, 0); }

  /// The loop over the parts, which is one of those that are given back.
  Stmt over_parts(const Ptr<Var>& part, std::vector<Stmt> body) {
    found_.loops.push_back(part);
    return for_loop(part, zero(), parts_, seq(std::move(body)));
  }

  /// Lanes are memory of the part alone.
  Stmt totals_in_lanes() {
    const Ptr<Var> part = variable("total"), step = variable("step"), lane = variable("lane"),
                   start = variable("start"), other = variable("lane_sum");
    const Expr width = int_imm(type_, lanes), first = zero(), one = int_imm(type_, 1);
    const Buffers own = own_memory(composition_.named_after, "lanes", {width}, "");
    const auto join = [&](const Indices& to, const std::vector<Expr>& then) {
      return store_all(own, composition_.joined(loads(own, to), then), to);
    };
    const Stmt begin = for_loop(
        start, zero(), width, store_all(own, composition_.identity, {start}), ForKind::vectorized);
    const Stmt update = join({lane}, composition_.iteration);
    const Stmt lanes_at_once =
        for_loop(lane, zero(), width, in_iteration(part * length_ + (step * width + lane), update),
                 ForKind::vectorized);
    const Expr steps = analyzer_.simplify(floordiv(length_, width));
    const Stmt joined = join({first}, loads(own, {other}));
    const Stmt all = seq({begin, for_loop(step, zero(), steps, lanes_at_once),
                          for_loop(other, one, width - one, joined),
                          store_all(totals_, loads(own, {first}), {part})});
    return over_parts(part, {with_memory(own, all)});
  }

  Stmt totals() {
    const Ptr<Var> part = variable("total"), step = variable("step");
    const Stmt begin = store_all(totals_, composition_.identity, {part});
    const Stmt update = store_all(
        totals_, composition_.joined(loads(totals_, {part}), composition_.iteration), {part});
    return over_parts(part, {begin, for_loop(step, zero(), length_,
                                             in_iteration(part * length_ + step, update))});
  }

  // ---- Tiles ----

  /// A row for each part of a tile.
  Buffers tile_memory(const Buffers& like, const char* what) {
    return own_memory(like, what, {tile_, length_}, "shared");
  }

  /// The loop over tiles, which is one of those that are given back.
  Stmt over_tiles(const Ptr<Var>& tile, Stmt body) {
    found_.loops.push_back(tile);
    return for_loop(tile, zero(), analyzer_.simplify(ceildiv(parts_, tile_)), std::move(body));
  }

  /// A loop over the iterations of a tile: `body` of where an iteration's element lies in the tile.
  Stmt over_elements(const Ptr<Var>& tile, const std::function<Stmt(const Indices&)>& body) {
    const Ptr<Var> element = variable("element");
    const Expr count = analyzer_.simplify(tile_ * length_);
    const Stmt inside = body({floordiv(Expr(element), length_), floormod(Expr(element), length_)});
    return for_loop(element, zero(), count, in_iteration(tile * count + element, inside));
  }

  /// What the parts of a tile do, each with memory of its own.
  struct RowWork {
    Buffers own;
    std::function<Stmt(const Expr&)> begin, end;  ///< Of the part's number; `end` may be none.
    std::function<Stmt(const Indices&)> step;     ///< Of where an iteration's element lies.
  };
  Stmt over_rows(const Ptr<Var>& tile, const RowWork& work) {
    const Ptr<Var> row = variable("row"), place = variable("step");
    const Expr part = tile * tile_ + row;
    std::vector<Stmt> body = {
        work.begin(part), for_loop(place, zero(), length_,
                                   in_iteration(part * length_ + place, work.step({row, place})))};
    if (work.end) body.push_back(work.end(part));
    return for_loop(row, zero(), tile_,
                    make(IfThenElse{.condition = part < parts_,
                                    .then_case = with_memory(work.own, seq(std::move(body)))}));
  }

  Stmt totals_of_tiles() {
    const Ptr<Var> tile = variable("total");
    const Buffers inputs = tile_memory(composition_.named_after, "tile");
    const Buffers own = own_memory(composition_.named_after, "sum", {int_imm(type_, 1)}, "local");
    const Indices first = {zero()};
    const Stmt fill = over_elements(
        tile, [&](const Indices& at) { return store_all(inputs, composition_.iteration, at); });
    const Stmt rows = over_rows(
        tile,
        {.own = own,
         .begin = [&](const Expr&) { return store_all(own, composition_.identity, first); },
         .end = [&](const Expr& part) { return store_all(totals_, loads(own, first), {part}); },
         .step =
             [&](const Indices& at) {
               return store_all(own, composition_.joined(loads(own, first), loads(inputs, at)),
                                first);
             }});
    return over_tiles(tile, with_memory(inputs, seq({fill, rows})));
  }

  Stmt parts_of_tiles() {
    const Ptr<Var> tile = variable("part");
    Buffers carried;
    for (const CarriedValue& each : recurrence_.carried) carried.push_back(each.buffer);
    const Buffers inputs = tile_memory(composition_.named_after, "tile");
    // Values take the place of what they are made of, if they may.
    const bool fit = std::ranges::equal(
        inputs, carried, [](const auto& a, const auto& b) { return a->dtype == b->dtype; });
    const Buffers values = fit ? inputs : tile_memory(carried, "values");
    const Buffers own = own_memory(carried, "value", {int_imm(type_, 1)}, "local");
    const Indices first = {zero()};
    const Stmt fill = over_elements(
        tile, [&](const Indices& at) { return store_all(inputs, composition_.iteration, at); });
    const Stmt rows = over_rows(
        tile,
        {.own = own,
         .begin = [&](const Expr& part) { return store_all(own, loads(carries_, {part}), first); },
         .end = {},
         .step =
             [&](const Indices& at) {
               return seq(
                   {store_all(own, composition_.applied(loads(own, first), loads(inputs, at)),
                              first),
                    store_all(values, loads(own, first), at)});
             }});
    const Stmt take =
        over_elements(tile, [&](const Indices& at) { return stores_of_tile(values, at); });
    return over_tiles(
        tile, with_memory(inputs, with_memory(fit ? Buffers() : values, seq({fill, rows, take}))));
  }

  /// What an iteration stores, by the values that are after it.
  Stmt stores_of_tile(const Buffers& values, const Indices& at) const {
    const std::vector<Expr> states = loads(values, at);
    std::vector<Stmt> body;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      BufferStore copy = *stores_[i].as<BufferStore>();
      if (recurrence_.has(i)) {
        if (recurrence_.is_in_place) continue;
        copy.value = states[i - recurrence_.statement];
      } else if (recurrence_.is_in_place) {
        copy.value = with_states(copy.value, recurrence_, states);
        for (Expr& index : copy.indices) index = with_states(index, recurrence_, states);
      }
      body.push_back(make(std::move(copy)));
    }
    return seq(std::move(body));
  }

  /// Indices as they are in the first iteration.
  std::vector<Expr> at_start(const std::vector<Expr>& indices) {
    std::vector<Expr> first;
    for (const Expr& index : indices) {
      first.push_back(analyzer_.simplify(substitute(index, {{loop_.loop_var, loop_.min}})));
    }
    return first;
  }

  Stmt carries() {
    const Ptr<Var> part = variable("carry");
    std::vector<Stmt> begin;
    for (std::size_t i = 0; i < carries_.size(); ++i) {
      const CarriedValue& value = recurrence_.carried[i];
      // Where there is no value, the program does not use it.
      const Expr first = value.is_unset ? const_of(value.buffer->dtype, 0)
                                        : load(value.buffer, at_start(value.previous));
      begin.push_back(store(carries_[i], first, {zero()}));
    }
    const Expr next = analyzer_.simplify(part + int_imm(type_, 1));
    const auto values = composition_.applied(loads(carries_, {part}), loads(totals_, {part}));
    begin.push_back(over_parts(part, {store_all(carries_, values, {next})}));
    return seq(std::move(begin));
  }

  /// What the carried values become in an iteration, and where it stores them.
  void add_next_values(const Ptr<Var>& part, std::vector<Stmt>& body) const {
    const std::vector<Expr> states = loads(carries_, {part});
    Substitution old;
    for (std::size_t i = 0; i < states.size(); ++i) old[recurrence_.carried[i].state] = states[i];
    std::vector<Expr> values;
    for (const CarriedValue& each : recurrence_.carried) {
      values.push_back(substitute(each.value, old));
    }
    body.push_back(store_all(carries_, values, {part}));
    if (recurrence_.is_in_place) return;
    for (std::size_t i = 0; i < states.size(); ++i) {
      const CarriedValue& each = recurrence_.carried[i];
      body.push_back(store(each.buffer, states[i], each.indices));
    }
  }

  Stmt parts() {
    const Ptr<Var> part = variable("part"), step = variable("place");
    const std::vector<Expr> states = loads(carries_, {part});
    std::vector<Stmt> body;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      if (recurrence_.has(i)) {
        if (i == recurrence_.statement) add_next_values(part, body);
        continue;
      }
      BufferStore copy = *stores_[i].as<BufferStore>();
      if (recurrence_.is_in_place || i < recurrence_.statement) {
        copy.value = with_states(copy.value, recurrence_, states);
        for (Expr& index : copy.indices) index = with_states(index, recurrence_, states);
      }
      body.push_back(make(std::move(copy)));
    }
    return over_parts(part, {for_loop(step, zero(), length_,
                                      in_iteration(part * length_ + step, seq(std::move(body))))});
  }

  Schedule& schedule_;
  std::uint32_t function_;
  For loop_;
  const Recurrence& recurrence_;
  const Composition& composition_;
  const Expr& guard_;
  std::span<const Stmt> stores_;
  DataType type_;
  Expr length_;  ///< How many iterations a part has at most.
  Expr tile_;    ///< How many parts share memory, if not 0.
  Expr parts_;
  Buffers totals_, carries_;
  Analyzer analyzer_;
  ScanParts found_;
};

}  // namespace

ScanParts scan_parts(Schedule& schedule, std::uint32_t function, const For& loop,
                     const Recurrence& recurrence, const Expr& guard, std::span<const Stmt> stores,
                     std::int64_t length, std::int64_t tile) {
  return ScanBuilder(schedule, function, loop, recurrence, guard, stores, length, tile).build();
}

}  // namespace loopsmith
