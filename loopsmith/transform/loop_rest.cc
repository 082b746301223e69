// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/loop_rest.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/idle_vectors.h"
#include "loopsmith/transform/loop_body.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// More iterations that are unrolled become a loop in what is left over.
constexpr std::int64_t max_copies_of_rest = 4;

}  // namespace

Stmt remainder_of(const Stmt& stmt) {
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ptr<For> inner = rewrite.children(loop);
    const std::int64_t* copies = as_int(loop.extent);
    const bool is_branch_free =
        copies && *copies <= max_copies_of_rest && !contains<IfThenElse>(loop.body);
    if (loop.kind != ForKind::unrolled) return inner;
    if (is_branch_free) {
      const Stmt vectors = without_idle_vectors(*inner);
      return vectors ? vectors : inner;
    }
    For copy = *inner;
    copy.kind = ForKind::serial;
    return make(std::move(copy));
  });
  return rewrite(clone_with(stmt, {}));
}

Stmt with_copied_tiles(const Stmt& rest, std::int64_t lanes) {
  std::unordered_set<const Object*> stored;
  pre_order_visit(rest, [&](const Ref& ref) {
    if (const auto* store = ref.as<BufferStore>()) stored.insert(store->buffer.get());
    return true;
  });
  std::vector<std::pair<Ptr<Buffer>, Ptr<Buffer>>> copies;
  const auto copy_of = [&](const Ptr<Buffer>& buffer) -> Ptr<Buffer> {
    const std::int64_t* size = buffer->shape.size() == 1 ? as_int(buffer->shape[0]) : nullptr;
    const bool is_tile =
        size && lanes > 0 && *size % lanes == 0 && memory_scope(*buffer) == MemoryScope::local;
    if (!is_tile || stored.contains(buffer.get())) return buffer;
    const auto known =
        std::ranges::find_if(copies, [&](const auto& each) { return each.first.same_as(buffer); });
    if (known != copies.end()) return known->second;
    const std::string scope(buffer->scope());
    copies.emplace_back(buffer,
                        decl_buffer(buffer->shape, buffer->dtype, buffer->name + "_rest", scope));
    return copies.back().second;
  };
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    BufferLoad changed = *rewrite.children(load);
    changed.buffer = copy_of(load.buffer);
    return make(std::move(changed));
  });
  Stmt result = rewrite(rest);
  for (const auto& [tile, copy] : copies) {
    const Ptr<Var> vector = var("v"), lane = var("l");
    const Expr place = vector * int_imm(i32, lanes) + lane;
    const Stmt one = store(copy, load(tile, {place}), {place});
    const Stmt row = make(For{.loop_var = lane,
                              .min = 0,
                              .extent = int_imm(i32, lanes),
                              .kind = ForKind::vectorized,
                              .body = one});
    const Stmt all = make(For{.loop_var = vector,
                              .min = 0,
                              .extent = int_imm(i32, *as_int(copy->shape[0]) / lanes),
                              .kind = ForKind::unrolled,
                              .body = row});
    result = with_register(copy, seq({all, result}));
  }
  return result;
}

}  // namespace loopsmith
