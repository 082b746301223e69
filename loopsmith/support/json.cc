// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "loopsmith/support/error.h"
#include "loopsmith/support/utf8.h"

namespace loopsmith {
namespace {

constexpr Hint whole_file("pass the whole text, as it was written");

/// A name that occurs twice; nullptr when all differ.
const std::string* repeated_name(const JsonValue::Object& object) {
  if (object.size() < 2) return nullptr;
  std::vector<const std::string*> names;
  for (const JsonMember& member : object) names.push_back(&member.name);
  const auto less = [](const std::string* a, const std::string* b) { return *a < *b; };
  std::ranges::sort(names, less);
  const auto same = [](const std::string* a, const std::string* b) { return *a == *b; };
  const auto found = std::ranges::adjacent_find(names, same);
  return found == names.end() ? nullptr : *found;
}

/// Builds values from the events of the parser, which does not recurse either.
class Builder {
 public:
  Builder(std::string_view what, int max_depth) : what_(what), max_depth_(max_depth) {}

  JsonValue result() { return std::move(root_); }

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) {
    constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
    return value <= largest ? add(static_cast<std::int64_t>(value)) : add(value);
  }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(JsonValue::Object()); }
  bool start_array(std::size_t) { return open(JsonValue::List()); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    std::get<JsonValue::Object>(open_.back()->value).push_back({std::move(name), {}});
    return true;
  }

  bool end_object() {
    const std::string* twice = repeated_name(*open_.back()->as<JsonValue::Object>());
    require(!twice, ErrorKind::format, "json_names_members_once", hint("leave one of them out"), {},
            "{}: an object names the member '{}' twice", what_, twice ? *twice : "");
    return close();
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& e) {
    // "[json.exception.parse_error.101] parse error at line 1, column 5: what is wrong"
    std::string_view reason = e.what();
    if (const auto colon = reason.find(": "); colon != std::string_view::npos) {
      reason.remove_prefix(colon + 2);
    }
    fail(ErrorKind::format, "json_is_whole", whole_file, {}, "{}: no JSON at offset {}: {}", what_,
         position, reason);
  }

 private:
  template <class T>
  bool add(T&& value) {
    place().value = std::forward<T>(value);
    return true;
  }

  template <class T>
  bool open(T&& value) {
    require(static_cast<int>(open_.size()) < max_depth_, ErrorKind::format, "json_nests_little",
            whole_file, {}, "{}: values nest deeper than {} levels", what_, max_depth_);
    JsonValue& opened = place();
    opened.value = std::forward<T>(value);
    open_.push_back(&opened);
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  /// Where the next value belongs. Values around it do not move while they are open.
  JsonValue& place() {
    if (open_.empty()) return root_;
    if (auto* object = std::get_if<JsonValue::Object>(&open_.back()->value)) {
      return object->back().value;
    }
    return std::get<JsonValue::List>(open_.back()->value).emplace_back();
  }

  std::string_view what_;
  int max_depth_;
  JsonValue root_;
  std::vector<JsonValue*> open_;
};

constexpr std::uint64_t usual_nan = 0x7FF8000000000000;
constexpr std::string_view nan_prefix = "nan:";

std::optional<std::uint64_t> from_hex(std::string_view digits) {
  std::uint64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [rest, error] = std::from_chars(digits.data(), end, value, 16);
  if (error != std::errc() || rest != end) return std::nullopt;
  return value;
}

}  // namespace

const JsonValue* JsonValue::find(std::string_view name) const {
  const auto* object = as<Object>();
  if (!object) return nullptr;
  const auto found = std::ranges::find(*object, name, &JsonMember::name);
  return found == object->end() ? nullptr : &found->value;
}

JsonValue parse_json(std::string_view text, std::string_view what, int max_depth) {
  Builder builder(what, max_depth);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.result();
}

void append_json(std::string& out, std::string_view text) {
  out += '"';
  if (!is_utf8(text) || text.starts_with('\0')) {
    out += "\\u0000";
    for (const char c : text) {
      fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned char>(c));
    }
    out += '"';
    return;
  }
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

void append_json(std::string& out, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  if (std::isnan(value)) {
    out += bits == usual_nan ? "\"nan\"" : fmt::format("\"{}{:016x}\"", nan_prefix, bits);
  } else if (std::isinf(value)) {
    out += value > 0 ? "\"inf\"" : "\"-inf\"";
  } else if (value == 0) {
    out += std::signbit(value) ? "-0.0" : "0.0";
  } else {
    fmt::format_to(std::back_inserter(out), "{}", value);
  }
}

std::optional<std::string> text_of_json(const JsonValue& json) {
  const auto* text = json.as<std::string>();
  if (!text) return std::nullopt;
  if (!text->starts_with('\0')) return *text;
  if (text->size() % 2 == 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 1; i < text->size(); i += 2) {
    const auto byte = from_hex(std::string_view(*text).substr(i, 2));
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
  }
  return bytes;
}

std::optional<double> real_of_json(const JsonValue& json) {
  if (const auto* value = json.as<double>()) return *value;
  if (const auto* value = json.as<std::int64_t>()) return static_cast<double>(*value);
  if (const auto* value = json.as<std::uint64_t>()) return static_cast<double>(*value);
  const auto* text = json.as<std::string>();
  if (!text) return std::nullopt;
  if (*text == "inf") return std::numeric_limits<double>::infinity();
  if (*text == "-inf") return -std::numeric_limits<double>::infinity();
  if (*text == "nan") return std::bit_cast<double>(usual_nan);
  if (!text->starts_with(nan_prefix)) return std::nullopt;
  const auto bits = from_hex(std::string_view(*text).substr(nan_prefix.size()));
  if (!bits || !std::isnan(std::bit_cast<double>(*bits))) return std::nullopt;
  return std::bit_cast<double>(*bits);
}

}  // namespace loopsmith
