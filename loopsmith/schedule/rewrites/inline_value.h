// SPDX-License-Identifier: Apache-2.0
// A block that computes each element of a buffer by an expression of its indices.
#pragma once
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/queries/index_form.h"

namespace loopsmith {

/// `buffer[indices] = value`, all in terms of axes.
struct ElementValue {
  Ptr<Buffer> buffer;
  std::vector<Expr> indices;
  Expr value;  ///< Variables that the block's body defines are Lets in it.
  bool defines_variables = false;
};

inline constexpr Condition body_is_one_store{
    "body_is_one_store", "block {} does not store one value of one buffer, and nothing else",
    "split what it does over several blocks"};
inline constexpr Condition block_has_no_init{"block_has_no_init", "block {} has an init",
                                             "use decompose_reduction first"};
inline constexpr Condition indices_tell_axes{
    "indices_tell_axes", "the indices {} of {} do not tell the axes of block {}",
    "let each axis, or each digit of it, be an index of its own"};

inline constexpr Condition readers_read_elements{
    "readers_read_elements", "{} is reached through its pointer or a view in block {}",
    "let it be loaded element by element"};

/// True when a block accesses the buffer only by loads and stores of single elements.
bool accesses_elements(const Block& block, const Buffer& buffer);

/// The value that a block stores, if it has no other effect.
Planned<ElementValue> element_value_of(const Schedule& schedule, BlockRV block);

/// The axes of a block in terms of the indices under which it stores: one expression for each axis,
/// in `indices`, which stand for the values of `element.indices`. Empty when these do not
/// determine them.
std::vector<Expr> axes_from_indices(const Block& block, const std::vector<Expr>& element,
                                    const std::vector<Expr>& indices);

/// Substitutes values for loads of a buffer: `value` with the axes of `producer` replaced.
class Inliner {
 public:
  Inliner(ElementValue element, Ptr<Block> producer)
      : element_(std::move(element)), producer_(std::move(producer)) {}

  /// Rewrites the statement at `place`, and recomputes the regions of the blocks around it.
  void operator()(Schedule& schedule, const Place& place) const;

 private:
  Expr value_at(const std::vector<Expr>& indices, const IndexForms& known) const;
  std::vector<Ptr<BufferRegion>> reads_after(const Block& before, const Block& after) const;

  ElementValue element_;
  Ptr<Block> producer_;
};

}  // namespace loopsmith
