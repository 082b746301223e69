// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/host_caller.h"

#include "loopsmith/support/error.h"

namespace loopsmith {

HostFunction by_name(HostFunctions functions) {
  return [functions = std::move(functions)](const HostCall& call) {
    const auto found = functions.find(call.name);
    if (found != functions.end()) return found->second(call);
    if (!call_built_in(call)) refuse_host_call(call.name);
    return ls_value{};
  };
}

void refuse_host_call(std::string_view name) {
  fail(ErrorKind::call, "function_is_given",
       hint(fmt::format("give it, as functions={{\"{0}\": {0}}}, or by register_func", name)), {},
       "the program calls '{}', a function of the host that was not given", name);
}

std::int32_t HostCaller::call(void* self, const char* name, const ls_argument* arguments,
                              std::int32_t count, ls_argument* result) {
  auto& caller = *static_cast<HostCaller*>(self);
  try {
    result->value = caller.function_(
        {name, {arguments, static_cast<std::size_t>(count)}, static_cast<ls_kind>(result->kind)});
    return LS_OK;
  } catch (...) {
    const std::lock_guard lock(caller.mutex_);
    if (!caller.exception_) caller.exception_ = std::current_exception();
    return LS_EXCEPTION;
  }
}

void HostCaller::rethrow() {
  std::exception_ptr exception;
  {
    const std::lock_guard lock(mutex_);
    exception = std::exchange(exception_, nullptr);
  }
  if (exception) std::rethrow_exception(exception);
}

std::int32_t call_no_function(void*, const char* name, const ls_argument* arguments,
                              std::int32_t count, ls_argument* result) {
  result->value = {};
  const bool is_done = call_built_in(
      {name, {arguments, static_cast<std::size_t>(count)}, static_cast<ls_kind>(result->kind)});
  return is_done ? LS_OK : LS_HOST_FUNCTION;
}

}  // namespace loopsmith
