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
    copy.buffer = rewrite.buffer(load.buffer);
    renew(copy.indices);
    if (copy.predicate.defined()) copy.predicate = rewrite(copy.predicate);
    return make(std::move(copy));
  });
  rewrite.on<BufferStore>([&](const BufferStore& store) -> Stmt {
    BufferStore copy = store;
    copy.buffer = rewrite.buffer(store.buffer);
    renew(copy.indices);
    copy.value = rewrite(copy.value);
    if (copy.predicate.defined()) copy.predicate = rewrite(copy.predicate);
    return make(std::move(copy));
  });
  rewrite.on<Range>([&](const Range& old_range) -> Ref {
    return range(forms(old_range.min), forms(old_range.extent));
  });
  rewrite.on<Var>([&](const Var& variable) -> Expr { return forms(Expr(Ptr<Var>(&variable))); });
  Block renewed = block;
  renewed.iter_vars.clear();
  renewed = *rewrite(make(std::move(renewed)));
  renewed.iter_vars = block.iter_vars;
  return renewed;
}

}  // namespace loopsmith
