// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule trunc_rows[] = {
    // Of what is not negative, both roundings are the same.
    normalizing({truncdiv(x, y), x / y, 0 <= x && 0 < y, wraps}),
    normalizing({truncmod(x, y), x % y, 0 <= x && 0 < y, wraps}),

    {truncdiv(x, 1), x, wraps},
    {truncmod(x, 1), 0, wraps},
    {truncdiv(x, x), 1, wraps},
    {truncmod(x, x), 0, wraps},
    {truncdiv(0, x), 0, wraps},
    {truncmod(0, x), 0, wraps},
    normalizing({truncdiv(x, c1), 0 - truncdiv(x, 0 - c1), c1 < 0}),
    {truncmod(x, c1), truncmod(x, 0 - c1), c1 < 0},
    {truncdiv(0 - x, y), 0 - truncdiv(x, y)},
    {truncmod(0 - x, y), 0 - truncmod(x, y)},
    {truncdiv(truncdiv(x, c1), c2), truncdiv(x, c1 * c2), c1 > 0 && c2 > 0},
    {truncmod(truncmod(x, c1), c2), truncmod(x, c2), c2 > 0 && c1 % c2 == 0},
    {truncdiv(x * c1, c2), x * (c1 / c2), c2 > 0 && c1 % c2 == 0},
    {truncmod(x * c1, c2), 0, c2 > 0 && c1 % c2 == 0},
    {truncdiv(x * c1, c2), truncdiv(x, c2 / c1), c1 > 0 && c2 > 0 && c2 % c1 == 0},
    {truncmod(x * c1, c2), truncmod(x, c2 / c1) * c1, c1 > 0 && c2 > 0 && c2 % c1 == 0},
    {truncdiv(min(x * c1, y), c2), min(x * (c1 / c2), truncdiv(y, c2)), c2 > 0 && c1 % c2 == 0},
    {truncdiv(max(x * c1, y), c2), max(x * (c1 / c2), truncdiv(y, c2)), c2 > 0 && c1 % c2 == 0},

    // Multiples of the divisor come out, where nothing is negative.
    {truncdiv(truncdiv(x, c1) + c2, c3), truncdiv(x + c1 * c2, c1 * c3),
     c1 > 0 && c2 >= 0 && c3 > 0 && 0 <= x},
    {truncdiv(x * c1 + y, c2), x * (c1 / c2) + truncdiv(y, c2),
     c2 > 0 && c1 % c2 == 0 && 0 <= x * c1 && 0 <= y, Order::as_written},
    {truncdiv(y + x * c1, c2), truncdiv(y, c2) + x * (c1 / c2),
     c2 > 0 && c1 % c2 == 0 && 0 <= x * c1 && 0 <= y, Order::as_written},
    {truncdiv((x * c1 + y) + z, c2), x * (c1 / c2) + truncdiv(y + z, c2),
     c2 > 0 && c1 % c2 == 0 && 0 <= x * c1 && 0 <= y + z},
    {truncdiv(x + c1, c2), truncdiv(x, c2) + c1 / c2, c2 > 0 && c1 >= 0 && c1 % c2 == 0 && 0 <= x},
    {truncdiv(x + y, x), truncdiv(y, x) + 1, 0 <= x && 0 <= y},
    {truncdiv((x + y) + z, x), truncdiv(y + z, x) + 1, 0 <= x && 0 <= y + z, Order::as_written},
    {truncdiv((y + x) + z, x), truncdiv(y + z, x) + 1, 0 <= x && 0 <= y + z, Order::as_written},
    {truncdiv(y + (x + z), x), truncdiv(y + z, x) + 1, 0 <= x && 0 <= y + z, Order::as_written},
    {truncdiv(y + (z + x), x), truncdiv(y + z, x) + 1, 0 <= x && 0 <= y + z, Order::as_written},
    {truncdiv(x * z + y, z), x + truncdiv(y, z), 0 <= x && 0 <= y && 0 <= z, Order::as_written},
    {truncdiv(z * x + y, z), x + truncdiv(y, z), 0 <= x && 0 <= y && 0 <= z, Order::as_written},
    {truncdiv(y + x * z, z), truncdiv(y, z) + x, 0 <= x && 0 <= y && 0 <= z, Order::as_written},
    {truncdiv(y + z * x, z), truncdiv(y, z) + x, 0 <= x && 0 <= y && 0 <= z, Order::as_written},
    {truncmod(x * c1 + y, c2), truncmod(y, c2),
     c2 > 0 && c1 % c2 == 0 && 0 <= x * c1 && 0 <= y},
    {truncmod((x * c1 + y) + z, c2), truncmod(y + z, c2),
     c2 > 0 && c1 % c2 == 0 && 0 <= x * c1 && 0 <= y + z},
    {truncmod(x + c1, c2), truncmod(x, c2), c2 > 0 && c1 >= 0 && c1 % c2 == 0 && 0 <= x},
    {truncdiv(x * y, y), x},
    {truncmod(x * y, y), 0},
};
// clang-format on

std::span<const Rule> trunc_rules() {
  return trunc_rows;
}

}  // namespace loopsmith::arith
