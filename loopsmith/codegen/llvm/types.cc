// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/types.h"

#include <bit>
#include <cmath>

#include "loopsmith/support/error.h"

namespace loopsmith::detail {

llvm::Type* llvm_type(llvm::LLVMContext& context, DataType dtype) {
  llvm::Type* element = nullptr;
  if (dtype.is_void()) return llvm::Type::getVoidTy(context);
  if (dtype.is_handle()) {
    element = llvm::PointerType::getUnqual(context);
  } else if (dtype.is_integer() || dtype.is_bfloat16() || dtype.is_float8()) {
    element = llvm::IntegerType::get(context, dtype.bits);
  } else if (dtype.bits == 16) {
    element = llvm::Type::getHalfTy(context);
  } else {
    element = dtype.bits == 32 ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
  }
  return dtype.is_scalar() ? element : llvm::FixedVectorType::get(element, dtype.lanes);
}

llvm::Type* storage_type(llvm::LLVMContext& context, DataType element) {
  if (!element.is_integer()) return llvm_type(context, element);
  return llvm::IntegerType::get(context, static_cast<unsigned>(element.bytes()) * 8);
}

bool is_packed(DataType element) {
  return element.is_integer() && element.bits < 8 && !element.is_bool();
}

DataType with_lanes_of(DataType element, DataType dtype) {
  return element.with_lanes(dtype.lanes);
}

std::uint64_t bits_of(DataType element, double value) {
  const std::uint64_t sign = std::signbit(value) ? 1 : 0;
  if (element.is_bfloat16()) return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
  check(element.is_float8(), "codegen", "bits_of {}", to_string(element));
  const bool is_e4m3 = element.code == TypeCode::float8_e4m3;
  if (std::isnan(value)) return (sign << 7) | (is_e4m3 ? 0x7f : 0x7e);
  if (std::isinf(value)) return (sign << 7) | (is_e4m3 ? 0x7e : 0x7c);
  const int mantissa_bits = is_e4m3 ? 3 : 2;
  const int min_exponent = is_e4m3 ? -6 : -14;
  int exponent = 0;
  std::frexp(value, &exponent);
  const bool is_normal = value != 0 && exponent - 1 >= min_exponent;
  const int unit = (is_normal ? exponent - 1 : min_exponent) - mantissa_bits;
  const auto mantissa = static_cast<std::uint64_t>(std::ldexp(std::abs(value), -unit));
  // A normal number's leading bit adds 1 to the exponent's field.
  const std::uint64_t field =
      is_normal ? static_cast<std::uint64_t>(exponent - 1 - min_exponent) : 0;
  return (sign << 7) | ((field << mantissa_bits) + mantissa);
}

}  // namespace loopsmith::detail
