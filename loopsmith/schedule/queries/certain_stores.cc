// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/certain_stores.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/arith/trip_counts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/trusted_calls.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

class StoreReader {
 public:
  StoreReader(const Schedule& schedule, NodeId from, const Ptr<Buffer>& stored,
              const std::vector<Ptr<Var>>* axes)
      : stored_(stored), axes_(axes) {
    read_.forms = IndexForms(ranges_around(schedule, schedule.at(from).parent));
    visit(schedule.statement(from));
  }

  CertainStores read() && { return std::move(read_); }

 private:
  /// Keeps a node as long as what was read.
  template <class T>
  Ptr<T> made(Ptr<T> node) {
    read_.made.emplace_back(node);
    return node;
  }

  void visit(const Stmt& stmt) {
    deep_call([&] { enter(stmt); });
  }

  void enter(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      read_.inner.insert(loop->loop_var.get());
      read_.loops[loop->loop_var.get()] = loop;
      if (const auto range = range_of(*loop)) {
        if (range->min == range->max) {
          read_.forms.bind(loop->loop_var, int_imm(loop->loop_var->dtype, range->min));
        } else {
          read_.forms.add_range(*range);
        }
        return visit(loop->body);
      }
      unsure_.push_back(loop);
      if (is_counted(*loop)) part(*loop);
      under(!is_counted(*loop), [&] { visit(loop->body); });
      unsure_.pop_back();
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        const Ptr<Var>& axis = realize->block->iter_vars[i]->var;
        read_.forms.bind(axis, realize->iter_values[i]);
      }
      const std::size_t limits = limits_.size();
      const bool is_known = demand(realize->predicate);
      blocks_.push_back(realize);
      under(!is_known, [&] { visit(realize->block->body); });
      blocks_.pop_back();
      limits_.resize(limits);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      if (!store->buffer.same_as(stored_)) return;
      CertainStore& known = read_.all.emplace_back();
      if (axes_) {
        for (const auto& axis : *axes_) known.indices.push_back(read_.forms.read(axis));
      } else {
        for (const Expr& index : store->indices) known.indices.push_back(read_.forms.read(index));
      }
      known.limits = limits_;
      known.is_conditional =
          is_conditional_ || store->predicate.defined() || is_left_to_others(known);
    } else if (const auto* evaluate = stmt.as<Evaluate>()) {
      const auto* call = evaluate->value.as<Call>();
      const bool is_trusted =
          call && !blocks_.empty() && is_trusted_call(*blocks_.back()->block, *call);
      if (is_trusted && !axes_) store_declared(*blocks_.back()->block);
    } else if (const auto* let = stmt.as<LetStmt>()) {
      read_.forms.bind(let->var, let->value);
      visit(let->body);
    } else if (const auto* attribute = stmt.as<AttrStmt>()) {
      if (const auto* thread = attribute->node.as<IterVar>()) read_.inner.insert(thread->var.get());
      visit(attribute->body);
    } else if (stmt.is<IfThenElse>() || stmt.is<While>()) {
      under(true, [&] { visit_parts(stmt); });
    } else if (stmt.is<Break>() || stmt.is<Continue>() || stmt.is<Return>()) {
      // Iterations to come do not store, either.
      for (CertainStore& store : read_.all) store.is_conditional = true;
      is_conditional_ = true;
    } else {
      visit_parts(stmt);
    }
  }

  /// What a block declares to write, by a call that keeps to that.
  void store_declared(const Block& block) {
    for (const auto& region : block.writes) {
      if (!region->buffer.same_as(stored_)) continue;
      CertainStore& known = read_.all.emplace_back();
      for (const auto& range : region->region) {
        Expr index = range->min;
        const std::int64_t* extent = as_int(range->extent);
        if (extent && *extent > 1) {
          const Ptr<Var>& step = made(var("step", index.dtype()));
          read_.inner.insert(step.get());
          read_.forms.add_range({step.get(), 0, *extent - 1});
          index = index + step;
        }
        const bool is_known = extent && *extent > 0;
        known.indices.push_back(is_known ? read_.forms.read(index) : std::nullopt);
      }
      known.limits = limits_;
      known.is_conditional = is_conditional_ || is_left_to_others(known);
    }
  }

  void visit_parts(const Stmt& stmt) {
    const Stmt* part = nullptr;
    for (std::uint32_t slot = 0; (part = statement_in(*stmt.get(), slot)); ++slot) {
      if (part->defined()) visit(*part);
    }
  }

  template <class Fn>
  void under(bool condition, Fn inside) {
    const bool outer = is_conditional_;
    is_conditional_ = is_conditional_ || condition;
    inside();
    is_conditional_ = outer;
  }

  static std::vector<Expr> reduction_domains(const Block& block) {
    std::vector<Expr> extents;
    for (const auto& axis : block.iter_vars) {
      if (axis->iter_type == IterType::comm_reduce) extents.push_back(axis->dom->extent);
    }
    return extents;
  }

  /// Takes a loop of n * c iterations, where c alone is a number, for one of c in one of n: digits
  /// of its variable, as `fuse` makes them, are then those of a number that is known.
  void part(const For& loop) {
    Analyzer analyzer;
    const Expr extent = analyzer.simplify(loop.extent);
    const auto* product = extent.as<Mul>();
    const std::int64_t* count = product ? as_int(product->b) : nullptr;
    if (!count || *count < 2) return;
    const DataType type = loop.loop_var->dtype;
    const Ptr<Var> outer = var("outer", type), inner = var("inner", type);
    const auto whole = made(Ptr<For>::from(for_loop(outer, int_imm(type, 0), product->a, no_op())));
    read_.inner.insert(outer.get());
    read_.inner.insert(inner.get());
    read_.loops[outer.get()] = whole.get();
    read_.forms.add_range({inner.get(), 0, *count - 1});
    read_.forms.bind(loop.loop_var, outer * int_imm(type, *count) + inner);
    outer_[&loop] = outer;
  }

  /// True when a loop that may have no iteration does not tell what is stored: then there may be
  /// something to store to, and no statement that does it. Where that loop is of a reduction, its
  /// init does.
  bool is_left_to_others(const CertainStore& store) const {
    return std::ranges::any_of(unsure_, [&](const For* loop) {
      const auto parted = outer_.find(loop);
      const Ptr<Var>& moving = parted == outer_.end() ? loop->loop_var : parted->second;
      const bool tells = std::ranges::any_of(store.indices, [&](const auto& index) {
        return index && std::ranges::any_of(index->terms, [&](const IndexTerm& term) {
                 return uses_variable(
                     term.kind == IndexTerm::Kind::variable ? term.atom : term.inner(), moving);
               });
      });
      const bool has_init = std::ranges::any_of(blocks_, [&](const BlockRealize* realize) {
        return realize->block->init && arith::is_reduction_loop(*realize, loop->loop_var) &&
               arith::runs_with(loop->extent, reduction_domains(*realize->block));
      });
      return !tells && !has_init;
    });
  }

  /// A loop 0, 1, ..., n - 1 of unknown n.
  static bool is_counted(const For& loop) {
    return is_const_int(loop.min, 0) && is_const_int(loop.step, 1);
  }

  /// Takes note of a condition; false when it is of another kind than `value < limit`.
  bool demand(const Expr& condition) {
    if (is_const_int(condition, 1)) return true;
    if (const auto* both = condition.as<And>()) return demand(both->a) && demand(both->b);
    const auto* less = condition.as<LT>();
    if (!less) return false;
    auto value = read_.forms.read(less->a);
    if (!value) return false;
    if (value->terms.empty()) {
      const std::int64_t* bound = as_int(less->b);
      return bound && value->constant < *bound;
    }
    limits_.push_back({*std::move(value), less->b});
    return true;
  }

  Ptr<Buffer> stored_;
  const std::vector<Ptr<Var>>* axes_;
  CertainStores read_;
  std::vector<const For*> unsure_;  ///< Loops around that may have no iteration.
  std::vector<const BlockRealize*> blocks_;
  std::vector<StoreLimit> limits_;
  std::unordered_map<const For*, Ptr<Var>> outer_;  ///< Of those that were taken apart.
  bool is_conditional_ = false;
};

}  // namespace

CertainStores certain_stores(const Schedule& schedule, NodeId from, const Ptr<Buffer>& stored,
                             const std::vector<Ptr<Var>>* axes) {
  return StoreReader(schedule, from, stored, axes).read();
}

}  // namespace loopsmith
