// SPDX-License-Identifier: Apache-2.0
// Nodes in formatted texts: `script_text.h`, and what fmt is to know of it.
#pragma once
#include <fmt/format.h>

#include "loopsmith/ir/script_text.h"

/// Errors name expressions and statements by their first line.
template <>
struct fmt::formatter<loopsmith::Ref> : fmt::formatter<std::string_view> {
  auto format(const loopsmith::Ref& node, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(loopsmith::brief(node), context);
  }
};
template <>
struct fmt::formatter<loopsmith::Expr> : fmt::formatter<loopsmith::Ref> {};
template <>
struct fmt::formatter<loopsmith::Stmt> : fmt::formatter<loopsmith::Ref> {};
template <class T>
struct fmt::formatter<loopsmith::Ptr<T>> : fmt::formatter<loopsmith::Ref> {};
