// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/rules/nest.h"

namespace loopsmith {

/// Whether a point of `reader` reads several elements of the buffer.
bool reads_neighbours(const Nest& reader, const Ptr<Buffer>& buffer);

/// The same, of any buffer that it reads.
bool reads_neighbours(const Nest& reader);

}  // namespace loopsmith
