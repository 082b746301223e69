// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/check_bounds.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// The values of a loop variable: from `first` to `last`.
struct LoopRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::string name;
};

/// constant + sum of coefficients times loop variables.
struct LinearIndex {
  std::int64_t constant = 0;
  std::map<const LoopRange*, std::int64_t> terms;
};

bool may_be_left(const For& loop) {
  bool found = false;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    found |= ref.is<Break>() || ref.is<Continue>() || ref.is<Return>();
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// Numbers beyond this are left alone: nothing below overflows.
constexpr std::int64_t largest = std::int64_t{1} << 30;

class BoundsChecker {
 public:
  void visit(const Stmt& stmt) {
    if (!stmt.defined()) return;
    if (const auto* loop = stmt.as<For>()) return visit_loop(*loop);
    if (const auto* realize = stmt.as<BlockRealize>()) return visit_block(*realize);
    if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& each : sequence->seq) visit(each);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      if (store->predicate.defined()) return;
      check(*store->buffer, store->indices, "writes", store->span);
      read(store->value);
    }
    // What stands under any other statement may not be run.
  }

 private:
  void visit_loop(const For& loop) {
    const std::int64_t* min = as_int(loop.min);
    const std::int64_t* extent = as_int(loop.extent);
    const std::int64_t* step = as_int(loop.step);
    const bool is_known = min && extent && step && *step == 1 && *extent > 0 && *min > -largest &&
                          *min < largest && *extent < largest;
    // A loop that may be empty, or may be left, runs nothing for certain.
    if (!is_known || may_be_left(loop)) return;
    ranges_[loop.loop_var.get()] = {*min, *min + *extent - 1, loop.loop_var->name};
    visit(loop.body);
    ranges_.erase(loop.loop_var.get());
  }

  void visit_block(const BlockRealize& realize) {
    const std::int64_t* predicate = as_int(realize.predicate);
    if (!predicate || *predicate == 0 || !realize.block->match_buffers.empty()) return;
    const Block& block = *realize.block;
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      values_[block.iter_vars[i]->var.get()] = realize.iter_values[i];
    }
    visit(block.body);
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
             const Span& span) const {
    if (indices.size() != buffer.shape.size()) return;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const std::int64_t* extent = as_int(buffer.shape[d]);
      LinearIndex index;
      if (!extent || !add(indices[d], 1, index)) continue;
      std::int64_t low = index.constant, high = index.constant;
      for (const auto& [range, factor] : index.terms) {
        low += factor * (factor > 0 ? range->first : range->last);
        high += factor * (factor > 0 ? range->last : range->first);
      }
      if (low >= 0 && high < *extent) continue;
      const bool is_high = high >= *extent;
      require(false, ErrorKind::bounds, "access_is_in_bounds",
              hint("make the loop shorter, or guard the access by a condition"), span,
              "{}[{}] {} index {} of dimension {}, which has {} elements{}", buffer.name,
              texts(indices), verb, is_high ? high : low, d, *extent, place(index, is_high));
    }
  }

  static std::string texts(const std::vector<Expr>& indices) {
    std::string text;
    for (const Expr& each : indices) text += (text.empty() ? "" : ", ") + brief(each);
    return text;
  }

  /// The iteration in which an index is largest, or least.
  static std::string place(const LinearIndex& index, bool is_high) {
    std::string text;
    for (const auto& [range, factor] : index.terms) {
      const bool at_end = (factor > 0) == is_high;
      text += fmt::format("{}{} = {}", text.empty() ? ", where " : ", ", range->name,
                          at_end ? range->last : range->first);
    }
    return text;
  }

  /// Adds `factor` times an expression to `sum`; false where it is not linear.
  bool add(const Expr& expr, std::int64_t factor, LinearIndex& sum) const {
    if (factor > largest || factor < -largest) return false;
    if (const std::int64_t* value = as_int(expr)) {
      if (*value > largest || *value < -largest) return false;
      sum.constant += factor * *value;
      return sum.constant < (largest << 24) && sum.constant > -(largest << 24);
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

  std::unordered_map<const Object*, LoopRange> ranges_;
  std::unordered_map<const Object*, Expr> values_;  ///< Of the axes of blocks.
};

}  // namespace

void check_bounds(const PrimFunc& func) {
  BoundsChecker().visit(func.body);
}

}  // namespace loopsmith
