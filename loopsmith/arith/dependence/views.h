// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unordered_map>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith::dependence {

/// The buffers that blocks match to parts of others: which element of which buffer one of their
/// elements is.
class Views {
 public:
  struct Element {
    Ptr<Buffer> buffer;
    std::vector<Expr> indices;  ///< Null where a vector of them is accessed.
    bool is_any = false;        ///< It may be any element: the indices say nothing.
  };

  void add(const MatchBufferRegion& match);
  /// Of a buffer that is no view, what is given.
  Element element(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) const;

 private:
  /// A part of `buffer`: `offsets` are added to the indices.
  struct View {
    Ptr<Buffer> buffer;
    std::vector<Expr> offsets;
    std::size_t leading = 0;  ///< Dimensions of `buffer` that the view leaves out.
  };

  std::unordered_map<const Object*, View> views_;
};

}  // namespace loopsmith::dependence
