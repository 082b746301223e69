// SPDX-License-Identifier: Apache-2.0
// Whether a block does what a tensor intrinsic means, and on which parts of which buffers.
#pragma once
#include <string>
#include <vector>

#include "loopsmith/ir/function.h"

namespace loopsmith {

/// What a parameter of an intrinsic stands for: the box of `buffer` that starts at `start` and has
/// the shape of the parameter in its last dimensions, 1 in those before.
struct MatchedBuffer {
  Ptr<Buffer> buffer;
  std::vector<Expr> start;
  std::vector<Expr> shape;  ///< Of the parameter, with what its sizes stand for.
};

/// What the parameters stand for; what differs, where the block does something else.
struct IntrinMatch {
  std::vector<MatchedBuffer> buffers;  ///< By parameter; of a number, without a buffer.
  std::vector<Expr> numbers;           ///< By parameter; null: of a buffer, or of what is not used.
  std::vector<std::string> differences;
};

/// Compares the body of a block with a description. A parameter that is a number stands for an
/// expression that has one value in all of the block, and reads no memory; a variable that is the
/// extent of a loop, for that of the block's. Operands of commutative operators may stand in either
/// order, loops and axes of one value may be left out.
IntrinMatch match_intrin(const Block& block, const PrimFunc& description);

/// The block with the implementation in the place of its body, on the parts that were matched. What
/// keeps the implementation from working on these is added to their differences.
Block with_implementation(const Block& block, const Ptr<PrimFunc>& implementation,
                          IntrinMatch& match);

}  // namespace loopsmith
