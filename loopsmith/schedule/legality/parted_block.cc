// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/parted_block.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/init_apart.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/rewrites/replacement.h"

namespace loopsmith {
namespace {

/// A part's axes, in terms of the block's.
std::optional<Substitution> axes_of(const Block& part, const std::vector<Expr>& values) {
  if (part.iter_vars.size() != values.size()) return {};
  Substitution axes;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Ptr<Var>& axis = part.iter_vars[i]->var;
    axes[axis] = cast(axis->dtype, values[i]);
  }
  return axes;
}

/// True when a statement stores to memory that the expression reads.
bool writes_what_is_read(const Stmt& stmt, const Expr& expr) {
  const auto read = free_buffers(expr);
  bool does = false;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    does = does || (store && std::ranges::any_of(read, [&](const auto& buffer) {
                      return buffer->data.same_as(store->buffer->data);
                    }));
    return !does && !is_expr(*ref.get());
  });
  return does;
}

/// The two parts of a block, with all that is known about its axes.
class BlockParts {
 public:
  BlockParts(const Block& block, const Block& first, const Block& rest, const PartedBlock& parted)
      : block_(block), rest_(rest) {
    const auto of_first = axes_of(first, parted.first_axes),
               of_rest = axes_of(rest, parted.rest_axes);
    is_known_ = of_first && of_rest && !first.init;
    if (!is_known_) return;
    first_body_ = substitute(first.body, *of_first);
    rest_axes_ = *of_rest;
    for (const auto& axis : block.iter_vars) analyzer_.bind(axis->var, axis->dom);
  }

  /// The condition under which the rest runs, where the first part fills; null where it does not.
  Expr filled_unless() {
    const auto* whole = block_.body.as<BufferStore>();
    const auto* fill = is_known_ ? first_body_.as<BufferStore>() : nullptr;
    const auto* rest = rest_.body.as<BufferStore>();
    const auto* choice = whole ? whole->value.as<Call>() : nullptr;
    if (!fill || !rest || !choice || choice->op != op("if_then_else") || block_.init ||
        rest_.init) {
      return {};
    }
    const Expr &condition = choice->args[0], &value = choice->args[1];
    if (writes_what_is_read(block_.body, condition) || writes_what_is_read(block_.body, value) ||
        !are_same(*whole, *fill, {}) || !structural_equal(fill->value, choice->args[2])) {
      return {};
    }
    const ConstraintScope known = analyzer_.constraint_scope(condition);
    if (!are_same(*whole, *rest, rest_axes_) || !is_equal(value, rest->value)) return {};
    return condition;
  }

  /// True when the first part computes a value for the rest.
  bool computes_value() {
    const auto* store = is_known_ ? first_body_.as<BufferStore>() : nullptr;
    if (!store || writes_what_is_read(block_.body, store->value) || !has_same_axes()) return false;
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
      if (!load.buffer.same_as(store->buffer) ||
          !std::ranges::equal(load.indices, store->indices, are_equal)) {
        return rewrite.children(load);
      }
      return clone_with(store->value, {});
    });
    const bool is_own = std::ranges::none_of(free_buffers(block_.body), [&](const auto& buffer) {
      return buffer->data.same_as(store->buffer->data);
    });
    return is_own && structural_equal(rewrite(rest_.body), block_.body) &&
           (block_.init.same_as(rest_.init) || structural_equal(block_.init, rest_.init));
  }

 private:
  static bool are_equal(const Expr& a, const Expr& b) {
    return a.same_as(b) || structural_equal(a, b);
  }

  bool has_same_axes() const {
    return std::ranges::equal(block_.iter_vars, rest_.iter_vars, RefEqual());
  }

  /// True when two stores are to one element, where the axes of the second are these.
  bool are_same(const BufferStore& a, const BufferStore& b, const Substitution& axes) {
    return a.buffer.same_as(b.buffer) &&
           std::ranges::equal(a.indices, b.indices, [&](const Expr& x, const Expr& y) {
             return analyzer_.can_prove_equal(x, substitute(y, axes));
           });
  }

  bool is_equal(const Expr& a, const Expr& b) {
    const Expr there = substitute(b, rest_axes_);
    return structural_equal(a, there) ||
           structural_equal(analyzer_.simplify(a), analyzer_.simplify(there));
  }

  const Block &block_, &rest_;
  bool is_known_ = false;
  Stmt first_body_;  ///< In terms of the block's axes.
  Substitution rest_axes_;
  Analyzer analyzer_;
};

/// An instance of a part, where the block's axes have these values.
Stmt instance_of(const Ptr<Block>& part, const std::vector<Expr>& axes,
                 const Substitution& bindings, Expr predicate) {
  BlockRealize realize{.predicate = std::move(predicate), .block = part};
  for (const Expr& axis : axes) realize.iter_values.push_back(substitute(axis, bindings));
  return make(std::move(realize));
}

}  // namespace

Stmt with_block_in_parts(const Schedule& before, const Schedule& after, NodeId scope,
                         const PartedBlock& parted) {
  if (parted.rest_axes.empty() && parted.first_axes.empty() && before.get(parted.block).init) {
    if (Stmt made = with_init_apart(before, after, scope, parted); made.defined()) return made;
  }
  const BlockRealize& realize = before.realize(parted.block);
  const Block& block = *realize.block;
  const Ptr<Block>& rest = after.realize(parted.block).block;
  Substitution bindings;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const Ptr<Var>& axis = block.iter_vars[i]->var;
    bindings[axis] = cast(axis->dtype, realize.iter_values[i]);
  }
  BlockParts parts(block, *parted.first, *rest, parted);
  Expr predicate = realize.predicate;
  if (const Expr condition = parts.filled_unless(); condition.defined()) {
    predicate = predicate && substitute(condition, bindings);
  } else if (!parts.computes_value()) {
    return {};
  }
  const Stmt both = make(
      SeqStmt{.seq = {instance_of(parted.first, parted.first_axes, bindings, realize.predicate),
                      instance_of(rest, parted.rest_axes, bindings, std::move(predicate))}});
  return with_replaced(body_of_scope(before, scope), {{&realize, both}});
}

}  // namespace loopsmith
