// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/jumps.h"

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/any_statement.h"

namespace loopsmith {

bool holds_jumps(const Stmt& stmt) {
  return any_statement(stmt, [](const Stmt& inside) {
    return inside.is<Break>() || inside.is<Continue>() || inside.is<Return>();
  });
}

std::optional<std::string_view> jump_out_of(const Stmt& stmt) {
  std::optional<std::string_view> found;
  const auto visit = [&](const auto& self, const Stmt& root, bool is_in_loop) -> void {
    pre_order_visit(root, [&](const Ref& ref) {
      if (ref.is<Return>()) found = "return";
      if (ref.is<Break>() && !is_in_loop) found = "break";
      if (ref.is<Continue>() && !is_in_loop) found = "continue";
      const auto* loop = ref.as<For>();
      const auto* repeated = ref.as<While>();
      if (loop) self(self, loop->body, true);
      if (repeated) self(self, repeated->body, true);
      return !found && !loop && !repeated && !is_expr(*ref.get());
    });
  };
  visit(visit, stmt, false);
  return found;
}

}  // namespace loopsmith
