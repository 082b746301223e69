// SPDX-License-Identifier: Apache-2.0
// Loads and stores, with all that is checked about them.
#pragma once
#include "loopsmith/interp/code.h"
#include "loopsmith/interp/interp.h"

namespace loopsmith::interp {

/// The handlers of a load into `d`, and of a store of `a` (lanes `sa` apart), whose instruction
/// holds `access`.
Handler load_handler(const Access& access, const Options& options);
Handler store_handler(const Access& access, const Options& options);

/// A store of no value: the elements count as never written from then on.
Handler forget_handler();
/// Jumps where an element of the access was never written.
Handler skip_unwritten_handler();
/// d = the pointer to an element; the instruction holds its access.
Handler address_handler();

}  // namespace loopsmith::interp
