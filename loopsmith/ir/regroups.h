// SPDX-License-Identifier: Apache-2.0
// What is recorded of a loop that runs its iterations concurrently and accumulates across them.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loopsmith/ir/stmt.h"

namespace loopsmith {

/// The annotation of such a loop: the names of the buffers into which several iterations
/// accumulate. Their updates may be made in any order and in any groups, and no iteration accesses
/// the elements otherwise. An empty list says that there are none. Lowering rests on it, and asks
/// nothing.
inline constexpr std::string_view regroups_key = "regroups";

/// The names that a loop records; nullopt where it records nothing.
std::optional<std::vector<std::string>> regrouped_names(const For& loop);
/// The loop with these names in place of those that it records.
For with_regrouped(For loop, const std::vector<std::string>& names);

/// True for a loop with annotations beside that record.
bool is_annotated(const For& loop);

/// The buffers of these names to which a loop stores, but for those that are declared inside.
std::vector<Ptr<Buffer>> regrouped_buffers(const For& loop);

/// True for a loop whose iterations different threads run: in parallel, or on threads of a GPU.
bool runs_in_threads(const For& loop);

}  // namespace loopsmith
