// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/hoist_factor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

constexpr std::string_view factor_parameters =
    R"(A: T.Buffer((6, 8), "float32"), D: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32"))";

Ptr<PrimFunc> sum_of(std::string_view update, std::string_view init = "T.float32(0)") {
  return program(factor_parameters, fmt::format(R"(
for i, k in T.grid(6, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = {}
        C[vi] = {}
)",
                                                init, update));
}

std::string refusal_of(const Ptr<PrimFunc>& func) {
  Schedule sch(func);
  return error_of([&] { hoist_factor(sch, get_block(sch, "C")); });
}

TEST(hoist_factor, divides_the_sum) {
  const auto before = sum_of("C[vi] + A[vi, vk] / D[vi]");
  Schedule sch(before);
  const BlockRV made = hoist_factor(sch, get_block(sch, "C"));
  EXPECT_EQ(sch.name(made), "C");
  expect_result(sch, before, program(factor_parameters, R"(
C_sum = T.alloc_buffer((6,))
for i, k in T.grid(6, 8):
    with T.block("C_sum"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C_sum[vi] = T.float32(0)
        C_sum[vi] = C_sum[vi] + A[vi, vk]
for i in range(6):
    with T.block("C"):
        vi = T.axis.spatial(6, i)
        C[vi] = C_sum[vi] / D[vi]
)"));
}

TEST(hoist_factor, takes_all_factors_of_products) {
  const auto before = sum_of("C[vi] + T.float32(2) * (A[vi, vk] / D[vi] * A[0, vk])");
  Schedule sch(before);
  hoist_factor(sch, get_block(sch, "C"));
  expect_result(sch, before);
  EXPECT_NE(body_of(sch).find("C[vi_init] = C_sum[vi_init] * T.float32(2) / D[vi_init]"),
            std::string::npos)
      << body_of(sch);
}

TEST(hoist_factor, leaves_sums_of_nothing_at_zero) {
  const auto before =
      program(R"(a: T.handle, D: T.Buffer((6,), "float32"), C: T.Buffer((6,), "float32"))", R"(
n = T.int32()
A = T.match_buffer(a, (6, n))
for i, k in T.grid(6, n):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk] / D[vi]
)");
  Schedule sch(before);
  hoist_factor(sch, get_block(sch, "C"));
  expect_result(sch, before);
  EXPECT_NE(body_of(sch).find("T.if_then_else(n > 0, "), std::string::npos) << body_of(sch);
}

TEST(hoist_factor, refuses_what_is_no_sum_of_products) {
  EXPECT_EQ(refusal_of(sum_of("T.max(C[vi], A[vi, vk] * D[vi])")),
            "sum_has_a_factor: hoist_factor: block C is no sum of floating-point numbers into one "
            "buffer that starts with 0 and reads nothing else of it");
  EXPECT_EQ(refusal_of(sum_of("C[vi] + A[vi, vk] * D[vi]", "D[vi]")).substr(0, 16),
            "sum_has_a_factor");
  EXPECT_EQ(refusal_of(sum_of("C[vi] + A[vi, vk] * A[0, vk]")),
            "sum_has_a_factor: hoist_factor: the terms of block C have no factor that is the "
            "same in all of a sum");
}

TEST(hoist_factor, refuses_conditions) {
  Schedule sch(sum_of("C[vi] + A[vi, vk] * D[vi]"));
  split(sch, get_loop(sch, "k"), {infer, 3});
  EXPECT_EQ(error_of([&] { hoist_factor(sch, get_block(sch, "C")); }),
            "sum_has_a_factor: hoist_factor: which terms block C adds up depends on a "
            "condition");
}

TEST(hoist_factor, asks_before_it_divides_what_was_rounded) {
  const auto before =
      sum_of("C[vi] + T.cast(T.cast(A[vi, vk] / D[vi], \"float16\"), \"float32\") * A[0, vk]");
  Schedule sch(before);
  EXPECT_EQ(error_of([&] { hoist_factor(sch, get_block(sch, "C")); }).substr(0, 16),
            "sum_has_a_factor");
  hoist_factor(sch, get_block(sch, "C"), true);
  expect_result(sch, before);
}

TEST(hoist_factor, asks_before_a_sum_grows_in_float16) {
  const auto before = program(
      R"(A: T.Buffer((6, 8), "float16"), D: T.Buffer((6,), "float16"), C: T.Buffer((6,), "float16"))",
      R"(
for i, k in T.grid(6, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float16(0)
        C[vi] = C[vi] + A[vi, vk] / D[vi]
)");
  EXPECT_EQ(refusal_of(before),
            "step_keeps_results: hoist_factor: results may change: the sum of block C may be too "
            "large for float16 "
            "without the factor");
  Schedule sch(before);
  hoist_factor(sch, get_block(sch, "C"), true);
  expect_result(sch, before);
}

/// The factor is a result itself, which changes with each term.
TEST(hoist_factor, refuses_factors_in_the_memory_of_results) {
  const auto refusal = [](std::string_view memory) {
    return refusal_of(program(factor_parameters, fmt::format(R"(
pointer = T.address_of(C[1])
V = T.decl_buffer((5,), {})
for i, k in T.grid(6, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk] * V[0]
)",
                                                             memory)));
  };
  EXPECT_EQ(refusal("data=C.data, elem_offset=1"),
            "sum_has_a_factor: hoist_factor: block C is no sum of floating-point numbers into one "
            "buffer that starts with 0 and reads nothing else of it");
  EXPECT_EQ(refusal("data=pointer"),
            "step_keeps_results: hoist_factor: results would change: loop i may read elements of C "
            "that it updates: it accesses memory by a pointer");
}

TEST(hoist_factor, refuses_elements_with_terms_of_several_sums) {
  EXPECT_EQ(refusal_of(program(factor_parameters, R"(
for k, i in T.grid(8, 6):
    with T.block("C"):
        vk, vi = T.axis.remap("RS", [k, i])
        with T.init():
            C[vi // 2] = T.float32(0)
        C[vi // 2] = C[vi // 2] + A[vi, vk] * D[vi]
)")),
            "step_keeps_results: hoist_factor: results may change: the init of block C cannot go "
            "before loop k, as an element may have terms of more than one reduction");
}

}  // namespace
}  // namespace loopsmith
