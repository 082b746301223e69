// SPDX-License-Identifier: Apache-2.0
// Arithmetic. What each operation gives in every case is docs/semantics.md; nothing here may trap.
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>

#include "loopsmith/codegen/llvm/emitter.h"

namespace loopsmith::detail {

llvm::Value* Emitter::in_float32(
    DataType dtype, std::span<llvm::Value* const> operands,
    const std::function<llvm::Value*(std::span<llvm::Value* const>)>& compute) {
  if (dtype.bits >= 32) return compute(operands);
  std::vector<llvm::Value*> wide;
  for (llvm::Value* operand : operands) wide.push_back(widen(dtype, operand));
  return narrow(dtype, compute(wide));
}

/// The same for sums, products and quotients: those of float16 are what float32 rounded would be,
/// so that a processor may take its own instructions.
llvm::Value* Emitter::rounded_once(
    DataType dtype, std::span<llvm::Value* const> operands,
    const std::function<llvm::Value*(std::span<llvm::Value* const>)>& compute) {
  const bool is_half = operands[0]->getType()->getScalarType()->isHalfTy();
  return is_half ? compute(operands) : in_float32(dtype, operands, compute);
}

llvm::Value* Emitter::add(DataType dtype, llvm::Value* a, llvm::Value* b) {
  if (dtype.is_integer()) return ir_.CreateAdd(a, b);
  return rounded_once(dtype, {{a, b}}, [&](auto x) { return ir_.CreateFAdd(x[0], x[1]); });
}

llvm::Value* Emitter::subtract(DataType dtype, llvm::Value* a, llvm::Value* b) {
  if (dtype.is_integer()) return ir_.CreateSub(a, b);
  return rounded_once(dtype, {{a, b}}, [&](auto x) { return ir_.CreateFSub(x[0], x[1]); });
}

llvm::Value* Emitter::multiply(DataType dtype, llvm::Value* a, llvm::Value* b) {
  if (dtype.is_integer()) return ir_.CreateMul(a, b);
  return rounded_once(dtype, {{a, b}}, [&](auto x) { return ir_.CreateFMul(x[0], x[1]); });
}

llvm::Value* Emitter::divide(const Expr& a, const Expr& b) {
  if (a.dtype().is_integer()) return divide_integers(a, b, /*remainder=*/false);
  llvm::Value* left = value(a);
  llvm::Value* right = value(b);
  return rounded_once(a.dtype(), {{left, right}},
                      [&](auto x) { return ir_.CreateFDiv(x[0], x[1]); });
}

llvm::Value* Emitter::divide_integers(const Expr& a, const Expr& b, bool remainder) {
  const bool is_signed = a.dtype().is_int() && !(is_non_negative(a) && is_non_negative(b));
  llvm::Value* left = value(a);
  return quotient(left, value(b), as_int(b), is_signed, remainder);
}

/// The quotient or remainder of vectors, whose divisors are neither 0 nor, if signed, -1.
///
/// No processor of ours divides vectors of integers, but all divide floats: a quotient that is no
/// integer is further from the next one, 1 part in the dividend, than rounding takes it.
llvm::Value* Emitter::divide_vectors(llvm::Value* left, llvm::Value* right, bool is_signed,
                                     bool remainder) {
  const llvm::IRBuilderBase::FastMathFlagGuard guard(ir_);
  ir_.clearFastMathFlags();
  llvm::Type* type = left->getType();
  const bool is_short = type->getScalarSizeInBits() <= 16;
  llvm::Type* real = shaped_as(left, is_short ? ir_.getFloatTy() : ir_.getDoubleTy());
  llvm::Type* whole = shaped_as(left, ir_.getInt32Ty());
  const auto converted = [&](llvm::Value* value) {
    return is_signed ? ir_.CreateSIToFP(value, real) : ir_.CreateUIToFP(value, real);
  };
  llvm::Value* exact = ir_.CreateFDiv(converted(left), converted(right));
  llvm::Value* result =
      is_signed || is_short ? ir_.CreateFPToSI(exact, whole) : ir_.CreateFPToUI(exact, whole);
  result = ir_.CreateTrunc(result, type);
  return remainder ? ir_.CreateSub(left, ir_.CreateMul(result, right)) : result;
}

/// Toward zero; by zero: 0; the smallest value by -1: itself, remainder 0.
llvm::Value* Emitter::quotient(llvm::Value* left, llvm::Value* right, const std::int64_t* divisor,
                               bool is_signed, bool remainder) {
  const bool is_float_wide = left->getType()->getScalarSizeInBits() <= 32;
  const auto operate = [&](llvm::Value* x, llvm::Value* y) {
    if (!divisor && is_float_wide && left->getType()->isVectorTy()) {
      return divide_vectors(x, y, is_signed, remainder);
    }
    if (remainder) return is_signed ? ir_.CreateSRem(x, y) : ir_.CreateURem(x, y);
    return is_signed ? ir_.CreateSDiv(x, y) : ir_.CreateUDiv(x, y);
  };
  llvm::Constant* zero = int_like(left, 0);
  if (divisor) {
    if (*divisor == 0) return zero;
    if (*divisor != -1 || !is_signed) return operate(left, right);
    return remainder ? zero : ir_.CreateNeg(left);
  }
  llvm::Value* by_zero = ir_.CreateICmpEQ(right, zero);
  llvm::Value* unsafe = by_zero;
  llvm::Value* instead = zero;
  if (is_signed) {
    // Dividing by -1 negates; the one quotient that overflows stays what it is.
    unsafe = ir_.CreateOr(by_zero, ir_.CreateICmpEQ(right, int_like(right, -1)));
    if (!remainder) instead = ir_.CreateSelect(by_zero, zero, ir_.CreateNeg(left));
  }
  llvm::Value* safe = ir_.CreateSelect(unsafe, int_like(right, 1), right);
  return ir_.CreateSelect(unsafe, instead, operate(left, safe));
}

/// Toward minus infinity; the remainder has the divisor's sign; by zero: 0.
llvm::Value* Emitter::floor_divide(const Expr& a, const Expr& b, bool remainder) {
  if (a.dtype().is_uint() || (is_non_negative(a) && is_non_negative(b))) {
    return divide_integers(a, b, remainder);
  }
  llvm::Value* left = value(a);
  llvm::Value* right = value(b);
  const std::int64_t* divisor = as_int(b);
  if (divisor && *divisor > 0 && (*divisor & (*divisor - 1)) == 0) {
    if (remainder) return ir_.CreateAnd(left, int_like(left, *divisor - 1));
    return ir_.CreateAShr(left,
                          int_like(left, __builtin_ctzll(static_cast<std::uint64_t>(*divisor))));
  }
  llvm::Constant* zero = int_like(left, 0);
  if (divisor && *divisor == 0) return zero;
  llvm::Value* truncated = quotient(left, right, divisor, /*is_signed=*/true, /*remainder=*/false);
  llvm::Value* rest = ir_.CreateSub(left, ir_.CreateMul(truncated, right));
  llvm::Value* is_inexact = ir_.CreateICmpNE(rest, zero);
  llvm::Value* signs_differ = ir_.CreateICmpSLT(ir_.CreateXor(rest, right), zero);
  llvm::Value* is_above = ir_.CreateAnd(is_inexact, signs_differ);
  if (!divisor) is_above = ir_.CreateAnd(is_above, ir_.CreateICmpNE(right, zero));
  if (!remainder) return ir_.CreateAdd(truncated, ir_.CreateSExt(is_above, left->getType()));
  llvm::Value* modulus = ir_.CreateSelect(is_above, ir_.CreateAdd(rest, right), rest);
  return divisor ? modulus : ir_.CreateSelect(ir_.CreateICmpEQ(right, zero), zero, modulus);
}

llvm::Value* Emitter::minimum(DataType dtype, llvm::Value* a, llvm::Value* b) {
  return extremum(dtype, a, b, /*smaller=*/true);
}

llvm::Value* Emitter::maximum(DataType dtype, llvm::Value* a, llvm::Value* b) {
  return extremum(dtype, a, b, /*smaller=*/false);
}

llvm::Value* Emitter::extremum(DataType dtype, llvm::Value* a, llvm::Value* b, bool smaller) {
  if (dtype.is_integer()) {
    const llvm::Intrinsic::ID of_signed = smaller ? llvm::Intrinsic::smin : llvm::Intrinsic::smax;
    const llvm::Intrinsic::ID of_unsigned = smaller ? llvm::Intrinsic::umin : llvm::Intrinsic::umax;
    return ir_.CreateBinaryIntrinsic(dtype.is_int() ? of_signed : of_unsigned, a, b);
  }
  llvm::Value* left = widen(dtype, a);
  llvm::Value* right = widen(dtype, b);
  // Compare and select is one instruction of x86, which gives `b` when either is NaN.
  const auto compare_and_select = [&] {
    llvm::Value* is_left =
        smaller ? ir_.CreateFCmpOLT(left, right) : ir_.CreateFCmpOGT(left, right);
    return ir_.CreateSelect(is_left, a, b);
  };
  if (module_.floats.no_nans) return compare_and_select();
  llvm::Value* chosen = x86_extremum(a, b, smaller);
  if (!chosen) chosen = compare_and_select();
  return ir_.CreateSelect(ir_.CreateFCmpUNO(left, left), a, chosen);
}

/// `a < b ? a : b`, or with `>`, as x86's own instruction on vectors; null where there is none.
/// LLVM would join a comparison of ours with the one for NaN, and miss the instruction.
llvm::Value* Emitter::x86_extremum(llvm::Value* a, llvm::Value* b, bool smaller) {
  const auto* shape = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  if (!shape) return nullptr;
  using llvm::Intrinsic::ID;
  struct Row {
    int bits;
    ID min_f32, max_f32, min_f64, max_f64;
  };
  static constexpr Row table[] = {
      {128, llvm::Intrinsic::x86_sse_min_ps, llvm::Intrinsic::x86_sse_max_ps,
       llvm::Intrinsic::x86_sse2_min_pd, llvm::Intrinsic::x86_sse2_max_pd},
      {256, llvm::Intrinsic::x86_avx_min_ps_256, llvm::Intrinsic::x86_avx_max_ps_256,
       llvm::Intrinsic::x86_avx_min_pd_256, llvm::Intrinsic::x86_avx_max_pd_256},
      {512, llvm::Intrinsic::x86_avx512_min_ps_512, llvm::Intrinsic::x86_avx512_max_ps_512,
       llvm::Intrinsic::x86_avx512_min_pd_512, llvm::Intrinsic::x86_avx512_max_pd_512},
  };
  const bool is_single = shape->getElementType()->isFloatTy();
  if (!is_single && !shape->getElementType()->isDoubleTy()) return nullptr;
  const int bits = static_cast<int>(shape->getNumElements()) * (is_single ? 32 : 64);
  if (bits > module_.x86_vector_bits) return nullptr;
  const auto* row = std::ranges::find(table, bits, &Row::bits);
  if (row == std::end(table)) return nullptr;
  const ID id =
      is_single ? (smaller ? row->min_f32 : row->max_f32) : (smaller ? row->min_f64 : row->max_f64);
  if (bits < 512) return ir_.CreateIntrinsic(id, {}, {a, b});
  return ir_.CreateIntrinsic(id, {}, {a, b, ir_.getInt32(/*rounding, which there is none: */ 4)});
}

/// By the width or more: 0, or the sign. A negative count is a large one.
llvm::Value* Emitter::shift(const Call& call, bool left) {
  const DataType dtype = call.dtype;
  llvm::Value* bits = value(call.args[0]);
  llvm::Value* count = value(call.args[1]);
  llvm::Constant* width = int_like(bits, dtype.bits);
  if (!left && dtype.is_int()) {
    llvm::Constant* most = int_like(bits, dtype.bits - 1);
    return ir_.CreateAShr(bits, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, count, most));
  }
  llvm::Value* shifted = left ? ir_.CreateShl(bits, count) : ir_.CreateLShr(bits, count);
  // A width that the type itself cannot hold (of int1, int2) is more than any count.
  if (width->isNullValue() || (dtype.is_int() && dtype.bits < 3)) {
    llvm::Constant* most = int_like(bits, dtype.bits - 1);
    return ir_.CreateSelect(ir_.CreateICmpULE(count, most), shifted, int_like(bits, 0));
  }
  return ir_.CreateSelect(ir_.CreateICmpULT(count, width), shifted, int_like(bits, 0));
}

/// A vector combined to a scalar: halves with each other while there are halves, then one by one.
llvm::Value* Emitter::reduce(const Expr& vector, const Combine& combine) {
  llvm::Value* rest = value(vector);
  int lanes = vector.dtype().lanes;
  std::vector<int> low;
  while (lanes > 1 && lanes % 2 == 0) {
    lanes /= 2;
    low.resize(static_cast<std::size_t>(lanes));
    std::vector<int> high(low.size());
    for (int lane = 0; lane < lanes; ++lane) {
      low[static_cast<std::size_t>(lane)] = lane;
      high[static_cast<std::size_t>(lane)] = lane + lanes;
    }
    if (lanes == 1) {
      return combine(ir_.CreateExtractElement(rest, std::uint64_t{0}),
                     ir_.CreateExtractElement(rest, std::uint64_t{1}));
    }
    rest = combine(lanes_of(rest, low), lanes_of(rest, high));
  }
  if (vector.dtype().is_scalar()) return rest;
  llvm::Value* result = ir_.CreateExtractElement(rest, std::uint64_t{0});
  for (int lane = 1; lane < lanes; ++lane) {
    result = combine(result, ir_.CreateExtractElement(rest, static_cast<std::uint64_t>(lane)));
  }
  return result;
}

}  // namespace loopsmith::detail
