// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/te/create_prim_func.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/walk.h"
#include "loopsmith/te/te.h"

namespace loopsmith::te {
namespace {

/// What `fn` complains about; empty when it does not.
template <class Fn>
std::string problem_of(Fn fn) {
  try {
    fn();
  } catch (const UserError& error) {
    return error.problem();
  }
  return {};
}

const Block& block_in(const Stmt& stmt, std::string_view name) {
  const Block* found = nullptr;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* block = ref.as<Block>();
    if (block && block->name_hint == name) found = block;
    return true;
  });
  if (!found) throw std::runtime_error("no block " + std::string(name));
  return *found;
}

std::vector<std::string> block_names(const Ptr<PrimFunc>& func) {
  std::vector<std::string> names;
  pre_order_visit(func->body, [&](const Ref& ref) {
    if (const auto* block = ref.as<Block>()) names.push_back(block->name_hint);
    return true;
  });
  return names;
}

const Block& root_of(const Ptr<PrimFunc>& func) {
  return *func->body.as<BlockRealize>()->block;
}

struct Matmul {
  Tensor A = placeholder({128, 64}, f32, "A");
  Tensor B = placeholder({64, 32}, f32, "B");
  IterVar k = reduce_axis(0, 64, "k");
  Tensor C = compute({128, 32}, [&](Expr i, Expr j) { return sum(A(i, k) * B(k, j), k); }, "C",
                     {.axes = {"i", "j"}});
};

TEST(create_prim_func, makes_a_parameter_of_each_argument) {
  const Matmul m;
  const auto n = var("n");
  const auto func = create_prim_func({m.A, n, m.B, m.C});
  ASSERT_EQ(func->params.size(), 4u);
  EXPECT_EQ(func->params[0]->name, "var_A");
  EXPECT_TRUE(func->params[1].same_as(n));
  EXPECT_EQ(func->buffer_map[0]->name, "A");
  EXPECT_FALSE(func->buffer_map[1]);
  EXPECT_EQ(func->name(), "main");
  EXPECT_EQ(func->attrs.get_int("tir.noalias", 0), 1);
}

TEST(create_prim_func, makes_a_reduction_of_a_sum) {
  const Matmul m;
  const auto func = create_prim_func({m.A, m.B, m.C});
  EXPECT_EQ(block_names(func), (std::vector<std::string>{"root", "C"}));
  const auto* i = root_of(func).body.as<For>();
  ASSERT_TRUE(i);
  EXPECT_EQ(i->loop_var->name, "i");
  EXPECT_TRUE(is_const_int(i->extent, 128));
  const auto* k = i->body.as<For>()->body.as<For>();
  EXPECT_EQ(k->loop_var->name, "k");
  const Block& block = block_in(func->body, "C");
  ASSERT_EQ(block.iter_vars.size(), 3u);
  EXPECT_EQ(block.iter_vars[0]->var->name, "v_i");
  EXPECT_EQ(block.iter_vars[2]->iter_type, IterType::comm_reduce);
  EXPECT_TRUE(k->body.as<BlockRealize>()->iter_values[2].same_as(k->loop_var));

  const auto* init = block.init.as<BufferStore>();
  ASSERT_TRUE(init);
  EXPECT_EQ(*as_float(init->value), 0.0);
  const auto* update = block.body.as<BufferStore>();
  const auto* add = update->value.as<Add>();
  ASSERT_TRUE(add);
  EXPECT_TRUE(add->a.as<BufferLoad>()->buffer.same_as(func->buffer_map[2]));
  EXPECT_TRUE(add->b.as<Mul>()->a.as<BufferLoad>()->indices[1].same_as(block.iter_vars[2]->var));

  // The accumulator of a block with init is written, not read.
  ASSERT_EQ(block.reads.size(), 2u);
  EXPECT_TRUE(block.reads[0]->buffer.same_as(func->buffer_map[0]));
  EXPECT_TRUE(block.reads[0]->region[1]->min.same_as(block.iter_vars[2]->var));
  EXPECT_TRUE(is_const_int(block.reads[0]->region[1]->extent, 1));
  ASSERT_EQ(block.writes.size(), 1u);
  EXPECT_TRUE(block.annotations.empty());
}

TEST(create_prim_func, allocates_intermediates_in_the_root_block) {
  const auto n = var("n");
  const Tensor A = placeholder({n}, f32, "A");
  const Tensor B = compute({n}, [&](Expr i) { return A(i) + float_imm(f32, 1); }, "B");
  const Tensor C = compute({n}, [&](Expr i) { return B(i) * B(i); }, "C");
  const auto func = create_prim_func({A, C});
  ASSERT_EQ(root_of(func).alloc_buffers.size(), 1u);
  EXPECT_EQ(root_of(func).alloc_buffers[0]->name, "B");
  EXPECT_EQ(root_of(func).body.as<SeqStmt>()->seq.size(), 2u);
  EXPECT_EQ(block_in(func->body, "C").reads.size(), 1u);
}

}  // namespace
}  // namespace loopsmith::te
