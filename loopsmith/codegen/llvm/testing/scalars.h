// SPDX-License-Identifier: Apache-2.0
// For tests: numbers of any type in memory, and what the table of scalar meanings says of them, in
// plain C++.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "loopsmith/ir/data_type.h"

namespace loopsmith::testing {

/// A number: `integer` of integer types, `real` of others.
struct Number {
  std::int64_t integer = 0;
  double real = 0;
};

/// How `numbers` lie in memory as elements of `dtype`.
std::vector<std::uint8_t> to_memory(DataType dtype, const std::vector<Number>& numbers);
/// The first `count` elements of `memory`.
std::vector<Number> from_memory(DataType dtype, const std::vector<std::uint8_t>& memory,
                                std::size_t count);

/// Numbers of `dtype` at which something might go wrong.
std::vector<Number> interesting(DataType dtype);

/// The same number; any two NaN are the same, zeros of different signs are not.
bool same(DataType dtype, const Number& a, const Number& b);
std::string to_string(DataType dtype, const Number& number);

/// What `name` (of a node or an intrinsic) gives for these operands.
Number reference(const std::string& name, DataType dtype, const Number& a, const Number& b);
Number reference_cast(DataType from, DataType to, const Number& value);

}  // namespace loopsmith::testing
