// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/ir/function.h"
#include "loopsmith/runtime/signature.h"

namespace loopsmith {

/// The element type as DLPack names it; bool takes a byte. Throws a UserError for what no array can
/// hold.
DLDataType to_dlpack(DataType dtype);

/// What a call of the compiled function must bring: from its parameters, their buffers' shapes, and
/// which of them its body writes.
Signature signature_of(const PrimFunc& func);

/// True of calls that look at an address, and at nothing there: a prefetch, a reinterpretation as
/// an integer.
bool looks_at_address(const Call& call);

/// How the data of a parameter's buffer must be aligned, in bytes. The default of a buffer, 64, is
/// what we give memory of our own; from others we ask the alignment of an element, and more only
/// where a buffer says more.
std::int64_t required_alignment(const Buffer& buffer);

}  // namespace loopsmith
