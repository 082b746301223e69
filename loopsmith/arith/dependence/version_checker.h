// SPDX-License-Identifier: Apache-2.0
// What the checks of two versions have in common. Private to this folder; seen by the sources that
// speak to isl alone.
#pragma once
#include <cstdint>
#include <string>
#include <utility>

#include "loopsmith/arith/dependence/affine_sets.h"
#include "loopsmith/arith/dependence/versions.h"

namespace loopsmith::dependence {

/// Whether instances of one statement run before those of another, as the text alone says it.
enum class TextOrder : std::uint8_t { always, never, sometimes };

TextOrder text_order(const Program& program, int a, int b);

Map composed(Map first, Map second);
Map reversed(Map map);
Map intersected(Map a, Map b);

/// A check of two versions: their sets, and how it fails.
class VersionChecker {
 public:
  VersionChecker(const Versions& versions, unsigned operations)
      : versions_(versions), program_(versions.program()), sets_(program_, operations) {}

 protected:
  const Access& access(int i) const { return program_.accesses[static_cast<std::size_t>(i)]; }
  const Statement& statement(int i) const {
    return program_.statements[static_cast<std::size_t>(i)];
  }

  bool is_over() const { return answer_.verdict != Verdict::proved; }
  void give_up(std::string reason);

  /// Fails unless the set is empty. `a` and `b` are the accesses at fault; the map is from names of
  /// the one to those of the other. Where it is not `is_exact`, that is unknown.
  void require_empty(LegalityQuestion question, const Map& map, int a, int b, bool is_exact);
  /// Fails unless `part` is in `whole`, which is nothing where it is null.
  void require_subset(LegalityQuestion question, Map part, Map whole, int a, int b, bool is_exact);

  /// True when the access and what is around it are as they stand, not widened.
  bool is_exact(int which) const;
  static bool may_conflict(const Access& a, const Access& b);
  /// Pairs of instances that access one element, in the iteration that has memory of its own.
  Map conflicts(int a, int b);
  Map precedes(int a, int b) const { return sets_.precedes(a, b); }

  const Versions& versions_;
  const Program& program_;
  AffineSets sets_;
  PreservationAnswer answer_;

 private:
  void refuse(LegalityQuestion question, const Map& map, int a, int b, bool is_violated);
  std::string reason_for(int a, int b) const;
  /// Takes values of both sides' names from an element of a map between such names.
  void fill(const Map& map, int a, int b);
};

}  // namespace loopsmith::dependence
