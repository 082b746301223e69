// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "loopsmith/ir/json.h"

namespace loopsmith {
namespace {

constexpr std::string_view number_of_node = R"("type": "integer", "minimum": 0)";

std::string reference(std::string_view target, bool optional) {
  if (optional) return R"({"type": ["integer", "null"], "minimum": 0, "description": "Buffer"})";
  return fmt::format(R"({{{}, "description": "{}"}})", number_of_node, target);
}

std::string schema_of(const FieldInfo& field) {
  switch (field.type) {
    case FieldType::ref: return reference(field.target, false);
    case FieldType::refs:
      return fmt::format(R"({{"type": "array", "items": {}}})",
                         reference(field.target, field.role == Role::matches));
    case FieldType::attrs:
      return fmt::format(R"({{"type": "object", "additionalProperties": {}}})",
                         reference("any node", false));
    case FieldType::integer: return R"({"type": "integer"})";
    case FieldType::integers: return R"({"type": "array", "items": {"type": "integer"}})";
    case FieldType::real:
      return R"({"anyOf": [{"type": "number"}, {"pattern": "^(-?inf|nan(:[0-9a-f]{16})?)$"}]})";
    case FieldType::boolean: return R"({"type": "boolean"})";
    case FieldType::enumeration:
      return fmt::format(R"({{"enum": ["{}"]}})", fmt::join(field.names, "\", \""));
    case FieldType::text:
    case FieldType::data_type:
    case FieldType::op: return R"({"type": "string"})";
  }
  return "{}";
}

bool is_required(const FieldInfo& field) {
  return (field.type == FieldType::ref && field.role != Role::optional &&
          field.role != Role::thread) ||
         field.type == FieldType::integer || field.type == FieldType::real ||
         field.type == FieldType::enumeration || field.type == FieldType::op;
}

std::string schema_of(const NodeInfo& info) {
  std::string properties = fmt::format(R"("type": {{"const": "{}"}})", info.name);
  std::string required = R"("type")";
  for (const FieldInfo& field : info.fields) {
    properties += fmt::format(",\n     \"{}\": {}", field.name, schema_of(field));
    if (is_required(field)) required += fmt::format(", \"{}\"", field.name);
  }
  return fmt::format(R"(   {{"properties": {{
     {},
     "span": {{"$ref": "#/$defs/span"}}}},
    "required": [{}], "additionalProperties": false}})",
                     properties, required);
}

}  // namespace

std::string json_schema() {
  std::vector<std::string> nodes;
  for (std::uint16_t kind = 0; kind < node_count; ++kind) {
    nodes.push_back(schema_of(node_info(kind)));
  }
  return fmt::format(R"({{
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "title": "Loopsmith IR, version {}",
 "type": "object",
 "properties": {{
  "format": {{"const": "loopsmith"}},
  "version": {{"const": {}}},
  "sources": {{"type": "array", "items": {{
   "type": "object",
   "properties": {{"name": {{"type": "string"}}, "text": {{"type": "string"}},
    "whole": {{"description": "of a block: its source, from 1", "type": "integer", "minimum": 1}}}},
   "required": ["name"]}}}},
  "nodes": {{"type": "array", "items": {{"$ref": "#/$defs/node"}}}},
  "root": {{{}}}
 }},
 "required": ["format", "version", "sources", "nodes", "root"],
 "$defs": {{
  "span": {{
   "description": "source from 1, line, column, length, schedule step",
   "type": "array", "maxItems": 5, "items": {{"type": "integer", "minimum": 0}}}},
  "node": {{"type": "object", "oneOf": [
{}
  ]}}
 }}
}}
)",
                     json_version, json_version, number_of_node, fmt::join(nodes, ",\n"));
}

}  // namespace loopsmith
