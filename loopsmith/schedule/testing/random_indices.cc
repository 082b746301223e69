// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/testing/random_indices.h"

#include "loopsmith/ir/operators.h"

namespace loopsmith::schedule_testing {
namespace {

std::vector<Expr> random_indices(Draw& draw, std::vector<Expr> indices,
                                 const std::vector<std::int64_t>& extents, bool may_leave_out) {
  if (indices.empty()) return indices;
  const std::size_t at = draw.any() % indices.size();
  const int factor = draw.between(1, 4);
  const Expr one = indices[at];
  const auto place = indices.begin() + static_cast<int>(at);
  switch (draw.between(0, 7)) {
    case 0: draw.shuffle(indices); break;
    case 1:
      *place = floordiv(one, factor);
      indices.insert(place + 1, floormod(one, factor));
      break;
    case 2:
      *place = floordiv(one, factor);
      indices.push_back(floormod(one, factor));
      break;
    case 3: {
      Expr flat = indices[0];
      for (std::size_t i = 1; i < indices.size(); ++i) {
        flat = flat * static_cast<int>(extents[i]) + indices[i];
      }
      return {flat};
    }
    case 4: *place = static_cast<int>(extents[at]) - 1 - one; break;
    case 5: *place = one + draw.between(1, 2); break;
    case 6:
      if (may_leave_out) indices.erase(place);
      break;
    default: break;
  }
  return indices;
}

}  // namespace

Ptr<IndexMap> random_map(Draw& draw, const std::vector<std::int64_t>& extents, bool may_leave_out) {
  IndexMap map;
  std::vector<Expr> indices;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    map.initial_indices.push_back(var("xyzuvw"[i % 6] + std::string()));
    indices.push_back(map.initial_indices.back());
  }
  map.final_indices = random_indices(draw, std::move(indices), extents, may_leave_out);
  return make(std::move(map));
}

}  // namespace loopsmith::schedule_testing
