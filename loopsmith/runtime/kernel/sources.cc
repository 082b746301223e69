// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/kernel/sources.h"

#include "loopsmith/runtime/kernel/embedded.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// `text` with the line that includes `name` replaced by `contents`.
std::string with_included(std::string text, const std::string& name, const std::string& contents) {
  const std::string line = "#include \"" + name + "\"\n";
  const std::size_t place = text.find(line);
  check(place != std::string::npos, "kernel_sources", "{} is not included", name);
  return text.replace(place, line.size(), contents);
}

}  // namespace

std::string kernel_source() {
  const std::string include = "loopsmith/runtime/c_abi.h";
  return "#ifndef _POSIX_C_SOURCE\n#define _POSIX_C_SOURCE 200809L\n#endif\n" +
         with_included(embedded_check_arguments, include, kernel_header()) +
         with_included(embedded_context, include, "");
}

std::string kernel_header() {
  return with_included(embedded_c_abi, "loopsmith/runtime/dlpack.h", embedded_dlpack);
}

}  // namespace loopsmith
