// SPDX-License-Identifier: Apache-2.0
// Expressions: constants, variables, vectors, choices, comparisons; the rest is dispatched.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cmath>

#include "loopsmith/codegen/leaf.h"
#include "loopsmith/codegen/llvm/debug_lines.h"
#include "loopsmith/codegen/llvm/emitter.h"
#include "loopsmith/ir/fold.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {
namespace {

/// True when evaluating `expr` needlessly does no harm and costs little.
bool is_cheap(const Expr& expr, int depth = 0) {
  if (depth > 4) return false;
  if (is_leaf(expr)) return true;
  if (const std::uint16_t kind = expr.get()->kind; is_binary(kind)) {
    const auto& [left, right] = operands_of(expr);
    return !is_division(kind) && is_cheap(left, depth + 1) && is_cheap(right, depth + 1);
  }
  if (const auto* node = expr.as<Not>()) return is_cheap(node->a, depth + 1);
  if (const auto* node = expr.as<Cast>()) return is_cheap(node->value, depth + 1);
  if (const auto* node = expr.as<Broadcast>()) return is_cheap(node->value, depth + 1);
  return false;
}

/// A constant whose bits are all 0.
bool is_zero(const Expr& expr) {
  if (const auto* splat = expr.as<Broadcast>()) return is_zero(splat->value);
  if (const auto* imm = expr.as<FloatImm>()) return imm->value == 0 && !std::signbit(imm->value);
  return is_const_int(expr, 0);
}

}  // namespace

Emitter::Emitter(ModuleEmitter& module, const Aliasing& aliasing, llvm::Function* function)
    : module_(module), aliasing_(aliasing), function_(function), ir_(module.context) {
  ir_.SetInsertPoint(new_block("entry"));
  if (module.debug) module.debug->begin(*function);
  const FloatOptions& floats = module.floats;
  llvm::FastMathFlags flags;
  flags.setAllowContract(floats.contract);
  flags.setAllowReassoc(floats.reassociate);
  flags.setNoNaNs(floats.no_nans);
  flags.setNoInfs(floats.no_infs);
  flags.setNoSignedZeros(floats.no_signed_zeros);
  flags.setAllowReciprocal(floats.reciprocal);
  flags.setApproxFunc(floats.approximate);
  ir_.setFastMathFlags(flags);
}

llvm::Value* Emitter::value(const Expr& expr) {
  const bool is_shared = expr.get()->count.load(std::memory_order_relaxed) > 1 && !is_leaf(expr);
  if (is_shared) {
    if (const auto found = known_.find(expr.get()); found != known_.end()) return found->second;
  }
  llvm::Value* value = deep_call([&] { return new_value(expr); });
  if (is_shared) {
    known_.insert_or_assign(expr.get(), value);
    known_order_.push_back(expr.get());
  }
  return value;
}

void Emitter::in_branch(const std::function<void()>& emit) {
  const std::size_t mark = known_order_.size();
  emit();
  while (known_order_.size() > mark) {
    known_.erase(known_order_.back());
    known_order_.pop_back();
  }
}

llvm::Value* Emitter::new_value(const Expr& expr) {
  const DataType dtype = expr.dtype();
  const auto binary = [&](auto method, const auto& node) {
    llvm::Value* a = value(node.a);
    return (this->*method)(dtype, a, value(node.b));
  };
  const Object& node = *expr.get();
  switch (node.kind) {
    case kind_of<IntImm>: return constant(static_cast<const IntImm&>(node));
    case kind_of<FloatImm>: return constant(static_cast<const FloatImm&>(node));
    case kind_of<StringImm>: return module_.text(static_cast<const StringImm&>(node).value);
    case kind_of<Var>: return variable(static_cast<const Var&>(node));
    case kind_of<Cast>: {
      const auto& operand = static_cast<const Cast&>(node).value;
      return cast(operand.dtype(), dtype, value(operand));
    }
    case kind_of<Add>: return binary(&Emitter::add, static_cast<const Add&>(node));
    case kind_of<Sub>: return binary(&Emitter::subtract, static_cast<const Sub&>(node));
    case kind_of<Mul>: return binary(&Emitter::multiply, static_cast<const Mul&>(node));
    case kind_of<Min>: return binary(&Emitter::minimum, static_cast<const Min&>(node));
    case kind_of<Max>: return binary(&Emitter::maximum, static_cast<const Max&>(node));
    case kind_of<Div>: {
      const auto& division = static_cast<const Div&>(node);
      return divide(division.a, division.b);
    }
    case kind_of<Mod>: {
      const auto& division = static_cast<const Mod&>(node);
      return divide_integers(division.a, division.b, /*remainder=*/true);
    }
    case kind_of<FloorDiv>: {
      const auto& division = static_cast<const FloorDiv&>(node);
      return floor_divide(division.a, division.b, /*remainder=*/false);
    }
    case kind_of<FloorMod>: {
      const auto& division = static_cast<const FloorMod&>(node);
      return floor_divide(division.a, division.b, /*remainder=*/true);
    }
    case kind_of<EQ>: return compare(expr, expr.as<EQ>()->a, expr.as<EQ>()->b);
    case kind_of<NE>: return compare(expr, expr.as<NE>()->a, expr.as<NE>()->b);
    case kind_of<LT>: return compare(expr, expr.as<LT>()->a, expr.as<LT>()->b);
    case kind_of<LE>: return compare(expr, expr.as<LE>()->a, expr.as<LE>()->b);
    case kind_of<GT>: return compare(expr, expr.as<GT>()->a, expr.as<GT>()->b);
    case kind_of<GE>: return compare(expr, expr.as<GE>()->a, expr.as<GE>()->b);
    case kind_of<And>: {
      // What follows a condition may be a load that only the condition makes safe.
      const auto& both = static_cast<const And&>(node);
      if (dtype.is_scalar() && !is_cheap(both.b)) return branch(both.a, both.b, false);
      return ir_.CreateAnd(value(both.a), value(both.b));
    }
    case kind_of<Or>: {
      const auto& either = static_cast<const Or&>(node);
      if (dtype.is_scalar() && !is_cheap(either.b)) return branch(either.a, true, either.b);
      return ir_.CreateOr(value(either.a), value(either.b));
    }
    case kind_of<Not>: return ir_.CreateNot(value(static_cast<const Not&>(node).a));
    case kind_of<Select>: return select(static_cast<const Select&>(node));
    case kind_of<Ramp>: return ramp(static_cast<const Ramp&>(node));
    case kind_of<Broadcast>: {
      const auto& splat = static_cast<const Broadcast&>(node);
      return broadcast(value(splat.value), static_cast<int>(splat.lanes));
    }
    case kind_of<Shuffle>: return shuffle(static_cast<const Shuffle&>(node));
    case kind_of<Let>: {
      const auto& let = static_cast<const Let&>(node);
      bind(let.var, value(let.value));
      return value(let.body);
    }
    case kind_of<Call>: return call(static_cast<const Call&>(node));
    case kind_of<BufferLoad>: return load(static_cast<const BufferLoad&>(node));
    default: break;
  }
  check(false, "codegen", "an expression {} was not lowered", node_info(node).name);
  return nullptr;
}

llvm::Value* Emitter::constant(const IntImm& imm) {
  return llvm::ConstantInt::get(type(imm.dtype), static_cast<std::uint64_t>(imm.value),
                                /*IsSigned=*/true, /*ImplicitTrunc=*/true);
}

llvm::Value* Emitter::constant(const FloatImm& imm) {
  if (imm.dtype.is_bfloat16() || imm.dtype.is_float8()) {
    return llvm::ConstantInt::get(type(imm.dtype), bits_of(imm.dtype, imm.value));
  }
  return llvm::ConstantFP::get(type(imm.dtype), imm.value);
}

void Emitter::bind(const Ptr<Var>& var, llvm::Value* value) {
  Variable known{.value = value, .index = {}, .is_non_negative = var->is_size};
  if (var->dtype.is_index() && var->dtype.is_scalar()) {
    known.index = {ir_.CreateSExt(value, ir_.getInt64Ty()), std::min<int>(var->dtype.bits, 63)};
  }
  variables_.insert_or_assign(var.get(), known);
}

void Emitter::bind_size(const Ptr<Var>& var, llvm::Value* value) {
  bind(var, value);
  variables_[var.get()].is_non_negative = true;
}

llvm::Value* Emitter::variable(const Var& var) {
  const auto found = variables_.find(&var);
  check(found != variables_.end(), "codegen", "variable {} is used but not defined", var.name);
  const Variable& known = found->second;
  return known.value ? known.value : ir_.CreateTrunc(added_up(known.index).value, type(var.dtype));
}

llvm::Value* Emitter::broadcast(llvm::Value* scalar, int lanes) {
  return lanes == 1 ? scalar : ir_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar);
}

llvm::Value* Emitter::ramp(const Ramp& ramp) {
  const int lanes = static_cast<int>(ramp.lanes);
  llvm::Value* base = value(ramp.base);
  llvm::Value* stride = value(ramp.stride);
  if (lanes == 1) return base;
  std::vector<llvm::Constant*> counts;
  for (int lane = 0; lane < lanes; ++lane) {
    counts.push_back(llvm::ConstantInt::get(base->getType(), static_cast<std::uint64_t>(lane),
                                            /*IsSigned=*/false, /*ImplicitTrunc=*/true));
  }
  llvm::Value* steps = ir_.CreateMul(llvm::ConstantVector::get(counts), broadcast(stride, lanes));
  return ir_.CreateAdd(broadcast(base, lanes), steps);
}

llvm::Value* Emitter::lanes_of(llvm::Value* vector, const std::vector<int>& lanes) {
  return ir_.CreateShuffleVector(vector, lanes);
}

llvm::Value* Emitter::join(const std::vector<llvm::Value*>& vectors) {
  llvm::Type* element = vectors[0]->getType()->getScalarType();
  std::vector<llvm::Value*> scalars;
  for (llvm::Value* vector : vectors) {
    const auto* shape = llvm::dyn_cast<llvm::FixedVectorType>(vector->getType());
    for (unsigned lane = 0; lane < (shape ? shape->getNumElements() : 1); ++lane) {
      scalars.push_back(shape ? ir_.CreateExtractElement(vector, lane) : vector);
    }
  }
  llvm::Value* joined = llvm::PoisonValue::get(
      llvm::FixedVectorType::get(element, static_cast<unsigned>(scalars.size())));
  for (std::size_t lane = 0; lane < scalars.size(); ++lane) {
    joined = ir_.CreateInsertElement(joined, scalars[lane], lane);
  }
  return joined;
}

llvm::Value* Emitter::shuffle(const Shuffle& shuffle) {
  std::vector<int> lanes;
  for (const Expr& index : shuffle.indices) lanes.push_back(static_cast<int>(*as_int(index)));
  std::vector<llvm::Value*> vectors;
  for (const Expr& vector : shuffle.vectors) vectors.push_back(value(vector));
  const bool is_pair = vectors.size() == 2 && vectors[0]->getType()->isVectorTy() &&
                       vectors[0]->getType() == vectors[1]->getType();
  llvm::Value* source = nullptr;
  if (is_pair) {
    source = ir_.CreateShuffleVector(vectors[0], vectors[1], lanes);
  } else if (vectors.size() == 1 && vectors[0]->getType()->isVectorTy()) {
    source = lanes_of(vectors[0], lanes);
  } else {
    source = lanes_of(join(vectors), lanes);
  }
  return shuffle.dtype.is_scalar() ? ir_.CreateExtractElement(source, std::uint64_t{0}) : source;
}

llvm::Value* Emitter::select(const Select& select) {
  llvm::Value* yes = value(select.true_value);
  // What a mask leaves out is read as 0 already.
  const auto* load = select.true_value.as<BufferLoad>();
  if (load && load->predicate.defined() && !is_whole_on_stack(*load->buffer, load->indices) &&
      is_zero(select.false_value) && structural_equal(load->predicate, select.condition)) {
    return yes;
  }
  llvm::Value* no = value(select.false_value);
  return ir_.CreateSelect(value(select.condition), yes, no);
}

llvm::Value* Emitter::choose(const Expr& condition, const Expr& yes, const Expr& no) {
  if (condition.dtype().is_scalar() && !(is_cheap(yes) && is_cheap(no))) {
    return branch(condition, yes, no);
  }
  llvm::Value* true_value = value(yes);
  llvm::Value* false_value = value(no);
  return ir_.CreateSelect(value(condition), true_value, false_value);
}

llvm::Value* Emitter::branch(const Expr& condition, const Expr& yes, const Expr& no) {
  llvm::BasicBlock* yes_block = new_block("yes");
  llvm::BasicBlock* no_block = new_block("no");
  llvm::BasicBlock* end = new_block("end");
  branch_if(condition, yes_block, no_block);
  const auto arm = [&](llvm::BasicBlock* block, const Expr& expr) {
    ir_.SetInsertPoint(block);
    llvm::Value* result = nullptr;
    in_branch([&] { result = value(expr); });
    llvm::BasicBlock* last = ir_.GetInsertBlock();
    ir_.CreateBr(end);
    return std::pair(result, last);
  };
  const auto [true_value, true_end] = arm(yes_block, yes);
  const auto [false_value, false_end] = arm(no_block, no);
  ir_.SetInsertPoint(end);
  if (yes.dtype().is_void()) return true_value;
  llvm::PHINode* phi = ir_.CreatePHI(true_value->getType(), 2);
  phi->addIncoming(true_value, true_end);
  phi->addIncoming(false_value, false_end);
  return phi;
}

llvm::Value* Emitter::compare(const Expr& expr, const Expr& a, const Expr& b) {
  using Predicate = llvm::CmpInst::Predicate;
  struct Row {
    std::uint16_t kind;
    Predicate of_floats, of_signed, of_unsigned;
  };
  static constexpr Row table[] = {
      {kind_of<EQ>, Predicate::FCMP_OEQ, Predicate::ICMP_EQ, Predicate::ICMP_EQ},
      {kind_of<NE>, Predicate::FCMP_UNE, Predicate::ICMP_NE, Predicate::ICMP_NE},
      {kind_of<LT>, Predicate::FCMP_OLT, Predicate::ICMP_SLT, Predicate::ICMP_ULT},
      {kind_of<LE>, Predicate::FCMP_OLE, Predicate::ICMP_SLE, Predicate::ICMP_ULE},
      {kind_of<GT>, Predicate::FCMP_OGT, Predicate::ICMP_SGT, Predicate::ICMP_UGT},
      {kind_of<GE>, Predicate::FCMP_OGE, Predicate::ICMP_SGE, Predicate::ICMP_UGE},
  };
  const Row& row = *std::ranges::find(table, expr.get()->kind, &Row::kind);
  const DataType dtype = a.dtype();
  llvm::Value* left = value(a);
  llvm::Value* right = value(b);
  if (dtype.is_float()) {
    return ir_.CreateFCmp(row.of_floats, widen(dtype, left), widen(dtype, right));
  }
  return ir_.CreateICmp(dtype.is_int() ? row.of_signed : row.of_unsigned, left, right);
}

bool Emitter::is_non_negative(const Expr& expr) const {
  if (const std::int64_t* constant = as_int(expr)) return *constant >= 0;
  if (expr.dtype().is_uint()) return true;
  if (!expr.dtype().is_index()) return false;
  const auto both = [&](const auto& node) {
    return is_non_negative(node.a) && is_non_negative(node.b);
  };
  if (const auto* var = expr.as<Var>()) {
    const auto found = variables_.find(var);
    return found != variables_.end() && found->second.is_non_negative;
  }
  // These trees are indices: small.
  if (const auto* node = expr.as<Add>()) return both(*node);
  if (const auto* node = expr.as<Mul>()) return both(*node);
  if (const auto* node = expr.as<Min>()) return both(*node);
  if (const auto* node = expr.as<FloorDiv>()) return both(*node);
  if (const auto* node = expr.as<FloorMod>()) return is_non_negative(node->b);
  if (const auto* node = expr.as<Max>())
    return is_non_negative(node->a) || is_non_negative(node->b);
  if (const auto* node = expr.as<Cast>()) {
    return node->value.dtype().bits <= expr.dtype().bits && is_non_negative(node->value);
  }
  if (const auto* node = expr.as<Broadcast>()) return is_non_negative(node->value);
  if (const auto* node = expr.as<Ramp>()) {
    return is_non_negative(node->base) && is_non_negative(node->stride);
  }
  return false;
}

llvm::Type* Emitter::shaped_as(llvm::Value* like, llvm::Type* type) {
  const auto* shape = llvm::dyn_cast<llvm::FixedVectorType>(like->getType());
  return shape ? llvm::FixedVectorType::get(type, shape->getNumElements()) : type;
}

llvm::Constant* Emitter::int_like(llvm::Value* like, std::int64_t value) {
  return llvm::ConstantInt::get(like->getType(), static_cast<std::uint64_t>(value),
                                /*IsSigned=*/true, /*ImplicitTrunc=*/true);
}

}  // namespace loopsmith::detail
