// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/stream_stores.h"

#include <fmt/format.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// A copy of n elements by vectors of 8, under the pragma; `guard` is the condition of an element.
Ptr<PrimFunc> copies(std::string_view guard, std::string_view value) {
  return parse_function(fmt::format(R"(@T.prim_func
def main(A: T.Buffer((104,), "float32"), B: T.Buffer((104,), "float32")):
    T.func_attr({{"tir.noalias": True}})
    for i in T.serial(13, annotations={{"pragma_nontemporal": 128}}):
        for l in T.vectorized(8):
            if {}:
                B[i * 8 + l] = {}
)",
                                    guard, value));
}

std::string streamed(const Ptr<PrimFunc>& func) {
  const auto after = lower_function(func, {.vector_bits = 256, .verify = true});
  const interp::Verdict verdict = interp::compare(func, after);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
  return script(after);
}

bool has_part(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(stream_stores, starts_vectors_where_memory_is_aligned) {
  const std::string text = streamed(copies("i * 8 + l < 100", "A[i * 8 + l] + T.float32(1)"));
  EXPECT_TRUE(has_part(text, R"("nontemporal")")) << text;
  EXPECT_TRUE(has_part(text, "T.address_of(B[0])) % T.int64(32) // T.int64(4)")) << text;
  EXPECT_TRUE(has_part(text, "T.prefetch(T.address_of(A[")) << text;
  EXPECT_FALSE(has_part(text, "predicate=")) << text;
}

TEST(stream_stores, counts_whole_vectors) {
  EXPECT_TRUE(has_part(streamed(copies("i < 12", "A[i * 8 + l]")), R"("nontemporal")"));
}

TEST(stream_stores, leaves_loops_whose_elements_may_not_be_computed_twice) {
  const std::string text = streamed(copies("i * 8 + l < 100", "B[i * 8 + l] + T.float32(1)"));
  EXPECT_FALSE(has_part(text, "nontemporal")) << text;
}

TEST(stream_stores, leaves_elements_that_are_left_out_in_between) {
  const std::string text = streamed(copies("A[i * 8 + l] < T.float32(0)", "A[i * 8 + l]"));
  EXPECT_FALSE(has_part(text, "nontemporal")) << text;
}

}  // namespace
}  // namespace loopsmith
