// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/record_regroupings.h"

#include <unordered_map>

#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/arith/regrouping.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// True when a block reduces over the loop.
bool has_reduction_over(const For& loop) {
  bool reduces = false;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* realize = ref.as<BlockRealize>();
    reduces = reduces || (realize && arith::is_reduction_loop(*realize, loop.loop_var));
    return !reduces && !is_expr(*ref.get());
  });
  return reduces;
}

}  // namespace

Ptr<PrimFunc> record_regroupings(const Ptr<PrimFunc>& func) {
  std::unordered_map<const Object*, Regrouping> found;
  std::vector<Ptr<Buffer>> allocated;
  const auto is_open = [](const For& loop) {
    return runs_in_threads(loop) && !has_fitting_record(loop) && may_regroup(loop);
  };
  each_loop_alone(func->body, is_open, [&](const For& loop, const Stmt& nest) {
    if (found.empty()) allocated = allocated_buffers(func->body);
    found.emplace(loop.loop_var.get(), regrouping_on_trust(loop, nest, allocated));
  });
  if (found.empty()) return func;

  Rewriter rewrite;
  rewrite.on<For>([&](const For& node) -> Stmt {
    const Ptr<For> loop = rewrite.children(node);
    const auto entry = found.find(node.loop_var.get());
    if (entry == found.end()) return loop;
    const auto& [buffers, ordered] = entry->second;
    if (ordered) {
      require(!has_reduction_over(node), ErrorKind::lower, "parallel_reduction_has_parts",
              hint("rfactor the reduction, then parallelize the new loop"), node.span,
              "parallel loop {} is a reduction without partial results: how its iterations update "
              "{} is no known reducer, they use it otherwise, or its parts would be too large",
              node.loop_var->name, ordered->name);
      if (node.kind != ForKind::parallel) return loop;
      For serial = *loop;
      serial.kind = ForKind::serial;
      return make(std::move(serial));
    }
    std::vector<std::string> names;
    for (const Ptr<Buffer>& buffer : buffers) names.push_back(buffer->name);
    return make(with_regrouped(*loop, names));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
