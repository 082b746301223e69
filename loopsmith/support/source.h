// SPDX-License-Identifier: Apache-2.0
// Sources that travel with what was written in them, and blocks that lowered code came from.
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

/// Another id of a source, for what stands in a block of that name; its name and lines are the
/// same.
std::uint32_t block_source(std::uint32_t id, std::string_view block);

/// The block of an id that `block_source` gave; empty for others.
std::string source_block(std::uint32_t id);

/// The source's own id, where `block_source` gave `id`.
std::uint32_t whole_source(std::uint32_t id);

}  // namespace loopsmith
