// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/codegen/code_request.h"
#include "loopsmith/codegen/line_table.h"

namespace loopsmith {

/// The functions of a request as one file of C99 that needs no other: readable, with the user's
/// lines as comments. Each stands there as an ls_packed_function called
/// `entry_symbol(func.name())`.
std::string c_text(const CodeRequest& request);
/// The same text, with the lines of the statements that its lines were made of.
TextWithLines c_lines(const CodeRequest& request, const StatementLines& lines);

/// What precedes the functions: what a file of C must contain of Loopsmith.
std::string c_prologue();

}  // namespace loopsmith
