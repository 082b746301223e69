// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

constexpr Rule rows[] = {
    {x + c1 < c2, x < c2 - c1},
    {c1 < x + c2, c1 - c2 < x},
    {x + y < x + z, y < z},
    {x + c1 == c2, x == c2 - c1, wraps},
};

std::span<const Rule> comparison_rules() {
  return rows;
}

}  // namespace loopsmith::arith
