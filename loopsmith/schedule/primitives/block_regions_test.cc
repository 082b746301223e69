// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/block_regions.h"

#include <gtest/gtest.h>

#include "loopsmith/ir/operators.h"
#include "loopsmith/schedule/primitives.h"
#include "loopsmith/schedule/testing/programs.h"
#include "loopsmith/schedule/testing/sound.h"

namespace loopsmith {
namespace {

using namespace schedule_testing;

TEST(storage_align, is_an_annotation_of_the_block) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const BlockRV b = get_block(sch, "B");
  storage_align(sch, b, 0, -2, 32, 8);
  EXPECT_NE(body_of(sch).find("\"buffer_dim_align\": [[0, 0, 32, 8]]"), std::string::npos)
      << body_of(sch);
  storage_align(sch, b, 0, 1, 4, 0);
  storage_align(sch, b, 0, 0, 16, 8);
  EXPECT_NE(body_of(sch).find("\"buffer_dim_align\": [[0, 1, 4, 0], [0, 0, 16, 8]]"),
            std::string::npos)
      << body_of(sch);
  expect_sound(sch, func);
}

TEST(storage_align, refuses_what_has_no_such_layout) {
  Schedule sch(two_stages());
  const BlockRV b = get_block(sch, "B");
  EXPECT_EQ(error_of([&] { storage_align(sch, b, 0, 0, 0, 0); }),
            "number_is_in_range: storage_align: factor 0 is not positive");
  EXPECT_EQ(error_of([&] { storage_align(sch, b, 0, 2, 8, 0); }),
            "number_is_in_range: storage_align: axis is 2, not within -2 and 1");
  EXPECT_EQ(error_of([&] { storage_align(sch, get_block(sch, "C"), 0, 0, 8, 0); }),
            "buffer_is_allocated: storage_align: buffer C is not allocated by a block");
  EXPECT_EQ(error_of([&] { storage_align(sch, b, 1, 0, 8, 0); }),
            "block_has_the_buffer: storage_align: block B writes no such buffer");
}

TEST(unsafe_hide_buffer_access, takes_regions_away) {
  const auto func = matmul(4, 4, 4);
  Schedule sch(func);
  const BlockRV c = get_block(sch, "C");
  unsafe_hide_buffer_access(sch, c, "read", {1});
  EXPECT_NE(body_of(sch).find("T.reads(A[v_i, v_k])"), std::string::npos) << body_of(sch);
  expect_replays(sch, func);
  EXPECT_EQ(error_of([&] { unsafe_hide_buffer_access(sch, c, "read", {1}); }),
            "number_is_in_range: unsafe_hide_buffer_access: block C has no number 1 among its "
            "read regions");
  EXPECT_EQ(error_of([&] { unsafe_hide_buffer_access(sch, c, "eat", {0}); }),
            "name_is_known: unsafe_hide_buffer_access: eat is neither read nor write");
}

TEST(annotate_buffer_access, declares_another_region) {
  const auto func = two_stages(8, 4);
  Schedule sch(func);
  const BlockRV b = get_block(sch, "B");
  const auto i = var("i"), j = var("j");
  const auto ranges =
      make(IndexMap{.initial_indices = {i, j}, .final_indices = {i - 1, i + 1, j, j + 1}});
  annotate_buffer_access(sch, b, 0, "read", ranges);
  EXPECT_NE(body_of(sch).find("T.reads(A[v_i - 1:v_i - 1 + 2, v_j])"), std::string::npos)
      << body_of(sch);
  EXPECT_NE(body_of(sch).find("explicit_read_region"), std::string::npos);
  expect_replays(sch, func);
  const auto few = make(IndexMap{.initial_indices = {i, j}, .final_indices = {i, i + 1}});
  EXPECT_EQ(error_of([&] { annotate_buffer_access(sch, b, 0, "read", few); }),
            "arguments_fit: annotate_buffer_access: 2 axes to 2 ends do not fit block B "
            "with 2 axes and buffer A");
}

}  // namespace
}  // namespace loopsmith
