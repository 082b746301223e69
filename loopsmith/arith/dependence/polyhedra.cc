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

#include "loopsmith/arith/dependence/distances.h"
#include "loopsmith/arith/dependence/isl_objects.h"

namespace loopsmith::dependence {
namespace {

/// After so many questions that did not end within their budget, no more are asked.
constexpr int most_failures = 10;

unsigned count_of(std::size_t size) {
  return static_cast<unsigned>(size);
}

}  // namespace

class Polyhedra::Context {
 public:
  Context(const Program& program, unsigned operations)
      : program_(program), operations_(operations), isl_(isl_ctx_alloc()) {
    isl_options_set_on_error(isl_, ISL_ON_ERROR_CONTINUE);
    for (std::size_t i = 0; i < program.symbols.size(); ++i) {
      if (program.symbols[i].kind == SymbolKind::parameter) {
        parameters_.push_back(static_cast<Symbol>(i));
      }
    }
    isl_space* space = isl_space_params_alloc(isl_, count_of(parameters_.size()));
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const std::string name = fmt::format("p{}", i);
      isl_id* id = isl_id_alloc(isl_, name.c_str(), nullptr);
      space = isl_space_set_dim_id(space, isl_dim_param, count_of(i), id);
    }
    parameter_space_ = ParameterSpace(space);
  }
  Context(const Context&) = delete;
  ~Context() {
    conflicts_.clear();
    parameter_space_ = {};
    isl_ctx_free(isl_);
  }

  template <class Question>
  Outcome find(const Question& question, bool smallest, Sample& sample) {
    if (failures_ >= most_failures) return Outcome::unknown;
    start();
    const Outcome outcome = decide(question, smallest, sample);
    if (outcome == Outcome::unknown) fail();
    return outcome;
  }

  bool is_never_negative(int which, const Linear& linear) {
    if (failures_ >= most_failures) return false;
    start();
    const Space space = space_of(access(which));
    const auto negative = sum(Linear{-1}, linear, -1);
    if (!negative) return false;
    std::vector<Symbol> maxima = program_.maxima_of(access(which));
    program_.find_maxima(linear, maxima);
    isl_bool is_empty = isl_bool_true;
    each_case(maxima, [&] {
      if (is_empty != isl_bool_true) return;
      const Set below = constrained(domain(access(which), space), space, *negative, false);
      is_empty = isl_set_is_empty(below.get());
    });
    if (is_empty < 0) fail();
    return is_empty == isl_bool_true;
  }

  bool covers(int read, const std::vector<int>& writes, int depth) {
    if (failures_ >= most_failures) return false;
    start();
    const Access& reader = access(read);
    const auto is_linear = [&](const Access& access) {
      return are_comparable(access, reader) &&
             std::all_of(access.index.begin(), access.index.end(),
                         [](const auto& index) { return index.has_value(); });
    };
    if (!is_linear(reader)) return false;
    std::vector<std::size_t> positions(reader.index.size());
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    const Map wanted = element_map(reader, positions);
    // What the same iteration wrote suffices mostly.
    std::vector<Write> written;
    for (const bool earlier : {false, true}) {
      for (const int i : writes) {
        if (!is_linear(access(i))) continue;
        for (Map& order : orders(reader.statement, access(i).statement, depth, earlier)) {
          Map elements = element_map(access(i), positions);
          Map instances(isl_map_identity(
              isl_space_map_from_set(set_space(statement(access(i).statement).loops.size()))));
          Map both(isl_map_flat_range_product(instances.take(), elements.take()));
          written.push_back({&statement(access(i).statement),
                             Map(isl_map_apply_range(order.take(), both.take()))});
        }
      }
      const Map certain = certainly_written(written, 0, 0, statement(reader.statement));
      const isl_bool is_subset =
          certain.get() ? isl_map_is_subset(wanted.get(), certain.get()) : isl_bool_false;
      if (is_subset < 0) fail();
      if (is_subset != isl_bool_false) return is_subset == isl_bool_true;
    }
    return false;
  }

 private:
  /// From here on, isl may spend a question's budget.
  void start() {
    isl_ctx_set_max_operations(isl_, operations_);
    isl_ctx_reset_operations(isl_);
  }
  void fail() {
    ++failures_;
    isl_ctx_reset_error(isl_);
  }

  /// Where forms are built: the iterators of a statement, then the locals of an access.
  struct Space {
    std::vector<Symbol> dims;
  };

  const Access& access(int i) const { return program_.accesses[static_cast<std::size_t>(i)]; }
  const Statement& statement(int i) const {
    return program_.statements[static_cast<std::size_t>(i)];
  }
  const SymbolInfo& symbol(Symbol i) const { return program_.symbols[static_cast<std::size_t>(i)]; }

  Space space_of(const Access& access) const {
    Space result;
    for (const int loop : statement(access.statement).loops) {
      result.dims.push_back(program_.loops[static_cast<std::size_t>(loop)].iterator);
    }
    result.dims.insert(result.dims.end(), access.locals.begin(), access.locals.end());
    return result;
  }

  isl_space* set_space(std::size_t dims) const {
    isl_space* space = isl_space_set_from_params(parameter_space_.copy());
    return isl_space_add_dims(space, isl_dim_set, count_of(dims));
  }
  isl_space* set_space(const Space& space) const { return set_space(space.dims.size()); }

  isl_val* value(std::int64_t number) const { return isl_val_int_from_si(isl_, number); }

  Aff zero(const Space& space) const {
    return Aff(isl_aff_zero_on_domain(isl_local_space_from_space(set_space(space))));
  }

  /// The form as an isl expression; null where it uses a symbol that the space does not have.
  Aff form(const Space& space, const Linear& linear) const {
    Aff result(isl_aff_set_constant_val(zero(space).take(), value(linear.constant)));
    for (const Term& term : linear.terms) {
      Aff part = symbol_form(space, term.symbol);
      if (!part.get()) return {};
      part = Aff(isl_aff_scale_val(part.take(), value(term.coefficient)));
      result = Aff(isl_aff_add(result.take(), part.take()));
    }
    return result;
  }

  Aff symbol_form(const Space& space, Symbol which) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i] == which) {
        return Aff(
            isl_aff_set_coefficient_si(zero(space).take(), isl_dim_param, static_cast<int>(i), 1));
      }
    }
    for (std::size_t i = 0; i < space.dims.size(); ++i) {
      if (space.dims[i] == which) {
        return Aff(
            isl_aff_set_coefficient_si(zero(space).take(), isl_dim_in, static_cast<int>(i), 1));
      }
    }
    const SymbolInfo& info = symbol(which);
    for (const Larger& known : larger_) {
      if (known.maximum == which) {
        return form(space, known.is_first ? info.dividend : info.other);
      }
    }
    if (info.kind != SymbolKind::quotient) return {};
    Aff dividend = form(space, info.dividend);
    if (!dividend.get()) return {};
    dividend = Aff(isl_aff_scale_down_val(dividend.take(), value(info.divisor)));
    return Aff(isl_aff_floor(dividend.take()));
  }

  Set constrained(Set set, const Space& space, const Linear& linear, bool is_equality) const {
    Aff aff = form(space, linear);
    if (!aff.get()) return set;
    isl_constraint* holds =
        is_equality ? isl_equality_from_aff(aff.take()) : isl_inequality_from_aff(aff.take());
    isl_set* added = isl_set_from_basic_set(isl_basic_set_from_constraint(holds));
    return Set(isl_set_intersect(set.take(), added));
  }

  Set constrained(Set set, const Space& space, const std::vector<Clause>& clauses) const {
    for (const Clause& clause : clauses) {
      Set pieces(isl_set_empty(set_space(space)));
      for (const Conjunction& piece : clause) {
        Set part(isl_set_universe(set_space(space)));
        for (const Constraint& constraint : piece) {
          part = constrained(std::move(part), space, constraint.form, constraint.is_equality);
        }
        pieces = Set(isl_set_union(pieces.take(), part.take()));
      }
      set = Set(isl_set_intersect(set.take(), pieces.take()));
    }
    return set;
  }

  /// The instances of the access, its locals last.
  Set domain(const Access& access, const Space& space) const {
    const Statement& owner = statement(access.statement);
    Set set(isl_set_universe(set_space(space)));
    for (const Symbol parameter : parameters_) {
      if (symbol(parameter).range.min_value == 0) {
        set = constrained(std::move(set), space, linear_of(parameter), false);
      }
    }
    for (const int which : owner.loops) {
      const Loop& loop = program_.loops[static_cast<std::size_t>(which)];
      set = constrained(std::move(set), space, linear_of(loop.iterator), false);
      for (const Linear& extent : loop.extents) {
        set = below(std::move(set), space, loop.iterator, extent);
      }
    }
    for (const Larger& known : larger_) {
      const SymbolInfo& info = symbol(known.maximum);
      auto excess =
          known.is_first ? sum(info.dividend, info.other, -1) : sum(info.other, info.dividend, -1);
      if (excess && !known.is_first) excess = sum(*excess, Linear{-1});
      if (excess) set = constrained(std::move(set), space, *excess, false);
    }
    for (const Symbol local : access.locals) {
      set = constrained(std::move(set), space, linear_of(local), false);
      set = below(std::move(set), space, local, symbol(local).extent);
    }
    set = constrained(std::move(set), space, owner.guards);
    return constrained(std::move(set), space, access.guards);
  }

  Set below(Set set, const Space& space, Symbol which, const Linear& extent) const {
    auto rest = sum(extent, linear_of(which), -1);
    if (rest) rest = sum(*rest, Linear{-1});
    return rest ? constrained(std::move(set), space, *rest, false) : std::move(set);
  }

  /// Calls `visit` for each way in which the maxima may turn out.
  template <class Visit>
  void each_case(const std::vector<Symbol>& maxima, Visit&& visit) {
    for (std::size_t ways = 0; ways < (std::size_t{1} << maxima.size()); ++ways) {
      larger_.clear();
      for (std::size_t i = 0; i < maxima.size(); ++i) {
        larger_.push_back({maxima[i], (ways >> i & 1) == 0});
      }
      visit();
    }
    larger_.clear();
  }

  /// From the iterators of the access to those positions of its index that are in `positions`.
  Map element_map(const Access& access, const std::vector<std::size_t>& positions) {
    Map result;
    each_case(program_.maxima_of(access), [&] {
      Map part = element_map_in_case(access, positions);
      result = result.get() ? Map(isl_map_union(result.take(), part.take())) : std::move(part);
    });
    return result;
  }

  Map element_map_in_case(const Access& access, const std::vector<std::size_t>& positions) const {
    const Space space = space_of(access);
    isl_aff_list* forms = isl_aff_list_alloc(isl_, static_cast<int>(positions.size()));
    for (const std::size_t position : positions) {
      Aff aff = form(space, *access.index[position]);
      forms = isl_aff_list_add(forms, aff.take());
    }
    isl_space* from = set_space(space);
    isl_space* map_space = isl_space_map_from_domain_and_range(from, set_space(positions.size()));
    Map map(isl_map_from_multi_aff(isl_multi_aff_from_aff_list(map_space, forms)));
    map = Map(isl_map_intersect_domain(map.take(), domain(access, space).take()));
    const unsigned locals = count_of(access.locals.size());
    return Map(
        isl_map_project_out(map.take(), isl_dim_in, count_of(space.dims.size()) - locals, locals));
  }

  /// From instances of `a` to instances of `b` that touch the same element, in any order.
  const Map& conflicts(int a, int b) {
    const auto [found, is_new] = conflicts_.try_emplace({a, b});
    if (is_new || !found->second.get()) {
      std::vector<std::size_t> positions;
      if (are_comparable(access(a), access(b))) {
        for (std::size_t i = 0; i < access(a).index.size(); ++i) {
          if (access(a).index[i] && access(b).index[i]) positions.push_back(i);
        }
      }
      Map left = element_map(access(a), positions);
      Map right(isl_map_reverse(element_map(access(b), positions).take()));
      found->second = Map(isl_map_apply_range(left.take(), right.take()));
    }
    return found->second;
  }

  /// Relates position `source` of the map's side `from` with position `sink` of its outputs.
  static Map related(Map map, isl_dim_type from, int source, int sink, Order order) {
    isl_map* before = map.take();
    if (order == Order::equal) return Map(isl_map_equate(before, from, source, isl_dim_out, sink));
    if (order == Order::less) {
      return Map(isl_map_order_lt(before, from, source, isl_dim_out, sink));
    }
    return Map(isl_map_order_gt(before, from, source, isl_dim_out, sink));
  }

  /// From instances of statement `a` to those of `b` that run before them in one iteration of the
  /// first `depth` loops: in the same iteration of all loops around both, or in an earlier one.
  std::vector<Map> orders(int a, int b, int depth, bool earlier) const {
    isl_space* space = isl_space_map_from_domain_and_range(set_space(statement(a).loops.size()),
                                                           set_space(statement(b).loops.size()));
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
    Map map(conflicts(question.source, question.sink).copy());
    for (const Relation& relation : question.relations) {
      map = related(std::move(map), isl_dim_in, relation.source, relation.sink, relation.order);
    }
    return sample_of(std::move(map), question.source, question.sink, smallest, sample);
  }

  Outcome decide(const Overtaking& question, bool smallest, Sample& sample) {
    // From the producer to the other's iterators, then those of the reader.
    Map touched(conflicts(question.touch, question.other).copy());
    Map served(conflicts(question.write, question.read).copy());
    for (int i = 0; i < question.shared; ++i) {
      touched = related(std::move(touched), isl_dim_in, i, i, Order::equal);
      served = related(std::move(served), isl_dim_in, i, i, Order::equal);
    }
    Map map(isl_map_flat_range_product(touched.take(), served.take()));
    const int others = loop_count(question.other);
    for (const Relation& relation : question.relations) {
      map = related(std::move(map), isl_dim_out, relation.source, others + relation.sink,
                    relation.order);
    }
    return sample_of(std::move(map), question.touch, question.other, smallest, sample);
  }

  /// Whether the map is empty; if not, values of the first inputs and outputs of an element.
  Outcome sample_of(Map map, int source, int sink, bool smallest, Sample& sample) {
    const isl_bool is_empty = isl_map_is_empty(map.get());
    if (is_empty < 0) return Outcome::unknown;
    if (is_empty) return Outcome::never;

    // One set of parameters, source and sink: parameters first, so that they come out smallest.
    Set set(isl_set_flatten(isl_map_wrap(map.take())));
    const unsigned parameters = count_of(parameters_.size());
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
      if (parameters_.empty()) break;
      Set fixed(set.copy());
      for (std::size_t i = 0; i < parameters_.size(); ++i) {
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
      isl_ctx_reset_error(isl_);
      isl_ctx_reset_operations(isl_);
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
    for (const Symbol parameter : parameters_) sample.parameters.emplace_back(parameter, next());
    for (int i = loop_count(source); i > 0; --i) sample.source.push_back(next());
    for (int i = loop_count(sink); i > 0; --i) sample.sink.push_back(next());
    return ok;
  }

  const Program& program_;
  unsigned operations_;
  isl_ctx* isl_;
  int failures_ = 0;
  std::vector<Symbol> parameters_;
  ParameterSpace parameter_space_;
  std::map<std::pair<int, int>, Map> conflicts_;
  /// Which form of a maximum is the larger one, in the case at hand.
  struct Larger {
    Symbol maximum;
    bool is_first;
  };
  std::vector<Larger> larger_;
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

Outcome Polyhedra::find(const Overtaking& question, bool smallest, Sample& sample) {
  return context_->find(question, smallest, sample);
}

bool Polyhedra::is_never_negative(int access, const Linear& form) {
  return context_->is_never_negative(access, form);
}

}  // namespace loopsmith::dependence
