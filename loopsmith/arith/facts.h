// SPDX-License-Identifier: Apache-2.0
// What an analyzer has been told. Private to this floor.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/arith/modular_set.h"
#include "loopsmith/arith/terms.h"

namespace loopsmith::arith {

/// What was told of one term.
struct Fact {
  ConstIntBound bound;
  ModularSet modular;
  Term value = Term::none;  ///< A variable is this term.
  Term low = Term::none;    ///< A variable is at least, and at most, this term.
  Term high = Term::none;
  std::int8_t truth = -1;  ///< A condition: 1 true, 0 false, -1 unknown.
};

/// Facts of terms, and differences of terms that are known to be at most a constant. What is added
/// can be taken back in the reverse order.
class Facts {
 public:
  /// A point to come back to.
  struct Mark {
    std::size_t changes;
    std::size_t differences;
    std::uint32_t epoch;
    std::uint32_t bindings;
  };

  explicit Facts(const Terms& terms) : terms_(terms) {}

  /// The number of this state: what was derived in a state of the same number still holds.
  std::uint32_t epoch() const { return epoch_; }
  bool empty() const { return changes_.empty() && facts_.empty(); }

  const Fact* find(Term term) const {
    const std::size_t i = index_of(term);
    return i < places_.size() && places_[i] != 0 ? &facts_[places_[i]] : nullptr;
  }
  /// Changes the fact of a term; `is_new` says that nothing has been derived from the term yet.
  template <class Change>
  void change(Term term, Change&& edit, bool is_new = false) {
    Fact& fact = place_of(term);
    changes_.push_back({term, fact});
    edit(fact);
    if (!is_new) epoch_ = ++last_epoch_;
  }
  /// Records that facts of variables changed, maybe without a new epoch.
  void note_binding() { ++bindings_; }

  /// Records a - b <= at_most.
  void add_difference(Term a, Term b, std::int64_t at_most);
  bool has_differences() const { return !differences_.empty(); }
  /// a - b <= at_most.
  struct Difference {
    Term a;
    Term b;
    std::int64_t at_most;
  };
  std::span<const Difference> differences() const { return differences_; }
  /// The least known c with a - b <= c, found along chains of differences; pos_inf if there is
  /// none.
  std::int64_t largest_difference(Term a, Term b) const;

  /// The terms that facts mention, and what to do when terms have got new numbers.
  std::vector<Term> mentioned() const;
  void rename(std::span<const Term> renamed);

  Mark mark() const { return {changes_.size(), differences_.size(), epoch_, bindings_}; }
  void restore(const Mark& mark);

 private:
  struct Change {
    Term term;
    Fact before;
  };
  Fact& place_of(Term term);

  const Terms& terms_;
  std::vector<std::uint32_t> places_;  ///< By term; 0: none.
  std::vector<Fact> facts_ = std::vector<Fact>(1);
  std::vector<Change> changes_;
  std::vector<Difference> differences_;
  std::uint32_t epoch_ = 1;
  std::uint32_t last_epoch_ = 1;
  std::uint32_t bindings_ = 0;
};

}  // namespace loopsmith::arith
