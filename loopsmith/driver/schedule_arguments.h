// SPDX-License-Identifier: Apache-2.0
// What the methods of a schedule take: handles or names.
#pragma once
#include <array>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "loopsmith/schedule/argument.h"

namespace loopsmith::tir {

/// A value for a parameter that takes a handle or a name.
struct HandleArgument {
  Argument value;

  HandleArgument(const char* name) : value(name) {}
  HandleArgument(std::string name) : value(std::move(name)) {}
  explicit HandleArgument(Argument value) : value(std::move(value)) {}
};

/// A loop, by its handle or its name.
struct LoopArgument : HandleArgument {
  using HandleArgument::HandleArgument;
  LoopArgument(LoopRV loop) : HandleArgument(Argument(loop)) {}
};

/// A block, by its handle or its name.
struct BlockArgument : HandleArgument {
  using HandleArgument::HandleArgument;
  BlockArgument(BlockRV block) : HandleArgument(Argument(block)) {}
};

/// A block or a loop.
struct BlockOrLoopArgument : HandleArgument {
  using HandleArgument::HandleArgument;
  BlockOrLoopArgument(BlockRV block) : HandleArgument(Argument(block)) {}
  BlockOrLoopArgument(LoopRV loop) : HandleArgument(Argument(loop)) {}
};

/// A loop, or several blocks.
struct LoopOrBlocksArgument : HandleArgument {
  LoopOrBlocksArgument(LoopRV loop) : HandleArgument(Argument(loop)) {}
  LoopOrBlocksArgument(const std::vector<BlockArgument>& blocks);
  LoopOrBlocksArgument(std::initializer_list<BlockArgument> blocks)
      : LoopOrBlocksArgument(std::vector<BlockArgument>(blocks)) {}
};

/// A map of indices: `index_map(2, [](const std::vector<Expr>& i) { ... })`, or a node.
struct IndexMapArgument : HandleArgument {
  IndexMapArgument(const Ptr<IndexMap>& map) : HandleArgument(Argument(Ref(map))) {}
};

/// A tensor intrinsic by its name: one that comes with the library.
struct IntrinArgument : HandleArgument {
  IntrinArgument(const char* name) : IntrinArgument(std::string(name)) {}
  IntrinArgument(const std::string& name);
};

/// Handles that a primitive gives: `auto [io, ii] = sch.split(i, {infer, 4}).take<2>();`
template <class T>
struct Handles : std::vector<T> {
  using std::vector<T>::vector;

  /// All of them, which are `n`; an error otherwise.
  template <std::size_t n>
  std::array<T, n> take() const {
    require_count(n);
    std::array<T, n> taken;
    for (std::size_t i = 0; i < n; ++i) taken[i] = (*this)[i];
    return taken;
  }

 private:
  void require_count(std::size_t wanted) const;
};
extern template struct Handles<LoopRV>;
extern template struct Handles<BlockRV>;
extern template struct Handles<ExprRV>;

}  // namespace loopsmith::tir
