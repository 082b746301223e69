// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/source/c_export.h"

#include <fmt/format.h>

#include <algorithm>

#include "loopsmith/codegen/entry_symbol.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/runtime/kernel/sources.h"

namespace loopsmith {
namespace {

using detail::c_string;

/// `DLTensor* A`; numbers travel as int64_t and double.
std::string_view c_parameter_type(const ls_parameter& parameter) {
  switch (parameter.kind) {
    case LS_TENSOR: return "DLTensor*";
    case LS_FLOAT: return "double";
    case LS_HANDLE: return "void*";
    default: return "int64_t";
  }
}

std::string prototype(const ls_signature& signature) {
  std::string text = fmt::format("int32_t {}(ls_context* context", signature.name);
  for (int i = 0; i < signature.num_parameters; ++i) {
    // Names of parameters are numbered: a name of ours may be a word of C.
    text += fmt::format(", {} arg{}_{}", c_parameter_type(signature.parameters[i]), i,
                        detail::c_identifier(signature.parameters[i].name));
  }
  return text + ")";
}

std::string describe(const ParameterSpec& parameter) {
  if (parameter.kind != LS_TENSOR) return parameter.name + ": a number";
  std::string shape;
  for (const ExtentRule& rule : parameter.shape) {
    if (!shape.empty()) shape += ", ";
    shape += rule.kind == ExtentRule::Kind::constant ? std::to_string(rule.constant)
             : rule.kind == ExtentRule::Kind::symbol ? rule.symbol
                                                     : "...";
  }
  return fmt::format("{}: {} ({}){}", parameter.name, to_string(parameter.dtype), shape,
                     parameter.writable ? ", written" : "");
}

std::string extents(const std::string& name, const ls_extent* rules, int count) {
  std::string text = fmt::format("static const ls_extent {}[] = {{", name);
  for (int i = 0; i < count; ++i) {
    text += fmt::format("{}{{{}, {}, {}}}", i ? ", " : "", detail::c_constant(i64, rules[i].value),
                        rules[i].rule, rules[i].symbol);
  }
  return text + "};\n";
}

/// The tables of one function's signature.
std::string signature_tables(const ls_signature& signature) {
  const std::string name = signature.name;
  std::string text, rows;
  for (int i = 0; i < signature.num_parameters; ++i) {
    const ls_parameter& p = signature.parameters[i];
    const std::string shape = fmt::format("{}_shape_{}", name, i);
    const std::string strides = fmt::format("{}_strides_{}", name, i);
    const int rank = p.kind == LS_TENSOR ? p.rank : 1;
    const bool has_shape = p.shape && rank > 0, has_strides = p.strides && rank > 0;
    if (has_shape) text += extents(shape, p.shape, rank);
    if (has_strides) text += extents(strides, p.strides, rank);
    rows += fmt::format("  {{{}, {}, {{{}, {}, {}}}, {}, {}, {}, {}, {}}},\n", c_string(p.name),
                        p.kind, p.dtype.code, p.dtype.bits, p.dtype.lanes, p.rank, p.writable,
                        p.alignment, has_shape ? shape : "NULL", has_strides ? strides : "NULL");
  }
  if (!rows.empty()) {
    text += fmt::format("static const ls_parameter {}_parameters[] = {{\n{}}};\n", name, rows);
  }
  if (signature.num_symbols > 0) {
    text += fmt::format("static const char* const {}_symbols[] = {{", name);
    for (int i = 0; i < signature.num_symbols; ++i) {
      text += (i ? ", " : "") + c_string(signature.symbols[i]);
    }
    text += "};\n";
  }
  return text + fmt::format(
                    "static const ls_signature {0}_signature = {{{1}, {2}, {3}, {4}, {5}, "
                    "{{(DLDeviceType){6}, {7}}}, {8}}};\n\n",
                    name, c_string(name), rows.empty() ? "NULL" : name + "_parameters",
                    signature.num_symbols > 0 ? name + "_symbols" : "NULL",
                    signature.num_parameters, signature.num_symbols,
                    static_cast<int>(signature.device.device_type), signature.device.device_id,
                    signature.noalias);
}

std::string wrapper(const ls_signature& signature) {
  std::string text = fmt::format("{} {{\n  ls_argument arguments[{}];\n", prototype(signature),
                                 std::max(signature.num_parameters, 1));
  for (int i = 0; i < signature.num_parameters; ++i) {
    const ls_parameter& p = signature.parameters[i];
    const char* field = p.kind == LS_TENSOR   ? "as_tensor"
                        : p.kind == LS_FLOAT  ? "as_float"
                        : p.kind == LS_HANDLE ? "as_handle"
                                              : "as_int";
    text += fmt::format(
        "  arguments[{0}].value.{1} = arg{0}_{2};\n  arguments[{0}].kind = {3};\n"
        "  arguments[{0}].read_only = 0;\n",
        i, field, detail::c_identifier(p.name), p.kind);
  }
  return text +
         fmt::format(
             "  if (!context) context = ls_default_context();\n"
             "  ls_error error;\n"
             "  if (ls_check_arguments(&{0}_signature, arguments, {1}, &error) != LS_OK) {{\n"
             "    return context->fail(context, &error);\n  }}\n"
             "  return {2}(context, arguments);\n}}\n\n",
             signature.name, signature.num_parameters, entry_symbol(signature.name));
}

}  // namespace

std::string c_header(const std::vector<Signature>& signatures) {
  std::string text = kernel_header();
  text += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  for (const Signature& signature : signatures) {
    for (const ParameterSpec& parameter : signature.spec().parameters) {
      text += "/* " + describe(parameter) + " */\n";
    }
    text += prototype(signature.c_view()) + ";\n\n";
  }
  return text + "#ifdef __cplusplus\n}\n#endif\n";
}

std::string c_wrappers(const std::vector<Signature>& signatures, std::string_view metadata) {
  std::string text = fmt::format(
      "extern const char ls_metadata[];\n"
      "__attribute__((weak)) const char ls_metadata[] = {};\n\n",
      c_string(metadata));
  for (const Signature& signature : signatures) {
    text += signature_tables(signature.c_view());
    text += prototype(signature.c_view()) + ";\n" + wrapper(signature.c_view());
  }
  return text;
}

}  // namespace loopsmith
