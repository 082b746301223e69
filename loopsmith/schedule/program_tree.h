// SPDX-License-Identifier: Apache-2.0
// A program that is edited in place: which statement stands where, and the handles to its loops and
// blocks.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/schedule/argument.h"
#include "loopsmith/schedule/cow_vector.h"
#include "loopsmith/schedule/handle_list.h"
#include "loopsmith/schedule/unique_names.h"

namespace loopsmith {

/// The number of a statement in the tree of a program.
using NodeId = std::uint32_t;
inline constexpr NodeId no_node = ~NodeId{0};

/// True when the iterations of a loop run concurrently: parallel, vectorized, or threads.
bool runs_concurrently(const For& loop);

/// True when a block has an init, and is not seen to have something to reduce.
bool may_reduce_nothing(const Block& block);

/// A function, or a statement in which others stand. A BlockRealize stands for its Block, too.
/// Statements without others inside have no node; what a block's `init` holds has none either.
struct TreeNode {
  const Object* object = nullptr;
  NodeId parent = no_node;
  NodeId first_child = no_node;  ///< In the order of their slots.
  NodeId next = no_node;         ///< The next child of the parent.
  std::uint32_t slot = 0;        ///< The place in the parent; of a function, its number.
  std::uint32_t entity = no_node;
  bool is_concurrent = false;  ///< A loop that `runs_concurrently`.
  bool may_be_empty = false;   ///< A block that `may_reduce_nothing`.
};

/// The statement in place `slot` of a node; null beyond the last.
const Stmt* statement_in(const Object& node, std::uint32_t slot);

/// The functions of a program as a tree beside it, with the loops and blocks that handles stand
/// for, also those of before. Nodes of the program without another owner are edited in place,
/// shared ones are copied first. Copies of a tree share what neither of them has changed.
class ProgramTree {
 public:
  /// The id that its handles carry.
  std::uint32_t id() const { return id_; }
  /// The number of the step that is being done, from 1.
  std::uint32_t step() const { return step_; }

  // ---- What handles mean ----

  const For& get(LoopRV loop) const;
  const Block& get(BlockRV block) const { return *realize(block).block; }
  const BlockRealize& realize(BlockRV block) const;
  /// A mark of `sample_compute_location` has a name, too.
  std::string_view name(LoopRV loop) const;
  std::string_view name(BlockRV block) const { return entities_[block.index].block_name; }

  /// The living loops (blocks) that the step which consumed it made of it; itself if it lives.
  Handles<LoopRV> became(LoopRV loop) const;
  Handles<BlockRV> became(BlockRV block) const;

  /// The blocks and loops of that name, by number.
  Handles<BlockRV> blocks_named(std::uint32_t function, std::string_view name) const;
  Handles<LoopRV> loops_named(std::uint32_t function, std::string_view name) const;
  /// The names that its blocks (loops) have, each once.
  std::vector<std::string> block_names(std::uint32_t function) const;
  std::vector<std::string> loop_names(std::uint32_t function) const;

  // ---- The tree ----

  NodeId node(LoopRV loop) const { return entities_[loop.index].node; }
  NodeId node(BlockRV block) const { return entities_[block.index].node; }
  NodeId node(const BlockOrLoop& subject) const;
  const TreeNode& at(NodeId node) const { return nodes_[node]; }
  NodeId root(std::uint32_t function) const { return functions_[function].root; }
  template <class T>
  const T* as(NodeId node) const {
    const Object* object = nodes_[node].object;
    return object->kind == kind_of<T> ? static_cast<const T*>(object) : nullptr;
  }
  LoopRV loop_at(NodeId node) const { return {id_, nodes_[node].entity}; }
  BlockRV block_at(NodeId node) const { return {id_, nodes_[node].entity}; }
  const std::string& function_name(std::uint32_t function) const {
    return functions_[function].name;
  }
  std::uint32_t function_of(NodeId node) const;
  /// True when the node has the same statement in a snapshot, with all that is inside.
  bool is_same_in(const ProgramTree& snapshot, NodeId node) const {
    return node < snapshot.nodes_.size() && snapshot.nodes_[node].object == nodes_[node].object;
  }
  /// The statement of a node, as its parent holds it.
  const Stmt& statement(NodeId node) const;

  /// True when the program has loops whose iterations run concurrently.
  bool has_concurrent_loops() const { return concurrent_loops_ > 0; }
  /// True when some block `may_reduce_nothing`.
  bool has_empty_reductions() const { return empty_reductions_ > 0; }

  /// Throws an InternalError unless the tree, names and handles fit the program.
  void check_tree() const;

  /// What was found out about a block once, and holds until its body changes.
  enum class Known : std::uint8_t { not_yet, yes, no };
  Known axes_are_injective(BlockRV block) const;
  void set_axes_are_injective(BlockRV block, Known known) const;

  // ---- Changes. They cannot fail. ----

  /// A node that may be changed in place; what is inside it as statements must stay, and so must
  /// the kind of a loop.
  For& edit(LoopRV loop);
  BlockRealize& edit_realize(BlockRV block);
  Block& edit(BlockRV block);
  Object& edit(NodeId node);
  /// A child that may be changed, of a node that already may.
  Object& edit_child(Object& parent, NodeId child);

  /// What a block of the old statement is called in the new one, where it is not the same object.
  using Renewed = std::unordered_map<const Block*, const Block*>;

  /// Puts `by` in the place of a statement. Loops over the same variables, and blocks that are the
  /// same, have the same first axis, or stand in `renewed` (old, new) keep their handles; others
  /// inside end, and become the loops and blocks that are new.
  NodeId replace(NodeId node, Stmt by, const Renewed& renewed = {});
  /// Puts a statement before or after another; makes a sequence where there is none.
  NodeId insert_before(NodeId node, Stmt stmt);
  NodeId insert_after(NodeId node, Stmt stmt);
  /// Puts a statement, of which the old body is the first inner one, in the place of a loop's body.
  void wrap_body(LoopRV loop, const std::function<Stmt(Stmt)>& around);
  /// Takes a statement away; what is left empty around it goes, too, up to the next block.
  void remove(NodeId node);
  /// Moves a block, which keeps its handle: `nest`, in which it stands anew, becomes statement
  /// `place` of the loop's body; where the block was, it is removed as `remove` does.
  void move_into(LoopRV loop, std::uint32_t place, Stmt nest, BlockRV block);
  /// Puts loops, outermost first and without bodies, in the place of those from `top` to `bottom`,
  /// which are nested without anything between them. Loops over the same variables keep their
  /// handles. Gives the new loops, all of them.
  Handles<LoopRV> replace_loops(LoopRV top, LoopRV bottom, std::vector<For> loops);

  /// A name like `name` that no loop (block, buffer) of the function has.
  std::string fresh_loop_name(std::uint32_t function, std::string_view name);
  std::string fresh_block_name(std::uint32_t function, std::string_view name);
  std::string fresh_buffer_name(std::uint32_t function, std::string_view name);

  /// The span of a new node that comes from `old`, at this step.
  Span span_from(const Span& old) const;

 protected:
  /// A loop or a block that has, or had, a handle.
  struct Entity {
    NodeId node = no_node;  ///< None: it ended.
    std::uint32_t function = 0;
    std::uint32_t next_of_name = no_node;
    std::uint32_t previous_of_name = no_node;
    std::uint32_t ended_at = 0;  ///< The step that consumed it; 0 while it lives.
    std::uint32_t successors = 0;
    std::uint32_t successors_end = 0;
    bool is_loop = false;
    mutable Known axes_are_injective = Known::not_yet;
    Ptr<Var> var;            ///< Of a loop.
    std::string block_name;  ///< Of a block.

    std::string_view name() const { return is_loop ? std::string_view(var->name) : block_name; }
  };
  struct Function {
    std::string name;
    Ptr<GlobalVar> global;
    Ptr<PrimFunc> func;
    NodeId root = no_node;
    UniqueNames loops;
    UniqueNames blocks;
    UniqueNames buffers;
    bool has_buffer_names = false;
  };

  ProgramTree() = default;
  ProgramTree(const ProgramTree&) = default;
  ProgramTree(ProgramTree&&) noexcept = default;
  ProgramTree& operator=(const ProgramTree&) = default;
  ProgramTree& operator=(ProgramTree&&) noexcept = default;
  ~ProgramTree() = default;

  /// Reads a program; all that was known before is forgotten.
  void load(const IRModule& module);
  const std::vector<Function>& functions() const { return functions_; }
  const Entity& entity(std::uint32_t number) const { return entities_[number]; }
  std::uint32_t entity_count() const { return static_cast<std::uint32_t>(entities_.size()); }
  /// The loops (blocks) that came in the place of one that ended, which may have ended, too.
  std::vector<std::uint32_t> successors(std::uint32_t entity) const;
  void set_id(std::uint32_t id) { id_ = id; }
  void set_step(std::uint32_t step) { step_ = step; }
  /// Brings the counts of loops that run concurrently, and of reductions that may be empty, up to
  /// date with the statement of a node.
  void count_kinds(NodeId node);

 private:
  /// Entities of a subtree that is being replaced, by what identifies them.
  using Detached = std::unordered_map<const Object*, std::uint32_t>;

  std::uint32_t check_node(NodeId node, const Stmt& stmt) const;
  NodeId index(const Stmt& stmt, NodeId parent, std::uint32_t slot, Detached* known);
  NodeId new_node(const Object& object, NodeId parent, std::uint32_t slot);
  void free_node(NodeId node);
  void set_next(NodeId parent, NodeId before, NodeId next);
  void link(NodeId node);
  void unlink(NodeId node);
  void enter(NodeId node, Detached* known);
  std::uint32_t new_entity(NodeId node);
  void detach(NodeId node, Detached& into);
  void end_detached(const Detached& detached, std::uint32_t first_new);
  void end(std::uint32_t entity, std::uint32_t first_new, std::uint32_t end_new);
  template <class Handle>
  Handles<Handle> living_successors(std::uint32_t entity) const;
  template <class Handle>
  Handles<Handle> named(const UniqueNames& names, std::string_view name) const;
  void load_buffer_names(Function& function);
  void add_name(UniqueNames& names, std::uint32_t entity, std::string_view name);
  void remove_name(std::uint32_t entity);
  NodeId insert(NodeId node, Stmt stmt, std::uint32_t offset);
  NodeId sequence_at(NodeId parent, std::uint32_t slot);
  NodeId insert_into(NodeId sequence, std::uint32_t at, const Stmt& stmt, Detached* known);
  void take_away(NodeId node, std::uint32_t first_new);

  std::uint32_t id_ = 0;
  std::uint32_t step_ = 0;
  std::vector<Function> functions_;
  CowVector<TreeNode> nodes_;
  NodeId free_nodes_ = no_node;
  std::uint32_t concurrent_loops_ = 0;
  std::uint32_t empty_reductions_ = 0;
  CowVector<Entity> entities_;
};

}  // namespace loopsmith
