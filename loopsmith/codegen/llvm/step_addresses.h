// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace llvm {
class LoopInfo;
}  // namespace llvm

namespace loopsmith::detail {

/// Makes addresses in innermost loops as cheap as they can be: LLVM's own strength reduction does
/// it, too, and more, but takes half of the time of code generation.
///
///     for k:                              p = B
///       load(B + k * 256 bytes)      =>   for k:
///       load(A + (i * n + k) * 4)           load(p); p += 256
///                                           load((A + i * n * 4) + k * 4)
void step_addresses(const llvm::LoopInfo& loops);

}  // namespace loopsmith::detail
