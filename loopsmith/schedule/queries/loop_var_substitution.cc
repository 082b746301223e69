// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/loop_var_substitution.h"

#include <algorithm>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/any_statement.h"
#include "loopsmith/schedule/rewrites/edits.h"

namespace loopsmith {
namespace {

bool loads(const Expr& expr) {
  return !expr.is<IntImm>() && !expr.is<Var>() && reads_memory(expr);
}

/// A statement without a node of its own, its variables replaced.
Stmt rebound(const Stmt& stmt, const IndexForms& forms) {
  Rewriter rewrite;
  rewrite.on<BufferStore>([&](const BufferStore& store) -> Stmt {
    const Ptr<BufferStore> inside = rewrite.children(store);
    BufferStore copy = *inside;
    for (Expr& index : copy.indices) index = forms(index);
    return make(std::move(copy));
  });
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    const Ptr<BufferLoad> inside = rewrite.children(load);
    BufferLoad copy = *inside;
    for (Expr& index : copy.indices) index = forms(index);
    return make(std::move(copy));
  });
  rewrite.on<Var>([&](const Var& var) -> Expr { return forms(Expr(Ptr<Var>(&var))); });
  return rewrite(stmt);
}

/// Replaces variables in place, in all that can be simplified by itself. Definitions of buffers
/// and what else a node holds keep theirs: `finish_substitution` does these.
struct LoopVarSubstituter {
  Schedule& schedule;
  const IndexForms& forms;
  const Expr& predicate;  ///< For the blocks directly inside; may be null.

  void inside(NodeId node, Object& object) {
    if (object.kind == kind_of<BlockRealize>) return;
    NodeId child = schedule.at(node).first_child;
    Stmt* place = nullptr;
    for (std::uint32_t slot = 0; (place = const_cast<Stmt*>(statement_in(object, slot))) != nullptr;
         ++slot) {
      if (child != no_node && schedule.at(child).slot == slot) {
        const NodeId next = schedule.at(child).next;
        deep_call([&] { (*this)(child, schedule.edit_child(object, child)); });
        child = next;
      } else if (place->defined()) {
        *place = rebound(*place, forms);
      }
    }
  }

  void operator()(NodeId node, Object& object) {
    switch (object.kind) {
      case kind_of<BlockRealize>: return realize(node, static_cast<BlockRealize&>(object));
      case kind_of<SeqStmt>: break;
      case kind_of<For>: {
        auto& loop = static_cast<For&>(object);
        loop.min = forms(loop.min);
        loop.extent = forms(loop.extent);
        loop.step = forms(loop.step);
        break;
      }
      default: {
        // Its own expressions; its statements follow below.
        const NodeInfo& info = node_info(object);
        for (const FieldInfo& field : info.fields) {
          const auto renew = [&](Ref& ref) {
            const Expr expr = Expr::from(ref);
            if (!expr.defined() || is_definition(field.role_of(ref))) return;
            const bool is_index = field.name == "indices";
            ref = expr.dtype().is_bool() ? forms.condition(expr)
                  : is_index             ? forms(expr)
                                         : forms.value(expr);
          };
          if (field.type == FieldType::ref) renew(field.ref(object));
          if (field.type == FieldType::refs) {
            for (Ref& ref : field.refs(object)) renew(ref);
          }
        }
      }
    }
    inside(node, object);
  }

  void realize(NodeId node, BlockRealize& realize) {
    for (Expr& value : realize.iter_values) value = forms(value);
    realize.predicate = forms.condition(realize.predicate);
    if (predicate.defined()) realize.predicate = realize.predicate && predicate;
    substitute_in_domains(realize);
    if (!realize.block->iter_vars.empty()) return;
    // A block without axes may use the loops around it.
    auto& block = const_cast<Block&>(*realize.block);
    for (auto* regions : {&block.reads, &block.writes}) {
      for (auto& region : *regions) {
        BufferRegion copy = *region;
        for (auto& range : copy.region) {
          Range renewed = *range;
          renewed.min = forms(renewed.min);
          renewed.extent = forms(renewed.extent);
          range = make(std::move(renewed));
        }
        region = make(std::move(copy));
      }
    }
    if (block.init) block.init = rebound(block.init, forms);
    LoopVarSubstituter inner{schedule, forms, Expr()};
    inner.body_of(node, realize);
  }

  /// Domains are read outside the block.
  void substitute_in_domains(const BlockRealize& realize) {
    auto& block = const_cast<Block&>(*realize.block);
    for (auto& axis : block.iter_vars) {
      if (!forms.uses_bound(axis->dom->min) && !forms.uses_bound(axis->dom->extent)) continue;
      IterVar copy = *axis;
      copy.dom = range(forms(copy.dom->min), forms(copy.dom->extent));
      axis = make(std::move(copy));
    }
  }

  void body_of(NodeId node, BlockRealize& realize) {
    const NodeId child = schedule.at(node).first_child;
    if (child != no_node) {
      (*this)(child, schedule.edit_child(realize, child));
    } else {
      Stmt& body = const_cast<Block&>(*realize.block).body;
      body = rebound(body, forms);
    }
  }
};

/// True when a buffer has a bound variable in its shape or where it lies.
bool uses_bound(const IndexForms& forms, const Buffer& buffer) {
  const auto uses = [&](const Expr& expr) { return expr.defined() && forms.uses_bound(expr); };
  return std::ranges::any_of(buffer.shape, uses) || std::ranges::any_of(buffer.strides, uses) ||
         uses(buffer.elem_offset);
}

/// True when a node uses a bound variable where the LoopVarSubstituter leaves it: in the buffers
/// that it defines, in its annotations, its thread.
bool keeps_bound(const IndexForms& forms, const Object& node) {
  const auto buffer_does = [&](const Ptr<Buffer>& buffer) { return uses_bound(forms, *buffer); };
  const auto annotations_do = [&](const Attrs& attrs) {
    return std::ranges::any_of(attrs,
                               [&](const auto& entry) { return forms.uses_bound(entry.second); });
  };
  if (node.kind == kind_of<For>) {
    const auto& loop = static_cast<const For&>(node);
    return annotations_do(loop.annotations) ||
           (loop.thread_binding && forms.uses_bound(loop.thread_binding));
  }
  if (node.kind == kind_of<DeclBuffer>) {
    return buffer_does(static_cast<const DeclBuffer&>(node).buffer);
  }
  if (node.kind != kind_of<BlockRealize>) return false;
  const Block& block = *static_cast<const BlockRealize&>(node).block;
  const auto view_does = [&](const Ptr<MatchBufferRegion>& view) {
    return buffer_does(view->buffer) || forms.uses_bound(view->source);
  };
  return annotations_do(block.annotations) || std::ranges::any_of(block.match_buffers, view_does) ||
         std::ranges::any_of(block.alloc_buffers, buffer_does);
}

/// The same of a node, or one inside.
bool keeps_bound_inside(const Schedule& schedule, const IndexForms& forms, NodeId node) {
  return deep_call([&] {
    if (keeps_bound(forms, *schedule.at(node).object)) return true;
    NodeId child = schedule.at(node).first_child;
    for (; child != no_node; child = schedule.at(child).next) {
      if (keeps_bound_inside(schedule, forms, child)) return true;
    }
    return false;
  });
}

/// Replaces the variables wherever they still stand, with the buffers that are defined by them.
void finish_substitution(Schedule& schedule, NodeId loop, const IndexForms& forms) {
  if (!forms.binds() || !keeps_bound_inside(schedule, forms, loop)) return;
  Rewriter rewrite;
  rewrite.on<Var>([&](const Var& var) -> Expr { return forms(Expr(Ptr<Var>(&var))); });
  const NodeId body = schedule.at(loop).first_child;
  replace_alike(schedule, body, rewrite(schedule.statement(body)));
}

bool is_loop(const Stmt& stmt) {
  return stmt.is<For>() || stmt.is<While>();
}

}  // namespace

std::optional<VarRange> range_of(const For& loop) {
  const auto* min = loop.min.as<IntImm>();
  const auto* extent = loop.extent.as<IntImm>();
  const auto* step = loop.step.as<IntImm>();
  if (!min || !extent || !step || extent->value < 1) return {};
  const std::int64_t last = min->value + (extent->value - 1) * step->value;
  return VarRange{loop.loop_var.get(), std::min(min->value, last), std::max(min->value, last)};
}

std::vector<VarRange> ranges_around(const Schedule& schedule, NodeId node) {
  std::vector<VarRange> ranges;
  ranges.reserve(16);
  for (; node != no_node; node = schedule.at(node).parent) {
    const auto* loop = schedule.as<For>(node);
    if (!loop) continue;
    if (const auto range = range_of(*loop)) ranges.push_back(*range);
  }
  return ranges;
}

bool holds_blocks_alone(const Schedule& schedule, NodeId node) {
  const Object& object = *schedule.at(node).object;
  if (object.kind == kind_of<BlockRealize>) {
    const auto& realize = static_cast<const BlockRealize&>(object);
    return std::ranges::none_of(realize.iter_values, loads) && !loads(realize.predicate);
  }
  if (const auto* loop = schedule.as<For>(node)) {
    if (loads(loop->min) || loads(loop->extent) || loads(loop->step)) return false;
  } else if (object.kind != kind_of<SeqStmt>) {
    return false;
  }
  NodeId child = schedule.at(node).first_child;
  const Stmt* inside = nullptr;
  for (std::uint32_t slot = 0; (inside = statement_in(object, slot)); ++slot) {
    if (child == no_node || schedule.at(child).slot != slot) return false;
    if (!deep_call([&] { return holds_blocks_alone(schedule, child); })) return false;
    child = schedule.at(child).next;
  }
  return true;
}

void substitute_in_body(Schedule& schedule, LoopRV loop, const IndexForms& forms,
                        const Expr& predicate) {
  const NodeId node = schedule.node(loop);
  const bool in_where = predicate.defined() && holds_blocks_alone(schedule, node);
  For& target = schedule.edit(loop);
  LoopVarSubstituter substituter{schedule, forms, in_where ? predicate : Expr()};
  substituter.inside(node, target);
  finish_substitution(schedule, node, forms);
  if (!predicate.defined() || in_where) return;

  // An `if` around the body, which keeps its nodes.
  schedule.wrap_body(loop, [&](Stmt body) -> Stmt {
    IfThenElse guard{.condition = predicate, .then_case = std::move(body)};
    guard.span = schedule.span_from(target.span);
    return make(std::move(guard));
  });
}

bool is_left_by_break(const Schedule& schedule, LoopRV loop) {
  return any_statement(
      schedule.get(loop).body, [](const Stmt& stmt) { return stmt.is<Break>(); },
      [](const Stmt& stmt) { return !is_loop(stmt) && !stmt.is<BlockRealize>(); });
}

bool is_left_early(const Schedule& schedule, LoopRV loop) {
  return is_left_by_break(schedule, loop) ||
         any_statement(schedule.get(loop).body, [](const Stmt& stmt) { return stmt.is<Return>(); });
}

bool has_continue(const Schedule& schedule, LoopRV loop) {
  return any_statement(
      schedule.get(loop).body, [](const Stmt& stmt) { return stmt.is<Continue>(); },
      [](const Stmt& stmt) { return !is_loop(stmt); });  // Further in, they end other iterations.
}

}  // namespace loopsmith
