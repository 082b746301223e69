// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/script/parser.h"
#include "loopsmith/support/error.h"

namespace loopsmith::parsing {
namespace {

struct Infix {
  std::string_view text;
  int weight;
};

/// The operators that hold to the left, weakest first.
constexpr Infix infixes[] = {
    {"|", 1}, {"^", 2}, {"&", 3},  {"<<", 4}, {">>", 4}, {"+", 5},
    {"-", 5}, {"*", 6}, {"//", 6}, {"/", 6},  {"%", 6},  {"@", 6},
};

int weight_of(std::string_view text) {
  const auto* found = std::ranges::find(infixes, text, &Infix::text);
  return found == std::end(infixes) ? 0 : found->weight;
}

constexpr std::string_view keywords[] = {
    "and",    "as",   "assert", "async",  "await",  "break",   "class",    "continue",
    "def",    "del",  "elif",   "else",   "except", "finally", "for",      "from",
    "global", "if",   "import", "in",     "is",     "lambda",  "nonlocal", "not",
    "or",     "pass", "raise",  "return", "try",    "while",   "with",     "yield",
};

bool is_keyword(std::string_view text) {
  if (text.size() < 2 || text.size() > 8) return false;
  return std::ranges::any_of(
      keywords, [&](std::string_view word) { return word[0] == text[0] && word == text; });
}

}  // namespace

bool Parser::is_any(std::initializer_list<std::string_view> texts) const {
  return std::ranges::any_of(texts, [&](std::string_view text) { return is(text); });
}

std::string Parser::what_is_here() const {
  switch (here().kind) {
    case TokenKind::newline: return "the line ends";
    case TokenKind::indent: return "the indentation grows";
    case TokenKind::dedent: return "the indentation ends";
    case TokenKind::end: return "the text ends";
    default: return fmt::format("there is '{}'", here().text.substr(0, 40));
  }
}

void Parser::expect(std::string_view text, std::string_view where) {
  if (take_if(text)) return;
  refuse("syntax", hint("see the grammar of Python"), here(), "{} is missing {}: {}",
         fmt::format("'{}'", text), where, what_is_here());
}

std::string_view Parser::name(std::string_view what) {
  if (here().kind != TokenKind::name || is_keyword(here().text)) {
    refuse("syntax", hint("see the grammar of Python"), here(), "the name of {} is missing: {}",
           what, what_is_here());
  }
  return take().text;
}

Parser::Node Parser::make(ExpressionKind kind, const Token& first) {
  Expression& node = tree_.expressions.emplace_back();
  node.kind = kind;
  node.begin = first.begin;
  node.source = first.text;
  return finish(&node);
}

Parser::Node Parser::finish(Node node) {
  const Token& last = tokens_[next_ == 0 ? 0 : next_ - 1];
  node->end = last.end;
  const char* const begin = node->source.data();
  const char* const end = last.text.data() + last.text.size();
  if (last.text.data() && end > begin) {
    node->source = {begin, static_cast<std::size_t>(end - begin)};
  }
  return node;
}

const Expression* Parser::as_foreign(Node node) {
  node->kind = ExpressionKind::foreign;
  return finish(node);
}

const Expression* Parser::expression() {
  return deep_call([&] { return test(); });
}

/// `a`, or the tuple `a, b`.
const Expression* Parser::expression_or_tuple() {
  const Token& first = here();
  const Expression* one = starred_or_expression();
  if (!is(",")) return one;
  Node node = make(ExpressionKind::tuple, first);
  node->items.push_back(one);
  while (take_if(",")) {
    const bool ends = here().kind != TokenKind::name && here().kind != TokenKind::number &&
                      here().kind != TokenKind::text &&
                      !is_any({"(", "[", "{", "-", "+", "~", "*", "..."});
    if (ends) break;
    node->items.push_back(starred_or_expression());
  }
  return finish(node);
}

const Expression* Parser::starred_or_expression() {
  const Token& first = here();
  if (!take_if("*")) return expression();
  Node node = make(ExpressionKind::starred, first);
  node->items.push_back(binary(1));
  return finish(node);
}

const Expression* Parser::test() {
  const Token& first = here();
  if (is("lambda")) return lambda();
  if (is("yield") || is("await")) {
    refuse("not_in_scripts", hint("leave it out"), here(), "'{}' is not of the script language",
           here().text);
  }
  const Expression* value = disjunction();
  if (is(":=")) {
    refuse("not_in_scripts", hint("assign on a line of its own"), here(),
           "':=' is not of the script language");
  }
  if (!is("if")) return value;
  take();
  Node node = make(ExpressionKind::conditional, first);
  node->items = {value, disjunction()};
  expect("else", "in a conditional expression");
  node->items.push_back(expression());
  return finish(node);
}

const Expression* Parser::disjunction() {
  const Token& first = here();
  const Expression* value = conjunction();
  if (!is("or")) return value;
  Node node = make(ExpressionKind::logic, first);
  node->text = "or";
  node->items.push_back(value);
  while (take_if("or")) node->items.push_back(conjunction());
  return finish(node);
}

const Expression* Parser::conjunction() {
  const Token& first = here();
  const Expression* value = inversion();
  if (!is("and")) return value;
  Node node = make(ExpressionKind::logic, first);
  node->text = "and";
  node->items.push_back(value);
  while (take_if("and")) node->items.push_back(inversion());
  return finish(node);
}

const Expression* Parser::inversion() {
  if (!is("not")) return comparison();
  Node node = make(ExpressionKind::unary, here());
  node->text = take().text;
  node->items.push_back(deep_call([&] { return inversion(); }));
  return finish(node);
}

/// The comparison operator that follows, taken; empty when there is none.
std::string_view Parser::comparison_operator() {
  if (is("not") && after().text == "in") return take(), take(), "not in";
  if (is("is") && after().text == "not") return take(), take(), "is not";
  const bool follows = is_any({"<", "<=", ">", ">=", "==", "!=", "in", "is"});
  return follows ? take().text : std::string_view();
}

const Expression* Parser::comparison() {
  const Token& first = here();
  const Expression* value = binary(1);
  std::string_view symbol = comparison_operator();
  if (symbol.empty()) return value;
  Node node = make(ExpressionKind::compare, first);
  node->items.push_back(value);
  for (; !symbol.empty(); symbol = comparison_operator()) {
    node->names.push_back(symbol);
    node->items.push_back(binary(1));
  }
  return finish(node);
}

/// Operators of `weakest` or more weight, by climbing.
const Expression* Parser::binary(int weakest) {
  const Token& first = here();
  const Expression* left = factor();
  while (true) {
    const int weight = here().kind == TokenKind::symbol ? weight_of(here().text) : 0;
    if (weight == 0 || weight < weakest) return left;
    Node node = make(ExpressionKind::binary, first);
    node->text = take().text;
    node->items = {left, binary(weight + 1)};
    left = finish(node);
  }
}

const Expression* Parser::factor() {
  const bool is_signed = here().kind == TokenKind::symbol && is_any({"+", "-", "~"});
  if (!is_signed) return power();
  Node node = make(ExpressionKind::unary, here());
  node->text = take().text;
  node->items.push_back(deep_call([&] { return factor(); }));
  return finish(node);
}

const Expression* Parser::power() {
  const Token& first = here();
  const Expression* base = primary();
  if (!is("**")) return base;
  Node node = make(ExpressionKind::binary, first);
  node->text = take().text;
  node->items = {base, deep_call([&] { return factor(); })};
  return finish(node);
}

const Expression* Parser::primary() {
  const Token& first = here();
  const Expression* value = atom();
  while (here().kind == TokenKind::symbol) {
    if (is(".")) {
      Node node = make(ExpressionKind::attribute, first);
      take();
      node->text = name("an attribute");
      node->items = {value};
      value = finish(node);
    } else if (is("(")) {
      Node node = make(ExpressionKind::call, first);
      node->items = {value};
      arguments(node);
      value = finish(node);
    } else if (is("[")) {
      Node node = make(ExpressionKind::subscript, first);
      take();
      node->items = {value, subscript_index()};
      expect("]", "after an index");
      value = finish(node);
    } else {
      break;
    }
  }
  return value;
}

void Parser::arguments(Node call) {
  take();
  while (!is(")")) {
    const Token& first = here();
    if (is("**")) {
      take();
      Node node = make(ExpressionKind::starred, first);
      node->text = "**";
      node->items = {expression()};
      call->items.push_back(finish(node));
    } else if (here().kind == TokenKind::name && after().text == "=" &&
               after().kind == TokenKind::symbol) {
      Node node = make(ExpressionKind::keyword, first);
      node->text = name("a parameter");
      take();
      node->items = {expression()};
      call->items.push_back(finish(node));
    } else {
      const Expression* value = starred_or_expression();
      if (is("for") || is("async")) value = comprehension(first, ")");
      call->items.push_back(value);
    }
    if (!take_if(",")) break;
  }
  expect(")", "after arguments");
}

const Expression* Parser::atom() {
  const Token& token = here();
  switch (token.kind) {
    case TokenKind::number: {
      Node node = make(ExpressionKind::number, token);
      node->text = take().text;
      // Complex numbers are left to Python.
      return token.text.ends_with('j') || token.text.ends_with('J') ? as_foreign(node)
                                                                    : finish(node);
    }
    case TokenKind::text: return texts();
    case TokenKind::name:
      if (!is_keyword(token.text)) {
        Node node = make(ExpressionKind::name, token);
        node->text = take().text;
        return finish(node);
      }
      break;
    case TokenKind::symbol:
      if (is("(")) return parenthesised();
      if (is("[")) return list();
      if (is("{")) return braces();
      if (is("...")) {
        take();
        return make(ExpressionKind::dots, token);
      }
      break;
    default: break;
  }
  refuse("syntax", hint("see the grammar of Python"), token, "an expression is missing: {}",
         what_is_here());
}

/// Texts that follow each other are one.
const Expression* Parser::texts() {
  Node node = make(ExpressionKind::text, here());
  bool is_plain = true;
  while (here().kind == TokenKind::text) {
    const Token& token = take();
    const TextForm form = read_text(token.text, node->value);
    if (form == TextForm::broken) {
      refuse(
          "syntax",
          hint("write \\x and two hexadecimal digits, \\u and four, \\U and eight, or \\\\ for a "
               "backslash itself"),
          token, "the text {} has an escape without all of its digits", token.text);
    }
    is_plain = is_plain && form == TextForm::plain;
  }
  return is_plain ? finish(node) : as_foreign(node);
}

const Expression* Parser::parenthesised() {
  const Token& first = take();
  Node node = make(ExpressionKind::tuple, first);
  if (take_if(")")) return finish(node);
  const Expression* value = starred_or_expression();
  if (is("for") || is("async")) {
    comprehension_clauses();
    expect(")", "after a comprehension");
    return as_foreign(node);
  }
  if (!is(",") && value->kind != ExpressionKind::starred) {
    expect(")", "after an expression");
    return value;
  }
  node->items.push_back(value);
  while (take_if(",") && !is(")")) node->items.push_back(starred_or_expression());
  expect(")", "after a tuple");
  return finish(node);
}

const Expression* Parser::list() {
  const Token& first = take();
  Node node = make(ExpressionKind::list, first);
  while (!is("]")) {
    node->items.push_back(starred_or_expression());
    if (is("for") || is("async")) {
      comprehension_clauses();
      expect("]", "after a comprehension");
      return as_foreign(node);
    }
    if (!take_if(",")) break;
  }
  expect("]", "after a list");
  return finish(node);
}

/// A dict; sets and comprehensions are left to the resolver.
const Expression* Parser::braces() {
  const Token& first = take();
  Node node = make(ExpressionKind::dict, first);
  bool is_dict = true;
  while (!is("}")) {
    if (take_if("**")) {
      node->items.push_back(binary(1));
      is_dict = false;
    } else {
      node->items.push_back(starred_or_expression());
      is_dict = is_dict && is(":");
      if (take_if(":")) node->items.push_back(expression());
    }
    if (is("for") || is("async")) {
      is_dict = false;
      comprehension_clauses();
    }
    if (!take_if(",")) break;
  }
  expect("}", "after a dict");
  return is_dict ? finish(node) : as_foreign(node);
}

/// `for x in xs if c ...`
void Parser::comprehension_clauses() {
  while (is_any({"for", "async", "if"})) {
    take_if("async");
    if (take_if("if")) {
      disjunction();
      continue;
    }
    expect("for", "in a comprehension");
    target_list();
    expect("in", "in a comprehension");
    disjunction();
  }
}

/// A generator as the only argument of a call, without parentheses of its own.
const Expression* Parser::comprehension(const Token& first, std::string_view close) {
  Node node = make(ExpressionKind::foreign, first);
  comprehension_clauses();
  if (!is(close)) {
    refuse("syntax", hint("put parentheses around it"), here(),
           "a generator is the only argument of a call: {}", what_is_here());
  }
  return finish(node);
}

const Expression* Parser::lambda() {
  Node node = make(ExpressionKind::lambda, take());
  bool is_plain = true;
  while (!is(":")) {
    is_plain = !take_if("*") && !take_if("**") && is_plain;
    if (is("/") || is(",")) {
      is_plain = false;
    } else {
      node->names.push_back(name("a parameter"));
    }
    take_if("/");
    if (take_if("=")) {
      is_plain = false;
      expression();
    }
    if (!take_if(",")) break;
  }
  expect(":", "after the parameters of a lambda");
  node->items = {expression()};
  return is_plain ? finish(node) : as_foreign(node);
}

const Expression* Parser::subscript_index() {
  const Token& first = here();
  const Expression* one = subscript_item();
  if (!is(",")) return one;
  Node node = make(ExpressionKind::tuple, first);
  node->items.push_back(one);
  while (take_if(",") && !is("]")) node->items.push_back(subscript_item());
  return finish(node);
}

const Expression* Parser::subscript_item() {
  const Token& first = here();
  const Expression* start = is(":") ? nullptr : starred_or_expression();
  if (!is(":")) return start;
  Node node = make(ExpressionKind::slice, first);
  const auto part = [&]() -> const Expression* {
    return is_any({":", ",", "]"}) ? nullptr : expression();
  };
  take();
  node->items = {start, part()};
  node->items.push_back(take_if(":") ? part() : nullptr);
  return finish(node);
}

}  // namespace loopsmith::parsing
