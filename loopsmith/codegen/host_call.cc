// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/host_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

ls_kind kind_of_number(DataType dtype) {
  if (dtype.is_float()) return LS_FLOAT;
  if (dtype.is_bool()) return LS_BOOL;
  return dtype == u64 ? LS_UINT : LS_INT;
}

HostOperand operand_of(const Expr& arg, const Call& call, const std::string& name,
                       std::string_view target) {
  if (arg.is<StringImm>()) return {.kind = LS_TEXT, .value = arg, .is_read_only = true};
  if (std::optional<PackedArray> array = find_packed_array(arg)) {
    const bool is_read_only = array->is_read_only;
    require(array->element.bits >= 8 || is_const_int(array->offset, 0), ErrorKind::lower,
            "array_starts_at_byte", hint("pass the whole buffer"), call.span,
            "{} calls '{}' with an array of {} that starts inside of its memory", target, name,
            to_string(array->element));
    return {.kind = LS_TENSOR,
            .value = nullptr,
            .array = std::move(array),
            .is_read_only = is_read_only};
  }
  const DataType dtype = arg.dtype();
  if (dtype.is_handle()) {
    const auto* var = arg.as<Var>();
    require(var && !var->pointer, ErrorKind::lower, "array_has_shape",
            hint("pass the buffer itself, or its access_ptr"), call.span,
            "{} calls '{}' with a bare pointer: how much it leads to is not known", target, name);
    return {.kind = LS_HANDLE, .value = arg};
  }
  require(dtype.is_scalar(), ErrorKind::lower, "operand_is_scalar",
          hint("pass the vector in a buffer"), call.span,
          "{} calls '{}' with a vector {}, functions of the host take numbers", target, name,
          to_string(dtype));
  return {.kind = kind_of_number(dtype), .value = arg};
}

}  // namespace

HostCallSite host_call_site(const Call& call, std::string_view target) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  require(name != nullptr, ErrorKind::type_mismatch, "call_names_function",
          hint("give the function's name as a text, first"), call.span,
          "{}: the first argument is not a name", call.op.name());
  HostCallSite site{.name = name->value, .operands = {}};
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    site.operands.push_back(operand_of(call.args[i], call, site.name, target));
  }
  return site;
}

}  // namespace loopsmith
