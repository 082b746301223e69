// SPDX-License-Identifier: Apache-2.0
// The instances of statements and the elements of accesses as sets and relations of isl. Private to
// this folder; seen by the sources that speak to isl alone.
#pragma once
#include <isl/ctx.h>

#include <map>
#include <span>
#include <utility>
#include <vector>

#include "loopsmith/arith/dependence/isl_objects.h"
#include "loopsmith/arith/dependence/polyhedra.h"
#include "loopsmith/arith/dependence/program.h"
#include "loopsmith/support/error.h"

namespace loopsmith::dependence {

/// A size as isl counts.
constexpr unsigned count_of(std::size_t size) {
  return static_cast<unsigned>(size);
}

/// Sets and relations of one program, in an isl context of its own. What an access or a guard says
/// that is not affine is widened: sets hold at least what happens.
class AffineSets {
 public:
  AffineSets(const Program& program, unsigned operations);
  AffineSets(const AffineSets&) = delete;
  ~AffineSets();

  /// From here on, isl may spend a question's budget, `times` over.
  void start(unsigned times = 1);
  /// A question did not end within its budget; after some of them, none is asked any more.
  void fail();
  /// An attempt that may fail did; the question goes on.
  void forgive();
  bool is_exhausted() const { return failures_ >= max_failures; }

  const Program& program() const { return program_; }
  const std::vector<Symbol>& parameters() const { return parameters_; }
  const Access& access(int i) const { return program_.accesses[static_cast<std::size_t>(i)]; }
  const Statement& statement(int i) const {
    return program_.statements[static_cast<std::size_t>(i)];
  }

  isl_space* set_space(std::size_t dims) const;
  isl_space* map_space(std::size_t inputs, std::size_t outputs) const;

  /// True when the form is proved to be at least 0 wherever the access happens.
  isl_bool is_never_negative(const Access& access, const Linear& linear);
  /// From the iterators of the access to those positions of its index that are in `positions`.
  Map element_map(const Access& access, const std::vector<std::size_t>& positions);
  /// The same of all positions; null where one of them is not affine.
  Map element_map(const Access& access);
  /// From the iterators of the access to all elements of its buffer; null where the shape is not
  /// affine.
  Map any_element(const Access& access);
  /// From instances of access `a` to instances of `b` that access the same element, in any order.
  const Map& conflicts(int a, int b);
  /// From the instances of a statement to the values of forms over its iterators.
  Map form_map(const Statement& statement, const std::vector<Linear>& forms);
  /// From instances of statement `a` to those of `b` that run after them.
  Map precedes(int a, int b) const;

  /// Relates position `source` of the map's side `from` with position `sink` of its outputs.
  /// An expression of sizes that stands as one parameter of the map, which may have values there
  /// that the expression never has; undefined when there is none.
  Expr expression_in(const Map& map) const;

  static Map related(Map map, isl_dim_type from, int source, int sink, Order order);

 private:
  static constexpr int max_failures = 10;

  /// Where forms are built: the iterators of a statement, then the locals of an access.
  struct Space {
    std::vector<Symbol> dims;
  };
  /// Which form of a maximum is the larger one, in the case at hand.
  struct Larger {
    Symbol maximum;
    bool is_first;
  };

  const SymbolInfo& symbol(Symbol i) const { return program_.symbols[static_cast<std::size_t>(i)]; }
  Space space_of(const Access& access) const;
  isl_space* set_space(const Space& space) const { return set_space(space.dims.size()); }
  isl_val* value(std::int64_t number) const;
  Aff zero(const Space& space) const;
  /// The form as an isl expression; null where it uses a symbol that the space does not have.
  Aff form(const Space& space, const Linear& linear) const;
  Aff symbol_form(const Space& space, Symbol which) const;
  Set constrained(Set set, const Space& space, const Linear& linear, bool is_equality) const;
  Set constrained(Set set, const Space& space, const std::vector<Clause>& clauses) const;
  /// The instances of the access, its locals last.
  Set domain(const Access& access, const Space& space) const;
  Set below(Set set, const Space& space, Symbol which, const Linear& extent) const;
  Map map_in_case(const Access& access, const std::vector<Linear>& forms) const;
  Map map_of(const Access& access, const std::vector<Linear>& forms);

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

  const Program& program_;
  unsigned operations_;
  isl_ctx* isl_;
  int failures_ = 0;
  std::vector<Symbol> parameters_;
  ParameterSpace parameter_space_;
  std::map<std::pair<int, int>, Map> conflicts_;
  std::vector<Larger> larger_;
};

}  // namespace loopsmith::dependence
