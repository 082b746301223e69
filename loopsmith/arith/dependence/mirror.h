// SPDX-License-Identifier: Apache-2.0
// A buffer that has copies of the elements of another one.
#pragma once
#include "loopsmith/ir/buffer.h"

namespace loopsmith {

/// A buffer, and another one that has copies of its elements in a part of the program.
struct Mirror {
  Ptr<Buffer> buffer;
  Ptr<Buffer> copy;
  bool keeps_indices = false;  ///< An element has the same indices in both.
};

}  // namespace loopsmith
