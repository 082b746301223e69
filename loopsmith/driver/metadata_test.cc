// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/metadata.h"

#include <gtest/gtest.h>

#include <random>

#include "loopsmith/runtime/testing/error_of.h"

namespace loopsmith {
namespace {

Metadata example() {
  const auto n = ExtentRule::named("n");
  SignatureSpec spec{
      .name = "f",
      .parameters = {{.name = "A",
                      .shape = {n, ExtentRule::equals(8), ExtentRule::computed()},
                      .strides = std::vector<ExtentRule>{n, n, n},
                      .alignment = 64,
                      .writable = true},
                     {.name = "n", .kind = LS_INT, .dtype = {kDLInt, 32, 1}, .symbol = "n"}},
      .symbols = {{"n", 100}},
      .noalias = false};
  return {.target = "llvm -mcpu=native", .release = "1.2", .functions = {Signature(spec)}};
}

TEST(metadata, reads_back) {
  const std::string text = metadata_text(example());
  const Metadata read = parse_metadata(text);
  EXPECT_EQ(metadata_text(read), text);
  EXPECT_EQ(read.target, "llvm -mcpu=native");
  const SignatureSpec& spec = read.functions[0].spec();
  EXPECT_EQ(spec.parameters[0].shape[0].symbol, "n");
  EXPECT_EQ(spec.parameters[0].shape[1].constant, 8);
  EXPECT_EQ(spec.parameters[0].shape[2].kind, ExtentRule::Kind::computed);
  EXPECT_EQ(spec.parameters[1].symbol, "n");
  EXPECT_EQ(spec.symbols[0].most, 100);
  EXPECT_FALSE(spec.noalias);
  EXPECT_EQ(read.traces, std::vector<std::string>{""});
}

TEST(metadata, keeps_the_trace_of_a_schedule) {
  Metadata metadata = example();
  metadata.traces = {"[[\"split\", \"i\"]]"};
  EXPECT_EQ(parse_metadata(metadata_text(metadata)).traces, metadata.traces);
}

TEST(metadata, refuses_what_is_none) {
  const auto refused = [](std::string_view text) {
    return std::string(error_of([&] { parse_metadata(text); }).problem());
  };
  EXPECT_TRUE(refused("{").starts_with("metadata: no JSON at offset 2"));
  EXPECT_EQ(refused("{}"), "metadata: 'format' is missing or of another type");
  EXPECT_EQ(refused(R"({"format": "x"})"), "metadata: the format is not 'loopsmith module'");
  EXPECT_EQ(refused(R"({"format": "loopsmith module", "version": 9})"),
            "metadata: version 9 is not known, only 1 to 1");
  std::string text = metadata_text(example());
  text.replace(text.find("[\"n\", 100]"), 10, "[100]");
  EXPECT_EQ(refused(text), "metadata: a symbol has no name");
  text = metadata_text(example());
  text.replace(text.find("\"dtype\": [0, 32, 1]"), 19, "\"dtype\": [0]");
  EXPECT_EQ(refused(text), "metadata: a number is missing");
}

}  // namespace
}  // namespace loopsmith
