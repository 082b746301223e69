// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// Constants last: x + c, and x - c is x + (-c) before any rule is tried.
constexpr Rule rows[] = {
    // Constants gather at the end.
    {(x + c1) + c2, x + (c1 + c2), wraps},
    {(x + c1) + y, (x + y) + c1, wraps},
    {x - (y + c1), (x - y) + (0 - c1), wraps},
    {(x + c1) - y, (x - y) + c1, wraps},
    {(c1 - x) + c2, (c1 + c2) - x, wraps},
    {(c1 - x) - c2, (c1 - c2) - x, wraps},
    {c1 - (x + c2), (c1 - c2) - x, wraps},
    {c1 - (c2 - x), x + (c1 - c2), wraps},

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
    {x + (0 - y), x - y, wraps},
    {x - (0 - y), x + y, wraps},
    {x + 0, x, wraps},

    // Like terms.
    {x + x, x * 2, wraps},
    {x * y + x, x * (y + 1), wraps},
    {x * y + x * z, x * (y + z), wraps},
    {x * y - x, x * (y - 1), wraps},
    {x - x * y, x * (1 - y), wraps},
    {x * y - x * z, x * (y - z), wraps},
    {x + y * c1, x - y * (0 - c1), c1 < 0},
    {x - y * c1, x + y * (0 - c1), c1 < 0},
    {(0 - x) + y, y - x, wraps},

    // Digits.
    {(x / c1) * c1 + x % c1, x},
    {x - (x / c1) * c1, x % c1},
    {(x / c1) * c1 - x, 0 - x % c1},
    {x - x % c1, (x / c1) * c1},
};

std::span<const Rule> sum_rules() {
  return rows;
}

}  // namespace loopsmith::arith
