// SPDX-License-Identifier: Apache-2.0
// Intrinsics. Those that are functions of mathematics were expanded before; see transform.
#include <llvm/IR/Intrinsics.h>

#include <numeric>

#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/codegen/unsupported.h"
#include "loopsmith/ir/llvm_intrinsics.h"
#include "loopsmith/ir/math_functions.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {

llvm::Value* Emitter::call(const Call& call) {
  using llvm::Intrinsic::ID;
  const auto operand = [&](std::size_t i) { return value(call.args[i]); };
  const auto reduce_with = [&](auto method) {
    return reduce(call.args[0], [&](llvm::Value* a, llvm::Value* b) {
      return (this->*method)(
          call.args[0].dtype().with_lanes(llvm::isa<llvm::FixedVectorType>(a->getType()) ? 2 : 1),
          a, b);
    });
  };
  switch (identity_of(call.op)) {
    case Identity::none: break;
    case Identity::plain: return operand(0);
    case Identity::precise: return precise(call);
  }
  switch (call.op.index()) {
    case op("assume").index(): return ir_.CreateAssumption(operand(0));
    case op("undef").index(): return llvm::Constant::getNullValue(type(call.dtype));
    case op("if_then_else").index(): return choose(call.args[0], call.args[1], call.args[2]);
    case op("bitwise_and").index(): return ir_.CreateAnd(operand(0), operand(1));
    case op("bitwise_or").index(): return ir_.CreateOr(operand(0), operand(1));
    case op("bitwise_xor").index(): return ir_.CreateXor(operand(0), operand(1));
    case op("bitwise_not").index(): return ir_.CreateNot(operand(0));
    case op("shift_left").index(): return shift(call, /*left=*/true);
    case op("shift_right").index(): return shift(call, /*left=*/false);
    case op("popcount").index(): return count_bits(call, llvm::Intrinsic::ctpop);
    case op("clz").index(): return count_bits(call, llvm::Intrinsic::ctlz);
    case op("reinterpret").index(): return reinterpret(call);
    case op("large_uint_imm").index():
      return llvm::ConstantInt::get(type(call.dtype),
                                    (static_cast<std::uint64_t>(*as_int(call.args[1])) << 32) +
                                        static_cast<std::uint64_t>(*as_int(call.args[0])));
    case op("fabs").index(): return absolute(call);
    case op("ldexp").index(): return scaled(call);
    case op("isnan").index():
    case op("isinf").index():
    case op("isfinite").index(): return classify(call);
    case op("isnullptr").index(): return ir_.CreateIsNull(operand(0));
    case op("address_of").index(): return address_of(call, /*in_bounds=*/true);
    case op("tvm_access_ptr").index(): return access_pointer(call);
    case op("prefetch").index(): return prefetch(call);
    case op("atomic_add").index():
    case op("atomic_min").index():
    case op("atomic_max").index():
    case op("atomic_and").index():
    case op("atomic_or").index():
    case op("atomic_xor").index(): return atomic_update(call);
    case op("call_global").index(): return call_function(call);
    case op("call_extern").index():
    case op("call_pure_extern").index(): return call_symbol(call);
    case op("tvm_call_packed").index():
    case op("tvm_call_cpacked").index(): return call_host(call);
    case op("call_llvm_intrin").index():
    case op("call_llvm_pure_intrin").index(): return call_intrinsic(call);
    case op("vectorlow").index():
    case op("vectorhigh").index(): {
      std::vector<int> lanes(call.dtype.lanes);
      std::iota(lanes.begin(), lanes.end(), call.op == op("vectorlow") ? 0 : call.dtype.lanes);
      return lanes_of(operand(0), lanes);
    }
    case op("vectorcombine").index(): {
      std::vector<int> lanes(call.dtype.lanes);
      std::iota(lanes.begin(), lanes.end(), 0);
      return ir_.CreateShuffleVector(operand(0), operand(1), lanes);
    }
    case op("vector_reduce_add").index(): return reduce_with(&Emitter::add);
    case op("vector_reduce_mul").index(): return reduce_with(&Emitter::multiply);
    case op("vector_reduce_min").index(): return reduce_with(&Emitter::minimum);
    case op("vector_reduce_max").index(): return reduce_with(&Emitter::maximum);
    case op("get_active_lane_mask").index(): return active_lanes(call);
    default: break;
  }
  const MathFunction* function = find_math_function(call.op);
  if (function && !function->llvm.empty()) return math_function(call, *function);
  refuse_call(call, "llvm");
}

/// Its address may lie beyond the buffer's end.
llvm::Value* Emitter::prefetch(const Call& call) {
  const auto* element = call.args[0].as<Call>();
  llvm::Value* address = element && element->op == op("address_of")
                             ? address_of(*element, /*in_bounds=*/false)
                             : value(call.args[0]);
  return ir_.CreateIntrinsic(
      llvm::Intrinsic::prefetch, {address->getType()},
      {address, value(call.args[1]), value(call.args[2]), value(call.args[3])});
}

/// A function that the target has. Rounding to integers: an integer is its own.
llvm::Value* Emitter::math_function(const Call& call, const MathFunction& function) {
  std::vector<llvm::Value*> operands;
  for (const Expr& arg : call.args) operands.push_back(value(arg));
  if (call.dtype.is_integer()) return operands[0];
  const llvm::Intrinsic::ID intrinsic = llvm::Intrinsic::lookupIntrinsicID(
      llvm::StringRef(function.llvm.data(), function.llvm.size()));
  return in_float32(call.dtype, operands, [&](std::span<llvm::Value* const> x) {
    return ir_.CreateIntrinsic(intrinsic, {x[0]->getType()},
                               llvm::ArrayRef<llvm::Value*>(x.data(), x.size()));
  });
}

llvm::Value* Emitter::absolute(const Call& call) {
  if (!call.dtype.is_integer()) return math_function(call, *find_math_function(call.op));
  llvm::Value* operand = value(call.args[0]);
  if (call.dtype.is_uint()) return operand;
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, operand, ir_.getFalse());
}

/// Of functions as lowering expands them, where the processor has an instruction.
llvm::Value* Emitter::scaled(const Call& call) {
  llvm::Value* number = value(call.args[0]);
  llvm::Value* power = value(call.args[1]);
  return ir_.CreateIntrinsic(llvm::Intrinsic::ldexp, {number->getType(), power->getType()},
                             {number, power});
}

llvm::Value* Emitter::classify(const Call& call) {
  const DataType dtype = call.args[0].dtype();
  llvm::Value* operand = value(call.args[0]);
  if (dtype.is_integer()) {
    const bool is_finite = call.op == op("isfinite");
    return llvm::ConstantInt::get(shaped_as(operand, ir_.getInt1Ty()), is_finite ? 1 : 0);
  }
  // Also where fast_math promises that there are no NaNs or infinities: the program asks for them.
  const llvm::IRBuilderBase::FastMathFlagGuard guard(ir_);
  ir_.clearFastMathFlags();
  llvm::Value* real = widen(dtype, operand);
  if (call.op == op("isnan")) return ir_.CreateFCmpUNO(real, real);
  llvm::Value* magnitude = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, real);
  llvm::Constant* infinity = llvm::ConstantFP::getInfinity(real->getType());
  return call.op == op("isinf") ? ir_.CreateFCmpOEQ(magnitude, infinity)
                                : ir_.CreateFCmpOLT(magnitude, infinity);
}

llvm::Value* Emitter::precise(const Call& call) {
  const llvm::IRBuilderBase::FastMathFlagGuard guard(ir_);
  ir_.clearFastMathFlags();
  return value(call.args[0]);
}

llvm::Value* Emitter::reinterpret(const Call& call) {
  const DataType from = call.args[0].dtype();
  const DataType to = call.dtype;
  llvm::Value* operand = value(call.args[0]);
  if (from.is_handle() && to.is_handle()) return operand;
  if (from.is_handle()) return ir_.CreatePtrToInt(operand, type(to));
  if (to.is_handle()) return ir_.CreateIntToPtr(operand, type(to));
  require(from.bits * from.lanes == to.bits * to.lanes, ErrorKind::type_mismatch,
          "reinterpret_keeps_size", hint("reinterpret as a type with as many bits"), call.span,
          "reinterpret: {} as {} changes the number of bits", to_string(from), to_string(to));
  return ir_.CreateBitCast(operand, type(to));
}

llvm::Value* Emitter::count_bits(const Call& call, llvm::Intrinsic::ID intrinsic) {
  llvm::Value* operand = value(call.args[0]);
  llvm::Value* count =
      intrinsic == llvm::Intrinsic::ctlz
          ? ir_.CreateBinaryIntrinsic(intrinsic, operand, /*of zero, poison:*/ ir_.getFalse())
          : ir_.CreateUnaryIntrinsic(intrinsic, operand);
  return ir_.CreateZExtOrTrunc(count, type(call.dtype));
}

namespace {

/// The instruction of an atomic update of a type.
llvm::AtomicRMWInst::BinOp atomic_instruction(Op atomic, DataType dtype) {
  using Instruction = llvm::AtomicRMWInst;
  switch (atomic.index()) {
    case op("atomic_add").index(): return dtype.is_integer() ? Instruction::Add : Instruction::FAdd;
    case op("atomic_min").index(): return dtype.is_int() ? Instruction::Min : Instruction::UMin;
    case op("atomic_max").index(): return dtype.is_int() ? Instruction::Max : Instruction::UMax;
    case op("atomic_and").index(): return Instruction::And;
    case op("atomic_or").index(): return Instruction::Or;
    default: return Instruction::Xor;
  }
}

}  // namespace

llvm::Value* Emitter::atomic_update(const Call& call) {
  const DataType dtype = call.args[1].dtype();
  require_atomic(call);
  llvm::Value* address = value(call.args[0]);
  return ir_.CreateAtomicRMW(atomic_instruction(call.op, dtype), address, value(call.args[1]),
                             llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic);
}

namespace {

const std::string& name_argument(const Call& call) {
  const auto* name = call.args.empty() ? nullptr : call.args[0].as<StringImm>();
  require(name != nullptr, ErrorKind::type_mismatch, "call_names_function",
          hint("give the function's name as a text, first"), call.span,
          "{}: the first argument is not a name", call.op.name());
  return name->value;
}

}  // namespace

/// A C function, called once for each lane: narrow integers travel extended, bool as an int8.
llvm::Value* Emitter::call_symbol(const Call& call) {
  const std::string& name = name_argument(call);
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (std::size_t i = 1; i < call.args.size(); ++i) {
    const DataType dtype = call.args[i].dtype();
    llvm::Value* arg = value(call.args[i]);
    if (dtype.is_bool()) arg = ir_.CreateZExt(arg, shaped_as(arg, ir_.getInt8Ty()));
    args.push_back(arg);
    types.push_back(arg->getType()->getScalarType());
  }
  const DataType element = call.dtype.is_void() ? call.dtype : call.dtype.element();
  llvm::Type* result = type(element.is_bool() ? element.with_bits(8) : element);
  auto* signature = llvm::FunctionType::get(result, types, /*isVarArg=*/false);
  llvm::Function* callee = module_.module.getFunction(name);
  if (!callee) {
    callee = module_.new_function(signature, name, /*is_internal=*/false);
    if (call.op == op("call_pure_extern")) callee->setDoesNotAccessMemory();
  }
  const auto call_once = [&](const std::vector<llvm::Value*>& scalars) -> llvm::Value* {
    llvm::CallInst* made = ir_.CreateCall(signature, callee, scalars);
    for (std::size_t i = 1; i < call.args.size(); ++i) {
      const DataType dtype = call.args[i].dtype();
      if (!dtype.is_integer() || dtype.bits >= 32) continue;
      made->addParamAttr(static_cast<unsigned>(i - 1),
                         dtype.is_int() ? llvm::Attribute::SExt : llvm::Attribute::ZExt);
    }
    if (!element.is_bool()) return made;
    return ir_.CreateICmpNE(made, llvm::Constant::getNullValue(result));
  };
  if (call.dtype.is_scalar()) return call_once(args);
  llvm::Value* vector = llvm::PoisonValue::get(type(call.dtype));
  for (int lane = 0; lane < call.dtype.lanes; ++lane) {
    const auto at = static_cast<std::uint64_t>(lane);
    std::vector<llvm::Value*> scalars = args;
    for (llvm::Value*& arg : scalars) {
      if (arg->getType()->isVectorTy()) arg = ir_.CreateExtractElement(arg, at);
    }
    vector = ir_.CreateInsertElement(vector, call_once(scalars), at);
  }
  return vector;
}

/// The operands stand from `first_operand` on.
llvm::Value* Emitter::call_intrinsic(const Call& call) {
  const std::string& name = name_argument(call);
  const llvm::Intrinsic::ID id = llvm::Intrinsic::lookupIntrinsicID(name);
  require(id != llvm::Intrinsic::not_intrinsic, "unknown_llvm_intrinsic",
          hint("give a name of LLVM's language reference"), "{}: LLVM has no intrinsic '{}'",
          call.op.name(), name);
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (std::size_t i = first_operand(call); i < call.args.size(); ++i) {
    args.push_back(value(call.args[i]));
    types.push_back(args.back()->getType());
  }
  llvm::FunctionType* wanted = llvm::FunctionType::get(type(call.dtype), types, false);
  llvm::SmallVector<llvm::Type*, 4> overloads;
  llvm::Function* callee = nullptr;
  if (llvm::Intrinsic::getIntrinsicSignature(id, wanted, overloads)) {
    callee = llvm::Intrinsic::getOrInsertDeclaration(&module_.module, id, overloads);
  } else if (!llvm::Intrinsic::isOverloaded(id)) {
    // bfloat16 is a type of LLVM's only there: the bits are the same.
    callee = llvm::Intrinsic::getOrInsertDeclaration(&module_.module, id);
  }
  const auto fits = [&](llvm::Type* from, llvm::Type* to) {
    return from == to || llvm::CastInst::isBitCastable(from, to);
  };
  bool matches = callee && callee->arg_size() == args.size() &&
                 fits(callee->getReturnType(), wanted->getReturnType());
  for (std::size_t i = 0; matches && i < args.size(); ++i) {
    llvm::Type* expected = callee->getFunctionType()->getParamType(static_cast<unsigned>(i));
    matches = fits(args[i]->getType(), expected);
    if (matches) args[i] = ir_.CreateBitCast(args[i], expected);
  }
  require(matches, ErrorKind::type_mismatch, "llvm_intrinsic_signature",
          hint("compare the types of the arguments with LLVM's language reference"), call.span,
          "{}: '{}' takes other arguments than the {} given", call.op.name(), name, args.size());
  llvm::Value* made = ir_.CreateCall(callee, args);
  return call.dtype.is_void() ? made : ir_.CreateBitCast(made, wanted->getReturnType());
}

/// Lane i is true while base + i < limit.
llvm::Value* Emitter::active_lanes(const Call& call) {
  llvm::Value* base = value(call.args[0]);
  llvm::Value* left = ir_.CreateSub(value(call.args[1]), base);
  const int lanes = call.dtype.lanes;
  std::vector<llvm::Constant*> counts;
  for (int lane = 0; lane < lanes; ++lane) counts.push_back(int_like(base, lane));
  return ir_.CreateICmpSGT(broadcast(left, lanes), llvm::ConstantVector::get(counts));
}

}  // namespace loopsmith::detail
