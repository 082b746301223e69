// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <unordered_map>

#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/json.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/support/json.h"
#include "loopsmith/support/source.h"

namespace loopsmith {
namespace {

class Writer {
 public:
  explicit Writer(const JsonOptions& options) : options_(options) {}

  std::string write(const Ref& root) {
    add(root);
    std::string text = fmt::format(R"({{"format": "loopsmith", "version": {},)", json_version);
    text += "\n\"sources\": [" + sources_ + "],\n\"nodes\": [\n" + nodes_ + "],\n";
    return text + fmt::format("\"root\": {}}}\n", numbers_.at(root.get()));
  }

 private:
  /// Writes what is inside `ref`, then itself, unless that is done.
  void add(const Ref& ref) {
    if (numbers_.contains(ref.get())) return;
    deep_call([&] {
      for_each_child(*ref.get(), [&](const Ref& child, Role) { add(child); });
      write_node(*ref.get());
    });
  }

  void write_node(const Object& node) {
    if (!numbers_.empty()) nodes_ += ",\n";
    nodes_ += "{\"type\": ";
    append_json(nodes_, node_info(node).name);
    for (const FieldInfo& field : node_info(node).fields) write_field(field, node);
    if (options_.spans) write_span(node.span);
    nodes_ += '}';
    numbers_.emplace(&node, numbers_.size());
  }

  void write_field(const FieldInfo& field, const Object& node) {
    switch (field.type) {
      case FieldType::ref:
        if (!field.ref(node).defined()) return;
        start(field);
        return write_number(field.ref(node));
      case FieldType::refs:
        return write_list(field, field.refs(node), [&](const Ref& ref) { write_number(ref); });
      case FieldType::attrs: return write_attrs(field, field.at<Attrs>(node));
      case FieldType::integer: start(field); return write_integer(node, field);
      case FieldType::integers:
        return write_list(field, field.at<std::vector<std::int64_t>>(node),
                          [&](std::int64_t value) { nodes_ += std::to_string(value); });
      case FieldType::real: start(field); return append_json(nodes_, field.at<double>(node));
      case FieldType::boolean:
        if (!field.at<bool>(node)) return;
        start(field);
        nodes_ += "true";
        return;
      case FieldType::text:
        if (!field.at<std::string>(node).empty()) write_text(field, field.at<std::string>(node));
        return;
      case FieldType::enumeration:
        return write_text(field,
                          field.names[static_cast<std::size_t>(field.at<std::int32_t>(node))]);
      case FieldType::data_type:
        if (field.at<DataType>(node) == DataType{}) return;
        return write_text(field, to_string(field.at<DataType>(node)));
      case FieldType::op: return write_text(field, field.at<Op>(node).name());
    }
  }

  void start(const FieldInfo& field) {
    nodes_ += ", \"";
    nodes_ += field.name;
    nodes_ += "\": ";
  }

  void write_text(const FieldInfo& field, std::string_view text) {
    start(field);
    append_json(nodes_, text);
  }

  void write_number(const Ref& ref) {
    nodes_ += ref.defined() ? std::to_string(numbers_.at(ref.get())) : "null";
  }

  /// The bits of a uint64 constant are those of an int64; its text is its value.
  void write_integer(const Object& node, const FieldInfo& field) {
    const auto value = field.at<std::int64_t>(node);
    const bool is_uint64 =
        node.kind == kind_of<IntImm> && static_cast<const IntImm&>(node).dtype == u64;
    nodes_ += is_uint64 ? std::to_string(static_cast<std::uint64_t>(value)) : std::to_string(value);
  }

  template <class List, class Item>
  void write_list(const FieldInfo& field, const List& list, Item item) {
    if (list.empty()) return;
    start(field);
    std::string_view comma = "[";
    for (const auto& value : list) {
      nodes_ += std::exchange(comma, ", ");
      item(value);
    }
    nodes_ += ']';
  }

  void write_attrs(const FieldInfo& field, const Attrs& attrs) {
    if (attrs.empty()) return;
    start(field);
    std::string_view comma = "{";
    for (const auto& [key, value] : attrs) {
      nodes_ += std::exchange(comma, ", ");
      append_json(nodes_, key);
      nodes_ += ": ";
      write_number(value);
    }
    nodes_ += '}';
  }

  void write_span(const Span& span) {
    const std::uint32_t parts[] = {source_number(span.source), span.line, span.column, span.length,
                                   span.step};
    std::size_t count = std::size(parts);
    while (count > 0 && parts[count - 1] == 0) --count;
    if (count == 0) return;
    nodes_ += R"(, "span": [)";
    for (std::size_t i = 0; i < count; ++i) {
      fmt::format_to(std::back_inserter(nodes_), "{}{}", i ? ", " : "", parts[i]);
    }
    nodes_ += ']';
  }

  std::uint32_t source_number(std::uint32_t id) {
    if (id == 0) return 0;
    if (const auto known = source_numbers_.find(id); known != source_numbers_.end()) {
      return known->second;
    }
    // Before its own number is taken.
    const std::string block = source_block(id);
    const std::uint32_t whole = block.empty() ? 0 : source_number(whole_source(id));
    const auto number = static_cast<std::uint32_t>(source_numbers_.size()) + 1;
    source_numbers_.emplace(id, number);
    sources_ += number == 1 ? "{\"name\": " : ",\n{\"name\": ";
    append_json(sources_, whole ? block : source_name(id));
    if (whole) {
      sources_ += fmt::format(", \"whole\": {}", whole);
    } else if (const std::string text = source_text(id); !text.empty()) {
      sources_ += ", \"text\": ";
      append_json(sources_, text);
    }
    sources_ += '}';
    return number;
  }

  JsonOptions options_;
  std::string nodes_;
  std::string sources_;
  std::unordered_map<const Object*, std::size_t> numbers_;
  std::unordered_map<std::uint32_t, std::uint32_t> source_numbers_;
};

}  // namespace

std::string to_json(const Ref& root, const JsonOptions& options) {
  require(root.defined(), ErrorKind::type_mismatch, "field_is_missing", hint("pass a node"), {},
          "to_json: there is no node");
  return Writer(options).write(root);
}

}  // namespace loopsmith
