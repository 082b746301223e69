// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/check_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// Numbers beyond this are left alone: nothing below overflows.
constexpr std::int64_t largest = std::int64_t{1} << 30;

Expr number(std::int64_t value) {
  const bool is_small = value <= 2 * largest - 1 && value >= -2 * largest;
  return int_imm(is_small ? i32 : i64, value);
}

/// A constant, and an expression of sizes where `sizes` is not null.
struct Amount {
  std::int64_t constant = 0;
  Expr sizes;

  bool is_constant() const { return !sizes.defined(); }

  void add(std::int64_t factor, const Amount& other) {
    constant += factor * other.constant;
    if (other.is_constant()) return;
    const Expr term = factor == 1 ? other.sizes : other.sizes * number(factor);
    sizes = is_constant() ? term : sizes + term;
  }

  Expr expr() const { return is_constant() ? number(constant) : sizes + number(constant); }
};

/// The values of a loop variable, or of an axis of a block: from `first` to `last`.
struct LoopRange {
  Amount first;
  Amount last;
  std::string name;
};

/// A sum of coefficients times loop variables, and what no loop changes.
struct LinearIndex {
  Amount base;
  std::map<const LoopRange*, std::int64_t> terms;
};

bool may_be_left(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* call = ref.as<Call>();
    found |= ref.is<Break>() || ref.is<Continue>() || ref.is<Return>() ||
             (call && call->op == op("ret"));
    return !found && (ref.is<Evaluate>() || !is_expr(*ref.get()));
  });
  return found;
}

class BoundsChecker {
 public:
  explicit BoundsChecker(const PrimFunc& func) {
    const auto add_sizes = [&](const Expr& extent) {
      for (const Ptr<Var>& size : free_variables(extent)) {
        sizes_.insert(size.get());
        // Parts of a sum may be less than nothing.
        if (size.get() == extent.get()) analyzer_.update(size, {.min_value = 0});
      }
    };
    for (const Ptr<Buffer>& buffer : func.buffer_map) {
      if (buffer) std::ranges::for_each(buffer->shape, add_sizes);
    }
  }

  void visit(const Stmt& stmt) {
    if (!stmt.defined()) return;
    if (const auto* loop = stmt.as<For>()) return visit_loop(*loop);
    if (const auto* realize = stmt.as<BlockRealize>()) return visit_block(*realize);
    if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& each : sequence->seq) {
        visit(each);
        if (may_be_left(each)) return;
      }
    } else if (const auto* store = stmt.as<BufferStore>()) {
      if (store->predicate.defined()) return;
      check(*store->buffer, store->indices, "writes", store->span);
      read(store->value);
    }
    // What stands under any other statement may not be run.
  }

  std::vector<SizeCheck> checks;

 private:
  void visit_loop(const For& loop) {
    const std::optional<Amount> min = amount_of(loop.min);
    const std::optional<Amount> extent = amount_of(loop.extent);
    const bool is_known = min && extent && is_const_int(loop.step, 1);
    // A loop that is empty, or may be left, runs nothing for certain.
    if (!is_known || (extent->is_constant() && extent->constant <= 0) || may_be_left(loop.body)) {
      return;
    }
    loops_.push_back({loop.loop_var, loop.min, loop.extent});
    add_range(*loop.loop_var, *min, *extent, 1);
    visit(loop.body);
    if (!extent->is_constant()) given_.pop_back();
    ranges_.erase(loop.loop_var.get());
    loops_.pop_back();
  }

  void add_range(const Var& var, const Amount& min, const Amount& extent, std::int64_t scale) {
    Amount last = min;
    last.add(scale, extent);
    last.constant -= scale;
    ranges_[&var] = {min, last, var.name};
    if (!extent.is_constant()) given_.push_back(extent.expr() >= Expr(1));
  }

  void visit_block(const BlockRealize& realize) {
    const Block& block = *realize.block;
    if (is_const_int(realize.predicate, 0) || !block.match_buffers.empty()) return;
    const std::size_t conditions = given_.size();
    if (as_int(realize.predicate)) {
      for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
        values_[block.iter_vars[i]->var.get()] = realize.iter_values[i];
      }
      visit(block.body);
    } else {
      Substitution single;
      for (const Iterator& loop : loops_) {
        if (is_const_int(loop.extent, 1)) single[loop.var] = loop.min;
      }
      const bool is_known = add_conditions_of_sizes(substitute(realize.predicate, single)) &&
                            add_axes_of_tiles(realize);
      if (is_known) visit(block.body);
    }
    given_.resize(conditions);
  }

  /// The parts of a predicate that no loop changes; false where one is not of sizes alone.
  bool add_conditions_of_sizes(const Expr& predicate) {
    if (const auto* both = predicate.as<And>()) {
      return add_conditions_of_sizes(both->a) && add_conditions_of_sizes(both->b);
    }
    const bool is_of_loops = std::ranges::any_of(
        loops_, [&](const Iterator& loop) { return uses_variable(predicate, loop.var); });
    if (is_of_loops) return true;
    if (is_of_sizes(predicate)) given_.push_back(predicate);
    return is_of_sizes(predicate);
  }

  /// The axes of a block that a predicate guards, where that leaves out nothing but what sticks out
  /// of ragged tiles; false where it does not.
  bool add_axes_of_tiles(const BlockRealize& realize) {
    if (realize.block->iter_vars.empty()) {  // It sees the loops themselves, not what they leave.
      return std::ranges::none_of(
          loops_, [&](const Iterator& loop) { return uses_variable(realize.predicate, loop.var); });
    }
    const IterMapResult map =
        detect_iter_map(realize.iter_values, loops_, {.predicate = realize.predicate}, analyzer_);
    if (!map.ok() || (map.padding_predicate.defined() && !is_const_int(map.padding_predicate, 0))) {
      return false;
    }
    for (std::size_t i = 0; i < map.indices.size(); ++i) {
      const Var& axis = *realize.block->iter_vars[i]->var;
      const IterSumExpr& index = map.indices[i];
      const std::optional<Amount> base = amount_of(index.base.expr(axis.dtype));
      if (!base) return false;
      if (index.args.empty()) {
        add_range(axis, *base, {.constant = 1}, 1);
        continue;
      }
      const SymbolicInt& scale = index.args[0].scale;
      const std::optional<Amount> extent = amount_of(index.args[0].extent.expr(axis.dtype));
      if (!extent || !scale.is_constant() || scale.constant < 1 || scale.constant > largest) {
        return false;
      }
      add_range(axis, *base, *extent, scale.constant);
    }
    return true;
  }

  void read(const Expr& value) {
    pre_order_visit(value, [&](const Ref& ref) {
      // One of several values; an address of what is not read.
      if (ref.is<Select>() || ref.is<Call>() || ref.is<And>() || ref.is<Or>() || ref.is<Let>()) {
        return false;
      }
      if (const auto* load = ref.as<BufferLoad>()) {
        if (!load->predicate.defined()) check(*load->buffer, load->indices, "reads", load->span);
      }
      return true;
    });
  }

  void check(const Buffer& buffer, const std::vector<Expr>& indices, std::string_view verb,
             const Span& span) {
    if (indices.size() != buffer.shape.size()) return;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const std::optional<Amount> extent = amount_of(buffer.shape[d]);
      LinearIndex index;
      if (!extent || !add(indices[d], 1, index)) continue;
      // All indices of a dimension that is broadcast mean its one element.
      if (buffer.auto_broadcast) given_.push_back(buffer.shape[d] != Expr(1));
      Amount low = index.base, high = index.base;
      for (const auto& [range, factor] : index.terms) {
        low.add(factor, factor > 0 ? range->first : range->last);
        high.add(factor, factor > 0 ? range->last : range->first);
      }
      for (const bool is_low : {true, false}) {
        const auto text = [&](const std::string& number, const std::string& size) {
          return text_of(buffer, indices, verb, number, d, size, index, !is_low);
        };
        check_end(is_low ? low : high, is_low, *extent, text, span);
      }
      if (buffer.auto_broadcast) given_.pop_back();
    }
  }

  /// One end of the values of an index: the least, or the largest.
  template <class Text>
  void check_end(const Amount& end, bool is_low, const Amount& extent, const Text& text,
                 const Span& span) {
    if (end.is_constant() && (is_low || extent.is_constant()) && given_.empty()) {
      const bool is_inside = is_low ? end.constant >= 0 : end.constant < extent.constant;
      if (is_inside) return;
      require(false, ErrorKind::bounds, "access_is_in_bounds",
              hint("make the loop shorter, or guard the access by a condition"), span, "{}",
              text(fmt::format("{}", end.constant), simple(extent.expr())));
    }
    Expr condition = is_low ? end.expr() >= Expr(0) : end.expr() < extent.expr();
    std::vector<ConstraintScope> scopes;
    for (const Expr& each : given_) scopes.push_back(analyzer_.constraint_scope(each));
    if (analyzer_.can_prove(condition, ProofStrength::symbolic_bound)) return;
    while (!scopes.empty()) scopes.pop_back();
    condition = analyzer_.simplify(condition);
    for (const Expr& each : given_) condition = analyzer_.simplify(!each) || condition;
    for (const SizeCheck& other : checks) {
      if (structural_equal(other.condition, condition)) return;
    }
    checks.push_back({condition, text(simple(end.expr()), simple(extent.expr())) +
                                     ": pass arguments whose sizes agree"});
  }

  std::string simple(const Expr& expr) { return brief(analyzer_.simplify(expr)); }

  /// `A[i] reads index n - 1 of dimension 0, which has m elements, where i = n - 1`.
  std::string text_of(const Buffer& buffer, const std::vector<Expr>& indices, std::string_view verb,
                      const std::string& number, std::size_t dimension, const std::string& size,
                      const LinearIndex& index, bool is_high) {
    std::string inside, place;
    for (const Expr& each : indices) inside += (inside.empty() ? "" : ", ") + brief(each);
    for (const auto& [range, factor] : index.terms) {
      const Amount& value = (factor > 0) == is_high ? range->last : range->first;
      place += fmt::format("{}{} = {}", place.empty() ? ", where " : ", ", range->name,
                           simple(value.expr()));
    }
    return fmt::format("{}[{}] {} index {} of dimension {}, which has {} elements{}", buffer.name,
                       inside, verb, number, dimension, size, place);
  }

  /// A constant that is not too large, or an expression of sizes alone.
  std::optional<Amount> amount_of(const Expr& expr) const {
    if (const std::int64_t* value = as_int(expr)) {
      if (*value > largest || *value < -largest) return std::nullopt;
      return Amount{.constant = *value};
    }
    const bool is_index = expr.dtype().is_index() && expr.dtype().is_scalar();
    return is_index && is_of_sizes(expr) ? std::optional(Amount{.sizes = expr}) : std::nullopt;
  }

  bool is_of_sizes(const Expr& expr) const {
    bool found = true;
    pre_order_visit(expr, [&](const Ref& ref) {
      found &= ref.is<Var>() ? sizes_.contains(ref.get())
                             : !ref.is<BufferLoad>() && !ref.is<Call>() && !ref.is<Let>();
      return found;
    });
    return found;
  }

  /// Adds `factor` times an expression to `sum`; false where it is not linear.
  bool add(const Expr& expr, std::int64_t factor, LinearIndex& sum) const {
    if (factor > largest || factor < -largest) return false;
    if (const std::optional<Amount> amount = amount_of(expr)) {
      sum.base.add(factor, *amount);
      return sum.base.constant < (largest << 24) && sum.base.constant > -(largest << 24);
    }
    if (expr.is<Var>()) return add_variable(*expr.as<Var>(), factor, sum);
    if (const auto* a = expr.as<Add>()) return add(a->a, factor, sum) && add(a->b, factor, sum);
    if (const auto* s = expr.as<Sub>()) return add(s->a, factor, sum) && add(s->b, -factor, sum);
    if (const auto* m = expr.as<Mul>()) {
      const std::int64_t* left = as_int(m->a);
      const std::int64_t* right = as_int(m->b);
      const std::int64_t* number = right ? right : left;
      if (!number || *number > (1 << 15) || *number < -(1 << 15)) return false;
      if (factor > (1 << 15) || factor < -(1 << 15)) return false;
      return add(right ? m->a : m->b, factor * *number, sum);
    }
    return false;
  }

  bool add_variable(const Var& variable, std::int64_t factor, LinearIndex& sum) const {
    if (const auto found = values_.find(&variable); found != values_.end()) {
      return add(found->second, factor, sum);
    }
    const auto range = ranges_.find(&variable);
    if (range == ranges_.end()) return false;
    sum.terms[&range->second] += factor;
    return true;
  }

  Analyzer analyzer_;
  std::unordered_set<const Object*> sizes_;  ///< The variables in shapes of parameters.
  std::vector<Iterator> loops_;              ///< Around the statement, from outside.
  std::vector<Expr> given_;                  ///< The statement runs, and matters, if these hold.
  std::unordered_map<const Object*, LoopRange> ranges_;
  std::unordered_map<const Object*, Expr> values_;  ///< Of the axes of blocks.
};

}  // namespace

std::vector<SizeCheck> check_bounds(const PrimFunc& func) {
  BoundsChecker checker(func);
  checker.visit(func.body);
  return std::move(checker.checks);
}

Ptr<PrimFunc> with_size_checks(const Ptr<PrimFunc>& func, const std::vector<SizeCheck>& checks) {
  if (checks.empty()) return func;
  PrimFunc copy = *func;
  for (std::size_t i = checks.size(); i-- > 0;) {
    copy.body = make(AssertStmt{.condition = checks[i].condition,
                                .message = string_imm(checks[i].text),
                                .body = copy.body});
  }
  return make(std::move(copy));
}

}  // namespace loopsmith
