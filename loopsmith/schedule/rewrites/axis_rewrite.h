// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/schedule/queries/index_form.h"

namespace loopsmith {

struct Block;

/// The block with the values that `forms` binds substituted for its axes in regions, body and init.
/// The list of axes, the name and the annotations stay as they are.
Block with_axes_as(const Block& block, const IndexForms& forms);

}  // namespace loopsmith
