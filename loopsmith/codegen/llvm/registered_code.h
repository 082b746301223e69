// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/ExecutionEngine/RuntimeDyld.h>
#include <llvm/Object/ObjectFile.h>

#include <memory>
#include <string>
#include <vector>

#include "loopsmith/codegen/llvm/perf_files.h"

namespace loopsmith::detail {

/// Makes loaded code known to other tools, while it lives.
///
/// GDB: through its JIT interface (`__jit_debug_register_code`), so that a stack shows the names of
/// compiled functions and of the bodies of their parallel loops.
///
/// perf: on request, in files (perf_files.h), each piece of code with its name. Where the object
/// has a table of lines, its functions are cut where one loop ends and another starts.
class RegisteredCode {
 public:
  /// `loops`: by the lines of that table, the name of the loop that a line is in.
  RegisteredCode(const llvm::object::ObjectFile& object,
                 const llvm::RuntimeDyld::LoadedObjectInfo& loaded, PerfFiles perf_files,
                 const std::vector<std::string>& loops);
  ~RegisteredCode();
  RegisteredCode(const RegisteredCode&) = delete;
  RegisteredCode& operator=(const RegisteredCode&) = delete;

 private:
  struct Entry;
  std::unique_ptr<Entry> entry_;
};

}  // namespace loopsmith::detail
