// SPDX-License-Identifier: Apache-2.0
// Code in another language that programs bring along: `pragma_import_c`, `pragma_import_llvm`.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/codegen/code_request.h"

namespace loopsmith {

inline constexpr std::string_view import_c = "pragma_import_c";
inline constexpr std::string_view import_llvm = "pragma_import_llvm";

/// A piece of such code, and the loop or block that asks for it.
struct ImportedCode {
  std::string text;
  Span span;
};

/// What the functions of a request import by a pragma, each text once. A text that is the name of a
/// file, `x.c` or `x.ll`, stands for what is in it. Throws a UserError when that cannot be read.
std::vector<ImportedCode> imported_code(const CodeRequest& request, std::string_view pragma);

}  // namespace loopsmith
