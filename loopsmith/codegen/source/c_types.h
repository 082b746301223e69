// SPDX-License-Identifier: Apache-2.0
// How types and constants are spelled in C.
#pragma once
#include <string>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/ir/data_type.h"

namespace loopsmith::detail {

/// The C type of a scalar in a variable. Integers of odd widths are kept in the next wider type;
/// float16, bfloat16 and float8 by their bits.
std::string c_type(DataType dtype);
/// The C type of an element in memory; bool takes a byte.
std::string c_memory_type(DataType element);
/// What names of helper functions end with: `i32`, `bf16`, `e4m3`.
std::string c_suffix(DataType dtype);
/// A constant; of the narrow floats, its bits.
std::string c_constant(DataType dtype, std::int64_t value);
std::string c_constant(DataType dtype, double value);
/// `name` with what C does not have in names replaced.
std::string c_identifier(std::string_view name);
/// A text as a C string.
std::string c_string(std::string_view text);

/// True for the floats that are kept by their bits and computed in float32.
bool is_narrow_float(DataType dtype);
/// True for integers whose width is that of a C type.
bool has_c_width(DataType dtype);
/// True when all integers within the bound are known to fit into 32 bits.
bool fits_int32(const ConstIntBound& bound);
/// True for integers of fewer than 8 bits, which share bytes in memory.
bool shares_bytes(DataType element);
/// True for integers of 3, 5, 6 or 7 bytes in memory.
bool has_odd_bytes(DataType element);

}  // namespace loopsmith::detail
