// SPDX-License-Identifier: Apache-2.0
// How errors are raised, with formatted texts; what they are stands in user_error.h. For our own
// sources: these functions are hidden, so that the library shows nothing of fmt.
#pragma once
#include <fmt/format.h>

#include <string_view>

#include "loopsmith/support/user_error.h"

#pragma GCC visibility push(hidden)

namespace loopsmith {

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

#pragma GCC visibility pop
