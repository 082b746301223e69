// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/search/limits.h"

#include <string_view>

#include "loopsmith/support/error.h"

namespace loopsmith::tune {
namespace {

template <class Number>
void require_limit(bool ok, std::string_view name, Number value, std::string_view expected) {
  require(ok, "limits_are_positive", hint("leave it out for no limit, or the usual one"),
          "tune: {} is {}, expected {}", name, value, expected);
}

}  // namespace

void require_limits(const Limits& limits) {
  require_limit(limits.trials >= 1, "trials", limits.trials, "1 candidate or more");
  require_limit(limits.seconds > 0, "seconds", limits.seconds, "a time above 0");
  require_limit(limits.trial_seconds > 0, "the time of a trial", limits.trial_seconds,
                "seconds above 0");
  require_limit(limits.trial_bytes > 0, "the memory of a trial", limits.trial_bytes,
                "bytes above 0");
  require_limit(limits.patience >= 1, "patience", limits.patience, "1 candidate or more");
  require_limit(limits.variants >= 1, "variants", limits.variants, "1 schedule or more");
  require(limits.regret >= 0 && limits.regret < 1, "regret_is_a_share",
          hint("pass 0.01 for one percent"),
          "tune: regret is {}, expected a share of the best time, from 0 to below 1",
          limits.regret);
}

}  // namespace loopsmith::tune
