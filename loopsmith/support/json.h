// SPDX-License-Identifier: Apache-2.0
// JSON texts as values, from sources that are not trusted, and what writers of JSON need.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace loopsmith {

struct JsonMember;

/// A value of a JSON text.
struct JsonValue {
  using List = std::vector<JsonValue>;
  using Object = std::vector<JsonMember>;  ///< In the order of the text; each name once.

  /// Integers are int64 where they fit, else uint64, else double.
  std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, List, Object>
      value;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&value);
  }
  bool is_null() const { return as<std::nullptr_t>() != nullptr; }
  /// The member of that name; nullptr when there is none, or this is no object.
  const JsonValue* find(std::string_view name) const;
};

struct JsonMember {
  std::string name;
  JsonValue value;
};

/// The value that `text` stands for. What is not JSON, nests deeper than `max_depth`, or names a
/// member twice, is a FormatError that says where; `what` begins its text: `from_json`.
JsonValue parse_json(std::string_view text, std::string_view what, int max_depth = 32);

/// Appends `text` as a JSON string. What is not UTF-8, or begins with NUL, becomes NUL and its
/// bytes in hexadecimal.
void append_json(std::string& out, std::string_view text);

/// Appends a number that reads back exactly; infinities and NaN become the strings `inf`, `-inf`,
/// `nan`, or `nan:` and the bits of a NaN that is not the usual one.
void append_json(std::string& out, double value);

/// What `append_json` wrote, read back; nullopt when it never wrote that.
std::optional<std::string> text_of_json(const JsonValue& json);
std::optional<double> real_of_json(const JsonValue& json);

}  // namespace loopsmith
