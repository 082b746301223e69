// SPDX-License-Identifier: Apache-2.0
// From a function in flat form to C99. One class, because all parts share the text and the
// variables; each group of methods has its own c_*.cc.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loopsmith/arith/const_int_bound.h"
#include "loopsmith/codegen/host_call.h"
#include "loopsmith/codegen/line_table.h"
#include "loopsmith/codegen/options.h"
#include "loopsmith/codegen/source/c_dialect.h"
#include "loopsmith/codegen/source/c_helpers.h"
#include "loopsmith/ir/function.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::detail {

/// How tightly the outermost operator of an expression of C binds.
enum class CLevel {
  choice,
  either,
  both,
  bit_or,
  equal,
  compare,
  shift,
  sum,
  product,
  unary,
  atom
};

/// An expression of C, and what is known of its value.
struct CText {
  std::string text;
  CLevel level = CLevel::atom;
  ConstIntBound bound = {};  ///< Of an integer.
  bool is_wide = false;      ///< Its C type is int64_t, whatever the width of the value.
  int depth = 0;             ///< Of operators inside.

  /// The text as an operand of an operator of `level`.
  std::string in(CLevel outer) const {
    return level < outer ? std::string("(").append(text).append(")") : text;
  }
};

/// Around the number of the line of the program that a line of C was made of, where it is marked.
inline constexpr char c_line_mark = '\x01';
/// A text without these marks, and the numbers that they say of its lines.
TextWithLines without_marks(const std::string& marked);

/// What the functions of one file share.
struct CModule {
  FloatOptions floats;
  const StatementLines* lines = nullptr;  ///< Null: lines get no marks.
  const CDialect& dialect = dialect_of(TargetKind::c);
  CHelpers helpers;
  std::string imported = {};                 ///< Code that the program brings along.
  std::string declarations;                  ///< Of what is called by name.
  std::unordered_set<std::string> declared;  ///< The names in it.
  std::string functions;
  std::unordered_set<std::string> function_names;  ///< Of the bodies of parallel loops.
  /// The functions that others call, by their names in C.
  std::unordered_map<std::string, const PrimFunc*> called;
};

/// A variable of C: `const int64_t i`, `float* A`, or for a vector `float x[8]`.
struct CVariable {
  std::string name;
  DataType dtype;
  std::string type;             ///< Of the variable; of a vector, of its elements.
  ConstIntBound bound = {};     ///< Of an integer.
  bool is_wide = false;         ///< An int64_t that may hold more than the type of the value does.
  std::string_view space = {};  ///< Of the memory behind a pointer, as the language says it.
};

/// Which lane of a vector is meant: a constant, or the C variable that counts them.
struct CLane {
  std::string text;
  int lanes = 1;  ///< How many there are.

  bool is_none() const { return text.empty(); }
};

/// Writes one function of C: an entry or the body of a parallel loop.
class CWriter {
 public:
  CWriter(CModule& module, std::string function_name, const std::unordered_set<std::string>& names);

  /// A name for a variable of C that no other has.
  std::string new_name(std::string_view wish);
  /// From here on, `var` is that variable of C.
  void bind(const Ref& var, CVariable variable) { variables_[var.get()] = std::move(variable); }
  bool is_bound(const Ref& var) const { return variables_.contains(var.get()); }
  /// The function gives a value, which it stores there.
  void set_result(std::string place) { result_ = std::move(place); }
  /// What follows is the body of a kernel.
  void begin_kernel(const Stmt& body);
  void line(std::string_view text);
  void statement(const Stmt& stmt);
  CText value(const Expr& expr, const CLane& lane = {});
  /// An integer in 64 bits, in which sums and products of indices do not overflow.
  CText index(const Expr& expr, const CLane& lane = {});
  /// `return code`, after what is held was given back.
  void leave(const std::string& code);
  /// Leaves with an error where `condition` holds.
  void leave_if(const std::string& condition, const std::string& error);
  std::string take_text() { return std::move(out_); }

 private:
  struct Held {
    std::string memory;
    std::string size;
  };
  struct LoopExit {
    std::size_t held;
    bool is_parallel;
  };
  /// Where the element of an access lies.
  struct Place {
    std::string memory;  ///< A pointer to elements of the access's type.
    CText index;
  };

  // c_device.cc
  void wait_for_threads(const Call& call);
  CText atomic_update(const Call& call);
  CText shuffle_lanes(const Call& call);
  const Ramp* neighbours(const Buffer& buffer, const std::vector<Expr>& indices,
                         const Expr& predicate) const;
  std::vector<Ptr<BufferLoad>> loads_of_neighbours(const Expr& value) const;
  bool store_neighbours(const BufferStore& store);
  CText warp_instruction_call(const Call& call);
  void start_copies(const AttrStmt& copies);
  bool start_copy(const BufferStore& store);
  void wait_for_copies(const Call& call);
  void copy_tile(const Call& call);
  void multiply_in_flight(const AttrStmt& product);
  void wait_for_products(const Call& product);
  std::string address_of_first(const Ptr<Buffer>& buffer, const Ramp& ramp);
  void copy_neighbours(const std::string& into, const std::string& from, const Ramp& ramp,
                       DataType element);
  void allocate_on_device(const Allocate& allocate);
  void refuse_on_device(const Object& node, std::string_view what, std::string_view instead) const;

  // c_expr.cc
  CText new_value(const Expr& expr, const CLane& lane);
  CText arithmetic(const Expr& expr, const Expr& a, const Expr& b, const CLane& lane);
  CText division(const Expr& expr, const Expr& a, const Expr& b, const CLane& lane);
  CText extremum(const Expr& expr, const Expr& a, const Expr& b, const CLane& lane);
  CText comparison(const Expr& expr, const Expr& a, const Expr& b, const CLane& lane);
  CText logic(const Expr& a, const Expr& b, bool is_and, const CLane& lane);
  CText choice(const Expr& condition, const Expr& yes, const Expr& no, const CLane& lane);
  CText cast(DataType from, DataType to, const CText& value);
  CText ramp(const Ramp& ramp, const CLane& lane, bool is_index);
  CText shuffle(const Shuffle& shuffle, const CLane& lane);
  CText lane_of(const Expr& vector, int lane);
  CText variable(const Var& var, const CLane& lane);
  CText widened(const Expr& expr, const CLane& lane);
  CText narrowed(DataType dtype, std::string float32, CLevel level);
  CText named(const Expr& expr, const CText& value, const CLane& lane);
  std::optional<CText> narrow_index(const Expr& expr);
  CText wide_index(const Expr& expr, const CLane& lane = {});
  void count_uses(const Expr& root);

  // c_call.cc
  CText call(const Call& call, const CLane& lane);
  CText math_function(const Call& call, std::string_view name, const CLane& lane);
  CText classify(const Call& call, const CLane& lane);
  CText reinterpret(const Call& call, const CLane& lane);
  CText reduce(const Call& call);
  CText call_symbol(const Call& call, const CLane& lane);
  CText address_of(const Call& call);
  /// The vector in memory, an element for each lane.
  std::string materialize(const Expr& vector);
  /// Stores each lane of a vector in the array `name`, which exists.
  void fill(const std::string& name, const Expr& vector);

  // c_regroup.cc
  std::string regrouped(const Call& call);
  std::string bytes_of(const Expr& value);
  /// Regroups the lanes of what `root` asks for in any case, before a loop over its lanes.
  void regroup_inside(const Expr& root);

  // c_helper.cc
  CText call_function(const Call& call);

  // c_host_call.cc
  CText call_host(const Call& call, ls_kind taken_as = LS_INT);
  std::string host_value(const HostOperand& operand);
  std::string stored_tensor(const PackedArray& array);
  std::string stored_sizes(const std::vector<Expr>& sizes);

  // c_memory.cc
  CText load(const BufferLoad& load, const CLane& lane);
  CText load_element(const Buffer& buffer, const Place& place);
  void store(const BufferStore& store);
  void store_lanes(const BufferStore& store);
  void store_lane(const BufferStore& store, const CText& value, const CLane& lane);
  Place place(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices, const CLane& lane);
  bool reads_what_it_writes(const BufferStore& store) const;
  void allocate(const Allocate& allocate);
  void take(const Allocate& allocate);
  void give_back();
  std::vector<const Allocate*> shared_by_iterations(const For& loop) const;
  std::optional<std::int64_t> stack_bytes_of(const Allocate& allocate) const;
  void allocate_constant(const AllocateConst& constant);
  void release_to(std::size_t count);

  // c_stmt.cc
  void new_statement(const Stmt& stmt);
  void remark(const Object& node);
  void let(const LetStmt& let);
  void check_assertion(const AssertStmt& assertion);
  void if_then_else(const IfThenElse& branch);
  void loop(const For& loop);
  void hint_unrolling(const For& loop);
  void count_loop(const For& loop, const std::string& begin, const std::string& end);
  void count_iterations(const For& loop, const std::string& begin, const std::string& end);
  void loop_while(const While& loop);
  void parallel_loop(const For& loop);
  void jump(bool to_end, const Stmt& stmt);
  void leave_with(const Object& at, const Expr& result);
  /// A block in braces, after `head`: `for (...) {`.
  void block(const std::string& head, const std::function<void()>& body);
  /// Runs `emit` once for each lane of the vectors `roots`: in a loop, or one by one where a lane
  /// must be a constant.
  void for_each_lane(int lanes, const std::vector<Expr>& roots,
                     const std::function<void(const CLane&)>& emit);
  /// What `emit` writes, apart; names of values made there are forgotten.
  std::string captured(const std::function<void()>& emit);

  CModule& module_;
  std::string function_name_;
  std::unordered_set<std::string> names_;
  std::string out_;
  int indent_ = 1;
  std::uint32_t marked_line_ = 0;  ///< The line of the program that is written; 0: none.
  std::unordered_map<const Object*, CVariable> variables_;

  /// Of the current statement: how often its nodes occur, and the names of those that occur again.
  std::unordered_map<const Object*, int> uses_;
  std::map<std::pair<const Object*, std::string>, CText> known_;  ///< By lane.

  /// Arrays with the lanes of loads that were done at once.
  std::unordered_map<const BufferLoad*, std::string> loaded_;
  Substitution named_indices_;  ///< What names of indices stand for, in kernels.
  std::string shared_pool_;     ///< The pointer to that memory; empty: nothing is in it.
  std::int64_t pool_bytes_ = 0;
  std::vector<Held> held_;
  std::vector<LoopExit> exits_;
  std::unordered_set<const Object*> taken_;  ///< Allocations whose memory loops around them hold.
  std::string result_;    ///< A pointer to where the function's value goes; empty: it gives none.
  std::string remarked_;  ///< The last line of the user that was shown.
  std::int64_t stack_bytes_ = 0;
  int loop_depth_ = 0;
  bool is_loop_body_ = false;
  bool stores_operands_ = false;         ///< Somewhere in the kernel, of products of four warps.
  std::int64_t products_in_flight_ = 0;  ///< When the product at hand has been started.
  bool starts_copies_ = false;  ///< Inside `async_scope`: copies are started, and done later.
  bool is_precise_ = false;     ///< Inside `precise`: nothing is contracted.
};

/// Lanes offset, offset + stride, ... of the only vector of a shuffle.
struct CEvenLanes {
  std::int64_t offset, stride;
};
std::optional<CEvenLanes> even_lanes(const Shuffle& shuffle);

/// One index for an access to a buffer of any number of axes, row-major.
Expr c_flat_index(const Buffer& buffer, const std::vector<Expr>& indices);

}  // namespace loopsmith::detail
