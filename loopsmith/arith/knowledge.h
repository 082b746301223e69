// SPDX-License-Identifier: Apache-2.0
// What follows from the facts, kept per term. Private to this floor.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/arith/facts.h"
#include "loopsmith/arith/modular_set.h"
#include "loopsmith/arith/terms.h"

namespace loopsmith::arith {

/// A value for each term, derived once in each state of the facts.
template <class Value>
class Memo {
 public:
  const Value* find(Term term, std::uint32_t epoch) const {
    const std::size_t i = index_of(term);
    return i < entries_.size() && entries_[i].epoch == epoch ? &entries_[i].value : nullptr;
  }
  void set(Term term, std::uint32_t epoch, const Value& value) {
    const std::size_t i = index_of(term);
    if (i >= entries_.size()) entries_.resize(i + i / 2 + 64);
    entries_[i] = {value, epoch};
  }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    Value value;
    std::uint32_t epoch = 0;
  };
  std::vector<Entry> entries_;
};

/// The terms, the facts, and the bounds and modular sets that follow.
class Knowledge {
 public:
  Terms terms;
  Facts facts{terms};

  /// The values that an integer term may take; of a vector, those of all its lanes.
  ConstIntBound bound(Term term);
  ModularSet modular(Term term);

  bool is_non_negative(Term term) { return bound(term).min_value >= 0; }
  /// Forgets the terms that no fact mentions, when they have become many. True when it did: then
  /// every term that anybody holds is void.
  bool compact();

  /// What a - b is at most, by bounds and known differences, also of the operands of minima and
  /// maxima.
  std::int64_t largest_difference(Term a, Term b);

 private:
  std::int64_t largest_difference(Term a, Term b, int extremes);
  ConstIntBound derive_bound(Term term);
  ConstIntBound derive_call_bound(Term term);
  ConstIntBound bound_of_whole_logarithm(Term term);
  ConstIntBound quotient_below_product(const TermNode& node);
  ModularSet derive_modular(Term term);
  ModularSet derive_call_modular(Term term);

  std::size_t compact_at_ = 1U << 16;  ///< So many terms.
  Memo<ConstIntBound> bounds_;
  Memo<ModularSet> modulars_;
};

/// A product of factors that are no constants, each as often as it occurs, and of a constant.
struct Product {
  std::vector<Term> factors;
  std::int64_t constant = 1;

  /// Takes factors out of the product; false where they are not all there.
  bool take(Term factor);
  bool take(const Product& others);
};
/// Nothing where the constant is beyond 64 bits.
std::optional<Product> product_of(const Terms& terms, Term term);

/// True when an integer type has the value.
bool fits(DataType type, std::int64_t value);

/// `term` as rest + offset, where the offset is a constant.
struct Offset {
  Term rest;
  std::int64_t offset;
};
Offset split_offset(const Terms& terms, Term term);

}  // namespace loopsmith::arith
