// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/semantics.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::schedule_testing {

Ptr<PrimFunc> program(std::string_view parameters, std::string_view body) {
  std::string text = fmt::format("@T.prim_func\ndef main({}):\n", parameters);
  bool starts_line = true;
  for (const char letter : body) {
    if (starts_line && letter != '\n') text += "    ";
    text += letter;
    starts_line = letter == '\n';
  }
  return parse_function(text);
}

Handles<LoopRV> all_loops(const Schedule& schedule) {
  Handles<LoopRV> found;
  std::vector<NodeId> open{schedule.root(0)};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    if (schedule.as<For>(node)) found.push_back(schedule.loop_at(node));
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      open.push_back(child);
    }
  }
  return found;
}

void expect_result(const Schedule& schedule, const Ptr<PrimFunc>& before,
                   const Ptr<PrimFunc>& expected) {
  const Ptr<PrimFunc> after = schedule.func();
  verify_well_formed(after);
  if (expected) {
    const auto difference = first_difference(expected->body, after->body, true);
    EXPECT_FALSE(difference.has_value()) << difference->text() << script(after);
  }
  const interp::Verdict verdict = interp::compare(before, after, {.implies_barriers = true});
  EXPECT_TRUE(verdict.answer == interp::Answer::same) << verdict.reason << "\n" << script(after);
  expect_replays(schedule, before);
}

}  // namespace loopsmith::schedule_testing
