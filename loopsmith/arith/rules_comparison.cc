// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule comparison_rows[] = {
    // What both sides have in common goes.
    {x + y < x + z, y < z},
    {x + y < x, y < 0},
    {x < x + y, 0 < y},
    {x - y < x - z, z < y},
    {x - y < z - y, x < z},
    {x - y < x, 0 < y},
    {x < x - y, y < 0},
    {x - y < 0, x < y},
    {0 < x - y, y < x},
    {(x + y) + z < x + w, y + z < w},
    {x + w < (x + y) + z, w < y + z},

    // Constants to one side; what is left of `x < y + c` has a positive c.
    {x + c1 < c2, x < c2 - c1},
    {c1 < x + c2, c1 - c2 < x},
    {c1 - x < c2, c1 - c2 < x},
    {c1 < c2 - x, x < c2 - c1},
    {x + c1 < y + c2, x < y + (c2 - c1)},
    {x + c1 < y, x < y + (0 - c1), c1 < 0},
    {x < y + c1, x + (0 - c1) < y, c1 < 0},
    {x < y + 1, x <= y},
    {x - y < c1, x < y + c1},
    {c1 < x - y, y + c1 < x},

    // Factors and divisors.
    {x * c1 < y * c1, x < y, c1 > 0},
    {x * c1 < y * c1, y < x, c1 < 0},
    {x * c1 < y * c1 + c2, x < y + ((c2 - 1) / c1 + 1), c1 > 0},
    {x * c1 + c2 < y * c1, x + c2 / c1 < y, c1 > 0},
    {x * c1 < c2, x < (c2 - 1) / c1 + 1, c1 > 0},
    {x * c1 < c2, (0 - c2) / (0 - c1) < x, c1 < 0},
    {c1 < x * c2, c1 / c2 < x, c2 > 0},
    {c1 < x * c2, x < (0 - c1 - 1) / (0 - c2) + 1, c2 < 0},
    {x * c1 + y < c2, x < c2 / c1, c1 > 0 && c2 % c1 == 0 && 0 <= y && y < c1},
    {x * c1 + y < c2, c2 / c1 < x, c1 < 0 && c2 % c1 == 0 && 0 <= y && y < 0 - c1},
    {y - x * c1 < c2, (0 - c2) / c1 < x, c1 > 0 && c2 % c1 == 0 && 0 <= y && y < c1},
    {x / c1 < c2, x < c1 * c2, c1 > 0},
    {c1 < x / c2, (c1 + 1) * c2 - 1 < x, c2 > 0},
    {(x / c1) * c1 < x, 0 < x % c1, c1 > 0},
    {(x / c1) * c1 < x + y, 0 < x % c1 + y, c1 > 0},
    {(x / c1) * c1 + y < x, y < x % c1, c1 > 0},
    {(x / c1) * c1 < x - y, y < x % c1, c1 > 0},
    {((x + c1) / c2) * c2 < x + y, c1 < (x + c1) % c2 + y, c2 > 0},
    {((x + c1) / c2) * c2 < x - y, y + c1 < (x + c1) % c2, c2 > 0},
    {truncdiv(x, c1) < c2, x < c1 * c2, c1 > 0 && c2 > 0},
    {truncdiv(x, c1) < c2, x < c1 * (c2 - 1) + 1, c1 > 0 && c2 <= 0},
    {c1 < truncdiv(x, c2), (c1 + 1) * c2 - 1 < x, c2 > 0 && c1 >= 0},
    {c1 < truncdiv(x, c2), c1 * c2 < x, c2 > 0 && c1 < 0},
    {truncdiv(x, c1) * c1 < x, 0 < truncmod(x, c1), c1 > 0},
    {truncdiv(x, c1) * c1 < x + y, 0 < truncmod(x, c1) + y, c1 > 0},
    {truncdiv(x, c1) * c1 < x - y, y < truncmod(x, c1), c1 > 0},
    {truncdiv(x + c1, c2) * c2 < x, c1 < truncmod(x + c1, c2), c2 > 0},
    {truncdiv(x + c1, c2) * c2 < x + y, c1 < truncmod(x + c1, c2) + y, c2 > 0},
    {truncdiv(x + c1, c2) * c2 < x - y, y + c1 < truncmod(x + c1, c2), c2 > 0},
    {x / c1 < y / c1, falsehood, c1 > 0 && y <= x},
    {x / c1 <= y / c1, truth, c1 > 0 && x <= y},
    {x / c1 < (y + c2) / c1, truth, c1 > 0 && c1 <= c2 + 1 && x < y},
    {(x + c1) / c2 < x / c2 + c3, truth, c2 > 0 && (c1 + c2 - 1) / c2 < c3},

    // A number and itself rounded to a multiple.
    {x <= ((x + c1) / c2) * c2, truth, c2 > 0 && c2 <= c1 + 1},
    {((x + c1) / c2) * c2 < x, falsehood, c2 > 0 && c2 <= c1 + 1},
    {((x + c1) / c2) * c2 < x, truth, c2 > 0 && c1 < 0},
    {((x + c1) / c2) * c2 <= x, truth, c2 > 0 && c1 <= 0},
    {((x + c1) / c2) * c2 < x, c1 < (x + c1) % c2, c2 > 0},
    {((x + c1) / c2) * c2 < x + c3, truth, c2 > 0 && c1 < c3},
    {((x + c1) / c2) * c2 <= x + c3, truth, c2 > 0 && c1 <= c3},
    {x < ((x + c1) / c2) * c2 + c3, truth, c2 > 0 && c2 <= c1 + c3},
    {x <= ((x + c1) / c2) * c2 + c3, truth, c2 > 0 && c2 <= c1 + c3 + 1},

    // A product and a multiple of the sum of its factors.
    {x * y < (x + y) * c1, truth, 0 < x && 0 < y && x <= c1},
    {x * y < (x + y) * c1, truth, 0 < x && 0 < y && x < c1 * 2 && y < c1 * 2},

    // Quotients and remainders by what is not negative.
    {x % y < y, truth, 0 <= y},
    {y <= x % y, falsehood, 0 <= y},
    {x % y < 0, falsehood, 0 <= y},
    {x % y <= 0, x % y == 0, 0 <= y},
    {x % y < 1, x % y == 0, 0 <= y},
    {0 <= x % y, truth, 0 <= y},
    {x % y <= x, truth, 0 <= x && 0 <= y},
    {x < x % y, falsehood, 0 <= x && 0 <= y},
    {x / y <= x, truth, 0 <= x && 0 <= y},
    {x < x / y, falsehood, 0 <= x && 0 <= y},

    // min and max.
    {min(x, y) < x, y < x, wraps},
    {x < max(x, y), x < y, wraps},
    {x + c1 < max(x, y), x + c1 < y, c1 >= 0},
    {x < min(x, y), falsehood, wraps},
    {max(x, y) < x, falsehood, wraps},
    {min(x, c1) < c2, truth, c1 < c2},
    {min(x, c1) < c2, x < c2, c2 <= c1},
    {max(x, c1) < c2, x < c2, c1 < c2},
    {max(x, c1) < c2, falsehood, c2 <= c1},
    {c1 < min(x, c2), c1 < x, c1 < c2},
    {c1 < min(x, c2), falsehood, c2 <= c1},
    {c1 < max(x, c2), truth, c1 < c2},
    {c1 < max(x, c2), c1 < x, c2 <= c1},
    {min(x, y) < min(x, z), y < min(x, z), wraps},
    {max(x, y) < max(x, z), max(x, y) < z, wraps},

    // Equality.
    {x + c1 == c2, x == c2 - c1, wraps},
    {c1 - x == c2, x == c1 - c2, wraps},
    {x - y == 0, x == y, wraps},
    {x - y == c1, x == y + c1, wraps},
    {x + y == x, y == 0, wraps},
    {x - y == x, y == 0, wraps},
    {x + y == x + z, y == z, wraps},
    {x - y == x - z, y == z, wraps},
    {x - y == z - y, x == z, wraps},
    {x * c1 == c2, x == c2 / c1, c1 != 0 && c2 % c1 == 0},
    {x * c1 == c2, falsehood, c1 != 0 && c2 % c1 != 0},
    {x * c1 == y * c1, x == y, c1 != 0},
    {x * y == 0, x == 0 || y == 0},
    {min(x, c1) == c2, x == c2, c2 < c1},
    {max(x, c1) == c2, x == c2, c1 < c2},
    {min(x, c1) == c2, falsehood, c1 < c2},
    {max(x, c1) == c2, falsehood, c2 < c1},
};
// clang-format on

std::span<const Rule> comparison_rules() {
  return comparison_rows;
}

}  // namespace loopsmith::arith
