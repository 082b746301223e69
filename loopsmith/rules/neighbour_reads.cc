// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/neighbour_reads.h"

#include <algorithm>

#include "loopsmith/ir/structural.h"
#include "loopsmith/rules/strategy.h"

namespace loopsmith {

bool reads_neighbours(const Nest& reader, const Ptr<Buffer>& buffer) {
  std::vector<NestAccess> accesses = accesses_in(reader);
  std::erase_if(accesses, [&](const NestAccess& access) {
    return access.is_store || !access.buffer.same_as(buffer);
  });
  return std::ranges::any_of(accesses, [&](const NestAccess& access) {
    return !std::ranges::equal(access.indices, accesses[0].indices,
                               [](const Expr& a, const Expr& b) { return structural_equal(a, b); });
  });
}

bool reads_neighbours(const Nest& reader) {
  return std::ranges::any_of(accesses_in(reader), [&](const NestAccess& access) {
    return !access.is_store && reads_neighbours(reader, access.buffer);
  });
}

}  // namespace loopsmith
