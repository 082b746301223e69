// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <optional>

#include "loopsmith/arith/dependence/version_checker.h"

namespace loopsmith {
namespace dependence {
namespace {

/// Accesses to a buffer and its mirror, and the places and elements that they stand for.
class CoherenceChecker : VersionChecker {
 public:
  CoherenceChecker(const Versions& versions, const TwoVersions& given, const Mirror& mirror)
      : VersionChecker(versions, given.operations), mirror_(mirror) {}

  PreservationAnswer answer() && {
    collect();
    for (const Use& read : uses_) {
      if (!is_over() && !access(read.access).writes) check_read(read);
    }
    for (const Use& write : uses_) {
      const bool is_hidden = write.is_mirrored && !write.is_copying && access(write.access).writes;
      if (!is_over() && is_hidden && !is_local_) check_end(write);
    }
    return std::move(answer_);
  }

 private:
  struct Use {
    int access;
    bool is_mirrored;  ///< Of the mirror; else of the buffer itself.
    bool is_copying;   ///< By a statement that is new, and copies between the two.
    bool is_certain;   ///< It happens exactly where the maps say.
    Map place;         ///< From iterators to the indices in its buffer.
    Map element;       ///< From iterators to the indices in the original buffer.
  };

  bool is_of(const Access& one, const Ptr<Buffer>& buffer) const {
    return one.memory.defined() && one.memory.same_as(buffer->data);
  }

  void collect() {
    for (int i = versions_.first_access_after(); i < static_cast<int>(program_.accesses.size());
         ++i) {
      const Access& one = access(i);
      if (!one.memory.defined()) return give_up("a statement may touch any memory");
      const bool is_mirrored = is_of(one, mirror_.copy);
      if (!is_mirrored && !is_of(one, mirror_.buffer)) continue;
      is_local_ = is_local_ && (is_mirrored || one.is_local);
      sets_.start();
      Use use{i,
              is_mirrored,
              versions_.original(one.statement) < 0,
              is_exact(i),
              sets_.element_map(one),
              element_of(i)};
      if (!use.place.get() || !use.element.get() || !is_plain(one, is_mirrored)) {
        return give_up(
            fmt::format("which elements of {} are used is not known", mirror_.buffer->name));
      }
      uses_.push_back(std::move(use));
    }
  }

  bool is_plain(const Access& one, bool is_mirrored) const {
    return one.buffer && one.buffer.same_as(is_mirrored ? mirror_.copy : mirror_.buffer);
  }

  /// The element of the original buffer for which an access stands; null where it is not known.
  Map element_of(int which) {
    const Access& one = access(which);
    if (is_of(one, mirror_.buffer)) return sets_.element_map(one);
    const int original = versions_.original(one.statement);
    if (original >= 0) {
      if (!versions_.is_in_place(original, one.statement)) return {};
      const int before =
          statement(original).first_access + (which - statement(one.statement).first_access);
      return is_of(access(before), mirror_.buffer) ? sets_.element_map(access(before)) : Map();
    }
    // A copy: what it reads or writes on the other side.
    const Statement& copying = statement(one.statement);
    for (int i = copying.first_access; i < copying.first_access + copying.access_count; ++i) {
      if (is_of(access(i), mirror_.buffer)) return sets_.element_map(access(i));
    }
    return {};
  }

  int statement_of(const Use& use) const { return access(use.access).statement; }

  /// From instances of the one to instances of the other with the same element, and place where
  /// both are of one buffer.
  Map same(const Use& a, const Use& b, bool in_place) const {
    Map map = composed(Map(a.element.copy()), reversed(Map(b.element.copy())));
    if (!in_place) return map;
    return intersected(std::move(map),
                       composed(Map(a.place.copy()), reversed(Map(b.place.copy()))));
  }

  /// Writes that put the element of `read` where it reads it, before it.
  Map filled_before(const Use& fill, const Use& read) const {
    return intersected(same(fill, read, true), precedes(statement_of(fill), statement_of(read)));
  }

  bool is_fill_for(const Use& fill, const Use& read) const {
    return access(fill.access).writes && fill.is_certain && fill.is_mirrored == read.is_mirrored &&
           text_order(program_, statement_of(fill), statement_of(read)) != TextOrder::never;
  }

  void check_read(const Use& read) {
    sets_.start();
    if (read.is_mirrored) check_filled(read);
    for (const Use& write : uses_) {
      if (is_over()) return;
      if (!access(write.access).writes) continue;
      if (text_order(program_, statement_of(write), statement_of(read)) == TextOrder::never)
        continue;
      const bool is_elsewhere = write.is_mirrored != read.is_mirrored;
      if (is_elsewhere && write.is_copying) continue;
      sets_.start();
      Map spoils = is_elsewhere ? same(write, read, false) : overwrites(write, read);
      spoils = intersected(std::move(spoils), precedes(statement_of(write), statement_of(read)));
      check_renewed(std::move(spoils), write, read);
    }
  }

  /// Pairs of a write and a read of one place that stand for different elements.
  Map overwrites(const Use& write, const Use& read) const {
    if (!read.is_mirrored)
      return Map(isl_map_empty(isl_map_get_space(same(write, read, false).get())));
    Map place = composed(Map(write.place.copy()), reversed(Map(read.place.copy())));
    return Map(isl_map_subtract(place.take(), same(write, read, false).take()));
  }

  /// After each of these writes the place is filled again before it is read.
  void check_renewed(Map spoils, const Use& write, const Use& read) {
    if (isl_map_is_empty(spoils.get()) == isl_bool_true) return;
    for (const Use& fill : uses_) {
      if (!is_fill_for(fill, read)) continue;
      Map renewed =
          composed(precedes(statement_of(write), statement_of(fill)), filled_before(fill, read));
      spoils = Map(isl_map_subtract(spoils.take(), renewed.take()));
    }
    require_empty(LegalityQuestion::coherence, spoils, write.access, read.access,
                  is_exact(write.access) && is_exact(read.access));
  }

  /// The mirror has the element when it is read.
  void check_filled(const Use& read) {
    Set missing(isl_map_domain(read.place.copy()));
    for (const Use& fill : uses_) {
      if (!is_fill_for(fill, read)) continue;
      Set filled(isl_map_range(filled_before(fill, read).take()));
      missing = Set(isl_set_subtract(missing.take(), filled.take()));
    }
    require_empty(LegalityQuestion::cover, Map(isl_map_from_range(missing.take())), read.access,
                  read.access, is_exact(read.access));
  }

  /// What the mirror got is copied back.
  void check_end(const Use& write) {
    sets_.start();
    Map left(write.element.copy());
    for (const Use& fill : uses_) {
      if (fill.is_mirrored || !access(fill.access).writes || !fill.is_certain) continue;
      Map copied =
          composed(precedes(statement_of(write), statement_of(fill)), Map(fill.element.copy()));
      left = Map(isl_map_subtract(left.take(), copied.take()));
    }
    require_empty(LegalityQuestion::coherence, left, write.access, write.access,
                  is_exact(write.access));
  }

  const Mirror& mirror_;
  std::vector<Use> uses_;
  bool is_local_ = true;  ///< Nothing outside sees the buffer.
};

}  // namespace
}  // namespace dependence

PreservationAnswer keeps_values(const TwoVersions& versions, const Mirror& mirror) {
  const dependence::Versions both(versions, true);
  if (!both.problem().empty()) {
    PreservationAnswer answer;
    answer.verdict = Verdict::unknown;
    answer.reason = both.problem();
    return answer;
  }
  return dependence::CoherenceChecker(both, versions, mirror).answer();
}

}  // namespace loopsmith
