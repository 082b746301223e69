// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/pragmas.h"

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/transform/pipeline.h"
#include "loopsmith/transform/testing/functions.h"

namespace loopsmith {
namespace {

using namespace testing;

Ptr<PrimFunc> loops(const std::string& outer, const std::string& inner_kind = "serial") {
  return parse_function(R"(@T.prim_func
def main(A: T.Buffer((64, 4), "float32")):
    for i in T.serial(64, annotations={)" +
                        outer + R"(}):
        for j in T.)" + inner_kind +
                        R"((4):
            A[i, j] = A[i, j] + T.float32(1)
)");
}

std::string lowered(const Ptr<PrimFunc>& func) {
  const auto after = lower_function(func, {.verify = true});
  const interp::Verdict verdict = interp::compare(func, after);
  EXPECT_EQ(verdict.answer, interp::Answer::same) << verdict.reason;
  return script(after);
}

/// What lowering complains about, without where.
std::string error_of_lowering(const std::string& annotations) {
  const std::string text = error_of([&] { lower_function(loops(annotations)); });
  return text.substr(0, text.find("\n  at "));
}

TEST(pragmas, of_a_loop_unroll_what_is_small_enough) {
  EXPECT_EQ(lowered(loops(R"("pragma_auto_unroll_max_step": 4)")).find("grid"), std::string::npos);
  EXPECT_NE(lowered(loops(R"("pragma_auto_unroll_max_step": 3)")).find("grid"), std::string::npos);
}

TEST(pragmas, leave_unrolling_to_the_code_generator) {
  constexpr const char* later = R"(in T.serial(4, annotations={"unroll_later": 1}))";
  const std::string text =
      lowered(loops(R"("pragma_auto_unroll_max_step": 16, "pragma_unroll_explicit": 0)"));
  EXPECT_NE(text.find(later), std::string::npos) << text;
  const std::string asked = lowered(loops(R"("pragma_unroll_explicit": 0)", "unroll"));
  EXPECT_NE(asked.find(later), std::string::npos) << asked;
}

TEST(pragmas, refuses_unknown_ones) {
  EXPECT_EQ(
      error_of_lowering(R"("pragma_tensor_core": 1)"),
      "lower: lower_blocks: loop i has annotation pragma_tensor_core, which is no known "
      "pragma\n"
      "  hint: use pragma_auto_unroll_max_step, pragma_unroll_explicit, "
      "pragma_loop_partition_hint, pragma_nontemporal, pragma_import_c or pragma_import_llvm, "
      "or unannotate it");
  EXPECT_EQ(error_of_lowering(R"("pragma_auto_unroll_max_step": -1)"),
            "lower: lower_blocks: the value of pragma_auto_unroll_max_step of loop i is no such "
            "number\n"
            "  hint: give an integer, 0 or more");
}

}  // namespace
}  // namespace loopsmith
