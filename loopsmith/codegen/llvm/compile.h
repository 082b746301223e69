// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "loopsmith/codegen/code_request.h"
#include "loopsmith/codegen/line_table.h"

namespace loopsmith {

/// The object file with the code of the functions. The same request gives the same bytes. With
/// `lines`, it has a table of the lines that its instructions were made of.
std::vector<char> compile_object(const CodeRequest& request, const StatementLines* lines = nullptr);
/// LLVM's IR of the functions, as it is after the passes; and their assembly.
std::string llvm_text(const CodeRequest& request);
std::string assembly_text(const CodeRequest& request);
/// The same texts, with the lines of the statements that theirs were made of.
TextWithLines llvm_lines(const CodeRequest& request, const StatementLines& lines);
TextWithLines assembly_lines(const CodeRequest& request, const StatementLines& lines);

}  // namespace loopsmith
