// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule vector_rows[] = {
    {ramp(x, 0), broadcast(x), wraps},
    {ramp(x, y) + ramp(z, w), ramp(x + z, y + w), wraps},
    {ramp(x, y) - ramp(z, w), ramp(x - z, y - w), wraps},
    {broadcast(z) + ramp(x, y), ramp(z + x, y), wraps, Order::as_written},
    {ramp(x, y) + broadcast(z), ramp(x + z, y), wraps},
    {ramp(x, y) - broadcast(z), ramp(x - z, y), wraps},
    {broadcast(z) - ramp(x, y), ramp(z - x, 0 - y), wraps},
    {ramp(x, y) * broadcast(z), ramp(x * z, y * z), wraps},
    {(x + broadcast(y)) + broadcast(z), x + broadcast(y + z), wraps},
    {min(min(x, broadcast(y)), broadcast(z)), min(x, broadcast(min(y, z))), wraps},
    {max(max(x, broadcast(y)), broadcast(z)), max(x, broadcast(max(y, z))), wraps},
    {(x + broadcast(z)) + ramp(y, w), x + (ramp(y, w) + broadcast(z)), wraps},
    {(x * broadcast(y)) * broadcast(z), x * broadcast(y * z), wraps},

    // Division of a ramp: by what divides its stride, or where it stays within one multiple.
    {ramp(x, c1) / broadcast(c2), ramp(x / c2, c1 / c2), c2 > 0 && c1 % c2 == 0},
    {ramp(x, c1) / broadcast(c2), broadcast(x / c2),
     c2 > 0 && 0 <= x % c2 + min(c1 * (lanes - 1), 0) &&
     x % c2 + max(c1 * (lanes - 1), 0) < c2},
    {truncdiv(ramp(x, y), broadcast(z)), ramp(x, y) / broadcast(z), 0 <= x && 0 <= y && 0 < z},
    {truncmod(ramp(x, y), broadcast(z)), ramp(x, y) % broadcast(z), 0 <= x && 0 <= y && 0 < z},
    {ramp(x, c1) % broadcast(c2), broadcast(x % c2), c2 > 0 && c1 % c2 == 0},
    {ramp(x, c1) % broadcast(c2), ramp(x % c2, c1),
     c2 > 0 && 0 <= x % c2 + min(c1 * (lanes - 1), 0) &&
     x % c2 + max(c1 * (lanes - 1), 0) < c2},

    {ramp(x * c1 + y, z) % broadcast(c2), ramp(y, z) % broadcast(c2), c2 > 0 && c1 % c2 == 0},
    {ramp(x * c1, z) % broadcast(c2), ramp(0, z) % broadcast(c2), c2 > 0 && c1 % c2 == 0},
    {ramp(c1, z) % broadcast(c2), ramp(c1 % c2, z) % broadcast(c2), c2 > 0 && (c1 < 0 || c2 <= c1)},
    {ramp(x, y) < ramp(z, y), broadcast(x < z)},
    {ramp(x, y) == ramp(z, y), broadcast(x == z), wraps},
    {max(ramp(x, y), ramp(z, y)), ramp(max(x, z), y)},
    {min(ramp(x, y), ramp(z, y)), ramp(min(x, z), y)},

    // The same in every lane.
    {broadcast(x) + broadcast(y), broadcast(x + y), any},
    {broadcast(x) - broadcast(y), broadcast(x - y), any},
    {broadcast(x) * broadcast(y), broadcast(x * y), any},
    {min(broadcast(x), broadcast(y)), broadcast(min(x, y)), any},
    {max(broadcast(x), broadcast(y)), broadcast(max(x, y)), any},
    {broadcast(x) == broadcast(y), broadcast(x == y), any},
    {broadcast(x) != broadcast(y), broadcast(x != y), any},
    {broadcast(x) < broadcast(y), broadcast(x < y), any},
    {broadcast(x) <= broadcast(y), broadcast(x <= y), any},
    {broadcast(x) / broadcast(y), broadcast(x / y), wraps},
    {broadcast(x) % broadcast(y), broadcast(x % y), wraps},
    {truncdiv(broadcast(x), broadcast(y)), broadcast(truncdiv(x, y)), wraps},
    {truncmod(broadcast(x), broadcast(y)), broadcast(truncmod(x, y)), wraps},
    {broadcast(p) && broadcast(q), broadcast(p && q), condition},
    {broadcast(p) || broadcast(q), broadcast(p || q), condition},
    {!broadcast(p), broadcast(!p), condition},
};
// clang-format on

std::span<const Rule> vector_rules() {
  return vector_rows;
}

}  // namespace loopsmith::arith
