// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/decompose_padding.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr auto parameters = R"(X: T.Buffer((64, 8), "float32"), Y: T.Buffer((70, 8), "float32"))";

Ptr<PrimFunc> padded_program(std::string_view condition = "3 <= vi and vi < 67") {
  return program(parameters, fmt::format(R"(
for i, j in T.grid(70, 8):
    with T.block("Y"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = T.if_then_else({}, X[vi - 3, vj], T.float32(0))
)",
                                         condition));
}

TEST(decompose_padding, fills_in_the_constant_and_shortens_the_loops) {
  const auto before = padded_program();
  Schedule sch(before);
  const auto y = get_block(sch, "Y");
  const auto loops = get_loops(sch, y);
  const auto constant = decompose_padding(sch, y, loops[0]);
  EXPECT_EQ(sch.name(constant), "Y_pad_const");
  EXPECT_EQ(get_loops(sch, y), loops);
  expect_result(sch, before, program(parameters, R"(
for i, j in T.grid(70, 8):
    with T.block("Y_pad_const"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = T.float32(0)
for i, j in T.grid(64, 8):
    with T.block("Y"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi + 3, vj] = X[vi, vj]
)"));
}

TEST(decompose_padding, restricts_loops_outside_by_a_condition) {
  const auto before = padded_program();
  Schedule sch(before);
  const auto y = get_block(sch, "Y");
  decompose_padding(sch, y, get_loops(sch, y)[1]);
  expect_result(sch, before, program(parameters, R"(
for i in range(70):
    for j in range(8):
        with T.block("Y_pad_const"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.float32(0)
    for j in range(8):
        with T.block("Y"):
            T.where(3 <= i and i < 67)
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = X[vi - 3, vj]
)"));
}

TEST(decompose_padding, is_right_for_any_condition) {
  for (const char* condition :
       {"3 <= vi and vi < 67 and vj < 5 and 1 <= vj", "vi * 2 < 100 and 3 <= vi", "vi == 9",
        "3 <= vi and vi < 67 and (vi + vj) % 2 == 0", "5 <= vi and vi < 5", "vi // 8 == 2",
        "vi != 2 and 3 <= vi and vi < 67", "69 < vi"}) {
    for (const int part : {0, 1, 2}) {
      const auto before = padded_program(condition);
      Schedule sch(before);
      const auto y = get_block(sch, "Y");
      if (part == 2) split(sch, get_loops(sch, y)[0], {infer, 16});
      decompose_padding(sch, y, get_loops(sch, y)[static_cast<std::size_t>(part)]);
      expect_result(sch, before);
    }
  }
}

TEST(decompose_padding, fills_before_what_reads_in_the_loop) {
  constexpr std::string_view reader = R"(    with T.block("Z"):
        vi = T.axis.spatial(10, i)
        Z[vi] = Y[vi] * T.float32(2)
)";
  for (const std::string_view consumer : {reader, std::string_view("    Z[i] = Y[i]\n")}) {
    const auto before = program(R"(X: T.Buffer((8,), "float32"), Z: T.Buffer((10,), "float32"))",
                                fmt::format(R"(
Y = T.alloc_buffer((10,))
for i in range(10):
    with T.block("Y"):
        vi = T.axis.spatial(10, i)
        Y[vi] = T.if_then_else(1 <= vi and vi < 9, X[vi - 1], T.float32(0))
{})",
                                            consumer));
    Schedule sch(before);
    const auto y = get_block(sch, "Y");
    decompose_padding(sch, y, get_loops(sch, y)[0]);
    expect_result(sch, before);
  }
}

TEST(decompose_padding, fills_nothing_that_is_still_read) {
  const auto before = program(R"(X: T.Buffer((8,), "float32"), Y: T.Buffer((10,), "float32"),
         Z: T.Buffer((10,), "float32"))",
                              R"(
for i in range(10):
    with T.block("Y"):
        vi = T.axis.spatial(10, i)
        Y[vi] = T.if_then_else(1 <= vi and vi < 9, X[vi - 1], T.float32(0))
    with T.block("Z"):
        vi = T.axis.spatial(10, i)
        Z[vi] = Y[9 - vi]
)");
  Schedule sch(before);
  const auto y = get_block(sch, "Y");
  EXPECT_EQ(error_of([&] { decompose_padding(sch, y, get_loops(sch, y)[0]); }),
            "step_keeps_results: decompose_padding: results would change: Z (i=4) reads Y before "
            "Y_pad_const (vi=5) writes it, and would come after that");
  add_unit_loop(sch, y);
  decompose_padding(sch, y, get_loops(sch, y)[1]);
  expect_result(sch, before);
}

/// Windows of padded rows, which overlap; `reads` is what the reader adds up.
Ptr<PrimFunc> overlapping_windows(std::string_view place, std::string_view reads) {
  return program(R"(X: T.Buffer((10,), "float32"), Z: T.Buffer((3, 4), "float32"))",
                 fmt::format(R"(
Y = T.alloc_buffer((20,))
for o in range(3):
    for i in range(6):
        with T.block("Y"):
            vi = T.axis.spatial(20, o * 4 + i)
            Y[{}] = T.if_then_else(2 <= vi and vi < 12, X[vi - 2], T.float32(0))
    for j in range(4):
        with T.block("Z"):
            vo, vj = T.axis.remap("SS", [o, j])
            Z[vo, vj] = {}
)",
                             place, reads));
}

TEST(decompose_padding, fills_before_all_windows_that_overlap) {
  const auto before = overlapping_windows("vi", "Y[vo * 4 + vj] + Y[vo * 4 + vj + 2]");
  for (const std::size_t loop : {0U, 1U}) {
    Schedule sch(before);
    const auto y = get_block(sch, "Y");
    decompose_padding(sch, y, get_loops(sch, y)[loop]);
    expect_result(sch, before);
  }
}

TEST(decompose_padding, fills_before_no_windows_that_others_see) {
  const auto refused = [](std::string_view place, std::string_view reads) {
    Schedule sch(overlapping_windows(place, reads));
    const auto y = get_block(sch, "Y");
    return error_of([&] { decompose_padding(sch, y, get_loops(sch, y)[0]); });
  };
  constexpr std::string_view change = "step_keeps_results: decompose_padding: results ";
  // What a later window fills,
  EXPECT_TRUE(refused("vi", "Y[vo * 4 + vj + 6]").starts_with(change));
  // and an element that is padded and written by turns.
  EXPECT_TRUE(refused("vi // 2", "Y[vo * 2 + vj]").starts_with(change));
}

TEST(decompose_padding, refuses_elements_that_the_loop_still_decides) {
  // The block before it writes, in the same loop, by what it finds its elements, whether it runs,
  // its axes, or how often.
  const auto refused = [](std::string_view loop, std::string_view axis, std::string_view where,
                          std::string_view element) {
    Schedule sch(program(R"(Z: T.Buffer((4,), "int32"), Y: T.Buffer((4, 4), "int32"))",
                         fmt::format(R"(
for i in range(4):
    with T.block("Z"):
        vi = T.axis.spatial(4, i)
        Z[vi] = vi + 1
    for j in range({}):
        with T.block("Y"):
            vi = T.axis.spatial(4, {})
            vj = T.axis.spatial(4, j)
            T.where({})
            Y[{}, vj] = T.if_then_else(vj < 3, vj, 0)
)",
                                     loop, axis, where, element)));
    const auto y = get_block(sch, "Y");
    return error_of([&] { decompose_padding(sch, y, get_loops(sch, y)[0]); });
  };
  EXPECT_EQ(refused("4", "i", "i < 4", "vi"), "");
  const std::string refusal = "step_keeps_results: decompose_padding: results ";
  EXPECT_TRUE(refused("4", "i", "i < 4", "Z[vi] % 4").starts_with(refusal));
  EXPECT_TRUE(refused("4", "i", "Z[i] < 3", "vi").starts_with(refusal));
  EXPECT_TRUE(refused("4", "Z[i] % 4", "i < 4", "vi").starts_with(refusal));
  EXPECT_TRUE(refused("Z[i] % 4", "i", "i < 4", "vi").starts_with(refusal));
}

TEST(decompose_padding, refuses_what_does_not_pad) {
  const auto refused = [](std::string_view value) {
    Schedule sch(program(parameters, fmt::format(R"(
for i, j in T.grid(64, 8):
    with T.block("Y"):
        vi, vj = T.axis.remap("SS", [i, j])
        Y[vi, vj] = {}
)",
                                                 value)));
    const auto y = get_block(sch, "Y");
    return error_of([&] { decompose_padding(sch, y, get_loops(sch, y)[0]); });
  };
  const std::string start =
      "body_pads: decompose_padding: block Y can not be matched to padding pattern, as ";
  EXPECT_EQ(refused("X[vi, vj]"), start + "it stores no if_then_else");
  EXPECT_EQ(refused("T.if_then_else(vi < 3, X[vi, vj], X[0, 0])"),
            start + "what it pads with is no constant");
  EXPECT_EQ(refused("T.if_then_else(X[vi, vj] < T.float32(0), T.float32(1), T.float32(0))"),
            start + "its condition reads memory");
  EXPECT_EQ(refused("T.if_then_else(vi < 3, T.call_extern(\"float32\", \"f\"), T.float32(0))"),
            start + "its value has side effects");

  Schedule sch(matmul(4, 4, 4));
  const auto c = get_block(sch, "C");
  EXPECT_EQ(error_of([&] { decompose_padding(sch, c, get_loops(sch, c)[0]); }),
            start.substr(0, start.find("Y can")) +
                "C can not be matched to padding pattern, as it stores no if_then_else");
  Schedule two(two_stages(4, 4));
  EXPECT_EQ(error_of([&] {
              decompose_padding(two, get_block(two, "B"), get_loops(two, get_block(two, "C"))[0]);
            }),
            "loop_is_around_block: decompose_padding: loop i is not around block B");
  Schedule branch(program(parameters, R"(
for i, j in T.grid(70, 8):
    if j < 5:
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.if_then_else(3 <= vi and vi < 67, X[vi - 3, vj], T.float32(0))
)"));
  const auto y = get_block(branch, "Y");
  EXPECT_EQ(error_of([&] { decompose_padding(branch, y, get_loops(branch, y)[0]); }),
            start + "it stands inside a statement that is no loop");
  Schedule bare(program(parameters, R"(
for i, j in T.grid(70, 8):
    with T.block("Y"):
        Y[i, j] = T.if_then_else(3 <= i and i < 67, X[i - 3, j], T.float32(0))
)"));
  const auto without_axes = get_block(bare, "Y");
  EXPECT_EQ(
      error_of([&] { decompose_padding(bare, without_axes, get_loops(bare, without_axes)[0]); }),
      start + "it has no axes");
}

}  // namespace
}  // namespace loopsmith
