// SPDX-License-Identifier: Apache-2.0
// Sources that travel with what was written in them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "loopsmith/support/span.h"

namespace loopsmith {

/// The text that `source_id` was given for a source; empty for files and unknown sources.
std::string source_text(std::uint32_t id);

/// The id of a source that comes from another process: that of `name`, unless the name has another
/// text here; then that of `name (2)`, and so on.
std::uint32_t import_source(std::string_view name, std::string_view text);

}  // namespace loopsmith
