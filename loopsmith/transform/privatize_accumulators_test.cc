// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/privatize_accumulators.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

Ptr<PrimFunc> with_lines(std::string_view lines) {
  return parse_function(fmt::format(R"(@T.prim_func
def main(A: T.Buffer((200, 6), "float32"), X: T.Buffer((200,), "int32"), C: T.Buffer((6,), "float32"), H: T.Buffer((6,), "int32")):
{})",
                                    lines));
}

/// Its body with partial results; the whole of lowering computes what the program says.
std::string checked_body(std::string_view lines) {
  const auto func = with_lines(lines);
  const auto lowered = lower_function(func, {.verify = true});
  const interp::Verdict verdict = interp::compare(func, lowered);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n" << script(lowered);
  const std::string text = script(privatize_accumulators(func));
  return text.substr(text.find("):\n") + 3) + "\n";
}

TEST(privatize_accumulators, gives_each_part_a_result) {
  EXPECT_EQ(checked_body(R"(
    for k in T.parallel(50):
        C[0] = A[k, 0] + C[0]
)"),
            R"(    C_parts = T.decl_buffer((6, 16))
    for k_part in T.parallel(6):
        for e in range(1):
            C_parts[k_part, e] = T.float32(-0.0)
        for k_in_part in range(9):
            if k_part * 9 + k_in_part < 50:
                C_parts[k_part, 0] = C_parts[k_part, 0] + A[k_part * 9 + k_in_part, 0]
    for row, e in T.grid(6, 1):
        C[e] = C[e] + C_parts[row, e]
)");
}

TEST(privatize_accumulators, takes_what_stands_under_a_condition_on_memory) {
  const std::string body = checked_body(R"(
    if H[0] < 3:
        t = T.int32(0)
        for k in T.parallel(50):
            t = X[k]
            C[0] = A[k, 0] + C[0]
            X[k] = t + 1
)");
  EXPECT_NE(body.find("C_parts[k_part, 0] = C_parts[k_part, 0] + A["), std::string::npos) << body;
}

TEST(privatize_accumulators, takes_what_all_iterations_add_to_where_others_are_unknown) {
  const std::string body = checked_body(R"(
    for k in T.parallel(50):
        if k > 0:
            X[X[k] % 1 + k] = 3
        C[0] = A[k, 0] + C[0]
)");
  EXPECT_NE(body.find("C_parts[k_part, 0] = C_parts[k_part, 0] + A["), std::string::npos) << body;
}

TEST(privatize_accumulators, runs_in_turn_what_also_stores_through_memory) {
  const auto func = with_lines(R"(
    for k in T.parallel(50):
        C[0] = A[k, 0] + C[0]
        C[X[k] % 5 + 1] = A[k, 1]
)");
  const std::string text = script(privatize_accumulators(func));
  EXPECT_EQ(text.find("T.parallel"), std::string::npos) << text;
}

TEST(privatize_accumulators, combines_many_in_groups_and_touches_nothing_else) {
  const std::string body = checked_body(R"(
    for k in T.parallel(200):
        for j in range(k % 6):
            if X[k] > 3:
                C[j] = T.min(C[j], A[k, j])
)");
  EXPECT_NE(body.find("for group in range(3):\n        for other in range(1, 8):"),
            std::string::npos)
      << body;
  EXPECT_NE(body.find("!= T.float32(\"inf\"):"), std::string::npos) << body;
}

TEST(privatize_accumulators, gives_each_combiner_results_of_its_own) {
  EXPECT_EQ(checked_body(R"(
    for k in T.parallel(20):
        C[0] = T.min(C[0], A[k, 0])
        C[1] = T.max(C[1], A[k, 0])
)"),
            R"(    C_parts = T.decl_buffer((2, 16))
    C_parts_1 = T.decl_buffer((2, 16))
    for k_part in T.parallel(2):
        for e in range(1):
            C_parts[k_part, e] = T.float32("inf")
        for e in range(1):
            C_parts_1[k_part, e] = T.float32("-inf")
        for k_in_part in range(10):
            C_parts[k_part, 0] = T.min(C_parts[k_part, 0], A[k_part * 10 + k_in_part, 0])
            C_parts_1[k_part, 0] = T.max(C_parts_1[k_part, 0], A[k_part * 10 + k_in_part, 0])
    for row, e in T.grid(2, 1):
        C[e] = T.min(C[e], C_parts[row, e])
    for row, e in T.grid(2, 1):
        C[1 + e] = T.max(C[1 + e], C_parts_1[row, e])
)");
}

TEST(privatize_accumulators, takes_places_from_memory) {
  const std::string floats = checked_body(R"(
    for k in T.parallel(200):
        C[X[k] % 6] = C[X[k] % 6] + A[k, 0]
)");
  EXPECT_NE(floats.find("C_parts"), std::string::npos);
  const std::string few = checked_body(R"(
    for k in T.parallel(200):
        H[X[k] % 6] = H[X[k] % 6] + 1
)");
  EXPECT_NE(few.find("H_parts"), std::string::npos);
  // Of integers, atomic updates need no room.
  const auto counts = with_lines(R"(
    for k in T.parallel(200, annotations={"atomic_updates": 1}):
        H[X[k] % 6] = H[X[k] % 6] + 1
)");
  EXPECT_TRUE(privatize_accumulators(counts).same_as(counts));
}

TEST(privatize_accumulators, leaves_what_iterations_have_for_themselves) {
  const auto own = with_lines(R"(
    s = T.decl_buffer((1,), "float32")
    for k in T.parallel(200):
        s[0] = T.float32(0)
        for j in range(6):
            s[0] = s[0] + A[k, j]
        A[k, 0] = s[0]
)");
  EXPECT_TRUE(privatize_accumulators(own).same_as(own));
}

TEST(privatize_accumulators, follows_the_init_of_blocks_out_of_the_loop) {
  const std::string body = checked_body(R"(
    L = T.alloc_buffer((6,), "float32")
    for k in T.parallel(200):
        for j in range(6):
            with T.block("L"):
                vk, vj = T.axis.remap("SS", [k, j])
                L[vj] = A[vk, vj] * A[vk, vj]
        for j in range(6):
            with T.block("C"):
                vj, vk = T.axis.remap("SR", [j, k])
                with T.init():
                    C[vj] = T.float32(0)
                C[vj] = C[vj] + L[5 - vj]
)");
  EXPECT_FALSE(body.empty());
}

TEST(privatize_accumulators, reads_other_elements_where_they_are) {
  const std::string body = checked_body(R"(
    for k in T.parallel(50):
        C[0] = C[0] + C[k % 5 + 1] * A[k, 0]
)");
  EXPECT_NE(
      body.find("C_parts[k_part, 0] = C_parts[k_part, 0] + C[(k_part * 9 + k_in_part) % 5 + 1]"),
      std::string::npos)
      << body;
}

TEST(privatize_accumulators, tells_elements_apart_that_share_a_box) {
  const std::string body = checked_body(R"(
    for i in range(3):
        for k in T.parallel(50):
            H[i * 2] = H[i * 2] + H[k % 3 * 2 + 1]
)");
  EXPECT_NE(body.find("H_parts"), std::string::npos) << body;
}

TEST(privatize_accumulators, runs_in_turn_what_meets_its_own_reads) {
  const std::string body = checked_body(R"(
    for k in T.parallel(50):
        if k < 49:
            C[0] = C[0] + A[k, 0]
        else:
            C[1] = C[1] + A[k, 0]
            A[0, 1] = C[1]
)");
  EXPECT_NE(body.find("for k in range(50):"), std::string::npos) << body;
}

TEST(privatize_accumulators, knows_what_stands_around_the_loop) {
  const std::string body = checked_body(R"(
    for j in range(6):
        for i in range(j + 1, 6):
            for k in T.parallel(50):
                C[j] = C[j] + C[i] * A[k, 0]
)");
  EXPECT_NE(body.find("C_parts"), std::string::npos) << body;
}

}  // namespace
}  // namespace loopsmith
