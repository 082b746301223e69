// SPDX-License-Identifier: Apache-2.0
// From a function to instructions. Private to the floor.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loopsmith/arith/empty_reductions.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/interp/code.h"
#include "loopsmith/interp/interp.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/thread_axis.h"

namespace loopsmith::interp {

/// Compiles `func` into `library`, and each function that it calls; gives the former. Throws an
/// error of kind `interp` at what the interpreter cannot run.
const Code& compile(const Ptr<PrimFunc>& func, const Ptr<IRModule>& module, const Options& options,
                    Library& library);

namespace detail {

/// Where a buffer is: the pointer, extents, strides (none: compact) and offset.
struct BufferPlace {
  Register data = no_register;
  Register offset = no_register;
  std::vector<Register> shape;
  std::vector<Register> strides;
};

/// A loop over threads, in either form.
struct ThreadLoop {
  const IterVar* axis = nullptr;  ///< Null: it is none.
  Ptr<Var> var;
  Expr min, extent;
  Stmt body;
};

/// Where the index of a thread is, and how many there are.
struct ThreadIndex {
  Register index, extent;
};

/// Whether iterations of a loop over `variable` differ by a reduction axis of some block in `body`.
bool feeds_reduction(const Ref& variable, const Stmt& body);
/// Whether threads of a block are launched in `body`.
bool has_threads(const Stmt& body);
bool touches_shared_memory(const Stmt& stmt);

/// What compiling the functions of a program shares.
struct Session {
  Ptr<IRModule> module;
  const Options& options;
  Library& library;
  std::unordered_map<const PrimFunc*, Code*> done;

  Code& code_of(const Ptr<PrimFunc>& func);
};

/// Compiles one function.
///
/// Registers are a stack: a statement gives back what it took. What an expression computes is
/// remembered by identity for the rest of the statement, so that a shared node costs once.
class Compiler {
 public:
  Compiler(Session& session, const Ptr<PrimFunc>& func, Code& code)
      : session_(session), options_(session.options), func_(func), code_(code) {}

  void run();

 private:
  // compiler.cc: registers, instructions, functions.
  Register fresh(int count = 1);
  Register constant(Word word);
  Register integer(std::int64_t value) { return constant({.i = value}); }
  std::size_t emit(Instr instr);
  std::size_t here() const { return code_.instrs.size(); }
  /// Makes the instruction at `from` jump here.
  void land(std::size_t from);
  void jump_to(std::size_t target);
  [[noreturn]] void unsupported(const Object& node, std::string_view what);
  bool is_ring() const { return options_.mode == Mode::ring; }
  void take_parameters();
  void bind_or_check(const Expr& symbol, Register actual, const std::string& buffer,
                     std::string_view what);
  Value& define(const Ref& variable, Value value) { return values_[variable.get()] = value; }

  // compile_expr.cc
  Value expr(const Expr& e);
  Value new_expr(const Expr& e);
  Register scalar(const Expr& e) { return expr(e).reg; }
  Value constant_of(const Expr& e);
  Value operation(Handler handler, DataType result, DataType operand, const std::vector<Value>& of,
                  Instr instr = {});
  Value choice(const Expr& condition, const Expr& yes, const Expr& no, DataType type);
  Value shuffle(const Shuffle& node);
  Value broadcast(const Broadcast& node);
  Value logic(const Object& node, const Expr& a, const Expr& b, DataType type);
  void copy_to(Register target, Value value, int lanes);
  Value let(const Let& node);

  // compile_call.cc
  Value call(const Call& call);
  Value assumption(const Expr& condition);
  Value reinterpret(const Call& call);
  Value llvm_intrinsic(const Call& call);
  Value reduce_lanes(const Call& call);
  Value call_function(const Call& call);
  std::vector<Register> sizes_for(const Buffer& buffer, const Expr& pointer, const Call& call);
  Value access_pointer(const Call& call);
  Value active_lanes(const Call& call);
  Value atomic_update(const Call& call);

  // compile_host.cc
  Value call_host(const Call& call, bool takes_result = true);
  HostOperand host_operand(const Expr& arg);
  bool is_host_hash(const Call& call) const;

  // compile_threads.cc
  static bool is_thread_loop(const Stmt& stmt);
  void thread_loop(const Stmt& stmt);
  void bind_thread(const ThreadLoop& loop, const ThreadIndex& thread);
  void open_threads(const ThreadLoop& outer, const Stmt& stmt);
  bool run_by_first_threads(const Stmt& stmt);
  bool differs_by_thread(const Expr& value) const;
  void implied_barrier(const Stmt& stmt);
  Value barrier(const Call& call);
  Value warp_shuffle(const Call& call);

  // compile_warp.cc
  Register lane_of_thread(const Call& call);
  Register warp_of_thread();
  Ptr<Buffer> elements_behind(const Value& pointer, std::int64_t count, DataType type);
  Value taken_from(const Expr& lane, DataType type);
  void give_to_warp(const Ptr<Buffer>& elements, int count);
  Value multiply_tiles(const Call& call);
  Value multiply_shared_tiles(const Call& call, std::string_view shape);
  Value load_matrices(const Call& call);
  Value copy_tile(const Call& call);

  Value all_reduce(const Call& call);

  // compile_access.cc
  BufferPlace place_of(const Ptr<Buffer>& buffer);
  BufferPlace measure(const Ptr<Buffer>& buffer, Register data);
  void define_buffer(const Ptr<Buffer>& buffer, BufferPlace place);
  bool is_reduced(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) const;
  Access& new_access(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices,
                     const Expr& predicate, const Object& node, bool is_store);
  Value load(const BufferLoad& load);
  void store(const BufferStore& store);
  bool is_hash(const Ref& ref) const;
  void refuse_hashed_index(const Expr& index);
  Register allocate(const Ptr<Var>& pointer, DataType element, Register count,
                    std::string_view name, MemoryScope scope, bool may_be_private);
  void allocate_buffer(const Ptr<Buffer>& buffer);
  void match(const MatchBufferRegion& view);
  Register moved_pointer(const BufferPlace& place, const Buffer& view);

  // compile_stmt.cc
  void stmt(const Stmt& s);
  void new_stmt(const Stmt& s);
  void loop(const For& loop);
  /// `differs`: threads may run other iterations.
  void serial_loop(const Ptr<Var>& var, Register min, Register extent, Register step,
                   const Stmt& body, bool differs);
  void parallel_loop(const Ptr<Var>& var, Register min, Register extent, Register step,
                     const Stmt& body, bool is_vector,
                     const std::function<void(Register)>& bind = {});
  void while_loop(const While& loop);
  void if_then_else(const IfThenElse& branch);
  void assertion(const AssertStmt& node);
  void block(const BlockRealize& realize);
  void allocate_constant(const AllocateConst& node);
  void return_value(const Return& node);
  bool may_be_hash(const Expr& value) const;
  std::uint32_t next_statement() { return ++session_.library.statements; }
  std::size_t jump_unless(Register condition);
  std::size_t jump();

  /// A loop that `break` and `continue` leave.
  struct Exits {
    std::vector<std::size_t> breaks, continues;
    bool is_parallel = false;
  };

  /// Gives registers back, and forgets what was computed, at its end.
  class Scope {
   public:
    explicit Scope(Compiler& compiler)
        : compiler_(compiler),
          next_(compiler.next_),
          buffers_(compiler.defined_.size()),
          known_(std::exchange(compiler.known_, {})) {}
    ~Scope() {
      compiler_.next_ = next_;
      compiler_.known_ = std::move(known_);
      for (; compiler_.defined_.size() > buffers_; compiler_.defined_.pop_back()) {
        compiler_.buffers_.erase(compiler_.defined_.back());
      }
    }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Compiler& compiler_;
    Register next_;
    std::size_t buffers_;
    std::unordered_map<const Object*, Value> known_;
  };

  Session& session_;
  const Options& options_;
  const Ptr<PrimFunc>& func_;
  Code& code_;
  Register next_ = 0;
  Span span_;
  std::uint32_t statement_ = 0;  ///< The number of the one that is compiled; they count upwards.
  std::unordered_map<std::uint64_t, Register> constants_;
  std::unordered_map<const Object*, Value> values_;  ///< Of variables.
  std::unordered_set<const Object*> of_views_;       ///< Variables that views give a value.
  std::unordered_map<const Object*, Value> known_;   ///< Of expressions.
  std::vector<Expr> meanings_;                       ///< Of intrinsics; `known_` has their nodes.
  std::vector<Stmt> loops_of_instructions_;          ///< What they do, as loops.
  std::vector<Expr> kept_;                           ///< Those, so that none has another's address.
  std::unordered_map<const Object*, BufferPlace> buffers_;
  std::vector<const Object*> defined_;                   ///< The keys of `buffers_`, in order.
  std::unordered_set<const Object*> reduction_buffers_;  ///< That the block around reduces into.
  std::vector<const BufferStore*> block_stores_;  ///< Of the block around, not of inner ones.
  /// The store x = x + e that is compiled, and the kind of the operator; null: there is none.
  const BufferStore* accumulator_ = nullptr;
  std::uint16_t accumulates_ = 0;
  std::unordered_set<const Object*> hashed_;  ///< Variables that may be hashes.
  std::vector<Exits> exits_;
  /// Where jumps out of an assumption start; null: none is compiled.
  std::vector<std::size_t>* assumption_exits_ = nullptr;
  arith::EmptyReductions empty_reductions_;

  // Threads.
  bool has_threads_ = false, implies_barriers_ = false;
  const ThreadRegion* region_ = nullptr;       ///< Of the threads that run what is compiled.
  bool is_uniform_ = true;                     ///< All of them get here.
  std::unordered_set<ThreadAxis> bound_axes_;  ///< Of the region, with loops around.
  std::unordered_map<ThreadAxis, ThreadIndex> threads_;
  std::unordered_map<const Object*, ThreadAxis> thread_axes_;  ///< Of variables.
  std::unordered_set<const Object*> differing_;  ///< Variables whose values may differ by thread.
  Ptr<CommReducer> combiner_;                    ///< Of the `reduce_scope` around.
};

}  // namespace detail
}  // namespace loopsmith::interp
