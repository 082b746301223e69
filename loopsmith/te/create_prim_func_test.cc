// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/create_prim_func.h"

#include <gtest/gtest.h>

#include <chrono>

#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/ir/well_formed.h"
#include "loopsmith/support/testing/refusal.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

/// The lines of the function inside its root block, as script.
std::string body_of(const Ptr<PrimFunc>& func) {
  verify_well_formed(func);
  const std::string text = script(func) + "\n";
  const std::string_view root = "    # with T.block(\"root\"):\n";
  const std::size_t start = text.find(root);
  return start == std::string::npos ? text : text.substr(start + root.size());
}

struct Rows {
  Ptr<Var> n = size_var("n");
  Tensor A = placeholder({n, 64}, f32, "A");
  IterVar k = reduce_axis(0, 64, "k");
};

TEST(create_prim_func, makes_a_parameter_of_each_argument) {
  const Rows r;
  const auto m = var("m");
  const Tensor B = compute({r.n}, [&](Expr i) { return r.A(i, 0); }, "B");
  const auto func = create_prim_func({r.A, m, B});
  ASSERT_EQ(func->params.size(), 3u);
  EXPECT_EQ(func->params[0]->name, "var_A");
  EXPECT_TRUE(func->params[1].same_as(m));
  EXPECT_EQ(func->buffer_map[0]->name, "A");
  EXPECT_FALSE(func->buffer_map[1]);
  EXPECT_EQ(func->name(), "main");
  EXPECT_EQ(func->attrs.get_int("tir.noalias", 0), 1);
}

TEST(create_prim_func, makes_a_block_with_init_of_a_reduction) {
  const Rows r;
  const Tensor B = placeholder({64, 32}, f32, "B");
  const Tensor C =
      compute({r.n, 32}, [&](Expr i, Expr j) { return sum(r.A(i, r.k) * B(r.k, j), r.k); }, "C",
              {.axes = {"i", "j"}});
  EXPECT_EQ(body_of(create_prim_func({r.A, B, C})), R"(    for i, j, k in T.grid(n, 32, 64):
        with T.block("C"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            T.reads(A[v_i, v_k], B[v_k, v_j])
            T.writes(C[v_i, v_j])
            with T.init():
                C[v_i, v_j] = T.float32(0)
            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]
)");
}

TEST(create_prim_func, allocates_intermediates_in_the_root_block) {
  const Rows r;
  const Tensor B = compute({r.n}, [&](Expr i) { return r.A(i, 0) + 1; }, "B");
  const Tensor C = compute({r.n}, [&](Expr i) { return B(i) * B(i); }, "C");
  EXPECT_EQ(body_of(create_prim_func({r.A, C})), R"(    B = T.alloc_buffer((n,))
    for i0 in range(n):
        with T.block("B"):
            v_i0 = T.axis.spatial(n, i0)
            T.reads(A[v_i0, 0])
            T.writes(B[v_i0])
            B[v_i0] = A[v_i0, 0] + T.float32(1)
    for i0 in range(n):
        with T.block("C"):
            v_i0 = T.axis.spatial(n, i0)
            T.reads(B[v_i0])
            T.writes(C[v_i0])
            C[v_i0] = B[v_i0] * B[v_i0]
)");
}

TEST(create_prim_func, honours_where_and_init) {
  const Rows r;
  const Tensor B = compute(
      {r.n},
      [&](Expr i) {
        return sum(r.A(i, r.k), r.k, {.where = Expr(r.k) < i, .init = {float_imm(f32, 5)}});
      },
      "B");
  EXPECT_EQ(body_of(create_prim_func({r.A, B})), R"(    for i0, k in T.grid(n, 64):
        with T.block("B"):
            v_i0, v_k = T.axis.remap("SR", [i0, k])
            T.reads(A[v_i0, v_k])
            T.writes(B[v_i0])
            with T.init():
                B[v_i0] = T.float32(5)
            B[v_i0] = B[v_i0] + T.if_then_else(v_k < v_i0, A[v_i0, v_k], T.float32(0))
)");
}

TEST(create_prim_func, masks_a_maximum_with_minus_infinity) {
  // The identity of max, the least finite number, would hide an element that is -infinity.
  const Rows r;
  const Tensor B =
      compute({r.n}, [&](Expr i) { return max(r.A(i, r.k), r.k, {.where = Expr(r.k) < i}); }, "B");
  const std::string text = body_of(create_prim_func({r.A, B}));
  EXPECT_NE(text.find("B[v_i0] = T.float32(-3.4028235e+38)"), std::string::npos) << text;
  EXPECT_NE(text.find("T.if_then_else(v_k < v_i0, A[v_i0, v_k], T.float32(\"-inf\"))"),
            std::string::npos)
      << text;
}

TEST(create_prim_func, combines_all_values_of_a_tuple_before_it_stores_one) {
  const Rows r;
  const Reducer later = comm_reducer(
      [](const std::vector<Expr>& x, const std::vector<Expr>& y) {
        return std::vector<Expr>{x[0] + y[0], loopsmith::max(x[1], y[1])};
      },
      [](const std::vector<DataType>& types) {
        return std::vector<Expr>{zero_of(types[0]), min_value(types[1])};
      });
  const auto both =
      compute({r.n}, [&](Expr i) { return later({r.A(i, r.k), Expr(r.k)}, r.k); }, "both");
  EXPECT_EQ(body_of(create_prim_func({r.A, both[0], both[1]})), R"(    for i0, k in T.grid(n, 64):
        with T.block("both"):
            v_i0, v_k = T.axis.remap("SR", [i0, k])
            T.reads(A[v_i0, v_k])
            T.writes(both_v0[v_i0], both_v1[v_i0])
            T.block_attr({"reducer": T.comm_reducer(lambda x_0, x_1, y_0, y_1: (x_0 + y_0, T.max(x_1, y_1)), [T.float32(0), -2147483648])})
            with T.init():
                both_v0[v_i0] = T.float32(0)
                both_v1[v_i0] = -2147483648
            v_both_v0: T.float32 = both_v0[v_i0] + A[v_i0, v_k]
            v_both_v1: T.int32 = T.max(both_v1[v_i0], v_k)
            both_v0[v_i0] = v_both_v0
            both_v1[v_i0] = v_both_v1
)");
}

TEST(create_prim_func, makes_a_block_for_each_output_in_the_same_loops) {
  const Rows r;
  const auto two =
      compute({r.n}, [&](Expr i) { return std::vector<Expr>{r.A(i, 0), r.A(i, 1)}; }, "two");
  EXPECT_EQ(body_of(create_prim_func({r.A, two[1]})), R"(    two_v0 = T.alloc_buffer((n,))
    for i0 in range(n):
        with T.block("two.v0"):
            v_i0 = T.axis.spatial(n, i0)
            T.reads(A[v_i0, 0])
            T.writes(two_v0[v_i0])
            two_v0[v_i0] = A[v_i0, 0]
        with T.block("two.v1"):
            v_i0 = T.axis.spatial(n, i0)
            T.reads(A[v_i0, 1])
            T.writes(two_v1[v_i0])
            two_v1[v_i0] = A[v_i0, 1]
)");
}

TEST(create_prim_func, gives_a_tensor_without_dimensions_one_axis) {
  const Rows r;
  const Tensor first = compute({}, [&] { return r.A(0, 0); }, "first");
  EXPECT_EQ(body_of(create_prim_func({r.A, first})), R"(    with T.block("first"):
        vi = T.axis.spatial(1, 0)
        T.reads(A[0, 0])
        T.writes(first[()])
        first[()] = A[0, 0]
)");
}

TEST(create_prim_func, makes_the_sum_of_nothing_its_identity) {
  const Rows r;
  const IterVar none = reduce_axis(0, 0, "none");
  const Tensor B = compute({r.n}, [&](Expr i) { return sum(r.A(i, none), none); }, "B");
  EXPECT_EQ(body_of(create_prim_func({r.A, B})), R"(    for i0 in range(n):
        with T.block("B"):
            v_i0 = T.axis.spatial(n, i0)
            T.reads()
            T.writes(B[v_i0])
            B[v_i0] = T.float32(0)
)");
}

TEST(create_prim_func, keeps_the_min_of_a_reduction_axis) {
  const Rows r;
  const IterVar d = reduce_axis(-1, 2, "d");
  const Tensor B = compute({r.n}, [&](Expr i) { return sum(r.A(i, Expr(d) + 1), d); }, "B");
  const std::string text = body_of(create_prim_func({r.A, B}));
  EXPECT_NE(text.find("for d in range(-1, 2):"), std::string::npos) << text;
}

TEST(create_prim_func, gives_blocks_names_of_their_own) {
  const Rows r;
  const Tensor B = compute({r.n}, [&](Expr i) { return r.A(i, 0); }, "B");
  const Tensor C = compute({r.n}, [&](Expr i) { return B(i); }, "B");
  const std::string text = body_of(create_prim_func({r.A, C}));
  EXPECT_NE(text.find("T.block(\"B\")"), std::string::npos) << text;
  EXPECT_NE(text.find("T.block(\"B_1\")"), std::string::npos) << text;
}

TEST(create_prim_func, takes_thousands_of_operations_of_one_name) {
  const Rows r;
  Tensor last = compute({r.n}, [&](Expr i) { return r.A(i, 0); }, "B");
  for (int i = 0; i < 5000; ++i) last = compute({r.n}, [&](Expr j) { return last(j); }, "B");
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(create_prim_func({r.A, last}).defined());
  // A second where each name is found at once, minutes where all before it are tried.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(create_prim_func, makes_annotations_of_attributes) {
  const Rows r;
  const Ref tensors = make(List{.items = {r.A}});
  const Tensor B = compute({r.n}, [&](Expr i) { return r.A(i, 0); }, "B",
                           {.attrs = {{"inputs", tensors},
                                      {"layout_free_placeholders", tensors},
                                      {"level", Expr(3)},
                                      {"workload", string_imm("dropped")}}});
  const auto func = create_prim_func({r.A, B});
  const Block* block = nullptr;
  pre_order_visit(func->body, [&](const Ref& ref) {
    if (const auto* found = ref.as<Block>()) block = found;
    return true;
  });
  EXPECT_EQ(block->annotations.size(), 2u);
  EXPECT_EQ(block->annotations.get_int("level", 0), 3);
  EXPECT_TRUE(block->annotations.get("inputs").as<List>()->items[0].same_as(func->buffer_map[0]));
  const Ref listed = func->attrs.get("layout_free_buffers");
  const auto* free = listed.as<List>();
  ASSERT_TRUE(free);
  EXPECT_TRUE(is_const_int(Expr::from(free->items[0]), 0));
}

TEST(create_prim_func, points_its_nodes_at_the_compute) {
  const Rows r;
  constexpr std::uint32_t line = __LINE__ + 1;
  const Tensor B = compute({r.n}, [&](Expr i) { return r.A(i, 0); }, "B");
  const auto func = create_prim_func({r.A, B});
  pre_order_visit(func->body, [&](const Ref& ref) {
    if (ref.is<For>() || ref.is<BufferStore>() || ref.is<BufferLoad>()) {
      EXPECT_EQ(ref.span().line, line);
    }
    return true;
  });
}

TEST(create_prim_func, shares_no_definition_between_blocks) {
  // The Let stands in both outputs; each block needs a variable of its own.
  const Rows r;
  const auto both = compute(
      {r.n},
      [&](Expr i) {
        const auto x = var("x", f32);
        const Expr square = make(Let{.value = r.A(i, 0), .var = x, .body = Expr(x) * x});
        return std::vector<Expr>{square, square + 1};
      },
      "both");
  verify_well_formed(create_prim_func({r.A, both[0], both[1]}));
}

TEST(create_prim_func, refuses_arguments_that_are_none) {
  const Rows r;
  const Tensor B = compute({r.n}, [&](Expr i) { return r.A(i, 0); }, "B");
  EXPECT_EQ(testing::refusal([&] { create_prim_func({B}); }),
            "placeholder_is_argument: create_prim_func: placeholder A is read but is not among "
            "the arguments");
  EXPECT_EQ(testing::refusal([&] { create_prim_func({r.A, B, B}); }),
            "argument_occurs_once: create_prim_func: arguments 1 and 2 are the same");
  EXPECT_EQ(testing::refusal([&] { create_prim_func({r.A, r.k}); }),
            "argument_is_tensor_or_variable: create_prim_func: argument 1 is neither a tensor nor "
            "a variable");
}

TEST(create_prim_func, refuses_variables_that_nothing_defines) {
  const Rows r;
  const Tensor B = compute({r.n}, [&](Expr i) { return r.A(i, r.k); }, "B");
  EXPECT_EQ(testing::refusal([&] { create_prim_func({r.A, B}); }),
            "variable_is_defined: create_prim_func: B uses variable k, which nothing defines");

  const auto m = var("m");
  const Tensor C = placeholder({Expr(m) * m}, f32, "C");
  EXPECT_EQ(testing::refusal([&] { create_prim_func({C}); }),
            "variable_is_defined: create_prim_func: C uses variable m, which nothing defines");
  EXPECT_EQ(testing::refusal([&] { create_prim_func({C, m}); }), "");

  const Tensor D = compute({r.n}, [&](Expr i) { return r.A(i, 0) + m; }, "D");
  EXPECT_EQ(testing::refusal([&] { create_prim_func({r.A, D}); }),
            "variable_is_defined: create_prim_func: D uses variable m, which nothing defines");
  EXPECT_EQ(testing::refusal([&] { create_prim_func({r.A, m, D}); }), "");
}

TEST(create_prim_func, gives_all_indices_one_type) {
  const Rows r;
  const Tensor B = compute(
      {Expr(r.n) - 2},
      [&](Expr i) { return sum(r.A(i + 2, r.k) * loopsmith::cast(f32, i * 3), r.k); }, "B");
  const auto func = create_prim_func({r.A, B}, {.index_dtype = i64});
  verify_well_formed(func);
  pre_order_visit(func->body, [](const Ref& ref) {
    if (const auto* range = ref.as<Range>()) {
      EXPECT_EQ(range->extent.dtype(), i64);
    } else if (const auto* loop = ref.as<For>()) {
      EXPECT_EQ(loop->extent.dtype(), i64);
    } else if (const auto* load = ref.as<BufferLoad>()) {
      for (const Expr& index : load->indices) EXPECT_EQ(index.dtype(), i64);
    }
    return true;
  });
  for (const auto& buffer : func->buffer_map) {
    for (const Expr& extent : buffer->shape) EXPECT_EQ(extent.dtype(), i64);
  }
  EXPECT_EQ(testing::refusal([&] { create_prim_func({r.A, B}, {.index_dtype = f32}); }),
            "index_is_int32_or_int64: create_prim_func: indices cannot be float32");
}

TEST(create_prim_func, keeps_the_type_of_values_made_from_indices) {
  const auto n = var("n");
  const Tensor B = compute({n}, [](Expr i) { return i * 2 + 1; }, "B");
  const auto func = create_prim_func({B}, {.index_dtype = i64});
  EXPECT_EQ(func->buffer_map[0]->dtype, i32);
  EXPECT_EQ(body_of(func), R"(    for i0 in range(n):
        with T.block("B"):
            v_i0 = T.axis.spatial(n, i0)
            T.reads()
            T.writes(B[v_i0])
            B[v_i0] = T.Cast("int32", v_i0 * T.int64(2) + T.int64(1))
)");
}

}  // namespace
}  // namespace loopsmith::te
