// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/lower_blocks.h"

#include <algorithm>

#include "loopsmith/ir/block_span.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/pragmas.h"

namespace loopsmith {
namespace {

/// True for [written buffer, dimension, factor, offset] where the block writes such a buffer.
bool is_alignment(const Block& block, const Ref& row) {
  const auto* entries = row.as<List>();
  if (!entries || entries->items.size() != 4) return false;
  std::int64_t numbers[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const Expr entry = Expr::from(entries->items[i]);
    const std::int64_t* number = entry.defined() ? as_int(entry) : nullptr;
    if (!number || (*number < 0 && i < 3)) return false;
    numbers[i] = *number;
  }
  if (numbers[0] >= static_cast<std::int64_t>(block.writes.size())) return false;
  const auto& shape = block.writes[static_cast<std::size_t>(numbers[0])]->buffer->shape;
  return numbers[1] < static_cast<std::int64_t>(shape.size()) && numbers[2] > 0;
}

/// The rows of `buffer_dim_align` that are about `buffer`; null without any.
Ref alignment_of(const Block& block, const Ptr<Buffer>& buffer) {
  const Ref all = block.annotations.get(dim_align);
  if (!all.defined()) return nullptr;
  const auto* rows = all.as<List>();
  const bool is_right = rows && std::ranges::all_of(rows->items, [&](const Ref& row) {
                          return is_alignment(block, row);
                        });
  require(is_right, ErrorKind::lower, "dim_align_is_of_buffers",
          hint("give rows [index among the writes, dimension, factor above 0, offset]"), block.span,
          "lower_blocks: buffer_dim_align of block {} is no list of such rows", block.name_hint);
  List own;
  for (const Ref& row : rows->items) {
    const std::int64_t index = *as_int(Expr::from(row.as<List>()->items[0]));
    if (block.writes[static_cast<std::size_t>(index)]->buffer.same_as(buffer)) {
      own.items.push_back(row);
    }
  }
  return own.items.empty() ? Ref() : Ref(make(std::move(own)));
}

/// `body` with memory for `buffer`.
Stmt allocated(const Ptr<Buffer>& buffer, const Attrs& annotations, Stmt body) {
  body = make(DeclBuffer{.buffer = buffer, .body = std::move(body)});
  return make(Allocate{.dtype = buffer->dtype,
                       .extents = buffer->shape,
                       .condition = true,
                       .annotations = annotations,
                       .buffer_var = buffer->data,
                       .body = std::move(body)});
}

/// True when `double_buffer_scope` of the block is about the buffer that it writes as number `i`.
bool doubles(const Block& block, std::size_t i) {
  if (!block.annotations.contains(double_buffer)) return false;
  const std::int64_t index = block.annotations.get_int(double_buffer, -1);
  require(index >= 0 && index < static_cast<std::int64_t>(block.writes.size()), ErrorKind::lower,
          "double_buffer_is_written", hint("give the number of a buffer among the block's writes"),
          block.span, "lower_blocks: double_buffer_scope of block {} is no buffer that it writes",
          block.name_hint);
  return static_cast<std::size_t>(index) == i;
}

using Notes = std::unordered_map<Ref, Attrs, RefHash, RefEqual>;

/// What blocks say of the memory of the buffers that they write; a block further out may allocate
/// it.
Notes find_notes(const Stmt& body) {
  Notes notes;
  pre_order_visit(body, [&](const Ref& ref) {
    const auto* block = ref.as<Block>();
    for (std::size_t i = 0; block && i < block->writes.size(); ++i) {
      const Ptr<Buffer>& buffer = block->writes[i]->buffer;
      const Ref rows = alignment_of(*block, buffer);
      if (rows.defined()) notes[buffer] = notes[buffer].with(dim_align, rows);
      if (doubles(*block, i)) notes[buffer] = notes[buffer].with(double_buffer, int_imm(i32, 1));
    }
    return !is_expr(*ref.get());
  });
  return notes;
}

/// `body` under the names, the first one outermost.
Stmt under_names(std::vector<LetStmt> names, Stmt body) {
  for (std::size_t i = names.size(); i-- > 0;) {
    names[i].body = std::move(body);
    body = make(std::move(names[i]));
  }
  return body;
}

/// The loop, with names for the bounds that its body would change: they are read once, before it.
Stmt with_fixed_bounds(const Ptr<For>& loop) {
  For copy = *loop;
  std::vector<LetStmt> names;
  for (Expr* bound : {&copy.min, &copy.extent, &copy.step}) {
    if (!may_change(*bound, loop->body)) continue;
    names.push_back({.value = *bound, .var = var(loop->loop_var->name + "_b", bound->dtype())});
    *bound = names.back().var;
  }
  return names.empty() ? Stmt(loop) : under_names(std::move(names), make(std::move(copy)));
}

}  // namespace

Attrs behind_new_dimension(const Attrs& annotations) {
  const Ref rows = annotations.get(dim_align);
  if (!rows.defined()) return annotations;
  List moved;
  for (const Ref& row : rows.as<List>()->items) {
    List entries = *row.as<List>();
    const Expr number = Expr::from(entries.items[1]);
    const std::int64_t* dimension = as_int(number);
    if (dimension) entries.items[1] = int_imm(i32, *dimension + 1);
    moved.items.push_back(make(std::move(entries)));
  }
  return annotations.with(dim_align, make(std::move(moved)));
}

Ptr<PrimFunc> lower_blocks(const Ptr<PrimFunc>& func) {
  const Notes notes = find_notes(func->body);
  Rewriter rewrite;
  // Axes that have their value; each variable is defined once, so none is ever taken back.
  Substitution values;
  rewrite.on<Var>([&](const Var& variable) -> Expr {
    const auto value = values.find(Ref(&variable));
    return value == values.end() ? Expr(&variable) : value->second;
  });
  rewrite.on<Block>([&](const Block& block) -> Ptr<Block> {
    fail(ErrorKind::lower, "block_is_realized",
         hint("leave out no_realize, or put it into a BlockRealize"), block.span,
         "block {} stands alone: nothing says for which values of its axes it runs",
         block.name_hint);
  });
  rewrite.on<BlockRealize>([&](const BlockRealize& realize) -> Stmt {
    const Block& block = *realize.block;
    if (block.init || !block.match_buffers.empty()) {
      fail(ErrorKind::lower, "blocks_are_bare",
           hint("run lower_init and lower_match_buffer before"), block.span,
           "block {} still has an init or views", block.name_hint);
    }
    // Axes that the body would change keep their value under their own name.
    std::vector<LetStmt> names;
    for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
      const Ptr<Var>& axis = block.iter_vars[i]->var;
      const Expr value = cast(axis->dtype, rewrite(realize.iter_values[i]));  // It fits.
      if (may_change(value, block.body)) {
        names.push_back({.value = value, .var = axis});
      } else {
        values[axis] = value;
      }
    }
    Stmt body = with_pragmas(block.annotations, "block " + block.name_hint, block.span,
                             of_block(block.body, block.name_hint));
    for (std::size_t i = block.alloc_buffers.size(); i-- > 0;) {
      const Ptr<Buffer>& buffer = block.alloc_buffers[i];
      const auto note = notes.find(buffer);
      body = allocated(buffer, note == notes.end() ? Attrs() : note->second, body);
    }
    return guarded(rewrite(realize.predicate), under_names(std::move(names), rewrite(body)));
  });
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Ptr<For> inner = rewrite.children(loop);
    For copy = *inner;
    copy.annotations = without_pragmas(loop.annotations);
    if (copy.annotations.size() == loop.annotations.size()) return with_fixed_bounds(inner);
    return with_pragmas(loop.annotations, "loop " + loop.loop_var->name, loop.span,
                        with_fixed_bounds(make(std::move(copy))));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
