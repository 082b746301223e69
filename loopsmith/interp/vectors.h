// SPDX-License-Identifier: Apache-2.0
// Lanes, bits and pointers: handlers that are neither arithmetic nor control.
#pragma once
#include "loopsmith/interp/code.h"
#include "loopsmith/interp/interp.h"

namespace loopsmith::interp {

/// The bits of `a`, of the type code `b`, as a value of the instruction's type.
Handler reinterpret_handler(const Options& options);
/// The bits of all lanes of `a`, whose element has the type code `b` and `number` bits, as lanes of
/// another width.
Handler regroup_handler(DataType from, DataType to, const Options& options);
/// Lane i is a + i < b.
Handler active_lanes_handler();
/// The pointer `a`, moved by `b` times `number` bits.
Handler move_pointer_handler();

}  // namespace loopsmith::interp
