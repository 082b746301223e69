// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/interp.h"

#include "loopsmith/interp/arguments.h"
#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/machine.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp {
namespace {

Outcome run_in(const Ptr<PrimFunc>& func, const Ptr<IRModule>& module,
               std::span<const CallArgument> arguments, const Options& options) {
  Library library;
  const Code& code = compile(func, module, options, library);
  BoundArguments bound(code, arguments, options);
  const Outcome outcome = Machine(library, options).run(code, bound.words());
  bound.finish();
  return outcome;
}

}  // namespace

Outcome run(const Ptr<PrimFunc>& func, std::span<const CallArgument> arguments,
            const Options& options) {
  return run_in(func, nullptr, arguments, options);
}

Outcome run(const Ptr<IRModule>& module, std::string_view name,
            std::span<const CallArgument> arguments, const Options& options) {
  const Ptr<PrimFunc> func = module->find(name);
  require(func.defined(), ErrorKind::interp, "function_exists",
          hint("name a function of the module"), {}, "the module has no function {}", name);
  return run_in(func, module, arguments, options);
}

}  // namespace loopsmith::interp
