// SPDX-License-Identifier: Apache-2.0
// What thread_reductions.h reduces: a block, the loops over threads around it, and what it
// combines.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "loopsmith/ir/stmt.h"
#include "loopsmith/transform/warp_reduction.h"

namespace loopsmith {

/// What a reduction combines, in terms of the loops around its block.
struct ReducedTuple {
  std::vector<Ptr<Buffer>> results;
  std::vector<Expr> place;     ///< The element of each result.
  std::vector<Expr> start;     ///< What each thread begins with.
  std::vector<Expr> init;      ///< What the results begin with besides; none: that is in `start`.
  std::vector<Expr> source;    ///< What each step brings.
  bool is_idempotent = false;  ///< It has no neutral tuple: in its place, results serve as well.
  CombineTuples combine;
};

/// What a block combines; nothing where it is no reduction, or reads other results of its own.
std::optional<ReducedTuple> reduced_tuple_of(const BlockRealize& realize);

/// A block that reduces over loops which are bound to threads, and the loops around it.
struct ThreadReduction {
  Ptr<BlockRealize> realize;
  std::vector<Ptr<For>> outer;    ///< Around all that follow, bound to other axes of threads.
  std::vector<Ptr<For>> threads;  ///< The loops over the threads that are reduced over.
  std::vector<Ref> around;        ///< The statements around those, from the outside in.
  bool is_in_launch = false;      ///< Loops over threads or blocks are around them.
};

/// The first reduction over threads by a block of a wanted name.
std::optional<ThreadReduction> find_thread_reduction(
    const Stmt& body, const std::function<bool(const std::string&)>& is_wanted);

/// The groups in which warps do the reduction, whose threads are counted along x first; none where
/// it goes through memory.
std::optional<WarpGroup> warps_of(const ThreadReduction& reduction, int warp_size);

/// A launch of one block, by threads like those of the loop: what is one launch has to be in one
/// loop.
Stmt in_one_block(const For& threads, Stmt body);

/// True when `expr` uses one of the variables.
bool uses_any_of(const Ref& expr, const std::vector<Ptr<Var>>& variables);

}  // namespace loopsmith
