// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_prefetch.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/simplify.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

TEST(lower_prefetch, asks_for_each_line_inside_the_buffer) {
  const auto func = parse_function(R"(@T.prim_func
def main(A: T.Buffer((8, 64), "float32"), C: T.Buffer((8, 64), "float32")):
    B = T.decl_buffer((8,), "float32")
    for i in range(8):
        T.prefetch(A[i + 2, 0:64])
        T.prefetch(B[0:8])
        for j in range(64):
            C[i, j] = A[i, j]
)");
  const std::string text = script(simplify(lower_prefetch(func)));
  EXPECT_NE(text.find(R"(    for i in range(8):
        for line in range(4):
            if i < 6:
                T.prefetch(T.address_of(A[i + 2, line * 16]), 0, 3, 1)
)"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("B[0"), std::string::npos) << text;
  const auto lowered = lower_function(func, {.verify = true});
  EXPECT_NE(script(lowered).find("T.prefetch(T.address_of(A"), std::string::npos);
  const interp::Verdict verdict = interp::compare(func, lowered);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
}

}  // namespace
}  // namespace loopsmith
