// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/edit.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/buffer.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

const auto one = var("one"), y = var("y");

TEST(edit, without_a_difference_the_node_stays_itself) {
  const Ptr<Add> sum = make(Add{.a = one, .b = y});
  Edit edit(*sum);
  edit.set(&Add::a, Expr(one));
  EXPECT_EQ(&edit.now(), sum.get());
  EXPECT_TRUE(std::move(edit).done().same_as(sum));
}

TEST(edit, what_differs_stands_in_a_copy) {
  const auto A = decl_buffer({16, 16}, f32, "A");
  const Expr element = load(A, {one, y});
  Edit edit(*element.as<BufferLoad>());
  edit.set(&BufferLoad::indices, 0, Expr(one));
  edit.set(&BufferLoad::indices, 1, Expr(one));
  EXPECT_TRUE(edit.now().indices[1].same_as(one));
  const Ptr<BufferLoad> result = std::move(edit).done();
  EXPECT_TRUE(result->indices[0].same_as(one));
  EXPECT_TRUE(element.as<BufferLoad>()->indices[1].same_as(y));
}

TEST(edit, the_result_obeys_the_rules_of_its_node) {
  const Ptr<Add> sum = make(Add{.a = one, .b = y});
  Edit edit(*sum);
  edit.set(&Add::b, Expr(var("w", i64)));
  EXPECT_THROW(std::move(edit).done(), UserError);
}

}  // namespace
}  // namespace loopsmith
