// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/debug_lines.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/Module.h>

namespace loopsmith::detail {

DebugLines::DebugLines(llvm::Module& module, const StatementLines& lines, LineTable table)
    : lines_(lines), builder_(module) {
  module.addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  file_ = builder_.createFile("program", "");
  builder_.createCompileUnit(llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_C99), file_,
                             "loopsmith", /*isOptimized=*/true, "", 0, "",
                             table == LineTable::in_object
                                 ? llvm::DICompileUnit::LineTablesOnly
                                 : llvm::DICompileUnit::DebugDirectivesOnly);
  type_ = builder_.createSubroutineType(builder_.getOrCreateTypeArray({}));
}

void DebugLines::begin(llvm::Function& function) {
  function.setSubprogram(builder_.createFunction(file_, function.getName(), function.getName(),
                                                 file_, 0, type_, 0, llvm::DINode::FlagZero,
                                                 llvm::DISubprogram::SPFlagDefinition));
}

llvm::DebugLoc DebugLines::of(const llvm::Function& function, const Object& statement) const {
  const auto line = lines_.find(&statement);
  if (line == lines_.end()) return {};
  return llvm::DILocation::get(function.getContext(), line->second, 0, function.getSubprogram());
}

}  // namespace loopsmith::detail
