// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/layout.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// The map in the type of the indices that it is given, which get one.
Ptr<IndexMap> fitted(const Ptr<IndexMap>& map, std::vector<Expr>& indices) {
  if (indices.empty()) return map;
  const DataType type = widest_index(indices);
  for (Expr& index : indices) index = cast(type, index);
  return map->initial_indices[0]->dtype == type ? map : with_index_type(*map, type);
}

std::vector<Expr> mapped(const Ptr<IndexMap>& given, std::vector<Expr> indices, IndexForms known) {
  const Ptr<IndexMap> map = fitted(given, indices);
  for (std::size_t i = 0; i < indices.size(); ++i) known.bind(map->initial_indices[i], indices[i]);
  std::vector<Expr> made;
  for (const Expr& index : map->final_indices) made.push_back(known(index));
  return made;
}

/// The smallest box in terms of what is known outside that holds the image of a region; a whole
/// dimension where that is not clear.
std::vector<Ptr<Range>> mapped_region(const Ptr<IndexMap>& given, const Buffer& to,
                                      const std::vector<Ptr<Range>>& region, IndexForms known) {
  std::vector<Expr> first;
  for (const auto& side : region) first.push_back(side->min);
  const Ptr<IndexMap> fit = fitted(given, first);
  const IndexMap& map = *fit;
  std::vector<const Object*> steps;
  bool is_constant = true;
  for (std::size_t i = 0; i < region.size(); ++i) {
    Expr index = first[i];
    const std::int64_t* extent = as_int(region[i]->extent);
    is_constant = is_constant && extent && *extent > 0;
    if (!is_const_int(region[i]->extent, 1) && is_constant) {
      const Ptr<Var> step = var("step", index.dtype());
      known.add_range({step.get(), 0, *extent - 1});
      steps.push_back(step.get());
      index = index + step;
    }
    known.bind(map.initial_indices[i], index);
  }
  std::vector<Ptr<Range>> made;
  for (std::size_t i = 0; i < map.final_indices.size(); ++i) {
    const Expr& index = map.final_indices[i];
    const DataType type = index.dtype();
    if (steps.empty() && is_constant) {
      made.push_back(range(known(index), int_imm(type, 1)));
      continue;
    }
    const auto form = is_constant ? known.read(index) : std::nullopt;
    IndexForm base, inner;
    bool is_known = form.has_value();
    for (std::size_t k = 0; is_known && k < form->terms.size(); ++k) {
      const IndexTerm& term = form->terms[k];
      const bool moves = any_variable(term, [&](const Object* variable) {
        return std::ranges::find(steps, variable) != steps.end();
      });
      (moves ? inner : base).terms.push_back(term);
    }
    const auto values = inner.range();
    if (!is_known || !values) {
      made.push_back(range(zero_of(type), cast(type, to.shape[i])));
      continue;
    }
    base.constant = form->constant + values->first;
    made.push_back(
        range(known.write(base, type), int_imm(type, values->second - values->first + 1)));
  }
  return made;
}

}  // namespace

DataType widest_index(std::span<const Expr> exprs) {
  DataType widest = i32;
  for (const Expr& each : exprs) {
    if (each.dtype().bits > widest.bits) widest = i64;
  }
  return widest;
}

Ptr<IndexMap> with_index_type(const IndexMap& map, DataType type) {
  IndexMap made;
  Substitution vars;
  for (const auto& index : map.initial_indices) {
    made.initial_indices.push_back(var(index->name, type));
    vars[index] = made.initial_indices.back();
  }
  Rewriter rewrite;
  rewrite.on<Var>([&](const Var& variable) -> Expr {
    const auto found = vars.find(Ref(&variable));
    return found == vars.end() ? Expr(Ptr<Var>(&variable)) : found->second;
  });
  rewrite.on<IntImm>([&](const IntImm& number) -> Expr {
    const bool is_index = number.dtype.is_index() && number.dtype != type;
    return is_index ? int_imm(type, number.value) : Expr(Ptr<IntImm>(&number));
  });
  for (const Expr& index : map.final_indices) {
    made.final_indices.push_back(cast(type, rewrite(index)));
  }
  return make(std::move(made));
}

AccessChange layout_change(const Ptr<Buffer>& from, const Ptr<Buffer>& to,
                           const Ptr<IndexMap>& map) {
  return {.from = from,
          .to = to,
          .indices = [map](const std::vector<Expr>& indices,
                           const IndexForms& known) { return mapped(map, indices, known); },
          .region =
              [map, to](const std::vector<Ptr<Range>>& region, const IndexForms& known) {
                return mapped_region(map, *to, region, known);
              }};
}

}  // namespace loopsmith
