// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule logic_rows[] = {
    {p && p, p, condition},
    {p || p, p, condition},
    {p && truth, p, condition},
    {p || falsehood, p, condition},
    {p && falsehood, falsehood, condition},
    {p || truth, truth, condition},
    {!(!p), p, condition},
    {!(p && q), !p || !q, condition},
    {!(p || q), !p && !q, condition},
    {p && !p, falsehood, condition},
    {p || !p, truth, condition},
    {(p && q) && p, p && q, condition},
    {(p || q) || p, p || q, condition},
    {p && (p || q), p, condition},
    {p || (p && q), p, condition},
    {p && (q && r), (p && q) && r, condition, Order::as_written},
    {p || (q || r), (p || q) || r, condition, Order::as_written},

    // Comparisons of the same two.
    {x < y && y < x, falsehood, wraps},
    {x < y && y <= x, falsehood, wraps},
    {x < y && x == y, falsehood, wraps},
    {x == y && x != y, falsehood, wraps},
    {x < y && x <= y, x < y, wraps},
    {x < y && x != y, x < y, wraps},
    {x <= y && y <= x, x == y, wraps},
    {x <= y && x != y, x < y, wraps},
    {x <= y && x == y, x == y, wraps},
    {x < y || y < x, x != y, wraps},
    {x < y || y <= x, truth, wraps},
    {x <= y || y <= x, truth, wraps},
    {x < y || x == y, x <= y, wraps},
    {x < y || x <= y, x <= y, wraps},
    {x <= y || x == y, x <= y, wraps},
    {x < y || x != y, x != y, wraps},
    {x <= y || x != y, truth, wraps},
    {x == y || x != y, truth, wraps},

    // Comparisons with constants.
    {x < c1 && x < c2, x < min(c1, c2)},
    {c1 < x && c2 < x, max(c1, c2) < x},
    {x < c1 || x < c2, x < max(c1, c2)},
    {c1 < x || c2 < x, min(c1, c2) < x},
    {x < c1 && c2 < x, falsehood, c1 <= c2 + 1},
    {x < c1 && c2 < x, x == c1 - 1, c1 == c2 + 2},
    {x < c1 || c2 < x, truth, c2 < c1},
    {x < c1 || c2 < x, x != c1, c1 == c2},
    {x <= c1 && c2 < x, falsehood, c1 <= c2},
    {x < c1 && c2 <= x, falsehood, c1 <= c2},
    {x <= c1 && c2 <= x, falsehood, c1 < c2},
    {x <= c1 || c2 < x, truth, c2 <= c1},
    {x < c1 || c2 <= x, truth, c2 <= c1},
    {x <= c1 || c2 <= x, truth, c2 <= c1 + 1},
    {x == c1 && x == c2, falsehood, c1 != c2, wraps},
    {x != c1 || x != c2, truth, c1 != c2, wraps},
    {x == c1 && x != c2, x == c1, c1 != c2, wraps},
    {x == c1 || x != c2, x != c2, c1 != c2, wraps},
    {x == c1 && x < c2, x == c1, c1 < c2},
    {x == c1 && x < c2, falsehood, c2 <= c1},
    {x == c1 && c2 < x, x == c1, c2 < c1},
    {x == c1 && c2 < x, falsehood, c1 <= c2},
    {x == c1 || x < c2, x < c2, c1 < c2},
    {x == c1 || x < c2, x < c2 + 1, c1 == c2},
    {x == c1 || c2 < x, c2 < x, c2 < c1},
    {x == c1 || c2 < x, c2 - 1 < x, c1 == c2},
    {x < y + c1 && x < y + c2, x < y + min(c1, c2)},
    {x < y + c1 || x < y + c2, x < y + max(c1, c2)},
    {x + c1 < y && x + c2 < y, x + max(c1, c2) < y},
    {x + c1 < y || x + c2 < y, x + min(c1, c2) < y},
    {x < y && x < y + c1, x < y, c1 >= 0},
    {x < y + c1 && x < y, x < y, c1 >= 0},
    {x < y || x < y + c1, x < y + c1, c1 >= 0},
    {x < y + c1 || x < y, x < y + c1, c1 >= 0},
    {(p && x < c1) && x < c2, p && x < min(c1, c2)},
    {(p && c1 < x) && c2 < x, p && max(c1, c2) < x},
    {(p || x < c1) || x < c2, p || x < max(c1, c2)},
    {(p || c1 < x) || c2 < x, p || min(c1, c2) < x},

    // A number known by its quotient and remainder.
    {x / c1 == c2 && x % c1 == c3, x == c1 * c2 + c3, c1 > 0 && 0 <= c3 && c3 < c1},
    {x / c1 == c2 && x % c1 < c3, c1 * c2 <= x && x < c1 * c2 + c3, c1 > 0 && 0 <= c3 && c3 <= c1},
    {x / c1 == c2 && x % c1 <= c3, c1 * c2 <= x && x <= c1 * c2 + c3, c1 > 0 && 0 <= c3 && c3 < c1},
    {x / c1 == c2 && c3 < x % c1, c1 * c2 + c3 < x && x < c1 * c2 + c1,
     c1 > 0 && 0 <= c3 && c3 < c1},
    {x / c1 == c2 && c3 <= x % c1, c1 * c2 + c3 <= x && x < c1 * c2 + c1,
     c1 > 0 && 0 <= c3 && c3 < c1},
    {y * c1 <= x && x < y * c1 + c1, y == x / c1, c1 > 0},

    // A limit that lies where the remainder is too large.
    {x < c1 && x % c2 < c3, x < ((c1 - 1) / c2) * c2 + c3 && x % c2 < c3,
     c2 > 0 && 0 < c3 && ((c1 - 1) / c2) * c2 + c3 < c1},
    {x <= c1 && x % c2 < c3, x < (c1 / c2) * c2 + c3 && x % c2 < c3,
     c2 > 0 && 0 < c3 && (c1 / c2) * c2 + c3 <= c1},
};
// clang-format on

std::span<const Rule> logic_rules() {
  return logic_rows;
}

}  // namespace loopsmith::arith
