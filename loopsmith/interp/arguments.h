// SPDX-License-Identifier: Apache-2.0
// Tensors and numbers as the words of a function's parameters. Private to the floor.
#pragma once
#include <deque>
#include <span>
#include <vector>

#include "loopsmith/interp/code.h"
#include "loopsmith/interp/interp.h"

namespace loopsmith::interp {

/// What the elements of a tensor of `type` are: in ring mode uint64 for floating-point types.
DLDataType dlpack_type(DataType type, Mode mode);

/// The arguments of a run. Tensors are read and written where they lie; in ring mode those of
/// integers are copied, and written back at the end.
class BoundArguments {
 public:
  BoundArguments(const Code& code, std::span<const CallArgument> arguments, const Options& options);

  /// The words of the parameters, in their order.
  const std::vector<Word>& words() const { return words_; }
  /// Writes copies back.
  void finish();

 private:
  void take_tensor(const Parameter& parameter, const CallArgument& argument);
  void take_scalar(const Parameter& parameter, const CallArgument& argument);
  Memory& memory_of(const DLTensor& tensor, const Buffer& buffer,
                    const std::vector<std::int64_t>& strides, bool is_read_only,
                    std::int64_t& offset);

  struct Copied {
    Memory* memory;
    std::byte* bytes;
    DataType element;
    std::int64_t count;
  };

  const Code& code_;
  const Options& options_;
  std::vector<Word> words_;
  std::deque<Memory> memories_;
  std::vector<Copied> copied_;
};

}  // namespace loopsmith::interp
