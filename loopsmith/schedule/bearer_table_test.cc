// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/bearer_table.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/closest.h"

namespace loopsmith {
namespace {

TEST(shared_vector, is_shared_by_copies_until_they_change_it) {
  SharedVector<int> numbers;
  for (int i = 0; i < 100; ++i) numbers.push_back(i);
  SharedVector<int> copy = numbers;
  EXPECT_EQ(&copy[7], &numbers[7]);
  copy.edit(7) = -1;
  EXPECT_EQ(numbers[7], 7);
  EXPECT_EQ(copy[7], -1);
  EXPECT_EQ(copy[8], 8);
  EXPECT_EQ(&copy[70], &numbers[70]);
  copy.push_back(100);
  EXPECT_EQ(numbers.size(), 100u);
  EXPECT_EQ(copy.back(), 100);
  copy.pop_back();
  EXPECT_EQ(copy.back(), 99);
}

TEST(shared_vector, grows_and_shrinks_over_the_ends_of_chunks) {
  SharedVector<int> numbers;
  for (int i = 0; i < 70; ++i) numbers.push_back(i);
  while (numbers.size() > 32) numbers.pop_back();
  numbers.push_back(5);
  int sum = 0;
  for (const int number : numbers) sum += number;
  EXPECT_EQ(sum, 31 * 32 / 2 + 5);
  numbers.clear();
  EXPECT_TRUE(numbers.empty());
}

TEST(bearer_table, finds_bearers_and_makes_names_that_nobody_bears) {
  BearerTable names;
  EXPECT_EQ(names.first("i"), BearerTable::nobody);
  EXPECT_EQ(names.fresh("i"), "i");
  for (std::uint32_t i = 0; i < 1000; ++i) names.set_first("i" + std::to_string(i), i);
  EXPECT_EQ(names.first("i999"), 999u);
  EXPECT_EQ(names.fresh("i7"), "i7_1");
  names.set_first("i7_2", 2000);
  EXPECT_EQ(names.fresh("i7"), "i7_3");
  names.set_first("i7", BearerTable::nobody);
  EXPECT_EQ(names.fresh("i7"), "i7");
}

TEST(bearer_table, is_shared_by_copies) {
  BearerTable names;
  names.set_first("i", 1);
  BearerTable copy = names;
  copy.set_first("i", 2);
  copy.set_first("j", 3);
  EXPECT_EQ(names.first("i"), 1u);
  EXPECT_EQ(names.first("j"), BearerTable::nobody);
  EXPECT_EQ(copy.first("i"), 2u);
  int count = 0;
  copy.each([&](const std::string&) { ++count; });
  EXPECT_EQ(count, 2);
}

TEST(closest, finds_names_that_were_misspelled) {
  const std::vector<std::string> names = {"matmul", "softmax", "C", "C_local", "i_0"};
  EXPECT_EQ(closest_names("matmlu", names), (std::vector<std::string>{"matmul"}));
  EXPECT_EQ(closest_names("c", names), (std::vector<std::string>{"C"}));
  EXPECT_EQ(closest_names("i0", names), (std::vector<std::string>{"i_0"}));
  EXPECT_TRUE(closest_names("something else", names).empty());
  EXPECT_TRUE(closest_names("", names).empty());
  EXPECT_EQ(did_you_mean("Clocal", names, "look"), "did you mean C_local?");
  EXPECT_EQ(did_you_mean("what", {}, "look"), "look");
}

}  // namespace
}  // namespace loopsmith
