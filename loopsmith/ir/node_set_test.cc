// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/node_set.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/expr.h"

namespace loopsmith {
namespace {

TEST(node_set, has_what_was_added_once) {
  std::vector<Ptr<Var>> nodes;
  for (int i = 0; i < 2000; ++i) nodes.push_back(var("x"));
  NodeSet set;
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_FALSE(set.contains(nodes[i].get()));
    EXPECT_TRUE(set.add(nodes[i].get()));
    EXPECT_FALSE(set.add(nodes[i].get()));
  }
  for (std::size_t i = 0; i < 2000; ++i) EXPECT_EQ(set.contains(nodes[i].get()), i < 1000);
}

}  // namespace
}  // namespace loopsmith
