// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

constexpr Rule rows[] = {
    {select(p, x, x), x, any},
};

std::span<const Rule> select_rules() {
  return rows;
}

}  // namespace loopsmith::arith
