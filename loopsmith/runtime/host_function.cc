// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/host_function.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <string>

#include "loopsmith/runtime/dtype.h"

namespace loopsmith {
namespace {

// Without fmt, which would double what exported kernels contain.

/// A number in the shortest text that reads as it.
std::string text_of_number(auto number) {
  std::array<char, 32> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

std::string text_of_pointer(const void* pointer) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%p", pointer);
  return text.data();
}

std::string shape_text(const DLTensor& tensor) {
  std::string text = to_string(tensor.dtype) + " of shape (";
  for (std::int32_t i = 0; i < tensor.ndim; ++i) {
    text += (i > 0 ? ", " : "") + text_of_number(tensor.shape[i]);
  }
  return text + ")";
}

std::string text_of(const ls_argument& argument) {
  switch (argument.kind) {
    case LS_FLOAT: return text_of_number(argument.value.as_float);
    case LS_BOOL: return argument.value.as_int != 0 ? "True" : "False";
    case LS_UINT: return text_of_number(static_cast<std::uint64_t>(argument.value.as_int));
    case LS_TEXT: return argument.value.as_text;
    case LS_TENSOR: return shape_text(*argument.value.as_tensor);
    case LS_HANDLE: return text_of_pointer(argument.value.as_handle);
    default: return text_of_number(argument.value.as_int);
  }
}

}  // namespace

bool call_built_in(const HostCall& call) {
  if (call.name != "print") return false;
  std::string line;
  for (const ls_argument& argument : call.arguments) {
    if (!line.empty()) line += ' ';
    line += text_of(argument);
  }
  std::puts(line.c_str());
  return true;
}

}  // namespace loopsmith
