// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule product_rows[] = {
    {x * 0, 0, wraps},
    {x * 1, x, wraps},
    {(x * c1) * c2, x * (c1 * c2), wraps},
    {(x * c1) * y, (x * y) * c1, wraps},
    {(x + c1) * c2, x * c2 + c1 * c2, wraps},
    {(c1 - x) * c2, x * (0 - c2) + c1 * c2, wraps},
    {(x - y) * c1, (y - x) * (0 - c1), c1 < 0},
    {min(x, y) * max(x, y), x * y, wraps},
    {select(p, c1, c2) * c3, select(p, c1 * c3, c2 * c3), wraps},
};
// clang-format on

std::span<const Rule> product_rules() {
  return product_rows;
}

}  // namespace loopsmith::arith
