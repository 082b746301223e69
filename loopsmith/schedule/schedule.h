// SPDX-License-Identifier: Apache-2.0
// A program while it is scheduled: its tree, the handles to it, and what has been done.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loopsmith/arith/dependence/mirror.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/schedule/cow_vector.h"
#include "loopsmith/schedule/refusal.h"
#include "loopsmith/schedule/trace.h"
#include "loopsmith/schedule/unique_names.h"
#include "loopsmith/support/error.h"

namespace loopsmith {

/// Handles that a primitive gives: `auto [io, ii] = split(sch, i, {infer, 4}).take<2>();`
template <class T>
struct Handles : std::vector<T> {
  using std::vector<T>::vector;

  template <std::size_t n>
  std::array<T, n> take() const {
    require(this->size() == n, "handles_are_that_many", hint("take as many as there are"),
            "take: {} handles, {} were asked for", this->size(), n);
    std::array<T, n> taken;
    for (std::size_t i = 0; i < n; ++i) taken[i] = (*this)[i];
    return taken;
  }
};

struct NestDependences;

/// A step whose results are those of before by the law: asked of this scope, unless a quick answer
/// settles it.
struct Preservation {
  std::uint32_t scope = ~0U;  ///< The node of the scope.
  bool is_proved = false;
};

/// A block with an init, of which a step makes two.
struct PartedInit {
  BlockRV block;    ///< Before the step the block, after it what is left of it.
  Ptr<Block> init;  ///< What does the init. Its axes are the block's spatial ones, in their order.
};

/// The number of a statement in a schedule's tree.
using NodeId = std::uint32_t;
inline constexpr NodeId no_node = ~NodeId{0};

/// True when the iterations of a loop run at once: parallel, vectorized, or threads.
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

/// Conditions that hold for each handle that is given to a primitive.
extern const Condition handle_is_of_this_schedule;
extern const Condition loop_is_alive;
extern const Condition block_is_alive;
extern const Condition step_is_not_undone;

/// What is scheduled. Nodes without another owner are edited in place, shared ones are
/// copied first. A schedule belongs to one thread.
class Schedule {
 public:
  /// Throws a UserError when the function is not well-formed. `seed` -1: a random one.
  explicit Schedule(Ptr<PrimFunc> func, std::int64_t seed = -1);
  explicit Schedule(const Ptr<IRModule>& module, std::int64_t seed = -1);
  Schedule(Schedule&&) noexcept = default;
  Schedule& operator=(Schedule&&) noexcept = default;

  /// Another schedule of the same program, with the same handles so far and a seed of its own. It
  /// costs the pointers to what the two share until one of them changes it.
  Schedule copy();
  /// The schedule as it is now, under the same id: to try steps that its user does not see.
  Schedule snapshot() const { return *this; }

  // ---- The program ----

  Ptr<IRModule> mod() const;
  /// The function that is worked on, or the only one, or `main`.
  Ptr<PrimFunc> func() const;
  /// Looks up blocks and loops in that function from here on.
  void work_on(std::string_view function);
  /// The number of the function named so; of the one worked on when it is not given.
  std::optional<std::uint32_t> function_named(std::optional<std::string_view> name = {}) const;
  const std::string& function_name(std::uint32_t function) const;

  /// Whether steps may combine the elements of a reduction in another order, which rounds floating-
  /// point numbers otherwise. They may unless told.
  bool allows_reassociation() const { return allows_reassociation_; }
  void allow_reassociation(bool allowed) { allows_reassociation_ = allowed; }

  /// Whether each step is decided by the exact check, also where a quick answer would do; that they
  /// agree is then checked, and an InternalError where they do not.
  bool verifies_quick_answers() const { return verifies_quick_answers_; }
  void verify_quick_answers(bool doubted) { verifies_quick_answers_ = doubted; }

  /// The program as it was given.
  const Ptr<IRModule>& original() const { return original_; }
  Trace trace() const { return Trace(steps_); }
  const CowVector<Step>& steps() const { return steps_; }
  /// Takes back the last steps. Handles that they made are of no use any more.
  void undo(std::size_t steps = 1);

  // ---- What handles mean ----

  std::uint32_t id() const { return id_; }
  std::optional<Refusal> refuse(LoopRV loop) const;
  std::optional<Refusal> refuse(BlockRV block) const;
  std::optional<Refusal> refuse(ExprRV hole) const;

  /// The living loops (blocks) that the step which consumed it made of it; itself if it lives.
  Handles<LoopRV> became(LoopRV loop) const;
  Handles<BlockRV> became(BlockRV block) const;

  const For& get(LoopRV loop) const;
  const Block& get(BlockRV block) const { return *realize(block).block; }
  const BlockRealize& realize(BlockRV block) const;
  std::int64_t get(ExprRV hole) const { return holes_[hole.index]; }
  /// The number behind a factor; nullopt for `infer`.
  std::optional<std::int64_t> get(const Factor& factor) const;
  /// A mark of `sample_compute_location` has a name, too.
  std::string_view name(LoopRV loop) const {
    const ComputeLocation place(loop);
    if (place.is_mark()) return place.mark() == LocationMark::root ? "root" : "inlined";
    return entities_[loop.index].var->name;
  }
  std::string_view name(BlockRV block) const { return entities_[block.index].block_name; }

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
  std::uint32_t function_of(NodeId node) const;
  /// True when the node has the same statement in a snapshot, with all that is inside.
  bool is_same_in(const Schedule& snapshot, NodeId node) const {
    return node < snapshot.nodes_.size() && snapshot.nodes_[node].object == nodes_[node].object;
  }
  /// The statement of a node, as its parent holds it.
  const Stmt& statement(NodeId node) const;

  /// True when the program has loops whose iterations run at once.
  bool has_concurrent_loops() const { return concurrent_loops_ > 0; }
  /// True when some block `may_reduce_nothing`.
  bool has_empty_reductions() const { return empty_reductions_ > 0; }

  /// Throws an InternalError unless the shadow tree, names and handles fit the program.
  void check_tree() const;

  // ---- For commits: changes. They cannot fail. ----

  /// A node that may be changed in place; what is inside it as statements must stay, and so must
  /// the kind of a loop.
  For& edit(LoopRV loop);
  /// Changes how the iterations of a loop run; `binding` is that of threads. Gives its node.
  For& set_kind(LoopRV loop, ForKind kind, Ptr<IterVar> binding = {});
  BlockRealize& edit_realize(BlockRV block);
  Block& edit(BlockRV block);
  PrimFunc& edit_function(std::uint32_t function);
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

  ExprRV add_hole(std::int64_t value);
  /// The number of the step that is being done, from 1.
  std::uint32_t step() const { return static_cast<std::uint32_t>(steps_.size()); }
  /// The span of a new node that comes from `old`, at this step.
  Span span_from(const Span& old) const;

  /// Says of the step that is being done that `copy` has copies of elements of `buffer`.
  void report_mirror(Mirror mirror) { mirrors_.push_back(std::move(mirror)); }
  /// Says of the step that is being done that a block has its init apart from here on.
  void report_parted_init(PartedInit parted) { parted_init_ = std::move(parted); }
  /// What the last step reported.
  const std::vector<Mirror>& mirrors() const { return mirrors_; }
  const std::optional<PartedInit>& parted_init() const { return parted_init_; }
  /// Keeps what `sample_*` decided in the step that is being done.
  void record_decision(Argument decision);
  /// What the sample that is being done was told by `decide_samples`, if that is for its primitive.
  std::optional<Argument> told_decision();

  // ---- For primitives as such ----

  void begin_step(const PrimitiveBase& primitive, std::vector<Argument> arguments,
                  bool reorders_reduction = false);
  void end_step(Argument result);
  /// Takes back the step that is being done, of which a part may have happened.
  void abandon_step();

  // ---- Samples ----

  /// What a sample decides: the name of its primitive, and the decision as in a trace.
  using Decision = std::pair<std::string, Argument>;
  /// Says what the samples from here on decide, in their order, whatever their calls say. One that
  /// is of another kind than its decision, or may not decide so, does not heed it; nor do those
  /// after the last decision.
  void decide_samples(std::vector<Decision> decisions);

  // ---- Random numbers ----

  /// A number in [0, 2147483647), of a linear congruential generator.
  std::int64_t next_random();
  void seed(std::int64_t seed);
  std::int64_t fork_seed();

  /// What was found out about a block once, and holds until its body changes.
  enum class Known : std::uint8_t { not_yet, yes, no };
  Known axes_are_injective(BlockRV block) const;
  void set_axes_are_injective(BlockRV block, Known known) const;

  /// True when iterations of a loop that runs them at once were found to be independent, and no
  /// step has made that doubtful since.
  bool has_independent_iterations(LoopRV loop) const;
  void set_independent_iterations(LoopRV loop, bool are_independent) const;

  /// What dependence analysis found out about the nest whose outermost loop is that node; null when
  /// there is nothing, or a step has changed the nest since.
  std::shared_ptr<const NestDependences> cached_dependences(NodeId nest) const;
  /// The same, which the schedule then forgets.
  std::shared_ptr<const NestDependences> take_cached_dependences(NodeId nest);
  void cache_dependences(NodeId nest, std::shared_ptr<const NestDependences> facts) const;
  bool has_cached_dependences() const { return !facts_.empty(); }
  /// How often nests were analysed so far: what is known of them is not looked for again.
  std::uint32_t analyses() const { return analyses_; }
  void count_analysis() const { ++analyses_; }

 private:
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
  struct Ancestor {
    std::uint32_t id;
    std::uint32_t entities;
    std::uint32_t holes;
  };
  /// Entities of a subtree that is being replaced, by what identifies them.
  using Detached = std::unordered_map<const Object*, std::uint32_t>;

  Schedule(const Schedule&) = default;
  Schedule& operator=(const Schedule&) = default;

  std::uint32_t check_node(NodeId node, const Stmt& stmt) const;
  void load();
  void load_buffer_names(Function& function);
  NodeId index(const Stmt& stmt, NodeId parent, std::uint32_t slot, Detached* known);
  NodeId new_node(const Object& object, NodeId parent, std::uint32_t slot);
  void free_node(NodeId node);
  void count_kinds(NodeId node);
  void set_next(NodeId parent, NodeId before, NodeId next);
  void link(NodeId node);
  void unlink(NodeId node);
  void enter(NodeId node, Detached* known);
  std::uint32_t new_entity(NodeId node);
  void detach(NodeId node, Detached& into);
  void end_detached(const Detached& detached, std::uint32_t first_new);
  void end(std::uint32_t entity, std::uint32_t first_new, std::uint32_t end_new);
  void add_name(UniqueNames& names, std::uint32_t entity, std::string_view name);
  void remove_name(std::uint32_t entity);
  Stmt& place_of(NodeId node);
  NodeId insert(NodeId node, Stmt stmt, std::uint32_t offset);
  NodeId sequence_at(NodeId parent, std::uint32_t slot);
  NodeId insert_into(NodeId sequence, std::uint32_t at, const Stmt& stmt, Detached* known);
  void take_away(NodeId node, std::uint32_t first_new);
  Refusal ended(std::uint32_t entity, const Condition& condition) const;
  template <class Handle>
  Handles<Handle> successors_of(std::uint32_t entity) const;
  std::optional<Refusal> refuse_foreign(std::uint32_t schedule, std::uint32_t index,
                                        std::uint32_t count, bool is_hole) const;

  std::uint32_t id_ = 0;
  std::vector<Ancestor> ancestors_;
  Ptr<IRModule> original_;
  std::vector<Function> functions_;
  std::optional<std::uint32_t> working_on_;
  CowVector<TreeNode> nodes_;
  NodeId free_nodes_ = no_node;
  std::uint32_t concurrent_loops_ = 0;
  std::uint32_t empty_reductions_ = 0;
  /// Each holds its nest: that of a nest which was changed since is another statement.
  mutable std::vector<std::pair<NodeId, std::shared_ptr<const NestDependences>>> facts_;
  mutable std::uint32_t analyses_ = 0;
  mutable std::vector<std::uint32_t> independent_loops_;  ///< Entities.
  CowVector<Entity> entities_;
  std::vector<std::int64_t> holes_;
  CowVector<Step> steps_;
  std::vector<Mirror> mirrors_;
  std::optional<PartedInit> parted_init_;
  std::shared_ptr<const std::vector<Decision>> told_;
  std::size_t next_told_ = 0;
  bool verifies_quick_answers_ = false;
  std::int64_t random_ = 1;
  bool allows_reassociation_ = true;
};

}  // namespace loopsmith
