// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "loopsmith/script/token.h"
#include "loopsmith/support/error.h"
#include "loopsmith/support/utf8.h"

namespace loopsmith::parsing {
namespace {

/// More f-strings inside each other than anybody writes.
constexpr int max_nested_texts = 50;
constexpr int tab_width = 8;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
/// Any character beyond ASCII may stand in a name.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// Longest first.
constexpr std::string_view symbols[] = {
    "**=", "//=", ">>=", "<<=", "...", "**", "//", ">>", "<<", "<=", ">=", "==",
    "!=",  "->",  "+=",  "-=",  "*=",  "/=", "%=", "&=", "|=", "^=", "@=", ":=",
    "+",   "-",   "*",   "/",   "%",   "@",  "&",  "|",  "^",  "~",  "<",  ">",
    "(",   ")",   "[",   "]",   "{",   "}",  ",",  ":",  ".",  ";",  "=",
};

class Lexer {
 public:
  Lexer(std::string_view text, std::uint32_t source, std::uint32_t line)
      : text_(text), source_(source), line_(line) {}

  std::vector<Token> run() {
    tokens_.reserve(text_.size() / 3);
    if (text_.starts_with("\xEF\xBB\xBF")) position_ = 3;  // A byte order mark is no character.
    while (position_ < text_.size()) {
      if (at_line_start_ && brackets_ == 0 && indentation()) continue;
      token();
    }
    if (!tokens_.empty() && tokens_.back().kind != TokenKind::newline)
      add_empty(TokenKind::newline);
    for (; indents_.size() > 1; indents_.pop_back()) add_empty(TokenKind::dedent);
    add_empty(TokenKind::end);
    return std::move(tokens_);
  }

 private:
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
  Place place() const { return {line_, column_}; }

  template <class... Args>
  void require_here(bool ok, std::string_view code, Hint hint, Place begin,
                    fmt::format_string<Args...> format, Args&&... args) {
    if (ok) [[likely]]
      return;
    const Place end = begin.line == line_ ? place() : Place{begin.line, begin.column};
    fail(ErrorKind::script, code, hint, span_between(source_, begin, end), format,
         std::forward<Args>(args)...);
  }

  /// Goes on by `n` bytes of one line.
  void advance(std::size_t n) {
    for (const char c : text_.substr(position_, n)) column_ += is_continuation(c) ? 0 : 1;
    position_ += std::min(n, text_.size() - position_);
  }

  /// How long the line break at `i` is; 0 where there is none.
  std::size_t break_length(std::size_t i) const {
    if (at(i) == '\n') return 1;
    if (at(i) != '\r') return 0;
    return at(i + 1) == '\n' ? 2 : 1;
  }

  void next_line(std::size_t length) {
    position_ += length;
    ++line_;
    column_ = 1;
  }

  void add_empty(TokenKind kind) { tokens_.push_back({kind, {}, place(), place()}); }

  /// Spaces at the start of a line. True when the line is empty, and done.
  bool indentation() {
    int width = 0;
    while (at(position_) == ' ' || at(position_) == '\t' || at(position_) == '\f') {
      if (at(position_) == '\t') {
        width += tab_width - width % tab_width;
      } else {
        width = at(position_) == '\f' ? 0 : width + 1;
      }
      advance(1);
    }
    if (at(position_) == '#') skip_comment();
    if (position_ >= text_.size()) return true;
    if (const std::size_t length = break_length(position_)) {
      next_line(length);
      return true;
    }
    at_line_start_ = false;
    if (indents_.empty()) indents_.push_back(width);
    if (width > indents_.back()) {
      indents_.push_back(width);
      add_empty(TokenKind::indent);
      return false;
    }
    while (indents_.size() > 1 && width < indents_.back()) {
      indents_.pop_back();
      add_empty(TokenKind::dedent);
    }
    require_here(width == indents_.back(), "indentation_fits",
                 hint("indent it like one of the lines above"), {line_, 1},
                 "the indentation fits none of the lines above");
    return false;
  }

  void skip_comment() {
    while (position_ < text_.size() && !break_length(position_)) advance(1);
  }

  void token() {
    const char c = at(position_);
    if (c == ' ' || c == '\t' || c == '\f') return advance(1);
    if (c == '#') return skip_comment();
    if (const std::size_t length = break_length(position_)) return line_break(length);
    if (c == '\\' && break_length(position_ + 1)) {
      return next_line(1 + break_length(position_ + 1));
    }
    const Place begin = place();
    const std::size_t start = position_;
    if (is_text_start()) {
      skip_text(0);
      return add(TokenKind::text, start, begin);
    }
    if (is_letter(c)) {
      while (is_letter(at(position_)) || is_digit(at(position_))) advance(1);
      require_here(is_utf8(text_.substr(start, position_ - start)), "name_is_utf8",
                   hint("save the script as UTF-8"), begin, "the bytes of a name are not UTF-8");
      return add(TokenKind::name, start, begin);
    }
    if (is_digit(c) || (c == '.' && is_digit(at(position_ + 1)))) {
      skip_number();
      return add(TokenKind::number, start, begin);
    }
    for (const std::string_view symbol : symbols) {
      if (symbol[0] != c || !text_.substr(position_).starts_with(symbol)) continue;
      advance(symbol.size());
      count_brackets(symbol);
      return add(TokenKind::symbol, start, begin);
    }
    advance(1);
    const auto byte = static_cast<unsigned>(static_cast<unsigned char>(c));
    require_here(
        false, "token_is_known", hint("remove it"), begin,
        "the character {} is not of the language",
        byte < 0x20 || byte > 0x7E ? fmt::format("0x{:02x}", byte) : fmt::format("'{}'", c));
  }

  void add(TokenKind kind, std::size_t start, Place begin) {
    tokens_.push_back({kind, text_.substr(start, position_ - start), begin, place()});
  }

  void line_break(std::size_t length) {
    if (brackets_ == 0) {
      add_empty(TokenKind::newline);
      at_line_start_ = true;
    }
    next_line(length);
  }

  void count_brackets(std::string_view symbol) {
    if (symbol == "(" || symbol == "[" || symbol == "{") ++brackets_;
    if (symbol == ")" || symbol == "]" || symbol == "}") brackets_ = std::max(0, brackets_ - 1);
  }

  /// A quote, after at most two letters that say what kind of text it is.
  bool is_text_start() const {
    std::size_t i = position_;
    while (i < position_ + 2 &&
           std::string_view("rRbBuUfFtT").find(at(i)) != std::string_view::npos)
      ++i;
    return at(i) == '"' || at(i) == '\'';
  }

  void skip_text(int depth) {
    const Place begin = place();
    bool is_format = false, is_raw = false;
    for (; at(position_) != '"' && at(position_) != '\''; advance(1)) {
      const char prefix = at(position_);
      is_format = is_format || std::string_view("fFtT").find(prefix) != std::string_view::npos;
      is_raw = is_raw || prefix == 'r' || prefix == 'R';
    }
    const char quote = at(position_);
    const bool is_long = at(position_ + 1) == quote && at(position_ + 2) == quote;
    const std::size_t quotes = is_long ? 3 : 1;
    advance(quotes);
    const auto closes = [&] {
      return at(position_) == quote &&
             (!is_long || (at(position_ + 1) == quote && at(position_ + 2) == quote));
    };
    while (!closes()) {
      require_here(position_ < text_.size(), "text_is_closed", hint("add the closing quote"), begin,
                   "the text that begins here is not closed");
      const std::size_t length = break_length(position_);
      require_here(!length || is_long, "text_is_closed",
                   hint("add the closing quote, or use three quotes"), begin,
                   "the text that begins here is not closed on its line");
      if (length) {
        next_line(length);
      } else if (at(position_) == '\\') {
        const std::size_t escaped = break_length(position_ + 1);
        escaped ? next_line(1 + escaped) : advance(2);
      } else if (is_format && at(position_) == '{' && at(position_ + 1) == '{') {
        advance(2);
      } else if (is_format && at(position_) == '{') {
        skip_field(depth);
      } else {
        advance(1);
      }
    }
    advance(quotes);
  }

  /// What stands in braces in an f-string: an expression, which may hold texts.
  void skip_field(int depth) {
    const Place begin = place();
    require_here(depth < max_nested_texts, "texts_are_nested_little", hint("use variables"), begin,
                 "more than {} texts inside each other", max_nested_texts);
    int open = 0;
    do {
      require_here(position_ < text_.size(), "text_is_closed", hint("add the closing brace"), begin,
                   "the field that begins here is not closed");
      const std::size_t length = break_length(position_);
      if (length) {
        next_line(length);
        continue;
      }
      if (is_text_start()) {
        skip_text(depth + 1);
        continue;
      }
      if (is_letter(at(position_))) {
        while (is_letter(at(position_)) || is_digit(at(position_))) advance(1);
        continue;
      }
      open += at(position_) == '{' ? 1 : at(position_) == '}' ? -1 : 0;
      advance(1);
    } while (open > 0);
  }

  void skip_number() {
    const bool is_prefixed =
        at(position_) == '0' &&
        std::string_view("xXbBoO").find(at(position_ + 1)) != std::string_view::npos &&
        at(position_ + 1) != '\0';
    if (is_prefixed) {
      advance(2);
      while (is_letter(at(position_)) || is_digit(at(position_))) advance(1);
      return;
    }
    const auto digits = [&] {
      while (is_digit(at(position_)) || at(position_) == '_') advance(1);
    };
    digits();
    if (at(position_) == '.') {
      advance(1);
      digits();
    }
    if (at(position_) == 'e' || at(position_) == 'E') {
      const bool is_signed = at(position_ + 1) == '+' || at(position_ + 1) == '-';
      if (is_digit(at(position_ + (is_signed ? 2 : 1)))) {
        advance(is_signed ? 2 : 1);
        digits();
      }
    }
    if (at(position_) == 'j' || at(position_) == 'J') advance(1);
  }

  std::string_view text_;
  std::uint32_t source_;
  std::uint32_t line_;
  std::uint32_t column_ = 1;
  std::size_t position_ = 0;
  int brackets_ = 0;
  bool at_line_start_ = true;
  std::vector<int> indents_;
  std::vector<Token> tokens_;
};

}  // namespace

Span span_between(std::uint32_t source, Place begin, Place end) {
  constexpr std::uint32_t most = 0xFFFF;
  Span span{source, begin.line};
  if (begin.column > most) return span;
  span.column = static_cast<std::uint16_t>(begin.column);
  if (end.line == begin.line && end.column > begin.column) {
    span.length = static_cast<std::uint16_t>(std::min(end.column - begin.column, most));
  }
  return span;
}

std::vector<Token> tokens_of(std::string_view text, std::uint32_t source, std::uint32_t line) {
  return Lexer(text, source, line).run();
}

}  // namespace loopsmith::parsing
