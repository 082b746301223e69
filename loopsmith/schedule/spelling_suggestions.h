// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace loopsmith {

/// Of several names, those that `wanted` may be a misspelling of, the likeliest first.
std::vector<std::string> closest_names(std::string_view wanted, std::vector<std::string> names);

/// `did you mean B?` of such names; `default_value` when there is none.
std::string did_you_mean(std::string_view wanted, std::vector<std::string> names,
                         std::string_view default_value);

}  // namespace loopsmith
