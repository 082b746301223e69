// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

std::string message_of(std::string_view text) {
  try {
    parse_json(text, "read", 4);
  } catch (const UserError& e) {
    EXPECT_EQ(e.kind(), ErrorKind::format);
    return e.problem();
  }
  return "no error";
}

template <class T>
std::string written(const T& value) {
  std::string text;
  append_json(text, value);
  return text;
}

TEST(json, values_keep_their_kind_and_order) {
  const JsonValue root =
      parse_json(R"({"b": [1, -2, 18446744073709551615, 1.5, null, true], "a": "x\n\u00e4"})", "");
  const auto* object = root.as<JsonValue::Object>();
  ASSERT_TRUE(object);
  EXPECT_EQ(object->front().name, "b");
  const auto& list = *root.find("b")->as<JsonValue::List>();
  EXPECT_EQ(*list[0].as<std::int64_t>(), 1);
  EXPECT_EQ(*list[1].as<std::int64_t>(), -2);
  EXPECT_EQ(*list[2].as<std::uint64_t>(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(*list[3].as<double>(), 1.5);
  EXPECT_TRUE(list[4].is_null());
  EXPECT_TRUE(*list[5].as<bool>());
  EXPECT_EQ(*root.find("a")->as<std::string>(), "x\n\xC3\xA4");
  EXPECT_EQ(root.find("c"), nullptr);
  EXPECT_EQ(list[0].find("c"), nullptr);
}

TEST(json, refuses_what_is_no_json_with_the_place) {
  EXPECT_EQ(
      message_of("[1, 2"),
      "read: no JSON at offset 6: syntax error while parsing array - unexpected end of input; "
      "expected ']'");
  EXPECT_TRUE(message_of("").starts_with("read: no JSON at offset 1: "));
  EXPECT_TRUE(message_of("[1] 2").starts_with("read: no JSON at offset 5: "));
  EXPECT_TRUE(message_of("[1e999]").starts_with("read: no JSON at offset "));
  EXPECT_TRUE(message_of("[\"\xFF\"]").starts_with("read: no JSON at offset 3: "));
  EXPECT_TRUE(message_of(std::string("[\"\0\"]", 5)).starts_with("read: no JSON at offset 3: "));
  EXPECT_EQ(message_of(R"({"a": 1, "b": 2, "a": 3})"),
            "read: an object names the member 'a' twice");
}

TEST(json, refuses_deep_values_before_it_builds_them) {
  EXPECT_EQ(message_of("[[[[]]]]"), "no error");
  EXPECT_EQ(message_of("[[[[[]]]]]"), "read: values nest deeper than 4 levels");
  EXPECT_EQ(message_of(std::string(1'000'000, '[')), "read: values nest deeper than 4 levels");
}

TEST(json, any_bytes_are_a_text) {
  for (const std::string& text :
       {std::string(), std::string("a\"\\\n\t\x01\x7F/\xC3\xA4"), std::string("\xFF\xC3"),
        std::string("\0a", 2), std::string("a\0", 2), std::string("\xED\xA0\x80")}) {
    EXPECT_EQ(text_of_json(parse_json(written(std::string_view(text)), "")), text);
  }
  EXPECT_EQ(text_of_json(parse_json(R"("\u00006")", "")), std::nullopt);
  EXPECT_EQ(text_of_json(parse_json(R"("\u00006g")", "")), std::nullopt);
  EXPECT_EQ(text_of_json(parse_json("1", "")), std::nullopt);
}

TEST(json, any_double_is_exact) {
  using Limits = std::numeric_limits<double>;
  for (const double value :
       {0.0, -0.0, 1.0, -1.5, 0.1, 1e22, 123456789012345680.0, 1e300, Limits::max(),
        Limits::denorm_min(), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
        -Limits::quiet_NaN(), std::bit_cast<double>(0x7FF0000000000001)}) {
    const auto read = real_of_json(parse_json(written(value), ""));
    ASSERT_TRUE(read);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(*read), std::bit_cast<std::uint64_t>(value)) << value;
  }
  for (const char* text : {R"("nan:7ff0000000000000")", R"("nan:")", R"("x")", "true", "[]"}) {
    EXPECT_EQ(real_of_json(parse_json(text, "")), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace loopsmith
