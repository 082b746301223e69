// SPDX-License-Identifier: Apache-2.0
// Any IR as JSON and back, derived from the fields of the nodes.
//
//   {"format": "loopsmith", "version": 1,
//    "sources": [{"name": "matmul.py"}],
//    "nodes": [
//     {"type": "Var", "name": "i", "dtype": "int32"},
//     {"type": "IntImm", "value": 1, "dtype": "int32"},
//     {"type": "Add", "a": 0, "b": 1, "span": [1, 12, 5, 3]}],
//    "root": 2}
//
// A reference is the number of a node that stands earlier, so that shared nodes cost once and no
// tree is deep in the text. Fields that are null or empty are left out. A span is its source,
// counted from 1, line, column, length and schedule step, without the zeros at its end.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "loopsmith/ir/node.h"

namespace loopsmith {

/// The version of the format that `to_json` writes; `from_json` reads it and all before.
inline constexpr int json_version = 1;

struct JsonOptions {
  bool spans = true;  ///< Whether nodes say where they come from.
};

/// The text of `root` and of all that it refers to. Reads back as the same graph, to the bit.
std::string to_json(const Ref& root, const JsonOptions& options = {});

/// The node that `to_json` wrote. Takes time and memory in proportion to the text. What is no such
/// text is a FormatError that says where it goes wrong, by offset or JSON pointer.
Ref from_json(std::string_view text);

/// The format as a JSON Schema.
std::string json_schema();

namespace detail {

/// What was called otherwise in the format up to `version`.
struct JsonRename {
  int version;
  std::string_view node;
  std::string_view field;  ///< Empty: the type of the node itself.
  std::string_view now;
};

/// `from_json` for a format whose newest version is `newest`.
Ref from_json(std::string_view text, int newest, std::span<const JsonRename> renames);

}  // namespace detail
}  // namespace loopsmith
