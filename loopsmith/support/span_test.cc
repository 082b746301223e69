// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/span.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "loopsmith/support/source.h"

namespace loopsmith {
namespace {

TEST(span, the_same_name_is_the_same_source) {
  const std::uint32_t a = source_id("<span_test a>");
  const std::uint32_t b = source_id("<span_test b>");
  EXPECT_NE(a, b);
  EXPECT_EQ(source_id("<span_test a>"), a);
  EXPECT_EQ(source_name(a), "<span_test a>");
}

TEST(span, id_zero_and_ids_never_given_out_are_unknown) {
  EXPECT_FALSE(Span{}.known());
  EXPECT_EQ(source_name(0), "");
  EXPECT_EQ(source_name(4'000'000'000U), "");
  EXPECT_EQ(source_line(0, 1), "");
  EXPECT_EQ(quote(Span{}), "");
}

TEST(span, a_quote_has_carets_under_what_the_span_covers) {
  const std::uint32_t id = source_id("<span_test quote>", "first\n  x = A[i] + 1\n");
  EXPECT_EQ(quote({id, 2, 7, 4}),
            "<span_test quote>:2\n"
            "      x = A[i] + 1\n"
            "          ^^^^");
}

TEST(span, a_quote_of_a_whole_line_leaves_out_its_indent) {
  const std::uint32_t id = source_id("<span_test line>", "  return\n");
  EXPECT_EQ(quote({id, 1}), "<span_test line>:1\n      return\n      ^^^^^^");
}

TEST(span, carets_stop_where_the_line_does) {
  const std::uint32_t id = source_id("<span_test short>", "ab\n");
  EXPECT_EQ(quote({id, 1, 2, 40}), "<span_test short>:1\n    ab\n     ^");
  EXPECT_EQ(quote({id, 1, 9, 4}), "<span_test short>:1\n    ab\n            ^");
}

TEST(span, a_line_that_does_not_exist_is_named_without_a_quote) {
  const std::uint32_t id = source_id("<span_test end>", "only\n");
  EXPECT_EQ(quote({id, 7, 1, 1}), "<span_test end>:7");
}

TEST(span, a_source_without_text_is_read_from_its_file) {
  const std::string path = ::testing::TempDir() + "loopsmith_span_test.txt";
  std::ofstream(path) << "one\ntwo\n";
  EXPECT_EQ(source_line(source_id(path), 2), "two");
  std::remove(path.c_str());
}

TEST(span, an_imported_source_does_not_change_one_of_that_name) {
  const auto first = import_source("<imported>", "a");
  EXPECT_EQ(import_source("<imported>", "a"), first);
  EXPECT_EQ(import_source("<imported>", ""), first);
  const auto second = import_source("<imported>", "b");
  EXPECT_EQ(source_name(second), "<imported> (2)");
  EXPECT_EQ(import_source("<imported>", "b"), second);
  EXPECT_EQ(source_text(first), "a");
  EXPECT_EQ(source_text(second), "b");
  EXPECT_EQ(source_text(0), "");
}

TEST(span, a_block_in_a_source_has_its_name_and_lines) {
  const std::uint32_t source = source_id("blocks.py", "one\ntwo\n");
  const std::uint32_t block = block_source(source, "C");
  EXPECT_NE(block, source);
  EXPECT_EQ(block_source(block, "C"), block);
  EXPECT_NE(block_source(source, "D"), block);
  EXPECT_EQ(source_name(block), "blocks.py");
  EXPECT_EQ(source_line(block, 2), "two");
  EXPECT_EQ(source_text(block), "one\ntwo\n");
  EXPECT_EQ(source_block(block), "C");
  EXPECT_EQ(source_block(source), "");
  EXPECT_EQ(whole_source(block), source);
  EXPECT_EQ(whole_source(source), source);
  EXPECT_EQ(whole_source(0), 0U);
}

}  // namespace
}  // namespace loopsmith
