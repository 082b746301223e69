// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string_view>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The annotation of a block that lists the functions of the host whose calls its user has vouched
/// for: such a call reads what the block declares to read, writes all that it declares to write
/// with values that follow from that, and does nothing else.
inline constexpr std::string_view trusted_calls_key = "trusted_calls";

/// The function of the host that a call names, which may do anything; empty for other calls.
std::string_view host_function_of(const Call& call);

/// The names that the block lists.
std::vector<std::string_view> trusted_calls(const Block& block);

/// True for a call of one of them.
bool is_trusted_call(const Block& block, const Call& call);

}  // namespace loopsmith
