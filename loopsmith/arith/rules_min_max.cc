// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

constexpr Rule rows[] = {
    {min(x, x), x, any},    {max(x, x), x, any},    {min(x, y), x, x <= y},
    {min(x, y), y, y <= x}, {max(x, y), x, y <= x}, {max(x, y), y, x <= y},
};

std::span<const Rule> min_max_rules() {
  return rows;
}

}  // namespace loopsmith::arith
