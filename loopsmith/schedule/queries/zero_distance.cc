// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/zero_distance.h"

#include <algorithm>
#include <cstdlib>
#include <forward_list>
#include <numeric>
#include <utility>

#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

__int128 magnitude(__int128 number) {
  return number < 0 ? -number : number;
}

bool is_same_atom(const IndexTerm& a, const IndexTerm& b) {
  if (a.kind != b.kind) return false;
  if (a.atom.same_as(b.atom)) return true;
  return a.kind != IndexTerm::Kind::variable && structural_equal(a.atom, b.atom);
}

/// The atoms that have equal values in two accesses whenever these access one element.
///
/// Theorem (mixed radix). Let an index be `sum c_j t_j + r` in both accesses, with atoms t_j that
/// differ by less than D_j + 1 and remainders r that differ by at most R, and let |c_1| <= |c_2|
/// <= ... If |c_k| > R + sum of |c_j| D_j over j < k, for k and all atoms that weigh more, equal
/// indices have equal t_k: otherwise the heaviest atom that differs would outweigh all the rest.
///
/// Lemma (lower digits). If r differs by a multiple of g in any two accesses, the atoms whose c_j
/// are no multiples of g, and whose sum of |c_j| D_j is below g, have equal sums in equal indices:
/// the theorem holds of them alone, with R = 0.
class EqualAtoms {
 public:
  EqualAtoms(const ElementAccesses& accesses, const ElementAccess& a, const ElementAccess& b,
             const Var& var, std::int64_t step)
      : accesses_(accesses), var_(var), step_(step == 0 ? 1 : std::abs(step)) {
    for (std::size_t d = 0; d < a.indices.size(); ++d) {
      if (!a.indices[d] || !b.indices[d]) continue;
      is_found_ = outweighs_all(*a.indices[d], *b.indices[d]);
      if (is_found_) return;
    }
    for (std::size_t d = 0; d < a.indices.size() && !is_found_; ++d) {
      if (!a.indices[d] || !b.indices[d]) continue;
      if (add(*a.indices[d], *b.indices[d])) find_in(indices_.back());  // One often suffices.
    }
  }

  /// True when the variable is one of them.
  bool have_variable() {
    for (bool changes = true; changes && !is_found_;) {
      changes = false;
      for (Index& index : indices_) changes = find_in(index) || changes;
      changes = join_digits() || changes;
    }
    return is_found_;
  }

 private:
  /// What two indices share, lightest first, and by how much the rest of them differs at most.
  struct Index {
    std::vector<const IndexTerm*, CellAllocator<const IndexTerm*>> shared;
    __int128 rest = 0;
  };

  /// True when the atom moves with variables that are defined inside.
  bool is_inner(const IndexTerm& term) const {
    return any_variable(
        term, [&](const Object* variable) { return accesses_.inside.contains(variable); });
  }

  /// The theorem at a glance: true when two indices are the same sum, in which the variable
  /// outweighs all else that moves.
  bool outweighs_all(const IndexForm& a, const IndexForm& b) {
    if (a.terms.size() != b.terms.size() || a.constant != b.constant) return false;
    const IndexTerm* own = nullptr;
    __int128 lighter = 0;
    for (std::size_t i = 0; i < a.terms.size(); ++i) {
      const IndexTerm& term = a.terms[i];
      if (!same_term(term, b.terms[i])) return false;
      if (term.atom.get() == &var_) {
        own = &term;
      } else if (term.kind != IndexTerm::Kind::variable || is_inner(term)) {
        if (!term.is_bounded) return false;
        lighter += magnitude(term.coefficient) * (static_cast<__int128>(term.max) - term.min);
      }
    }
    return own && weight(*own) > lighter;
  }

  /// Takes note of two indices, unless they share nothing that moves, or differ by what is not
  /// known.
  bool add(const IndexForm& a, const IndexForm& b) {
    Index index;
    __int128 constant = static_cast<__int128>(a.constant) - b.constant, low = 0, high = 0;
    std::int64_t step = 0;  // Of what is not shared.
    const auto widen = [&](const IndexTerm& term, int sign) {
      if (term.is_bounded && term.min == term.max) {
        constant += static_cast<__int128>(term.coefficient) * sign * term.min;
        return true;
      }
      if (!is_inner(term) || !term.is_bounded) return false;
      step = std::gcd(step, term.coefficient);
      const __int128 weight = static_cast<__int128>(term.coefficient) * sign;
      low += std::min(weight * term.min, weight * term.max);
      high += std::max(weight * term.min, weight * term.max);
      return true;
    };
    std::size_t count = 0;
    for (const IndexTerm& term : a.terms) {
      const bool is_shared = std::ranges::any_of(
          b.terms, [&](const IndexTerm& other) { return same_term(term, other); });
      count += is_shared;
      if (!is_shared && !widen(term, 1)) return false;
      if (is_shared && is_inner(term)) index.shared.push_back(&term);
    }
    for (const IndexTerm& term : b.terms) {
      if (count == b.terms.size()) break;
      const bool is_shared = std::ranges::any_of(
          a.terms, [&](const IndexTerm& other) { return same_term(term, other); });
      if (!is_shared && !widen(term, -1)) return false;
    }
    index.rest = std::max(magnitude(constant + low), magnitude(constant + high));
    std::ranges::sort(index.shared, {}, [&](const IndexTerm* term) { return weight(*term); });
    if (index.shared.empty()) return false;
    if (step > 1 && constant % step == 0) add_lower_digits(index, step);
    indices_.push_back(std::move(index));
    return true;
  }

  /// Takes note of the atoms that move an index by less than a step of the rest.
  void add_lower_digits(const Index& index, std::int64_t step) {
    Index digits;
    __int128 spread = 0;
    for (const IndexTerm* term : index.shared) {
      if (term->coefficient % step == 0) continue;
      if (!term->is_bounded) return;
      spread += magnitude(term->coefficient) * (static_cast<__int128>(term->max) - term->min);
      digits.shared.push_back(term);
    }
    if (spread < step) indices_.push_back(std::move(digits));
  }

  /// The least change of the index for a change of the atom.
  __int128 weight(const IndexTerm& term) const {
    const __int128 coefficient = magnitude(term.coefficient);
    return term.atom.get() == &var_ ? coefficient * step_ : coefficient;
  }

  /// True when the theorem tells more atoms than were known.
  bool find_in(Index& index) {
    std::erase_if(index.shared, [&](const IndexTerm* term) {
      return (term->is_bounded && term->min == term->max) || is_known(*term);
    });
    const std::size_t count = index.shared.size();
    std::size_t first = count;  // From here on, each outweighs all that are lighter.
    __int128 lighter = index.rest;
    for (std::size_t i = 0; i < count; ++i) {
      const IndexTerm& term = *index.shared[i];
      first = weight(term) > lighter ? std::min(first, i) : count;
      if (i + 1 == count) break;
      if (!term.is_bounded) return false;
      lighter += magnitude(term.coefficient) * (static_cast<__int128>(term.max) - term.min);
    }
    for (std::size_t i = first; i < count; ++i) {
      known_.push_back(index.shared[i]);
      is_found_ = is_found_ || index.shared[i]->atom.get() == &var_;
    }
    index.shared.resize(first);
    return first < count;
  }

  bool is_known(const IndexTerm& term) const {
    return std::ranges::any_of(known_,
                               [&](const IndexTerm* known) { return is_same_atom(*known, term); });
  }

  /// True when x // c and x % c have one c, a number or a variable.
  static bool are_by_the_same(const IndexTerm& high, const IndexTerm& low) {
    if (high.by != low.by) return false;
    return high.by != 0 || high.atom.as<FloorDiv>()->b.same_as(low.atom.as<FloorMod>()->b);
  }

  /// True when `low`, x % c, is number % c: the number is x, or x % (c * k).
  static bool has_digit(const Expr& number, const IndexTerm& low) {
    if (structural_equal(number, low.inner())) return true;
    const auto* remainder = number.as<FloorMod>();
    const std::int64_t* by = remainder ? as_int(remainder->b) : nullptr;
    return by && low.by != 0 && *by % low.by == 0 && structural_equal(remainder->a, low.inner());
  }

  /// x // c and x % c make x, whose own atoms are then asked; true when there is such an x.
  bool join_digits() {
    for (const IndexTerm* high : known_) {
      if (high->kind != IndexTerm::Kind::quotient || joined_.contains(high->atom.get())) continue;
      for (const IndexTerm* low : known_) {
        if (low->kind != IndexTerm::Kind::remainder || !are_by_the_same(*high, *low) ||
            !has_digit(high->inner(), *low)) {
          continue;
        }
        joined_.insert(high->atom.get());
        if (auto number = accesses_.forms.read(high->inner())) {
          const IndexForm& kept = numbers_.emplace_front(*std::move(number));
          add(kept, kept);
          return true;
        }
      }
    }
    return false;
  }

  const ElementAccesses& accesses_;
  const Var& var_;
  std::int64_t step_;
  std::vector<Index, CellAllocator<Index>> indices_;
  std::vector<const IndexTerm*, CellAllocator<const IndexTerm*>> known_;
  /// Those that digits were joined to; indices refer to them.
  std::forward_list<IndexForm> numbers_;
  std::unordered_set<const Object*> joined_;
  bool is_found_ = false;
};

}  // namespace

bool has_zero_distance(const ElementAccesses& accesses, const ElementAccess& a,
                       const ElementAccess& b, const Var& var, std::int64_t step) {
  return EqualAtoms(accesses, a, b, var, step).have_variable();
}

}  // namespace loopsmith
