// SPDX-License-Identifier: Apache-2.0
// From a function in flat form to LLVM's IR. One class, because all parts share the builder and the
// variables; each group of methods has its own emit_*.cc.
#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loopsmith/codegen/host_call.h"
#include "loopsmith/codegen/llvm/aliasing.h"
#include "loopsmith/codegen/llvm/types.h"
#include "loopsmith/codegen/options.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
struct MathFunction;
}

namespace loopsmith::detail {

class DebugLines;

/// One index for an access to a buffer of any number of axes, row-major.
Expr flat_index(const Buffer& buffer, const std::vector<Expr>& indices);

/// An integer `value + ahead` in 64 bits, and what is known of `value`: at most 2^bits in
/// magnitude, a multiple of `multiple`.
///
/// Indices are computed so, because an address needs 64 bits, and sums that cannot overflow may be
/// rearranged by LLVM. An index of 32 bits that overflows is a mistake of the program.
struct Index {
  llvm::Value* value = nullptr;
  int bits = 63;
  std::int64_t multiple = 1;
  std::int64_t ahead = 0;  ///< Other than 0 only in what `place` gives, and what is bound to that.
};

/// What the functions of one module share.
struct ModuleEmitter {
  ModuleEmitter(llvm::Module& module, const FloatOptions& floats, int x86_vector_bits);

  llvm::Module& module;
  llvm::LLVMContext& context;
  FloatOptions floats;
  DebugLines* debug = nullptr;     ///< Null: instructions get no marks.
  int x86_vector_bits;             ///< Of the widest vectors with instructions; 0: no x86.
  llvm::FunctionType* entry_type;  ///< ls_packed_function
  llvm::FunctionType* body_type;   ///< ls_body

  /// `int32 ls.fail(context, code, parameter, dimension, expected, actual, message)`: hands an
  /// error to the context and gives its code.
  llvm::Function* fail();
  /// A constant that holds `text` and a zero.
  llvm::Constant* text(std::string_view text);
  llvm::Function* new_function(llvm::FunctionType* type, const std::string& name, bool is_internal);
};

/// Emits one function of LLVM's IR: an entry or the body of a parallel loop.
class Emitter {
 public:
  Emitter(ModuleEmitter& module, const Aliasing& aliasing, llvm::Function* function);

  llvm::IRBuilder<>& builder() { return ir_; }
  void set_context(llvm::Value* context) { context_ = context; }
  /// The function gives a value, which it stores there.
  void set_result(llvm::Value* place) { result_ = place; }
  void bind(const Ptr<Var>& var, llvm::Value* value);
  /// The same for a size, which is never negative.
  void bind_size(const Ptr<Var>& var, llvm::Value* value);
  bool is_bound(const Ptr<Var>& var) const { return variables_.contains(var.get()); }
  void statement(const Stmt& stmt);
  llvm::Value* value(const Expr& expr);
  Index index(const Expr& expr);
  llvm::Value* cast(DataType from, DataType to, llvm::Value* value);
  /// Leaves the function with `code`, giving back what it holds.
  void leave(llvm::Value* code);
  /// Leaves the function with an error unless `ok`.
  void leave_unless(llvm::Value* ok, int code, int parameter, int dimension, llvm::Value* expected,
                    llvm::Value* actual, llvm::Value* message);
  /// Ends the function with success.
  void finish();
  /// True when the function only starts parallel loops: beside them, its own code takes no time.
  bool is_brief() const { return starts_threads_ && !repeats_; }

 private:
  struct Variable {
    llvm::Value* value = nullptr;  ///< Null: `index`, narrowed where it is asked for.
    Index index;  ///< Of an integer; its value is null where only `value` is known.
    bool is_non_negative = false;
  };
  /// Memory to give back.
  struct Held {
    llvm::Value* memory;
    llvm::Value* size;
  };
  /// Where `break` and `continue` go.
  struct LoopExits {
    llvm::BasicBlock* next;
    llvm::BasicBlock* end;  ///< Null: a parallel loop, which cannot be left.
    std::size_t held;
  };
  /// How an access walks through memory.
  struct Access {
    llvm::Value* base;
    DataType element;
    Ref pointer;
    std::int64_t alignment;
    bool is_non_temporal = false;
  };
  using Combine = std::function<llvm::Value*(llvm::Value*, llvm::Value*)>;

  // emit_expr.cc
  llvm::Value* new_value(const Expr& expr);
  llvm::Value* constant(const IntImm& imm);
  llvm::Value* constant(const FloatImm& imm);
  llvm::Value* variable(const Var& var);
  llvm::Value* ramp(const Ramp& ramp);
  llvm::Value* broadcast(llvm::Value* scalar, int lanes);
  llvm::Value* shuffle(const Shuffle& shuffle);
  llvm::Value* select(const Select& select);
  llvm::Value* choose(const Expr& condition, const Expr& yes, const Expr& no);
  llvm::Value* branch(const Expr& condition, const Expr& yes, const Expr& no);
  llvm::Value* compare(const Expr& expr, const Expr& a, const Expr& b);
  llvm::Value* join(const std::vector<llvm::Value*>& vectors);
  llvm::Value* lanes_of(llvm::Value* vector, const std::vector<int>& lanes);
  bool is_non_negative(const Expr& expr) const;
  /// Runs `emit`, then forgets the values that it made: they are not known elsewhere.
  void in_branch(const std::function<void()>& emit);

  // emit_arith.cc
  llvm::Value* add(DataType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* subtract(DataType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* multiply(DataType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(const Expr& a, const Expr& b);
  llvm::Value* divide_integers(const Expr& a, const Expr& b, bool remainder);
  llvm::Value* divide_vectors(llvm::Value* left, llvm::Value* right, bool is_signed,
                              bool remainder);
  llvm::Value* quotient(llvm::Value* left, llvm::Value* right, const std::int64_t* divisor,
                        bool is_signed, bool remainder);
  llvm::Value* floor_divide(const Expr& a, const Expr& b, bool remainder);
  llvm::Value* minimum(DataType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* maximum(DataType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* extremum(DataType dtype, llvm::Value* a, llvm::Value* b, bool smaller);
  llvm::Value* x86_extremum(llvm::Value* a, llvm::Value* b, bool smaller);
  llvm::Value* shift(const Call& call, bool left);
  llvm::Value* reduce(const Expr& vector, const Combine& combine);
  /// `compute` on the operands as float32, rounded to `dtype`, where that is narrower; else as is.
  llvm::Value* in_float32(
      DataType dtype, std::span<llvm::Value* const> operands,
      const std::function<llvm::Value*(std::span<llvm::Value* const>)>& compute);
  llvm::Value* rounded_once(
      DataType dtype, std::span<llvm::Value* const> operands,
      const std::function<llvm::Value*(std::span<llvm::Value* const>)>& compute);

  // emit_cast.cc
  llvm::Value* saturate(DataType to, llvm::Value* value);
  llvm::Value* widen(DataType from, llvm::Value* value);
  llvm::Value* narrow(DataType to, llvm::Value* float32);
  llvm::Value* round_to_odd(llvm::Value* float64);

  // emit_call.cc
  llvm::Value* call(const Call& call);
  llvm::Value* prefetch(const Call& call);
  llvm::Value* math_function(const Call& call, const MathFunction& function);
  llvm::Value* absolute(const Call& call);
  llvm::Value* scaled(const Call& call);
  llvm::Value* classify(const Call& call);
  llvm::Value* precise(const Call& call);
  llvm::Value* reinterpret(const Call& call);
  llvm::Value* count_bits(const Call& call, llvm::Intrinsic::ID intrinsic);
  llvm::Value* atomic_update(const Call& call);
  llvm::Value* call_symbol(const Call& call);
  llvm::Value* call_intrinsic(const Call& call);
  llvm::Value* active_lanes(const Call& call);

  // emit_helper.cc
  llvm::Value* call_function(const Call& call);

  // emit_host_call.cc
  llvm::Value* call_host(const Call& call, ls_kind taken_as = LS_INT);
  llvm::Value* host_value(const HostOperand& operand);
  llvm::Value* stored_tensor(const PackedArray& array);
  llvm::Value* stored_sizes(const std::vector<Expr>& sizes);
  llvm::Value* stack_objects(std::size_t count, std::size_t size);
  void store_field(llvm::Value* base, std::size_t offset, llvm::Value* value);

  // emit_index.cc
  Index place(const Expr& expr);
  /// The same integer, with what is ahead added to the value.
  Index added_up(const Index& index);
  /// The first of `group` elements that one index stands for.
  Index grouped(const Index& index, int group);
  llvm::Value* element_address(const Access& access, const Index& index, bool in_bounds);
  llvm::Align alignment_of(const Access& access, const Index& index) const;
  llvm::Value* address_of(const Call& call, bool in_bounds);
  llvm::Value* access_pointer(const Call& call);

  // emit_memory.cc
  bool is_whole_on_stack(const Buffer& buffer, const std::vector<Expr>& indices);
  llvm::Value* load(const BufferLoad& load);
  void store(const BufferStore& store);
  Access access(const Ptr<Buffer>& buffer);
  llvm::Value* addresses(const Access& access, const Expr& indices, int group);
  llvm::Value* load_contiguous(const Access& access, const Index& start, int lanes,
                               llvm::Value* mask);
  void store_contiguous(const Access& access, const Index& start, llvm::Value* value,
                        llvm::Value* mask);
  bool store_past_caches(const Access& access, const Index& start, llvm::Value* stored,
                         llvm::Value* address);
  llvm::Value* load_strided(const Access& access, const Index& start, std::int64_t stride,
                            int lanes);
  llvm::Value* from_storage(DataType dtype, llvm::Value* stored);
  llvm::Value* to_storage(DataType dtype, llvm::Value* value);
  llvm::Value* mask_of(const Expr& predicate, int group);
  llvm::Value* load_if(const BufferLoad& load);
  void store_if(const BufferStore& store, llvm::Value* value);

  // emit_packed.cc
  std::pair<llvm::Value*, llvm::Value*> packed_place(const Access& access, llvm::Value* index);
  llvm::Value* load_packed(const Access& access, llvm::Value* index);
  void store_packed(const Access& access, llvm::Value* index, llvm::Value* value);
  std::vector<llvm::Value*> for_each_element(
      const Expr& indices, const Expr& predicate, int group,
      const std::function<llvm::Value*(llvm::Value* index, std::size_t element)>& visit);
  llvm::Value* load_each(const BufferLoad& load);
  void store_each(const BufferStore& store, llvm::Value* value);

  // emit_stmt.cc
  void new_statement(const Stmt& stmt);
  void let(const LetStmt& let);
  void check_assertion(const AssertStmt& assertion);
  void attribute(const AttrStmt& attribute);
  void timed(const AttrStmt& attribute);
  llvm::Value* clock();
  void if_then_else(const IfThenElse& branch);
  void in_either_case(llvm::Value* condition, const std::function<void()>& yes,
                      const std::function<void()>& no);
  void continue_at(llvm::BasicBlock* block);
  void branch_if(const Expr& condition, llvm::BasicBlock* yes, llvm::BasicBlock* no);
  void jump(bool to_end, const Stmt& stmt);
  void leave_with(const Expr& result);
  void leave_if_failed(llvm::Value* code);
  bool is_terminated() { return ir_.GetInsertBlock()->getTerminator() != nullptr; }
  llvm::BasicBlock* new_block(const char* name);

  // emit_loop.cc
  void loop(const For& loop);
  void count_loop(const For& loop, llvm::Value* begin, llvm::Value* end, bool may_be_empty);
  void loop_while(const While& loop);
  void parallel_loop(const For& loop);
  void run_iterations(const For& loop, const Emitter& outer, const std::vector<Ref>& captured,
                      llvm::StructType* layout);

  // emit_alloc.cc
  void allocate(const Allocate& allocate);
  void allocate_constant(const AllocateConst& constant);
  llvm::AllocaInst* stack_memory(llvm::Type* type);
  llvm::Value* size_in_bytes(const Allocate& allocate);
  llvm::Value* take_workspace(llvm::Value* size);
  void give_back(const Held& held);
  void release_to(std::size_t count);
  void give_back_if_reached();
  void take(const Allocate& allocate);
  std::vector<const Allocate*> take_for_all_iterations(const For& loop);
  std::optional<std::int64_t> stack_bytes_of(const Allocate& allocate) const;
  llvm::Value* context_field(llvm::Type* type, std::size_t offset);

  llvm::Type* type(DataType dtype) { return llvm_type(module_.context, dtype); }
  llvm::Value* int64(std::int64_t value) { return ir_.getInt64(static_cast<std::uint64_t>(value)); }
  /// `type` for scalars, with lanes where `like` is a vector.
  llvm::Type* shaped_as(llvm::Value* like, llvm::Type* type);
  llvm::Constant* int_like(llvm::Value* like, std::int64_t value);

  ModuleEmitter& module_;
  const Aliasing& aliasing_;
  llvm::Function* function_;
  llvm::IRBuilder<> ir_;
  llvm::Value* context_ = nullptr;
  llvm::Value* result_ = nullptr;  ///< Where the function's value goes; null: it gives none.
  std::unordered_map<const Object*, Variable> variables_;

  /// Values of nodes that occur in several places of the current statement, oldest first.
  std::unordered_map<const Object*, llvm::Value*> known_;
  std::vector<const Object*> known_order_;

  std::vector<Held> held_;
  std::vector<LoopExits> exits_;
  std::unordered_set<const Object*> taken_;  ///< Allocations whose memory loops around them hold.
  std::unordered_set<const Object*> non_temporal_;  ///< Pointers whose stores bypass the caches.
  std::int64_t stack_bytes_ = 0;
  int loop_depth_ = 0;
  bool is_loop_body_ = false;  ///< This function is the body of a parallel loop.
  bool needs_fence_ = false;
  bool starts_threads_ = false;  ///< It has parallel loops, whose bodies are other functions.
  bool repeats_ = false;         ///< It has loops of its own.
};

}  // namespace loopsmith::detail
