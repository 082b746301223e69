// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule trunc_rows[] = {
    // Of what is not negative, both roundings are the same.
    {truncdiv(x, y), x / y, 0 <= x && 0 < y, wraps},
    {truncmod(x, y), x % y, 0 <= x && 0 < y, wraps},

    {truncdiv(x, 1), x, wraps},
    {truncmod(x, 1), 0, wraps},
    {truncdiv(x, x), 1, wraps},
    {truncmod(x, x), 0, wraps},
    {truncdiv(x, c1), 0 - truncdiv(x, 0 - c1), c1 < 0},
    {truncmod(x, c1), truncmod(x, 0 - c1), c1 < 0},
    {truncdiv(0 - x, y), 0 - truncdiv(x, y)},
    {truncmod(0 - x, y), 0 - truncmod(x, y)},
    {truncdiv(truncdiv(x, c1), c2), truncdiv(x, c1 * c2), c1 > 0 && c2 > 0},
    {truncmod(truncmod(x, c1), c2), truncmod(x, c2), c2 > 0 && c1 % c2 == 0},
    {truncdiv(x * c1, c2), x * (c1 / c2), c2 > 0 && c1 % c2 == 0},
    {truncmod(x * c1, c2), 0, c2 > 0 && c1 % c2 == 0},
    {truncdiv(x * c1, c2), truncdiv(x, c2 / c1), c1 > 0 && c2 > 0 && c2 % c1 == 0},
    {truncmod(x * c1, c2), truncmod(x, c2 / c1) * c1, c1 > 0 && c2 > 0 && c2 % c1 == 0},
    {truncdiv(x * y, y), x},
    {truncmod(x * y, y), 0},
};
// clang-format on

std::span<const Rule> trunc_rules() {
  return trunc_rows;
}

}  // namespace loopsmith::arith
