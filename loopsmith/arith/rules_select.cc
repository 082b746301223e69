// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

// clang-format off
constexpr Rule select_rows[] = {
    {select(p, x, x), x, any | condition},
    {select(!p, x, y), select(p, y, x), any | condition},
    {select(p, truth, falsehood), p, condition},
    {select(p, falsehood, truth), !p, condition},
    {select(p, truth, q), p || q, condition},
    {select(p, q, falsehood), p && q, condition},
    {select(p, select(q, x, y), y), select(p && q, x, y), any},
    {select(p, x, select(q, x, y)), select(p || q, x, y), any},
    {select(x < y, x, y), min(x, y), wraps},
    {select(x <= y, x, y), min(x, y), wraps},
    {select(x < y, y, x), max(x, y), wraps},
    {select(x <= y, y, x), max(x, y), wraps},
    {select(x == y, x, y), y, wraps},
    {select(x != y, x, y), x, wraps},
};
// clang-format on

std::span<const Rule> select_rules() {
  return select_rows;
}

}  // namespace loopsmith::arith
