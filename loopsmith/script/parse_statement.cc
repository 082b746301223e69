// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/script/parser.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {

Statement& Parser::make_statement(StatementKind kind, const Token& first) {
  Statement& s = tree_.statements.emplace_back();
  s.kind = kind;
  s.begin = first.begin;
  return s;
}

void Parser::whole() {
  while (here().kind != TokenKind::end) statement(tree_.body);
}

void Parser::statement(Suite& suite) {
  deep_call([&] {
    if (here().kind == TokenKind::indent) {
      refuse("syntax", hint("indent it like the line above"), after(),
             "the line is indented, nothing above it opens a suite");
    }
    if (take_if(";")) return;
    if (is("if")) return if_statement(suite);
    if (is("for")) return for_statement(suite);
    if (is("with")) return with_statement(suite);
    if (is("def") || is("class") || is("@")) return definition(suite);
    if (is("while")) {
      const Token& first = take();
      Statement& s = make_statement(StatementKind::while_, first);
      s.value = expression();
      header_end(s);
      this->suite(s.body, "while");
      if (is("else")) {
        refuse("not_in_scripts", hint("put it after the loop"), here(),
               "'else' of a loop is not of the script language");
      }
      suite.statements.push_back(&s);
      return;
    }
    simple_statement(suite);
  });
}

void Parser::simple_statement(Suite& suite) {
  small_statement(suite);
  while (take_if(";")) {
    if (here().kind == TokenKind::newline) break;
    small_statement(suite);
  }
  end_of_line();
}

void Parser::end_of_line() {
  if (here().kind == TokenKind::newline) {
    take();
    return;
  }
  if (here().kind == TokenKind::end || here().kind == TokenKind::dedent) return;
  refuse("syntax", hint("see the grammar of Python"), here(),
         "the statement should end here, but {}", what_is_here());
}

void Parser::small_statement(Suite& suite) {
  const Token& first = here();
  if (is("import") || is("from")) return import(suite);
  Statement& s = make_statement(StatementKind::expression, first);
  suite.statements.push_back(&s);
  const auto ends = [&] {
    return here().kind == TokenKind::newline || here().kind == TokenKind::end || is(";");
  };
  if (take_if("pass")) {
    s.kind = StatementKind::pass;
  } else if (take_if("break")) {
    s.kind = StatementKind::break_;
  } else if (take_if("continue")) {
    s.kind = StatementKind::continue_;
  } else if (take_if("return")) {
    s.kind = StatementKind::return_;
    if (!ends()) s.value = expression_or_tuple();
  } else if (take_if("assert")) {
    s.kind = StatementKind::assert_;
    s.value = expression();
    if (take_if(",")) s.message = expression();
  } else if (is_any({"del", "try", "raise", "global", "nonlocal", "async", "yield", "await"})) {
    refuse("not_in_scripts", hint("leave it out"), here(), "'{}' is not of the script language",
           here().text);
  } else {
    expression_statement(s);
  }
  s.end = last_end();
}

void Parser::expression_statement(Statement& s) {
  s.value = expression_or_tuple();
  const bool is_symbol = here().kind == TokenKind::symbol;
  if (is_symbol && take_if(":")) {
    s.kind = StatementKind::annotated;
    s.targets = {s.value};
    s.annotation = expression();
    s.value = take_if("=") ? expression_or_tuple() : nullptr;
    return;
  }
  const bool is_augmented = is_symbol && here().text.size() > 1 && here().text.ends_with('=') &&
                            !is_any({"==", "!=", "<=", ">="});
  if (is_augmented) {
    s.kind = StatementKind::augmented;
    s.text = take().text;
    s.text.remove_suffix(1);
    s.targets = {s.value};
    s.value = expression_or_tuple();
    return;
  }
  while (here().kind == TokenKind::symbol && take_if("=")) {
    s.kind = StatementKind::assign;
    s.targets.push_back(s.value);
    s.value = expression_or_tuple();
  }
}

/// The header of a compound statement ends with its colon.
void Parser::header_end(Statement& s) {
  s.end = last_end();
  expect(":", "at the end of the header");
}

void Parser::suite(Suite& suite, std::string_view what) {
  if (here().kind != TokenKind::newline) return simple_statement(suite);
  take();
  if (here().kind != TokenKind::indent) {
    refuse("suite_is_not_empty", hint("write pass, if nothing is to be done"), here(),
           "nothing is indented below '{}'", what);
  }
  take();
  while (here().kind != TokenKind::dedent && here().kind != TokenKind::end) statement(suite);
  if (here().kind == TokenKind::dedent) take();
}

void Parser::if_statement(Suite& suite) {
  const Token& first = take();
  Statement& s = make_statement(StatementKind::if_, first);
  s.value = expression();
  header_end(s);
  this->suite(s.body, "if");
  suite.statements.push_back(&s);
  if (is("elif")) {
    deep_call([&] { if_statement(s.else_body); });
  } else if (take_if("else")) {
    expect(":", "after else");
    this->suite(s.else_body, "else");
  }
}

const Expression* Parser::target_list() {
  const Token& first = here();
  const auto target = [&]() -> const Expression* {
    const Token& begin = here();
    if (!take_if("*")) return binary(1);
    Node node = make(ExpressionKind::starred, begin);
    node->items = {binary(1)};
    return finish(node);
  };
  const Expression* one = target();
  if (!is(",")) return one;
  Node node = make(ExpressionKind::tuple, first);
  node->items.push_back(one);
  while (take_if(",") && !is("in") && !is("=")) node->items.push_back(target());
  return finish(node);
}

void Parser::for_statement(Suite& suite) {
  const Token& first = take();
  Statement& s = make_statement(StatementKind::for_, first);
  s.targets = {target_list()};
  expect("in", "in the header of a loop");
  s.value = expression_or_tuple();
  header_end(s);
  this->suite(s.body, "for");
  if (is("else")) {
    refuse("not_in_scripts", hint("put it after the loop"), here(),
           "'else' of a loop is not of the script language");
  }
  suite.statements.push_back(&s);
}

/// `with a as x, b as y:` is one inside the other.
void Parser::with_statement(Suite& suite) {
  const Token& first = take();
  // with (a as x, b as y): the parentheses hold items where an `as` or a comma follows the first.
  bool is_parenthesised = false;
  if (is("(")) {
    int depth = 0;
    for (std::size_t i = next_; i < tokens_.size(); ++i) {
      const std::string_view text = tokens_[i].text;
      if (tokens_[i].kind == TokenKind::newline || tokens_[i].kind == TokenKind::text) {
        if (tokens_[i].kind == TokenKind::newline) break;
        continue;
      }
      if (text == "(" || text == "[" || text == "{") ++depth;
      if (text == ")" || text == "]" || text == "}") --depth;
      if (depth == 1 && text == "as") is_parenthesised = true;
      if (depth == 0) break;
    }
  }
  if (is_parenthesised) take();
  Suite* inner = &suite;
  Statement* s = nullptr;
  do {
    if (is_parenthesised && is(")")) break;
    s = &make_statement(StatementKind::with, s ? here() : first);
    s->value = expression();
    if (take_if("as")) s->targets = {is_parenthesised ? binary(1) : target_list()};
    s->end = last_end();
    inner->statements.push_back(s);
    inner = &s->body;
  } while (take_if(","));
  if (is_parenthesised) expect(")", "after the items of with");
  header_end(*s);
  this->suite(*inner, "with");
}

void Parser::definition(Suite& suite) {
  const Token& first = here();
  std::vector<const Expression*> decorators;
  while (take_if("@")) {
    decorators.push_back(expression());
    end_of_line();
  }
  const Token& word = here();
  const bool is_class = is("class");
  if (!is_class && !is("def")) {
    refuse("syntax", hint("see the grammar of Python"), here(),
           "a function or class is missing after a decorator: {}", what_is_here());
  }
  take();
  Statement& s = make_statement(is_class ? StatementKind::class_ : StatementKind::function, first);
  s.begin = word.begin;
  s.decorators = std::move(decorators);
  s.text = name(is_class ? "a class" : "a function");
  if (!is_class) {
    parameters(s);
    if (take_if("->")) s.annotation = expression();
  } else if (take_if("(")) {
    while (!is(")") && here().kind != TokenKind::end) take();
    expect(")", "after the bases of a class");
  }
  header_end(s);
  this->suite(s.body, is_class ? "class" : "def");
  suite.statements.push_back(&s);
}

void Parser::parameters(Statement& s) {
  expect("(", "after the name of a function");
  while (!is(")")) {
    if (take_if("/") || (is("*") && after().text == "," && (take(), true))) {
      if (!take_if(",")) break;
      continue;
    }
    Parameter parameter;
    parameter.begin = here().begin;
    parameter.is_starred = take_if("*");
    parameter.is_doubly_starred = !parameter.is_starred && take_if("**");
    parameter.name = name("a parameter");
    if (take_if(":")) parameter.annotation = expression();
    if (take_if("=")) parameter.value = expression();
    parameter.end = last_end();
    s.parameters.push_back(parameter);
    if (!take_if(",")) break;
  }
  expect(")", "after the parameters");
}

std::string Parser::dotted_name() {
  std::string text;
  while (take_if(".") || take_if("...")) text += '.';
  if (is("import")) return text;
  text += name("a module");
  while (take_if(".")) {
    text += '.';
    text += name("a module");
  }
  return text;
}

/// `import a.b as x`, `from a import b as x`: a statement for each name.
void Parser::import(Suite& suite) {
  const Token& first = here();
  const bool is_from = take().text == "from";
  const std::string module = is_from ? dotted_name() : "";
  if (is_from) expect("import", "after the name of a module");
  if (is_from && take_if("*")) return;
  const bool is_parenthesised = is_from && take_if("(");
  do {
    if (is_parenthesised && is(")")) break;
    Statement& s = make_statement(StatementKind::import, first);
    const std::string imported = is_from ? std::string(name("what is imported")) : dotted_name();
    s.module = is_from ? module + "." + imported : imported;
    const std::string_view last = tokens_[next_ - 1].text;
    s.text = take_if("as") ? name("an import") : last;
    s.end = last_end();
    suite.statements.push_back(&s);
  } while (take_if(","));
  if (is_parenthesised) expect(")", "after the imports");
}

SyntaxTree syntax_of(std::string_view text, std::uint32_t source, std::uint32_t line) {
  SyntaxTree tree;
  tree.source = source;
  Parser(tree, tokens_of(text, source, line), text).whole();
  return tree;
}

}  // namespace loopsmith::parsing
