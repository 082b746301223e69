// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/scalar_values.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Larger values are not followed.
constexpr int max_nodes = 64;

bool mentions(const Ref& root, const Buffer& scalar, bool counts_loads) {
  bool found = false;
  pre_order_visit(root, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    const auto* store = ref.as<BufferStore>();
    found = found || (store && store->buffer.get() == &scalar) ||
            (counts_loads && load && load->buffer.get() == &scalar);
    return !found && !ref.is<Buffer>();
  });
  return found;
}

using Variables = std::unordered_set<const Object*>;

/// The variables of loops, and the sizes of buffers.
Variables stable_variables(const Stmt& root) {
  Variables found;
  pre_order_visit(root, [&](const Ref& ref) {
    if (const auto* loop = ref.as<For>()) found.insert(loop->loop_var.get());
    return !is_expr(*ref.get());
  });
  for (const Ptr<Buffer>& buffer : free_buffers(root)) {
    for (const Expr& extent : buffer->shape) {
      for (const Ptr<Var>& variable : free_variables(extent)) found.insert(variable.get());
    }
  }
  return found;
}

/// Walks in the order of execution.
class ScalarValues {
 public:
  ScalarValues(const Ptr<Buffer>& scalar, const Variables& stable, Expr value)
      : scalar_(scalar), stable_(stable), value_(std::move(value)) {
    rewrite_.on_outermost([&](const Expr& expr) { return inside(expr); });
    rewrite_.on<BufferStore>([&](const BufferStore& store) -> Stmt { return stored(store); });
    rewrite_.on<IfThenElse>([&](const IfThenElse& branch) -> Stmt { return branched(branch); });
    rewrite_.on<For>([&](const For& loop) -> Stmt { return repeated(loop); });
    rewrite_.on<While>([&](const While& loop) -> Stmt {
      if (mentions(Ref(&loop), *scalar_, false)) become(nullptr);
      const Stmt result = rewrite_.children(loop);
      if (mentions(Ref(&loop), *scalar_, false)) become(nullptr);
      return result;
    });
    rewrite_.on<BlockRealize>([&](const BlockRealize& realize) -> Stmt {
      is_in_block_ = is_in_block_ || mentions(Ref(&realize), *scalar_, true);
      return Stmt(&realize);
    });
  }

  KnownScalar run(const Stmt& root) {
    Stmt result = rewrite_(root);
    return {std::move(result), replaced_, left_, is_in_block_};
  }
  const Expr& value() const { return value_; }

 private:
  void become(Expr value) {
    value_ = std::move(value);
    rewrite_.forget();
  }

  Expr inside(const Expr& expr) {
    if (!mentions(expr, *scalar_, true)) return expr;
    Analyzer analyzer;
    Rewriter replace;
    replace.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
      if (!load.buffer.same_as(scalar_)) {
        BufferLoad copy = *replace.children(load);
        for (Expr& index : copy.indices) index = analyzer.simplify(index);
        return make(std::move(copy));
      }
      const bool is_known = value_.defined() && !load.predicate.defined();
      ++(is_known ? replaced_ : left_);
      return is_known ? value_ : Expr(&load);
    });
    const Expr result = replace(expr);
    return result.dtype().is_index() ? analyzer.simplify(result) : result;
  }

  Stmt stored(const BufferStore& store) {
    const Ptr<BufferStore> result = rewrite_.children(store);
    if (!store.buffer.same_as(scalar_)) return result;
    const bool is_known = !store.predicate.defined() && is_followed(result->value);
    become(is_known ? Analyzer().simplify(result->value) : Expr());
    return result;
  }

  Stmt branched(const IfThenElse& branch) {
    IfThenElse result = branch;
    result.condition = rewrite_(branch.condition);
    const Expr before = value_;
    result.then_case = rewrite_(branch.then_case);
    const Expr then = value_;
    become(before);
    if (branch.else_case) result.else_case = rewrite_(branch.else_case);
    const bool is_same = then.defined() && value_.defined() && structural_equal(then, value_);
    if (!is_same) become(nullptr);
    return make(std::move(result));
  }

  Stmt repeated(const For& loop) {
    For result = loop;
    for (Expr* bound : {&result.min, &result.extent, &result.step}) *bound = rewrite_(*bound);
    if (mentions(loop.body, *scalar_, false)) {
      const Ptr<Var> before = var("before", scalar_->dtype);
      Variables stable = stable_;
      stable.insert(before.get());
      ScalarValues once(scalar_, stable, before);
      once.run(loop.body);
      const Values values = values_in(result, before, once.value());
      become(values.found);
      result.body = rewrite_(loop.body);
      become(values.left);
    } else {
      result.body = rewrite_(loop.body);
    }
    if (value_.defined() && uses_variable(value_, loop.loop_var)) become(nullptr);
    return make(std::move(result));
  }

  /// What an iteration of a loop finds, and what the loop leaves; null where that is not known.
  struct Values {
    Expr found, left;
  };

  Values values_in(const For& loop, const Ptr<Var>& before, const Expr& after) const {
    const std::int64_t* step = as_int(loop.step);
    const bool is_in_order = loop.kind == ForKind::serial || loop.kind == ForKind::unrolled;
    const Ptr<Var>& variable = loop.loop_var;
    const DataType type = scalar_->dtype;
    const bool is_followed = after.defined() && step && is_in_order &&
                             variable->dtype.bits <= type.bits && is_followed_all(loop);
    if (!is_followed) return {};
    Analyzer analyzer;
    const Expr &first = value_, min = cast(type, loop.min), extent = cast(type, loop.extent);
    const Expr zero = int_imm(type, 0), index = cast(type, variable);
    if (after.same_as(before)) return {first, first};
    const Expr growth = analyzer.simplify(after - before);
    if (!uses_variable(growth, before)) {
      if (!first.defined() || uses_variable(growth, variable)) return {};
      if (may_overflow(first, growth, loop)) return {};
      const Expr distance = *step > 0 ? index - min : min - index;
      const Expr number = floordiv(distance, int_imm(type, *step > 0 ? *step : -*step));
      return {analyzer.simplify(first + growth * number),
              analyzer.simplify(first + growth * max(extent, zero))};
    }
    if (uses_variable(after, before)) return {};
    const auto at = [&](const Expr& value) {
      return analyzer.simplify(substitute(after, {{variable, cast(variable->dtype, value)}}));
    };
    const Expr before_first = loop.min - loop.step;
    const Expr last = at(loop.min + (loop.extent - 1) * loop.step);
    const std::int64_t* count = as_int(loop.extent);
    if (!first.defined()) return {nullptr, count && *count > 0 ? last : Expr()};
    const Expr previous = at(variable - loop.step);
    const bool is_one = analyzer.can_prove_equal(at(before_first), first);
    return {is_one ? previous : select(variable == loop.min, first, previous),
            count && *count > 0 ? last : select(loop.extent > 0, last, first)};
  }

  /// True where the numbers show that terms of `first + growth * iteration` leave the type, of
  /// which the variable may stay within.
  static bool may_overflow(const Expr& first, const Expr& growth, const For& loop) {
    const auto size = [](const Expr& expr) {
      const std::int64_t* number = as_int(expr);
      return number ? std::abs(static_cast<double>(*number)) : 0.0;
    };
    const double iterations = size(loop.extent) * size(loop.step);
    const double terms = size(first) + size(growth) * (size(loop.min) + iterations);
    return terms > std::ldexp(1.0, first.dtype().bits - 1) - 1;
  }

  bool is_followed_all(const For& loop) const {
    return is_followed(loop.min) && is_followed(loop.extent);
  }

  /// True for arithmetic on numbers that stay as they are, of which none traps.
  bool is_followed(const Expr& expr) const {
    int nodes = 0;
    bool is_plain = expr.dtype().is_index();
    pre_order_visit(expr, [&](const Ref& ref) {
      const auto* quotient = ref.as<FloorDiv>();
      const auto* remainder = ref.as<FloorMod>();
      const Expr divisor = quotient ? quotient->b : remainder ? remainder->b : Expr(1);
      const std::int64_t* number = as_int(divisor);
      const auto* conversion = ref.as<Cast>();
      const bool is_widening = conversion && conversion->value.dtype().is_index() &&
                               conversion->value.dtype().bits <= conversion->dtype.bits;
      const bool is_arithmetic = is_widening || ref.is<IntImm>() || ref.is<Add>() ||
                                 ref.is<Sub>() || ref.is<Mul>() || ref.is<Min>() || ref.is<Max>() ||
                                 quotient || remainder;
      is_plain = is_plain && number && *number > 0 && ++nodes <= max_nodes &&
                 (is_arithmetic || stable_.contains(ref.get()));
      return is_plain;
    });
    return is_plain;
  }

  const Ptr<Buffer>& scalar_;
  const Variables& stable_;
  Expr value_;  ///< Null: not known.
  Rewriter rewrite_;
  int replaced_ = 0;
  int left_ = 0;
  bool is_in_block_ = false;
};

/// A statement without the stores to a buffer, and without what holds nothing else.
Stmt without_stores(const Stmt& stmt, const Ptr<Buffer>& scalar) {
  Rewriter rewrite;
  rewrite.on<BufferStore>([&](const BufferStore& store) {
    return store.buffer.same_as(scalar) ? no_op() : Stmt(&store);
  });
  rewrite.on<SeqStmt>([&](const SeqStmt& sequence) {
    std::vector<Stmt> parts;
    for (const Stmt& part : sequence.seq) parts.push_back(rewrite(part));
    return seq(std::move(parts));
  });
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ptr<For> result = rewrite.children(loop);
    return is_no_op(result->body) ? no_op() : Stmt(result);
  });
  rewrite.on<IfThenElse>([&](const IfThenElse& branch) -> Stmt {
    const Ptr<IfThenElse> result = rewrite.children(branch);
    const bool does_more = result->else_case.defined() && !is_no_op(result->else_case);
    return is_no_op(result->then_case) && !does_more ? no_op() : Stmt(result);
  });
  return rewrite(stmt);
}

}  // namespace

KnownScalar with_known_values(const Stmt& root, const Ptr<Buffer>& scalar,
                              std::span<const Ptr<Var>> around) {
  Variables stable = stable_variables(root);
  for (const Ptr<Var>& each : around) stable.insert(each.get());
  KnownScalar known = ScalarValues(scalar, stable, nullptr).run(root);
  const bool is_stored_only = known.left == 0 && !known.is_in_block;
  if (is_stored_only) known.statement = without_stores(known.statement, scalar);
  return known;
}

}  // namespace loopsmith
