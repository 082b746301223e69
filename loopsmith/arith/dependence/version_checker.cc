// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/version_checker.h"

#include <fmt/format.h>
#include <isl/map.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>

#include "loopsmith/ir/script_printer.h"

namespace loopsmith::dependence {

TextOrder text_order(const Program& program, int a, int b) {
  if (program.common_depth(a, b) > 0) return TextOrder::sometimes;
  return a < b ? TextOrder::always : TextOrder::never;
}

Map composed(Map first, Map second) {
  return Map(isl_map_apply_range(first.take(), second.take()));
}
Map reversed(Map map) {
  return Map(isl_map_reverse(map.take()));
}
Map intersected(Map a, Map b) {
  return Map(isl_map_intersect(a.take(), b.take()));
}

void VersionChecker::give_up(std::string reason) {
  if (is_over()) return;
  answer_.verdict = Verdict::unknown;
  answer_.question = LegalityQuestion::understood;
  answer_.reason = std::move(reason);
}

void VersionChecker::require_empty(LegalityQuestion question, const Map& map, int a, int b,
                                   bool is_exact) {
  if (is_over()) return;
  const isl_bool is_empty = map.get() ? isl_map_is_empty(map.get()) : isl_bool_error;
  if (is_empty == isl_bool_true) return;
  refuse(question, map, a, b, is_empty == isl_bool_false && is_exact);
}

void VersionChecker::require_subset(LegalityQuestion question, Map part, Map whole, int a, int b,
                                    bool is_exact) {
  if (is_over()) return;
  if (!whole.get()) return require_empty(question, part, a, b, is_exact);
  const isl_bool is_subset = isl_map_is_subset(part.get(), whole.get());
  if (is_subset == isl_bool_true) return;
  Map rest;
  if (is_subset == isl_bool_false) rest = Map(isl_map_subtract(part.take(), whole.take()));
  refuse(question, rest, a, b, is_subset == isl_bool_false && is_exact);
}

bool VersionChecker::is_exact(int which) const {
  const Access& one = access(which);
  return statement(one.statement).is_exact && one.memory.defined() && !one.whole &&
         std::ranges::all_of(one.index, [](const auto& index) { return index.has_value(); });
}

bool VersionChecker::may_conflict(const Access& a, const Access& b) {
  if (!a.writes && !b.writes) return false;
  return !a.memory.defined() || !b.memory.defined() || a.memory.same_as(b.memory);
}

Map VersionChecker::conflicts(int a, int b) {
  Map map(sets_.conflicts(a, b).copy());
  const int depth = std::min(std::max(access(a).private_depth, access(b).private_depth),
                             program_.common_depth(access(a).statement, access(b).statement));
  for (int level = 0; level < depth; ++level) {
    map = AffineSets::related(std::move(map), isl_dim_in, level, level, Order::equal);
  }
  return map;
}

void VersionChecker::refuse(LegalityQuestion question, const Map& map, int a, int b,
                            bool is_violated) {
  const Expr expression = is_violated ? sets_.expression_in(map) : Expr();
  is_violated = is_violated && !expression.defined();
  answer_.verdict = is_violated ? Verdict::violated : Verdict::unknown;
  answer_.question = question;
  answer_.first = {statement(access(a).statement).node, {}, access(a).writes};
  answer_.second = {statement(access(b).statement).node, {}, access(b).writes};
  answer_.buffer = access(a).buffer ? access(a).buffer : access(b).buffer;
  if (is_violated) {
    fill(map, a, b);
  } else {
    answer_.reason = expression.defined()
                         ? fmt::format("it depends on the values of `{}`", expression)
                         : reason_for(a, b);
  }
}

std::string VersionChecker::reason_for(int a, int b) const {
  for (const int i : {a, b}) {
    const Access& one = access(i);
    if (!one.memory.defined())
      return fmt::format("what `{}` accesses is not known", answer_.first.statement);
    if (!statement(one.statement).is_exact || !is_exact(i)) {
      return fmt::format("whether and where `{}` accesses {} depends on values in memory",
                         statement(one.statement).node,
                         one.buffer ? one.buffer->name : std::string("memory"));
    }
  }
  return "it is too complex to decide within its budget";
}

void VersionChecker::fill(const Map& map, int a, int b) {
  if (!map.get()) return;
  const auto first = versions_.name_words(access(a).statement);
  const auto second = versions_.name_words(access(b).statement);
  Set set(isl_map_wrap(map.copy()));
  set = Set(isl_set_flatten(set.take()));
  const int dims = isl_set_dim(set.get(), isl_dim_set);
  const bool is_private_to_iteration = dims == static_cast<int>(first.size());
  if (!is_private_to_iteration && dims != static_cast<int>(first.size() + second.size())) return;
  isl_point* point = isl_set_sample_point(set.take());
  if (point && isl_point_is_void(point) == isl_bool_false) {
    for (int i = 0; i < dims; ++i) {
      isl_val* number = isl_point_get_coordinate_val(point, isl_dim_set, i);
      const auto k = static_cast<std::size_t>(i);
      const bool is_first = k < first.size();
      auto& side = is_first ? answer_.first : answer_.second;
      side.values.emplace_back(is_first ? first[k] : second[k - first.size()],
                               number ? isl_val_get_num_si(number) : 0);
      isl_val_free(number);
    }
  }
  isl_point_free(point);
}

}  // namespace loopsmith::dependence
