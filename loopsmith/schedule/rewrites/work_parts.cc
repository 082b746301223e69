// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/work_parts.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/own_elements.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/rewrites/iteration_dimension.h"

namespace loopsmith {
namespace {

/// Partial results of two parts share no line of the cache.
constexpr std::int64_t line_bits = 512;

Stmt only_if(const Expr& condition, Stmt body) {
  return make(IfThenElse{.condition = condition, .then_case = std::move(body)});
}

/// Parts end where the work before them, of which an iteration has its cost and one, reaches
/// multiples of a step: at `ends[part]`, and `inside[part]` iterations of the loop inside later.
class Builder {
 public:
  Builder(Schedule& schedule, std::uint32_t function, WorkPartsRequest request)
      : schedule_(schedule),
        function_(function),
        request_(std::move(request)),
        loop_(request_.loop),
        type_(loop_.loop_var->dtype),
        count_(max(loop_.extent, integer(0))),
        cost_(request_.cost + wide(1)),
        ends_(buffer(loop_, "ends", {int_imm(i32, request_.parts + 1)}, type_)),
        work_(buffer(loop_, "work", {int_imm(i32, 4)}, i64)) {
    if (!request_.cuts_iterations) return;
    inside_ = buffer(loop_, "inside", {int_imm(i32, request_.parts + 1)}, i64);
    for (const ElementUpdate& update : request_.updates) {
      const DataType type = update.buffer->dtype;
      const std::string name =
          schedule_.fresh_buffer_name(function_, update.buffer->name + "_carry");
      carries_.push_back(
          decl_buffer({int_imm(i32, request_.parts),
                       int_imm(i32, std::max<std::int64_t>(line_bits / type.bits, 1))},
                      type, name));
    }
  }

  WorkParts build() {
    const Ptr<Var> clear = variable("clear"), part = variable("part");
    std::vector<Stmt> cleared{store(ends_, count_, {clear})};
    if (inside_) cleared.push_back(store(inside_, wide(0), {clear}));
    std::vector<Stmt> all{
        for_loop(clear, integer(0), integer(request_.parts + 1), seq(cleared)),
        store(ends_, integer(0), {integer(0)}),
        request_.sum.defined() ? only_if(count_ > integer(0), find_ends()) : count_ends()};
    all.push_back(over_parts(part));
    if (inside_) all.push_back(combine());
    std::vector<Ptr<Buffer>> buffers{ends_, work_};
    if (inside_) buffers.push_back(inside_);
    buffers.insert(buffers.end(), carries_.begin(), carries_.end());
    return {seq(std::move(all)), part, std::move(buffers)};
  }

 private:
  /// What is counted: all work, how much a part gets, where the next part begins, and how much is
  /// in the iterations so far. `total` is not needed where `next` is. Where the last two are
  /// searched, the iterations between which a part ends.
  static constexpr int total = 0, step = 1, next = 2, done = 3, low = 0, high = 2;

  static Expr wide(std::int64_t value) { return int_imm(i64, value); }
  Expr integer(std::int64_t value) const { return int_imm(type_, value); }
  Expr at(int what) const { return load(work_, {what}); }
  Stmt set(int what, const Expr& value) const { return store(work_, value, {what}); }

  Stmt set_step(const Expr& all_work) const {
    // More than a part of it, so that the last part ends behind the loop.
    return set(step, floordiv(all_work, wide(request_.parts)) + wide(1));
  }

  /// Finds the ends of parts by going through all iterations.
  Stmt count_ends() const {
    return seq({set(total, wide(0)), over_iterations(set(total, at(total) + cost_)),
                set_step(at(total)), set(next, at(step)), set(done, wide(0)),
                over_iterations(ends_here())});
  }

  /// The work before an iteration, from the sums; reads what the iteration before does.
  Expr work_before(const Expr& iteration) const {
    const auto sum = [&](const Expr& at) {
      return substitute(request_.sum, {{loop_.loop_var, value_at(cast(type_, at))}});
    };
    return cast(i64, sum(iteration)) - cast(i64, sum(integer(0))) + cast(i64, iteration);
  }

  /// Finds the end of each part by bisection. Where the sums do not grow, parts are not equal.
  Stmt find_ends() const {
    const Ptr<Var> part = variable("end");
    const Expr middle = floordiv(at(low) + at(high) + wide(1), wide(2));
    const Expr target = cast(i64, part) * at(step);
    const Stmt bisect =
        make(While{.condition = at(low) < at(high),
                   .body = make(IfThenElse{.condition = work_before(middle) <= target,
                                           .then_case = set(low, middle),
                                           .else_case = set(high, middle - wide(1))})});
    const Expr found = cast(type_, at(low));
    const Expr before_part = load(ends_, {part - integer(1)});
    const Expr cost = substitute(request_.cost, {{loop_.loop_var, value_at(found)}});
    const Expr inside = min(max(target - work_before(found), wide(0)), cost);
    std::vector<Stmt> noted;
    if (inside_) {
      const Expr inside_before = load(inside_, {part - integer(1)});
      noted.push_back(only_if(found > before_part, store(inside_, inside, {part})));
      noted.push_back(
          only_if(found == before_part, store(inside_, max(inside, inside_before), {part})));
      noted.push_back(only_if(found < before_part, store(inside_, inside_before, {part})));
      noted.push_back(store(ends_, max(found, before_part), {part}));
    } else {
      const Expr nearer = found + select(inside * wide(2) > cost, integer(1), integer(0));
      noted.push_back(store(ends_, max(nearer, before_part), {part}));
    }
    const Stmt behind = store(ends_, count_, {part});
    return seq({set_step(work_before(count_)),
                for_loop(part, integer(1), integer(request_.parts - 1),
                         seq({set(low, wide(0)), set(high, cast(i64, count_)), bisect,
                              make(IfThenElse{.condition = found < count_,
                                              .then_case = seq(std::move(noted)),
                                              .else_case = behind})}))});
  }

  /// Notes the parts that begin in an iteration.
  Stmt ends_here() const {
    const Expr before = at(next) - (at(done) - cost_);
    const Expr part = cast(type_, floordiv(at(next), at(step)));
    Expr end = iteration_of(loop_);
    std::vector<Stmt> noted;
    if (inside_) {
      noted.push_back(store(inside_, before, {part}));
    } else {
      // Before the iteration or after it, whichever is nearer.
      end = end + select(before * wide(2) > cost_, integer(1), integer(0));
    }
    noted.push_back(store(ends_, end, {part}));
    noted.push_back(set(next, at(next) + at(step)));
    return seq({set(done, at(done) + cost_),
                make(While{.condition = at(next) < at(done), .body = seq(std::move(noted))})});
  }

  Stmt over_parts(const Ptr<Var>& part) const {
    const Expr first = load(ends_, {part}), last = load(ends_, {part + integer(1)});
    For inner = loop_;
    inner.kind = ForKind::serial;
    inner.min = value_at(first);
    inner.extent = last - first;
    if (inside_) {
      inner.extent = min(last + integer(1), count_) - first;
      inner.body = iteration_of_part(part, first, last);
    }
    For outer = loop_;
    outer.loop_var = part;
    outer.min = integer(0);
    outer.extent = integer(request_.parts);
    outer.step = integer(1);
    if (request_.has_own_elements) {
      outer.annotations = outer.annotations.with(std::string(own_elements_key), Expr(1));
    }
    outer.body = make(std::move(inner));
    return make(std::move(outer));
  }

  Expr value_at(const Expr& iteration) const {
    return Analyzer().simplify(loop_.min + iteration * loop_.step);
  }

  /// What a part does of an iteration: all but for the beginning of its first one and the end of
  /// its last one. It adds up by itself; what belongs to the last one is left in the carry.
  Stmt iteration_of_part(const Ptr<Var>& part, const Expr& first, const Expr& last) const {
    const Expr& i = loop_.loop_var;
    For inner = *loop_.body.as<For>();
    const DataType type = inner.extent.dtype();
    const auto inside = [&](const Expr& place) { return cast(type, load(inside_, {place})); };
    const Ptr<Var> begin = named("begin", type), end = named("end", type);
    const Expr begins = select(i == value_at(first), inside(part), int_imm(type, 0));
    const Expr ends =
        select(i == value_at(last), inside(part + integer(1)), max(inner.extent, int_imm(type, 0)));
    inner.min = Analyzer().simplify(inner.min + Expr(begin) * inner.step);
    inner.extent = Expr(end) - begin;
    inner.body = redirected(inner.body, part);
    std::vector<Stmt> statements;
    for (std::size_t u = 0; u < carries_.size(); ++u) {
      statements.push_back(store(carries_[u], neutral(u), carry_of(part)));
    }
    statements.push_back(make(std::move(inner)));
    std::vector<Stmt> updates;
    for (std::size_t u = 0; u < carries_.size(); ++u) updates.push_back(add(u, part));
    statements.push_back(only_if(i != value_at(last), seq(std::move(updates))));
    return make(LetStmt{
        .value = begins,
        .var = begin,
        .body = make(LetStmt{.value = ends, .var = end, .body = seq(std::move(statements))})});
  }

  Expr neutral(std::size_t u) const {
    return neutral_element(request_.updates[u].combiner, carries_[u]->dtype);
  }
  static std::vector<Expr> carry_of(const Expr& part) { return {part, 0}; }

  /// Combines an element with the carry. What nothing was combined into may never have been set.
  Stmt add(std::size_t u, const Expr& part) const {
    const ElementUpdate& update = request_.updates[u];
    const Expr carry = load(carries_[u], carry_of(part));
    const Expr value = combined(update.combiner, load(update.buffer, update.indices), carry);
    return only_if(carry != neutral(u), store(update.buffer, value, update.indices));
  }

  /// The body, which updates the carries.
  Stmt redirected(const Stmt& body, const Ptr<Var>& part) const {
    Rewriter rewrite;
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      for (std::size_t u = 0; u < carries_.size(); ++u) {
        if (!request_.updates[u].buffer.same_as(node.buffer)) continue;
        const Expr old = load(carries_[u], carry_of(part));
        const Expr more = accumulation_of(node)->operand;
        return store(carries_[u], combined(request_.updates[u].combiner, old, more),
                     carry_of(part));
      }
      return rewrite.children(node);
    });
    return rewrite(body);
  }

  /// Adds what parts have left of their last iterations to the elements of these.
  Stmt combine() const {
    const Ptr<Var> part = variable("rest");
    const Expr last = load(ends_, {part + integer(1)});
    std::vector<Stmt> updates;
    for (std::size_t u = 0; u < carries_.size(); ++u) {
      updates.push_back(substitute(add(u, part), {{loop_.loop_var, value_at(last)}}));
    }
    return for_loop(part, integer(0), integer(request_.parts),
                    only_if(last < count_, seq(std::move(updates))));
  }

  /// A loop like the one that is split, over a variable of its own.
  Stmt over_iterations(const Stmt& body) const {
    const Ptr<Var> counted = variable("counted");
    For loop = loop_;
    loop.kind = ForKind::serial;
    loop.loop_var = counted;
    loop.body = clone_with(body, {{loop_.loop_var, counted}});
    return make(std::move(loop));
  }

  Ptr<Buffer> buffer(const For& loop, const char* what, std::vector<Expr> shape, DataType type) {
    const std::string name = fmt::format("{}_{}", loop.loop_var->name, what);
    return decl_buffer(std::move(shape), type, schedule_.fresh_buffer_name(function_, name));
  }

  Ptr<Var> variable(const char* what) const { return named(what, type_); }

  Ptr<Var> named(const char* what, DataType type) const {
    const std::string name = fmt::format("{}_{}", loop_.loop_var->name, what);
    return var(schedule_.fresh_loop_name(function_, name), type);
  }

  Schedule& schedule_;
  std::uint32_t function_;
  WorkPartsRequest request_;
  const For& loop_;
  DataType type_;
  Expr count_;
  Expr cost_;
  Ptr<Buffer> ends_, work_, inside_;
  std::vector<Ptr<Buffer>> carries_;  ///< Of each update: what parts have of one iteration.
};

}  // namespace

WorkParts work_parts(Schedule& schedule, std::uint32_t function, WorkPartsRequest request) {
  return Builder(schedule, function, std::move(request)).build();
}

}  // namespace loopsmith
