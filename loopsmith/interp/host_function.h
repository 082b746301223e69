// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/data_type.h"
#include "loopsmith/runtime/dlpack.h"

namespace loopsmith::interp {

/// What a program passes to a function of the host: a number, memory or a text.
struct HostArgument {
  DataType type = void_type;  ///< Of a number; of the elements of memory.
  std::int64_t integer = 0;
  double real = 0;  ///< In place of `integer`, where the type is a floating-point one.
  /// Where a pointer leads to, up to the end of its memory or of the extent that the program says;
  /// it lies there for the time of the call. Null: no pointer.
  const DLTensor* tensor = nullptr;
  bool is_read_only = false;          ///< The function may not write the memory.
  const std::string* text = nullptr;  ///< Null: no text.
};

/// A call of a function of the host.
struct HostCall {
  std::string_view name;
  DataType result = void_type;
  std::vector<HostArgument> arguments;
};

/// What it returns: a number, of the kind that `HostCall::result` asks for.
struct HostNumber {
  std::int64_t integer = 0;
  double real = 0;
};

/// Stands for a function that a program calls by its name. All memory that it is given and may
/// write counts as written afterwards.
using HostFunction = std::function<HostNumber(const HostCall&)>;

/// Functions by their names.
using HostFunctions = std::map<std::string, HostFunction, std::less<>>;

}  // namespace loopsmith::interp
