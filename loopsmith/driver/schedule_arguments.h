// SPDX-License-Identifier: Apache-2.0
// What the methods of a schedule take: handles or names.
#pragma once
#include <array>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "loopsmith/schedule/argument.h"
#include "loopsmith/schedule/size_condition.h"
#include "loopsmith/schedule/split_factor.h"

namespace loopsmith::tir {

/// A value for a parameter that takes a handle or a name.
class HandleArgument {
 public:
  HandleArgument(const char* name);
  HandleArgument(const std::string& name);
  explicit HandleArgument(Argument value);

  const Argument& value() const { return *value_; }

 private:
  // Behind a pointer: users' files compile none of the kinds of values that there are.
  std::shared_ptr<const Argument> value_;
};

/// A loop, by its handle or its name.
struct LoopArgument : HandleArgument {
  using HandleArgument::HandleArgument;
  LoopArgument(LoopRV loop);
};

/// A block, by its handle or its name.
struct BlockArgument : HandleArgument {
  using HandleArgument::HandleArgument;
  BlockArgument(BlockRV block);
};

/// A block or a loop.
struct BlockOrLoopArgument : HandleArgument {
  using HandleArgument::HandleArgument;
  BlockOrLoopArgument(BlockRV block);
  BlockOrLoopArgument(LoopRV loop);
};

/// A loop, or several blocks.
struct LoopOrBlocksArgument : HandleArgument {
  LoopOrBlocksArgument(LoopRV loop);
  LoopOrBlocksArgument(const std::vector<BlockArgument>& blocks);
  LoopOrBlocksArgument(std::initializer_list<BlockArgument> blocks);
};

/// A value of a loop: a number, an expression of sizes, or the loop that has it, as handle or name.
struct LoopValueArgument : HandleArgument {
  using HandleArgument::HandleArgument;
  LoopValueArgument(LoopRV loop);
  LoopValueArgument(int number);
  LoopValueArgument(std::int64_t number);
  LoopValueArgument(const Expr& of_sizes);
};

/// A map of indices, as a node.
struct IndexMapArgument : HandleArgument {
  IndexMapArgument(const Ptr<IndexMap>& map);
};

/// A tensor intrinsic by its name: one that comes with the library.
struct IntrinArgument : HandleArgument {
  IntrinArgument(const char* name);
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
