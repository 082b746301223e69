// SPDX-License-Identifier: Apache-2.0
// What the machine runs: instructions on registers, each a function with its operands.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "loopsmith/interp/memory.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/runtime/host_function.h"

namespace loopsmith::interp {

struct Instr;
class Machine;

/// Does one instruction on the registers of the current frame; gives the next one, or null when
/// this fiber stops here.
using Handler = const Instr* (*)(const Instr* at, Word* r, Machine& machine);

/// A register: an index from the frame's base; constants lie below it.
using Register = std::int32_t;
inline constexpr Register no_register = INT32_MIN;

/// Where an expression's value is: `lanes` registers, `stride` apart.
struct Value {
  Register reg = no_register;
  std::uint8_t stride = 1;  ///< 0: all lanes are the same register.
};

/// One dimension of an access. A stride of `no_register`: compact, row-major.
struct Dimension {
  Register index, extent, stride;
};

/// An access to a buffer.
struct Access {
  Ptr<Buffer> buffer;
  DataType element;
  int element_bits = 0;
  int group = 1;                  ///< Elements of a buffer's element, if that is a vector.
  Register data = no_register;    ///< The pointer: memory, and the offset in bits after it.
  Register offset = no_register;  ///< Of the buffer's first element; none: 0.
  std::vector<Dimension> dims;
  std::uint8_t index_stride = 0;  ///< Of the lanes of the last index.
  int index_lanes = 1;
  Value mask;  ///< `no_register`: none.
  bool is_store = false;
  bool is_shared = false;  ///< By the threads of a block: the memory.
  /// Part of a block's reduction, which may run in parallel along loops that reduce.
  bool is_reduction = false;
  /// Part of x = x + e or the like: what stands for its
  /// combiner; 0 for none. Those commute.
  std::uint16_t accumulates = 0;
  bool is_atomic = false;
  std::uint32_t site = 0;
  std::uint32_t statement = 0;  ///< Which one of the program it belongs to.
  Span span;
};

/// A parallel loop, for the search of races.
struct ParallelLoop {
  std::string name;  ///< Of its variable.
  bool reduces = false;
  /// Each statement runs for all iterations before the next one does.
  bool is_vector = false;
  bool is_of_blocks = false;    ///< Its iterations are blocks of threads.
  std::uint32_t statement = 0;  ///< Its number in the program.
  Span span;
};

/// One dimension of the threads of a block.
struct ThreadDimension {
  ThreadAxis axis = ThreadAxis::thread_x;
  Register extent = no_register;
  Register index = no_register;  ///< Of each thread; it differs between them alone.
};

/// A part of a function that all threads of a block run. The first axis counts fastest.
struct ThreadRegion {
  std::vector<ThreadDimension> axes;
  ParallelLoop loop;
};

/// Which words a thread takes from which others: those that have the same index on each axis but
/// the reduced ones.
struct Gather {
  std::vector<bool> is_reduced;  ///< For each axis.
};

/// One instruction.
struct Instr {
  Handler run = nullptr;
  Register d = 0, a = 0, b = 0, c = 0;
  std::int32_t jump = 0;                ///< How many instructions ahead, where it branches.
  DataType type;                        ///< Of the operation.
  std::uint8_t unused = 0;              ///< Bits of a word that an integer of `type` leaves over.
  std::uint8_t sa = 1, sb = 1, sc = 1;  ///< Strides of the operands' lanes.
  union {
    std::int64_t number = 0;
    const void* data;
    const Access* access;
    double (*function)(double);
    double (*function2)(double, double);
  };
};

struct Code;

/// What a parameter of a function gets.
struct Parameter {
  Ptr<Var> var;
  Ptr<Buffer> buffer;  ///< Null: a scalar.
  /// A scalar: its register. A tensor: pointer (2), extents, strides.
  Register reg = 0;
};

/// A call of another function.
struct CallSite {
  const Code* callee = nullptr;
  std::uint32_t statement = 0;  ///< Which one of the program calls.
  /// For each word of the callee's parameters, the caller's register.
  std::vector<Register> arguments;
};

/// What a function of the host gets.
struct HostOperand {
  DataType type = void_type;  ///< Of a number; of the elements of memory.
  Value value;                ///< A number's lanes, or a pointer.
  bool is_memory = false;
  bool is_read_only = false;
  bool is_text = false;
  std::string text;
  /// An array, of `shape`; else memory up to its end.
  bool is_array = false;
  Register offset = no_register;  ///< Of an array in elements, from where the pointer leads to.
  std::vector<Register> shape, strides;  ///< Without strides it is compact.
};

/// A call of a function of the host.
struct HostSite {
  std::string name;
  const HostFunction* function = nullptr;
  bool takes_result = true;
  std::vector<HostOperand> operands;
};

/// The site of an allocation.
struct Allocation {
  std::string name;
  DataType element;
  bool is_per_thread = false;        ///< Allocated outside of threads, each has its own.
  bool is_per_warp = false;          ///< The same: each warp has.
  bool is_shared = false;            ///< Allocated inside of threads, all have the same.
  bool may_be_private = false;       ///< See `Memory`.
  bool may_be_of_blocks = false;     ///< See `Memory`.
  std::vector<Word> constants = {};  ///< Of constant memory.
};

/// A function as instructions.
struct Code {
  std::string name;
  Ptr<PrimFunc> func;
  std::vector<Instr> instrs;
  std::vector<Span> spans;      ///< Of each instruction.
  std::vector<Word> constants;  ///< constants[k] is register -1 - k.
  std::int32_t registers = 0;   ///< How many above them.
  std::vector<Parameter> parameters;
  int allocations = 0;  ///< How many sites allocate.
  DataType result;

  // What instructions point to.
  std::deque<Access> accesses;
  std::deque<ParallelLoop> loops;
  std::deque<ThreadRegion> regions;
  std::deque<Gather> gathers;
  std::deque<CallSite> calls;
  std::deque<HostSite> host_sites;
  std::deque<Allocation> allocation_sites;
  std::deque<std::string> texts;
};

/// All functions of a program.
struct Library {
  std::deque<Code> codes;
  std::vector<const Access*> sites;  ///< Each access by its number; see `LastAccesses`.
  std::uint32_t statements = 0;
};

}  // namespace loopsmith::interp
