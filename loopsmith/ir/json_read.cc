// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>

#include "loopsmith/ir/expr.h"
#include "loopsmith/ir/find_data_type.h"
#include "loopsmith/ir/json.h"
#include "loopsmith/ir/stmt.h"
#include "loopsmith/support/error.h"
#include "loopsmith/support/json.h"
#include "loopsmith/support/source.h"

namespace loopsmith {
namespace {

/// The only member of `attrs`: `with` copies all items, so that many would take their square.
std::vector<std::pair<std::string, Ref>>& items_of(Attrs& attrs) {
  using Items = std::vector<std::pair<std::string, Ref>>;
  static_assert(std::is_standard_layout_v<Attrs> && sizeof(Attrs) == sizeof(Items));
  return reinterpret_cast<Items&>(attrs);
}

bool fits(const Ref& ref, std::string_view target) {
  if (target == "Ref") return true;
  if (target == "Expr") return Expr::from(ref).defined();
  if (target == "Stmt") return Stmt::from(ref).defined();
  return node_info(*ref.get()).name == target;
}

/// Reads a document whose text was JSON.
class Reader {
 public:
  Reader(const JsonValue& document, int newest, std::span<const detail::JsonRename> renames)
      : document_(document), newest_(newest), renames_(renames) {}

  Ref read() {
    read_version();
    read_sources();
    const auto* nodes = member("nodes").as<JsonValue::List>();
    require_here(nodes, "json_has_parts", "is no list");
    nodes_.reserve(nodes->size());
    for (const JsonValue& node : *nodes) {
      place_ = fmt::format("/nodes/{}", nodes_.size());
      nodes_.push_back(read_node(node));
    }
    place_ = "/root";
    return reference(member("root"), "Ref");
  }

 private:
  template <class... Args>
  void require_here(bool ok, std::string_view code, fmt::format_string<Args...> format,
                    Args&&... args) {
    if (ok) [[likely]]
      return;
    fail(ErrorKind::format, code, hint("pass the text as `to_json` wrote it"), {},
         "from_json: {}: {}", place_, fmt::vformat(format, fmt::make_format_args(args...)));
  }

  const JsonValue& member(std::string_view name) {
    place_ = fmt::format("/{}", name);
    const JsonValue* value = document_.find(name);
    require_here(value, "json_has_parts", "is missing");
    return *value;
  }

  void read_version() {
    const auto* format = member("format").as<std::string>();
    require_here(format && *format == "loopsmith", "json_is_of_loopsmith", "is not \"loopsmith\"");
    const auto* version = member("version").as<std::int64_t>();
    require_here(version && *version >= 1, "json_version_is_known", "is no version");
    if (*version > newest_) {
      fail(ErrorKind::format, "json_version_is_known", hint("read it with a newer release"), {},
           "from_json: /version: is {}, this release reads 1 to {}", *version, newest_);
    }
    version_ = *version;
  }

  void read_sources() {
    const auto* sources = member("sources").as<JsonValue::List>();
    require_here(sources, "json_has_parts", "is no list");
    for (const JsonValue& source : *sources) {
      place_ = fmt::format("/sources/{}", sources_.size());
      const JsonValue* name = source.find("name");
      const JsonValue* text = source.find("text");
      const auto name_text = name ? text_of_json(*name) : std::nullopt;
      const auto text_text = text ? text_of_json(*text) : std::string();
      require_here(name_text && text_text, "source_has_name", "is no source with a name");
      const JsonValue* whole = source.find("whole");
      if (!whole) {
        sources_.push_back(import_source(*name_text, *text_text));
        continue;
      }
      const auto* number = whole->as<std::int64_t>();
      const auto known = static_cast<std::int64_t>(sources_.size());
      require_here(number && *number >= 1 && *number <= known, "source_is_whole",
                   "is a block of no source before it");
      sources_.push_back(block_source(sources_[static_cast<std::size_t>(*number) - 1], *name_text));
    }
  }

  /// What is called `name` today, of this node or, with an empty `node`, of all nodes.
  std::string_view today(std::string_view node, std::string_view field, std::string_view name) {
    for (const detail::JsonRename& rename : renames_) {
      if (version_ <= rename.version && rename.node == node && rename.field == field) {
        return rename.now;
      }
    }
    return name;
  }

  Ref read_node(const JsonValue& json) {
    const auto* members = json.as<JsonValue::Object>();
    const JsonValue* type = json.find("type");
    const auto* type_name = type ? type->as<std::string>() : nullptr;
    require_here(members && type_name, "node_has_type", "is no object with a type");
    const NodeInfo* info = find_node_info(today(*type_name, "", *type_name));
    require_here(info, "node_is_known", "there is no node '{}'", *type_name);

    Object* node = info->create();
    const Ref holder(node);
    node->span = {};
    const std::string node_place = place_;
    for (const JsonMember& item : *members) {
      if (item.name == "type") continue;
      place_ = fmt::format("{}/{}", node_place, item.name);
      if (item.name == "span") {
        node->span = read_span(item.value);
        continue;
      }
      const std::string_view name = today(info->name, item.name, item.name);
      const auto field = std::ranges::find(info->fields, name, &FieldInfo::name);
      require_here(field != info->fields.end(), "field_is_known", "{} has no such field",
                   info->name);
      read_field(*node, *field, item.value);
    }
    place_ = node_place;
    // To join sequences of sequences could double their length at each level.
    if (const auto* sequence = holder.as<SeqStmt>()) {
      const bool nests = std::ranges::any_of(sequence->seq, &Stmt::is<SeqStmt>);
      require_here(!nests, "sequence_is_flat", "holds a SeqStmt itself");
    }
    canonicalize(*info, *node);
    return holder;
  }

  /// What the rules of the node refuse is refused here, with the place.
  void canonicalize(const NodeInfo& info, Object& node) {
    try {
      info.canonicalize(node);
    } catch (const UserError& e) {
      throw UserError(ErrorKind::format, e.code(),
                      fmt::format("from_json: {}: {}", place_, e.problem()), e.hint(), e.span());
    }
  }

  void read_field(Object& node, const FieldInfo& field, const JsonValue& json) {
    switch (field.type) {
      case FieldType::ref: field.ref(node) = reference(json, field.target); return;
      case FieldType::refs:
        return read_list(json, field.at<std::vector<Ref>>(node), [&](const JsonValue& item) {
          // A parameter that is no tensor has no buffer.
          return item.is_null() && field.role == Role::matches ? Ref()
                                                               : reference(item, field.target);
        });
      case FieldType::attrs: return read_attrs(json, field.at<Attrs>(node));
      case FieldType::integer: field.at<std::int64_t>(node) = integer(json, node.kind); return;
      case FieldType::integers:
        return read_list(json, field.at<std::vector<std::int64_t>>(node),
                         [&](const JsonValue& item) { return integer(item, node.kind); });
      case FieldType::real: {
        const auto value = real_of_json(json);
        require_here(value.has_value(), "field_has_type", "is no number");
        field.at<double>(node) = *value;
        return;
      }
      case FieldType::boolean: {
        const auto* value = json.as<bool>();
        require_here(value, "field_has_type", "is neither true nor false");
        field.at<bool>(node) = *value;
        return;
      }
      case FieldType::text: field.at<std::string>(node) = text(json); return;
      case FieldType::enumeration: {
        const auto found = std::ranges::find(field.names, text(json));
        require_here(found != field.names.end(), "field_has_type", "is not one of {}",
                     fmt::join(field.names, ", "));
        field.at<std::int32_t>(node) = static_cast<std::int32_t>(found - field.names.begin());
        return;
      }
      case FieldType::data_type: field.at<DataType>(node) = data_type(text(json)); return;
      case FieldType::op: {
        const std::string name = text(json);
        const OpInfo* info = find_op(name);
        require_here(info, "field_has_type", "there is no intrinsic '{}'", name);
        field.at<Op>(node) = op_of(info);
        return;
      }
    }
  }

  std::string text(const JsonValue& json) {
    auto text = text_of_json(json);
    require_here(text.has_value(), "field_has_type", "is no text");
    return *std::move(text);
  }

  DataType data_type(const std::string& text) {
    const auto type = find_data_type(text);
    require_here(type.has_value(), "field_has_type", "'{}' is not a data type", text);
    return *type;
  }

  /// A constant of type uint64 may be larger than an int64.
  std::int64_t integer(const JsonValue& json, std::uint16_t kind) {
    if (const auto* value = json.as<std::uint64_t>(); value && kind == kind_of<IntImm>) {
      return static_cast<std::int64_t>(*value);
    }
    const auto* value = json.as<std::int64_t>();
    require_here(value, "field_has_type", "is no integer of 64 bits");
    return *value;
  }

  Ref reference(const JsonValue& json, std::string_view target) {
    const auto* number = json.as<std::int64_t>();
    require_here(number && *number >= 0 && static_cast<std::uint64_t>(*number) < nodes_.size(),
                 "reference_points_back", "is not the number of a node before it");
    const Ref& ref = nodes_[static_cast<std::size_t>(*number)];
    require_here(fits(ref, target), "field_has_type", "node {} is a {}, expected {}", *number,
                 node_info(*ref.get()).name, target);
    return ref;
  }

  template <class List, class Item>
  void read_list(const JsonValue& json, List& list, Item read_item) {
    const auto* items = json.as<JsonValue::List>();
    require_here(items, "field_has_type", "is no list");
    const std::string list_place = place_;
    for (std::size_t i = 0; i < items->size(); ++i) {
      place_ = fmt::format("{}/{}", list_place, i);
      list.push_back(read_item((*items)[i]));
    }
  }

  void read_attrs(const JsonValue& json, Attrs& attrs) {
    const auto* members = json.as<JsonValue::Object>();
    require_here(members, "field_has_type", "is no object");
    const std::string attrs_place = place_;
    auto& items = items_of(attrs);
    for (const JsonMember& member : *members) {
      place_ = fmt::format("{}/{}", attrs_place, member.name);
      auto key = text_of_json(JsonValue{member.name});
      require_here(key.has_value(), "field_has_type", "its name is no text");
      items.emplace_back(*std::move(key), reference(member.value, "Ref"));
    }
    std::ranges::sort(items, {}, [](const auto& item) -> const std::string& { return item.first; });
  }

  Span read_span(const JsonValue& json) {
    const auto* items = json.as<JsonValue::List>();
    require_here(items && items->size() <= 5, "span_is_five_numbers",
                 "is no list of at most five numbers");
    constexpr std::int64_t large = std::numeric_limits<std::uint32_t>::max(), small = 0xFFFF;
    const std::int64_t most[] = {static_cast<std::int64_t>(sources_.size()), large, small, small,
                                 large};
    std::int64_t parts[5] = {};
    for (std::size_t i = 0; i < items->size(); ++i) {
      const auto* part = (*items)[i].as<std::int64_t>();
      require_here(part && *part >= 0 && *part <= most[i], "span_is_five_numbers",
                   "number {} is not in [0, {}]", i, most[i]);
      parts[i] = *part;
    }
    return {.source = parts[0] ? sources_[static_cast<std::size_t>(parts[0]) - 1] : 0,
            .line = static_cast<std::uint32_t>(parts[1]),
            .column = static_cast<std::uint16_t>(parts[2]),
            .length = static_cast<std::uint16_t>(parts[3]),
            .step = static_cast<std::uint32_t>(parts[4])};
  }

  const JsonValue& document_;
  const std::int64_t newest_;
  std::span<const detail::JsonRename> renames_;
  std::int64_t version_ = 0;
  std::vector<std::uint32_t> sources_;
  std::vector<Ref> nodes_;
  std::string place_;  ///< What is being read, as a JSON pointer.
};

}  // namespace

Ref detail::from_json(std::string_view text, int newest,
                      std::span<const detail::JsonRename> renames) {
  // The document is an object of lists of nodes, whose fields are lists or objects.
  constexpr int levels = 4;
  const JsonValue document = parse_json(text, "from_json", levels);
  return Reader(document, newest, renames).read();
}

Ref from_json(std::string_view text) {
  return detail::from_json(text, json_version, {});
}

}  // namespace loopsmith
