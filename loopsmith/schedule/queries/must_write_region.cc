// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/must_write_region.h"

#include <algorithm>
#include <cstdlib>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/certain_stores.h"
#include "loopsmith/schedule/queries/index_ratio.h"

namespace loopsmith {
namespace {

using Kind = IndexTerm::Kind;

/// The box that stores to a buffer are certain to fill.
class FilledBox {
 public:
  FilledBox(CertainStores read, const Ptr<Buffer>& buffer)
      : read_(std::move(read)), buffer_(buffer) {
    for (CertainStore& store : read_.all) cut_quotients(store);
  }

  std::optional<AffineRegion> box() const {
    std::optional<AffineRegion> all;
    for (const CertainStore& store : read_.all) {
      if (stores_nothing(store)) continue;
      const AffineRegion box = hull(store);
      all = all ? unite(*all, box) : box;
    }
    if (!all) return {};
    const bool is_filled = std::ranges::any_of(read_.all, [&](const CertainStore& store) {
      return !store.is_conditional && !stores_nothing(store) && fills(store) &&
             covers(hull(store), *all);
    });
    return is_filled ? all : std::nullopt;
  }

 private:
  /// The limit of a number of which indices are digits, where it is a number, too.
  const StoreLimit* limit_of_number(const std::vector<StoreLimit>& limits,
                                    const Expr& number) const {
    const auto form = read_.forms.read(number);
    const auto limit = std::ranges::find_if(limits, [&](const StoreLimit& each) {
      return form && as_int(each.limit) && each.value.constant == form->constant &&
             same_terms(each.value.terms, form->terms);
    });
    return limit == limits.end() ? nullptr : &*limit;
  }

  /// What is below a limit has quotients below one.
  void cut_quotients(CertainStore& store) const {
    for (auto& index : store.indices) {
      if (!index) continue;
      for (IndexTerm& term : index->terms) {
        if (term.kind != Kind::quotient || !term.is_bounded) continue;
        const StoreLimit* limit = limit_of_number(store.limits, term.inner());
        const std::int64_t last = limit ? *as_int(limit->limit) - 1 : -1;
        if (last >= 0) term.max = std::min(term.max, last / term.by);
      }
    }
  }

  /// True when a limit is that of a number of which indices are digits: `values_of` knows of it.
  /// A number that moves outside, too, may be beyond its limit, where nothing is stored.
  bool is_of_digits(const CertainStore& store, const StoreLimit& limit) const {
    const auto moves_inside = [&](const IndexTerm& term) { return is_inner(term, read_.inner); };
    if (!std::ranges::all_of(limit.value.terms, moves_inside)) return false;
    const auto is_digit = [&](const IndexTerm& term) {
      const auto digit = term.kind == Kind::variable ? std::nullopt : radix_term_of(term.atom);
      return digit && limit_of_number(store.limits, digit->number) == &limit;
    };
    return std::ranges::any_of(store.indices, [&](const auto& index) {
      return index && std::ranges::any_of(index->terms, is_digit);
    });
  }

  /// The limit of an index, or of the part of it that moves inside.
  const StoreLimit* limit_of(const CertainStore& store, const IndexForm& form) const {
    for (const StoreLimit& limit : store.limits) {
      if (limit.value.constant == form.constant && same_terms(limit.value.terms, form.terms)) {
        return &limit;
      }
    }
    IndexTerms moving;
    for (const IndexTerm& term : form.terms) {
      if (is_inner(term, read_.inner)) moving.push_back(term);
    }
    if (moving.empty() || moving.size() == form.terms.size()) return nullptr;
    for (const StoreLimit& limit : store.limits) {
      if (as_int(limit.limit) && same_terms(limit.value.terms, moving)) return &limit;
    }
    return nullptr;
  }

  /// The last value of the index that a limit of what moves inside lets it have, above its base.
  static std::optional<std::int64_t> last_below(const StoreLimit& limit, const IndexForm& form,
                                                const AffineInterval& side) {
    const std::int64_t* bound = as_int(limit.limit);
    const bool is_of_moving = limit.value.terms.size() + side.base.size() == form.terms.size();
    if (!bound || side.is_whole || !is_of_moving) return {};
    return form.constant - limit.value.constant + *bound - 1;
  }

  /// What an index runs through, as far as its limit lets it; from above its end where that lets
  /// nothing be stored.
  AffineInterval reach(const CertainStore& store, std::size_t dimension) const {
    const auto& form = store.indices[dimension];
    if (!form) return {};
    AffineInterval side = affine_interval_of(*form, read_.inner);
    if (const StoreLimit* limit = limit_of(store, *form)) {
      if (const auto last = last_below(*limit, *form, side)) side.high = std::min(side.high, *last);
    }
    return side;
  }

  bool stores_nothing(const CertainStore& store) const {
    for (std::size_t i = 0; i < store.indices.size(); ++i) {
      const AffineInterval side = reach(store, i);
      if (!side.is_whole && side.high < side.low) return true;
    }
    return false;
  }

  AffineInterval side(const CertainStore& store, std::size_t dimension) const {
    return clipped(reach(store, dimension), *buffer_, dimension);
  }

  AffineRegion hull(const CertainStore& store) const {
    AffineRegion box{.buffer = buffer_};
    for (std::size_t i = 0; i < store.indices.size(); ++i) box.sides.push_back(side(store, i));
    return box;
  }

  /// True when every element of its hull is stored to.
  bool fills(const CertainStore& store) const {
    IndexTerms used;
    std::vector<const StoreLimit*> of_indices;
    for (std::size_t i = 0; i < store.indices.size(); ++i) {
      if (!store.indices[i] || !is_filled(store, i, used)) return false;
      const StoreLimit* limit = limit_of(store, *store.indices[i]);
      if (!limit) continue;
      // Elsewhere the hull is not cut off where the stores are.
      const AffineInterval whole = affine_interval_of(*store.indices[i], read_.inner);
      const bool is_cut = last_below(*limit, *store.indices[i], whole).has_value();
      if (!is_cut && !structural_equal(limit->limit, buffer_->shape[i])) return false;
      of_indices.push_back(limit);
    }
    return std::ranges::all_of(store.limits, [&](const StoreLimit& limit) {
      return std::ranges::find(of_indices, &limit) != of_indices.end() ||
             is_of_digits(store, limit) || holds_in_buffer(store, limit);
    });
  }

  /// True when a limit cuts off nothing but what lies beyond the buffer: it is not reached where
  /// each index is below its dimension. `scale` times the value are multiples of indices and a
  /// rest.
  ///
  /// Of P[x, y], where x is 2 * i + j of 25, and y is 8 * k + l of 40, no element is cut off by
  /// 80 * i + 40 * j + 8 * k + l < 1000: that is 40 * x and less than 40, 40 * 24 + 39 at most.
  bool holds_in_buffer(const CertainStore& store, const StoreLimit& limit) const {
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

  bool is_filled(const CertainStore& store, std::size_t dimension, IndexTerms& used) const {
    const IndexForm& form = *store.indices[dimension];
    IndexTerms terms;
    for (const IndexTerm& term : form.terms) {
      if (!is_inner(term, read_.inner)) continue;
      const auto is_apart_from = [&](const auto& u) { return is_apart(store, u, term); };
      if (!std::ranges::all_of(used, is_apart_from)) return false;
      used.push_back(term);
      auto counted = counted_term(store, term);
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
  std::optional<IndexTerm> counted_term(const CertainStore& store, IndexTerm term) const {
    const auto step_of = [&](const Ref& variable) -> std::int64_t {
      const auto loop = read_.loops.find(variable.get());
      if (loop == read_.loops.end()) return 1;
      const std::int64_t* step = as_int(loop->second->step);
      return step ? std::abs(*step) : 0;
    };
    if (term.kind != Kind::variable) {
      const auto digit = radix_term_of(term.atom);
      const std::int64_t values = digit ? values_of(store, digit->number) : 0;
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
  bool runs_through(const CertainStore& store, std::size_t dimension, const IndexTerm& term,
                    std::int64_t reach) const {
    const auto loop = read_.loops.find(term.atom.get());
    if (loop == read_.loops.end() || term.coefficient != reach + 1) return false;
    const Expr& extent = loop->second->extent;
    const Expr& shape = buffer_->shape[dimension];
    if (term.coefficient == 1 && structural_equal(extent, shape)) return true;
    const StoreLimit* limit = limit_of(store, *store.indices[dimension]);
    Analyzer analyzer;
    const Expr reached = extent * int_imm(extent.dtype(), term.coefficient);
    if (!limit) return analyzer.can_prove_equal(reached, shape);
    return structural_equal(limit->limit, shape) &&
           analyzer.can_prove(reached >= shape, ProofStrength::symbolic_bound);
  }

  /// True when the atoms of two terms take their values independently of each other.
  bool is_apart(const CertainStore& store, const IndexTerm& a, const IndexTerm& b) const {
    const auto variables = [](const IndexTerm& term) {
      return term.kind == Kind::variable ? std::vector<Ptr<Var>>{Ptr<Var>::from(term.atom)}
                                         : free_variables(term.inner());
    };
    const auto of_b = variables(b);
    for (const auto& variable : variables(a)) {
      const bool is_shared =
          std::ranges::any_of(of_b, [&](const auto& other) { return other.same_as(variable); });
      if (is_shared && !are_digits(store, a, b)) return false;
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
  /// each of which weighs what the lighter ones count, as far as a limit lets it; 0 for others.
  std::int64_t values_of(const CertainStore& store, const Expr& number) const {
    const auto form = read_.forms.read(number);
    if (!form || form->constant != 0) return 0;
    IndexTerms terms = form->terms;
    std::ranges::sort(terms, {}, [](const IndexTerm& term) { return term.coefficient; });
    std::int64_t count = 1;
    for (const IndexTerm& term : terms) {
      const auto counted =
          counted_term(store, term);  // Of loops that leave out values, another one.
      const bool is_counter = term.kind == Kind::variable && term.is_bounded && term.min == 0 &&
                              is_inner(term, read_.inner) && counted &&
                              counted->coefficient == term.coefficient;
      if (!is_counter || term.coefficient != count) return 0;
      if (__builtin_mul_overflow(count, term.max + 1, &count)) return 0;
    }
    const StoreLimit* limit = limit_of_number(store.limits, number);
    return limit ? std::min(count, *as_int(limit->limit)) : count;
  }

  /// True for different digits of one number, which has values enough for each with each: as many
  /// as a multiple of their weights.
  bool are_digits(const CertainStore& store, const IndexTerm& a, const IndexTerm& b) const {
    auto first = radix_term_of(a.atom), second = radix_term_of(b.atom);
    if (!first || !second || !structural_equal(first->number, second->number)) return false;
    if (first->low > second->low) std::swap(first, second);
    if (first->high == 0 || second->low % first->high != 0) return false;
    const std::int64_t weight = second->high != 0 ? second->high : second->low;
    const std::int64_t values = values_of(store, first->number);
    return values > 0 && values % weight == 0;
  }

  CertainStores read_;
  Ptr<Buffer> buffer_;
};

}  // namespace

std::optional<AffineRegion> must_write_region(const Schedule& schedule, NodeId from,
                                              const Ptr<Buffer>& buffer) {
  return FilledBox(certain_stores(schedule, from, buffer, nullptr), buffer).box();
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
  const auto box = FilledBox(certain_stores(schedule, from, buffer, &vars), domain.buffer).box();
  return box && covers(*box, domain);
}

}  // namespace loopsmith
