// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/block_span.h"

#include "loopsmith/ir/walk.h"
#include "loopsmith/support/source.h"

namespace loopsmith {

Stmt of_block(const Stmt& body, std::string_view block) {
  if (block.empty()) return body;
  Rewriter rewrite;
  rewrite.on<BlockRealize>([](const BlockRealize& inner) { return Stmt(&inner); });
  rewrite.on<BufferStore>([&](const BufferStore& store) {
    // Nodes that belong to a block already keep it: rules put whole nests into one.
    if (!store.span.known() || !source_block(store.span.source).empty()) return Stmt(&store);
    BufferStore copy = store;
    copy.span.source = block_source(store.span.source, block);
    return Stmt(make(std::move(copy)));
  });
  return rewrite(body);
}

}  // namespace loopsmith
