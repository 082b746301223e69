// SPDX-License-Identifier: Apache-2.0
// Calls of functions of the host, by their names.
#include <algorithm>

#include "loopsmith/interp/compiler.h"
#include "loopsmith/interp/host_call.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith::interp::detail {
namespace {

/// The type of what a pointer leads to; bytes where nothing says it.
DataType pointed_element(const Expr& pointer) {
  if (const auto* var = pointer.as<Var>(); var && var->pointer) {
    return var->pointer->element.element();
  }
  const auto* call = pointer.as<Call>();
  if (call && call->op == op("tvm_access_ptr")) return call->args[0].dtype().element();
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

Value Compiler::call_host(const Call& call) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  if (!name) unsupported(call, fmt::format("a call of {} without a name", call.op.name()));
  const bool is_hashed = is_host_hash(call);
  const auto known = options_.functions.find(name->value);
  if (!is_hashed && known == options_.functions.end()) {
    const std::string how = fmt::format("give it, as functions={{\"{0}\": {0}}}", name->value);
    fail(ErrorKind::interp, "function_is_given", hint(how), call.span.known() ? call.span : span_,
         "{} calls '{}', a function of the host that was not given", code_.name, name->value);
  }
  HostSite site{
      .name = name->value, .function = is_hashed ? nullptr : &known->second, .operands = {}};
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    site.operands.push_back(host_operand(call, call.args[i]));
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

HostOperand Compiler::host_operand(const Call& call, const Expr& arg) {
  if (const auto* text = arg.as<StringImm>()) {
    HostOperand made{.is_text = true};
    made.text = text->value;
    return made;
  }
  if (!arg.dtype().is_handle()) return {.type = arg.dtype(), .value = expr(arg)};
  const auto* pointer = arg.as<Call>();
  if (pointer && pointer->op == op("tvm_stack_make_array")) return host_array(call, *pointer);
  HostOperand made{.type = pointed_element(arg), .value = expr(arg), .is_memory = true};
  if (!pointer || pointer->op != op("tvm_access_ptr")) return made;
  // tvm_access_ptr(type, data, offset, extent, mask): 1 reads, 2 writes.
  made.extent = scalar(pointer->args[3]);
  made.is_read_only = is_const_int(pointer->args[4], 1);
  return made;
}

/// tvm_stack_make_array(data, shape, strides, rank, element, offset).
HostOperand Compiler::host_array(const Call& call, const Call& array) {
  const auto sizes = [&](const Expr& list) {
    std::vector<Register> made;
    const auto* shape = list.as<Call>();
    if (!shape || shape->op != op("tvm_stack_make_shape")) return made;
    for (const Expr& size : shape->args) made.push_back(scalar(size));
    return made;
  };
  HostOperand made{
      .type = array.args[4].dtype().element(), .value = expr(array.args[0]), .is_memory = true};
  made.shape = sizes(array.args[1]);
  made.strides = sizes(array.args[2]);
  const bool is_plain = is_const_int(array.args[5], 0) && !made.shape.empty() &&
                        (made.strides.empty() || made.strides.size() == made.shape.size());
  if (!is_plain) unsupported(call, "an array with an offset, or without a shape");
  return made;
}

}  // namespace loopsmith::interp::detail
