// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/error_text.h"

#include <cstdio>
#include <cstring>

#include "loopsmith/runtime/dtype.h"

namespace loopsmith {
namespace {

std::string text(std::int64_t number) {
  return std::to_string(number);
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
  }
  return "of an unknown kind";
}

/// ` (A, B, n)`
std::string parameter_list(const ls_signature& signature) {
  std::string list;
  for (int i = 0; i < signature.num_parameters; ++i) {
    list += (i == 0 ? " (" : ", ") + std::string(signature.parameters[i].name);
  }
  return list.empty() ? list : list + ")";
}

/// Where a symbol first occurs, which gave it its value: `A.shape[1]`.
std::string binder_of(const ls_signature& signature, int symbol) {
  for (int i = 0; i < signature.num_parameters; ++i) {
    const ls_parameter& parameter = signature.parameters[i];
    const auto find = [&](const ls_extent* rules, int count, const std::string& field) {
      for (int j = 0; rules && j < count; ++j) {
        if (rules[j].rule != LS_BIND || rules[j].symbol != symbol) continue;
        return field.empty() ? std::string(parameter.name)
                             : parameter.name + ("." + field) + "[" + std::to_string(j) + "]";
      }
      return std::string();
    };
    const bool is_tensor = parameter.kind == LS_TENSOR;
    std::string where =
        find(parameter.shape, is_tensor ? parameter.rank : 1, is_tensor ? "shape" : "");
    if (where.empty()) where = find(parameter.strides, parameter.rank, "strides");
    if (!where.empty()) return where;
  }
  return "another argument";
}

/// `8`, or for a symbol `n = 8, which A.shape[1] gave`.
std::string expected_extent(const ls_signature& signature, const ls_extent* rule,
                            std::int64_t expected) {
  if (!rule || rule->rule != LS_MATCH) return text(expected);
  return signature.symbols[rule->symbol] + (" = " + text(expected)) + ", which " +
         binder_of(signature, rule->symbol) + " gave";
}

/// The problem and its hint, when the error names a parameter.
ErrorText describe_argument(const ls_error& error, const ls_signature& signature) {
  const ls_parameter& parameter = signature.parameters[error.parameter];
  const std::string name = parameter.name;
  const auto dimension_of = [&](const char* field) {
    return name + "." + field + "[" + std::to_string(error.dimension) + "]";
  };
  const std::string actual = text(error.actual);
  const std::string expected = text(error.expected);
  switch (error.code) {
    case LS_ARGUMENT_KIND:
      return {"argument_kind",
              name + " is " + kind_text(error.actual) + ", not " + kind_text(error.expected),
              parameter.kind == LS_TENSOR ? "pass an array"
                                          : "pass " + std::string(kind_text(error.expected))};
    case LS_DTYPE: {
      const std::string own = text_of_bytes<DLDataType>(error.actual);
      return {"dtype",
              name + " has dtype " + own + ", not " + text_of_bytes<DLDataType>(error.expected),
              "convert the array, or build the function for " + own};
    }
    case LS_RANK:
      return {"rank", name + " has " + actual + " dimensions, not " + expected,
              "reshape the array to the dimensions of the parameter"};
    case LS_SHAPE: {
      const ls_extent* rule = parameter.shape + (error.dimension < 0 ? 0 : error.dimension);
      return {"shape",
              (error.dimension < 0 ? name : dimension_of("shape")) + " is " + actual + ", not " +
                  expected_extent(signature, rule, error.expected),
              "pass arguments whose sizes agree"};
    }
    case LS_EXTENT_RANGE:
      if (error.dimension < 0 && parameter.kind == LS_TENSOR) {
        return {"extent_range", name + " spans more bytes than 63 bits count",
                "pass a smaller array"};
      }
      if (error.actual < 0 && parameter.kind == LS_TENSOR) {
        return {"extent_range", dimension_of("shape") + " is " + actual + ", negative",
                "pass an array with sizes of 0 or more"};
      }
      return {"extent_range",
              (error.dimension < 0 ? name : dimension_of("shape")) + " is " + actual + ", beyond " +
                  expected + ", the limit of its type",
              "build the function with 64-bit sizes"};
    case LS_STRIDES:
      if (!parameter.strides) {
        return {"strides",
                dimension_of("strides") + " is " + actual + ", not " + expected +
                    ": the array is not compact (row-major without gaps)",
                "pass a contiguous copy"};
      }
      if (parameter.strides[error.dimension].rule == LS_BIND) {
        return {"strides",
                dimension_of("strides") + " is " + actual + ", beyond " + expected +
                    ", the limit of its type",
                "build the function with 64-bit strides"};
      }
      return {"strides",
              dimension_of("strides") + " is " + actual + ", not " +
                  expected_extent(signature, parameter.strides + error.dimension, error.expected),
              "pass an array with the strides of the parameter"};
    case LS_ALIGNMENT: {
      char address[32];
      std::snprintf(address, sizeof address, "0x%llx",
                    static_cast<unsigned long long>(error.actual));
      return {"alignment",
              "the data of " + name + " starts at " + address + ", not at a multiple of " +
                  expected + " bytes",
              "allocate it aligned, as NDArray does, or build the function for a lower alignment"};
    }
    case LS_DEVICE: {
      const std::string device = text_of_bytes<DLDevice>(error.expected);
      return {"device",
              name + " is on " + text_of_bytes<DLDevice>(error.actual) + ", not on " + device,
              "copy it to " + device};
    }
    case LS_NULL_TENSOR: return {"null_tensor", name + " is a null pointer", "pass a tensor"};
    case LS_NULL_DATA:
      return {"null_data", name + " has " + actual + " elements, but its data is a null pointer",
              "allocate the data"};
    case LS_READ_ONLY:
      return {"read_only", name + " is written by the function, but the array is read-only",
              "pass a writable array"};
    case LS_ALIAS:
      return {"alias",
              name + " is written and overlaps " + signature.parameters[error.expected].name +
                  " in memory",
              "pass a copy of one of them, or build the function with noalias off"};
    case LS_SCALAR_RANGE:
      return {"scalar_range",
              name + " is " + actual + ", which " +
                  (parameter.kind == LS_BOOL ? "bool" : text_of_bytes<DLDataType>(error.expected)) +
                  " cannot hold",
              "pass a value of that type, or build the function for a wider one"};
    default: return {"argument", name + " was refused", ""};
  }
}

ErrorText describe_without_function(const ls_error& error) {
  switch (error.code) {
    case LS_OK: return {"ok", "no error", ""};
    case LS_ARGUMENT_COUNT:
      return {"argument_count",
              "takes " + text(error.expected) + " arguments" +
                  (error.signature ? parameter_list(*error.signature) : "") + ", not " +
                  text(error.actual),
              "pass one for each parameter, outputs too"};
    case LS_ASSERTION:
      return {"assertion", error.message ? error.message : "an assertion failed", ""};
    case LS_OUT_OF_MEMORY:
      return {"out_of_memory", "no memory for " + text(error.expected) + " bytes of workspace",
              "free memory, or tile the computation"};
    case LS_EXCEPTION:
      return {"exception", "a function of the host threw an exception in a parallel loop",
              "catch it there"};
    default: break;
  }
  const bool names_argument =
      error.signature && error.parameter >= 0 && error.parameter < error.signature->num_parameters;
  if (names_argument) return describe_argument(error, *error.signature);
  return {"status", "failed with status " + text(error.code), ""};
}

}  // namespace

ErrorText describe(const ls_error& error) {
  ErrorText result = describe_without_function(error);
  if (error.signature) result.problem = error.signature->name + (": " + result.problem);
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
