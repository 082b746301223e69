// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <functional>

namespace loopsmith::tune {

/// Does something with each number below `count`, in so many threads, this one among them; each
/// takes the next number. Throws what one of them threw.
void in_threads(std::size_t count, int threads, const std::function<void(std::size_t)>& task);

}  // namespace loopsmith::tune
