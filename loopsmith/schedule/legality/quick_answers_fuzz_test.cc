// SPDX-License-Identifier: Apache-2.0
// Quick answers about blocks and loops that have an outer loop in common, beside the exact ones.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr int programs = 600;
constexpr const char* head =
    R"(A: T.Buffer((64,), "int32"), C: T.Buffer((64,), "int32"), D: T.Buffer((3, 64), "int32"))";

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}

  int from(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  bool happens(int in, int of) { return from(1, of) <= in; }

  /// A block `X` that writes what `P` reads; each iteration of `o` writes other values to it.
  std::string input() {
    return fmt::format(R"(
    for x in range({}):
        with T.block("X"):
            vo = T.axis.spatial(3, o)
            vx = T.axis.spatial(64, x + {})
            X[vx] = A[vx] + vo
)",
                       from(1, 12), from(0, 2));
  }

  /// An index of the first windows of `width`: whole windows most of the time, others now and then.
  std::string window(const std::string& inner, int width) {
    const int weight = happens(9, 10) ? width : from(0, 4);
    return fmt::format("o * {} + {} + {}", weight, inner, happens(9, 10) ? 0 : from(0, 2));
  }

 private:
  std::mt19937 random_;
};

/// A block `P` that fills windows of `W`, and a nest that reads them; all in a loop `o`.
std::string producer_and_reader(Draw& draw) {
  const int rows = draw.from(1, 4), columns = draw.from(1, 4), width = rows * columns;
  const std::string input = draw.input();
  const bool reduces = draw.happens(1, 3);
  std::string text = R"(
W = T.alloc_buffer((64,), "int32")
X = T.alloc_buffer((64,), "int32")
for o in range(3):)";
  if (draw.happens(9, 10)) text += input;
  const std::string condition =
      draw.happens(1, 4) ? fmt::format("\n            T.where(p < {})", draw.from(1, 12)) : "";
  const std::string loops =
      reduces
          ? fmt::format("p, k in T.grid({}, {})", draw.happens(9, 10) ? width : draw.from(1, 12), 2)
          : fmt::format("p in range({})", draw.happens(9, 10) ? width : draw.from(1, 12));
  text += fmt::format(R"(
    for {}:
        with T.block("P"):
            vp = T.axis.spatial(64, {}){})",
                      loops, draw.window("p", width), condition);
  text += reduces
              ? fmt::format(R"(
            vk = T.axis.reduce({}, {})
            with T.init():
                W[vp] = 0
            W[vp] = W[vp] + X[vp] * vk
)",
                            draw.happens(9, 10) ? 2 : 6, draw.happens(9, 10) ? "k" : "o * 2 + k")
              : "\n            W[vp] = X[vp] * 2\n";
  if (draw.happens(1, 5)) text += draw.input();
  text += fmt::format(R"(
    for t in range({}):
        for u in range({}):
            with T.block("R"):
                vo = T.axis.spatial(3, o)
                vr = T.axis.spatial(64, {})
                D[vo, vr] = W[vr + {}]
)",
                      draw.happens(9, 10) ? rows : draw.from(1, 4), columns,
                      draw.window(fmt::format("t * {} + u", columns), width),
                      draw.happens(9, 10) ? 0 : draw.from(0, 2));
  if (draw.happens(1, 5)) text += draw.input();
  return text;
}

/// A nest that fills windows of `W`, and a block `R` that copies them; all in a loop `o`.
std::string nest_and_copy(Draw& draw) {
  const int rows = draw.from(1, 4), columns = draw.from(1, 4), width = rows * columns;
  std::string text = R"(
W = T.alloc_buffer((64,), "int32")
X = T.alloc_buffer((64,), "int32")
for o in range(3):)";
  if (draw.happens(1, 2)) text += draw.input();
  text +=
      fmt::format(R"(
    for t in range({}):
        for u in range({}):
            with T.block("P"):
                vp = T.axis.spatial(64, {})
                W[vp] = A[vp] * 2
)",
                  rows, columns,
                  draw.window(fmt::format("t * {} + u", draw.happens(9, 10) ? columns : 1), width));
  if (draw.happens(1, 4)) text += draw.input();
  const std::string copied = draw.happens(1, 4) ? "X" : "C";
  text += fmt::format(R"(
    for r in range({}):
        with T.block("R"):
            vr = T.axis.spatial(64, {})
            {}[vr] = W[vr]
)",
                      draw.happens(9, 10) ? width : draw.from(1, 12), draw.window("r", width),
                      draw.happens(9, 10) ? "C" : copied);
  return text;
}

/// A block `P` that pads windows of `W`, which may overlap, and a block that reads them; all in a
/// loop `o`.
std::string padding_and_reader(Draw& draw) {
  const int width = draw.from(2, 6);
  const auto window = [&](std::string_view inner) {
    const int weight = draw.happens(7, 8) ? 2 : draw.from(0, 3);
    return fmt::format("o * {} + {}", weight, inner);
  };
  const auto reader = [&] {
    return fmt::format(R"(
    for r in range({}):
        with T.block("R"):
            vo = T.axis.spatial(3, o)
            vr = T.axis.spatial(64, {})
            D[vo, vr] = W[vr + {}]
)",
                       draw.happens(7, 8) ? width : width + 1, window("r"),
                       draw.happens(7, 8) ? 0 : 1);
  };
  std::string text = R"(
W = T.alloc_buffer((70,), "int32")
X = T.alloc_buffer((64,), "int32")
for o in range(3):)";
  if (draw.happens(1, 2)) text += draw.input();
  const bool reads_first = draw.happens(1, 8);
  if (reads_first) text += reader();
  text += fmt::format(
      R"(
    for p in range({}):
        with T.block("P"):
            vp = T.axis.spatial(64, {}){}
            W[{}] = T.if_then_else({} <= vp and vp < {}, {}[vp], 7)
)",
      width, window("p"),
      draw.happens(1, 4) ? fmt::format("\n            T.where(p < {} + o)", width - 2) : "",
      draw.happens(9, 10) ? "vp" : "vp // 2", draw.from(0, 3), draw.from(2, 9),
      draw.happens(1, 4) ? "X" : "A");
  if (!reads_first) text += reader();
  if (draw.happens(1, 8)) text += "for c in range(8):\n    C[c] = W[c]\n";
  return text;
}

template <class Plans>
bool is_proved(const Planned<Plans>& planned) {
  const auto* plan = std::get_if<Plans>(&planned);
  const auto* move = plan ? std::get_if<MovePlan>(plan) : nullptr;
  return move && move->preservation->is_proved;
}

/// Does a step that asks for the exact answer, too, and counts the quick ones.
template <class Step>
int quick_answers(std::string (*draw_program)(Draw&), Step&& step) {
  int found = 0;
  for (unsigned seed = 0; seed < programs; ++seed) {
    Draw draw(seed);
    const std::string text = draw_program(draw);
    const auto func = program(head, text);
    Schedule sch(func);
    sch.verify_quick_answers(true);
    bool is_quick = false;
    try {
      error_of([&] { is_quick = step(sch); });
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what() << text;
    }
    found += is_quick ? 1 : 0;
  }
  return found;
}

TEST(quick_answers, of_producers_in_a_common_loop_are_exact) {
  const int found = quick_answers(producer_and_reader, [](Schedule& sch) {
    const ComputeAtArguments call{.block = get_block(sch, "P"), .loop = get_loop(sch, "t")};
    const bool is_quick = is_proved(plan_compute_at(sch, call));
    compute_at(sch, call.block, call.loop);
    return is_quick;
  });
  EXPECT_GT(found, programs / 10);
  EXPECT_LT(found, programs * 3 / 4);
}

TEST(quick_answers, of_copies_in_a_common_loop_are_exact) {
  const int found = quick_answers(nest_and_copy, [](Schedule& sch) {
    const ReverseComputeAtArguments call{.block = get_block(sch, "R"), .loop = get_loop(sch, "t")};
    const bool is_quick = is_proved(plan_reverse_compute_at(sch, call));
    reverse_compute_at(sch, call.block, call.loop);
    return is_quick;
  });
  EXPECT_GT(found, programs / 10);
  EXPECT_LT(found, programs * 3 / 4);
}

TEST(quick_answers, of_paddings_in_overlapping_windows_are_right) {
  const int found = quick_answers(padding_and_reader, [](Schedule& sch) {
    const Ptr<PrimFunc> before = sch.func();
    const BlockRV block = get_block(sch, "P");
    const LoopRV loop = get_loop(sch, "o");
    const auto planned = plan_decompose_padding(sch, {.block = block, .loop = loop});
    const auto* plan = std::get_if<DecomposePaddingPlan>(&planned);
    decompose_padding(sch, block, loop);
    // Programs that read unwritten elements are undecided.
    const interp::Verdict verdict = interp::compare(before, sch.func());
    EXPECT_TRUE(verdict.answer != interp::Answer::different) << verdict.reason << script(before);
    return plan && plan->preservation->is_proved;
  });
  EXPECT_GT(found, programs / 10);
  EXPECT_LT(found, programs * 3 / 4);
}

}  // namespace
}  // namespace loopsmith
