// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

#include "loopsmith/runtime/host_function.h"

namespace loopsmith {

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
