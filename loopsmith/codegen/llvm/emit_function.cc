// SPDX-License-Identifier: Apache-2.0
// The entry of a function: its parameters out of the arguments, which were checked; the sizes that
// are expressions are checked here.
#include "loopsmith/codegen/llvm/emit_function.h"

#include "loopsmith/codegen/entry_symbol.h"
#include "loopsmith/ir/solved_sizes.h"
#include "loopsmith/runtime/c_abi.h"

namespace loopsmith::detail {
namespace {

class EntryEmitter {
 public:
  EntryEmitter(ModuleEmitter& module, const PrimFunc& func, llvm::Function* function)
      : func_(func),
        aliasing_(func, module.context),
        emitter_(module, aliasing_, function),
        ir_(emitter_.builder()),
        context_(module.context),
        function_(function),
        arguments_(function->getArg(1)) {
    emitter_.set_context(function->getArg(0));
  }

  void run() {
    for (std::size_t i = 0; i < func_.params.size(); ++i) bind_parameter(i);
    for (std::size_t i = 0; i < func_.params.size(); ++i) {
      if (func_.buffer_map[i]) bind_layout(i);
    }
    for (const SolvedSize& size : solved_sizes(func_)) bind_solved(size);
    for (const Check& check : checks_) require_equal(check);
    emitter_.statement(func_.body);
    emitter_.finish();
    if (!emitter_.is_brief()) return;
    // Compiled in a third of the time.
    function_->addFnAttr(llvm::Attribute::OptimizeNone);
    function_->addFnAttr(llvm::Attribute::NoInline);
  }

 private:
  struct Check {
    Expr expected;
    llvm::Value* actual;
    std::size_t parameter;
    std::size_t dimension;
    ls_status status;
  };

  llvm::Value* load(llvm::Type* type, llvm::Value* base, std::size_t offset) {
    return ir_.CreateLoad(type, ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), base, offset));
  }

  void bind_parameter(std::size_t i) {
    const Ptr<Var>& param = func_.params[i];
    const std::size_t place = i * sizeof(ls_argument) + offsetof(ls_argument, value);
    const DataType dtype = param->dtype;
    const auto argument = [&](llvm::Type* type) { return load(type, arguments_, place); };
    if (dtype.is_handle()) {
      llvm::Value* handle = argument(ir_.getPtrTy());
      emitter_.bind(param, handle);
      if (func_.buffer_map[i]) bind_data(i, handle);
    } else if (dtype.is_float()) {
      emitter_.bind(param, emitter_.cast(f64, dtype, argument(ir_.getDoubleTy())));
    } else {
      emitter_.bind(param, emitter_.cast(i64, dtype, argument(ir_.getInt64Ty())));
    }
  }

  void bind_data(std::size_t i, llvm::Value* tensor) {
    const Buffer& buffer = *func_.buffer_map[i];
    tensors_.resize(func_.params.size());
    tensors_[i] = tensor;
    llvm::Value* data = load(ir_.getPtrTy(), tensor, offsetof(DLTensor, data));
    llvm::Value* offset = load(ir_.getInt64Ty(), tensor, offsetof(DLTensor, byte_offset));
    emitter_.bind(buffer.data, ir_.CreateGEP(ir_.getInt8Ty(), data, offset));
  }

  /// The variables in the shape, strides and offset of a buffer.
  void bind_layout(std::size_t i) {
    const Buffer& buffer = *func_.buffer_map[i];
    llvm::Value* shape = nullptr;
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
      if (as_int(buffer.shape[d])) continue;
      if (!shape) shape = load(ir_.getPtrTy(), tensors_[i], offsetof(DLTensor, shape));
      llvm::Value* extent = load(ir_.getInt64Ty(), shape, d * sizeof(std::int64_t));
      bind_or_check(buffer.shape[d], extent, {.parameter = i, .dimension = d, .status = LS_SHAPE});
    }
    for (std::size_t d = 0; d < buffer.strides.size(); ++d) {
      if (as_int(buffer.strides[d])) continue;
      bind_or_check(buffer.strides[d], stride_of(i, d),
                    {.parameter = i, .dimension = d, .status = LS_STRIDES});
    }
    // The data's address has the offset in it.
    const auto offset = Ptr<Var>::from(buffer.elem_offset);
    if (offset && !emitter_.is_bound(offset)) {
      emitter_.bind_size(offset, llvm::ConstantInt::get(llvm_type(context_, offset->dtype), 0));
    }
  }

  void bind_solved(const SolvedSize& size) {
    llvm::Value* shape = load(ir_.getPtrTy(), tensors_[size.parameter], offsetof(DLTensor, shape));
    llvm::Value* extent = load(ir_.getInt64Ty(), shape, size.dimension * sizeof(std::int64_t));
    emitter_.bind_size(size.extent, emitter_.cast(i64, size.extent->dtype, extent));
    emitter_.bind_size(size.variable,
                       emitter_.cast(i64, size.variable->dtype, emitter_.index(size.value).value));
  }

  void bind_or_check(const Expr& expr, llvm::Value* actual, Check check) {
    const auto var = Ptr<Var>::from(expr);
    if (var && !emitter_.is_bound(var)) {
      emitter_.bind_size(var, emitter_.cast(i64, var->dtype, actual));
    } else if (!var) {
      check.expected = expr;
      check.actual = actual;
      checks_.push_back(check);
    }
  }

  /// From the tensor, or of a compact one where it has none.
  llvm::Value* stride_of(std::size_t i, std::size_t dimension) {
    const Buffer& buffer = *func_.buffer_map[i];
    llvm::Value* shape = load(ir_.getPtrTy(), tensors_[i], offsetof(DLTensor, shape));
    const auto extent = [&](std::size_t d) {
      return load(ir_.getInt64Ty(), shape, d * sizeof(std::int64_t));
    };
    llvm::Value* compact = ir_.getInt64(1);
    for (std::size_t d = buffer.shape.size(); d > dimension + 1; --d) {
      compact = ir_.CreateMul(compact, extent(d - 1));
    }
    llvm::Value* strides = load(ir_.getPtrTy(), tensors_[i], offsetof(DLTensor, strides));
    // Where there are no strides, the shape is as good to read as anything.
    llvm::Value* is_compact = ir_.CreateIsNull(strides);
    llvm::Value* readable = ir_.CreateSelect(is_compact, shape, strides);
    llvm::Value* given = load(ir_.getInt64Ty(), readable, dimension * sizeof(std::int64_t));
    llvm::Value* stride = ir_.CreateSelect(is_compact, compact, given);
    if (!buffer.auto_broadcast) return stride;
    llvm::Value* is_single = ir_.CreateICmpEQ(extent(dimension), ir_.getInt64(1));
    return ir_.CreateSelect(is_single, ir_.getInt64(0), stride);
  }

  void require_equal(const Check& check) {
    llvm::Value* expected = emitter_.index(check.expected).value;
    emitter_.leave_unless(ir_.CreateICmpEQ(expected, check.actual), check.status,
                          static_cast<int>(check.parameter), static_cast<int>(check.dimension),
                          expected, check.actual, llvm::Constant::getNullValue(ir_.getPtrTy()));
  }

  const PrimFunc& func_;
  Aliasing aliasing_;
  Emitter emitter_;
  llvm::IRBuilder<>& ir_;
  llvm::LLVMContext& context_;
  llvm::Function* function_;
  llvm::Value* arguments_;
  std::vector<llvm::Value*> tensors_;
  std::vector<Check> checks_;
};

}  // namespace

void emit_function(ModuleEmitter& module, const PrimFunc& func) {
  llvm::Function* function =
      module.new_function(module.entry_type, entry_symbol(func.name()), /*is_internal=*/false);
  EntryEmitter(module, func, function).run();
}

ModuleEmitter::ModuleEmitter(llvm::Module& module, const FloatOptions& floats, int x86_vector_bits)
    : module(module),
      context(module.getContext()),
      floats(floats),
      x86_vector_bits(x86_vector_bits) {
  auto* pointer = llvm::PointerType::getUnqual(context);
  auto* int32 = llvm::Type::getInt32Ty(context);
  auto* int64 = llvm::Type::getInt64Ty(context);
  entry_type = llvm::FunctionType::get(int32, {pointer, pointer}, false);
  body_type = llvm::FunctionType::get(int32, {pointer, int64, int64}, false);
}

llvm::Function* ModuleEmitter::new_function(llvm::FunctionType* type, const std::string& name,
                                            bool is_internal) {
  auto* function = llvm::Function::Create(
      type, is_internal ? llvm::GlobalValue::InternalLinkage : llvm::GlobalValue::ExternalLinkage,
      name, module);
  function->setDoesNotThrow();
  return function;
}

llvm::Constant* ModuleEmitter::text(std::string_view text) {
  auto* data = llvm::ConstantDataArray::getString(context, text);
  return new llvm::GlobalVariable(module, data->getType(), /*isConstant=*/true,
                                  llvm::GlobalValue::PrivateLinkage, data, "text");
}

llvm::Function* ModuleEmitter::fail() {
  constexpr const char* name = "ls.fail";
  if (llvm::Function* made = module.getFunction(name)) return made;
  llvm::IRBuilder<> ir(context);
  llvm::Type* const int32 = ir.getInt32Ty();
  llvm::Type* const int64 = ir.getInt64Ty();
  auto* type = llvm::FunctionType::get(
      int32, {ir.getPtrTy(), int32, int32, int32, int64, int64, ir.getPtrTy()}, false);
  llvm::Function* function = new_function(type, name, /*is_internal=*/true);
  function->addFnAttr(llvm::Attribute::Cold);
  function->addFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::OptimizeNone);

  ir.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  auto* error = ir.CreateAlloca(llvm::ArrayType::get(ir.getInt8Ty(), sizeof(ls_error)));
  error->setAlignment(llvm::Align(alignof(ls_error)));
  const auto store = [&](llvm::Value* value, std::size_t offset) {
    ir.CreateStore(value, ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), error, offset));
  };
  llvm::Value* const no_signature = llvm::ConstantPointerNull::get(ir.getPtrTy());
  store(function->getArg(1), offsetof(ls_error, code));
  store(function->getArg(2), offsetof(ls_error, parameter));
  store(function->getArg(3), offsetof(ls_error, dimension));
  store(no_signature, offsetof(ls_error, signature));
  store(function->getArg(4), offsetof(ls_error, expected));
  store(function->getArg(5), offsetof(ls_error, actual));
  store(function->getArg(6), offsetof(ls_error, message));
  llvm::Value* const callee = ir.CreateLoad(
      ir.getPtrTy(), ir.CreateConstInBoundsGEP1_64(ir.getInt8Ty(), function->getArg(0),
                                                   offsetof(ls_context, fail)));
  auto* callee_type = llvm::FunctionType::get(int32, {ir.getPtrTy(), ir.getPtrTy()}, false);
  ir.CreateRet(ir.CreateCall(callee_type, callee, {function->getArg(0), error}));
  return function;
}

}  // namespace loopsmith::detail
