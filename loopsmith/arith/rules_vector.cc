// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

constexpr Rule rows[] = {
    {broadcast(x) + broadcast(y), broadcast(x + y), any},
    {ramp(x, y) + broadcast(z), ramp(x + z, y), wraps},
    {ramp(x, y) + ramp(z, w), ramp(x + z, y + w), wraps},
    {ramp(x, y) * broadcast(z), ramp(x * z, y* z), wraps},
};

std::span<const Rule> vector_rules() {
  return rows;
}

}  // namespace loopsmith::arith
