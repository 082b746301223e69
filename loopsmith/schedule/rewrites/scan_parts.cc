// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/scan_parts.h"

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Totals of commutative operations are collected in lanes, where parts are longer than these.
constexpr std::int64_t lanes = 16;

class ScanBuilder {
 public:
  ScanBuilder(Schedule& schedule, LoopRV handle, const Recurrence& recurrence, const Expr& guard,
              std::span<const Stmt> stores, std::int64_t length)
      : schedule_(schedule),
        function_(schedule.function_of(schedule.node(handle))),
        loop_(schedule.get(handle)),
        recurrence_(recurrence),
        guard_(guard),
        stores_(stores),
        type_(loop_.loop_var->dtype),
        length_(int_imm(type_, (length + lanes - 1) / lanes * lanes)) {
    loop_.body = nullptr;
    parts_ = analyzer_.simplify(ceildiv(loop_.extent, length_));
    if (!parts_.is<IntImm>()) parts_ = max(parts_, int_imm(type_, 0));
  }

  ScanParts build() && {
    const DataType value = recurrence_.buffer->dtype;
    const bool is_linear = !recurrence_.combiner;
    total_ = buffer("total", {parts_}, value);
    if (is_linear) factor_ = buffer("factor", {parts_}, value);
    carry_ = buffer("carry", {analyzer_.simplify(parts_ + int_imm(type_, 1))}, value);
    const bool has_lanes = !is_linear && *as_int(length_) > lanes;
    found_.totals = has_lanes ? totals_in_lanes() : totals_in_order();
    found_.carries = carries();
    found_.parts = parts();
    if (recurrence_.is_in_place) {
      found_.last =
          store(recurrence_.buffer, load(carry_, {parts_}), at_start(recurrence_.indices));
    }
    return std::move(found_);
  }

 private:
  Ptr<Buffer> buffer(const char* what, std::vector<Expr> shape, DataType type) {
    const std::string name = fmt::format("{}_{}", recurrence_.buffer->name, what);
    found_.buffers.push_back(
        decl_buffer(std::move(shape), type, schedule_.fresh_buffer_name(function_, name)));
    return found_.buffers.back();
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
    const DataType value = recurrence_.buffer->dtype;
    const Combiner combiner = *recurrence_.combiner;
    const Expr width = int_imm(type_, lanes);
    const std::string name = recurrence_.buffer->name + "_lanes";
    const Ptr<Buffer> own =
        decl_buffer({width}, value, schedule_.fresh_buffer_name(function_, name));
    const Stmt begin =
        for_loop(start, zero(), width, store(own, neutral_element(combiner, value), {start}),
                 ForKind::vectorized);
    const Stmt update =
        store(own, combined(combiner, load(own, {lane}), recurrence_.operand), {lane});
    const Stmt lanes_at_once = for_loop(
        lane, zero(), width, in_iteration(part, step * width + lane, update), ForKind::vectorized);
    const Expr steps = analyzer_.simplify(floordiv(length_, width)), first = zero();
    const Expr joined = combined(combiner, load(own, {first}), load(own, {other}));
    const Expr one = int_imm(type_, 1);
    const Stmt join = for_loop(other, one, width - one, store(own, joined, {first}));
    const Stmt all = seq({begin, for_loop(step, zero(), steps, lanes_at_once), join,
                          store(total_, load(own, {first}), {part})});
    return over_parts(part, {make(Allocate{.dtype = value,
                                           .extents = own->shape,
                                           .condition = true,
                                           .buffer_var = own->data,
                                           .body = make(DeclBuffer{.buffer = own, .body = all})})});
  }

  Stmt totals_in_order() {
    const Ptr<Var> part = variable("total"), step = variable("step");
    const DataType value = recurrence_.buffer->dtype;
    const Expr total = load(total_, {part});
    std::vector<Stmt> begin, update;
    if (recurrence_.combiner) {
      const Combiner combiner = *recurrence_.combiner;
      begin = {store(total_, neutral_element(combiner, value), {part})};
      update = {store(total_, combined(combiner, total, recurrence_.operand), {part})};
    } else {
      const Expr factor = load(factor_, {part});
      begin = {store(total_, const_of(value, 0), {part}),
               store(factor_, const_of(value, 1), {part})};
      update = {store(total_, recurrence_.factor * total + recurrence_.operand, {part}),
                store(factor_, factor * recurrence_.factor, {part})};
    }
    begin.push_back(
        for_loop(step, zero(), length_, in_iteration(part, step, seq(std::move(update)))));
    return over_parts(part, std::move(begin));
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
    const Stmt begin =
        store(carry_, load(recurrence_.buffer, at_start(recurrence_.previous)), {zero()});
    const Expr next = analyzer_.simplify(part + int_imm(type_, 1));
    const Expr before = load(carry_, {part});
    if (!recurrence_.combiner) {
      // A factor that has grown beyond all bounds leaves nothing as it is.
      const Expr nothing = const_of(recurrence_.buffer->dtype, 0);
      const Expr factor = load(factor_, {part}), total = load(total_, {part});
      const Expr value =
          select(before == nothing || factor == nothing, total, factor * before + total);
      return seq({begin, over_parts(part, {store(carry_, value, {next})})});
    }
    const Expr joined = combined(*recurrence_.combiner, before, load(total_, {part}));
    return seq({begin, over_parts(part, {store(carry_, joined, {next})})});
  }

  Stmt parts() {
    const Ptr<Var> part = variable("part"), step = variable("place");
    const Expr state = load(carry_, {part});
    std::vector<Stmt> body;
    for (std::size_t i = 0; i < stores_.size(); ++i) {
      const BufferStore& old = *stores_[i].as<BufferStore>();
      if (i != recurrence_.statement) {
        BufferStore copy = old;
        const bool sees_state = recurrence_.is_in_place || i < recurrence_.statement;
        if (sees_state) {
          copy.value = with_state(old.value, recurrence_, state);
          for (Expr& index : copy.indices) index = with_state(index, recurrence_, state);
        }
        body.push_back(make(std::move(copy)));
        continue;
      }
      body.push_back(
          store(carry_, substitute(recurrence_.value, {{recurrence_.state, state}}), {part}));
      if (!recurrence_.is_in_place) body.push_back(store(recurrence_.buffer, state, old.indices));
    }
    return over_parts(
        part, {for_loop(step, zero(), length_, in_iteration(part, step, seq(std::move(body))))});
  }

  Schedule& schedule_;
  std::uint32_t function_;
  For loop_;
  const Recurrence& recurrence_;
  const Expr& guard_;
  std::span<const Stmt> stores_;
  DataType type_;
  Expr length_;  ///< How many iterations a part has at most.
  Expr parts_;
  Ptr<Buffer> total_, factor_, carry_;
  Analyzer analyzer_;
  ScanParts found_;
};

}  // namespace

ScanParts scan_parts(Schedule& schedule, LoopRV loop, const Recurrence& recurrence,
                     const Expr& guard, std::span<const Stmt> stores, std::int64_t length) {
  return ScanBuilder(schedule, loop, recurrence, guard, stores, length).build();
}

}  // namespace loopsmith
