// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/runtime/host_function.h"

#include <gtest/gtest.h>

#include "loopsmith/runtime/error_text.h"
#include "loopsmith/runtime/module.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// Calls `square` with its argument, as compiled code does; asserts that the result is 49.
std::int32_t calls_square(ls_context* context, const ls_argument* arguments) {
  ls_argument result{{.as_int = 0}, LS_INT, 0};
  const std::int32_t status =
      context->call_host(context->call_host_data, "square", arguments, 1, &result);
  if (status == LS_OK && result.value.as_int == 49) return LS_OK;
  const ls_error error = {.code = LS_HOST_FUNCTION,
                          .parameter = -1,
                          .dimension = -1,
                          .actual = status,
                          .message = "square"};
  return context->fail(context, &error);
}

Module module_with(HostFunction call_host) {
  const Signature signature(
      {.name = "f", .parameters = {{.name = "x", .kind = LS_INT, .dtype = dtype::int64}}});
  return Module({{.signature = signature, .address = calls_square}},
                {.call_host = std::move(call_host)});
}

std::string refusal_of(const Module& module, std::int64_t argument) {
  try {
    module.entry()(argument);
  } catch (const UserError& error) {
    return error.problem() + ": " + error.hint();
  }
  return "";
}

TEST(host_function, is_called_by_its_name) {
  const HostFunctions functions{{"square", [](const HostCall& call) {
                                   EXPECT_EQ(call.name, "square");
                                   EXPECT_EQ(call.result, LS_INT);
                                   const std::int64_t x = call.arguments[0].value.as_int;
                                   return ls_value{.as_int = x * x};
                                 }}};
  const Module module = module_with(by_name(functions));
  EXPECT_EQ(refusal_of(module, 7), "");
  EXPECT_EQ(refusal_of(module.with_threads({.num_threads = 1}), 7), "");
}

TEST(host_function, one_that_was_not_given_is_named) {
  EXPECT_EQ(refusal_of(module_with(by_name({})), 7),
            "the program calls 'square', a function of the host that was not given: "
            "give it, as functions={\"square\": square}, or by register_func");
  EXPECT_EQ(refusal_of(module_with({}), 7),
            "f: calls 'square', a function of the host that was not given: "
            "set call_host of the context, or of the module's options");
}

TEST(host_function, exceptions_reach_the_caller_once) {
  int calls = 0;
  const Module module = module_with([&](const HostCall&) -> ls_value {
    if (++calls == 1) throw std::runtime_error("no squares today");
    return {.as_int = 49};
  });
  EXPECT_THROW(module.entry()(7), std::runtime_error);
  EXPECT_EQ(refusal_of(module, 7), "");
}

TEST(host_function, a_status_of_a_host_in_c_is_told) {
  const ls_error error = {.code = LS_HOST_FUNCTION,
                          .parameter = -1,
                          .dimension = -1,
                          .actual = 99,
                          .message = "square"};
  EXPECT_EQ(describe(error).problem, "'square', a function of the host, failed with status 99");
}

}  // namespace
}  // namespace loopsmith
