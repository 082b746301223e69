// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/unique_names.h"

#include <gtest/gtest.h>

#include "loopsmith/schedule/spelling_suggestions.h"

namespace loopsmith {
namespace {

TEST(cow_vector, is_shared_by_copies_until_they_change_it) {
  CowVector<int> numbers;
  for (int i = 0; i < 100; ++i) numbers.push_back(i);
  CowVector<int> copy = numbers;
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

TEST(cow_vector, grows_and_shrinks_over_the_ends_of_chunks) {
  CowVector<int> numbers;
  for (int i = 0; i < 70; ++i) numbers.push_back(i);
  while (numbers.size() > 32) numbers.pop_back();
  numbers.push_back(5);
  int sum = 0;
  for (const int number : numbers) sum += number;
  EXPECT_EQ(sum, 31 * 32 / 2 + 5);
  numbers.clear();
  EXPECT_TRUE(numbers.empty());
}

TEST(unique_names, finds_entities_and_makes_fresh_names) {
  UniqueNames names;
  EXPECT_EQ(names.first("i"), UniqueNames::no_entity);
  EXPECT_EQ(names.fresh("i"), "i");
  for (std::uint32_t i = 0; i < 1000; ++i) names.set_first("i" + std::to_string(i), i);
  EXPECT_EQ(names.first("i999"), 999u);
  EXPECT_EQ(names.fresh("i7"), "i7_1");
  names.set_first("i7_2", 2000);
  EXPECT_EQ(names.fresh("i7"), "i7_3");
  names.set_first("i7", UniqueNames::no_entity);
  EXPECT_EQ(names.fresh("i7"), "i7");
}

TEST(unique_names, is_shared_by_copies) {
  UniqueNames names;
  names.set_first("i", 1);
  UniqueNames copy = names;
  copy.set_first("i", 2);
  copy.set_first("j", 3);
  EXPECT_EQ(names.first("i"), 1u);
  EXPECT_EQ(names.first("j"), UniqueNames::no_entity);
  EXPECT_EQ(copy.first("i"), 2u);
  int count = 0;
  copy.each([&](const std::string&) { ++count; });
  EXPECT_EQ(count, 2);
}

TEST(spelling_suggestions, finds_names_that_were_misspelled) {
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
