// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_blocks.h"

#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"

namespace loopsmith {
namespace {

/// The rows of `buffer_dim_align` (written buffer, dimension, factor, offset) that are about
/// `buffer`; null without any.
Ref alignment_of(const Block& block, const Ptr<Buffer>& buffer) {
  const Ref all = block.annotations.get("buffer_dim_align");
  const auto* rows = all.as<List>();
  if (!rows) return nullptr;
  List own;
  for (const Ref& row : rows->items) {
    const auto* entries = row.as<List>();
    require(entries && entries->items.size() == 4, "dim_align_has_four_entries",
            hint("give [buffer index, dimension, factor, offset] in each row"),
            "lower_blocks: an entry of buffer_dim_align of block {} is not such a row",
            block.name_hint);
    const std::int64_t* index = as_int(Expr::from(entries->items[0]));
    if (index && *index >= 0 && *index < static_cast<std::int64_t>(block.writes.size()) &&
        block.writes[*index]->buffer.same_as(buffer)) {
      own.items.push_back(row);
    }
  }
  return own.items.empty() ? Ref() : Ref(make(std::move(own)));
}

/// `body` with memory for `buffer`.
Stmt allocated(const Ptr<Buffer>& buffer, const Ref& alignment, Stmt body) {
  Attrs annotations;
  if (alignment.defined()) annotations = annotations.with("buffer_dim_align", alignment);
  body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)});
  return make(Allocate{.dtype = buffer->dtype,
                       .extents = buffer->shape,
                       .condition = true,
                       .annotations = std::move(annotations),
                       .buffer_var = buffer->data,
                       .body = std::move(body)});
}

Stmt with_pragmas(const Block& block, Stmt body) {
  for (const auto& [key, value] : block.annotations) {
    if (!key.starts_with("pragma_")) continue;
    Expr what = Expr::from(value);
    if (!what.defined()) what = 1;
    body = make(AttrStmt{.attr_key = key, .value = std::move(what), .body = std::move(body)});
  }
  return body;
}

using Alignments = std::unordered_map<Ref, Ref, RefHash, RefEqual>;

/// How each buffer that a block writes wants its dimensions aligned; a block further out may
/// allocate it.
Alignments find_alignments(const Stmt& body) {
  Alignments alignments;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* block = ref.as<Block>();
    if (block && block->annotations.contains("buffer_dim_align")) {
      for (const auto& write : block->writes) {
        Ref rows = alignment_of(*block, write->buffer);
        if (rows.defined()) alignments[write->buffer] = std::move(rows);
      }
    }
    return !node_info(*ref.get()).is_expr;
  });
  return alignments;
}

}  // namespace

Ptr<PrimFunc> lower_blocks(const Ptr<PrimFunc>& func) {
  const Alignments alignments = find_alignments(func->body);
  Rewriter rewrite;
  // Axes that have their value; each variable is defined once, so none is ever taken back.
  Substitution values;
  rewrite.on<Var>([&](const Var& variable) -> Expr {
    const auto value = values.find(Ref(&variable));
    return value == values.end() ? Expr(&variable) : value->second;
  });
  rewrite.on<BlockRealize>([&](const BlockRealize& realize) -> Stmt {
    const Block& block = *realize.block;
    check(!block.init && block.match_buffers.empty(), "lower_blocks",
          "block {} still has an init or views", block.name_hint);
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      values[block.iter_vars[i]->var] = rewrite(realize.iter_values[i]);
    }
    Stmt body = with_pragmas(block, block.body);
    for (std::size_t i = block.alloc_buffers.size(); i-- > 0;) {
      const Ptr<Buffer>& buffer = block.alloc_buffers[i];
      const auto alignment = alignments.find(buffer);
      body = allocated(buffer, alignment == alignments.end() ? Ref() : alignment->second, body);
    }
    return guarded(rewrite(realize.predicate), rewrite(body));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
