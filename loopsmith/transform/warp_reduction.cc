// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/warp_reduction.h"

#include <bit>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// All lanes of a warp take part.
Expr all_lanes() {
  return int_imm(u32, 0xffffffff);
}

/// Statements in which `names` stand for `values`.
Stmt named(const std::vector<Ptr<Var>>& names, const std::vector<Expr>& values, Stmt body) {
  for (std::size_t i = names.size(); i-- > 0;) {
    body = make(LetStmt{.value = values[i], .var = names[i], .body = std::move(body)});
  }
  return body;
}

}  // namespace

std::optional<WarpGroup> warp_group(std::int64_t threads, int warp_size) {
  if (warp_size < 2 || threads < 2) return {};
  if (threads < warp_size) {
    const bool is_even_part = std::has_single_bit(static_cast<std::uint64_t>(threads));
    if (!is_even_part) return {};
    return WarpGroup{static_cast<int>(threads), 1, warp_size};
  }
  const std::int64_t warps = threads / warp_size;
  if (threads % warp_size != 0 || warps > warp_size) return {};
  return WarpGroup{warp_size, static_cast<int>(warps), warp_size};
}

Stmt store_tuple(const std::vector<Ptr<Buffer>>& into, const std::vector<Expr>& at,
                 const std::vector<Expr>& values) {
  if (into.size() == 1) return store(into[0], values[0], at);
  std::vector<Ptr<Var>> names;
  std::vector<Stmt> stores;
  for (const Ptr<Buffer>& buffer : into) {
    names.push_back(var("combined", buffer->dtype));
    stores.push_back(store(buffer, names.back(), at));
  }
  return named(names, values, seq(std::move(stores)));
}

std::vector<Stmt> combine_lanes(const std::vector<Ptr<Buffer>>& own, const Expr& thread, int lanes,
                                int warp_size, const CombineTuples& combine) {
  const Expr lane = floormod(cast(i32, thread), int_imm(i32, lanes));
  std::vector<Stmt> steps;
  for (int distance = 1; distance < lanes; distance *= 2) {
    std::vector<Ptr<Var>> others;
    std::vector<Expr> mine, exchanged, before, after;
    const Expr is_behind = (lane & int_imm(i32, distance)) != int_imm(i32, 0);
    for (const Ptr<Buffer>& buffer : own) {
      others.push_back(var("other", buffer->dtype));
      mine.push_back(load(buffer, {0}));
      exchanged.push_back(
          call(op("tvm_warp_shuffle"), {all_lanes(), mine.back(), lane ^ int_imm(i32, distance),
                                        int_imm(i32, lanes), int_imm(i32, warp_size)}));
      // Of one value alone the order does not matter; of tuples it says which of equal values wins.
      const bool is_ordered = own.size() > 1;
      before.push_back(is_ordered ? select(is_behind, others.back(), mine.back()) : mine.back());
      after.push_back(is_ordered ? select(is_behind, mine.back(), others.back())
                                 : Expr(others.back()));
    }
    steps.push_back(named(others, exchanged, store_tuple(own, {0}, combine(before, after))));
  }
  return steps;
}

}  // namespace loopsmith
