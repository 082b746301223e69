// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule min_max_rows[] = {
    // The lattice.
    {min(x, x), x, any},
    {max(x, x), x, any},
    {min(min(x, c1), c2), min(x, min(c1, c2)), wraps},
    {max(max(x, c1), c2), max(x, max(c1, c2)), wraps},
    {min(min(x, y), x), min(x, y), wraps, Order::as_written},
    {min(min(x, y), y), min(x, y), wraps, Order::as_written},
    {min(x, min(x, y)), min(x, y), wraps, Order::as_written},
    {min(y, min(x, y)), min(x, y), wraps, Order::as_written},
    {max(max(x, y), x), max(x, y), wraps, Order::as_written},
    {max(max(x, y), y), max(x, y), wraps, Order::as_written},
    {max(x, max(x, y)), max(x, y), wraps, Order::as_written},
    {max(y, max(x, y)), max(x, y), wraps, Order::as_written},
    {min(min(x, y), y), min(x, y), wraps},
    {max(max(x, y), y), max(x, y), wraps},
    {min(max(x, y), y), y, wraps},
    {max(min(x, y), y), y, wraps},
    {min(min(min(x, y), z), y), min(min(x, y), z), wraps},
    {max(max(max(x, y), z), y), max(max(x, y), z), wraps},
    {min(min(min(min(x, y), z), w), y), min(min(min(x, y), z), w), wraps},
    {max(max(max(max(x, y), z), w), y), max(max(max(x, y), z), w), wraps},
    {min(max(max(x, y), z), y), y, wraps},
    {max(min(min(x, y), z), y), y, wraps},
    {min(max(max(max(x, y), z), w), y), y, wraps},
    {max(min(min(min(x, y), z), w), y), y, wraps},
    {min(max(x, y), min(x, y)), min(x, y), wraps},
    {max(min(x, y), max(x, y)), max(x, y), wraps},
    {min(min(x, y), min(x, z)), min(min(y, z), x), wraps},
    {max(max(x, y), max(x, z)), max(max(y, z), x), wraps},
    {min(max(x, y), max(z, x)), max(min(y, z), x), wraps, Order::as_written},
    {min(max(y, x), max(x, z)), max(min(y, z), x), wraps, Order::as_written},
    {min(max(y, x), max(z, x)), max(min(y, z), x), wraps, Order::as_written},
    {max(min(x, y), min(z, x)), min(max(y, z), x), wraps, Order::as_written},
    {max(min(y, x), min(x, z)), min(max(y, z), x), wraps, Order::as_written},
    {max(min(y, x), min(z, x)), min(max(y, z), x), wraps, Order::as_written},
    {min(max(x, y), max(x, z)), max(min(y, z), x), wraps},
    {max(min(x, y), min(x, z)), min(max(y, z), x), wraps},
    {max(min(max(x, y), z), x), max(min(y, z), x), wraps},
    {min(max(min(x, y), z), x), min(max(y, z), x), wraps},
    {min(min(x, c1), y), min(min(x, y), c1), wraps},
    {max(max(x, c1), y), max(max(x, y), c1), wraps},
    {min(max(x, c1), c2), c2, c2 <= c1},
    {max(min(x, c1), c2), c2, c1 <= c2},

    // What both have in common comes out.
    {min(x + y, x + z), min(y, z) + x},
    {max(x + y, x + z), max(y, z) + x},
    {min(x - y, x - z), x - max(y, z)},
    {max(x - y, x - z), x - min(y, z)},
    {min(x - y, z - y), min(x, z) - y},
    {max(x - y, z - y), max(x, z) - y},
    {min(x, x + y), min(y, 0) + x},
    {max(x, x + y), max(y, 0) + x},
    {min(x, x - y), x - max(y, 0)},
    {max(x, x - y), x - min(y, 0)},
    {min(x + c1, c2), min(x, c2 - c1) + c1},
    {max(x + c1, c2), max(x, c2 - c1) + c1},
    {min(c1 - x, c2), c1 - max(x, c1 - c2)},
    {max(c1 - x, c2), c1 - min(x, c1 - c2)},
    {min(x * c1, y * c1), min(x, y) * c1, c1 > 0},
    {max(x * c1, y * c1), max(x, y) * c1, c1 > 0},
    {min(x * c1, y * c1), max(x, y) * c1, c1 < 0},
    {max(x * c1, y * c1), min(x, y) * c1, c1 < 0},
    {min(x * c1, c2), min(x, c2 / c1) * c1, c1 > 0 && c2 % c1 == 0},
    {max(x * c1, c2), max(x, c2 / c1) * c1, c1 > 0 && c2 % c1 == 0},
    {min(x * c1, c2), max(x, c2 / c1) * c1, c1 < 0 && c2 % c1 == 0},
    {max(x * c1, c2), min(x, c2 / c1) * c1, c1 < 0 && c2 % c1 == 0},
    {min(x / c1, y / c1), min(x, y) / c1, c1 > 0},
    {max(x / c1, y / c1), max(x, y) / c1, c1 > 0},
    {min(x / c1, y / c1), max(x, y) / c1, c1 < 0},
    {max(x / c1, y / c1), min(x, y) / c1, c1 < 0},
    {min(truncdiv(x, c1), truncdiv(y, c1)), truncdiv(min(x, y), c1), c1 > 0},
    {max(truncdiv(x, c1), truncdiv(y, c1)), truncdiv(max(x, y), c1), c1 > 0},
    {min(truncdiv(x, c1), truncdiv(y, c1)), truncdiv(max(x, y), c1), c1 < 0},
    {max(truncdiv(x, c1), truncdiv(y, c1)), truncdiv(min(x, y), c1), c1 < 0},
    {min(x / c1, c2), min(x, c2 * c1) / c1, c1 > 0},
    {max(x / c1, c2), max(x, c2 * c1) / c1, c1 > 0},

    // A number and itself rounded to a multiple.
    {min((x / c1) * c1, x), (x / c1) * c1, c1 > 0},
    {max((x / c1) * c1, x), x, c1 > 0},
    {min(((x + c1) / c2) * c2, x), x, c2 > 0 && c1 + 1 == c2},
    {max(((x + c1) / c2) * c2, x), ((x + c1) / c2) * c2, c2 > 0 && c1 + 1 == c2},

    {min(((x + c1) / c2) * c2, max(x, c2)), max(x, c2), c2 > 0 && c1 + 1 == c2 && 0 < x},
    {min(truncdiv(x + c1, c2) * c2, x), x, c2 > 0 && c1 + 1 == c2},
    {max(truncdiv(x + c1, c2) * c2, x), truncdiv(x + c1, c2) * c2, c2 > 0 && c1 + 1 == c2},
    {min(truncdiv(x + c1, c2) * c2, max(x, c2)), max(x, c2), c2 > 0 && c1 + 1 == c2 && 0 < x},

    {min(select(p, x, y), select(p, z, w)), select(p, min(x, z), min(y, w)), wraps},
    {max(select(p, x, y), select(p, z, w)), select(p, max(x, z), max(y, w)), wraps},
};
// clang-format on

std::span<const Rule> min_max_rules() {
  return min_max_rows;
}

}  // namespace loopsmith::arith
