// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "loopsmith/codegen/code_request.h"
#include "loopsmith/runtime/module.h"

namespace loopsmith {

/// Writes the functions of a module that `build` made into a file, by the end of its name:
///
/// - `.so`, `.a`: code, and the part of the runtime that it calls. They need a C compiler.
/// - `.o`, `.s`, `.ll`: code alone, for target llvm; link it with the file of `export_runtime`.
/// - `.c`: code as C with that part of the runtime, for target c.
/// - `.cl`; `.cu`, `.ptx`: the kernels alone, for targets opencl and cuda.
///
/// Hosts in C call `int32_t f(ls_context*, DLTensor* A, ..., int64_t n)`, which the file `header`
/// declares, if one is named. A lone function called `main` is called as the file. The same module
/// gives the same bytes. Throws a UserError where the file cannot be made.
void export_module(const Module& module, const std::string& path, const std::string& header = {});

/// Writes the runtime of exported kernels as a file of C99: checks of arguments, contexts, threads.
void export_runtime(const std::string& path);

/// The module in a `.so` or `.o` that `export_module` wrote, its functions ready to be called. The
/// file must be trusted: loading it runs its code.
Module load_module(const std::string& path, RuntimeOptions options = {});

/// The request that a module was built from as text, and back; see Module::source("json").
std::string request_text(const CodeRequest& request);
CodeRequest parse_request(std::string_view text);

}  // namespace loopsmith
