// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/stmt.h"
#include "loopsmith/schedule/program_tree.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith {

/// True when `found` is true of a statement, or of one inside it, inits of blocks among them; what
/// is inside those of which `enter` is false is left out. Expressions are not looked at.
template <class Found, class Enter>
bool any_statement(const Stmt& stmt, const Found& found, const Enter& enter) {
  if (!stmt.defined()) return false;
  if (found(stmt)) return true;
  if (!enter(stmt)) return false;
  return deep_call([&] {
    const auto* realize = stmt.as<BlockRealize>();
    if (realize && any_statement(realize->block->init, found, enter)) return true;
    const Stmt* inside = nullptr;
    for (std::uint32_t slot = 0; (inside = statement_in(*stmt.get(), slot)); ++slot) {
      if (any_statement(*inside, found, enter)) return true;
    }
    return false;
  });
}

/// The same of all that is inside.
template <class Found>
bool any_statement(const Stmt& stmt, const Found& found) {
  return any_statement(stmt, found, [](const Stmt&) { return true; });
}

}  // namespace loopsmith
