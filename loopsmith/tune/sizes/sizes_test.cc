// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/tune/sizes/sizes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "loopsmith/codegen/signature.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/support/testing/refusal.h"

namespace loopsmith::tune {
namespace {

using ::loopsmith::testing::refusal;

Ptr<PrimFunc> copy_of_matrix() {
  return parse_function(
      "@T.prim_func\n"
      "def main(a: T.handle, b: T.handle, offset: T.int32):\n"
      "    m, n = T.int32(), T.int32()\n"
      "    A = T.match_buffer(a, (m, n), \"float32\")\n"
      "    B = T.match_buffer(b, (m, n), \"float32\")\n"
      "    for i, j in T.grid(m, n):\n"
      "        B[i, j] = A[i, j]\n");
}

TEST(Sizes, are_those_of_tensors_and_numbers) {
  std::vector<std::string> names;
  for (const auto& size : size_variables(*copy_of_matrix())) names.push_back(size.first);
  EXPECT_EQ(names, (std::vector<std::string>{"m", "n", "offset"}));
  EXPECT_EQ(refusal([] { size_variable(*copy_of_matrix(), "k"); }),
            "size_is_known: tune: the function has no size k; it has m, n, offset");
  const NDArray array = NDArray::zeros({3, 5}, to_dlpack(f32));
  const Sizes sizes = sizes_of(*copy_of_matrix(), {array, array});
  EXPECT_EQ(sizes, (Sizes{{"m", 3}, {"n", 5}}));
  const std::string text = script(with_sizes(copy_of_matrix(), sizes));
  EXPECT_NE(text.find("T.grid(3, 5)"), std::string::npos) << text;
}

TEST(Sizes, of_ranges_are_drawn_by_equal_ratios_with_the_weights_of_their_neighbours) {
  std::vector<std::int64_t> drawn;
  double sum = 0;
  for (const DrawnSizes& point : drawn_sizes(*copy_of_matrix(), {{"m", SizeRange(1, 128)}}, 0)) {
    drawn.push_back(point.sizes.at("m"));
    sum += point.weight;
  }
  EXPECT_EQ(drawn, (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128}));
  EXPECT_DOUBLE_EQ(sum, 1);
  const SizeRange large(1, 128, 1, [](std::int64_t size) { return size > 100 ? 1.0 : 0.0; });
  const auto one = drawn_sizes(*copy_of_matrix(), {{"m", large}}, 0);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].sizes.at("m"), 128);
}

TEST(Sizes, of_several_ranges_have_the_ends_and_others_at_random) {
  const auto drawn =
      drawn_sizes(*copy_of_matrix(), {{"m", SizeRange(16, 512, 16)}, {"n", SizeRange(1, 9)}}, 0);
  EXPECT_GT(drawn.size(), 2U);
  EXPECT_EQ(drawn[0].sizes, (Sizes{{"m", 16}, {"n", 1}}));
  EXPECT_EQ(drawn[1].sizes, (Sizes{{"m", 512}, {"n", 9}}));
  for (const DrawnSizes& point : drawn) EXPECT_EQ(point.sizes.at("m") % 16, 0);
  const auto grid = drawn_sizes(*copy_of_matrix(),
                                {{"m", std::int64_t{7}}, {"n", SizeWeights{{1, 3}, {2, 1}}}}, 0);
  ASSERT_EQ(grid.size(), 2U);
  EXPECT_DOUBLE_EQ(grid[0].weight, 0.75);
}

TEST(Sizes, that_make_no_sense_are_refused) {
  EXPECT_EQ(refusal([] { SizeRange(9, 3); }),
            "range_has_sizes: SizeRange: 9 to 3 by 1 has no sizes");
  EXPECT_EQ(refusal([] { drawn_sizes(*copy_of_matrix(), {{"m", SizeWeights{{4, NAN}}}}, 0); }),
            "weights_are_shares: tune: the weights of size m are {4: nan}, expected numbers that "
            "are not negative, one of them positive");
}

}  // namespace
}  // namespace loopsmith::tune
