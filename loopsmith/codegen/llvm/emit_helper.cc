// SPDX-License-Identifier: Apache-2.0
// Functions of the module that others call, and the calls.
#include "loopsmith/codegen/llvm/emit_helper.h"

#include "loopsmith/runtime/c_abi.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// Helpers of up to this many instructions become part of their callers.
constexpr unsigned max_inlined = 200;

std::string llvm_helper_symbol(const std::string& name) {
  return "ls.helper." + name;
}

llvm::Function* declare_helper(ModuleEmitter& module, const PrimFunc& func) {
  auto* pointer = llvm::PointerType::getUnqual(module.context);
  std::vector<llvm::Type*> types = {pointer, pointer};
  for (const Ptr<Var>& param : func.params) {
    types.push_back(llvm_type(module.context, param->dtype));
  }
  auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(module.context), types, false);
  return module.new_function(type, llvm_helper_symbol(func.name()), /*is_internal=*/true);
}

void emit_helper(ModuleEmitter& module, const PrimFunc& func, llvm::Function* function) {
  const Aliasing aliasing(func, module.context);
  Emitter emitter(module, aliasing, function);
  emitter.set_context(function->getArg(0));
  if (!func.ret_type.is_void()) emitter.set_result(function->getArg(1));
  for (unsigned i = 0; i < func.params.size(); ++i) {
    llvm::Value* argument = function->getArg(i + 2);
    func.params[i]->is_size ? emitter.bind_size(func.params[i], argument)
                            : emitter.bind(func.params[i], argument);
  }
  emitter.statement(func.body);
  emitter.finish();
  if (function->getInstructionCount() <= max_inlined) {
    function->addFnAttr(llvm::Attribute::AlwaysInline);
  }
}

}  // namespace

void emit_helpers(ModuleEmitter& module, const std::vector<Ptr<PrimFunc>>& helpers) {
  for (const Ptr<PrimFunc>& func : helpers) {
    emit_helper(module, *func, declare_helper(module, *func));
  }
}

/// Leaves this function, too, where the other one failed.
llvm::Value* Emitter::call_function(const Call& call) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<GlobalVar>();
  llvm::Function* callee =
      name ? module_.module.getFunction(llvm_helper_symbol(name->name_hint)) : nullptr;
  require(callee && callee->arg_size() == call.args.size() + 1, ErrorKind::lower, "function_exists",
          hint("build a module that holds the function"), call.span, "there is no function {}",
          name ? name->name_hint : "without a name");
  const bool has_value = !call.dtype.is_void();
  llvm::Type* result_type = has_value ? type(call.dtype) : nullptr;
  llvm::Value* result = llvm::Constant::getNullValue(context_->getType());
  if (has_value) {
    result = stack_memory(result_type);
    ir_.CreateStore(llvm::Constant::getNullValue(result_type), result);
  }
  std::vector<llvm::Value*> args = {context_, result};
  for (std::size_t i = 1; i < call.args.size(); ++i) args.push_back(value(call.args[i]));
  leave_if_failed(ir_.CreateCall(callee, args));
  return has_value ? static_cast<llvm::Value*>(ir_.CreateLoad(result_type, result))
                   : ir_.getInt32(LS_OK);
}

}  // namespace loopsmith::detail
