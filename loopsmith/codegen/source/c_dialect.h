// SPDX-License-Identifier: Apache-2.0
// What differs between C, and the languages like C in which kernels of GPUs are written.
#pragma once
#include <string>
#include <string_view>

#include "loopsmith/ir/data_type.h"
#include "loopsmith/ir/op.h"
#include "loopsmith/ir/target.h"

namespace loopsmith::detail {

/// A language, as data. Patterns have {} for what is put in.
struct CDialect {
  std::string_view name;      ///< Of the target, in errors.
  std::string_view prologue;  ///< Before all else in a file.
  bool is_device = false;     ///< Its functions are kernels.

  std::string_view kernel_head;    ///< Before the name; {}: the threads of a block.
  std::string_view no_alias;       ///< Of pointers that overlap no other.
  std::string_view global_space;   ///< Before the type of a pointer into memory of the device.
  std::string_view shared_space;   ///< The same for memory that the threads of a block share.
  std::string_view shared_memory;  ///< How that memory is declared.
  /// A pointer to bytes whose number a launch gives; {}: its name. Empty: there are none.
  std::string_view shared_pool = {};
  std::string_view barrier;                    ///< For shared memory.
  std::string_view global_barrier;             ///< For all memory.
  std::string_view warp_barrier = {};          ///< Of a warp. Empty: there are no warps.
  std::string_view block_index, thread_index;  ///< {0}: 0, 1, 2; {1}: x, y, z.
  /// An update in one step; {0}: the type and address, {1}: the operand, {3}: add, min, ...,
  /// {4}: Add, Min, ...
  std::string_view atomic;
  std::string_view atomic_64;  ///< The same of 64 bits.
  bool adds_floats = false;    ///< Whether floats can be added so.
  /// A copy of some elements at once; {0}: how many, {1}, {2}: the addresses of the first ones,
  /// into and from, {3}: the type of as many bytes.
  std::string_view copy;
  /// The value of another lane of a warp; {0}: empty, `up_`, `down_`; {1}: the value; {2}: the
  /// lane, or how far; {3}: how many lanes exchange. Empty: there are no warps.
  std::string_view shuffle = {};
  bool has_instructions = false;  ///< Those of cuda_instructions.h.
};

/// The language of a target: C, OpenCL C or CUDA C++.
const CDialect& dialect_of(TargetKind kind);

}  // namespace loopsmith::detail
