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

}  // namespace loopsmith::dependence
