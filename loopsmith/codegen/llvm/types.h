// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <llvm/IR/DerivedTypes.h>

#include <cstdint>

#include "loopsmith/codegen/float_bits.h"
#include "loopsmith/ir/data_type.h"

namespace loopsmith::detail {

/// The type of a value in registers. bfloat16 and float8 are integers that hold their bits: LLVM's
/// bfloat rounds by an instruction that flushes denormal numbers, and float8 it does not know.
llvm::Type* llvm_type(llvm::LLVMContext& context, DataType dtype);

/// The type of one element in memory: bool takes a byte, other integers whole bytes.
llvm::Type* storage_type(llvm::LLVMContext& context, DataType element);

/// True for types of fewer than 8 bits, whose elements share bytes.
bool is_packed(DataType element);

/// The same type with `dtype`'s lanes: a float32 for each.
DataType with_lanes_of(DataType element, DataType dtype);

}  // namespace loopsmith::detail
