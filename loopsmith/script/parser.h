// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <initializer_list>

#include "loopsmith/script/syntax.h"
#include "loopsmith/support/deep_call.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {

/// Reads a syntax tree from tokens, by descent. Expressions and statements are in a file each.
class Parser {
 public:
  Parser(SyntaxTree& tree, std::vector<Token> tokens, std::string_view source)
      : tree_(tree), tokens_(std::move(tokens)), source_(source) {}

  void whole();

 private:
  // ---- Tokens ----
  const Token& here() const { return tokens_[next_]; }
  const Token& after() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  /// `text` is not empty. Most tokens differ in their first letter.
  bool is(std::string_view text) const {
    const Token& token = here();
    return token.text.size() == text.size() && token.text[0] == text[0] && token.text == text &&
           token.kind != TokenKind::text;
  }
  bool is_any(std::initializer_list<std::string_view> texts) const;
  const Token& take() { return here().kind == TokenKind::end ? here() : tokens_[next_++]; }
  bool take_if(std::string_view text) { return is(text) && (take(), true); }
  void expect(std::string_view text, std::string_view where);
  std::string_view name(std::string_view what);
  Place last_end() const { return tokens_[next_ - 1].end; }
  template <class... Args>
  [[noreturn]] void refuse(std::string_view code, Hint hint, const Token& token,
                           fmt::format_string<Args...> format, Args&&... args) {
    fail(ErrorKind::script, code, hint, span_between(tree_.source, token.begin, token.end), format,
         std::forward<Args>(args)...);
  }
  std::string what_is_here() const;

  // ---- Expressions (parse_expression.cc) ----
  using Node = Expression*;
  Node make(ExpressionKind kind, const Token& first);
  /// `node`, which ends with the last token taken.
  Node finish(Node node);
  const Expression* expression();
  const Expression* expression_or_tuple();
  const Expression* starred_or_expression();
  const Expression* test();
  const Expression* disjunction();
  const Expression* conjunction();
  const Expression* inversion();
  const Expression* comparison();
  std::string_view comparison_operator();
  const Expression* binary(int weakest);
  const Expression* factor();
  const Expression* power();
  const Expression* primary();
  const Expression* atom();
  const Expression* texts();
  const Expression* parenthesised();
  const Expression* list();
  const Expression* braces();
  const Expression* lambda();
  const Expression* subscript_index();
  const Expression* subscript_item();
  void arguments(Node call);
  void comprehension_clauses();
  /// Reads the rest of a comprehension, whose first token was `first`, up to `close`.
  const Expression* comprehension(const Token& first, std::string_view close);
  /// Where a value must be that the script cannot read, its text alone counts.
  const Expression* as_foreign(Node node);

  // ---- Statements (parse_statement.cc) ----
  Statement& make_statement(StatementKind kind, const Token& first);
  void statement(Suite& suite);
  void simple_statement(Suite& suite);
  void expression_statement(Statement& s);
  void small_statement(Suite& suite);
  void end_of_line();
  void header_end(Statement& s);
  void suite(Suite& suite, std::string_view what);
  void if_statement(Suite& suite);
  void for_statement(Suite& suite);
  void with_statement(Suite& suite);
  void definition(Suite& suite);
  void parameters(Statement& s);
  void import(Suite& suite);
  const Expression* target_list();
  std::string dotted_name();

  SyntaxTree& tree_;
  std::vector<Token> tokens_;
  std::string_view source_;
  std::size_t next_ = 0;
};

}  // namespace loopsmith::parsing
