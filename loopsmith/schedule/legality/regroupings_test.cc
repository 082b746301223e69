// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/regroupings.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view summed_tensors =
    R"(A: T.Buffer((64, 24), "float32"), C: T.Buffer((24,), "float32"), H: T.Buffer((8,), "int32"))";

/// What the loop records when it leaves the schedule: `C H`, empty for an empty list, `-` where it
/// records nothing.
std::string record_of(const Schedule& schedule, LoopRV handle) {
  std::optional<std::vector<std::string>> names;
  pre_order_visit(recorded_func(schedule)->body, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    if (loop && loop->loop_var.same_as(schedule.get(handle).loop_var))
      names = regrouped_names(*loop);
    return !is_expr(*ref.get());
  });
  if (!names) return "-";
  std::string text;
  for (const std::string& name : *names) text += (text.empty() ? "" : " ") + name;
  return text;
}

TEST(regroupings, are_recorded_by_the_step) {
  Schedule sch(program(summed_tensors, R"(
for k in range(64):
    for j in range(24):
        C[j] = C[j] + A[k, j]
for m in range(64):
    H[m % 8] = H[m % 8] + 1
for i in range(24):
    C[i] = C[i] * T.float32(2)
)"));
  const LoopRV k = get_loop(sch, "k"), m = get_loop(sch, "m"), i = get_loop(sch, "i");
  parallel(sch, k);
  EXPECT_EQ(record_of(sch, k), "C");
  parallel(sch, m);
  EXPECT_EQ(record_of(sch, m), "H");
  parallel(sch, i);
  EXPECT_EQ(record_of(sch, i), "-");
  // It prints, and parses.
  const Ptr<PrimFunc> func = recorded_func(sch);
  EXPECT_NE(script(func).find("T.parallel(64, annotations={\"regroups\": [\"C\"]})"),
            std::string::npos)
      << script(func);
  EXPECT_EQ(script(parse_function(script(func))), script(func));
}

TEST(regroupings, are_of_memory_that_iterations_share) {
  Schedule sch(program(summed_tensors, R"(
s = T.alloc_buffer((1,), "float32")
for k in range(24):
    s[0] = T.float32(0)
    for j in range(64):
        s[0] = s[0] + A[j, k]
    C[k] = s[0]
)"));
  const LoopRV k = get_loop(sch, "k");
  parallel(sch, k);
  EXPECT_EQ(record_of(sch, k), "");
}

TEST(regroupings, follow_the_steps_after) {
  Schedule sch(program(summed_tensors, R"(
for k, j in T.grid(64, 24):
    with T.block("C"):
        vk, vj = T.axis.remap("RS", [k, j])
        with T.init():
            C[vj] = T.float32(0)
        C[vj] = C[vj] + A[vk, vj]
)"));
  const LoopRV k = get_loop(sch, "k");
  parallel(sch, k);
  EXPECT_EQ(record_of(sch, k), "C");
  const auto made = split(sch, get_loop(sch, "j"), {infer, 8});
  vectorize(sch, made[1]);
  EXPECT_EQ(record_of(sch, k), "C");
  cache_write(sch, get_block(sch, "C"), 0, "global");
  EXPECT_EQ(record_of(sch, k), "C_global");
}

TEST(regroupings, are_of_the_loops_that_steps_make) {
  Schedule sch(program(summed_tensors, R"(
for k in range(64):
    for j in range(24):
        C[j] = C[j] + A[k, j]
)"));
  parallel(sch, get_loop(sch, "k"));
  const auto parts = split(sch, get_loop(sch, "k"), {infer, 8});
  EXPECT_EQ(record_of(sch, parts[0]), "C");
  // It is no annotation that a step would have to leave alone.
  Schedule again(recorded_func(sch));
  const auto more = split(again, get_loop(again, "k_0"), {infer, 2});
  EXPECT_EQ(record_of(again, more[0]), "C");
}

}  // namespace
}  // namespace loopsmith
