// SPDX-License-Identifier: Apache-2.0
// Blocks that copy a buffer into a cache or back: shared by the cache primitives.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "loopsmith/schedule/conditions.h"
#include "loopsmith/schedule/queries/affine_region.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"

namespace loopsmith {

inline constexpr Condition block_has_the_buffer{
    "block_has_the_buffer", "block {} {} no such buffer",
    "give its number among the block's reads or writes, or its name"};
inline constexpr Condition storage_scope_is_known{
    "name_is_known", "there is no storage scope {}",
    "say global, shared, shared.dyn, local, warp, or a scope of matrix fragments"};
inline constexpr Condition block_stands_in_a_block{
    "block_stands_in_a_block", "block {} has no block around it",
    "pass a block inside the root block, which holds the new buffer"};
inline constexpr Condition uses_are_declared{
    "uses_are_declared", "buffer {} is used outside of the blocks that declare it",
    "declare it among the reads or writes of a block around each use"};
inline constexpr Condition consumer_reads_the_buffer{
    "consumer_reads_the_buffer", "block {} does not read buffer {} in the scope of block {}",
    "pass blocks beside it that read the buffer"};
inline constexpr ResultChange consumer_does_not_write{
    LegalityQuestion::coherence, true, "block {} both reads and writes buffer {}",
    "use cache_inplace, which copies it there and back"};
inline constexpr ResultChange buffer_is_not_written_between{
    LegalityQuestion::coherence, false, "block {} writes buffer {} between a copy and its readers",
    "pass as consumer_blocks only blocks that read what one block has written"};
inline constexpr ResultChange copied_elements_are_written{
    LegalityQuestion::cover, false,
    "whether all elements of buffer {} that the copy for block {} takes were written before is not "
    "known",
    "let a block write each element of a box, without a condition, before they are read"};
inline constexpr ResultChange written_box_is_known{
    LegalityQuestion::cover, false,
    "which elements of buffer {} block {} writes is not known exactly",
    "let it write each element of a box, without a condition"};

/// True for the names of memories that TensorIR knows.
bool is_storage_scope(std::string_view scope);

/// A buffer of a block, and its readers and writers in the block's scope.
struct CacheSubject {
  BlockRV scope;
  SelectedBuffer selected;
  Handles<BlockRV> readers;  ///< Of the scope, by what they declare.
  Handles<BlockRV> writers;
};

/// Finds them; refuses buffers with an access that cannot be redirected to a cache. `side` is on
/// which the buffer must be, or any.
std::variant<CacheSubject, Refusal> cache_subject(const Schedule& schedule, BlockRV block,
                                                  const BufferSelector& selector,
                                                  BufferSelector::Side side,
                                                  std::string_view storage_scope);

/// The position of a copy, before or after a statement; `around` encloses it and its accesses.
struct CopyPlace {
  NodeId at = no_node;
  NodeId around = no_node;
  bool is_after = false;
};

/// The position of a copy that `consumers` read: each block of `writers` runs either before it or
/// after them. A refusal where there is none.
std::variant<CopyPlace, Refusal> place_before(const Schedule& schedule, BlockRV scope,
                                              const Ptr<Buffer>& buffer,
                                              const Handles<BlockRV>& consumers,
                                              const Handles<BlockRV>& writers);

/// The position after `writers` at which their result is copied for `readers`, none of which runs
/// in between.
std::variant<CopyPlace, Refusal> place_after(const Schedule& schedule, BlockRV scope,
                                             const Ptr<Buffer>& buffer,
                                             const Handles<BlockRV>& writers,
                                             const Handles<BlockRV>& readers);

/// The region of a copy in that place that `readers` read.
AffineRegion read_region(const Schedule& schedule, const Ptr<Buffer>& buffer,
                         const Handles<BlockRV>& readers, NodeId around);

/// The region that a read cache copies: what was written before, where that covers what is read;
/// for an input of the scope, the region that the scope declares.
AffineRegion region_to_cache(const Schedule& schedule, const CacheSubject& subject,
                             const Handles<BlockRV>& consumers, const CopyPlace& place);

/// True when a cache in that place has the shape of the box that it copies: inside blocks that are
/// not the root, where the box does not depend on loops around them. Elsewhere it has the shape of
/// its buffer.
bool is_tile(const Schedule& schedule, BlockRV scope, const CopyPlace& place,
             const AffineRegion& box);

/// A new buffer for the elements of a box, allocated in the scope.
Ptr<Buffer> allocate_cache(Schedule& schedule, BlockRV scope, const AffineRegion& box,
                           std::string_view storage_scope, bool is_tile);

/// The change from a buffer to its cache.
AccessChange change_to_cache(const AffineRegion& box, const Ptr<Buffer>& cache, bool is_tile);

/// Puts a block in its place that copies the box into the cache, or back.
///
///     for ax0, ax1 in T.grid(h, w):
///       with T.block(name):
///         v0, v1 = T.axis.remap("SS", [box.min + ax0, ax1])
///         cache[v0, v1] = buffer[v0, v1]
BlockRV insert_copy(Schedule& schedule, BlockRV scope, const CopyPlace& place,
                    const AffineRegion& box, const Ptr<Buffer>& cache, bool is_tile, bool is_back,
                    std::string_view name);

/// A nest of loops over the domains of axes around a block that has them, without a body yet:
/// loops ax0, ax1, ..., axes v0, v1, ... unless named otherwise.
struct AxesNest {
  std::vector<Ptr<Var>> loops;
  std::vector<Expr> extents;
  std::vector<Expr> values;  ///< Of the axes.
  std::vector<Ptr<IterVar>> axes;
};
AxesNest axes_nest(Schedule& schedule, std::uint32_t function,
                   const std::vector<Ptr<Range>>& domains, std::string_view loop_name = "ax",
                   std::string_view axis_name = "v");
/// The nest around a block, which is given the axes.
Stmt nest_around(const AxesNest& nest, Block block, const Expr& predicate);

/// The statement of the scope in which the block is.
NodeId nest_of(const Schedule& schedule, BlockRV scope, BlockRV block);

/// The block in a statement that was inserted.
BlockRV block_inside(const Schedule& schedule, NodeId node);

}  // namespace loopsmith
