// SPDX-License-Identifier: Apache-2.0
// What is thrown: the user's mistakes, and bugs of ours.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

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

}  // namespace loopsmith
