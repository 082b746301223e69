// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/dependence/views.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"

namespace loopsmith::dependence {

void Views::add(const MatchBufferRegion& match) {
  const Ptr<Buffer>& source = match.source->buffer;
  View view{source, {}, 0};
  const std::size_t rank = match.source->region.size();
  view.leading = rank - std::min(rank, match.buffer->shape.size());
  for (const auto& range : match.source->region) view.offsets.push_back(range->min);
  if (const auto outer = views_.find(source.get()); outer != views_.end()) {
    // A view of a view: any element of what both show.
    view.buffer = outer->second.buffer;
    view.offsets.clear();
    view.leading = match.buffer->shape.size() + 1;
  }
  if (!match.buffer->strides.empty() && match.buffer->shape.size() != rank) view.offsets.clear();
  views_[match.buffer.get()] = std::move(view);
}

Views::Element Views::element(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) const {
  const auto found = views_.find(buffer.get());
  if (found == views_.end()) return {buffer, indices};
  const View& view = found->second;
  Element result{view.buffer, view.offsets};
  result.is_any = view.offsets.size() != view.leading + indices.size();
  if (result.is_any) return result;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    Expr& element = result.indices[view.leading + i];
    element = indices[i].dtype().is_scalar() ? element + indices[i] : Expr();
  }
  return result;
}

}  // namespace loopsmith::dependence
