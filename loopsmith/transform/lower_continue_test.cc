// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_continue.h"

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

/// A function with a loop over threads that has this body, after the pass.
std::string lowered(std::string_view body) {
  return script(lower_continue(parse_function(R"(@T.prim_func
def main(F: T.Buffer((64,), "int32"), A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    for k in range(2):
        for t in T.thread_binding(64, thread="threadIdx.x"):
)" + std::string(body))));
}

std::string written(std::string_view body) {
  return script(parse_function(R"(@T.prim_func
def main(F: T.Buffer((64,), "int32"), A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):
    for k in range(2):
        for t in T.thread_binding(64, thread="threadIdx.x"):
)" + std::string(body)));
}

TEST(lower_continue, puts_what_follows_under_a_condition) {
  EXPECT_EQ(lowered(R"(
            if F[t] == 1:
                A[t] = 0
                continue
            A[t] = B[t]
            B[t] = 2
)"),
            written(R"(
            if F[t] == 1:
                A[t] = 0
            else:
                A[t] = B[t]
                B[t] = 2
)"));
}

TEST(lower_continue, takes_branches_in_turn) {
  EXPECT_EQ(lowered(R"(
            if F[t] > 1:
                A[t] = 1
            else:
                if F[t] == 1:
                    continue
                continue
            if F[t] > 2:
                continue
            B[t] = 2
)"),
            written(R"(
            if F[t] > 1:
                A[t] = 1
                if F[t] > 2:
                    T.evaluate(0)
                else:
                    B[t] = 2
            else:
                if F[t] == 1:
                    T.evaluate(0)
)"));
}

TEST(lower_continue, leaves_loops_inside_as_they_are) {
  constexpr std::string_view body = R"(
            for j in range(4):
                if F[j] == 1:
                    continue
                A[t] = B[j]
)";
  EXPECT_EQ(lowered(body), written(body));
}

std::string refusal_of(std::string_view body) {
  try {
    lowered(body);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(lower_continue, refuses_what_it_cannot_write_as_a_condition) {
  EXPECT_NE(refusal_of(R"(
            if F[t] > 1:
                if F[t] > 2:
                    continue
                A[t] = 1
            B[t] = 2
)")
                .find("a continue of a loop over threads is reached in some ways through a branch, "
                      "and not in others"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"(
            if F[t] > 1:
                break
            B[t] = 2
)")
                .find("a break leaves a loop over threads, whose iterations run concurrently"),
            std::string::npos);
}

}  // namespace
}  // namespace loopsmith
