// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "loopsmith/ir/function.h"
#include "loopsmith/ir/script_names.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::detail {

/// How strongly an expression holds together, weakest first, as in Python.
enum class Binding {
  none,
  or_,
  and_,
  not_,
  comparison,
  bit_or,
  bit_xor,
  bit_and,
  shift,
  sum,
  product,
  sign,
  atom,
};

/// Writes one script. The methods for expressions, statements and functions are in a file each.
class ScriptWriter {
 public:
  explicit ScriptWriter(const ScriptOptions& options);

  /// The whole script of `root`.
  void root(const Ref& root);

  /// A piece of the text that a node gave rise to.
  struct Mark {
    std::size_t begin;
    std::size_t end;
    const Object* node;
  };

  const std::string& text() const { return text_; }
  const std::vector<Mark>& marks() const { return marks_; }
  /// Where lines begin, and what they came from; if asked for.
  const std::vector<std::pair<std::size_t, Span>>& spans() const { return spans_; }
  /// True when the script would be longer than `max_bytes`: then it is cut off.
  bool is_cut() const { return cut_; }

 private:
  /// Marks what is written while it lives, if somebody asked for `node`.
  class Marking {
   public:
    Marking(ScriptWriter& writer, const Ref& node)
        : writer_(writer),
          node_(writer.asked_.contains(node.get()) ? node.get() : nullptr),
          begin_(writer.text_.size()) {}
    ~Marking() {
      if (node_) writer_.marks_.push_back({begin_, writer_.text_.size(), node_});
    }
    Marking(const Marking&) = delete;
    Marking& operator=(const Marking&) = delete;

   private:
    ScriptWriter& writer_;
    const Object* node_;
    std::size_t begin_;
  };

  // ---- Text (script_writer.cc) ----
  void put(std::string_view text);
  void begin_line();
  void blank_line();
  /// Calls `write(item)` for each, with ", " between.
  template <class Items, class Write>
  void list(const Items& items, Write&& write) {
    bool first = true;
    for (const auto& item : items) {
      if (!std::exchange(first, false)) put(", ");
      write(item);
    }
  }
  void tuple(const std::vector<Expr>& items);
  /// A new line for `node`, which is what stands on it while the result lives.
  Marking line(const Ref& node) {
    begin_line();
    if (options_.spans && node.defined() && node.span().known()) {
      spans_.emplace_back(text_.size(), node.span());
    }
    return Marking(*this, node);
  }
  void mark(const Ref& node, std::size_t begin);
  /// `header:` on a line, and what `inside` writes below it. What both define ends with it.
  template <class Header, class Inside>
  void nested_lines(const Ref& node, Header&& header, Inside&& inside) {
    names_.open();
    {
      const Marking marking = line(node);
      header();
      put(":");
    }
    ++level_;
    deep_call(inside);
    --level_;
    names_.close();
  }
  template <class Header>
  void nested(const Ref& node, Header&& header, const Stmt& body) {
    nested_lines(node, header, [&] { stmt(body, true); });
  }

  // ---- Names, declarations, buffers (script_names.cc, script_buffer.cc) ----
  std::string name(const Ref& node);
  const std::string& define(const Ref& node, std::string_view wanted);
  /// `T.int32`, `T.handle("float32", "shared")`; with `called`, as an expression: `T.int32()`.
  void variable_type(const Var& variable, bool called);
  void declare_variable(const Ptr<Var>& variable);
  void declare_free(const Ref& root);
  void declare_threads(const Ref& root);
  /// Declares what the shape, strides and offset of a buffer use and nothing has defined.
  void declare_parts(const Buffer& buffer);
  const std::string& name_buffer(const Ptr<Buffer>& buffer);
  /// `A = function(source, shape, ...)`
  void define_buffer(const Ptr<Buffer>& buffer, std::string_view function, const Ref& source);
  Stmt buffer_definition(const Stmt& here, bool last, const Ptr<Buffer>& buffer,
                         std::string_view function, const Stmt& body);
  void buffer_arguments(const Buffer& buffer, bool is_view, bool always_typed);

  // ---- Expressions (script_expr.cc) ----
  void expr(const Expr& e, Binding around = Binding::none);
  void expr_inside(const Expr& e, Binding around);
  void binary_node(const Expr& e, Binding around);
  void infix(std::string_view symbol, Binding binding, const Expr& a, const Expr& b,
             Binding around);
  void node_call(const Expr& e);
  void call(const Call& call, Binding around);
  void buffer_load(const BufferLoad& load);
  void access(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices);
  void index(const Expr& e);
  void region(const Ptr<Buffer>& buffer, const std::vector<Ptr<Range>>& ranges);
  void interval(const Range& range);
  void constant(const IntImm& imm);
  void constant(const FloatImm& imm);
  /// A value among annotations: numbers, texts, lists and dicts as in Python.
  void value(const Ref& ref);
  void dict(const Attrs& attrs);
  void part(const Ref& ref);
  void part_inside(const Ref& ref);
  void iter_var(const IterVar& axis);
  void index_map(const IndexMap& map);
  void reducer(const CommReducer& reducer);
  void reduction(const Reduce& reduce);
  static std::string operation_text(const Ref& ref);
  template <class Fn>
  void parenthesised(bool needed, Fn&& write) {
    if (needed) put("(");
    write();
    if (needed) put(")");
  }
  /// `[...]`; `[()]` of nothing.
  template <class Fn>
  void subscript(Fn&& write, bool empty) {
    put("[");
    empty ? put("()") : write();
    put("]");
  }

  // ---- Statements (script_stmt.cc, script_block.cc) ----
  /// `last`: nothing follows in its scope, so that what it defines needs no indentation.
  void stmt(const Stmt& root, bool last);
  Stmt scoped(const Stmt& here, bool last);
  template <class Value>
  Stmt definition(const Stmt& here, bool last, const Ref& defined, std::string_view wanted,
                  const Stmt& body, Value&& value);
  Stmt let(const LetStmt& node, bool last);
  Stmt allocate(const Allocate& node, bool last);
  void allocate_const(const AllocateConst& node);
  void annotations(const Attrs& attrs);
  Stmt attribute(const AttrStmt& node, bool last);
  template <class Text>
  Stmt attribute_scope(const Ref& here, bool last, Text&& text, const Stmt& body);
  void simple(const Stmt& here);
  void buffer_store(const BufferStore& node);
  void branch(const IfThenElse& first);
  void loop(const For& first);
  void loop_range(const For& loop);
  void block(const Block& block, const BlockRealize* realize);
  void block_regions(std::string_view function, const std::vector<Ptr<BufferRegion>>& regions);
  void block_inside(const Block& block);
  void block_axes(const Block& block, const BlockRealize* realize);
  void block_axis(const IterVar& axis, const Expr& value);
  void define_axis(const IterVar& axis);
  bool is_remapped(const IterVar& axis, const Expr& value) const;

  // ---- Functions (script_function.cc) ----
  std::string label(const std::string& name) const;
  void set_labels(const IRModule& module);
  void function(const PrimFunc& func, const std::string& name);
  void parameter(const PrimFunc& func, std::size_t i, bool is_inline);
  void function_body(const PrimFunc& func);
  void function_attrs(const PrimFunc& func, std::string_view said_name);
  void module(const IRModule& module);
  void header(bool with_module);

  const ScriptOptions& options_;
  std::string text_;
  std::vector<Mark> marks_;
  std::vector<std::pair<std::size_t, Span>> spans_;
  std::unordered_set<const Object*> asked_;
  ScriptNames names_;
  /// What functions of a module are called in the script, by their names.
  std::unordered_map<std::string, std::string> labels_;
  std::unordered_map<const Object*, const For*> loop_of_;
  int level_ = 0;
  bool cut_ = false;
};

}  // namespace loopsmith::detail
