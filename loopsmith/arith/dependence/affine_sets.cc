// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/affine_sets.h"

#include <fmt/format.h>
#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "loopsmith/arith/dependence/distances.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith::dependence {
AffineSets::AffineSets(const Program& program, unsigned operations)
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

AffineSets::~AffineSets() {
  conflicts_.clear();
  parameter_space_ = {};
  isl_ctx_free(isl_);
}

void AffineSets::start(unsigned times) {
  isl_ctx_set_max_operations(isl_, static_cast<unsigned long>(operations_) * times);
  isl_ctx_reset_operations(isl_);
}

void AffineSets::fail() {
  ++failures_;
  isl_ctx_reset_error(isl_);
}

void AffineSets::forgive() {
  isl_ctx_reset_error(isl_);
  isl_ctx_reset_operations(isl_);
}

isl_space* AffineSets::set_space(std::size_t dims) const {
  isl_space* space = isl_space_set_from_params(parameter_space_.copy());
  return isl_space_add_dims(space, isl_dim_set, count_of(dims));
}

isl_space* AffineSets::map_space(std::size_t inputs, std::size_t outputs) const {
  return isl_space_map_from_domain_and_range(set_space(inputs), set_space(outputs));
}

AffineSets::Space AffineSets::space_of(const Access& access) const {
  Space result;
  for (const int loop : statement(access.statement).loops) {
    result.dims.push_back(program_.loops[static_cast<std::size_t>(loop)].iterator);
  }
  result.dims.insert(result.dims.end(), access.locals.begin(), access.locals.end());
  return result;
}

isl_val* AffineSets::value(std::int64_t number) const {
  return isl_val_int_from_si(isl_, number);
}

Aff AffineSets::zero(const Space& space) const {
  return Aff(isl_aff_zero_on_domain(isl_local_space_from_space(set_space(space))));
}

Aff AffineSets::form(const Space& space, const Linear& linear) const {
  Aff result(isl_aff_set_constant_val(zero(space).take(), value(linear.constant)));
  for (const Term& term : linear.terms) {
    Aff part = symbol_form(space, term.symbol);
    if (!part.get()) return {};
    part = Aff(isl_aff_scale_val(part.take(), value(term.coefficient)));
    result = Aff(isl_aff_add(result.take(), part.take()));
  }
  return result;
}

Aff AffineSets::symbol_form(const Space& space, Symbol which) const {
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

Set AffineSets::constrained(Set set, const Space& space, const Linear& linear,
                            bool is_equality) const {
  Aff aff = form(space, linear);
  if (!aff.get()) return set;
  isl_constraint* holds =
      is_equality ? isl_equality_from_aff(aff.take()) : isl_inequality_from_aff(aff.take());
  isl_set* added = isl_set_from_basic_set(isl_basic_set_from_constraint(holds));
  return Set(isl_set_intersect(set.take(), added));
}

Set AffineSets::constrained(Set set, const Space& space, const std::vector<Clause>& clauses) const {
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

Set AffineSets::domain(const Access& access, const Space& space) const {
  const Statement& owner = statement(access.statement);
  Set set(isl_set_universe(set_space(space)));
  for (const Symbol parameter : parameters_) {
    if (symbol(parameter).range.min_value == 0) {
      set = constrained(std::move(set), space, linear_of(parameter), false);
    }
    if (const Linear& value = symbol(parameter).dividend; value != Linear()) {
      const auto difference = sum(linear_of(parameter), value, -1);
      if (difference) set = constrained(std::move(set), space, *difference, true);
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

Set AffineSets::below(Set set, const Space& space, Symbol which, const Linear& extent) const {
  auto rest = sum(extent, linear_of(which), -1);
  if (rest) rest = sum(*rest, Linear{-1});
  return rest ? constrained(std::move(set), space, *rest, false) : std::move(set);
}

isl_bool AffineSets::is_never_negative(const Access& access, const Linear& linear) {
  const Space space = space_of(access);
  const auto negative = sum(Linear{-1}, linear, -1);
  if (!negative) return isl_bool_false;
  std::vector<Symbol> maxima = program_.maxima_of(access);
  program_.find_maxima(linear, maxima);
  isl_bool is_empty = isl_bool_true;
  each_case(maxima, [&] {
    if (is_empty != isl_bool_true) return;
    const Set below = constrained(domain(access, space), space, *negative, false);
    is_empty = isl_set_is_empty(below.get());
  });
  return is_empty;
}

Map AffineSets::map_of(const Access& access, const std::vector<Linear>& forms) {
  std::vector<Symbol> maxima = program_.maxima_of(access);
  for (const Linear& linear : forms) program_.find_maxima(linear, maxima);
  Map result;
  each_case(maxima, [&] {
    Map part = map_in_case(access, forms);
    result = result.get() ? Map(isl_map_union(result.take(), part.take())) : std::move(part);
  });
  return result;
}

Map AffineSets::map_in_case(const Access& access, const std::vector<Linear>& forms) const {
  const Space space = space_of(access);
  isl_aff_list* list = isl_aff_list_alloc(isl_, static_cast<int>(forms.size()));
  for (const Linear& linear : forms) {
    Aff aff = form(space, linear);
    list = isl_aff_list_add(list, aff.take());
  }
  isl_space* from = set_space(space);
  isl_space* both = isl_space_map_from_domain_and_range(from, set_space(forms.size()));
  Map map(isl_map_from_multi_aff(isl_multi_aff_from_aff_list(both, list)));
  map = Map(isl_map_intersect_domain(map.take(), domain(access, space).take()));
  const unsigned locals = count_of(access.locals.size());
  return Map(
      isl_map_project_out(map.take(), isl_dim_in, count_of(space.dims.size()) - locals, locals));
}

Map AffineSets::element_map(const Access& access, const std::vector<std::size_t>& positions) {
  std::vector<Linear> forms;
  forms.reserve(positions.size());
  for (const std::size_t position : positions) forms.push_back(*access.index[position]);
  return map_of(access, forms);
}

Map AffineSets::element_map(const Access& access) {
  if (access.whole) return {};
  std::vector<std::size_t> positions(access.index.size());
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  const auto is_affine = [&](std::size_t i) { return access.index[i].has_value(); };
  return std::ranges::all_of(positions, is_affine) ? element_map(access, positions) : Map();
}

Map AffineSets::any_element(const Access& access) {
  const std::size_t rank = access.buffer->shape.size();
  Map result = map_of(access, {});
  result = Map(isl_map_add_dims(result.take(), isl_dim_out, count_of(rank)));
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t* extent = as_int(access.buffer->shape[i]);
    if (!extent) return {};
    result = Map(isl_map_lower_bound_si(result.take(), isl_dim_out, count_of(i), 0));
    result = Map(isl_map_upper_bound_si(result.take(), isl_dim_out, count_of(i),
                                        static_cast<int>(*extent - 1)));
  }
  return result;
}

Map AffineSets::form_map(const Statement& statement, const std::vector<Linear>& forms) {
  Access any;
  any.statement = static_cast<int>(&statement - program_.statements.data());
  return map_of(any, forms);
}

const Map& AffineSets::conflicts(int a, int b) {
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

Map AffineSets::precedes(int a, int b) const {
  const std::size_t depth = statement(a).loops.size();
  Map same(isl_map_universe(map_space(depth, statement(b).loops.size())));
  Map result(isl_map_empty(map_space(depth, statement(b).loops.size())));
  const int common = program_.common_depth(a, b);
  for (int level = 0; level < common; ++level) {
    Map earlier = related(Map(same.copy()), isl_dim_in, level, level, Order::less);
    result = Map(isl_map_union(result.take(), earlier.take()));
    same = related(std::move(same), isl_dim_in, level, level, Order::equal);
  }
  return a < b ? Map(isl_map_union(result.take(), same.take())) : std::move(result);
}

Expr AffineSets::expression_in(const Map& map) const {
  for (std::size_t i = 0; map.get() && i < parameters_.size(); ++i) {
    const Expr& source = symbol(parameters_[i]).source;
    if (source.is<Var>()) continue;
    const isl_bool is_used = isl_map_involves_dims(map.get(), isl_dim_param, count_of(i), 1);
    if (is_used != isl_bool_false) return source;
  }
  return {};
}

Map AffineSets::related(Map map, isl_dim_type from, int source, int sink, Order order) {
  isl_map* before = map.take();
  if (order == Order::equal) return Map(isl_map_equate(before, from, source, isl_dim_out, sink));
  if (order == Order::less) {
    return Map(isl_map_order_lt(before, from, source, isl_dim_out, sink));
  }
  return Map(isl_map_order_gt(before, from, source, isl_dim_out, sink));
}

}  // namespace loopsmith::dependence
