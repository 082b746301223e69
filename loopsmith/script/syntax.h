// SPDX-License-Identifier: Apache-2.0
// The syntax of a script, as Python has it: what is written, before it means anything.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/script/token.h"

namespace loopsmith::parsing {

enum class ExpressionKind : std::uint8_t {
  name,         ///< text: the name; `None`, `True` and `False`, too.
  number,       ///< text: as written.
  text,         ///< value: what it stands for.
  dots,         ///< `...`
  tuple,        ///< items
  list,         ///< items
  dict,         ///< items: key, value, key, value, ...
  call,         ///< items: the function, then the arguments.
  keyword,      ///< text: the name; items: its value. Among the arguments of a call.
  starred,      ///< `*x`; items: x.
  attribute,    ///< text: the name; items: of what.
  subscript,    ///< items: of what, the index.
  slice,        ///< items: start, stop, step; null where left out.
  unary,        ///< text: the operator, `not` too; items: one.
  binary,       ///< text: the operator; items: two.
  logic,        ///< text: `and` or `or`; items: two or more.
  compare,      ///< items: the operands; operators: between them.
  conditional,  ///< items: the value if true, the condition, the value if false.
  lambda,       ///< names: of the parameters; items: the body.
  foreign,      ///< Comprehensions, f-strings, sets and others: left to the resolver as they are.
};

/// An expression. It belongs to its SyntaxTree, as does what it refers to.
struct Expression {
  ExpressionKind kind;
  Place begin;
  Place end;
  std::string_view source;  ///< All of it, as written.
  std::string_view text;
  std::string value;
  std::vector<const Expression*> items;
  std::vector<std::string_view> names;  ///< Of a lambda's parameters, or operators of a compare.
};

struct Statement;

/// Statements with one indentation.
struct Suite {
  std::vector<const Statement*> statements;
};

enum class StatementKind : std::uint8_t {
  expression,  ///< value
  assign,      ///< targets = value
  augmented,   ///< targets[0] text= value, text without the `=`.
  annotated,   ///< targets[0]: annotation = value; the value may be missing.
  for_,        ///< for targets[0] in value: body
  while_,      ///< while value: body
  if_,         ///< if value: body; else: otherwise
  with,        ///< with value as targets[0]: body; the target may be missing.
  return_,     ///< value may be missing.
  break_,
  continue_,
  pass,
  assert_,   ///< assert value, message
  function,  ///< @decorators def text(parameters) -> annotation: body
  class_,    ///< @decorators class text: body
  import,    ///< names: of the module, as written; text: what it is called here.
};

/// A parameter of a function; its annotation may be missing.
struct Parameter {
  std::string_view name;
  Place begin;
  Place end;
  const Expression* annotation = nullptr;
  const Expression* value = nullptr;  ///< The default.
  bool is_starred = false;            ///< `*name`
  bool is_doubly_starred = false;     ///< `**name`
};

/// A statement; its span is that of its first line, without what is below it.
struct Statement {
  StatementKind kind;
  Place begin;
  Place end;
  std::string_view text;
  std::vector<const Expression*> targets;
  const Expression* value = nullptr;
  const Expression* annotation = nullptr;
  const Expression* message = nullptr;
  std::vector<const Expression*> decorators;
  std::vector<Parameter> parameters;
  std::string module;  ///< Of an import: `loopsmith.script.tir`.
  Suite body;
  Suite else_body;
};

/// A whole source. The text that it was read from must outlive it.
struct SyntaxTree {
  std::uint32_t source = 0;
  std::deque<Expression> expressions;
  std::deque<Statement> statements;
  Suite body;

  Span span(const Expression& e) const { return span_between(source, e.begin, e.end); }
  Span span(const Statement& s) const { return span_between(source, s.begin, s.end); }
};

/// Reads `text`, whose first line is `line` of the source. Throws a ScriptError at what is no
/// Python, and at statements that scripts do not have.
SyntaxTree syntax_of(std::string_view text, std::uint32_t source, std::uint32_t line = 1);

/// How a text is written.
enum class TextForm : std::uint8_t {
  plain,
  foreign,  ///< Bytes, an f-string.
  broken,   ///< An escape lacks digits, or its number is no character's.
};

/// Appends what the token of a text stands for, where its form is plain.
TextForm read_text(std::string_view token, std::string& value);

}  // namespace loopsmith::parsing
