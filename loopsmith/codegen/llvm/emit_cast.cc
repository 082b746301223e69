// SPDX-License-Identifier: Apache-2.0
// Conversions, and the formats narrower than float32.
#include <cmath>

#include "loopsmith/codegen/llvm/emitter.h"

namespace loopsmith::detail {
namespace {

/// Rounding steps must not be merged or skipped, whatever the program allows elsewhere.
class Exactly {
 public:
  explicit Exactly(llvm::IRBuilder<>& ir) : guard_(ir) { ir.clearFastMathFlags(); }

 private:
  llvm::IRBuilderBase::FastMathFlagGuard guard_;
};

/// The largest integers that float32 holds exactly.
constexpr int float32_integer_bits = 24;

}  // namespace

llvm::Value* Emitter::cast(DataType from, DataType to, llvm::Value* value) {
  if (from == to || from.is_handle()) return value;
  const Exactly exactly(ir_);
  llvm::Type* float32 = type(with_lanes_of(f32, to));
  llvm::Type* float64 = type(with_lanes_of(f64, to));
  if (from.is_integer()) {
    if (to.is_bool()) return ir_.CreateICmpNE(value, int_like(value, 0));
    if (to.is_integer()) return ir_.CreateIntCast(value, type(to), from.is_int());
    const auto convert = [&](llvm::Type* real) {
      return from.is_int() ? ir_.CreateSIToFP(value, real) : ir_.CreateUIToFP(value, real);
    };
    if (to.bits >= 32) return convert(type(to));
    if (from.bits <= float32_integer_bits) return narrow(to, convert(float32));
    return narrow(to, round_to_odd(convert(float64)));
  }
  llvm::Value* wide = widen(from, value);
  if (to.is_bool()) return ir_.CreateFCmpUNE(wide, llvm::Constant::getNullValue(wide->getType()));
  if (to.is_integer()) return saturate(to, wide);
  if (to.bits == 64) return from.bits == 64 ? wide : ir_.CreateFPExt(wide, float64);
  if (to.bits == 32) return from.bits == 64 ? ir_.CreateFPTrunc(wide, float32) : wide;
  return narrow(to, from.bits == 64 ? round_to_odd(wide) : wide);
}

/// A float32 or float64 as an integer: truncated, the nearest where it lies outside, 0 for NaN.
///
/// LLVM's intrinsics for it take vectors apart, into six instructions a lane.
llvm::Value* Emitter::saturate(DataType to, llvm::Value* value) {
  llvm::Type* real = value->getType();
  const auto power = [&](int exponent) {
    return llvm::ConstantFP::get(real, std::ldexp(1.0, exponent));
  };
  const int magnitude_bits = to.is_int() ? to.bits - 1 : to.bits;
  const int precision = real->getScalarType()->isDoubleTy() ? 53 : 24;
  const bool is_exact = magnitude_bits <= precision;  // The largest integer is a float, too.
  llvm::Value* zero = llvm::Constant::getNullValue(real);
  llvm::Value* inside;
  if (to.is_int()) {
    inside = ir_.CreateSelect(ir_.CreateFCmpORD(value, zero), value, zero);
    llvm::Value* least = ir_.CreateFNeg(power(magnitude_bits));
    inside = ir_.CreateSelect(ir_.CreateFCmpOGT(inside, least), inside, least);
  } else {
    inside = ir_.CreateSelect(ir_.CreateFCmpOGT(value, zero), value, zero);
  }
  const double above = std::ldexp(1.0, magnitude_bits);
  const double step = is_exact ? 1 : std::ldexp(1.0, magnitude_bits - precision);
  llvm::Value* most = llvm::ConstantFP::get(real, above - step);
  inside = ir_.CreateSelect(ir_.CreateFCmpOLT(inside, most), inside, most);

  // Signed conversions are the ones that most processors have.
  const bool is_signed = to.is_int() || (to.bits != 32 && to.bits != 64);
  const int bits = to.bits > 32 ? 64 : 32;
  const DataType whole{is_signed ? TypeCode::int_ : TypeCode::uint, static_cast<std::uint8_t>(bits),
                       to.lanes};
  llvm::Value* result =
      is_signed ? ir_.CreateFPToSI(inside, type(whole)) : ir_.CreateFPToUI(inside, type(whole));
  result = ir_.CreateTrunc(result, type(to));
  if (is_exact) return result;
  const auto all_bits = ~std::uint64_t{0} >> (64 - magnitude_bits);
  llvm::Value* largest = int_like(result, static_cast<std::int64_t>(all_bits));
  return ir_.CreateSelect(ir_.CreateFCmpOGE(value, power(magnitude_bits)), largest, result);
}

/// A value of a narrow float as float32, exactly; others as they are.
llvm::Value* Emitter::widen(DataType from, llvm::Value* value) {
  if (from.bits >= 32) return value;
  const Exactly exactly(ir_);
  llvm::Type* float32 = shaped_as(value, ir_.getFloatTy());
  llvm::Type* half = shaped_as(value, ir_.getHalfTy());
  llvm::Type* int16 = shaped_as(value, ir_.getInt16Ty());
  llvm::Type* int32 = shaped_as(value, ir_.getInt32Ty());
  if (from.is_bfloat16()) {
    return ir_.CreateBitCast(ir_.CreateShl(ir_.CreateZExt(value, int32), 16), float32);
  }
  if (!from.is_float8()) return ir_.CreateFPExt(value, float32);
  if (from.code == TypeCode::float8_e5m2) {
    llvm::Value* bits = ir_.CreateShl(ir_.CreateZExt(value, int16), 8);
    return ir_.CreateFPExt(ir_.CreateBitCast(bits, half), float32);
  }
  // e4m3 has one exponent bit less than half, whose bias is larger by 8; its only non-number is
  // the largest magnitude.
  llvm::Value* bits = ir_.CreateZExt(value, int16);
  llvm::Value* magnitude = ir_.CreateAnd(bits, 0x7f);
  llvm::Value* sign = ir_.CreateShl(ir_.CreateAnd(bits, 0x80), 8);
  llvm::Value* as_half = ir_.CreateBitCast(ir_.CreateOr(sign, ir_.CreateShl(magnitude, 7)), half);
  llvm::Value* scaled =
      ir_.CreateFMul(ir_.CreateFPExt(as_half, float32), llvm::ConstantFP::get(float32, 256.0));
  llvm::Value* is_nan = ir_.CreateICmpEQ(magnitude, int_like(magnitude, 0x7f));
  return ir_.CreateSelect(is_nan, llvm::ConstantFP::getNaN(float32), scaled);
}

/// A float32 rounded to a narrower float, to nearest even.
llvm::Value* Emitter::narrow(DataType to, llvm::Value* float32) {
  const Exactly exactly(ir_);
  if (to.code == TypeCode::float_) {
    return ir_.CreateFPTrunc(float32, shaped_as(float32, ir_.getHalfTy()));
  }
  llvm::Value* bits = ir_.CreateBitCast(float32, shaped_as(float32, ir_.getInt32Ty()));
  const auto constant = [&](std::int64_t value) { return int_like(bits, value); };
  if (to.is_bfloat16()) {
    llvm::Value* is_nan = ir_.CreateFCmpUNO(float32, float32);
    llvm::Value* is_odd = ir_.CreateAnd(ir_.CreateLShr(bits, 16), 1);
    llvm::Value* rounded =
        ir_.CreateLShr(ir_.CreateAdd(ir_.CreateAdd(bits, constant(0x7fff)), is_odd), 16);
    llvm::Value* quiet = ir_.CreateOr(ir_.CreateLShr(bits, 16), 0x40);
    return ir_.CreateTrunc(ir_.CreateSelect(is_nan, quiet, rounded),
                           shaped_as(float32, ir_.getInt16Ty()));
  }
  const bool is_e4m3 = to.code == TypeCode::float8_e4m3;
  const int mantissa_bits = is_e4m3 ? 3 : 2;
  const int min_exponent = is_e4m3 ? -6 : -14;  // Of a normal number.
  const int largest = is_e4m3 ? 0x7e : 0x7c;    // 448, which larger values become; infinity.
  const int nan = is_e4m3 ? 0x7f : 0x7e;
  const int dropped = 23 - mantissa_bits;

  llvm::Value* sign = ir_.CreateAnd(ir_.CreateLShr(bits, 24), 0x80);
  llvm::Value* magnitude = ir_.CreateAnd(bits, 0x7fffffff);
  // Normal: half a unit more, rounded down, ties to even; then the other exponent bias.
  llvm::Value* is_odd = ir_.CreateAnd(ir_.CreateLShr(magnitude, dropped), 1);
  llvm::Value* half_up =
      ir_.CreateAdd(ir_.CreateAdd(magnitude, constant((1 << (dropped - 1)) - 1)), is_odd);
  const int bias_change = (127 + min_exponent - 1) << mantissa_bits;
  llvm::Value* normal = ir_.CreateSub(ir_.CreateLShr(half_up, dropped), constant(bias_change));
  // Subnormal: adding a large number leaves just the bits to keep, rounded by the addition.
  const std::int64_t magic = std::int64_t{127 + min_exponent + dropped} << 23;
  llvm::Value* shifted = ir_.CreateFAdd(ir_.CreateBitCast(magnitude, float32->getType()),
                                        ir_.CreateBitCast(constant(magic), float32->getType()));
  llvm::Value* subnormal =
      ir_.CreateSub(ir_.CreateBitCast(shifted, bits->getType()), constant(magic));

  llvm::Value* is_normal =
      ir_.CreateICmpUGE(magnitude, constant(std::int64_t{127 + min_exponent} << 23));
  llvm::Value* code = ir_.CreateSelect(is_normal, normal, subnormal);
  code = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, code, constant(largest));
  llvm::Value* is_nan = ir_.CreateICmpUGT(magnitude, constant(0x7f800000));
  code = ir_.CreateOr(ir_.CreateSelect(is_nan, constant(nan), code), sign);
  return ir_.CreateTrunc(code, shaped_as(float32, ir_.getInt8Ty()));
}

/// A float64 as float32, inexact values to the neighbour whose last bit is 1, so that rounding the
/// result once more to a narrower format is as good as rounding once.
llvm::Value* Emitter::round_to_odd(llvm::Value* float64) {
  const Exactly exactly(ir_);
  llvm::Value* rounded = ir_.CreateFPTrunc(float64, shaped_as(float64, ir_.getFloatTy()));
  llvm::Value* back = ir_.CreateFPExt(rounded, float64->getType());
  llvm::Value* bits = ir_.CreateBitCast(rounded, shaped_as(float64, ir_.getInt32Ty()));
  llvm::Value* is_inexact = ir_.CreateFCmpONE(float64, back);
  llvm::Value* is_even = ir_.CreateICmpEQ(ir_.CreateAnd(bits, 1), int_like(bits, 0));
  llvm::Value* went_up =
      ir_.CreateFCmpOGT(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                        ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, float64));
  llvm::Value* step = ir_.CreateSelect(went_up, int_like(bits, -1), int_like(bits, 1));
  llvm::Value* odd =
      ir_.CreateSelect(ir_.CreateAnd(is_inexact, is_even), ir_.CreateAdd(bits, step), bits);
  return ir_.CreateBitCast(odd, rounded->getType());
}

}  // namespace loopsmith::detail
