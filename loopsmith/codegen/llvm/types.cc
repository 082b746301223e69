// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/codegen/llvm/types.h"

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

}  // namespace loopsmith::detail
