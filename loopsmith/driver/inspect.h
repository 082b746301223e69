// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "loopsmith/codegen/code_request.h"
#include "loopsmith/codegen/line_table.h"
#include "loopsmith/runtime/module.h"

namespace loopsmith {

/// A line that the user wrote.
struct InspectedLine {
  std::string file;
  std::uint32_t line = 0;  ///< 0: lines between are left out here.
  std::string text;
  std::vector<std::uint32_t> made;  ///< The lines of the lowered program that came from it.
};

/// One form of a program as text, with the lines of the lowered program that its lines came from.
struct InspectedText {
  std::string
      name;  ///< `ir`; then `llvm` and `assembly`, or `c`, or `opencl`, or `cuda` and `ptx`.
  TextWithLines text;
};

/// All forms of a program, their lines related by those of the lowered program.
struct Inspection {
  std::vector<InspectedLine> source;
  std::vector<InspectedText> texts;  ///< `ir` first, which is the lowered program.
};

/// Where the statements of a program stand in the text of its lowered form (`ir`), and the names of
/// the loops around its lines, outermost first: `i/j`.
struct ProgramLines {
  StatementLines statements;
  std::vector<std::string> loops;  ///< By line, from 1; empty of lines outside of loops.
};

ProgramLines program_lines(const CodeRequest& request);

/// The forms of what was lowered for a target; of a module that `build` made.
Inspection inspect(const CodeRequest& request);
Inspection inspect(const Module& module);

}  // namespace loopsmith
