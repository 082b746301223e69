// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/codegen/lined_text.h"
#include "loopsmith/codegen/options.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/target.h"
#include "loopsmith/runtime/c_abi.h"

namespace loopsmith {

/// Functions in flat form, and for which target they become code.
struct CodeRequest {
  std::vector<Ptr<PrimFunc>> functions;
  Target target{"llvm -mcpu=native"};
  FloatOptions floats;
  /// Set where hosts in C call the functions, too: what `ls_metadata` is to say of them.
  std::optional<std::string> exported = {};
  /// Functions that those call, callees first, by their names; see link_calls.
  std::vector<Ptr<PrimFunc>> helpers = {};
};

/// The object file with the code of the functions. The same request gives the same bytes.
std::vector<char> compile_object(const CodeRequest& request);
/// LLVM's IR of the functions, as it is after the passes; and their assembly.
std::string llvm_text(const CodeRequest& request);
std::string assembly_text(const CodeRequest& request);
/// The same texts, with the lines of the statements that theirs were made of.
LinedText llvm_lines(const CodeRequest& request, const StatementLines& lines);
LinedText assembly_lines(const CodeRequest& request, const StatementLines& lines);

/// The symbol under which the code of a function stands in the object: an ls_packed_function.
std::string code_symbol(const PrimFunc& func);

}  // namespace loopsmith
