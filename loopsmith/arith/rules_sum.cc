// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule sum_rows[] = {
    // Constants gather at the end. (Before any rule, c + x is x + c, and x - c is x + (-c).)
    {x + (y + c1), (x + y) + c1, wraps, Order::as_written},
    {(x + c1) + c2, x + (c1 + c2), wraps},
    {(x + c1) + y, (x + y) + c1, wraps},
    {x - (y + c1), (x - y) + (0 - c1), wraps},
    {(x + c1) - y, (x - y) + c1, wraps},
    {(c1 - x) + c2, (c1 + c2) - x, wraps},
    {(c1 - x) + y, (y - x) + c1, wraps},
    {c1 - (x + c2), (c1 - c2) - x, wraps},
    {c1 - (c2 - x), x + (c1 - c2), wraps},
    {x - (c1 - y), (x + y) + (0 - c1), wraps},

    // What cancels.
    {x - x, 0, wraps},
    {(x - y) + y, x, wraps},
    {(x - y) + (y - z), x - z, wraps},
    {(x + y) - x, y, wraps},
    {x - (x + y), 0 - y, wraps},
    {(x + y) - (x + z), y - z, wraps},
    {(x - y) - x, 0 - y, wraps},
    {x - (x - y), y, wraps},
    {(x - y) - (x - z), z - y, wraps},
    {(x - z) - (y - z), x - y, wraps},
    {((x + y) + z) - x, y + z, wraps},
    {((x - y) - z) + y, x - z, wraps},
    {((x - y) + z) + y, x + z, wraps},
    normalizing({0 - x, x * -1}),
    {(0 - x) + y, y - x, wraps},
    {x - (0 - y), x + y, wraps},
    {0 - (x - y), y - x, wraps},
    {x + 0, x, wraps},
    {min(x, y) + max(x, y), x + y, wraps},
    {min(x, y) - min(y, x), 0, wraps},
    {max(x, y) - max(y, x), 0, wraps},

    // Like terms.
    {x + x, x * 2, wraps},
    {x * y + x, x * (y + 1), wraps},
    {x * y + x * z, x * (y + z), wraps},
    {x * y - x, x * (y - 1), wraps},
    {x - x * y, x * (1 - y), wraps},
    {x * y - x * z, x * (y - z), wraps},
    normalizing({x + y * c1, x - y * (0 - c1), c1 < 0}),
    normalizing({x - y * c1, x + y * (0 - c1), c1 < 0}),
    {0 - x * c1, x * (0 - c1)},
    {x * c1 - y * c2, (x - y) * c1, c1 == c2, wraps},

    // A quotient and its remainder.
    {(x / y) * y + x % y, x},
    {((x / y) + z) * y + x % y, z * y + x},
    {(x / y) * y + (x % y + z), x + z},
    {((x / y) * y + z) + x % y, x + z},
    {(x / z + y / z) * z + (x % z + y % z), x + y},
    {x - (x / y) * y, x % y},
    {(x / y) * y - x, 0 - x % y},
    {x - ((x + z) / y) * y, (x + z) % y - z},
    {((x + z) / y) * y - x, z - (x + z) % y},
    {x - ((x - z) / y) * y, (x - z) % y + z},
    {((x - z) / y) * y - x, (0 - (x - z) % y) - z},
    {x * c1 - (x / c2) * c3, (x % c2) * c1, c2 > 0 && c3 == c1 * c2},
    {(x / c2) * c3 - x * c1, (x % c2) * (0 - c1), c2 > 0 && c3 == c1 * c2},
    {x * c1 - ((x + z) / c2) * c3, ((x + z) % c2 - z) * c1, c2 > 0 && c3 == c1 * c2},
    {x * c1 - ((x - z) / c2) * c3, ((x - z) % c2 + z) * c1, c2 > 0 && c3 == c1 * c2},
    {((x + z) / c2) * c3 - x * c1, (z - (x + z) % c2) * c1, c2 > 0 && c3 == c1 * c2},
    {((x - z) / c2) * c3 - x * c1, ((0 - (x - z) % c2) - z) * c1, c2 > 0 && c3 == c1 * c2},
    {x - x % y, (x / y) * y},
    {x / c1 + x % c1, (x + 1) / c1, c1 == 2},
    {x % c1 + (x + c2) % c1, 1, c1 == 2 && c2 % c1 == 1},
    {x % y - x, 0 - (x / y) * y},
    {truncdiv(x, y) * y + truncmod(x, y), x, wraps},
    {x - truncdiv(x, y) * y, truncmod(x, y), wraps},
    {truncdiv(x, y) * y - x, 0 - truncmod(x, y), wraps},
    {x - truncdiv(x + z, y) * y, truncmod(x + z, y) - z},
    {truncdiv(x + z, y) * y - x, z - truncmod(x + z, y)},
    {x - truncdiv(x - z, y) * y, truncmod(x - z, y) + z},
    {truncdiv(x - z, y) * y - x, (0 - truncmod(x - z, y)) - z},
    {x * c1 - truncdiv(x, c2) * c3, truncmod(x, c2) * c1, c2 != 0 && c3 == c1 * c2},
    {truncdiv(x, c2) * c3 - x * c1, truncmod(x, c2) * (0 - c1), c2 != 0 && c3 == c1 * c2},
    {x * c1 - truncdiv(x + z, c2) * c3, (truncmod(x + z, c2) - z) * c1,
     c2 != 0 && c3 == c1 * c2},
    {x * c1 - truncdiv(x - z, c2) * c3, (truncmod(x - z, c2) + z) * c1,
     c2 != 0 && c3 == c1 * c2},
    {truncdiv(x + z, c2) * c3 - x * c1, (z - truncmod(x + z, c2)) * c1,
     c2 != 0 && c3 == c1 * c2},
    {truncdiv(x - z, c2) * c3 - x * c1, ((0 - truncmod(x - z, c2)) - z) * c1,
     c2 != 0 && c3 == c1 * c2},
    {truncdiv(x + c1, c2) - truncdiv(x, c2), truncdiv(truncmod(x, c2) + c1, c2),
     c2 > 0 && c1 >= 0 && 0 <= x},
    {truncdiv(x + c1, c3) - truncdiv(x + c2, c3), truncdiv(truncmod(x + c2, c3) + (c1 - c2), c3),
     c3 > 0 && c2 <= c1 && 0 <= x + c2},
    {x - truncmod(x, y), truncdiv(x, y) * y, wraps},
    {(x + c1) / c3 - (x + c2) / c3, (x % c3) * (c1 % c3 - c2 % c3) + (c1 / c3 - c2 / c3), c3 == 2},
    {(x + c1) / c3 - x / c3, (x % c3) * (c1 % c3) + c1 / c3, c3 == 2},
    {x / c3 - (x + c2) / c3, (x % c3) * (0 - c2 % c3) + (0 - c2 / c3), c3 == 2},
    {(x + c1) / c2 - x / c2, (x % c2 + c1) / c2, c2 > 0},
    {(x + c1) / c3 - (x + c2) / c3, ((x + c2) % c3 + (c1 - c2)) / c3, c3 > 0 && c2 <= c1},
    {(x % c1 + c2) / c1 + x / c1, (x + c2) / c1, c1 > 0},
    {(x + 1) / c1 - x % c1, x / c1, c1 == 2},
    {x / c2 - (x + c1) / c2, 0 - (x % c2 + c1) / c2, c2 > 0},

    // Into min and max, where something cancels there.
    {min(x, y - z) + z, min(x + z, y)},
    {max(x, y - z) + z, max(x + z, y)},
    {min(x + c1, y) + c2, min(x, y + c2), c1 + c2 == 0},
    {max(x + c1, y) + c2, max(x, y + c2), c1 + c2 == 0},
    {min(x + c1, y + c2) - min(x, y + c3), c1, c2 == c1 + c3},
    {max(x + c1, y + c2) - max(x, y + c3), c1, c2 == c1 + c3},
    {min(x, y) - x, min(0, y - x)},
    {max(x, y) - x, max(0, y - x)},
    {x - min(x, y), max(0, x - y)},
    {x - max(x, y), min(0, x - y)},
    {min(x + y, z) - x, min(y, z - x)},
    {max(x + y, z) - x, max(y, z - x)},
    {x - min(x + y, z), max(0 - y, x - z)},
    {x - max(x + y, z), min(0 - y, x - z)},

    // Into select, where something cancels there.
    {select(p, x, y) + select(p, z, w), select(p, x + z, y + w), wraps},
    {select(p, x, y) - select(p, z, w), select(p, x - z, y - w), wraps},
    {select(p, x, y) - x, select(p, 0, y - x), wraps},
    {select(p, x, y) - y, select(p, x - y, 0), wraps},
    {select(p, x + y, z) - x, select(p, y, z - x), wraps},
    {select(p, x, y + z) - y, select(p, x - y, z), wraps},
};
// clang-format on

std::span<const Rule> sum_rules() {
  return sum_rows;
}

}  // namespace loopsmith::arith
