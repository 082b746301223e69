// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/model/features.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "loopsmith/script/parse.h"

namespace loopsmith::tune {
namespace {

constexpr CpuModel small_machine{.vector_bytes = 32, .vector_registers = 16, .cores = 4};

std::vector<double> of_copy(const std::string& loop, const std::string& source = "A[i]") {
  return features_of(parse_function("@T.prim_func\n"
                                    "def main(A: T.Buffer((8192,), \"float32\"), "
                                    "B: T.Buffer((1024,), \"float32\")):\n"
                                    "    T.func_attr({\"tir.noalias\": True})\n"
                                    "    for i in T." +
                                    loop + "(1024):\n        B[i] = " + source + "\n"),
                     small_machine);
}

/// The number of the most expensive statement, by its name.
double number(const std::vector<double>& row, std::string_view name) {
  for (std::size_t i = 0; i < statement_features.size(); ++i) {
    if (statement_features[i] == name) return row[2 + i];
  }
  ADD_FAILURE() << "no feature " << name;
  return 0;
}

TEST(Features, are_as_many_for_all_programs) {
  EXPECT_EQ(of_copy("serial").size(), 2 + featured_statements * statement_features.size());
  EXPECT_EQ(of_copy("serial")[1], 1);
}

TEST(Features, tell_how_loops_run) {
  EXPECT_DOUBLE_EQ(number(of_copy("serial"), "iterations"), std::log2(1025));
  EXPECT_EQ(number(of_copy("serial"), "parallel"), 1);
  EXPECT_DOUBLE_EQ(number(of_copy("parallel"), "parallel"), std::log2(1025));
  EXPECT_GT(number(of_copy("parallel"), "launches"), 0);
}

TEST(Features, tell_how_memory_is_walked) {
  EXPECT_EQ(number(of_copy("serial"), "unit_accesses"), 2);
  EXPECT_EQ(number(of_copy("serial", "A[i * 8]"), "strided_accesses"), 1);
  EXPECT_EQ(number(of_copy("serial", "A[0]"), "fixed_accesses"), 1);
  EXPECT_EQ(number(of_copy("serial", "T.exp(A[i])"), "functions"), 1);
}

}  // namespace
}  // namespace loopsmith::tune
