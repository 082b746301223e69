// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/scan_parts.h"

#include <algorithm>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

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
              std::int64_t length)
      : schedule_(schedule),
        function_(function),
        loop_(loop),
        recurrence_(recurrence),
        composition_(*recurrence.composition),
        guard_(guard),
        stores_(stores),
        type_(loop_.loop_var->dtype),
        length_(int_imm(type_, (length + lanes - 1) / lanes * lanes)) {
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
    const bool has_lanes = composition_.commutes && *as_int(length_) > lanes;
    found_.totals = has_lanes ? totals_in_lanes() : totals();
    found_.carries = carries();
    found_.parts = parts();
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

  /// What is done in iteration `place` of a part, where there is one.
  Stmt in_iteration(const Ptr<Var>& part, const Expr& place, const Stmt& body) {
    const Expr number = part * length_ + place;
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
    Buffers own;
    for (const Ptr<Buffer>& total : composition_.named_after) {
      const std::string name = total->name + "_lanes";
      own.push_back(
          decl_buffer({width}, total->dtype, schedule_.fresh_buffer_name(function_, name)));
    }
    const auto join = [&](const Indices& to, const std::vector<Expr>& then) {
      return store_all(own, composition_.joined(loads(own, to), then), to);
    };
    const Stmt begin = for_loop(
        start, zero(), width, store_all(own, composition_.identity, {start}), ForKind::vectorized);
    const Stmt update = join({lane}, composition_.iteration);
    const Stmt lanes_at_once = for_loop(
        lane, zero(), width, in_iteration(part, step * width + lane, update), ForKind::vectorized);
    const Expr steps = analyzer_.simplify(floordiv(length_, width));
    const Stmt joined = join({first}, loads(own, {other}));
    Stmt all = seq({begin, for_loop(step, zero(), steps, lanes_at_once),
                    for_loop(other, one, width - one, joined),
                    store_all(totals_, loads(own, {first}), {part})});
    for (const Ptr<Buffer>& each : own) {
      all = make(Allocate{.dtype = each->dtype,
                          .extents = each->shape,
                          .condition = true,
                          .buffer_var = each->data,
                          .body = make(DeclBuffer{.buffer = each, .body = std::move(all)})});
    }
    return over_parts(part, {all});
  }

  Stmt totals() {
    const Ptr<Var> part = variable("total"), step = variable("step");
    const Stmt begin = store_all(totals_, composition_.identity, {part});
    const Stmt update = store_all(
        totals_, composition_.joined(loads(totals_, {part}), composition_.iteration), {part});
    return over_parts(part,
                      {begin, for_loop(step, zero(), length_, in_iteration(part, step, update))});
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
      begin.push_back(store(carries_[i], load(value.buffer, at_start(value.previous)), {zero()}));
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
    return over_parts(
        part, {for_loop(step, zero(), length_, in_iteration(part, step, seq(std::move(body))))});
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
  Expr parts_;
  Buffers totals_, carries_;
  Analyzer analyzer_;
  ScanParts found_;
};

}  // namespace

ScanParts scan_parts(Schedule& schedule, std::uint32_t function, const For& loop,
                     const Recurrence& recurrence, const Expr& guard, std::span<const Stmt> stores,
                     std::int64_t length) {
  return ScanBuilder(schedule, function, loop, recurrence, guard, stores, length).build();
}

}  // namespace loopsmith
