// SPDX-License-Identifier: Apache-2.0
// Loops over the threads and the blocks of a kernel.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/thread_axis.h"

namespace loopsmith {

/// True for a loop over an axis of a launch.
bool is_launch_loop(const Stmt& stmt);

/// True when a loop over threads or blocks is in `stmt`.
bool has_launch(const Stmt& stmt);

/// True when `value` makes the threads of a block, or of each warp, wait for each other.
bool is_barrier(const Expr& value);
/// True when `value` makes the threads of a block wait for each other.
bool is_block_barrier(const Expr& value);
/// A barrier for accesses to memory of a scope: of the threads of a block, or of those of each warp
/// (`MemoryScope::warp`).
Stmt barrier(MemoryScope scope);
/// True when threads wait for each other in `stmt`.
bool has_barrier(const Stmt& stmt);

/// True of a product that four warps do together, `ptx_mma` of shape m64n...
bool multiplies_in_warpgroups(const Call& call);
/// The buffers that such products in `body` read.
std::vector<Ptr<Buffer>> operands_of_warpgroups(const Stmt& body);

/// A pointer to memory of another scope.
Ptr<Var> with_scope(const Var& pointer, MemoryScope scope);

/// The body of a loop, a definition, or memory; null of other statements.
Stmt body_of(const Stmt& around);

/// A kernel in its last form: one loop for each axis of the launch, and what each thread does.
struct Launch {
  std::vector<Ptr<For>> blocks;   ///< The loops over blocks, from the outside in.
  std::vector<Stmt> memory;       ///< The allocations that threads share, from the outside in.
  std::vector<Ptr<For>> threads;  ///< The loops over the threads of a block.
  Stmt body;
};

/// The parts of a kernel whose outermost loop is `root`, and back.
Launch launch_of(const Stmt& root);
Stmt launch_stmt(const Launch& launch);

/// What an allocation of constant size takes of shared memory whose size a launch gives, which may
/// be larger than what kernels declare; so that all parts are aligned for vectors.
std::int64_t bytes_in_shared_pool(const Allocate& allocate);
/// The annotation of an allocation that says at which byte of that memory it begins.
inline constexpr std::string_view pool_offset_key = "shared_pool_offset";
/// The annotation of an allocation that is to begin at a multiple of so many bytes.
inline constexpr std::string_view pool_alignment_key = "shared_pool_alignment";
/// What all of a launch take, after `plan_shared_pool`.
std::int64_t bytes_in_shared_pool(const Launch& launch);

}  // namespace loopsmith
