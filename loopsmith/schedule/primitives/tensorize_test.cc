// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/tensorize.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/semantics.h"
#include "loopsmith/script/parse.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

/// C[i, j] += A[i, k] * B[j // 16, k // 4, j % 16, k % 4]: u8 by i8, B packed for the intrinsic.
Ptr<PrimFunc> packed_matmul(int n = 6, int m = 32, int k = 12) {
  return program(
      fmt::format(
          R"(A: T.Buffer(({0}, {2}), "uint8"), B: T.Buffer(({1} // 16, {2} // 4, 16, 4), "int8"),
         C: T.Buffer(({0}, {1}), "int32"))",
          n, m, k),
      fmt::format(R"(
for i, j, k in T.grid({}, {}, {}):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = 0
        C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(B[vj // 16, vk // 4, vj % 16, vk % 4], "int32")
)",
                  n, m, k));
}

/// Tiles of 16 by 4 inside; the loops j_1, k_1.
std::vector<LoopRV> tile(Schedule& sch, int columns = 16, int depth = 4) {
  const auto loops = get_loops(sch, get_block(sch, "C"));
  const auto [j_0, j_1] = split(sch, loops[1], {infer, columns}).take<2>();
  const auto [k_0, k_1] = split(sch, loops[2], {infer, depth}).take<2>();
  reorder(sch, {loops[0], j_0, k_0, j_1, k_1});
  return {loops[0], j_0, k_0, j_1, k_1};
}

TEST(tensorize, puts_the_implementation_in_the_place_of_a_tile) {
  const auto before = packed_matmul();
  Schedule sch(before);
  tensorize(sch, tile(sch)[3], "dot_16x4_vnni");
  expect_result(sch, before,
                program(R"(A: T.Buffer((6, 12), "uint8"),
         B: T.Buffer((2, 3, 16, 4), "int8"), C: T.Buffer((6, 32), "int32"))",
                        R"(
for i, j_0, k_0 in T.grid(6, 2, 3):
    with T.block("C_o"):
        vi, vj_o, vk_o = T.axis.remap("SSR", [i, j_0, k_0])
        T.reads(A[vi, vk_o * 4:vk_o * 4 + 4], B[vj_o, vk_o, 0:16, 0:4])
        T.writes(C[vi, vj_o * 16:vj_o * 16 + 16])
        a_offset = T.int32()
        b_offset = T.int32()
        c_offset = T.int32()
        a = T.match_buffer(A[vi, vk_o * 4:vk_o * 4 + 4], (4,), "uint8", elem_offset=a_offset)
        b = T.match_buffer(B[vj_o, vk_o, 0:16, 0:4], (16, 4), "int8", elem_offset=b_offset)
        c = T.match_buffer(C[vi, vj_o * 16:vj_o * 16 + 16], (16,), "int32", elem_offset=c_offset)
        with T.init():
            for j_1_init in range(16):
                with T.block("C_init"):
                    vj_i_init = T.axis.spatial(16, j_1_init)
                    C[vi, vj_o * 16 + vj_i_init] = 0
        b_flat = T.decl_buffer((64,), "int8", data=b.data, elem_offset=b_offset)
        c[0:16] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", T.uint32(3), c[0:16], T.Broadcast(T.reinterpret("int32", a[0:4]), 16), b_flat[0:64])
)"));
  EXPECT_EQ(sch.name(get_block(sch, "C_o")), "C_o");
}

TEST(tensorize, is_right_with_each_built_in_intrinsic) {
  for (const char* name : {"dot_16x4_vnni", "dot_16x4_avx512"}) {
    const auto before = packed_matmul();
    Schedule sch(before);
    const auto loops = tile(sch);
    const auto outer = blockize(sch, loops[3]);
    const auto init = decompose_reduction(sch, outer, loops[2]);
    tensorize(sch, outer, name);
    EXPECT_EQ(sch.name(outer), "C_o_update");
    EXPECT_EQ(sch.name(init), "C_o_init");
    expect_result(sch, before);
  }
  const auto before =
      program(R"(A: T.Buffer((3, 8), "bfloat16"), B: T.Buffer((4, 16, 2), "bfloat16"),
         C: T.Buffer((3, 16), "float32"))",
              R"(
for i, j, k in T.grid(3, 16, 8):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = T.float32(0)
        C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk // 2, vj, vk % 2], "float32")
)");
  Schedule sch(before);
  tensorize(sch, tile(sch, 16, 2)[3], "dot_16x2_avx512bf16");
  expect_result(sch, before);
}

TEST(tensorize, works_on_results_that_are_kept_in_local_memory) {
  const auto before = packed_matmul(4, 32, 8);
  Schedule sch(before);
  const auto c = get_block(sch, "C");
  const auto loops = tile(sch);
  reverse_compute_at(sch, cache_write(sch, c, 0, "local"), loops[1]);
  tensorize(sch, loops[3], "dot_16x4_vnni");
  expect_result(sch, before);
}

TEST(tensorize, leaves_the_other_loops_to_further_steps) {
  const auto before = packed_matmul();
  Schedule sch(before);
  const auto loops = tile(sch);
  tensorize(sch, loops[3], "dot_16x4_vnni");
  EXPECT_TRUE(parallel.can_apply(sch, {loops[0]}));
  EXPECT_TRUE(parallel.can_apply(sch, {loops[1]}));
  EXPECT_FALSE(parallel.can_apply(sch, {loops[2]}));
  reorder(sch, {loops[1], loops[0]});
  decompose_reduction(sch, get_block(sch, "C_o"), loops[2]);
  expect_result(sch, before);
  parallel(sch, loops[1]);
  expect_result(sch, before);
}

TEST(tensorize, takes_operands_in_either_order) {
  const auto before = program(R"(A: T.Buffer((4,), "uint8"), B: T.Buffer((16, 4), "int8"),
         C: T.Buffer((16,), "int32"))",
                              R"(
for i, k in T.grid(16, 4):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = 0
        C[vi] = T.cast(B[vi, vk], "int32") * T.cast(A[vk], "int32") + C[vi]
)");
  Schedule sch(before);
  tensorize(sch, get_loops(sch, get_block(sch, "C"))[0], "dot_16x4_vnni");
  expect_result(sch, before);
}

/// A copy of 8 elements.
Ptr<TensorIntrin> copy_intrin(std::string_view type = "float32", std::string_view scope = "") {
  const auto function = [&](std::string_view body) {
    return parse_function(fmt::format(R"(
@T.prim_func
def copy(X: T.Buffer((8,), "{0}", scope="{2}"), Y: T.Buffer((8,), "{0}")):
{1})",
                                      type, body, scope));
  };
  return tensor_intrin("copy", function(R"(
    for i in range(8):
        with T.block("copy"):
            vi = T.axis.spatial(8, i)
            Y[vi] = X[vi]
)"),
                       function(R"(
    with T.block("root"):
        T.reads(X[0:8])
        T.writes(Y[0:8])
        T.block_attr({"copied": 8})
        Y[0:8] = X[0:8]
)"));
}

constexpr auto copy_parameters =
    R"(A: T.Buffer((3, 24), "float32"), B: T.Buffer((24, 3), "float32"))";
constexpr auto copy_body = R"(
for i, j in T.grid(3, 24):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[{}] = A[vi, vj]
)";

TEST(tensorize, takes_intrinsics_of_ones_own) {
  const auto before = program(R"(A: T.Buffer((3, 24), "float32"), B: T.Buffer((3, 24), "float32"))",
                              fmt::format(copy_body, "vi, vj"));
  Schedule sch(before);
  const auto parts = split(sch, get_loops(sch, get_block(sch, "B"))[1], {infer, 8});
  tensorize(sch, parts[1], TensorIntrinSelector("copy", copy_intrin()));
  EXPECT_EQ(sch.trace().as_python().back(),
            "sch.tensorize(block_or_loop=l4, tensor_intrin=\"copy\", preserve_unit_iters=True)");
  EXPECT_EQ(sch.get(get_block(sch, "B_o")).annotations.get_int("copied", 0), 8);
  expect_result(sch, before);
}

TEST(tensorize, keeps_what_storage_align_said) {
  const auto before = program(R"(A: T.Buffer((3, 24), "float32"), B: T.Buffer((3, 24), "float32"))",
                              fmt::format(copy_body, "vi, vj"));
  Schedule sch(before);
  const BlockRV copy = cache_write(sch, get_block(sch, "B"), BufferSelector(0), "global");
  storage_align(sch, get_block(sch, "B"), BufferSelector(0), -2, 32, 8);
  const auto parts = split(sch, get_loops(sch, get_block(sch, "B"))[1], {infer, 8});
  tensorize(sch, parts[1], TensorIntrinSelector("copy", copy_intrin()));
  EXPECT_NE(body_of(sch).find("\"buffer_dim_align\": [[0, 0, 32, 8]]"), std::string::npos)
      << body_of(sch);
  EXPECT_EQ(sch.get(copy).writes[0]->buffer->name, "B");
  expect_result(sch, before);
}

TEST(tensorize, keeps_intrinsics_by_name_in_a_table) {
  TensorIntrinTable table;
  const auto copy = copy_intrin();
  EXPECT_EQ(table.find("copy").get(), nullptr);
  table.add("copy", copy->desc, copy->impl);
  EXPECT_EQ(table.select("copy").find()->desc.get(), copy->desc.get());
  EXPECT_EQ(table.select("dot_16x4_vnni").size(), 1u);
  std::vector<std::string> names = TensorIntrinTable().names();
  EXPECT_TRUE(std::ranges::find(names, "dot_16x4_avx512") != names.end());
  names.insert(std::ranges::lower_bound(names, "copy"), "copy");
  EXPECT_EQ(table.names(), names);
  EXPECT_EQ(error_of([&] { table.add("copy", copy->desc, copy->impl); }),
            "intrinsic_name_is_free: tensor intrinsic copy has already been registered");
  table.add("copy", copy->desc, copy->impl, true);
  const auto other = copy_intrin("float16");
  EXPECT_EQ(error_of([&] { table.add("x", copy->desc, other->impl); }),
            "intrinsic_parameters_agree: tensor intrinsic x: parameter X is float32(8) in the "
            "description, float16(8) in the implementation");
  EXPECT_EQ(error_of([&] { table.add("x", copy->desc, matmul()); }),
            "intrinsic_parameters_agree: tensor intrinsic x: the description has 2 parameters, the "
            "implementation 3");
  const auto sized = parse_function(R"(
@T.prim_func
def sized(x: T.handle, n: T.int32):
    X = T.match_buffer(x, (n + 1,))
    X[0] = T.float32(0)
)");
  EXPECT_EQ(
      error_of([&] { table.add("x", sized, sized); }),
      "intrinsic_sizes_are_plain: tensor intrinsic x: parameter X is float32(n + 1), its sizes "
      "are neither constants nor variables");
  const auto number = parse_function("@T.prim_func\ndef number(n: T.int32):\n    T.evaluate(n)\n");
  const auto buffer = parse_function(
      "@T.prim_func\ndef buffer(X: T.Buffer((8,), \"float32\")):\n    X[0] = T.float32(0)\n");
  EXPECT_EQ(error_of([&] { table.add("x", buffer, number); }),
            "intrinsic_takes_buffers: tensor intrinsic x: parameter 0 is no buffer");
  table.add("numbers", number, number);
  EXPECT_TRUE(table.find("numbers").defined());
}

TEST(tensorize, leaves_loops_that_run_at_once_right) {
  const auto refused = [](std::size_t loop, const auto& run_concurrently) {
    Schedule sch(packed_matmul(6, 32, 4 * 640));
    const auto loops = tile(sch);
    run_concurrently(sch, loops[loop]);
    return error_of([&] { tensorize(sch, loops[3], "dot_16x4_vnni"); });
  };
  const auto in_threads = [](Schedule& sch, LoopRV loop) { parallel(sch, loop); };
  EXPECT_EQ(refused(0, in_threads), "");
  EXPECT_EQ(refused(1, in_threads), "");
  // Of what an intrinsic adds up, partial results are not known.
  EXPECT_EQ(
      refused(2, in_threads),
      "step_keeps_results: tensorize: results may change: whether iterations of loop k_0, which "
      "is parallel, would depend on each other is unknown, as index 1 of C is not quasi-affine: "
      "a vector in a view");
  EXPECT_EQ(refused(2, [](Schedule& sch, LoopRV loop) { bind(sch, loop, "threadIdx.x"); }),
            "step_keeps_results: tensorize: results may change: whether iterations of loop k_0, "
            "which is threadIdx.x, would depend on each other is unknown, as index 1 of C is not "
            "quasi-affine: a vector in a view");
}

TEST(tensorize, says_how_a_tile_differs) {
  const auto refused = [](const Ptr<PrimFunc>& func, int columns, int depth) {
    Schedule sch(func);
    const auto loops = tile(sch, columns, depth);
    return error_of([&] { tensorize(sch, loops[3], "dot_16x4_vnni"); });
  };
  const std::string start =
      "block_matches_intrin: tensorize: block C doesn't match the tensor intrin dot_16x4_vnni: ";
  EXPECT_EQ(refused(packed_matmul(6, 32, 12), 8, 6),
            start + "the extent of loop j_1 is 8, not 16; the extent of loop k_1 is 6, not 4");
  EXPECT_EQ(refused(matmul(6, 32, 12), 16, 4),
            start + "the type of buffer C is float32, not int32");
  const auto plain = program(R"(A: T.Buffer((6, 12), "uint8"), B: T.Buffer((32, 12), "int8"),
         C: T.Buffer((6, 32), "int32"))",
                             R"(
for i, j, k in T.grid(6, 32, 12):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = 0
        C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "int32") * T.cast(B[vj, vk], "int32")
)");
  EXPECT_EQ(refused(plain, 16, 4), start + "rows of buffer B lie 12 elements apart, not 4");
}

TEST(tensorize, refuses_blocks_that_have_views) {
  // As what has been tensorized has: the views of the first implementation would be gone.
  Schedule sch(program(copy_parameters, fmt::format(copy_body, "vi, vj")));
  const TensorIntrinSelector copy("copy", copy_intrin());
  const auto parts = split(sch, get_loops(sch, get_block(sch, "B"))[1], {infer, 8});
  tensorize(sch, parts[1], copy);
  EXPECT_EQ(error_of([&] { tensorize(sch, get_block(sch, "B_o"), copy); }),
            "block_matches_intrin: tensorize: block B_o doesn't match the tensor intrin copy: "
            "block B_o allocates or views buffers");
}

TEST(tensorize, says_which_index_or_statement_differs) {
  const auto refused = [](std::string_view index, const Ptr<TensorIntrin>& intrin = copy_intrin()) {
    Schedule sch(program(copy_parameters, fmt::format(copy_body, index)));
    const auto parts = split(sch, get_loops(sch, get_block(sch, "B"))[1], {infer, 8});
    return error_of([&] { tensorize(sch, parts[1], TensorIntrinSelector("copy", intrin)); });
  };
  const std::string start =
      "block_matches_intrin: tensorize: block B doesn't match the tensor intrin copy: ";
  EXPECT_EQ(refused("vj, vi"), start +
                                   "index 0 of buffer B is vj_o * 8 + vj_i, which is no fixed "
                                   "distance from 0");
  EXPECT_EQ(refused("23 - vj, 0"), start +
                                       "index 0 of buffer B is vj_o * -8 - vj_i + 23, which is no "
                                       "fixed distance from 0");
  EXPECT_EQ(refused("0, vj", copy_intrin("float32", "shared")),
            start + "the scope of buffer A is global, not shared");
  Schedule sch(two_stages(8, 8));
  const auto c = get_block(sch, "C");
  EXPECT_EQ(
      error_of([&] { tensorize(sch, c, TensorIntrinSelector("copy", copy_intrin())); }),
      "block_matches_intrin: tensorize: block C doesn't match the tensor intrin copy: a store "
      "stands where the intrinsic has a loop");
  EXPECT_EQ(error_of([&] {
              tensorize(sch, get_loops(sch, c)[1], TensorIntrinSelector("copy", copy_intrin()));
            }),
            "block_matches_intrin: tensorize: block C doesn't match the tensor intrin copy: "
            "B[v_i, v_j] * T.float32(2) stands where the intrinsic has X[vi]");
  EXPECT_EQ(error_of([&] { tensorize(sch, c, "dot_17x4"); }),
            "name_is_known: tensorize: there is no tensor intrin dot_17x4");
  EXPECT_EQ(error_of([&] { tensorize(sch, *block_around(sch, sch.node(c)), "dot_16x4_vnni"); }),
            "block_is_not_root: tensorize: the primitive does not operate on the root block root");
}

}  // namespace
}  // namespace loopsmith
