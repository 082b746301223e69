// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/rules.h"

namespace loopsmith::arith {
using namespace rule_language;

constexpr Rule rows[] = {
    {p && p, p, condition},
    {p || p, p, condition},
    {p && truth, p, condition},
    {p || falsehood, p, condition},
    {p && falsehood, falsehood, condition},
    {p || truth, truth, condition},
    {!(!p), p, condition},
    {!(p && q), !p || !q, condition},
    {!(p || q), !p && !q, condition},
};

std::span<const Rule> logic_rules() {
  return rows;
}

}  // namespace loopsmith::arith
