// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/must_write_region.h"

#include <algorithm>
#include <cstdlib>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/arith/trip_counts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/trusted_calls.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/index_ratio.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

using Kind = IndexTerm::Kind;

/// Reads what a statement is certain to store to one buffer.
class StoreReader {
 public:
  /// `stored` is what is stored to. Where axes are given, a store counts as one to the element of
  /// `buffer` that they are.
  StoreReader(const Schedule& schedule, NodeId from, const Ptr<Buffer>& stored,
              const Ptr<Buffer>& buffer, const std::vector<Ptr<Var>>* axes = nullptr)
      : stored_(stored),
        buffer_(buffer),
        axes_(axes),
        forms_(ranges_around(schedule, schedule.at(from).parent)) {
    visit(schedule.statement(from));
  }

  std::optional<AffineRegion> box() const {
    std::optional<AffineRegion> all;
    for (const Store& store : stores_) {
      if (stores_nothing(store)) continue;
      const AffineRegion box = hull(store);
      all = all ? unite(*all, box) : box;
    }
    if (!all) return {};
    const bool is_filled = std::ranges::any_of(stores_, [&](const Store& store) {
      return !store.is_conditional && !stores_nothing(store) && fills(store) &&
             covers(hull(store), *all);
    });
    return is_filled ? all : std::nullopt;
  }

 private:
  /// value < limit
  struct Limit {
    IndexForm value;
    Expr limit;
  };
  struct Store {
    std::vector<std::optional<IndexForm>> indices;
    std::vector<Limit> limits;
    bool is_conditional = false;
  };

  void visit(const Stmt& stmt) {
    deep_call([&] { enter(stmt); });
  }

  void enter(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      inner_.insert(loop->loop_var.get());
      loops_[loop->loop_var.get()] = loop;
      if (const auto range = range_of(*loop)) {
        if (range->min == range->max) {
          forms_.bind(loop->loop_var, int_imm(loop->loop_var->dtype, range->min));
        } else {
          forms_.add_range(*range);
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
        forms_.bind(axis, realize->iter_values[i]);
      }
      const std::size_t limits = limits_.size();
      const bool is_known = demand(realize->predicate);
      blocks_.push_back(realize);
      under(!is_known, [&] { visit(realize->block->body); });
      blocks_.pop_back();
      limits_.resize(limits);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      if (!store->buffer.same_as(stored_)) return;
      Store& known = stores_.emplace_back();
      if (axes_) {
        for (const auto& axis : *axes_) known.indices.push_back(forms_.read(axis));
      } else {
        for (const Expr& index : store->indices) known.indices.push_back(forms_.read(index));
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
      forms_.bind(let->var, let->value);
      visit(let->body);
    } else if (const auto* attribute = stmt.as<AttrStmt>()) {
      if (const auto* thread = attribute->node.as<IterVar>()) inner_.insert(thread->var.get());
      visit(attribute->body);
    } else if (stmt.is<IfThenElse>() || stmt.is<While>()) {
      under(true, [&] { visit_parts(stmt); });
    } else if (stmt.is<Break>() || stmt.is<Continue>() || stmt.is<Return>()) {
      // Iterations to come do not store, either.
      for (Store& store : stores_) store.is_conditional = true;
      is_conditional_ = true;
    } else {
      visit_parts(stmt);
    }
  }

  /// What a block declares to write, by a call that keeps to that.
  void store_declared(const Block& block) {
    for (const auto& region : block.writes) {
      if (!region->buffer.same_as(stored_)) continue;
      Store& known = stores_.emplace_back();
      for (const auto& range : region->region) {
        Expr index = range->min;
        const std::int64_t* extent = as_int(range->extent);
        if (extent && *extent > 1) {
          const Ptr<Var>& step = steps_.emplace_back(var("step", index.dtype()));
          inner_.insert(step.get());
          forms_.add_range({step.get(), 0, *extent - 1});
          index = index + step;
        }
        const bool is_known = extent && *extent > 0;
        known.indices.push_back(is_known ? forms_.read(index) : std::nullopt);
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
    const Ptr<For>& whole = parted_.emplace_back(
        Ptr<For>::from(for_loop(outer, int_imm(type, 0), product->a, no_op())));
    inner_.insert(outer.get());
    inner_.insert(inner.get());
    loops_[outer.get()] = whole.get();
    forms_.add_range({inner.get(), 0, *count - 1});
    forms_.bind(loop.loop_var, outer * int_imm(type, *count) + inner);
    outer_[&loop] = outer;
  }

  /// True when a loop that may have no iteration does not tell what is stored: then there may be
  /// something to store to, and nobody who does it. Where that loop is of a reduction, its init
  /// does.
  bool is_left_to_others(const Store& store) const {
    return std::ranges::any_of(unsure_, [&](const For* loop) {
      const auto parted = outer_.find(loop);
      const Ptr<Var>& moving = parted == outer_.end() ? loop->loop_var : parted->second;
      const bool tells = std::ranges::any_of(store.indices, [&](const auto& index) {
        return index && std::ranges::any_of(index->terms, [&](const IndexTerm& term) {
                 return uses_variable(term.kind == Kind::variable ? term.atom : term.inner, moving);
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
    auto value = forms_.read(less->a);
    if (!value) return false;
    if (value->terms.empty()) {
      const std::int64_t* bound = as_int(less->b);
      return bound && value->constant < *bound;
    }
    limits_.push_back({*std::move(value), less->b});
    return true;
  }

  /// The limit of an index, or of the part of it that moves inside.
  const Limit* limit_of(const Store& store, const IndexForm& form) const {
    for (const Limit& limit : store.limits) {
      if (limit.value.constant == form.constant && same_terms(limit.value.terms, form.terms)) {
        return &limit;
      }
    }
    std::vector<IndexTerm> moving;
    for (const IndexTerm& term : form.terms) {
      if (is_inner(term, inner_)) moving.push_back(term);
    }
    if (moving.empty() || moving.size() == form.terms.size()) return nullptr;
    for (const Limit& limit : store.limits) {
      if (as_int(limit.limit) && same_terms(limit.value.terms, moving)) return &limit;
    }
    return nullptr;
  }

  /// The last value of the index that a limit of what moves inside lets it have, above its base.
  static std::optional<std::int64_t> last_below(const Limit& limit, const IndexForm& form,
                                                const AffineInterval& side) {
    const std::int64_t* bound = as_int(limit.limit);
    const bool is_of_moving = limit.value.terms.size() + side.base.size() == form.terms.size();
    if (!bound || side.is_whole || !is_of_moving) return {};
    return form.constant - limit.value.constant + *bound - 1;
  }

  /// What an index runs through, as far as its limit lets it; from above its end where that lets
  /// nothing be stored.
  AffineInterval reach(const Store& store, std::size_t dimension) const {
    const auto& form = store.indices[dimension];
    if (!form) return {};
    AffineInterval side = affine_interval_of(*form, inner_);
    if (const Limit* limit = limit_of(store, *form)) {
      if (const auto last = last_below(*limit, *form, side)) side.high = std::min(side.high, *last);
    }
    return side;
  }

  bool stores_nothing(const Store& store) const {
    for (std::size_t i = 0; i < store.indices.size(); ++i) {
      const AffineInterval side = reach(store, i);
      if (!side.is_whole && side.high < side.low) return true;
    }
    return false;
  }

  AffineInterval side(const Store& store, std::size_t dimension) const {
    return clipped(reach(store, dimension), *buffer_, dimension);
  }

  AffineRegion hull(const Store& store) const {
    AffineRegion box{.buffer = buffer_};
    for (std::size_t i = 0; i < store.indices.size(); ++i) box.sides.push_back(side(store, i));
    return box;
  }

  /// True when the store meets every element of its hull.
  bool fills(const Store& store) const {
    std::vector<IndexTerm> used;
    std::vector<const Limit*> of_indices;
    for (std::size_t i = 0; i < store.indices.size(); ++i) {
      if (!store.indices[i] || !is_filled(store, i, used)) return false;
      const Limit* limit = limit_of(store, *store.indices[i]);
      if (!limit) continue;
      // Elsewhere the hull is not cut off where the stores are.
      const AffineInterval whole = affine_interval_of(*store.indices[i], inner_);
      const bool is_cut = last_below(*limit, *store.indices[i], whole).has_value();
      if (!is_cut && !structural_equal(limit->limit, buffer_->shape[i])) return false;
      of_indices.push_back(limit);
    }
    return std::ranges::all_of(store.limits, [&](const Limit& limit) {
      return std::ranges::find(of_indices, &limit) != of_indices.end() ||
             holds_in_buffer(store, limit);
    });
  }

  /// True when a limit cuts off nothing but what lies beyond the buffer: it is not reached where
  /// each index is below its dimension. `scale` times the value are multiples of indices and a
  /// rest.
  ///
  /// Of P[x, y], where x is 2 * i + j of 25, and y is 8 * k + l of 40, no element is cut off by
  /// 80 * i + 40 * j + 8 * k + l < 1000: that is 40 * x and less than 40, 40 * 24 + 39 at most.
  bool holds_in_buffer(const Store& store, const Limit& limit) const {
    const std::int64_t* bound = as_int(limit.limit);
    IndexForm rest = limit.value;
    __int128 most = 0, scale = 1;
    for (std::size_t i = 0; i < store.indices.size() && bound; ++i) {
      const std::int64_t* extent = as_int(buffer_->shape[i]);
      const auto ratio = index_ratio(rest, *store.indices[i]);
      if (!extent || !ratio) continue;
      const auto& [by, times] = *ratio;
      auto left = index_difference(rest, by, *store.indices[i], times);
      if (!left) return false;
      rest = *std::move(left);
      most = most * by + __int128{times} * (*extent - 1);
      scale *= by;
      if (scale > max_int(i32) || most > max_int(i64)) return false;
    }
    const auto range = rest.range();
    return bound && range && most + range->second < scale * *bound;
  }

  bool is_filled(const Store& store, std::size_t dimension, std::vector<IndexTerm>& used) const {
    const IndexForm& form = *store.indices[dimension];
    std::vector<IndexTerm> terms;
    for (const IndexTerm& term : form.terms) {
      if (!is_inner(term, inner_)) continue;
      if (!std::ranges::all_of(used, [&](const auto& u) { return is_apart(u, term); }))
        return false;
      used.push_back(term);
      auto counted = counted_term(term);
      if (!counted) return false;
      terms.push_back(*std::move(counted));
    }
    std::ranges::sort(terms, {}, [](const auto& term) { return std::abs(term.coefficient); });
    std::int64_t reach = 0;
    for (const IndexTerm& term : terms) {
      if (std::abs(term.coefficient) > reach + 1) return false;
      if (!term.is_bounded) {
        return &term == &terms.back() && terms.size() == form.terms.size() && form.constant == 0 &&
               runs_through(store, dimension, term, reach);
      }
      std::int64_t more = 0;
      if (__builtin_mul_overflow(std::abs(term.coefficient), term.max - term.min, &more) ||
          __builtin_add_overflow(reach, more, &reach)) {
        return false;
      }
    }
    return true;
  }

  /// The term by how many steps the loops inside have taken; nullopt where these leave out values
  /// of a quotient or remainder, or go through others for each value of what is outside.
  std::optional<IndexTerm> counted_term(IndexTerm term) const {
    const auto step_of = [&](const Ref& variable) -> std::int64_t {
      const auto loop = loops_.find(variable.get());
      if (loop == loops_.end()) return 1;
      const std::int64_t* step = as_int(loop->second->step);
      return step ? std::abs(*step) : 0;
    };
    if (term.kind != Kind::variable) {
      const auto digit = radix_term_of(term.atom);
      const std::int64_t values = digit ? values_of(digit->number) : 0;
      return values > 0 && values >= digit->high ? std::optional(std::move(term)) : std::nullopt;
    }
    const std::int64_t step = step_of(term.atom);
    if (step == 1) return term;
    if (step == 0 || !term.is_bounded) return {};
    term.max = (term.max - term.min) / step;
    term.min = 0;
    if (__builtin_mul_overflow(term.coefficient, step, &term.coefficient)) return {};
    return term;
  }

  /// True when a loop of unknown extent, over lighter terms that reach just below its weight, runs
  /// through a whole dimension.
  bool runs_through(const Store& store, std::size_t dimension, const IndexTerm& term,
                    std::int64_t reach) const {
    const auto loop = loops_.find(term.atom.get());
    if (loop == loops_.end() || term.coefficient != reach + 1) return false;
    const Expr& extent = loop->second->extent;
    const Expr& shape = buffer_->shape[dimension];
    if (term.coefficient == 1 && structural_equal(extent, shape)) return true;
    const Limit* limit = limit_of(store, *store.indices[dimension]);
    Analyzer analyzer;
    const Expr reached = extent * int_imm(extent.dtype(), term.coefficient);
    if (!limit) return analyzer.can_prove_equal(reached, shape);
    return structural_equal(limit->limit, shape) &&
           analyzer.can_prove(reached >= shape, ProofStrength::symbolic_bound);
  }

  /// True when the atoms of two terms take their values independently of each other.
  bool is_apart(const IndexTerm& a, const IndexTerm& b) const {
    const auto variables = [](const IndexTerm& term) {
      return term.kind == Kind::variable ? std::vector<Ptr<Var>>{Ptr<Var>::from(term.atom)}
                                         : free_variables(term.inner);
    };
    const auto of_b = variables(b);
    for (const auto& variable : variables(a)) {
      const bool is_shared =
          std::ranges::any_of(of_b, [&](const auto& other) { return other.same_as(variable); });
      if (is_shared && !are_digits(a, b)) return false;
    }
    return true;
  }

  /// Digits of a number x with a mixed radix: (x % high) // low.
  struct RadixTerm {
    Expr number;
    std::int64_t low = 1;
    std::int64_t high = 0;  ///< 0: up to the end.
  };

  static std::optional<RadixTerm> radix_term_of(const Expr& atom) {
    const auto* quotient = atom.as<FloorDiv>();
    const auto* remainder = atom.as<FloorMod>();
    if (!quotient && !remainder) return RadixTerm{.number = atom};
    const std::int64_t* by = as_int(quotient ? quotient->b : remainder->b);
    auto digit = radix_term_of(quotient ? quotient->a : remainder->a);
    if (!by || *by < 1 || !digit) return {};
    std::int64_t scaled = 0;
    if (__builtin_mul_overflow(digit->low, *by, &scaled)) return {};
    if (digit->high != 0 && digit->high % scaled != 0) return {};
    (quotient ? digit->low : digit->high) = scaled;
    return digit;
  }

  /// How many values a number has that takes each from 0 on once: a variable, or a sum of variables
  /// each of which weighs what the lighter ones count; 0 for others.
  std::int64_t values_of(const Expr& number) const {
    const auto form = forms_.read(number);
    if (!form || form->constant != 0) return 0;
    std::vector<IndexTerm> terms = form->terms;
    std::ranges::sort(terms, {}, [](const IndexTerm& term) { return term.coefficient; });
    std::int64_t count = 1;
    for (const IndexTerm& term : terms) {
      const auto counted = counted_term(term);  // Of loops that leave out values, another one.
      const bool is_counter = term.kind == Kind::variable && term.is_bounded && term.min == 0 &&
                              is_inner(term, inner_) && counted &&
                              counted->coefficient == term.coefficient;
      if (!is_counter || term.coefficient != count) return 0;
      if (__builtin_mul_overflow(count, term.max + 1, &count)) return 0;
    }
    return count;
  }

  /// True for different digits of one number, which has values enough for each with each: as many
  /// as a multiple of their weights.
  bool are_digits(const IndexTerm& a, const IndexTerm& b) const {
    auto first = radix_term_of(a.atom), second = radix_term_of(b.atom);
    if (!first || !second || !structural_equal(first->number, second->number)) return false;
    if (first->low > second->low) std::swap(first, second);
    if (first->high == 0 || second->low % first->high != 0) return false;
    const std::int64_t weight = second->high != 0 ? second->high : second->low;
    const std::int64_t values = values_of(first->number);
    return values > 0 && values % weight == 0;
  }

  Ptr<Buffer> stored_;
  Ptr<Buffer> buffer_;
  const std::vector<Ptr<Var>>* axes_;
  IndexForms forms_;
  InnerVariables inner_;
  std::unordered_map<const Object*, const For*> loops_;
  std::vector<const For*> unsure_;  ///< Loops around that may have no iteration.
  std::vector<const BlockRealize*> blocks_;
  std::vector<Limit> limits_;
  std::vector<Store> stores_;
  std::vector<Ptr<For>> parted_;
  std::unordered_map<const For*, Ptr<Var>> outer_;  ///< Of those that were taken apart.
  std::vector<Ptr<Var>> steps_;                     ///< Within regions that calls write.
  bool is_conditional_ = false;
};

}  // namespace

std::optional<AffineRegion> must_write_region(const Schedule& schedule, NodeId from,
                                              const Ptr<Buffer>& buffer) {
  return StoreReader(schedule, from, buffer, buffer).box();
}

bool stores_throughout(const Schedule& schedule, NodeId from, const Ptr<Buffer>& buffer,
                       const std::vector<Ptr<IterVar>>& axes) {
  std::vector<Ptr<Var>> vars;
  std::vector<Expr> shape;
  AffineRegion domain;
  for (const auto& axis : axes) {
    vars.push_back(axis->var);
    shape.push_back(axis->dom->min + axis->dom->extent);
    const std::int64_t* min = as_int(axis->dom->min);
    const std::int64_t* extent = as_int(axis->dom->extent);
    AffineInterval& side = domain.sides.emplace_back();
    if (!min || *min == 0) continue;
    if (!extent) return false;
    side = {.is_whole = false, .low = *min, .high = *min + *extent - 1};
  }
  domain.buffer = decl_buffer(std::move(shape));
  const auto box = StoreReader(schedule, from, buffer, domain.buffer, &vars).box();
  return box && covers(*box, domain);
}

}  // namespace loopsmith
