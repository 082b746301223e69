// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/error_text.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "loopsmith/runtime/dtype.h"

namespace loopsmith {
namespace {

using Number = long long;

/// Formatted as printf does: exported kernels contain this code, and concatenation of strings takes
/// five times as much.
[[gnu::format(printf, 1, 2)]] std::string text(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  char buffer[512];
  std::vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  return buffer;
}

template <class Pod>
std::string text_of_bytes(std::int64_t bytes) {
  Pod pod;
  std::memcpy(&pod, &bytes, sizeof pod);
  return to_string(pod);
}

const char* kind_text(std::int64_t kind) {
  switch (kind) {
    case LS_TENSOR: return "a tensor";
    case LS_INT: return "an integer";
    case LS_FLOAT: return "a floating-point number";
    case LS_BOOL: return "a truth value";
    case LS_HANDLE: return "a handle";
    case LS_UINT: return "an unsigned integer";
    case LS_TEXT: return "a text";
    default: return "of an unknown kind";
  }
}

/// ` (A, B, n)`
std::string parameter_list(const ls_signature& signature) {
  std::string list;
  for (int i = 0; i < signature.num_parameters; ++i) {
    list.append(i == 0 ? " (" : ", ").append(signature.parameters[i].name);
  }
  return list.empty() ? list : list.append(")");
}

/// Whether one of `count` rules gives a symbol its value; then `where` says which.
bool binds(const ls_extent* rules, int count, int symbol, int& where) {
  for (where = 0; rules && where < count; ++where) {
    if (rules[where].rule == LS_BIND && rules[where].symbol == symbol) return true;
  }
  return false;
}

/// Where a symbol first occurs, which gave it its value: `A.shape[1]`.
std::string binder_of(const ls_signature& signature, int symbol) {
  for (int i = 0; i < signature.num_parameters; ++i) {
    const ls_parameter& parameter = signature.parameters[i];
    int where = 0;
    if (parameter.kind != LS_TENSOR) {
      if (binds(parameter.shape, 1, symbol, where)) return parameter.name;
      continue;
    }
    if (binds(parameter.shape, parameter.rank, symbol, where)) {
      return text("%s.shape[%d]", parameter.name, where);
    }
    if (binds(parameter.strides, parameter.rank, symbol, where)) {
      return text("%s.strides[%d]", parameter.name, where);
    }
  }
  return "another argument";
}

/// `8`, or for a symbol `n = 8, which A.shape[1] gave`.
std::string expected_extent(const ls_signature& signature, const ls_extent& rule,
                            std::int64_t expected) {
  if (rule.rule != LS_MATCH) return text("%lld", Number{expected});
  return text("%s = %lld, which %s gave", signature.symbols[rule.symbol], Number{expected},
              binder_of(signature, rule.symbol).c_str());
}

ErrorText describe_extent(const ls_error& error, const ls_signature& signature) {
  const ls_parameter& parameter = signature.parameters[error.parameter];
  const Number actual = error.actual;
  const Number expected = error.expected;
  std::string subject = parameter.name;
  int dimension = 0;
  if (error.dimension >= 0) {
    const char* field = error.code == LS_STRIDES ? "strides" : "shape";
    dimension = error.dimension;
    subject = text("%s.%s[%d]", parameter.name, field, dimension);
  } else if (parameter.kind == LS_TENSOR) {
    return {"extent_range", text("%s spans more bytes than 63 bits count", parameter.name),
            "pass a smaller array"};
  }
  if (error.code == LS_STRIDES && !parameter.strides) {
    return {"strides",
            text("%s is %lld, not %lld: the array is not compact (row-major without gaps)",
                 subject.c_str(), actual, expected),
            "pass a contiguous copy"};
  }
  const ls_extent& rule =
      (error.code == LS_STRIDES ? parameter.strides : parameter.shape)[dimension];
  const char* code = error.code == LS_STRIDES ? "strides"
                     : error.code == LS_SHAPE ? "shape"
                                              : "extent_range";
  if (error.code == LS_EXTENT_RANGE && actual < 0 && parameter.kind == LS_TENSOR) {
    return {code, text("%s is %lld, negative", subject.c_str(), actual), "pass sizes of 0 or more"};
  }
  if (rule.rule == LS_BIND) {
    return {
        code,
        text("%s is %lld, beyond %lld, the limit of its type", subject.c_str(), actual, expected),
        "build the function with 64-bit sizes"};
  }
  return {code,
          text("%s is %lld, not %s", subject.c_str(), actual,
               expected_extent(signature, rule, expected).c_str()),
          "pass arguments whose sizes agree"};
}

ErrorText describe_argument(const ls_error& error, const ls_signature& signature) {
  const ls_parameter& parameter = signature.parameters[error.parameter];
  const char* name = parameter.name;
  const Number actual = error.actual;
  const Number expected = error.expected;
  switch (error.code) {
    case LS_ARGUMENT_KIND:
      return {"argument_kind",
              text("%s is %s, not %s", name, kind_text(actual), kind_text(expected)),
              text("pass %s", parameter.kind == LS_TENSOR ? "an array" : kind_text(expected))};
    case LS_DTYPE: {
      const std::string own = text_of_bytes<DLDataType>(actual);
      return {"dtype",
              text("%s has dtype %s, not %s", name, own.c_str(),
                   text_of_bytes<DLDataType>(expected).c_str()),
              text("convert the array, or build the function for %s", own.c_str())};
    }
    case LS_RANK:
      return {"rank", text("%s has %lld dimensions, not %lld", name, actual, expected),
              "reshape the array to the dimensions of the parameter"};
    case LS_SHAPE:
    case LS_EXTENT_RANGE:
    case LS_STRIDES: return describe_extent(error, signature);
    case LS_ALIGNMENT:
      return {"alignment",
              text("the data of %s starts at 0x%llx, not at a multiple of %lld bytes", name,
                   static_cast<unsigned long long>(actual), expected),
              "allocate it aligned, as NDArray does, or build the function for a lower alignment"};
    case LS_DEVICE: {
      const std::string device = text_of_bytes<DLDevice>(expected);
      return {"device",
              text("%s is on %s, not on %s", name, text_of_bytes<DLDevice>(actual).c_str(),
                   device.c_str()),
              text("copy it to %s", device.c_str())};
    }
    case LS_NULL_TENSOR:
      return {"null_tensor", text("%s is a null pointer", name), "pass a tensor"};
    case LS_NULL_DATA:
      return {"null_data",
              text("%s has %lld elements, but its data is a null pointer", name, actual),
              "allocate the data"};
    case LS_READ_ONLY:
      return {"read_only", text("%s is written by the function, but the array is read-only", name),
              "pass a writable array"};
    case LS_ALIAS:
      return {"alias",
              text("%s is written and overlaps %s in memory", name,
                   signature.parameters[expected].name),
              "pass a copy of one of them, or build the function with noalias off"};
    case LS_SCALAR_RANGE:
      return {
          "scalar_range",
          text("%s is %lld, which %s cannot hold", name, actual,
               parameter.kind == LS_BOOL ? "bool" : text_of_bytes<DLDataType>(expected).c_str()),
          "pass a value of that type, or build the function for a wider one"};
    default: return {"argument", text("%s was refused", name), ""};
  }
}

ErrorText describe_without_function(const ls_error& error) {
  switch (error.code) {
    case LS_OK: return {"ok", "no error", ""};
    case LS_ARGUMENT_COUNT:
      return {"argument_count",
              text("takes %lld arguments%s, not %lld", Number{error.expected},
                   error.signature ? parameter_list(*error.signature).c_str() : "",
                   Number{error.actual}),
              "pass one for each parameter, outputs too"};
    case LS_ASSERTION:
      return {"assertion", error.message ? error.message : "an assertion failed", ""};
    case LS_OUT_OF_MEMORY:
      return {"out_of_memory",
              text("no memory for %lld bytes of workspace", Number{error.expected}),
              "free memory, or tile the computation"};
    case LS_EXCEPTION:
      return {"exception", "a function of the host threw an exception in a parallel loop",
              "catch it there"};
    case LS_HOST_FUNCTION:
      if (error.actual == LS_HOST_FUNCTION) {
        return {"function_is_given",
                text("calls '%s', a function of the host that was not given", error.message),
                "set call_host of the context, or of the module's options"};
      }
      return {"host_function",
              text("'%s', a function of the host, failed with status %lld", error.message,
                   Number{error.actual}),
              "see what the function reports"};
    default: break;
  }
  const bool names_argument =
      error.signature && error.parameter >= 0 && error.parameter < error.signature->num_parameters;
  if (names_argument) return describe_argument(error, *error.signature);
  return {"status", text("failed with status %d", error.code), ""};
}

}  // namespace

ErrorText describe(const ls_error& error) {
  ErrorText result = describe_without_function(error);
  if (error.signature) result.problem.insert(0, ": ").insert(0, error.signature->name);
  return result;
}

}  // namespace loopsmith

int ls_error_text(const ls_error* error, char* text, std::size_t size) {
  try {
    const loopsmith::ErrorText words = loopsmith::describe(*error);
    return words.hint.empty() ? std::snprintf(text, size, "%s", words.problem.c_str())
                              : std::snprintf(text, size, "%s\n  hint: %s", words.problem.c_str(),
                                              words.hint.c_str());
  } catch (...) {
    return std::snprintf(text, size, "out of memory");
  }
}
