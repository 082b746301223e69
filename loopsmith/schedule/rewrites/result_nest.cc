// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/result_nest.h"

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

Stmt with_body(const Stmt& nest, const Block& reduction, std::string name, const Stmt& body) {
  if (const auto* loop = nest.as<For>()) {
    For copy = *loop;
    copy.body = with_body(loop->body, reduction, std::move(name), body);
    return make(std::move(copy));
  }
  BlockRealize realize = *nest.as<BlockRealize>();
  Block block{.iter_vars = realize.block->iter_vars, .name_hint = std::move(name)};
  Substitution axes;
  std::size_t next = 0;
  for (const auto& axis : reduction.iter_vars) {
    if (axis->iter_type == IterType::data_par) axes[axis->var] = block.iter_vars[next++]->var;
  }
  block.body = substitute(body, axes);
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  realize.block = make(std::move(block));
  return make(std::move(realize));
}

}  // namespace

Stmt result_nest(const Stmt& init, const Block& reduction, std::string name, const Stmt& body) {
  return clone_with(with_body(init, reduction, std::move(name), body), {});
}

BlockRV block_of_nest(const Schedule& schedule, NodeId nest) {
  while (!schedule.as<BlockRealize>(nest)) nest = schedule.at(nest).first_child;
  return schedule.block_at(nest);
}

}  // namespace loopsmith
