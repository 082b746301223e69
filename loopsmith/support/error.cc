// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

std::string whole_text(const std::string& problem, const std::string& hint, const Span& span) {
  std::string text = problem;
  if (!hint.empty()) text += "\n  hint: " + hint;
  if (span.known()) text += "\n  at " + quote(span);
  return text;
}

}  // namespace

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::user: return "UserError";
    case ErrorKind::type_mismatch: return "TypeMismatch";
    case ErrorKind::bounds: return "BoundsError";
    case ErrorKind::format: return "FormatError";
    case ErrorKind::script: return "ScriptError";
    case ErrorKind::schedule: return "ScheduleError";
    case ErrorKind::lower: return "LowerError";
    case ErrorKind::call: return "CallError";
    case ErrorKind::interp: return "InterpError";
  }
  return "UserError";
}

UserError::UserError(ErrorKind kind, std::string code, std::string problem, std::string hint,
                     Span span)
    : std::runtime_error(whole_text(problem, hint, span)),
      kind_(kind),
      code_(std::move(code)),
      problem_(std::move(problem)),
      hint_(std::move(hint)),
      span_(span) {}

UserError UserError::in_phase(std::string_view phase, Span span) const {
  return {kind_, code_, fmt::format("{}: {}", phase, problem_), hint_,
          span_.known() ? span_ : span};
}

InternalError::InternalError(const std::string& what) : std::logic_error(what) {}

namespace detail {

void throw_user_error(ErrorKind kind, std::string_view code, Hint hint, const Span& span,
                      fmt::string_view format, fmt::format_args args) {
  throw UserError(kind, std::string(code), fmt::vformat(format, args), std::string(hint.text),
                  span);
}

void throw_internal_error(std::string_view where, fmt::string_view format, fmt::format_args args) {
  throw InternalError(
      fmt::format("internal error in {}, please report: {}", where, fmt::vformat(format, args)));
}

}  // namespace detail
}  // namespace loopsmith
