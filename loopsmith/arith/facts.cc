// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/facts.h"

#include <algorithm>

namespace loopsmith::arith {
namespace {
/// How many differences a chain may have.
constexpr int longest_chain = 4;
}  // namespace

Fact& Facts::place_of(Term term) {
  const std::size_t i = index_of(term);
  if (i >= places_.size()) places_.resize(std::max(i + 1, terms_.size()), 0);
  if (places_[i] == 0) {
    places_[i] = static_cast<std::uint32_t>(facts_.size());
    facts_.emplace_back();
  }
  return facts_[places_[i]];
}

void Facts::add_difference(Term a, Term b, std::int64_t at_most) {
  differences_.push_back({a, b, at_most});
  epoch_ = ++last_epoch_;
}

std::int64_t Facts::largest_difference(Term a, Term b) const {
  // Bellman and Ford's algorithm from `a`, cut short: chains of unequal terms are not long.
  struct Reached {
    Term term;
    std::int64_t at_most;
  };
  std::vector<Reached> reached{{a, 0}};
  const auto at = [&](Term term) { return std::ranges::find(reached, term, &Reached::term); };
  for (int step = 0; step < longest_chain; ++step) {
    bool changed = false;
    for (const Difference& known : differences_) {
      const auto from = at(known.a);
      if (from == reached.end()) continue;
      const std::int64_t sum = add(point(from->at_most), point(known.at_most)).max_value;
      const auto to = at(known.b);
      if (to == reached.end()) {
        reached.push_back({known.b, sum});
        changed = true;
      } else if (sum < to->at_most) {
        to->at_most = sum;
        changed = true;
      }
    }
    if (!changed) break;
  }
  const auto found = at(b);
  return found == reached.end() ? ConstIntBound::pos_inf : found->at_most;
}

std::vector<Term> Facts::mentioned() const {
  std::vector<Term> terms;
  const auto add_fact = [&](const Fact& fact) {
    for (const Term term : {fact.value, fact.low, fact.high}) terms.push_back(term);
  };
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] == 0) continue;
    terms.push_back(Term{static_cast<std::uint32_t>(i)});
    add_fact(facts_[places_[i]]);
  }
  for (const Change& change : changes_) add_fact(change.before);
  for (const Difference& difference : differences_) {
    terms.push_back(difference.a);
    terms.push_back(difference.b);
  }
  return terms;
}

void Facts::rename(std::span<const Term> renamed) {
  const auto rename_term = [&](Term& term) { term = renamed[index_of(term)]; };
  const auto rename_fact = [&](Fact& fact) {
    for (Term* term : {&fact.value, &fact.low, &fact.high}) rename_term(*term);
  };
  std::vector<std::uint32_t> places(terms_.size(), 0);
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] != 0) places[index_of(renamed[i])] = places_[i];
  }
  places_ = std::move(places);
  for (Fact& fact : facts_) rename_fact(fact);
  for (Change& change : changes_) {
    rename_term(change.term);
    rename_fact(change.before);
  }
  for (Difference& difference : differences_) {
    rename_term(difference.a);
    rename_term(difference.b);
  }
}

void Facts::restore(const Mark& mark) {
  while (changes_.size() > mark.changes) {
    const Change& last = changes_.back();
    facts_[places_[index_of(last.term)]] = last.before;
    changes_.pop_back();
  }
  differences_.resize(mark.differences);
  epoch_ = mark.bindings == bindings_ ? mark.epoch : ++last_epoch_;
}

}  // namespace loopsmith::arith
