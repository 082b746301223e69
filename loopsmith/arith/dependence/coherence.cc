// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <optional>

#include "loopsmith/arith/dependence/mirror_structure.h"
#include "loopsmith/arith/dependence/version_checker.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace dependence {
namespace {

/// Accesses to a buffer and its mirror, and the places and elements that they stand for.
class CoherenceChecker : VersionChecker {
 public:
  CoherenceChecker(const Versions& versions, const TwoVersions& given, const Mirror& mirror)
      : VersionChecker(versions, given.operations),
        mirror_(mirror),
        is_allocated_(std::ranges::any_of(given.allocated_buffers, [&](const auto& buffer) {
          return buffer->data.same_as(mirror.buffer->data);
        })) {}

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
    Map both;          ///< From iterators to both.
  };

  bool is_of(const Access& one, const Ptr<Buffer>& buffer) const {
    return one.memory.defined() && one.memory.same_as(buffer->data);
  }

  void collect() {
    for (int i = versions_.first_access_after(); i < static_cast<int>(program_.accesses.size());
         ++i) {
      const Access& one = access(i);
      if (!one.memory.defined()) return give_up("a statement may access any memory");
      const bool is_mirrored = is_of(one, mirror_.copy);
      if (!is_mirrored && !is_of(one, mirror_.buffer)) continue;
      is_local_ = is_local_ && (is_mirrored || one.is_local);
      sets_.start();
      Use use{i,
              is_mirrored,
              versions_.original(one.statement) < 0,
              is_exact(i),
              sets_.element_map(one),
              element_of(i),
              {}};
      if (!is_plain(one, is_mirrored) || (!use.place.get() && !widen(use))) {
        return give_up(
            fmt::format("which elements of {} are used is not known", mirror_.buffer->name));
      }
      if (!use.element.get()) {
        return give_up(
            fmt::format("which elements {} stands for is not known", mirror_.copy->name));
      }
      if (!use.both.get()) {
        use.both = Map(isl_map_flat_range_product(use.place.copy(), use.element.copy()));
      }
      uses_.push_back(std::move(use));
    }
  }

  /// Takes an access that reads somewhere in its buffer as one that reads all of it, where the
  /// mirror has the place of each element.
  bool widen(Use& use) {
    const Access& one = access(use.access);
    const int original = versions_.original(one.statement);
    if (one.writes || one.whole || original < 0) return false;
    const Access& before = access(statement(original).first_access +
                                  (use.access - statement(one.statement).first_access));
    const auto is_same = [](const Expr& a, const Expr& b) {
      return a.defined() && b.defined() && structural_equal(a, b);
    };
    if (!std::ranges::equal(one.expressions, before.expressions, is_same)) return false;
    use.place = sets_.any_element(one);
    use.element = Map(use.place.copy());
    const unsigned rank = static_cast<unsigned>(one.index.size());
    Map both(isl_map_flat_range_product(use.place.copy(), use.place.copy()));
    for (unsigned i = 0; i < rank; ++i) {
      both = Map(isl_map_equate(both.take(), isl_dim_out, static_cast<int>(i), isl_dim_out,
                                static_cast<int>(rank + i)));
    }
    use.both = std::move(both);
    return use.place.get() != nullptr;
  }

  bool is_plain(const Access& one, bool is_mirrored) const {
    return one.buffer && one.buffer.same_as(is_mirrored ? mirror_.copy : mirror_.buffer);
  }

  /// The element of the original buffer for which an access stands; null where it is not known.
  Map element_of(int which) {
    const Access& one = access(which);
    if (is_of(one, mirror_.buffer)) return sets_.element_map(one);
    if (mirror_.keeps_indices) return sets_.element_map(one);
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

  bool may_fill_for(const Use& fill, const Use& read) const {
    return access(fill.access).writes && fill.is_mirrored == read.is_mirrored &&
           text_order(program_, statement_of(fill), statement_of(read)) != TextOrder::never;
  }
  bool is_fill_for(const Use& fill, const Use& read) const {
    return fill.is_certain && may_fill_for(fill, read);
  }

  /// From instances of a write to instances of a read after them, with the place and the element
  /// that these ask for, where `values` has them for the write.
  Map asked_after(const Use& write, const Map& values, const Use& read) const {
    Map pairs(isl_map_flat_range_product(precedes(statement_of(write), statement_of(read)).take(),
                                         values.copy()));
    Set asked(isl_set_flatten(isl_map_wrap(read.both.copy())));
    return Map(isl_map_intersect_range(pairs.take(), asked.take()));
  }

  /// A map from the same inputs to any value of as many dimensions as the other map has.
  Map anything_like(const Map& map) const {
    const auto inputs = static_cast<std::size_t>(isl_map_dim(map.get(), isl_dim_in));
    const auto outputs = static_cast<std::size_t>(isl_map_dim(map.get(), isl_dim_out));
    return Map(isl_map_universe(sets_.map_space(inputs, outputs)));
  }

  void check_read(const Use& read) {
    // What nothing outside sees has no first value to be copied.
    const bool may_have_none = is_allocated_ || access(read.access).is_local;
    if (read.is_mirrored || (read.is_copying && may_have_none)) check_filled(read);
    for (const Use& write : uses_) {
      if (is_over()) return;
      if (!access(write.access).writes) continue;
      if (text_order(program_, statement_of(write), statement_of(read)) == TextOrder::never)
        continue;
      const bool is_elsewhere = write.is_mirrored != read.is_mirrored;
      sets_.start();
      if (!write.is_copying) check_renewed(outdates(write, read), write, read);
      if (!is_elsewhere) check_renewed(overwrites(write, read), write, read);
    }
  }

  /// Writes, and reads after them that ask for the same element elsewhere. An instance that only
  /// fills up a padded copy is no write of an element.
  Map outdates(const Use& write, const Use& read) {
    Map element(write.element.copy());
    if (const auto written = write.is_mirrored ? elements_before(write) : std::nullopt) {
      element = Map(isl_map_intersect_range(element.take(), written->copy()));
    }
    const Map values(
        isl_map_flat_range_product(Map(isl_map_intersect_domain(place_of_other(write, read).take(),
                                                                isl_map_domain(element.copy())))
                                       .take(),
                                   element.copy()));
    Map all = asked_after(write, values, read);
    if (write.is_mirrored != read.is_mirrored) return all;
    return Map(isl_map_subtract(all.take(), asked_after(write, write.both, read).take()));
  }
  /// Any place in the buffer of the read.
  Map place_of_other(const Use& write, const Use& read) const {
    const auto inputs = static_cast<std::size_t>(isl_map_dim(write.element.get(), isl_dim_in));
    const auto rank = static_cast<std::size_t>(isl_map_dim(read.place.get(), isl_dim_out));
    return Map(isl_map_universe(sets_.map_space(inputs, rank)));
  }

  /// Writes of a place, and reads of it after them that ask for another element.
  Map overwrites(const Use& write, const Use& read) const {
    const Map values(
        isl_map_flat_range_product(write.place.copy(), anything_like(write.element).take()));
    return Map(isl_map_subtract(asked_after(write, values, read).take(),
                                asked_after(write, write.both, read).take()));
  }

  /// After each of these writes the place is filled again before it is read.
  void check_renewed(Map spoils, const Use& write, const Use& read) {
    if (isl_map_is_empty(spoils.get()) == isl_bool_true) return;
    for (const Use& fill : uses_) {
      if (!is_fill_for(fill, read)) continue;
      Map renewed = composed(precedes(statement_of(write), statement_of(fill)),
                             asked_after(fill, fill.both, read));
      spoils = Map(isl_map_subtract(spoils.take(), renewed.take()));
    }
    // By the names of both instances, without what is asked for.
    const int depth = static_cast<int>(statement(statement_of(read)).loops.size());
    const int all = static_cast<int>(isl_map_dim(spoils.get(), isl_dim_out));
    if (all >= depth) {
      spoils = Map(isl_map_project_out(spoils.take(), isl_dim_out, static_cast<unsigned>(depth),
                                       static_cast<unsigned>(all - depth)));
    }
    spoils = composed(reversed(names_of(write)), composed(std::move(spoils), names_of(read)));
    require_empty(LegalityQuestion::coherence, spoils, write.access, read.access,
                  is_exact(write.access) && is_exact(read.access));
  }

  Map names_of(const Use& use) {
    return sets_.form_map(statement(statement_of(use)), versions_.names(statement_of(use)));
  }

  /// The place was written for the element when it is read.
  void check_filled(const Use& read) {
    sets_.start();
    Set missing(isl_set_flatten(isl_map_wrap(read.both.copy())));
    bool is_known = is_exact(read.access);
    for (const Use& fill : uses_) {
      if (!may_fill_for(fill, read)) continue;
      is_known = is_known && fill.is_certain;
      if (!fill.is_certain) continue;
      Set filled(isl_map_range(asked_after(fill, fill.both, read).take()));
      missing = Set(isl_set_subtract(missing.take(), filled.take()));
    }
    if (is_allocated_ && !read.is_mirrored) remove_read_before(missing, read);
    const auto depth = static_cast<unsigned>(statement(statement_of(read)).loops.size());
    const int all = isl_set_dim(missing.get(), isl_dim_set);
    if (all >= static_cast<int>(depth)) {
      missing = Set(isl_set_project_out(missing.take(), isl_dim_set, depth,
                                        static_cast<unsigned>(all) - depth));
    }
    Map names(isl_map_intersect_domain(names_of(read).take(), missing.take()));
    require_empty(LegalityQuestion::coherence, Map(isl_map_from_range(isl_map_range(names.take()))),
                  read.access, read.access, is_known);
  }

  /// Takes away, of instances with what they ask for, those that ask for an element that the
  /// version before the step read and did not write: it had its first value.
  void remove_read_before(Set& missing, const Use& read) {
    std::optional<Set> elements;
    for (int i = 0; i < versions_.first_access_after(); ++i) {
      const Access& one = access(i);
      if (!is_of(one, mirror_.buffer)) continue;
      if (one.writes || !is_plain(one, false)) return;
      Map map = sets_.element_map(one);
      if (!map.get() || !is_exact(i)) continue;
      Set these(isl_map_range(map.take()));
      elements = elements ? Set(isl_set_union(elements->take(), these.take())) : std::move(these);
    }
    if (!elements) return;
    Set places(isl_set_flat_product(elements->copy(), elements->copy()));
    Map found(isl_map_intersect_range(read.both.copy(), places.take()));
    missing = Set(isl_set_subtract(missing.take(), isl_set_flatten(isl_map_wrap(found.take()))));
  }

  /// The elements that the original of a write wrote; null where the write is new or not known.
  std::optional<Set> elements_before(const Use& write) {
    const int original = versions_.original(statement_of(write));
    if (original < 0) return {};
    const int before = statement(original).first_access +
                       (write.access - statement(statement_of(write)).first_access);
    if (!is_of(access(before), mirror_.buffer)) return {};
    Map elements = sets_.element_map(access(before));
    if (!elements.get()) return {};
    return Set(isl_map_range(elements.take()));
  }

  /// What the mirror got is copied back.
  void check_end(const Use& write) {
    sets_.start();
    Map left(write.element.copy());
    if (const auto needed = elements_before(write)) {
      left = Map(isl_map_intersect_range(left.take(), needed->copy()));
    }
    for (const Use& fill : uses_) {
      if (fill.is_mirrored || !access(fill.access).writes || !fill.is_certain) continue;
      Map copied =
          composed(precedes(statement_of(write), statement_of(fill)), Map(fill.element.copy()));
      left = Map(isl_map_subtract(left.take(), copied.take()));
    }
    left = composed(reversed(Map(isl_map_copy(left.get()))), names_of(write));
    require_empty(LegalityQuestion::coherence, Map(isl_map_from_range(isl_map_range(left.take()))),
                  write.access, write.access, is_exact(write.access));
  }

  const Mirror& mirror_;
  std::vector<Use> uses_;
  const bool is_allocated_;  ///< In the function: what nothing wrote has no value.
  bool is_local_ = true;     ///< Nothing outside sees the buffer.
};

}  // namespace
}  // namespace dependence

PreservationAnswer keeps_values(const TwoVersions& versions, std::span<const Mirror> mirrors) {
  const dependence::Versions both(versions, true);
  PreservationAnswer answer;
  answer.reason = both.problem();
  if (answer.reason.empty()) answer.reason = dependence::change_besides_copies(both, mirrors);
  if (!answer.reason.empty()) {
    answer.verdict = Verdict::unknown;
    return answer;
  }
  for (const Mirror& mirror : mirrors) {
    check(!mirror.copy->data.same_as(mirror.buffer->data), "keeps_values",
          "{} and its mirror are one memory", mirror.buffer->name);
    answer = dependence::CoherenceChecker(both, versions, mirror).answer();
    if (!answer) break;
  }
  return answer;
}

}  // namespace loopsmith
