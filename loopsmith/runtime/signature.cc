// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/signature.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "loopsmith/support/error.h"

namespace loopsmith {

/// The specification, and the C structures that point into it.
struct Signature::Storage {
  SignatureSpec spec;
  std::deque<std::vector<ls_extent>> extents;  // never moves what it holds
  std::vector<ls_parameter> parameters;
  std::vector<const char*> symbols;
  std::vector<bool> is_bound;
  ls_signature c_view{};

  explicit Storage(SignatureSpec whole) : spec(std::move(whole)) {
    check_symbols();
    is_bound.resize(spec.symbols.size());
    for (const Symbol& symbol : spec.symbols) symbols.push_back(symbol.name.c_str());
    for (const ParameterSpec& parameter : spec.parameters) {
      parameters.push_back(lay_out(parameter));
    }
    c_view = {.name = spec.name.c_str(),
              .parameters = parameters.data(),
              .symbols = symbols.data(),
              .num_parameters = static_cast<std::int32_t>(parameters.size()),
              .num_symbols = static_cast<std::int32_t>(symbols.size()),
              .device = spec.device,
              .noalias = spec.noalias};
  }

 private:
  void check_symbols() const {
    require(spec.symbols.size() <= LS_MAX_SYMBOLS, "symbol_count",
            hint("make some of its sizes constant"), "{}: has {} symbolic sizes, more than {}",
            spec.name, spec.symbols.size(), LS_MAX_SYMBOLS);
  }

  ls_parameter lay_out(const ParameterSpec& parameter) {
    require(parameter.kind != LS_TENSOR ||
                (parameter.alignment > 0 &&
                 std::has_single_bit(static_cast<std::uint64_t>(parameter.alignment))),
            "alignment_is_power_of_two", hint("use 1, 2, 4, ..., 64"),
            "{}: the alignment of {} is {}, not a power of two", spec.name, parameter.name,
            parameter.alignment);
    require(!parameter.strides || parameter.strides->size() == parameter.shape.size(),
            "stride_count", hint("give one stride for each dimension"),
            "{}: {} has {} dimensions and {} strides", spec.name, parameter.name,
            parameter.shape.size(), parameter.strides ? parameter.strides->size() : 0);
    ls_parameter result = {.name = parameter.name.c_str(),
                           .kind = parameter.kind,
                           .dtype = parameter.dtype,
                           .rank = static_cast<std::int32_t>(parameter.shape.size()),
                           .writable = parameter.writable,
                           .alignment = parameter.alignment,
                           .shape = nullptr,
                           .strides = nullptr};
    if (parameter.kind == LS_TENSOR) {
      result.shape = lay_out_rules(parameter, parameter.shape);
      if (parameter.strides) result.strides = lay_out_rules(parameter, *parameter.strides);
    } else if (!parameter.symbol.empty()) {
      result.shape = lay_out_rules(parameter, {ExtentRule::named(parameter.symbol)});
    }
    return result;
  }

  const ls_extent* lay_out_rules(const ParameterSpec& parameter,
                                 const std::vector<ExtentRule>& rules) {
    std::vector<ls_extent>& result = extents.emplace_back();
    for (const ExtentRule& rule : rules) result.push_back(lay_out_rule(parameter, rule));
    return result.data();
  }

  ls_extent lay_out_rule(const ParameterSpec& parameter, const ExtentRule& rule) {
    if (rule.kind == ExtentRule::Kind::constant) return {rule.constant, LS_CONSTANT, 0};
    if (rule.kind == ExtentRule::Kind::computed) return {0, LS_COMPUTED, 0};
    const auto known = std::find_if(spec.symbols.begin(), spec.symbols.end(),
                                    [&](const Symbol& s) { return s.name == rule.symbol; });
    require(known != spec.symbols.end(), "symbol_is_declared",
            hint("list it among the signature's symbols"), "{}: {} uses the unknown symbol {}",
            spec.name, parameter.name, rule.symbol);
    const auto index = known - spec.symbols.begin();
    const bool is_first = !is_bound[static_cast<std::size_t>(index)];
    is_bound[static_cast<std::size_t>(index)] = true;
    return {known->most, is_first ? LS_BIND : LS_MATCH, static_cast<std::int32_t>(index)};
  }
};

Signature::Signature(SignatureSpec spec)
    : storage_(std::make_shared<const Storage>(std::move(spec))), c_view_(&storage_->c_view) {}

const SignatureSpec& Signature::spec() const {
  return storage_->spec;
}

}  // namespace loopsmith
