// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/reassociation.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// Sums over k and l, of numbers of a type.
Ptr<PrimFunc> sums(std::string_view type) {
  return program(fmt::format(R"(A: T.Buffer((4, 6, 8), "{0}"), C: T.Buffer((4,), "{0}"))", type),
                 fmt::format(R"(
for i, k, l in T.grid(4, 6, 8):
    with T.block("C"):
        vi, vk, vl = T.axis.remap("SRR", [i, k, l])
        with T.init():
            C[vi] = T.{0}(0)
        C[vi] = C[vi] + A[vi, vk, vl]
)",
                             type));
}

Schedule strict(const Ptr<PrimFunc>& func) {
  Schedule sch(func);
  sch.allow_reassociation(false);
  return sch;
}

constexpr auto refused =
    "reduction C would combine its elements in another order, and allow_reassociation is False";

TEST(reassociation, is_refused_where_it_is_not_allowed) {
  Schedule sch = strict(sums("float32"));
  const auto [i, k, l] = get_loops(sch, get_block(sch, "C")).take<3>();
  const auto refusal_of = [&](auto&& step) {
    const std::string error = error_of(step);
    EXPECT_TRUE(error.starts_with("reductions_keep_their_order: ")) << error;
    return error.substr(error.find("reduction C"));
  };
  EXPECT_EQ(refusal_of([&] { reorder(sch, {l, k}); }), refused);
  EXPECT_EQ(refusal_of([&] { vectorize(sch, l); }), refused);
  EXPECT_EQ(refusal_of([&] { parallel(sch, k); }), refused);
  EXPECT_EQ(refusal_of([&] { rfactor(sch, l, 0); }), refused);
  EXPECT_FALSE(vectorize.can_apply(sch, {.loop = l}));
}

/// Eight numbers added to one.
TensorIntrinSelector sum_of_eight(std::string_view type) {
  const auto func = parse_function(fmt::format(R"(@T.prim_func
def sum(a: T.Buffer((8,), "{0}"), c: T.Buffer((1,), "{0}")):
    with T.block("root"):
        T.reads(c[0:1], a[0:8])
        T.writes(c[0:1])
        for l in range(8):
            with T.block("sum"):
                vl = T.axis.reduce(8, l)
                c[0] = c[0] + a[vl]
)",
                                               type));
  return TensorIntrinSelector("sum", tensor_intrin("sum", func, func));
}

TEST(reassociation, comes_with_intrinsics_that_sum) {
  for (const std::string_view type : {"float32", "int32"}) {
    const auto before = sums(type);
    Schedule sch = strict(before);
    const auto l = get_loops(sch, get_block(sch, "C"))[2];
    if (type == "float32") {
      const std::string error = error_of([&] { tensorize(sch, l, sum_of_eight(type)); });
      EXPECT_TRUE(error.starts_with("reductions_keep_their_order: ")) << error;
      sch.allow_reassociation(true);
    }
    tensorize(sch, l, sum_of_eight(type));
    EXPECT_EQ(sch.steps().back().reorders_reduction, type == "float32");
    expect_result(sch, before);
  }
}

TEST(reassociation, is_not_what_keeps_each_sum_in_order) {
  const auto func = sums("float32");
  Schedule sch = strict(func);
  const auto [i, k, l] = get_loops(sch, get_block(sch, "C")).take<3>();
  const auto [outer, inner] = split(sch, k, {infer, 2}).take<2>();
  reorder(sch, {outer, i});
  decompose_reduction(sch, get_block(sch, "C"), outer);
  vectorize(sch, i);
  expect_result(sch, func);
  EXPECT_EQ(sch.trace().text().find("reorders a reduction"), std::string::npos);
}

TEST(reassociation, of_integers_is_exact) {
  Schedule sch = strict(sums("int32"));
  const auto [i, k, l] = get_loops(sch, get_block(sch, "C")).take<3>();
  reorder(sch, {l, k});
  vectorize(sch, k);
}

TEST(reassociation, is_marked_in_the_trace) {
  Schedule sch(sums("float32"));
  const auto [i, k, l] = get_loops(sch, get_block(sch, "C")).take<3>();
  reorder(sch, {k, i});
  reorder(sch, {l, k});
  const std::string text = sch.trace().text();
  EXPECT_NE(text.find("sch.reorder(loops=[l2, l1], assume_independent=False)\n"), std::string::npos)
      << text;
  EXPECT_NE(
      text.find("sch.reorder(loops=[l3, l2], assume_independent=False)  # reorders a reduction\n"),
      std::string::npos)
      << text;
  EXPECT_FALSE(sch.steps()[2].reorders_reduction);
  EXPECT_TRUE(sch.steps()[3].reorders_reduction);
}

TEST(reassociation, is_seen_in_statements_without_blocks) {
  Schedule sch = strict(program(R"(A: T.Buffer((6, 8), "float32"), C: T.Buffer((1,), "float32"))",
                                R"(
for k in range(6):
    for l in range(8):
        C[0] = C[0] + A[k, l]
)"));
  EXPECT_EQ(error_of([&] { reorder(sch, {get_loop(sch, "l"), get_loop(sch, "k")}); }),
            "reductions_keep_their_order: reorder: reduction C would combine its elements in "
            "another order, and allow_reassociation is False");
}

TEST(reassociation, comes_with_moves_out_of_the_order_of_axes) {
  const auto func =
      program(R"(A: T.Buffer((4, 6, 8), "float32"), D: T.Buffer((4,), "float32"))", R"(
C = T.alloc_buffer((4,))
for i, l, k in T.grid(4, 8, 6):
    with T.block("C"):
        vi, vl, vk = T.axis.remap("SRR", [i, l, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk, vl]
for i in range(4):
    with T.block("D"):
        vi = T.axis.spatial(4, i)
        D[vi] = C[vi] * T.float32(2)
)");
  Schedule same = strict(func);
  compute_at(same, get_block(same, "C"), get_loops(same, get_block(same, "D"))[0]);
  expect_result(same, func);
  Schedule other(func);
  const auto loops = get_loops(other, get_block(other, "C"));
  reorder(other, {loops[2], loops[1]});
  other.allow_reassociation(false);
  EXPECT_EQ(error_of([&] {
              compute_at(other, get_block(other, "C"), get_loops(other, get_block(other, "D"))[0]);
            }),
            "reductions_keep_their_order: compute_at: reduction C would combine its elements in "
            "another order, and allow_reassociation is False");
}

TEST(reassociation, comes_with_an_epilogue_that_is_added_first) {
  const auto func = program(
      R"(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4,), "float32"), D: T.Buffer((4,), "float32"))",
      R"(
C = T.alloc_buffer((4,))
for i, k in T.grid(4, 6):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk]
for i in range(4):
    with T.block("D"):
        vi = T.axis.spatial(4, i)
        D[vi] = C[vi] + B[vi]
)");
  Schedule sch = strict(func);
  EXPECT_EQ(
      error_of([&] { fuse_reduction_epilogue(sch, get_block(sch, "C"), get_block(sch, "D")); }),
      "reductions_keep_their_order: fuse_reduction_epilogue: reduction C would combine its "
      "elements in another order, and allow_reassociation is False");
}

TEST(reassociation, comes_with_other_axes_of_a_reduction) {
  Schedule sch = strict(sums("float32"));
  const auto map = [](const std::vector<Expr>& final, const std::vector<Ptr<Var>>& initial) {
    return make(IndexMap{.initial_indices = initial, .final_indices = final});
  };
  const auto i = var("i"), k = var("k"), l = var("l");
  EXPECT_EQ(error_of([&] {
              transform_block_layout(sch, get_block(sch, "C"), map({i, l, k}, {i, k, l}));
            }),
            "reductions_keep_their_order: transform_block_layout: reduction C would combine its "
            "elements in another order, and allow_reassociation is False");
  transform_block_layout(sch, get_block(sch, "C"), map({k, l, i}, {i, k, l}));
}

}  // namespace
}  // namespace loopsmith
