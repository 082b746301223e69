// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// What the annotation of a serial loop says that the code generator is to unroll.
inline constexpr std::string_view unroll_later = "unroll_later";

/// `body` under an attribute for each annotation `pragma_x`, `what` being annotated so. Throws
/// where lowering does not know a pragma, or where its value is of another kind.
Stmt with_pragmas(const Attrs& annotations, std::string_view what, const Span& span, Stmt body);

/// The annotations that are no pragmas.
Attrs without_pragmas(const Attrs& annotations);

}  // namespace loopsmith
