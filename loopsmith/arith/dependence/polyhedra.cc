// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/polyhedra.h"

#include <fmt/format.h>
#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "loopsmith/arith/dependence/affine_sets.h"
#include "loopsmith/arith/dependence/distances.h"

namespace loopsmith::dependence {
class Polyhedra::Context {
 public:
  Context(const Program& program, unsigned operations)
      : program_(program), sets_(program, operations) {}

  template <class Question>
  Outcome find(const Question& question, bool smallest, Sample& sample) {
    if (sets_.is_exhausted()) return Outcome::unknown;
    sets_.start();
    const Outcome outcome = decide(question, smallest, sample);
    if (outcome == Outcome::unknown) sets_.fail();
    return outcome;
  }

  bool is_never_negative(int which, const Linear& linear) {
    if (sets_.is_exhausted()) return false;
    sets_.start();
    const isl_bool is_empty = sets_.is_never_negative(access(which), linear);
    if (is_empty < 0) sets_.fail();
    return is_empty == isl_bool_true;
  }

  bool covers(int read, const std::vector<int>& writes, int depth) {
    if (sets_.is_exhausted()) return false;
    // A union of what several writes cover, in a ring by its remainders, costs more than a
    // conflict.
    constexpr unsigned budgets = 10;
    sets_.start(budgets);
    const Access& reader = access(read);
    const auto is_linear = [&](const Access& access) {
      return are_comparable(access, reader) &&
             std::all_of(access.index.begin(), access.index.end(),
                         [](const auto& index) { return index.has_value(); });
    };
    if (!is_linear(reader)) return false;
    std::vector<std::size_t> positions(reader.index.size());
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    const Map wanted = sets_.element_map(reader, positions);
    // What the same iteration wrote suffices mostly.
    std::vector<Write> written;
    for (const bool earlier : {false, true}) {
      for (const int i : writes) {
        if (!is_linear(access(i))) continue;
        for (Map& order : orders(reader.statement, access(i).statement, depth, earlier)) {
          Map elements = sets_.element_map(access(i), positions);
          Map instances(isl_map_identity(isl_space_map_from_set(
              sets_.set_space(statement(access(i).statement).loops.size()))));
          Map both(isl_map_flat_range_product(instances.take(), elements.take()));
          written.push_back({&statement(access(i).statement),
                             Map(isl_map_apply_range(order.take(), both.take()))});
        }
      }
      const Map certain = certainly_written(written, 0, 0, statement(reader.statement));
      const isl_bool is_subset =
          certain.get() ? isl_map_is_subset(wanted.get(), certain.get()) : isl_bool_false;
      if (is_subset < 0) sets_.fail();
      if (is_subset != isl_bool_false) return is_subset == isl_bool_true;
    }
    return false;
  }

 private:
  const Access& access(int i) const { return sets_.access(i); }
  const Statement& statement(int i) const { return sets_.statement(i); }
  static Map related(Map map, isl_dim_type from, int source, int sink, Order order) {
    return AffineSets::related(std::move(map), from, source, sink, order);
  }

  /// From instances of statement `a` to those of `b` that run before them in one iteration of the
  /// first `depth` loops: in the same iteration of all loops around both, or in an earlier one.
  std::vector<Map> orders(int a, int b, int depth, bool earlier) const {
    isl_space* space = isl_space_map_from_domain_and_range(
        sets_.set_space(statement(a).loops.size()), sets_.set_space(statement(b).loops.size()));
    Map same(isl_map_universe(space));
    std::vector<Map> result;
    const int common = program_.common_depth(a, b);
    for (int level = 0; level < common; ++level) {
      if (earlier && level >= depth) {
        result.push_back(related(Map(same.copy()), isl_dim_in, level, level, Order::greater));
      }
      same = related(std::move(same), isl_dim_in, level, level, Order::equal);
    }
    if (!earlier && b < a) result.push_back(std::move(same));
    return result;
  }

  /// Instances of a reading statement, and those of a writing one before with what these write.
  struct Write {
    const Statement* statement;
    Map map;

    int depth() const { return static_cast<int>(statement->loops.size()); }
  };

  /// What was certainly written, with the first `kept` iterators of when. All of the writes are in
  /// the same branches of their first `level` choices. Null where nothing was.
  Map certainly_written(const std::vector<Write>& writes, std::size_t level, int kept,
                        const Statement& reader) const {
    Map all;
    const auto add = [&](Map more, int depth) {
      if (!more.get()) return;
      more = Map(isl_map_project_out(more.take(), isl_dim_out, static_cast<unsigned>(kept),
                                     static_cast<unsigned>(depth - kept)));
      all = all.get() ? Map(isl_map_union(all.take(), more.take())) : std::move(more);
    };
    std::map<int, std::vector<Write>> branches[2];
    std::map<int, int> depths;
    for (const Write& write : writes) {
      const std::vector<Choice>& choices = write.statement->choices;
      if (choices.size() == level) {
        add(Map(write.map.copy()), write.depth());
      } else {
        const Choice& choice = choices[level];
        depths[choice.number] = choice.depth;
        branches[choice.holds][choice.number].push_back({write.statement, Map(write.map.copy())});
      }
    }
    for (const auto& [number, depth] : depths) {
      Map parts[2];
      for (const bool holds : {false, true}) {
        parts[holds] = certainly_written(branches[holds][number], level + 1, depth, reader);
        // Where the reader runs, its own branch did.
        const auto is_same = [&](const Choice& choice) {
          return choice.number == number && choice.holds == holds;
        };
        if (!parts[holds].get() || !std::ranges::any_of(reader.choices, is_same)) continue;
        Map own(parts[holds].copy());
        for (int i = 0; i < depth; ++i) {
          own = related(std::move(own), isl_dim_in, i, i, Order::equal);
        }
        add(std::move(own), depth);
      }
      if (!parts[0].get() || !parts[1].get()) continue;
      add(Map(isl_map_intersect(parts[0].take(), parts[1].take())), depth);
    }
    return all;
  }

  int loop_count(int which) const {
    return static_cast<int>(statement(access(which).statement).loops.size());
  }

  Outcome decide(const Conflict& question, bool smallest, Sample& sample) {
    Map map(sets_.conflicts(question.source, question.sink).copy());
    for (const Relation& relation : question.relations) {
      map = related(std::move(map), isl_dim_in, relation.source, relation.sink, relation.order);
    }
    return sample_of(std::move(map), question.source, question.sink, smallest, sample);
  }

  /// Whether the map is empty; if not, values of the first inputs and outputs of an element.
  Outcome sample_of(Map map, int source, int sink, bool smallest, Sample& sample) {
    const isl_bool is_empty = isl_map_is_empty(map.get());
    if (is_empty < 0) return Outcome::unknown;
    if (is_empty) return Outcome::never;

    // One set of parameters, source and sink: parameters first, so that they come out smallest.
    Set set(isl_set_flatten(isl_map_wrap(map.take())));
    const unsigned parameters = count_of(sets_.parameters().size());
    set = Set(isl_set_move_dims(set.take(), isl_dim_set, 0, isl_dim_param, 0, parameters));
    Set small = smallest ? smallest_of(set) : Set();
    isl_point* point = isl_set_sample_point(small.get() ? small.take() : set.take());
    const bool filled =
        point && isl_point_is_void(point) == isl_bool_false && read(point, source, sink, sample);
    isl_point_free(point);
    return filled ? Outcome::found : Outcome::unknown;
  }

  /// The least element, with sizes that people like to see where they will do; null where that
  /// takes too long.
  Set smallest_of(const Set& set) {
    for (const int size : {1, 2, 3, 4, 8}) {
      if (sets_.parameters().empty()) break;
      Set fixed(set.copy());
      for (std::size_t i = 0; i < sets_.parameters().size(); ++i) {
        fixed = Set(isl_set_fix_si(fixed.take(), isl_dim_set, count_of(i), size));
      }
      if (isl_set_is_empty(fixed.get()) == isl_bool_false) return least(std::move(fixed));
    }
    return least(Set(set.copy()));
  }

  Set least(Set set) {
    const unsigned dims = count_of(static_cast<std::size_t>(isl_set_dim(set.get(), isl_dim_set)));
    for (unsigned i = 0; i < dims; ++i) {
      if (isl_set_dim_has_lower_bound(set.get(), isl_dim_set, i) != isl_bool_true) return set;
    }
    Set result(isl_set_lexmin(set.take()));
    if (!result.get()) {
      sets_.forgive();
    }
    return result;
  }

  bool read(isl_point* point, int source, int sink, Sample& sample) const {
    int position = 0;
    bool ok = true;
    const auto next = [&] {
      isl_val* number = isl_point_get_coordinate_val(point, isl_dim_set, position++);
      ok = ok && number && isl_val_is_int(number) == isl_bool_true &&
           isl_val_n_abs_num_chunks(number, sizeof(std::int64_t)) == 1;
      const std::int64_t result = ok ? isl_val_get_num_si(number) : 0;
      isl_val_free(number);
      return result;
    };
    sample = {};
    for (const Symbol parameter : sets_.parameters())
      sample.parameters.emplace_back(parameter, next());
    for (int i = loop_count(source); i > 0; --i) sample.source.push_back(next());
    for (int i = loop_count(sink); i > 0; --i) sample.sink.push_back(next());
    return ok;
  }

  const Program& program_;
  AffineSets sets_;
};

Polyhedra::Polyhedra(const Program& program, unsigned operations)
    : context_(std::make_unique<Context>(program, operations)) {}
Polyhedra::Polyhedra(Polyhedra&&) noexcept = default;
Polyhedra::~Polyhedra() = default;

bool Polyhedra::covers(int read, const std::vector<int>& writes, int depth) {
  return context_->covers(read, writes, depth);
}

Outcome Polyhedra::find(const Conflict& conflict, bool smallest, Sample& sample) {
  return context_->find(conflict, smallest, sample);
}

bool Polyhedra::is_never_negative(int access, const Linear& form) {
  return context_->is_never_negative(access, form);
}

}  // namespace loopsmith::dependence
