// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "loopsmith/runtime/c_abi.h"

namespace loopsmith {

/// A call of a function of the host by a program, compiled or interpreted.
struct HostCall {
  std::string_view name;
  /// Numbers, texts and tensors; they are lent for the time of the call.
  std::span<const ls_argument> arguments;
  ls_kind result = LS_INT;  ///< What the program takes its result as.
};

/// Stands for a function that a program calls by its name. What it returns is a number of the kind
/// that the call asks for. All memory that it is given and may write counts as written afterwards.
using HostFunction = std::function<ls_value(const HostCall&)>;

/// Functions by their names.
using HostFunctions = std::map<std::string, HostFunction, std::less<>>;

/// Calls what `functions` has under the name of a call; an error that names what it has not.
HostFunction by_name(HostFunctions functions);

/// Calls one of the functions that every host has; false where there is none of that name. `print`
/// writes its arguments to the standard output, as Python's does.
bool call_built_in(const HostCall& call);

/// Throws the error of a call of a function that was not given.
[[noreturn]] void refuse_host_call(std::string_view name);

/// A function of the host as an `ls_call_host`. Exceptions stay here until the kernel has returned.
class HostCaller {
 public:
  explicit HostCaller(HostFunction function) : function_(std::move(function)) {}

  /// An `ls_call_host` whose data is a HostCaller.
  static std::int32_t call(void* self, const char* name, const ls_argument* arguments,
                           std::int32_t count, ls_argument* result);
  /// Throws the exception of the first call that failed since the last time, if there is one.
  void rethrow();

 private:
  HostFunction function_;
  std::mutex mutex_;
  std::exception_ptr exception_;
};

/// An `ls_call_host` of a host without functions of its own.
std::int32_t call_no_function(void*, const char*, const ls_argument*, std::int32_t, ls_argument*);

}  // namespace loopsmith
