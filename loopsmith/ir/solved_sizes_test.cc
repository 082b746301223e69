// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/solved_sizes.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"

namespace loopsmith {
namespace {

Ptr<PrimFunc> func_of(const std::vector<std::vector<Expr>>& shapes) {
  PrimFunc func{.body = no_op()};
  for (const std::vector<Expr>& shape : shapes) {
    func.params.push_back(var("handle", handle_type));
    func.buffer_map.push_back(decl_buffer(shape));
  }
  return make(std::move(func));
}

/// What is solved, in order: `m = max(extent - 1, 0)`.
std::string solved(const std::vector<std::vector<Expr>>& shapes) {
  std::string text;
  for (const SolvedSize& size : solved_sizes(*func_of(shapes))) {
    text += fmt::format("{} = {}\n", size.variable->name, to_string(Ref(size.value)));
  }
  return text;
}

TEST(solved_sizes, are_those_that_no_extent_gives_alone) {
  const Ptr<Var> m = var("m"), n = var("n");
  EXPECT_EQ(solved({{m + 1}}), "m = T.max(extent - 1, 0)\n");
  EXPECT_EQ(solved({{m * 2 + 1}}), "m = T.max((extent - 1) // 2, 0)\n");
  EXPECT_EQ(solved({{Expr(8) - m}}), "m = T.max(8 - extent, 0)\n");
  EXPECT_EQ(solved({{m + 1}, {m}}), "");
  EXPECT_EQ(solved({{m + 1}, {n}}), "m = T.max(extent - 1, 0)\n");
}

TEST(solved_sizes, follow_from_each_other) {
  const Ptr<Var> m = var("m"), n = var("n");
  EXPECT_EQ(solved({{m - n}, {n + 3}}), "n = T.max(extent - 3, 0)\nm = T.max(extent + n, 0)\n");
}

TEST(solved_sizes, leave_out_what_is_not_linear_or_has_two_unknowns) {
  const Ptr<Var> m = var("m"), n = var("n");
  EXPECT_EQ(solved({{m * m}}), "");
  EXPECT_EQ(solved({{m + n}}), "");
  EXPECT_EQ(solved({{m + m}}), "");
  EXPECT_EQ(solved({{floordiv(m, Expr(2))}}), "");
}

}  // namespace
}  // namespace loopsmith
