// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/script_printer.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/well_formed.h"

namespace loopsmith {
namespace {

Ptr<IterVar> axis(const char* name, int extent, IterType type) {
  return make(IterVar{.dom = range(0, extent), .var = var(name), .iter_type = type});
}

/// C[i, j] = sum over k of A[i, k] * B[k, j], 128 each.
Ptr<PrimFunc> matmul() {
  const auto A = decl_buffer({128, 128}, f32, "A");
  const auto B = decl_buffer({128, 128}, f32, "B");
  const auto C = decl_buffer({128, 128}, f32, "C");
  const auto vi = axis("vi", 128, IterType::data_par);
  const auto vj = axis("vj", 128, IterType::data_par);
  const auto vk = axis("vk", 128, IterType::comm_reduce);
  const auto i = var("i"), j = var("j"), k = var("k");
  const Expr c = load(C, {vi->var, vj->var});
  const auto block = make(Block{
      .iter_vars = {vi, vj, vk},
      .reads = {point_region(A, {vi->var, vk->var}), point_region(B, {vk->var, vj->var})},
      .writes = {point_region(C, {vi->var, vj->var})},
      .name_hint = "C",
      .init = store(C, float_imm(f32, 0), {vi->var, vj->var}),
      .body = store(C, c + load(A, {vi->var, vk->var}) * load(B, {vk->var, vj->var}),
                    {vi->var, vj->var})});
  const Stmt realize = make(BlockRealize{.iter_values = {i, j, k}, .block = block});
  const Stmt loops = for_loop(i, 0, 128, for_loop(j, 0, 128, for_loop(k, 0, 128, realize)));
  const auto root = make(Block{.name_hint = "root", .body = loops});
  return make(PrimFunc{.params = {var("A_handle", handle_type), var("B_handle", handle_type),
                                  var("C_handle", handle_type)},
                       .buffer_map = {A, B, C},
                       .attrs = {{"global_symbol", string_imm("main")},
                                 {"tir.noalias", Expr(true)}},
                       .body = make(BlockRealize{.block = root})});
}

TEST(script_printer, prints_a_matmul) {
  const auto func = matmul();
  verify_well_formed(func);
  EXPECT_EQ(script(func), R"(# from loopsmith.script import tir as T

@T.prim_func
def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), C: T.Buffer((128, 128), "float32")):
    T.func_attr({"tir.noalias": True})
    # with T.block("root"):
    for i, j, k in T.grid(128, 128, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(C[vi, vj])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj])");
  EXPECT_TRUE(structural_equal(func, matmul()));
  EXPECT_EQ(structural_hash(func), structural_hash(matmul()));
}

}  // namespace
}  // namespace loopsmith
