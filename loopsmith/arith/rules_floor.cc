// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

constexpr Rule rows[] = {
    {x / 1, x},
    {x % 1, 0},
    {(x / c1) / c2, x / (c1 * c2), c1 > 0 && c2 > 0},
    {(x * c1) / c2, x * (c1 / c2), c2 > 0 && c1 % c2 == 0},
    {(x * c1) / c2, x / (c2 / c1), c1 > 0 && c2 > 0 && c2 % c1 == 0},
    {(x * c1 + y) / c2, x * (c1 / c2) + y / c2, c2 > 0 && c1 % c2 == 0},
    {(x * c1 + y) / c2, x / (c2 / c1), c1 > 0 && c2 > 0 && c2 % c1 == 0 && 0 <= y&& y < c1},
    {x / y, 0, 0 <= x && x < y},
    {x % y, x, 0 <= x && x < y},
    {(x * c1) % c2, 0, c2 > 0 && c1 % c2 == 0},
    {(x * c1 + y) % c2, y % c2, c2 > 0 && c1 % c2 == 0},
    {(x * c1 + y) % c2, (x % (c2 / c1)) * c1 + y,
     c1 > 0 && c2 > 0 && c2 % c1 == 0 && 0 <= y&& y < c1},
    {(x % c1) % c2, x % c2, c2 > 0 && c1 % c2 == 0},
};

std::span<const Rule> floor_rules() {
  return rows;
}

}  // namespace loopsmith::arith
