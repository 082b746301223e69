// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/uncached.h"

#include <algorithm>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// A block that copies each element to the same place of another buffer: the two, from and to.
std::optional<std::pair<Ptr<Buffer>, Ptr<Buffer>>> copied_by(const Block& block) {
  const auto* store = block.body.as<BufferStore>();
  const auto* load = store ? store->value.as<BufferLoad>() : nullptr;
  if (!load || block.init || store->predicate.defined() || load->predicate.defined()) return {};
  if (store->buffer->dtype != load->buffer->dtype || load->buffer.same_as(store->buffer) ||
      !are_same_indices(store->indices, load->indices) ||
      !are_same_indices(store->buffer->shape, load->buffer->shape)) {
    return {};
  }
  return std::pair{load->buffer, store->buffer};
}

Stmt nothing() {
  return make(Evaluate{.value = 0});
}

bool is_nothing(const Stmt& stmt) {
  const auto* evaluated = stmt.as<Evaluate>();
  return evaluated && evaluated->value.is<IntImm>();
}

class CacheRemover {
 public:
  explicit CacheRemover(const Mirror& cache) : cache_(cache) {
    rewrite_.on<SeqStmt>([this](const SeqStmt& sequence) -> Stmt {
      std::vector<Stmt> kept;
      for (const Stmt& part : sequence.seq) {
        if (Stmt inside = rewrite_(part); !is_nothing(inside)) kept.push_back(std::move(inside));
      }
      return kept.empty() ? nothing() : seq(std::move(kept));
    });
    rewrite_.on<For>([this](const For& loop) -> Stmt {
      const Ptr<For> inside = rewrite_.children(loop);
      return is_nothing(inside->body) ? inside->body : Stmt(inside);
    });
    rewrite_.on<IfThenElse>([this](const IfThenElse& branch) -> Stmt {
      const Ptr<IfThenElse> inside = rewrite_.children(branch);
      return is_nothing(inside->then_case) && !inside->else_case ? inside->then_case : Stmt(inside);
    });
    rewrite_.on<BlockRealize>([this](const BlockRealize& realize) -> Stmt {
      const auto copied = copied_by(*realize.block);
      const bool is_of_cache = copied && is_cached(copied->first) && is_cached(copied->second);
      return is_of_cache ? nothing() : Stmt(rewrite_.children(realize));
    });
    rewrite_.replace_buffer(cache.copy, cache.buffer);
  }

  Stmt operator()(const Stmt& body) { return rewrite_(body); }

 private:
  bool is_cached(const Ptr<Buffer>& buffer) const {
    return buffer.same_as(cache_.buffer) || buffer.same_as(cache_.copy);
  }

  const Mirror& cache_;
  Rewriter rewrite_;
};

}  // namespace

std::vector<Uncached> without_caches(const Stmt& body, const std::vector<Ptr<Buffer>>& own) {
  std::vector<Mirror> caches;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* block = ref.as<Block>();
    const auto copied = block ? copied_by(*block) : std::nullopt;
    if (!copied) return !is_expr(*ref.get());
    for (const auto& [buffer, cache] : {*copied, std::pair{copied->second, copied->first}}) {
      const bool is_own =
          std::ranges::any_of(own, [&](const Ptr<Buffer>& each) { return each.same_as(cache); });
      const bool is_known =
          std::ranges::any_of(caches, [&](const Mirror& each) { return each.copy.same_as(cache); });
      if (is_own && !is_known) caches.push_back({buffer, cache, true});
    }
    return false;
  });
  std::vector<Uncached> found;
  for (const Mirror& cache : caches) found.push_back({CacheRemover(cache)(body), cache});
  return found;
}

}  // namespace loopsmith
