// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/node_map.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/expr.h"

namespace loopsmith {
namespace {

TEST(node_map, finds_what_was_set_last) {
  std::vector<Ptr<Var>> nodes;
  for (int i = 0; i < 2000; ++i) nodes.push_back(var("x"));
  NodeMap<Ref> map;
  EXPECT_TRUE(map.empty());
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(map.find(nodes[i]), nullptr);
    map.set(nodes[i], nodes[0]);
    map.set(nodes[i], nodes[i + 1]);
  }
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_TRUE(map.find(nodes[i])->same_as(nodes[i + 1]));
  for (std::size_t i = 1000; i < 2000; ++i) EXPECT_EQ(map.find(nodes[i]), nullptr);
  map.clear();
  EXPECT_TRUE(map.empty());
  EXPECT_EQ(map.find(nodes[0]), nullptr);
  EXPECT_TRUE(nodes[0]->is_unique());
}

}  // namespace
}  // namespace loopsmith
