// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/axis_rewrite.h"

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

Block with_axes_as(const Block& block, const IndexForms& forms) {
  Rewriter rewrite;
  const auto renew = [&](std::vector<Expr>& indices) {
    for (Expr& index : indices) index = forms(index);
  };
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    BufferLoad copy = load;
    renew(copy.indices);
    if (copy.predicate.defined()) copy.predicate = rewrite(copy.predicate);
    return make(std::move(copy));
  });
  rewrite.on<BufferStore>([&](const BufferStore& store) -> Stmt {
    BufferStore copy = store;
    renew(copy.indices);
    copy.value = rewrite(copy.value);
    if (copy.predicate.defined()) copy.predicate = rewrite(copy.predicate);
    return make(std::move(copy));
  });
  rewrite.on<Range>([&](const Range& old_range) -> Ref {
    return range(forms(old_range.min), forms(old_range.extent));
  });
  rewrite.on<Var>([&](const Var& variable) -> Expr { return forms(Expr(Ptr<Var>(&variable))); });
  Block copy = block;
  for (auto* regions : {&copy.reads, &copy.writes}) {
    for (auto& region : *regions) region = rewrite(region);
  }
  for (auto& match : copy.match_buffers) match = rewrite(match);
  if (copy.init) copy.init = rewrite(copy.init);
  copy.body = rewrite(copy.body);
  return copy;
}

}  // namespace loopsmith
