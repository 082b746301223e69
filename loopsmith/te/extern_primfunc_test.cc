// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/extern.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/te/compute.h"
#include "loopsmith/te/create_prim_func.h"

namespace loopsmith::te {
namespace {

Ptr<PrimFunc> parsed(const std::string& body) {
  return Ptr<PrimFunc>::from(parse("@T.prim_func\n" + body));
}

Ptr<PrimFunc> transposed() {
  return parsed(R"(def func(a: T.handle, b: T.handle):
    n, m = T.int32(), T.int32()
    A = T.match_buffer(a, (n, m))
    B = T.match_buffer(b, (m, n + 1))
    C = T.alloc_buffer((n,))
    for i, j in T.grid(n, m):
        C[i] = A[i, j]
        B[j, i] = C[i]
)");
}

std::string text_of(const std::vector<Tensor>& tensors) {
  const auto func = create_prim_func({tensors.begin(), tensors.end()});
  verify_well_formed(func);
  return script(func);
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(extern_primfunc, takes_the_sizes_of_its_inputs) {
  const auto k = size_var("k");
  const Tensor a = placeholder({k, 4}, f32, "X");
  const Tensor b = extern_primfunc({a}, transposed(), "Y")[0];
  EXPECT_TRUE(structural_equal(b.shape()[0], int_imm(i32, 4)));
  const std::string text = text_of({a, b});
  EXPECT_TRUE(has(text, "(4, k + 1)")) << text;
  EXPECT_TRUE(has(text, "C = T.alloc_buffer((k,))")) << text;
  EXPECT_TRUE(has(text, "for i, j in T.grid(k, 4):")) << text;
}

TEST(extern_primfunc, casts_sizes_of_another_type) {
  const auto k = size_var("k", i64);
  const Tensor a = placeholder({k, int_imm(i64, 4)}, f32, "X");
  const Tensor b = extern_primfunc({a}, transposed(), "Y")[0];
  EXPECT_TRUE(structural_equal(b.shape()[1], cast(i32, k) + 1, true));
}

TEST(extern_primfunc, gives_constant_extents_as_such) {
  const Tensor b = extern_primfunc({placeholder({3, 4}, f32, "X")}, transposed(), "Y")[0];
  EXPECT_TRUE(structural_equal(b.shape()[1], int_imm(i32, 4)));
}

TEST(extern_primfunc, may_be_used_twice) {
  const auto k = size_var("k");
  const Tensor a = placeholder({k, k}, f32, "X");
  const auto func = transposed();
  const Tensor once = extern_primfunc({a}, func, "once")[0];
  const Tensor again = extern_primfunc({once}, func, "again")[0];
  EXPECT_TRUE(has(text_of({a, again}), "(k + 1, k + 1)"));
}

TEST(extern_primfunc, refuses_shapes_that_contradict_each_other) {
  const auto square = parsed(R"(def func(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, n))
    B = T.match_buffer(b, (n,))
    for i in range(n):
        B[i] = A[i, i]
)");
  const auto problem_of = [&](const std::vector<Expr>& shape) -> std::string {
    try {
      extern_primfunc({placeholder(shape, f32, "X")}, square, "Y");
    } catch (const UserError& error) {
      return error.problem();
    }
    return "";
  };
  EXPECT_EQ(problem_of({3, 3}), "");
  EXPECT_EQ(problem_of({3, 5}), "extern Y: buffer A does not fit input X");
  EXPECT_EQ(problem_of({3}), "extern Y: buffer A does not fit input X");
}

}  // namespace
}  // namespace loopsmith::te
