// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/preservation.h"

#include <fmt/format.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <map>

#include "loopsmith/arith/dependence/distances.h"
#include "loopsmith/arith/dependence/version_checker.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace dependence {
namespace {

Map copied(const Map& map) {
  return Map(map.copy());
}

/// Statements that run at other times.
class MotionChecker : VersionChecker {
 public:
  MotionChecker(const Versions& versions, const TwoVersions& given)
      : VersionChecker(versions, given.operations), may_add_(given.may_add) {}

  PreservationAnswer answer() && {
    find_moved();
    if (!is_over()) check_instances();
    const int count = versions_.first_access_after();
    for (int a = 0; a < count && !is_over(); ++a) {
      for (int b = 0; b < count && !is_over(); ++b) check_pair(a, b);
    }
    for (int a = 0; a < count && !is_over(); ++a) check_own_reads(a);
    return std::move(answer_);
  }

 private:
  bool is_moved(int which) const { return moved_[static_cast<std::size_t>(which)]; }
  /// True when what is asked of the access's names is asked of what runs.
  bool is_known(int which) const {
    return is_exact(which) && !is_ambiguous_[static_cast<std::size_t>(access(which).statement)];
  }

  void find_moved() {
    for (int s = 0; s < versions_.border(); ++s) {
      const std::vector<int>& copies = versions_.copies(s);
      const bool is_same = versions_.stays(s);
      moved_.push_back(!is_same);
      is_injective_.push_back(true);
      repeats_.push_back(false);
      is_ambiguous_.push_back(false);
      if (is_same && !is_stable(s)) {
        sets_.start();
        is_ambiguous_.back() = versions_.is_stable(s) && !runs_each_once(s);
        continue;
      }
      if (!versions_.are_named(s)) {
        return give_up(fmt::format("the instances of `{}` are not known", statement(s).node));
      }
      sets_.start();
      if (!runs_each_once(s)) {
        is_injective_.back() = false;
        repeats_.back() = true;
        if (!is_stable(s) || !runs_once(s)) {
          return give_up(
              fmt::format("instances of `{}` run more than once already", statement(s).node));
        }
      }
      if (is_same) continue;
      for (const int loop : statement(s).loops) refuse_control(loop);
      Set all;
      for (const int copy : copies) {
        for (const int loop : statement(copy).loops) refuse_control(loop);
        Map names = names_of(copy);
        if (isl_map_is_injective(names.get()) != isl_bool_true) is_injective_.back() = false;
        Set values(isl_map_range(names.take()));
        if (all.get() && isl_set_is_disjoint(all.get(), values.get()) != isl_bool_true) {
          is_injective_.back() = false;
        }
        all = all.get() ? Set(isl_set_union(all.take(), values.take())) : std::move(values);
      }
    }
    // The statements of a block run together.
    for (int s = 0; s < versions_.border(); ++s) {
      for (int t = 0; t < versions_.border(); ++t) {
        const bool is_together =
            statement(s).block >= 0 && statement(s).block == statement(t).block;
        if (is_together && !is_injective(t)) is_injective_[static_cast<std::size_t>(s)] = false;
      }
    }
  }

  /// Stable, and each element is written by one instance (of a reduction, for one result).
  bool is_stable(int s) {
    if (!versions_.is_stable(s)) return false;
    return has_stable_elements(statement(s).block);
  }

  /// True when each element of the block, and of the blocks that write what it reads in the same
  /// loops, is written by one instance.
  bool has_stable_elements(int block) {
    const auto [known, is_new] = has_own_elements_.try_emplace(block, false);
    if (!is_new) return known->second;
    const bool is_own = find_own_elements(block) && have_inputs_own_elements(block);
    return has_own_elements_[block] = is_own;
  }

  bool have_inputs_own_elements(int block) {
    const int count = versions_.first_access_after();
    for (int i = 0; i < count; ++i) {
      const int s = access(i).statement;
      if (access(i).writes || statement(s).block != block) continue;
      for (int k = 0; k < count; ++k) {
        const int t = access(k).statement;
        const bool is_input = access(k).writes && statement(t).block != block &&
                              may_conflict(access(i), access(k)) &&
                              text_order(program_, t, s) != TextOrder::always;
        if (is_input && !has_stable_elements(statement(t).block)) return false;
      }
    }
    return true;
  }

  bool find_own_elements(int block) {
    sets_.start();
    for (int s = 0; s < versions_.border(); ++s) {
      if (statement(s).block != block) continue;
      for (int i = statement(s).first_access;
           i < statement(s).first_access + statement(s).access_count; ++i) {
        if (!access(i).writes) continue;
        for (int k = 0; k < versions_.first_access_after(); ++k) {
          const int t = access(k).statement;
          if (statement(t).block != block || !access(k).writes ||
              !may_conflict(access(i), access(k)))
            continue;
          if (!versions_.are_named(s) || !versions_.are_named(t)) return false;
          Map both = composed(reversed(names_of(s)), composed(conflicts(i, k), names_of(t)));
          both = Map(isl_map_subtract(both.take(), same_run(s, t).take()));
          if (isl_map_is_empty(both.get()) != isl_bool_true) return false;
        }
      }
    }
    return true;
  }

  void refuse_control(int loop) {
    const std::string& control = program_.loops[static_cast<std::size_t>(loop)].control;
    if (!control.empty()) give_up(fmt::format("how often a loop runs is up to its `{}`", control));
  }

  /// True when no instance happens twice in an iteration of the loops that the block shares.
  bool runs_once(int s) {
    std::vector<Linear> forms = versions_.names(s);
    for (int level = 0; level < versions_.run_depth(s); ++level) {
      const int loop = statement(s).loops[static_cast<std::size_t>(level)];
      forms.push_back(linear_of(program_.loops[static_cast<std::size_t>(loop)].iterator));
    }
    return isl_map_is_injective(sets_.form_map(statement(s), forms).get()) == isl_bool_true;
  }

  /// True when no instance of a statement happens twice, in whichever of its parts.
  bool runs_each_once(int s) {
    if (isl_map_is_injective(names_of(s).get()) != isl_bool_true) return false;
    return std::ranges::all_of(versions_.parts(s), [&](int other) {
      return other == s ||
             isl_set_is_disjoint(named({s}).get(), named({other}).get()) == isl_bool_true;
    });
  }

  bool is_injective(int s) const { return is_injective_[static_cast<std::size_t>(s)]; }

  Map names_of(int s) { return sets_.form_map(statement(s), versions_.names(s)); }

  /// The names of all copies of a statement.
  Set named(const std::vector<int>& statements) {
    Set all;
    for (const int s : statements) {
      Set names(isl_map_range(names_of(s).take()));
      all = all.get() ? Set(isl_set_union(all.take(), names.take())) : std::move(names);
    }
    return all;
  }

  static Map as_map(Set set) { return Map(isl_map_from_range(set.take())); }

  void check_instances() {
    for (int s = 0; s < versions_.border() && !is_over(); ++s) {
      if (!is_moved(s)) continue;
      sets_.start();
      const std::vector<int>& copies = versions_.copies(s);
      const int any = statement(s).first_access;
      const bool is_placed = versions_.is_placed_exactly(s);
      const bool is_all_placed =
          std::ranges::all_of(copies, [&](int copy) { return versions_.is_placed_exactly(copy); });
      const int seen = visible_write(s);
      if ((!may_add_ || seen >= 0) && !copies.empty()) {
        // What is not exact before may be more than what runs.
        if (!is_placed) {
          return give_up(
              fmt::format("which instances of `{}` run is not known", statement(s).node));
        }
        require_subset(LegalityQuestion::add, as_map(named(copies)),
                       as_map(named(versions_.parts(s))), any, any, is_all_placed);
      }
      if (seen < 0) continue;
      if (!is_all_placed) {
        return give_up(fmt::format("which instances of `{}` run is not known", statement(s).node));
      }
      Map whole = copies.empty() ? Map() : as_map(named(copies));
      require_subset(LegalityQuestion::leave_out, as_map(named({s})), std::move(whole), seen, seen,
                     true);
    }
  }

  /// The access by which the statement writes what is visible outside, or -1.
  int visible_write(int s) const {
    const Statement& one = statement(s);
    for (int i = one.first_access; i < one.first_access + one.access_count; ++i) {
      if (access(i).writes && !access(i).is_local) return i;
    }
    return -1;
  }

  /// a before b, in the version before.
  void check_pair(int a, int b) {
    const int s = access(a).statement, t = access(b).statement;
    if (!may_conflict(access(a), access(b))) return;
    if (is_reduction_pair(access(a), access(b)) && !access(a).is_init && !access(b).is_init) return;
    if (text_order(program_, s, t) == TextOrder::never) return;
    if (!is_moved(s) && !is_moved(t) && keep_their_order(s, t)) return;
    const bool has_one_value = access(a).writes && is_stable(s);
    if (access(a).writes && !access(b).writes && (is_moved(s) || has_one_value)) {
      return check_cover(a, b);
    }
    for (const int first : versions_.copies(s)) {
      for (const int second : versions_.copies(t)) {
        if (is_over()) return;
        if (text_order(program_, second, first) == TextOrder::never) continue;
        sets_.start();
        Map turned = composed(reversed(names_of(first)), reversed(precedes(second, first)));
        turned = composed(std::move(turned), names_of(second));
        Map conflict = named_conflicts(a, b);
        if (!access(a).writes && is_stable(t)) {
          // An instance that wrote what is read writes the same when it runs again.
          conflict = Map(isl_map_subtract(conflict.take(), reversed(named_conflicts(b, a)).take()));
        }
        require_empty(LegalityQuestion::order, intersected(std::move(conflict), std::move(turned)),
                      a, b, is_known(a) && is_known(b));
      }
    }
  }

  /// True when two statements that are in place have the loops in common that they had.
  bool keep_their_order(int s, int t) const {
    return versions_.have_same_order(s, t, versions_.copies(s)[0], versions_.copies(t)[0]);
  }

  /// From names to names: of instances of which the first runs before the second, and accesses what
  /// it accesses. Those of one macro instance that runs more than once are left out.
  Map named_conflicts(int a, int b) {
    const int s = access(a).statement, t = access(b).statement;
    Map map = intersected(conflicts(a, b), precedes(s, t));
    map = composed(reversed(names_of(s)), composed(std::move(map), names_of(t)));
    if (is_within(s, t)) {
      map = Map(isl_map_subtract(map.take(), same_run(s, t).take()));
    }
    return map;
  }

  /// True when both statements are of one block that runs its instances more than once.
  bool is_within(int s, int t) const {
    return statement(s).block >= 0 && statement(s).block == statement(t).block && !is_injective(s);
  }

  /// Names of two statements of a block that are of the same instance; of a reduction, of the same
  /// result.
  Map same_run(int s, int t) const {
    Map map(
        isl_map_universe(sets_.map_space(versions_.names(s).size(), versions_.names(t).size())));
    for (const int axis : versions_.result_axes(s)) {
      map = AffineSets::related(std::move(map), isl_dim_in, axis, axis, Order::equal);
    }
    return map;
  }

  /// Each copy of the reader finds a copy of the writer before it.
  void check_cover(int a, int b) {
    const int s = access(a).statement, t = access(b).statement;
    for (const int reader : versions_.copies(t)) {
      if (is_over()) return;
      sets_.start();
      // From names of writers to instances that read: several of these may have one name.
      Map wanted = composed(named_conflicts(a, b), reversed(names_of(reader)));
      for (const int writer : versions_.copies(s)) {
        if (!versions_.is_placed_exactly(writer)) continue;
        Map found = composed(reversed(names_of(writer)), precedes(writer, reader));
        wanted = Map(isl_map_subtract(wanted.take(), found.take()));
      }
      require_empty(LegalityQuestion::cover, composed(std::move(wanted), names_of(reader)), a, b,
                    is_known(a) && is_known(b));
    }
  }

  // ---- Blocks that run their instances more than once ----

  /// What an instance reads of its own element, its run wrote before.
  void check_own_reads(int a) {
    const int s = access(a).statement;
    if (!is_moved(s) || is_injective(s) || statement(s).block < 0) return;
    bool has_own = false;
    const int count = versions_.first_access_after();
    for (int b = 0; b < count; ++b) {
      const int t = access(b).statement;
      if (statement(t).block != statement(s).block || !may_conflict(access(a), access(b))) continue;
      has_own = has_own || access(b).writes;
    }
    if (!has_own) return;
    std::vector<int> runs = versions_.copies(s);
    // What ran more than once before the step did the same each time, too.
    if (repeats_[static_cast<std::size_t>(s)]) runs.push_back(s);
    for (const int copy : runs) {
      if (is_over()) return;
      if (access(a).writes) {
        check_runs(s, copy);
      } else {
        check_own_read(a, copy);
      }
    }
  }

  void check_own_read(int a, int copy) {
    const int s = access(a).statement;
    sets_.start();
    const int read = statement(copy).first_access + (a - statement(s).first_access);
    std::vector<int> writes;
    for (std::size_t i = 0; i < program_.accesses.size(); ++i) {
      const Access& other = program_.accesses[i];
      if (other.writes && statement(other.statement).block == statement(copy).block &&
          statement(other.statement).is_exact && are_comparable(other, access(read))) {
        writes.push_back(static_cast<int>(i));
      }
    }
    if (versions_.is_written_before(read, writes, versions_.run_depth(copy))) return;
    require_empty(LegalityQuestion::repeat, Map(), a, a, false);
    answer_.reason =
        fmt::format("`{}` runs more than once, and reads what it wrote itself", statement(s).node);
  }

  /// A run of a reduction that has one of its updates has all of them.
  void check_runs(int s, int copy) {
    const std::vector<int> results = versions_.result_axes(s);
    if (results.size() == versions_.names(s).size()) return;
    sets_.start();
    if (!versions_.is_placed_exactly(copy) || !versions_.is_placed_exactly(s)) {
      return give_up(fmt::format("which instances of `{}` run is not known", statement(copy).node));
    }
    if (!runs_once(copy)) {
      return give_up(fmt::format("`{}` would run more than once", statement(copy).node));
    }
    // (run, name) for each instance.
    std::vector<Linear> forms;
    const int depth = versions_.run_depth(copy);
    for (int level = 0; level < depth; ++level) {
      const int loop = statement(copy).loops[static_cast<std::size_t>(level)];
      forms.push_back(linear_of(program_.loops[static_cast<std::size_t>(loop)].iterator));
    }
    const Map runs = sets_.form_map(statement(copy), forms);
    Map done = composed(reversed(copied(runs)), names_of(copy));
    Map wanted = composed(copied(done), same_run(s, s));
    wanted = Map(isl_map_intersect_range(wanted.take(), named({s}).take()));
    const int any = statement(s).first_access;
    require_subset(LegalityQuestion::repeat, std::move(wanted), std::move(done), any, any, true);
  }

  const bool may_add_;
  std::vector<bool> moved_;
  std::vector<bool> is_injective_;
  std::vector<bool> repeats_;             ///< Some instance runs more than once before the step.
  std::vector<bool> is_ambiguous_;        ///< Instances with one name may compute different values.
  std::map<int, bool> has_own_elements_;  ///< By block.
};

}  // namespace
}  // namespace dependence

std::string_view name_of(LegalityQuestion question) {
  constexpr std::string_view names[] = {"order",     "cover",       "repeat",  "leave_out", "add",
                                        "coherence", "concurrency", "regroup", "understood"};
  return names[static_cast<std::size_t>(question)];
}

PreservationAnswer keeps_results(const TwoVersions& versions) {
  const dependence::Versions both(versions, false);
  if (!both.problem().empty()) {
    PreservationAnswer answer;
    answer.verdict = Verdict::unknown;
    answer.reason = both.problem();
    return answer;
  }
  return dependence::MotionChecker(both, versions).answer();
}

}  // namespace loopsmith
