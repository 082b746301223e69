// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/extent.h"
#include "loopsmith/ir/script_literals.h"
#include "loopsmith/ir/script_writer.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith::detail {
namespace {

std::string_view axis_function(IterType type) {
  switch (type) {
    case IterType::data_par: return "T.axis.spatial";
    case IterType::comm_reduce: return "T.axis.reduce";
    case IterType::ordered: return "T.axis.scan";
    case IterType::thread_index:
    case IterType::opaque: return "T.axis.opaque";
  }
  return "T.axis.opaque";
}

}  // namespace

void ScriptWriter::block(const Block& block, const BlockRealize* realize) {
  const auto header = [&] {
    const std::size_t begin = text_.size();
    put("with T.block(");
    put(string_literal(block.name_hint));
    put(realize ? ")" : ", no_realize=True)");
    mark(Ref(&block), begin);
  };
  nested_lines(realize ? Ref(realize) : Ref(&block), header, [&] {
    block_axes(block, realize);
    if (realize && !is_const_int(realize->predicate, 1)) {
      begin_line();
      put("T.where(");
      expr(realize->predicate);
      put(")");
    }
    block_regions("T.reads(", block.reads);
    block_regions("T.writes(", block.writes);
    block_inside(block);
  });
}

void ScriptWriter::block_regions(std::string_view function,
                                 const std::vector<Ptr<BufferRegion>>& regions) {
  begin_line();
  put(function);
  list(regions, [&](const Ptr<BufferRegion>& region) { part(region); });
  put(")");
}

/// What a block holds below its regions. Also for the root, whose first lines are not written.
void ScriptWriter::block_inside(const Block& block) {
  if (!block.annotations.empty()) {
    begin_line();
    put("T.block_attr(");
    dict(block.annotations);
    put(")");
  }
  for (const auto& buffer : block.alloc_buffers) define_buffer(buffer, "T.alloc_buffer", nullptr);
  for (const auto& match : block.match_buffers) {
    define_buffer(match->buffer, "T.match_buffer", match->source);
  }
  if (block.init.defined()) nested(nullptr, [&] { put("with T.init()"); }, block.init);
  stmt(block.body, true);
}

/// True when the axis runs over the very range of the loop that it is bound to.
bool ScriptWriter::is_remapped(const IterVar& axis, const Expr& value) const {
  const auto loop = loop_of_.find(value.get());
  const bool kind = axis.iter_type == IterType::data_par || axis.iter_type == IterType::comm_reduce;
  return kind && axis.dom && loop != loop_of_.end() && is_const_int(loop->second->step, 1) &&
         structural_equal(axis.dom->min, loop->second->min) &&
         structural_equal(axis.dom->extent, loop->second->extent);
}

void ScriptWriter::block_axes(const Block& block, const BlockRealize* realize) {
  const auto& axes = block.iter_vars;
  for (std::size_t i = 0; i < axes.size();) {
    std::size_t end = i;
    while (realize && end < axes.size() && is_remapped(*axes[end], realize->iter_values[end]))
      ++end;
    begin_line();
    if (end - i < 2) {
      block_axis(*axes[i], realize ? realize->iter_values[i] : Expr());
      ++i;
      continue;
    }
    const std::span run(axes.data() + i, end - i);
    list(run, [&](const Ptr<IterVar>& axis) { define_axis(*axis); });
    put(" = T.axis.remap(\"");
    for (const auto& axis : run) put(axis->iter_type == IterType::data_par ? "S" : "R");
    put("\", [");
    list(std::span(realize->iter_values).subspan(i, end - i), [&](const Expr& e) { expr(e); });
    put("])");
    i = end;
  }
}

void ScriptWriter::define_axis(const IterVar& axis) {
  const Marking marking(*this, Ref(&axis));
  put(define(axis.var, axis.var->name));
}

void ScriptWriter::block_axis(const IterVar& axis, const Expr& value) {
  define_axis(axis);
  put(" = ");
  put(axis_function(axis.iter_type));
  put("(");
  if (axis.dom && is_const_int(axis.dom->min, 0)) {
    expr(axis.dom->extent);
  } else if (axis.dom) {
    put("(");
    expr(axis.dom->min);
    put(", ");
    expr(stop_of(axis.dom->min, axis.dom->extent));
    put(")");
  } else {
    put("None");
  }
  if (value.defined()) {
    put(", ");
    expr(value);
  }
  put(")");
}

}  // namespace loopsmith::detail
