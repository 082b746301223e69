// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

constexpr Rule rows[] = {
    {truncdiv(x, y), x / y, 0 <= x && 0 < y},
    {truncmod(x, y), x % y, 0 <= x && 0 < y},
};

std::span<const Rule> trunc_rules() {
  return rows;
}

}  // namespace loopsmith::arith
