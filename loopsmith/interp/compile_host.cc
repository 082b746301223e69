// SPDX-License-Identifier: Apache-2.0
// Calls of functions of the host, by their names.
#include <algorithm>

#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/host_call.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/packed_array.h"
#include "loopsmith/support/error.h"

namespace loopsmith::interp::detail {
namespace {

/// The type of what a pointer leads to; bytes where nothing says it.
DataType pointed_element(const Expr& pointer) {
  if (const auto* var = pointer.as<Var>(); var && var->pointer) {
    return var->pointer->element.element();
  }
  const auto* call = pointer.as<Call>();
  const auto* load =
      call && call->op == op("address_of") ? call->args[0].as<BufferLoad>() : nullptr;
  return load ? load->buffer->dtype.element() : u8;
}

bool is_exact(const Call& call) {
  const auto is_integer = [](const Expr& arg) {
    return arg.is<StringImm>() || arg.dtype().is_integer();
  };
  return call.dtype.is_integer() && std::ranges::all_of(call.args, is_integer);
}

}  // namespace

/// Whether ring mode has a hash in place of what a function returns.
bool Compiler::is_host_hash(const Call& call) const {
  if (!is_ring() || call.op != op("call_pure_extern") || call.args.empty()) return false;
  const auto* name = call.args[0].as<StringImm>();
  return name && !(is_exact(call) && options_.functions.contains(name->value));
}

Value Compiler::call_host(const Call& call, bool takes_result) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  if (!name) unsupported(call, fmt::format("a call of {} without a name", call.op.name()));
  // Where the device finds what its copy engine is told of an array: it is not read here.
  if (name->value == "device.tensor_map") return {integer(0), 0};
  const bool is_hashed = is_host_hash(call);
  const auto known = options_.functions.find(name->value);
  if (!is_hashed && known == options_.functions.end()) {
    const std::string how = fmt::format("give it, as functions={{\"{0}\": {0}}}", name->value);
    fail(ErrorKind::interp, "function_is_given", hint(how), call.span.known() ? call.span : span_,
         "{} calls '{}', a function of the host that was not given", code_.name, name->value);
  }
  HostSite site{.name = name->value,
                .function = is_hashed ? nullptr : &known->second,
                .takes_result = takes_result,
                .operands = {}};
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    site.operands.push_back(host_operand(call.args[i]));
    const HostOperand& operand = site.operands.back();
    if (operand.is_text) continue;
    const bool is_field = operand.type.is_float() && !operand.is_memory;
    if (is_ring() && (operand.is_memory || (is_field && !is_hashed))) {
      fail(ErrorKind::interp, "function_is_exact", hint("run the program in typed mode"), span_,
           "{} calls '{}' with values that ring mode does not know", code_.name, name->value);
    }
    if (!operand.is_memory && operand.type.lanes != 1 && operand.type.lanes != call.dtype.lanes) {
      unsupported(call, "a function of the host on vectors of several lengths");
    }
  }
  if (is_ring() && call.dtype.is_float() && !is_hashed) {
    fail(ErrorKind::interp, "function_is_exact", hint("run the program in typed mode"), span_,
         "{} calls '{}' for a value that ring mode does not know", code_.name, name->value);
  }
  for (HostOperand& operand : site.operands) {
    if (!operand.is_memory && operand.type.is_scalar()) operand.value.stride = 0;
  }
  code_.host_sites.push_back(std::move(site));
  Instr instr;
  instr.data = &code_.host_sites.back();
  const DataType result = call.dtype.is_void() ? i32 : call.dtype;
  return operation(is_hashed ? host_hash_handler() : host_call_handler(), result, result, {},
                   instr);
}

HostOperand Compiler::host_operand(const Expr& arg) {
  if (const auto* text = arg.as<StringImm>()) {
    HostOperand made{.is_text = true};
    made.text = text->value;
    return made;
  }
  if (!arg.dtype().is_handle()) return {.type = arg.dtype(), .value = expr(arg)};
  const std::optional<PackedArray> array = find_packed_array(arg);
  if (!array) return {.type = pointed_element(arg), .value = expr(arg), .is_memory = true};
  HostOperand made{.type = array->element,
                   .value = expr(array->data),
                   .is_memory = true,
                   .is_read_only = array->is_read_only,
                   .is_array = true};
  made.offset = scalar(array->offset);
  for (const Expr& size : array->shape) made.shape.push_back(scalar(size));
  for (const Expr& stride : array->strides) made.strides.push_back(scalar(stride));
  return made;
}

}  // namespace loopsmith::interp::detail
