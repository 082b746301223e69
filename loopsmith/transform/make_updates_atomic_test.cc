// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/make_sums_atomic.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

std::string atomic_body(const Ptr<PrimFunc>& func) {
  const std::string text = script(make_sums_atomic(func));
  return text.substr(text.find("):\n") + 3) + "\n";
}

void expect_sums_as_before(const Ptr<PrimFunc>& func) {
  const auto after = lower_function(func, {.verify = true});
  const interp::Verdict verdict = interp::compare(func, after);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n" << script(after);
}

TEST(make_sums_atomic, adds_where_iterations_meet) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((30, 4), "int32"), H: T.Buffer((4,), "int32"), S: T.Buffer((30,), "int64")):
    for i in T.parallel(30):
        for k in range(4):
            H[k] = H[k] + A[i, k]
            S[i] = S[i] + T.cast(A[i, k], "int64")
)");
  EXPECT_EQ(atomic_body(func), R"(    for i in T.parallel(30):
        for k in range(4):
            T.atomic_add(T.address_of(H[k]), A[i, k])
            S[i] = S[i] + T.Cast("int64", A[i, k])
)");
  expect_sums_as_before(func);
}

TEST(make_sums_atomic, leaves_what_each_iteration_has_for_itself) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((30, 4), "int32"), C: T.Buffer((30,), "int32")):
    s = T.decl_buffer((1,), "int32")
    for i in T.parallel(30):
        s[0] = 0
        for k in range(4):
            s[0] = s[0] + A[i, k]
        C[i] = s[0]
)");
  EXPECT_TRUE(make_sums_atomic(func).same_as(func));
}

TEST(make_sums_atomic, leaves_loops_in_order_and_numbers_that_round) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((30,), "int32"), B: T.Buffer((30,), "float32"), H: T.Buffer((1,), "int32"), F: T.Buffer((1,), "float32")):
    for i in range(30):
        H[0] = H[0] + A[i]
    for i in T.parallel(30):
        F[0] = F[0] + B[i]
)");
  EXPECT_TRUE(make_sums_atomic(func).same_as(func));
}

}  // namespace
}  // namespace loopsmith
