// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/emit_export.h"

#include "loopsmith/codegen/entry_symbol.h"
#include "loopsmith/codegen/signature.h"

namespace loopsmith::detail {
namespace {

class ExportEmitter {
 public:
  ExportEmitter(ModuleEmitter& module, const ls_signature& signature)
      : module_(module), signature_(signature), ir_(module.context) {}

  void run() {
    std::vector<llvm::Type*> types{pointer()};
    for (int i = 0; i < signature_.num_parameters; ++i) types.push_back(type_of(parameter(i)));
    auto* type = llvm::FunctionType::get(ir_.getInt32Ty(), types, false);
    llvm::Function* function = module_.new_function(type, signature_.name, /*is_internal=*/false);
    ir_.SetInsertPoint(llvm::BasicBlock::Create(module_.context, "entry", function));

    auto* argument = llvm::StructType::get(module_.context,
                                           {ir_.getInt64Ty(), ir_.getInt32Ty(), ir_.getInt32Ty()});
    auto* list = llvm::ArrayType::get(
        argument, static_cast<std::uint64_t>(std::max(signature_.num_parameters, 1)));
    llvm::Value* arguments = ir_.CreateAlloca(list);
    for (int i = 0; i < signature_.num_parameters; ++i) {
      const auto field = [&](unsigned k) {
        llvm::Value* one =
            ir_.CreateConstInBoundsGEP2_32(list, arguments, 0, static_cast<unsigned>(i));
        return ir_.CreateStructGEP(argument, one, k);
      };
      ir_.CreateStore(function->getArg(static_cast<unsigned>(i) + 1), field(0));
      ir_.CreateStore(int32(parameter(i).kind), field(1));
      ir_.CreateStore(int32(0), field(2));
    }
    llvm::Value* context = context_or_default(function->getArg(0));
    auto* error = ir_.CreateAlloca(llvm::ArrayType::get(ir_.getInt64Ty(), sizeof(ls_error) / 8));
    llvm::Value* checked =
        call("ls_check_arguments", {pointer(), pointer(), ir_.getInt64Ty(), pointer()},
             {signature_table(), arguments,
              ir_.getInt64(static_cast<std::uint64_t>(signature_.num_parameters)), error});
    auto* failed = llvm::BasicBlock::Create(module_.context, "failed", function);
    auto* passed = llvm::BasicBlock::Create(module_.context, "passed", function);
    ir_.CreateCondBr(ir_.CreateICmpEQ(checked, int32(LS_OK)), passed, failed);

    ir_.SetInsertPoint(failed);
    llvm::Value* fail = ir_.CreateLoad(
        pointer(),
        ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), context, offsetof(ls_context, fail)));
    auto* fail_type = llvm::FunctionType::get(ir_.getInt32Ty(), {pointer(), pointer()}, false);
    ir_.CreateRet(ir_.CreateCall(fail_type, fail, {context, error}));

    ir_.SetInsertPoint(passed);
    llvm::Function* code = module_.module.getFunction(entry_symbol(signature_.name));
    ir_.CreateRet(ir_.CreateCall(code, {context, arguments}));
  }

 private:
  llvm::Type* pointer() { return ir_.getPtrTy(); }
  llvm::Constant* int32(std::int32_t value) {
    return ir_.getInt32(static_cast<std::uint32_t>(value));
  }
  llvm::Constant* int64(std::int64_t value) {
    return ir_.getInt64(static_cast<std::uint64_t>(value));
  }
  llvm::Constant* null() { return llvm::ConstantPointerNull::get(ir_.getPtrTy()); }
  const ls_parameter& parameter(int i) const { return signature_.parameters[i]; }

  llvm::Type* type_of(const ls_parameter& parameter) {
    switch (parameter.kind) {
      case LS_TENSOR:
      case LS_HANDLE: return pointer();
      case LS_FLOAT: return ir_.getDoubleTy();
      default: return ir_.getInt64Ty();
    }
  }

  llvm::Value* call(const char* name, std::vector<llvm::Type*> types,
                    std::vector<llvm::Value*> values) {
    auto* type = llvm::FunctionType::get(ir_.getInt32Ty(), types, false);
    return ir_.CreateCall(module_.module.getOrInsertFunction(name, type), values);
  }

  llvm::Value* context_or_default(llvm::Value* given) {
    llvm::Function* function = ir_.GetInsertBlock()->getParent();
    llvm::BasicBlock* before = ir_.GetInsertBlock();
    auto* missing = llvm::BasicBlock::Create(module_.context, "no_context", function);
    auto* known = llvm::BasicBlock::Create(module_.context, "context", function);
    ir_.CreateCondBr(ir_.CreateIsNull(given), missing, known);
    ir_.SetInsertPoint(missing);
    auto* type = llvm::FunctionType::get(pointer(), false);
    llvm::Value* own =
        ir_.CreateCall(module_.module.getOrInsertFunction("ls_default_context", type));
    ir_.CreateBr(known);
    ir_.SetInsertPoint(known);
    llvm::PHINode* context = ir_.CreatePHI(pointer(), 2);
    context->addIncoming(given, before);
    context->addIncoming(own, missing);
    return context;
  }

  llvm::Constant* global(llvm::Constant* contents) {
    return new llvm::GlobalVariable(module_.module, contents->getType(), /*isConstant=*/true,
                                    llvm::GlobalValue::PrivateLinkage, contents, "signature");
  }

  llvm::Constant* record(std::vector<llvm::Constant*> fields) {
    return llvm::ConstantStruct::getAnon(module_.context, fields);
  }

  llvm::Constant* table(const std::vector<llvm::Constant*>& rows) {
    if (rows.empty()) return null();
    auto* type = llvm::ArrayType::get(rows[0]->getType(), rows.size());
    return global(llvm::ConstantArray::get(type, rows));
  }

  llvm::Constant* extents(const ls_extent* rules, int count) {
    std::vector<llvm::Constant*> rows;
    for (int i = 0; rules && i < count; ++i) {
      rows.push_back(record({int64(rules[i].value), int32(rules[i].rule), int32(rules[i].symbol)}));
    }
    return table(rows);
  }

  /// The ls_signature, laid out as in C.
  llvm::Constant* signature_table() {
    std::vector<llvm::Constant*> parameters, symbols;
    for (int i = 0; i < signature_.num_parameters; ++i) {
      const ls_parameter& p = parameter(i);
      const int rank = p.kind == LS_TENSOR ? p.rank : 1;
      llvm::Constant* dtype = record(
          {ir_.getInt8(p.dtype.code), ir_.getInt8(p.dtype.bits), ir_.getInt16(p.dtype.lanes)});
      parameters.push_back(
          record({module_.text(p.name), int32(p.kind), dtype, int32(p.rank), int32(p.writable),
                  int64(p.alignment), extents(p.shape, rank), extents(p.strides, rank)}));
    }
    for (int i = 0; i < signature_.num_symbols; ++i) {
      symbols.push_back(module_.text(signature_.symbols[i]));
    }
    llvm::Constant* device =
        record({int32(static_cast<std::int32_t>(signature_.device.device_type)),
                int32(signature_.device.device_id)});
    return global(record({module_.text(signature_.name), table(parameters), table(symbols),
                          int32(signature_.num_parameters), int32(signature_.num_symbols), device,
                          int32(signature_.noalias)}));
  }

  ModuleEmitter& module_;
  const ls_signature& signature_;
  llvm::IRBuilder<> ir_;
};

}  // namespace

void emit_exports(ModuleEmitter& module, const CodeRequest& request) {
  for (const Ptr<PrimFunc>& func : request.functions) {
    ExportEmitter(module, signature_of(*func).c_view()).run();
  }
  auto* text = llvm::ConstantDataArray::getString(module.context, *request.exported);
  // Objects with one each may meet in a program.
  new llvm::GlobalVariable(module.module, text->getType(), /*isConstant=*/true,
                           llvm::GlobalValue::WeakODRLinkage, text, "ls_metadata");
}

}  // namespace loopsmith::detail
