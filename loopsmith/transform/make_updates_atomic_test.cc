// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/make_updates_atomic.h"

#include <gtest/gtest.h>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/record_regroupings.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

std::string atomic_body(const Ptr<PrimFunc>& func) {
  const std::string text = script(make_updates_atomic(record_regroupings(func)));
  return text.substr(text.find("):\n") + 3) + "\n";
}

void expect_same_results(const Ptr<PrimFunc>& func) {
  const auto after = lower_function(func, {.verify = true});
  const interp::Verdict verdict = interp::compare(func, after);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason << "\n" << script(after);
}

TEST(make_updates_atomic, adds_where_iterations_conflict) {
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
  expect_same_results(func);
}

TEST(make_updates_atomic, takes_extremes_and_bits) {
  const auto func = parse_function(R"(@T.prim_func
def main(X: T.Buffer((30,), "int32"), M: T.Buffer((4,), "int32"), W: T.Buffer((2,), "uint64")):
    for i in T.parallel(30):
        M[X[i] % 4] = T.min(X[i], M[X[i] % 4])
        W[0] = T.bitwise_or(W[0], T.shift_left(T.uint64(1), T.cast(X[i] % 64, "uint64")))
        W[1] = T.bitwise_xor(T.cast(X[i], "uint64"), W[1])
)");
  EXPECT_EQ(atomic_body(func), R"(    for i in T.parallel(30):
        T.atomic_min(T.address_of(M[X[i] % 4]), X[i])
        T.atomic_or(T.address_of(W[0]), T.uint64(1) << T.Cast("uint64", X[i] % 64))
        T.atomic_xor(T.address_of(W[1]), T.Cast("uint64", X[i]))
)");
  expect_same_results(func);
}

TEST(make_updates_atomic, leaves_what_each_iteration_has_for_itself) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((30, 4), "int32"), C: T.Buffer((30,), "int32")):
    s = T.decl_buffer((1,), "int32")
    for i in T.parallel(30):
        s[0] = 0
        for k in range(4):
            s[0] = s[0] + A[i, k]
        C[i] = s[0]
)");
  EXPECT_EQ(atomic_body(func).find("atomic_"), std::string::npos);
}

TEST(make_updates_atomic, leaves_loops_in_order_and_numbers_that_round) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((30,), "int32"), B: T.Buffer((30,), "float32"), H: T.Buffer((1,), "int32"), F: T.Buffer((1,), "float32")):
    for i in range(30):
        H[0] = H[0] + A[i]
    for i in T.parallel(30):
        F[0] = F[0] + B[i]
)");
  EXPECT_EQ(atomic_body(func).find("atomic_"), std::string::npos);
}

}  // namespace
}  // namespace loopsmith
