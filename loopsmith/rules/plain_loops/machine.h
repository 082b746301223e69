// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "loopsmith/rules/cpu_model.h"

namespace loopsmith::plain_loops {

/// What the model of plain loops asks of a processor beside what all rules do.
struct Machine : CpuModel {
  /// What the cache holds that is next to a core.
  std::int64_t first_cache_bytes = std::int64_t{32} << 10;
  /// What a size is taken for that is known at run time only.
  double unknown_size = 1000;
  /// Whether the program asks that such sizes are at least that.
  bool asks_sizes = false;
};

}  // namespace loopsmith::plain_loops
