// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/driver/metadata.h"

#include <fmt/format.h>

#include "loopsmith/support/error.h"
#include "loopsmith/support/json.h"
#include "loopsmith/transform/outputs.h"

namespace loopsmith {
namespace {

constexpr int metadata_version = 1;

std::string json_text(std::string_view text) {
  std::string out;
  append_json(out, text);
  return out;
}

std::string size_text(const LinearSize& size) {
  std::string terms;
  for (const auto& [symbol, coefficient] : size.terms) {
    terms += fmt::format("{}[{}, {}]", terms.empty() ? "" : ", ", json_text(symbol), coefficient);
  }
  return fmt::format(R"({{"terms": [{}], "constant": {}, "divisor": {}}})", terms, size.constant,
                     size.divisor);
}

/// A number, the name of a symbol, or what is known of a size that the code itself checks: a linear
/// one, or null.
std::string rule_text(const ExtentRule& rule) {
  switch (rule.kind) {
    case ExtentRule::Kind::constant: return std::to_string(rule.constant);
    case ExtentRule::Kind::symbol: return json_text(rule.symbol);
    case ExtentRule::Kind::computed: break;
  }
  return rule.size ? size_text(*rule.size) : "null";
}

std::string list_text(const std::vector<ExtentRule>& rules) {
  std::string text = "[";
  for (const ExtentRule& rule : rules) text += (text.size() > 1 ? ", " : "") + rule_text(rule);
  return text + "]";
}

std::string parameter_text(const ParameterSpec& p) {
  std::string text =
      fmt::format(R"({{"name": {}, "kind": {}, "dtype": [{}, {}, {}])", json_text(p.name),
                  static_cast<int>(p.kind), p.dtype.code, p.dtype.bits, p.dtype.lanes);
  if (p.kind == LS_TENSOR) {
    text += fmt::format(R"(, "shape": {}, "alignment": {}, "writable": {})", list_text(p.shape),
                        p.alignment, p.writable);
    if (p.is_output) text += R"(, "is_output": true)";
    if (p.strides) text += fmt::format(R"(, "strides": {})", list_text(*p.strides));
  }
  if (!p.symbol.empty()) text += R"(, "symbol": )" + json_text(p.symbol);
  return text + "}";
}

std::string function_text(const SignatureSpec& spec, std::string_view trace) {
  std::string parameters, symbols;
  for (const ParameterSpec& p : spec.parameters) {
    parameters += (parameters.empty() ? "" : ", ") + parameter_text(p);
  }
  for (const Symbol& symbol : spec.symbols) {
    symbols +=
        fmt::format("{}[{}, {}]", symbols.empty() ? "" : ", ", json_text(symbol.name), symbol.most);
  }
  return fmt::format(
      R"({{"name": {}, "parameters": [{}], "symbols": [{}], "device": [{}, {}], "noalias": {}{}{}}})",
      json_text(spec.name), parameters, symbols, static_cast<int>(spec.device.device_type),
      spec.device.device_id, spec.noalias, spec.calls_host ? R"(, "calls_host": true)" : "",
      trace.empty() ? "" : R"(, "trace": )" + json_text(trace));
}

template <class T>
const T& get(const JsonValue& json, std::string_view name) {
  const JsonValue* member = json.find(name);
  const T* value = member ? member->as<T>() : nullptr;
  require(value, ErrorKind::format, "metadata_is_whole", hint("export the module again"), {},
          "metadata: '{}' is missing or of another type", name);
  return *value;
}

std::int64_t number(const JsonValue::List& list, std::size_t i) {
  const auto* value = i < list.size() ? list[i].as<std::int64_t>() : nullptr;
  require(value, ErrorKind::format, "metadata_is_whole", hint("export the module again"), {},
          "metadata: a number is missing");
  return *value;
}

LinearSize size_of(const JsonValue& json) {
  LinearSize size{.terms = {},
                  .constant = get<std::int64_t>(json, "constant"),
                  .divisor = get<std::int64_t>(json, "divisor")};
  for (const JsonValue& item : get<JsonValue::List>(json, "terms")) {
    const auto* term = item.as<JsonValue::List>();
    const auto* symbol = term && term->size() == 2 ? (*term)[0].as<std::string>() : nullptr;
    const auto* coefficient = symbol ? (*term)[1].as<std::int64_t>() : nullptr;
    require(coefficient, ErrorKind::format, "metadata_is_whole", hint("export the module again"),
            {}, "metadata: a size is not written as it should be");
    size.terms.emplace_back(*symbol, *coefficient);
  }
  return size;
}

std::vector<ExtentRule> rules_of(const JsonValue::List& list) {
  std::vector<ExtentRule> rules;
  for (const JsonValue& item : list) {
    if (const auto* value = item.as<std::int64_t>()) {
      rules.push_back(ExtentRule::equals(*value));
    } else if (const auto* name = item.as<std::string>()) {
      rules.push_back(ExtentRule::named(*name));
    } else if (item.as<JsonValue::Object>()) {
      rules.push_back(ExtentRule::computed(size_of(item)));
    } else {
      rules.push_back(ExtentRule::computed());
    }
  }
  return rules;
}

ParameterSpec parameter_of(const JsonValue& json) {
  const auto& dtype = get<JsonValue::List>(json, "dtype");
  ParameterSpec p{.name = get<std::string>(json, "name"),
                  .kind = static_cast<ls_kind>(get<std::int64_t>(json, "kind")),
                  .dtype = {static_cast<std::uint8_t>(number(dtype, 0)),
                            static_cast<std::uint8_t>(number(dtype, 1)),
                            static_cast<std::uint16_t>(number(dtype, 2))}};
  if (p.kind == LS_TENSOR) {
    p.shape = rules_of(get<JsonValue::List>(json, "shape"));
    p.alignment = get<std::int64_t>(json, "alignment");
    p.writable = get<bool>(json, "writable");
    p.is_output = json.find("is_output") && get<bool>(json, "is_output");
    if (json.find("strides")) p.strides = rules_of(get<JsonValue::List>(json, "strides"));
  }
  if (json.find("symbol")) p.symbol = get<std::string>(json, "symbol");
  return p;
}

Signature function_of(const JsonValue& json) {
  SignatureSpec spec{.name = get<std::string>(json, "name"), .noalias = get<bool>(json, "noalias")};
  for (const JsonValue& p : get<JsonValue::List>(json, "parameters")) {
    spec.parameters.push_back(parameter_of(p));
  }
  for (const JsonValue& item : get<JsonValue::List>(json, "symbols")) {
    const auto* pair = item.as<JsonValue::List>();
    const auto* name = pair && !pair->empty() ? (*pair)[0].as<std::string>() : nullptr;
    require(name, ErrorKind::format, "metadata_is_whole", hint("export the module again"), {},
            "metadata: a symbol has no name");
    spec.symbols.push_back({*name, number(*pair, 1)});
  }
  const auto& device = get<JsonValue::List>(json, "device");
  spec.device = {static_cast<DLDeviceType>(number(device, 0)),
                 static_cast<std::int32_t>(number(device, 1))};
  spec.calls_host = json.find("calls_host") && get<bool>(json, "calls_host");
  return Signature(std::move(spec));
}

}  // namespace

Ptr<PrimFunc> without_notes(const Ptr<PrimFunc>& func) {
  Ptr<PrimFunc> plain = func;
  for (const std::string_view key : {trace_attribute, outputs_attribute}) {
    if (plain->attrs.contains(key)) plain = with_attr(plain, key, nullptr);
  }
  return plain;
}

std::string metadata_text(const Metadata& metadata) {
  std::string functions;
  for (std::size_t i = 0; i < metadata.functions.size(); ++i) {
    const std::string trace = i < metadata.traces.size() ? metadata.traces[i] : std::string();
    functions += (i == 0 ? "" : ",\n") + function_text(metadata.functions[i].spec(), trace);
  }
  return fmt::format(
      "{{\"format\": \"loopsmith module\", \"version\": {}, \"release\": {}, \"target\": {},\n"
      "\"functions\": [\n{}]}}\n",
      metadata_version, json_text(metadata.release), json_text(metadata.target), functions);
}

Metadata parse_metadata(std::string_view text) {
  const JsonValue json = parse_json(text, "metadata", /*max_depth=*/9);
  require(get<std::string>(json, "format") == "loopsmith module", ErrorKind::format,
          "metadata_is_whole", hint("pass a file that `export` wrote"), {},
          "metadata: the format is not 'loopsmith module'");
  const std::int64_t version = get<std::int64_t>(json, "version");
  require(version >= 1 && version <= metadata_version, ErrorKind::format,
          "metadata_version_is_known", hint("load it with a newer release"), {},
          "metadata: version {} is not known, only 1 to {}", version, metadata_version);
  Metadata metadata{.target = get<std::string>(json, "target"),
                    .release = get<std::string>(json, "release")};
  for (const JsonValue& function : get<JsonValue::List>(json, "functions")) {
    metadata.functions.push_back(function_of(function));
    const bool has_trace = function.find("trace") != nullptr;
    metadata.traces.push_back(has_trace ? get<std::string>(function, "trace") : "");
  }
  return metadata;
}

}  // namespace loopsmith
