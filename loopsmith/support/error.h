// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "loopsmith/support/span.h"

namespace loopsmith {

/// Which family of the user's mistakes an error belongs to; in Python, a class each.
enum class ErrorKind { user, type_mismatch, bounds, format, script, schedule, lower, call, interp };

/// The name of the Python class of `kind`: `TypeMismatch`, ...
std::string_view to_string(ErrorKind kind);

/// The user's mistake: what is wrong, what to do about it, and where.
///
/// `what()` reads as a person would say it: the problem, then a line `hint: ...`, then `at` and the
/// quoted source.
class UserError : public std::runtime_error {
 public:
  UserError(ErrorKind kind, std::string code, std::string problem, std::string hint,
            Span span = {});

  ErrorKind kind() const { return kind_; }
  /// A stable name of the rule that was broken: `extent_is_constant`.
  const std::string& code() const { return code_; }
  const std::string& problem() const { return problem_; }
  const std::string& hint() const { return hint_; }
  const Span& span() const { return span_; }

  /// The same error, with its phase before the problem (`lower: ...`), and `span` if it had none.
  UserError in_phase(std::string_view phase, Span span = {}) const;

 private:
  ErrorKind kind_;
  std::string code_;
  std::string problem_;
  std::string hint_;
  Span span_;
};

/// A bug of ours. Never the user's fault, so it asks for a report.
struct InternalError : std::logic_error {
  explicit InternalError(const std::string& what);
};

/// What to do about an error.
struct Hint {
  std::string_view text;
};
constexpr Hint hint(std::string_view text) {
  return {text};
}

namespace detail {
[[noreturn]] void throw_user_error(ErrorKind kind, std::string_view code, Hint hint,
                                   const Span& span, fmt::string_view format,
                                   fmt::format_args args);
[[noreturn]] void throw_internal_error(std::string_view where, fmt::string_view format,
                                       fmt::format_args args);
}  // namespace detail

/// Throws a UserError of `kind` whose problem is the formatted text.
template <class... Args>
[[noreturn]] void fail(ErrorKind kind, std::string_view code, Hint hint, const Span& span,
                       fmt::format_string<Args...> format, Args&&... args) {
  detail::throw_user_error(kind, code, hint, span, format, fmt::make_format_args(args...));
}

/// Stops with a UserError unless `ok`. Makes text only then.
template <class... Args>
void require(bool ok, std::string_view code, Hint hint, fmt::format_string<Args...> format,
             Args&&... args) {
  if (!ok) [[unlikely]] {
    detail::throw_user_error(ErrorKind::user, code, hint, {}, format,
                             fmt::make_format_args(args...));
  }
}

/// The same, for a family of errors and a place.
template <class... Args>
void require(bool ok, ErrorKind kind, std::string_view code, Hint hint, const Span& span,
             fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]] {
    detail::throw_user_error(kind, code, hint, span, format, fmt::make_format_args(args...));
  }
}

/// Stops with an InternalError unless `ok`: `check(x, "flatten_buffers", "no shape for {}", name)`.
template <class... Args>
void check(bool ok, std::string_view where, fmt::format_string<Args...> format, Args&&... args) {
  if (!ok) [[unlikely]] {
    detail::throw_internal_error(where, format, fmt::make_format_args(args...));
  }
}

}  // namespace loopsmith
