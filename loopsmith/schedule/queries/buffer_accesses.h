// SPDX-License-Identifier: Apache-2.0
// The accesses to one buffer, and how they are rewritten in place.
#pragma once
#include <functional>
#include <vector>

#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/schedule.h"

namespace loopsmith {

/// The annotation of a block in which `storage_align` keeps rows [number of a buffer among the
/// writes, dimension, factor, offset].
inline constexpr std::string_view alignments_key = "buffer_dim_align";

/// The uses of a buffer inside a part of the program.
struct BufferAccesses {
  std::vector<NodeId> nodes;  ///< Those that use it themselves, not through nodes inside them.
  bool by_pointer = false;    ///< Its pointer is taken.
  bool by_callee = false;     ///< A function of the host gets the address of an element.
  bool by_vector = false;     ///< Some access several elements at once.
  bool by_view = false;       ///< A match_buffer views it.

  /// True when every use is a load, a store, or a declared region.
  bool by_indices_alone() const { return !by_pointer && !by_view; }
};

/// The uses inside a node.
BufferAccesses uses_of(const Schedule& schedule, NodeId node, const Ptr<Buffer>& buffer);

/// True for another buffer in the same memory.
bool is_view_of(const Ref& ref, const Buffer& buffer);

/// What accesses to a buffer become. Where a function is not given, that part stays as it is.
struct AccessChange {
  Ptr<Buffer> from;
  Ptr<Buffer> to;
  bool reads = true;
  bool writes = true;
  /// The indices in `to` for those in `from`; `known` has the ranges of axes and loops there.
  std::function<std::vector<Expr>(const std::vector<Expr>& indices, const IndexForms& known)>
      indices = {};
  std::function<std::vector<Ptr<Range>>(const std::vector<Ptr<Range>>& region,
                                        const IndexForms& known)>
      region = {};
  std::function<Expr(const Expr& load)> loaded = {};   ///< What takes the place of a new load.
  std::function<Expr(const Expr& value)> stored = {};  ///< What a new store stores.
};

/// Changes the accesses where `uses` says that they are.
void change_accesses(Schedule& schedule, const BufferAccesses& uses, const AccessChange& change);

/// The node that defines a buffer for what is inside `node`: the block that allocates it, or the
/// function that has it as a parameter; no_node for views.
NodeId owner_of(const Schedule& schedule, NodeId node, const Ptr<Buffer>& buffer);

/// A buffer and the node that defines it, as `owner_of` says.
struct DefinedBuffer {
  NodeId owner = no_node;
  Ptr<Buffer> buffer;
};

/// The buffers that a function defines: parameters first, then what blocks allocate, in order.
std::vector<DefinedBuffer> buffers_of(const Schedule& schedule, std::uint32_t function);

/// Lets the owner define `to` instead of `from`.
void replace_definition(Schedule& schedule, NodeId owner, const Ptr<Buffer>& from,
                        const Ptr<Buffer>& to);

/// The ranges of constant loops and block axes around a node, and of its own.
IndexForms known_inside(const Schedule& schedule, NodeId node);

/// `buffer` with a name and a scope of its own, compact, without what was known of its memory.
Ptr<Buffer> buffer_like(const Buffer& buffer, std::string name, std::string_view scope);

}  // namespace loopsmith
