// SPDX-License-Identifier: Apache-2.0
// What tensor intrinsics mark as an instruction of a warp, and the loops under the mark.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/fragment_layout.h"
#include "loopsmith/ir/function.h"

namespace loopsmith {

/// What a product has a tile for.
FragmentUse use_of(const Buffer& tile);

/// True when a warp holds memory of `body` in fragments.
bool has_fragments(const Stmt& body);

/// What stands under a mark.
struct MarkedStore {
  const BufferStore* store = nullptr;
  std::vector<Ptr<For>> loops;
};
MarkedStore marked_store(const Stmt& body);

/// What a mark says.
std::string instruction_of(const AttrStmt& mark);

/// Products of fragments, and of operands in shared memory.
bool is_product(std::string_view instruction);

/// True where four warps multiply together in `body`.
bool has_products_of_four_warps(const Stmt& body);

/// Throws a UserError where the instruction of a mark is not known in this form.
void require_known(bool is_known, const AttrStmt& mark);

}  // namespace loopsmith
