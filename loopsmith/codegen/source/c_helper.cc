// SPDX-License-Identifier: Apache-2.0
// Functions of the module that others call, and the calls.
#include "loopsmith/codegen/source/c_helper.h"

#include "loopsmith/codegen/source/c_types.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

std::string c_helper_symbol(const std::string& name) {
  return "ls_helper_" + c_identifier(name);
}

std::string parameter_type(const Var& param) {
  if (param.dtype.is_handle() && param.pointer) {
    return c_memory_type(param.pointer->element.element()) + "*";
  }
  return param.dtype.is_index() ? "int64_t" : c_type(param.dtype);
}

}  // namespace

void write_helper(CModule& module, const PrimFunc& func) {
  CWriter writer(module, func.name(), {});
  const bool has_value = !func.ret_type.is_void();
  require(func.ret_type.is_scalar(), ErrorKind::lower, "value_is_scalar",
          hint("write the results into a buffer"), func.span,
          "function {} gives {}, a vector, which C does not have", func.name(),
          to_string(func.ret_type));
  const std::string result = writer.new_name("result");
  std::string parameters = fmt::format("ls_context* context, {}* {}",
                                       has_value ? c_type(func.ret_type) : "void", result);
  if (has_value) writer.set_result(result);
  for (const Ptr<Var>& param : func.params) {
    const std::string name = writer.new_name(param->name);
    const std::string type = parameter_type(*param);
    parameters += fmt::format(", {} {}", type, name);
    ConstIntBound bound = param->dtype.is_integer() ? arith::all_of(param->dtype) : ConstIntBound{};
    if (param->is_size) bound.min_value = 0;
    writer.bind(param, {name, param->dtype, type, bound, param->dtype.is_index()});
  }
  writer.statement(func.body);
  writer.leave("LS_OK");
  const std::string symbol = c_helper_symbol(func.name());
  module.called[symbol] = &func;
  module.functions +=
      fmt::format("static int32_t {}({}) {{\n{}}}\n\n", symbol, parameters, writer.take_text());
}

/// Leaves this function, too, where the other one failed. The call is a statement; see link_calls.
CText CWriter::call_function(const Call& call) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<GlobalVar>();
  const std::string symbol = name ? c_helper_symbol(name->name_hint) : "";
  const auto known = module_.called.find(symbol);
  require(known != module_.called.end() && known->second->params.size() + 1 == call.args.size(),
          ErrorKind::lower, "function_exists", hint("build a module that holds the function"),
          call.span, "there is no function {}", name ? name->name_hint : "without a name");
  std::string result = "NULL";
  std::string arguments;
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    const Var& param = *known->second->params[i - 1];
    const bool is_pointer = param.dtype.is_handle();
    const CText text = is_pointer               ? value(call.args[i])
                       : param.dtype.is_index() ? index(call.args[i])
                                                : value(call.args[i]);
    arguments += is_pointer ? fmt::format(", ({}){}", parameter_type(param), text.in(CLevel::unary))
                            : ", " + text.text;
  }
  if (!call.dtype.is_void()) {
    const std::string place = new_name(name->name_hint + "_value");
    line(fmt::format("{} {} = 0;", c_type(call.dtype), place));
    result = "&" + place;
  }
  const std::string status = new_name("status");
  line(fmt::format("const int32_t {} = {}(context, {}{});", status, symbol, result, arguments));
  block(fmt::format("if ({} != LS_OK)", status), [&] { leave(status); });
  if (call.dtype.is_void()) return {.text = "0"};
  CText text{.text = result.substr(1), .is_wide = call.dtype == i64};
  if (call.dtype.is_integer()) text.bound = arith::all_of(call.dtype);
  return text;
}

}  // namespace loopsmith::detail
