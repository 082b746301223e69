// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/queries/index_form.h"

namespace loopsmith {

struct Block;

/// What a block reads, writes and does, with values for its axes, which `forms` binds. The axes
/// themselves, its name and its annotations stay as they are.
Block with_axes_as(const Block& block, const IndexForms& forms);

}  // namespace loopsmith
