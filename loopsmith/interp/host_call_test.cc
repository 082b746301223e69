// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/host_call.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "loopsmith/interp/assert_same.h"
#include "loopsmith/interp/testing/call.h"
#include "loopsmith/script/parse.h"

namespace loopsmith::interp {
namespace host_call_test {

using testing::Call;

/// A function of a tensor A of four elements, and maybe of a C.
Ptr<PrimFunc> program(std::string_view body, std::string_view dtype = "float32") {
  return parse_function(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((4,), "{0}"), C: T.Buffer((4,), "{0}")):
    {1}
)",
                                    dtype, body));
}

HostFunctions cube_root() {
  return {{"cbrt", [](const HostCall& call) {
             return ls_value{.as_float = std::cbrt(call.arguments[0].value.as_float)};
           }}};
}

/// Writes `value` into the last of its arguments, all of it.
HostFunctions fill(float value) {
  return {{"fill", [value](const HostCall& call) {
             const DLTensor& tensor = *call.arguments.back().value.as_tensor;
             auto* data = static_cast<float*>(tensor.data);
             for (std::int64_t i = 0; i < tensor.shape[0]; ++i) data[i * tensor.strides[0]] = value;
             return ls_value{.as_int = tensor.shape[0]};
           }}};
}

TEST(host_call, numbers_go_to_functions_of_the_host) {
  const auto func = program(
      "for i in range(4):\n        "
      "C[i] = T.call_pure_extern(\"float32\", \"cbrt\", A[i])");
  std::vector<float> x{1, 8, 27, 64}, y(4);
  Call(func).tensor(x).tensor(y).run({.functions = cube_root()});
  EXPECT_EQ(y, (std::vector<float>{1, 2, 3, 4}));
  // Each lane is a call of its own.
  const auto lanes = program(
      "C[T.Ramp(0, 1, 4)] = T.call_pure_extern(\"float32x4\", \"cbrt\", A[T.Ramp(0, 1, 4)])");
  std::vector<float> z(4);
  Call(lanes).tensor(x).tensor(z).run({.functions = cube_root()});
  EXPECT_EQ(z, y);
}

TEST(host_call, one_that_was_not_given_is_named) {
  const auto func = program("T.evaluate(T.call_extern(\"int32\", \"puts\", \"text\"))");
  std::vector<float> x(4), y(4);
  EXPECT_EQ(Call(func).tensor(x).tensor(y).error(),
            "InterpError: function_is_given: main calls 'puts', a function of the host that was "
            "not given");
  std::string said;
  const HostFunctions puts{{"puts", [&](const HostCall& call) {
                              said = call.arguments[0].value.as_text;
                              return ls_value{};
                            }}};
  EXPECT_EQ(Call(func).tensor(x).tensor(y).error({.functions = puts}), "");
  EXPECT_EQ(said, "text");
}

TEST(host_call, results_are_of_the_type_that_is_asked_for) {
  const auto func = program("C[0] = T.call_extern(\"int8\", \"f\", A[0], True)", "int8");
  std::vector<std::int8_t> x{3, 0, 0, 0}, y(4);
  const HostFunctions f{{"f", [](const HostCall& call) {
                           EXPECT_EQ(call.name, "f");
                           EXPECT_EQ(call.result, LS_INT);
                           EXPECT_EQ(call.arguments[1].kind, LS_BOOL);
                           return ls_value{.as_int = 256 + call.arguments[0].value.as_int +
                                                     call.arguments[1].value.as_int};
                         }}};
  Call(func).tensor(x).tensor(y).run({.functions = f});
  EXPECT_EQ(y[0], 4);
}

TEST(host_call, pointers_lead_to_the_rest_of_their_memory) {
  const auto error = [](std::string_view call, std::vector<float>& y) {
    std::vector<float> x(4);
    return Call(program(fmt::format("T.evaluate({})", call)))
        .tensor(x)
        .tensor(y)
        .error({.functions = fill(5)});
  };
  std::vector<float> y(4);
  EXPECT_EQ(error("T.call_extern(\"int32\", \"fill\", C.data)", y), "");
  EXPECT_EQ(y, (std::vector<float>{5, 5, 5, 5}));
  y.assign(4, 0);
  EXPECT_EQ(error("T.call_extern(\"int32\", \"fill\", T.address_of(C[1]))", y), "");
  EXPECT_EQ(y, (std::vector<float>{0, 5, 5, 5}));
  y.assign(4, 0);
  EXPECT_EQ(error("T.call_extern(\"int32\", \"fill\", C.access_ptr(\"w\", offset=1, extent=2))", y),
            "");
  EXPECT_EQ(y, (std::vector<float>{0, 5, 5, 0}));
  EXPECT_EQ(
      error("T.call_extern(\"int32\", \"fill\", C.access_ptr(\"w\", offset=1, extent=4))", y),
      "InterpError: address_in_memory: fill gets 4 elements of float32, the memory has 3 from "
      "there on");
}

TEST(host_call, arrays_have_shapes) {
  const auto func = program(
      "T.evaluate(T.tvm_call_packed(\"sum\", T.tvm_stack_make_array(A.data, "
      "T.tvm_stack_make_shape(2, 2), T.tvm_stack_make_shape(1, 2), 2, T.float32(0), 0)))");
  std::vector<float> x{1, 2, 3, 4}, y(4);
  bool was_called = false;
  const HostFunctions sum{{"sum", [&](const HostCall& call) {
                             const DLTensor& tensor = *call.arguments[0].value.as_tensor;
                             EXPECT_EQ(tensor.ndim, 2);
                             EXPECT_EQ(tensor.strides[1], 2);
                             was_called = true;
                             return ls_value{};
                           }}};
  Call(func).tensor(x).tensor(y).run({.functions = sum});
  EXPECT_TRUE(was_called);
}

TEST(host_call, what_it_may_write_was_written) {
  const auto func = [](std::string_view mode) {
    return parse_function(fmt::format(R"(
@T.prim_func
def main(C: T.Buffer((4,))):
    B = T.alloc_buffer((4,))
    T.evaluate(T.call_extern("int32", "fill", B.access_ptr("{}", extent=2)))
    C[1] = B[1]
    C[2] = B[2]
)",
                                      mode));
  };
  std::vector<float> y(4);
  EXPECT_EQ(Call(func("w")).tensor(y).error({.functions = fill(0)}),
            "InterpError: element_was_written: load of B: element [2] was never written");
  EXPECT_EQ(Call(func("r")).tensor(y).error({.functions = fill(0)}),
            "InterpError: element_was_written: load of B: element [1] was never written");
}

TEST(host_call, ring_mode_knows_pure_functions_by_their_operands) {
  const auto with = [](std::string_view operand) {
    return program(
        fmt::format("for i in range(4):\n        "
                    "C[i] = A[i] + T.call_pure_extern(\"float32\", \"cbrt\", {})",
                    operand));
  };
  EXPECT_EQ(compare(with("A[i] + A[0]"), with("A[0] + A[i]")).answer, Answer::same);
  EXPECT_EQ(compare(with("A[i]"), with("A[0]")).answer, Answer::different);
  const auto index = program("C[T.call_pure_extern(\"int32\", \"f\", A[0])] = A[1]");
  EXPECT_EQ(compare(index, with("A[0]")).reason,
            "before: an index is made from a floating-point number, which ring mode does not know");
  const auto effect = program("T.evaluate(T.call_extern(\"int32\", \"fill\", C.data))");
  EXPECT_EQ(compare(effect, with("A[0]")).reason,
            "before: main calls 'fill', a function of the host that was not given");
  std::vector<std::uint64_t> x(4), y(4);
  const auto error = [&](const Ptr<PrimFunc>& func) {
    Options options{.mode = Mode::ring, .functions = fill(1)};
    options.functions.emplace("cbrt", cube_root().at("cbrt"));
    std::int64_t shape[] = {4};
    DLTensor a{.data = x.data(),
               .device = {kDLCPU, 0},
               .ndim = 1,
               .dtype = {kDLUInt, 64, 1},
               .shape = shape,
               .strides = nullptr,
               .byte_offset = 0};
    DLTensor c = a;
    c.data = y.data();
    try {
      run(func, std::vector<CallArgument>{&a, &c}, options);
    } catch (const UserError& refusal) {
      return refusal.problem();
    }
    return std::string();
  };
  EXPECT_EQ(error(effect), "main calls 'fill' with values that ring mode does not know");
  EXPECT_EQ(error(program("C[0] = T.call_extern(\"float32\", \"cbrt\", 1)")),
            "main calls 'cbrt' for a value that ring mode does not know");
}

TEST(host_call, programs_are_compared_by_what_functions_do) {
  const auto loop = program("for i in range(4):\n        C[i] = T.float32(5)");
  const auto filled = program("T.evaluate(T.call_extern(\"int32\", \"fill\", C.data))");
  EXPECT_EQ(compare(loop, filled, {.functions = fill(5)}).answer, Answer::same);
  const Verdict verdict = compare(loop, filled, {.functions = fill(4)});
  EXPECT_EQ(verdict.answer, Answer::different);
  EXPECT_EQ(verdict.reason, "C[0] is 5 before and 4 after");
  // A sum in another order rounds otherwise.
  const auto sum = [](std::string_view order) {
    return program(fmt::format(
        "for i in range(4):\n        C[i] = T.call_pure_extern(\"float32\", \"cbrt\", A[i]) + {}",
        order));
  };
  EXPECT_TRUE(compare(sum("(A[0] * T.float32(0.1) + A[1])"), sum("(A[1] + T.float32(0.1) * A[0])"),
                      {.functions = cube_root()}));
}

}  // namespace host_call_test
}  // namespace loopsmith::interp
