// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule floor_rows[] = {
    // By a negative constant.
    normalizing({x / c1, (0 - x) / (0 - c1), c1 < 0}),
    normalizing({x / (y * c1), (0 - x) / (y * (0 - c1)), c1 < 0}),
    normalizing({x % c1, 0 - (0 - x) % (0 - c1), c1 < 0}),

    {x / 1, x, wraps},
    {x % 1, 0, wraps},
    {0 / x, 0, wraps},
    {0 % x, 0, wraps},
    {x / x, 1},
    {x % x, 0},
    {x / y, 0, 0 <= x && x < y, wraps},
    {x % y, x, 0 <= x && x < y, wraps},
    {x / y, -1, x < 0 && 0 < x + y},

    // Quotients of quotients.
    {(x / c1) / c2, x / (c1 * c2), c1 > 0 && c2 > 0},
    {(x / c1 + c2) / c3, (x + c1 * c2) / (c1 * c3), c1 > 0 && c3 > 0},
    {(x % c1) % c2, x % c2, c2 > 0 && c1 % c2 == 0},

    // Multiples of the divisor come out.
    {(x - x % c1) / c1, x / c1, c1 > 0},
    {(x % c1 + 1) / c1, x % c1, c1 == 2},
    {((x * y) * c1 + z) / (y * c1), x + z / (y * c1)},
    {((x * y) * c1 + z) % (y * c1), z % (y * c1)},
    {(x * y + z) / y, x + z / y, index, Order::as_written},
    {(y * x + z) / y, x + z / y, index, Order::as_written},
    {(z + x * y) / y, z / y + x, index, Order::as_written},
    {(z + y * x) / y, z / y + x, index, Order::as_written},
    {((x + y) + z) / x, (y + z) / x + 1, index, Order::as_written},
    {((y + x) + z) / x, (y + z) / x + 1, index, Order::as_written},
    {(y + (x + z)) / x, (y + z) / x + 1, index, Order::as_written},
    {(y + (z + x)) / x, (y + z) / x + 1, index, Order::as_written},
    {(x * c1) / c2, x * (c1 / c2), c2 > 0 && c1 % c2 == 0},
    {(x * c1 + y) / c2, x * (c1 / c2) + y / c2, c2 > 0 && c1 % c2 == 0},
    {(x * c1 - y) / c2, x * (c1 / c2) + (0 - y) / c2, c2 > 0 && c1 % c2 == 0},
    {(y - x * c1) / c2, y / c2 - x * (c1 / c2), c2 > 0 && c1 % c2 == 0},
    {((x * c1 + y) + z) / c2, x * (c1 / c2) + (y + z) / c2, c2 > 0 && c1 % c2 == 0},
    {((x * c1 - y) + z) / c2, x * (c1 / c2) + (z - y) / c2, c2 > 0 && c1 % c2 == 0},
    {((x * c1 + y) - z) / c2, x * (c1 / c2) + (y - z) / c2, c2 > 0 && c1 % c2 == 0},
    {(x + c1) / c2, x / c2 + c1 / c2, c2 > 0 && c1 % c2 == 0},
    {(x * y) / y, x},
    {((x * y) * c1) / y, x * c1},
    {((x * y) * c1) % y, 0},
    {(x * y + z) / y, x + z / y},
    {(z - x * y) / y, z / y - x},
    {(x + y) / x, y / x + 1},
    {(y - x) / x, y / x - 1},
    {((x * y + z) + w) / y, x + (z + w) / y},

    {(x * c1) % c2, 0, c2 > 0 && c1 % c2 == 0},
    {(x * c1 + y) % c2, y % c2, c2 > 0 && c1 % c2 == 0},
    {(y - x * c1) % c2, y % c2, c2 > 0 && c1 % c2 == 0},
    {((x * c1 + y) + z) % c2, (y + z) % c2, c2 > 0 && c1 % c2 == 0},
    {(x + c1) % c2, x % c2, c2 > 0 && c1 % c2 == 0},
    {(x + c1) % c2, (x + c1 % c2) % c2, c2 > 0 && (c1 < 0 || c2 <= c1)},
    {(x - x % y) % y, 0},
    {((x / (0 - y)) * (0 - y)) % y, 0},
    {(x - x % y) % z, 0, z == 0 - y},
    {(x + (y - x) % z) % z, y % z},
    {(x + (0 - x) % y) % y, 0},
    {(x + (x * c1) % c2) % c2, (x * (c1 + 1)) % c2, c2 > 0},
    {(x * y) % y, 0},
    {(x * y + z) % y, z % y},
    {(z - x * y) % y, z % y},
    {(x + y) % x, y % x},
    {((x + y) + z) % x, (y + z) % x, index, Order::as_written},
    {((y + x) + z) % x, (y + z) % x, index, Order::as_written},
    {(y - x) % x, y % x},
    {(x % c1 + y) % c2, (x + y) % c2, c2 > 0 && c1 % c2 == 0},
    // A factor becomes smaller and keeps its sign, so that the product overflows no earlier.
    {(x * c1) % c2, (x * (c1 % c2)) % c2, c2 > 0 && c2 <= c1},
    {(x * c1) % c2, (x * (0 - (0 - c1) % c2)) % c2, c2 > 0 && c2 <= 0 - c1},
    {(y + x * c1) % c2, (y + x * (c1 % c2)) % c2, c2 > 0 && c2 <= c1, Order::as_written},
    {(x * c1 + y) % c2, (x * (c1 % c2) + y) % c2, c2 > 0 && c2 <= c1},
    {(x * c1 + y) % c2, (x * (0 - (0 - c1) % c2) + y) % c2, c2 > 0 && c2 <= 0 - c1},

    // A smaller digit that cannot reach the divisor is dropped, or comes out.
    {(x * c1) / c2, x / (c2 / c1), c1 > 0 && c2 > 0 && c2 % c1 == 0},
    {((x * c1 + y) + z) / c2, x / (c2 / c1),
     c1 > 0 && c2 > 0 && c2 % c1 == 0 && 0 <= y + z && y + z < c1},
    {(x * c1 + c2) / c3, x / (c3 / c1) + (c2 / c1) / (c3 / c1),
     c1 > 0 && c3 > 0 && c3 % c1 == 0 && (c2 / c1) % (c3 / c1) == 0},
    {(x * c1 + y) / c2, (x + y / c1) / (c2 / c1),
     c1 > 0 && c2 > 0 && c2 % c1 == 0 && 0 <= y && y < c1},
    {(x * c1) % c2, (x % (c2 / c1)) * c1, c1 > 0 && c2 > 0 && c2 % c1 == 0},
    {(x * c1 + y) % c2, (x % (c2 / c1)) * c1 + y,
     c1 > 0 && c2 > 0 && c2 % c1 == 0 && 0 <= y && y < c1},

    // Of the lesser or greater of two, where one is a multiple.
    {min(x * c1, y) / c2, min(x * (c1 / c2), y / c2), c2 > 0 && c1 % c2 == 0},
    {max(x * c1, y) / c2, max(x * (c1 / c2), y / c2), c2 > 0 && c1 % c2 == 0},

    // What is left of a multiple does not reach the next one.
    {(x * c1 + y) / c2, x * (c1 / c2),
     c2 > 0 && c2 < c1 && 0 <= x * (c1 % c2) + y && x * (c1 % c2) + y < c2},

    // A multiple of a negative constant.
    {(x * c1) / c2, x * (c1 / c2), c2 < 0 && c1 % c2 == 0},
    {(x * c1) % c2, 0, c2 < 0 && c1 % c2 == 0},

    // Select of constants.
    {select(p, c1, c2) / c3, select(p, c1 / c3, c2 / c3), c3 > 0},
    {select(p, c1, c2) % c3, select(p, c1 % c3, c2 % c3), c3 > 0},
};
// clang-format on

std::span<const Rule> floor_rules() {
  return floor_rows;
}

}  // namespace loopsmith::arith
