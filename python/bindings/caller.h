// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "loopsmith/support/span.h"

namespace loopsmith::python {

/// The line of Python that runs now: the innermost one outside the package. What a cell of a
/// notebook says there is kept, for errors to quote.
Span caller_span();

}  // namespace loopsmith::python
