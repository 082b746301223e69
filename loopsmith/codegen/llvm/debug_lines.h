// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugLoc.h>

#include "loopsmith/codegen/line_table.h"

namespace loopsmith::detail {

/// What becomes of the marks: directives in assembly, or a table in the object file for debuggers.
enum class LineTable : std::uint8_t { as_directives, in_object };

/// Marks the instructions of a module with the lines of the statements that they were made of.
class DebugLines {
 public:
  DebugLines(llvm::Module& module, const StatementLines& lines, LineTable table);

  /// Prepares a function, whose instructions are about to be made.
  void begin(llvm::Function& function);
  /// The mark of what is made for a statement in a function; null where its line is not known.
  llvm::DebugLoc of(const llvm::Function& function, const Object& statement) const;
  /// Ends the marking: no function comes any more.
  void finish() { builder_.finalize(); }

 private:
  const StatementLines& lines_;
  llvm::DIBuilder builder_;
  llvm::DIFile* file_;
  llvm::DISubroutineType* type_;
};

}  // namespace loopsmith::detail
