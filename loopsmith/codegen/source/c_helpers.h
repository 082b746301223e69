// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <set>
#include <string>
#include <string_view>

#include "loopsmith/ir/data_type.h"
#include "loopsmith/ir/op.h"
#include "loopsmith/support/error.h"

namespace loopsmith::detail {

/// The functions that give operations of C the meaning of docs/semantics.md. Each is defined when
/// it is first asked for; the methods give its name.
class CHelpers {
 public:
  /// Of integers: `add sub mul div mod floordiv floormod shift_left shift_right popcount clz abs`.
  /// Of all numbers: `min max`; of float32 and float64: `fma`, `muladd`, which may round once.
  std::string operation(std::string_view name, DataType dtype);
  /// From one type to another, between those where a C cast means something else.
  std::string conversion(DataType from, DataType to);
  /// The bits of a value as those of a type of the same width.
  std::string reinterpretation(DataType from, DataType to);
  /// `load` and `store` of elements that share bytes, or take an odd number of them.
  std::string memory(std::string_view name, DataType element);
  /// Replaces a number in memory by what an operation makes of it and another, in one step.
  std::string atomic(Op atomic, DataType dtype);
  /// An instruction of NVIDIA's GPUs. Where `LS_INSTRUCTIONS` is defined, another header defines
  /// them.
  std::string instruction(std::string_view name);
  /// Reports an error to the context.
  std::string fail();

  /// Whether the language has those of cuda_instructions.h.
  void set_has_instructions(bool has) { has_instructions_ = has; }

  /// The definitions, each after those that it calls.
  const std::string& text() const { return text_; }

 private:
  bool is_new(const std::string& name) { return names_.insert(name).second; }
  std::string to_float32(DataType from);
  std::string from_float32(DataType to);
  std::string round_to_odd();

  bool has_instructions_ = false;
  std::set<std::string> names_;
  std::string text_;
};

/// `expr`, an integer of 64 bits, modulo 2^bits as a value of `dtype`.
std::string c_wrapped(DataType dtype, const std::string& expr);

}  // namespace loopsmith::detail
