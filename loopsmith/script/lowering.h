// SPDX-License-Identifier: Apache-2.0
// Turns the syntax of a script into TensorIR: scopes, statements and expressions here, what words
// mean in words.h.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "loopsmith/script/assigned.h"
#include "loopsmith/script/parse.h"
#include "loopsmith/script/syntax.h"
#include "loopsmith/script/variables.h"
#include "loopsmith/script/words.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {

/// A loop as a word describes it, without variable and body.
struct LoopHeader {
  Expr min, extent, step;
  ForKind kind = ForKind::serial;
  std::string thread_tag;
  Attrs annotations;
};

/// A block while its lines are read.
struct BlockState {
  std::string name;
  bool is_root = false;
  bool is_realized = true;
  std::vector<Ptr<IterVar>> axes;
  std::vector<Expr> values;
  std::optional<std::vector<Ptr<BufferRegion>>> reads, writes;
  Expr predicate;
  std::optional<Attrs> annotations;
  std::vector<Ptr<Buffer>> alloc_buffers;
  std::vector<Ptr<MatchBufferRegion>> match_buffers;
  Stmt init;
  bool has_axes_of_header = false;  ///< In the syntax of 2021, axes stand in the header.
  std::vector<Expr> bound;          ///< In the syntax of 2021, values by `tir.bind`; may be null.
};

/// What stands after `for ... in` or `with`.
struct Frame {
  enum class Kind {
    loops,
    block,
    init,
    branch,
    then,
    else_body,
    loop_while,
    definition,  ///< Of a builder, as are those below: what lasts to the end of its suite.
    function,
    module,
  };
  Kind kind = Kind::loops;
  std::vector<LoopHeader> loops;
  BlockState block;
  Expr condition;
  std::vector<ScriptValue> value;  ///< What a definition defines: one.
  std::function<Stmt(Stmt)> wrap;  ///< What a definition puts around its suite.
  bool is_private = false;         ///< Of a function.
};

/// A macro: its syntax, and where it was written.
struct MacroDefinition {
  std::shared_ptr<const SyntaxTree> tree;
  std::string text;  ///< That the tree refers to.
  const Statement* function = nullptr;
  std::shared_ptr<Resolver> resolver;  ///< Of its free names; null: those of its use.
  bool is_hygienic = true;
  std::vector<ScriptValue> first = {};  ///< Arguments that go before those of a call: `self`.
};

/// One source that is read.
class Lowering {
 public:
  Lowering(const SyntaxTree& tree, const ParseOptions& options);

  /// The functions and modules that the source defines, by their names, in order; at least one.
  std::vector<std::pair<std::string, Ref>> definitions();
  /// The macro that the source defines.
  const Statement* macro();

  // ---- For words ----
  Expr expr(const ScriptValue& value, DataType like = void_type);
  /// Values as expressions; numbers take the type of the first that is an expression.
  std::vector<Expr> matched(std::vector<ScriptValue> values);
  std::vector<Expr> exprs(const ScriptValue& list);
  std::vector<ScriptValue> items(const ScriptValue& value, std::string_view what);
  /// A list, or one value as a list of it.
  std::vector<ScriptValue> items_or_one(const ScriptValue& value);
  std::int64_t integer(const ScriptValue& value, std::string_view what);
  bool truth(const ScriptValue& value, std::string_view what);
  std::string text(const ScriptValue& value, std::string_view what);
  DataType data_type(const ScriptValue& value, std::string_view what);
  Ref attribute_value(const ScriptValue& value);
  Attrs attrs(const ScriptValue& value, std::string_view what);
  Ptr<BufferRegion> region(const ScriptValue& value);
  Ptr<Range> interval(const ScriptValue& index, const Expr& extent, bool allows_step);
  std::vector<Expr> access_indices(const ScriptValue::Access& access);
  Expr load(const ScriptValue::Access& access);
  void store(const ScriptValue::Access& access, const ScriptValue& value, const Expr& predicate);
  /// What a definition without a name means.
  ScriptValue named(const ScriptValue& value);
  std::string describe(const ScriptValue& value);
  /// The size of that name: a variable that exists, or a new one of the function.
  Expr size_named(const std::string& name);
  /// What a word or type gives that a function of Python calls while this one reads a function;
  /// what it defines is called as the target of the assignment that is read.
  ScriptValue call_from_python(const ScriptValue& function, std::vector<ScriptValue> positional,
                               std::vector<std::pair<std::string, ScriptValue>> named);
  /// The lowering that waits for Python to evaluate a piece of its function; null where there is
  /// none.
  static Lowering* waiting();
  /// Makes another one that; gives the one before.
  static Lowering* set_waiting(Lowering* reader);

  /// Adds a statement where reading is.
  void emit(Stmt stmt);
  /// Puts `wrap` around the rest of the scope.
  void emit_around(std::function<Stmt(Stmt)> wrap);
  /// The block whose lines are read; the root, outside all blocks.
  BlockState& block(std::string_view word);
  BlockState& block_with_axes(std::string_view word);
  bool in_function() const { return func_ != nullptr; }
  /// The loop of a variable; null for others.
  const LoopHeader* loop_of(const Expr& variable) const;
  struct Function;
  Function& function(std::string_view word);

  template <class... Args>
  void require_here(bool ok, std::string_view code, Hint hint, fmt::format_string<Args...> format,
                    Args&&... args) {
    if (ok) [[likely]]
      return;
    fail(ErrorKind::script, code, hint, current_span, format, std::forward<Args>(args)...);
  }

  // ---- Calls (lower_call.cc) ----
  ScriptValue call(const ScriptValue& function, std::vector<ScriptValue> positional,
                   std::vector<std::pair<std::string, ScriptValue>> named);
  /// The result of a lambda for these variables.
  ScriptValue apply(const Expression& lambda, const std::vector<ScriptValue>& arguments);

  /// One function of the module that is read, or the one function.
  struct Function {
    std::string name;
    bool is_private = false;
    std::vector<Ptr<Var>> params;
    std::vector<Ptr<Buffer>> buffer_map;
    DataType ret_type = void_type;
    bool infers_type = false;  ///< No type is written: that of the first value returned.
    Attrs attrs;
    std::vector<std::pair<Ptr<Var>, std::string>> threads;  ///< With their tags.
    std::vector<std::pair<const Object*, Expr>> thread_extents;
  };
  /// The attributes of the module that is read; null outside of one.
  Attrs* module_attrs() { return module_ ? &module_->attrs : nullptr; }

 private:
  // ---- Names ----
  struct Binding {
    std::string_view name;
    std::optional<ScriptValue> outer;  ///< What the name meant before.
  };
  /// Opens a scope of names while it lives.
  class Scope {
   public:
    explicit Scope(Lowering& lowering);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Lowering& lowering_;
    std::size_t begin_;
    std::size_t outer_begin_;
  };
  void bind(std::string_view name, ScriptValue value);
  bool is_bound_here(std::string_view name) const;
  const ScriptValue* find(std::string_view name) const;
  std::optional<ScriptValue> resolve(std::string_view name);

  // ---- Expressions (lower_expression.cc) ----
  ScriptValue eval(const Expression& e);
  ScriptValue eval_inside(const Expression& e);
  ScriptValue eval_name(const Expression& e);
  ScriptValue eval_number(const Expression& e);
  ScriptValue eval_attribute(const Expression& e);
  ScriptValue attribute(const ScriptValue& value, std::string_view name, const Expression& e);
  std::optional<ScriptValue> buffer_attribute(const Ptr<Buffer>& buffer, std::string_view name);
  ScriptValue eval_call(const Expression& e);
  ScriptValue eval_subscript(const Expression& e);
  ScriptValue eval_unary(const Expression& e);
  ScriptValue eval_binary(std::string_view symbol, const ScriptValue& a, const ScriptValue& b);
  ScriptValue eval_logic(const Expression& e);
  ScriptValue eval_compare(const Expression& e);
  ScriptValue compare(std::string_view symbol, const ScriptValue& a, const ScriptValue& b);
  ScriptValue eval_conditional(const Expression& e);
  ScriptValue eval_foreign(const Expression& e);
  ScriptValue eval_let(const Expression& e);
  std::vector<ScriptValue> eval_items(const std::vector<const Expression*>& items);
  /// The resolver's value of `source`, for values that it alone understands.
  ScriptValue ask(std::string_view source, Resolver::Locals locals,
                  std::string_view shown = "this operation");
  ScriptValue plain(const ScriptValue& value);
  std::optional<bool> known_truth(const ScriptValue& value);
  ScriptValue method(const ScriptValue::Method& method, std::vector<ScriptValue> positional,
                     std::vector<std::pair<std::string, ScriptValue>> named);
  ScriptValue call_function(const Ptr<GlobalVar>& name, const std::vector<ScriptValue>& args);
  void expand(const MacroDefinition& macro, std::vector<ScriptValue> positional,
              std::vector<std::pair<std::string, ScriptValue>> named);

  // ---- Statements (lower_statement.cc) ----
  struct Item {
    Stmt stmt;
    std::function<Stmt(Stmt)> wrap;
    Span span;
  };
  /// A suite that is read, with what was made of it so far.
  struct Body {
    const Suite* suite;
    std::vector<Item> items;
    Span loop;  ///< The header of the loop that runs it; unknown for other suites.
  };
  Stmt suite(const Suite& suite, const std::function<void()>& before = {}, Span loop = {});
  /// Reads a suite that may not run: it leaves no variable certain.
  Stmt optional_suite(const Suite& suite);
  /// Reads the body of a loop that runs at least once if `runs`.
  Stmt loop_suite(const Suite& suite, const std::function<void()>& before, bool runs,
                  bool ends = true);
  void statements(const Suite& suite);
  void statement(const Statement& s);
  void statement_inside(const Statement& s);
  static Stmt joined(std::vector<Item> items);
  void expression_statement(const Statement& s);
  void use(const ScriptValue& value);
  void assign(const Statement& s);
  void assign_value(const Expression& target, const ScriptValue& value);
  void assign_name(const Expression& target, const ScriptValue& value, const Expr& annotated);
  void assign_parallel(const std::vector<const Expression*>& targets,
                       const std::vector<ScriptValue>& values);
  void assign_variable(const Expression& target, Expr value, bool is_literal);
  void assign_again(std::string_view name, const Ptr<Buffer>& buffer, const Expr& value,
                    bool is_literal);
  void define_variable(const Expression& target, const Variable& variable, Expr value,
                       bool is_literal);
  Expr read_variable(std::string_view name, const Ptr<Buffer>& buffer);
  void require_assigned_before(std::string_view name);
  [[noreturn]] void refuse_carried(std::string_view name, std::string_view why,
                                   const std::string& fix);
  void leave_iteration(const Statement& s);
  void augmented(const Statement& s);
  void annotated(const Statement& s);
  void for_loop(const Statement& s);
  void while_loop(const Statement& s);
  void if_statement(const Statement& s);
  void with_statement(const Statement& s);
  void with_block(const Statement& s, Frame& frame);
  void with_branch(const Statement& s, Frame& frame);
  void return_statement(const Statement& s);
  void assert_statement(const Statement& s);
  Stmt finished(BlockState& state, Stmt body);
  void bind_header_axes(BlockState& state, std::vector<LoopHeader>& made,
                        std::vector<Ptr<Var>>& variables);

  // ---- Functions (lower_function.cc) ----
  struct Module {
    std::vector<Ptr<GlobalVar>> names;
    std::vector<std::string_view> labels;  ///< What the script calls them.
    std::vector<Ptr<PrimFunc>> functions;
    std::vector<DataType> ret_types;
    Attrs attrs;

    /// Names a function that is defined later.
    const Ptr<GlobalVar>& declare(std::string name, DataType ret_type) {
      ret_types.push_back(ret_type);
      functions.emplace_back();
      return names.emplace_back(make(GlobalVar{.name_hint = std::move(name)}));
    }
    std::optional<std::size_t> place_of(std::string_view name) const {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i]->name_hint == name) return i;
      }
      return std::nullopt;
    }
  };
  enum class Kind { none, function, module, macro };
  /// What the decorators of a definition say.
  struct Decoration {
    Kind kind = Kind::none;
    std::optional<std::string> name;  ///< Where it is not that of the definition.
    bool is_private = false;
    bool adds_root = true;
    bool is_hygienic = true;
  };
  Decoration decoration_of(const Statement& s);
  Ptr<PrimFunc> prim_func(const Statement& s, const Decoration& decoration);
  Ptr<PrimFunc> prim_func_once(const Statement& s, const Decoration& decoration);
  Ptr<PrimFunc> finished(Function& func, BlockState& root, const Stmt& body, bool adds_root);
  Stmt nest(const std::vector<LoopHeader>& loops, const std::vector<Ptr<Var>>& variables,
            Stmt body);
  void declare_numbers(const std::vector<Parameter>& parameters);
  void parameter(const Parameter& p);
  void assign_parameter(std::string_view name, const Ptr<Var>& param);
  Ptr<IRModule> ir_module(const Statement& s);
  void import(const Statement& s);
  DataType return_type(const Statement& s);
  ScriptValue macro_value(const Statement& s, bool is_hygienic);

  std::deque<std::string> kept_;  ///< Names that stand in no source.
  const SyntaxTree* tree_;
  const ParseOptions& options_;
  Resolver* resolver_;
  std::unordered_map<std::string_view, ScriptValue> names_;
  std::unordered_map<std::string_view, ScriptValue> globals_;  ///< Names outside of functions.
  std::vector<Binding> bindings_;
  std::size_t scope_begin_ = 0;
  std::vector<Body> bodies_;
  std::vector<BlockState*> blocks_;
  std::unordered_map<const Object*, LoopHeader> loops_;
  std::unordered_map<std::string_view, std::string_view> ended_;  ///< Names of scopes that closed.
  /// Variables that were first assigned further inside, by the suite that they belong to.
  std::unordered_map<const Suite*, std::vector<std::string_view>> lifted_;
  /// Where a variable was first assigned: the target, and the number of the macro's expansion.
  using VariableKey = std::pair<const Expression*, int>;
  /// Thrown where a value decides the type of a variable that began with a number without one: the
  /// function is then read again.
  struct VariableType {
    VariableKey key;
    DataType type;
  };
  /// A variable that began with a number without a type.
  struct LiteralVariable {
    VariableKey key;
    Expr first;
    bool has_type = false;  ///< A value with a type was stored.
  };
  std::unordered_map<const Object*, LiteralVariable> literal_variables_;
  std::map<VariableKey, DataType> variable_types_;  ///< Known from earlier readings.
  AssignedVariables assigned_;
  /// Variables that are new in each iteration, with the header of the loop.
  std::unordered_map<const Object*, Span> loops_of_variables_;
  /// What is certain where an open loop is left, and where its next iteration begins.
  struct LoopExits {
    AssignedVariables at_break = AssignedVariables::unreachable();
    AssignedVariables at_continue = AssignedVariables::unreachable();
  };
  std::vector<LoopExits> loop_exits_;
  std::vector<std::pair<std::string_view, Ptr<Var>>> numbers_;  ///< Parameters, declared early.
  std::string naming_;  ///< The target of the assignment that is read.
  const VariablePlan* plan_ = nullptr;
  Function* func_ = nullptr;
  Module* module_ = nullptr;
  int expansions_ = 0;
  int expansion_depth_ = 0;
  IfThenElse* branch_ = nullptr;      ///< The `T.If` that is read.
  std::vector<Ptr<Var>> open_loops_;  ///< Around this place, in the same block.
  bool detects_ = false;              ///< Some block leaves its regions to be found.

  bool is_building_ = false;  ///< By calls, with frames as context managers.

  friend class Scope;
  friend class ScriptBuilder;
};

}  // namespace loopsmith::parsing
