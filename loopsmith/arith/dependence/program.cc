// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/program.h"

#include <algorithm>

namespace loopsmith::dependence {

int Program::find_loop(const Ptr<Var>& variable) const {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    const For* loop = loops[i].as_for();
    if (loop && loop->loop_var.same_as(variable)) return static_cast<int>(i);
  }
  return -1;
}

int Program::common_depth(int a, int b) const {
  const std::vector<int>& left = statements[static_cast<std::size_t>(a)].loops;
  const std::vector<int>& right = statements[static_cast<std::size_t>(b)].loops;
  const auto parted = std::mismatch(left.begin(), left.end(), right.begin(), right.end()).first;
  return static_cast<int>(parted - left.begin());
}

Interval Program::range(const Linear& form) const {
  Interval result = arith::point(form.constant);
  for (const Term& term : form.terms) {
    const Interval& symbol = symbols[static_cast<std::size_t>(term.symbol)].range;
    result = arith::add(result, arith::multiply(symbol, arith::point(term.coefficient)));
  }
  return result;
}

void Program::find_maxima(const Linear& linear, std::vector<Symbol>& found) const {
  for (const Term& term : linear.terms) {
    const SymbolInfo& info = symbols[static_cast<std::size_t>(term.symbol)];
    if (info.kind != SymbolKind::quotient && info.kind != SymbolKind::maximum) continue;
    if (std::find(found.begin(), found.end(), term.symbol) != found.end()) continue;
    if (info.kind == SymbolKind::maximum) found.push_back(term.symbol);
    find_maxima(info.dividend, found);
    find_maxima(info.other, found);
  }
}

std::vector<Symbol> Program::maxima_of(const Access& access) const {
  std::vector<Symbol> found;
  const Statement& owner = statements[static_cast<std::size_t>(access.statement)];
  for (const auto& index : access.index) {
    if (index) find_maxima(*index, found);
  }
  for (const int which : owner.loops) {
    const Loop& loop = loops[static_cast<std::size_t>(which)];
    for (const Linear& extent : loop.extents) find_maxima(extent, found);
  }
  for (const auto* clauses : {&owner.guards, &access.guards}) {
    for (const Clause& clause : *clauses) {
      for (const Conjunction& piece : clause) {
        for (const Constraint& constraint : piece) find_maxima(constraint.form, found);
      }
    }
  }
  return found;
}

}  // namespace loopsmith::dependence
