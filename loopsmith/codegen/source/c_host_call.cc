// SPDX-License-Identifier: Apache-2.0
// Packed calls: of functions of the host, by their names, through the context.
#include "loopsmith/codegen/host_call.h"

#include <fmt/format.h>
#include "loopsmith/codegen/signature.h"
#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/codegen/source/c_writer.h"

namespace loopsmith::detail {

/// The name of an array of int64_t with these values; NULL without any.
std::string CWriter::stored_sizes(const std::vector<Expr>& sizes) {
  if (sizes.empty()) return "NULL";
  std::string values;
  for (const Expr& size : sizes) {
    values += fmt::format("{}{}", values.empty() ? "" : ", ", index(size).text);
  }
  const std::string name = new_name("sizes");
  line(fmt::format("int64_t {}[{}] = {{{}}};", name, sizes.size(), values));
  return name;
}

/// The name of a DLTensor.
std::string CWriter::stored_tensor(const PackedArray& array) {
  const DLDataType dtype = to_dlpack(array.element);
  const std::string data =
      fmt::format("({}*){} + {}", c_memory_type(array.element), value(array.data).in(CLevel::unary),
                  index(array.offset).in(CLevel::product));
  const std::string shape = stored_sizes(array.shape), strides = stored_sizes(array.strides);
  const std::string name = new_name("tensor");
  line(fmt::format(
      "DLTensor {} = {{.data = {}, .device = {{kDLCPU, 0}}, .ndim = {}, "
      ".dtype = {{{}, {}, {}}}, .shape = {}, .strides = {}, .byte_offset = 0}};",
      name, data, array.shape.size(), dtype.code, dtype.bits, dtype.lanes, shape, strides));
  return name;
}

std::string CWriter::host_value(const HostOperand& operand) {
  switch (operand.kind) {
    case LS_TENSOR: return fmt::format(".as_tensor = &{}", stored_tensor(*operand.array));
    case LS_FLOAT: return fmt::format(".as_float = {}", widened(operand.value, {}).text);
    case LS_TEXT: return fmt::format(".as_text = {}", value(operand.value).text);
    case LS_HANDLE: return fmt::format(".as_handle = {}", value(operand.value).text);
    default: return fmt::format(".as_int = (int64_t){}", value(operand.value).in(CLevel::unary));
  }
}

CText CWriter::call_host(const Call& call, ls_kind taken_as) {
  const HostCallSite site = host_call_site(call, "c");
  std::string arguments;
  for (const HostOperand& operand : site.operands) {
    arguments +=
        fmt::format("{}{{{{{}}}, {}, {}}}", arguments.empty() ? "" : ", ", host_value(operand),
                    static_cast<int>(operand.kind), operand.is_read_only ? 1 : 0);
  }
  std::string passed = "NULL";
  if (!arguments.empty()) {
    passed = new_name("arguments");
    line(
        fmt::format("const ls_argument {}[{}] = {{{}}};", passed, site.operands.size(), arguments));
  }
  const std::string name = value(call.args[0]).text, result = new_name("result");
  line(fmt::format("ls_argument {} = {{{{.as_int = 0}}, {}, 0}};", result,
                   static_cast<int>(taken_as)));
  const std::string returned = new_name("returned");
  line(fmt::format(
      "const int32_t {} = context->call_host(context->call_host_data, {}, {}, {}, &{});", returned,
      name, passed, site.operands.size(), result));
  leave_if(returned + " != LS_OK",
           fmt::format("LS_HOST_FUNCTION, -1, -1, 0, {}, {}", returned, name));
  CText made{.text = fmt::format("({}){}.value.as_int", c_type(call.dtype), result),
             .level = CLevel::unary};
  made.bound = arith::all_of(call.dtype);
  return made;
}

}  // namespace loopsmith::detail
