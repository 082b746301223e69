// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// A copy of `stmt` for what is left over: small, for it seldom runs. With conditions in between,
/// unrolled iterations would not share registers anyway; without, a few of them do, and those that
/// would do nothing are left out.
Stmt remainder_of(const Stmt& stmt);

/// `rest` with the registers that it loads from copied to memory: where places are computed in
/// loops, the original could not stay in registers anywhere.
Stmt with_copied_tiles(const Stmt& rest, std::int64_t lanes);

}  // namespace loopsmith
