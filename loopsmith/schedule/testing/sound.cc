// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/sound.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::schedule_testing {

Ptr<PrimFunc> program(std::string_view text) {
  return parse_function("@T.prim_func\ndef main" + std::string(text));
}

void expect_sound(const Schedule& schedule, const Ptr<PrimFunc>& func) {
  verify_well_formed(schedule.func());
  schedule.check_tree();
  EXPECT_EQ(error_of([&] { interp::assert_same(func, schedule.func()); }), "");
  expect_replays(schedule, func);
}

}  // namespace loopsmith::schedule_testing
