// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/panels.h"

#include <algorithm>

#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

/// What a panel may be; the Rewriter has a rule for each.
template <class Visit>
void for_each_panel_kind(const Visit& visit) {
  visit.template operator()<BufferLoad>();
  visit.template operator()<Cast>();
  visit.template operator()<Call>();
  visit.template operator()<Add>();
  visit.template operator()<Sub>();
  visit.template operator()<Mul>();
  visit.template operator()<Select>();
}

bool may_be_panel(const Ref& node) {
  bool is_known = false;
  for_each_panel_kind([&]<class T>() { is_known = is_known || node.is<T>(); });
  return is_known;
}

/// Each index is an axis that runs over that dimension.
bool is_always_in_bounds(const BufferLoad& access, const Nest& nest) {
  for (std::size_t i = 0; i < access.indices.size(); ++i) {
    const bool is_whole_axis = std::ranges::any_of(nest.axes, [&](const Axis& axis) {
      return access.indices[i].same_as(axis.var) && is_const_int(axis.min, 0) &&
             structural_equal(axis.extent, access.buffer->shape[i]);
    });
    if (!is_whole_axis) return false;
  }
  return true;
}

class PanelSearch {
 public:
  PanelSearch(const Nest& nest, const Ptr<Var>& along, const Ptr<Var>& without)
      : nest_(nest), along_(along), without_(without) {}

  /// `guarded`: what is inside may be evaluated only under a condition.
  void visit(const Ref& node, bool guarded) {
    if (const auto* store = node.as<BufferStore>()) return visit(store->value, guarded);
    if (node.is<Let>() || node.is<LetStmt>()) {
      all_found_ = false;
      return;
    }
    if (!is_stmt(*node.get()) && !uses_variable(node, along_)) return;
    if (const auto* load = node.as<BufferLoad>(); load && writes(nest_, load->buffer)) return;
    if (may_be_panel(node) && !uses_variable(node, without_)) {
      if (!reads_memory(node)) return;
      if (!guarded || is_safe(node)) return add(Expr::from(node));
    }
    if (node.is<BufferLoad>()) {
      all_found_ = false;
      return;
    }
    visit_children(node, guarded);
  }

  std::vector<Panel> panels() && { return std::move(panels_); }
  bool all_found() const { return all_found_; }

 private:
  void visit_children(const Ref& node, bool guarded) {
    const auto* call = node.as<Call>();
    const bool is_choice = node.is<IfThenElse>() || (call && call->op == op("if_then_else")) ||
                           node.is<And>() || node.is<Or>();
    bool is_first = true;
    for_each_child(*node.get(), [&](const Ref& child, Role) {
      visit(child, guarded || (is_choice && !is_first));
      is_first = false;
    });
  }

  bool is_safe(const Ref& node) const {
    bool safe = true;
    pre_order_visit(node, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      safe = safe && (!load || is_always_in_bounds(*load, nest_));
      return safe;
    });
    return safe;
  }

  void add(const Expr& source) {
    const bool is_known = std::ranges::any_of(
        panels_, [&](const Panel& panel) { return structural_equal(panel.source, source); });
    if (is_known) return;
    Panel panel{.source = source, .axes = {}};
    const std::vector<Axis> reduction = nest_.reduction();
    for (std::size_t i = 0; i < reduction.size(); ++i) {
      if (uses_variable(source, reduction[i].var)) panel.axes.push_back(i);
    }
    panels_.push_back(std::move(panel));
  }

  const Nest& nest_;
  const Ptr<Var>& along_;
  const Ptr<Var>& without_;
  std::vector<Panel> panels_;
  bool all_found_ = true;
};

template <class Node>
Node replaced(const Node& node, const std::vector<Panel>& panels, const PanelReplacement& replace) {
  Rewriter rewrite;
  for_each_panel_kind([&]<class T>() {
    rewrite.on<T>([&](const T& part) -> Expr {
      const Ptr<T> inside = rewrite.children(part);
      const Expr whole = Ptr<T>(&part);
      const auto panel = std::ranges::find_if(
          panels, [&](const Panel& each) { return structural_equal(each.source, whole); });
      return panel == panels.end() ? Expr(inside) : replace(*panel);
    });
  });
  return rewrite(node);
}

std::vector<NestAccess> loads_in(const Expr& expr) {
  return accesses_in(make(Evaluate{.value = expr}));
}

}  // namespace

std::vector<Panel> column_panels(const Nest& nest, const Axis& vector_axis, const Axis& row_axis) {
  PanelSearch search(nest, vector_axis.var, row_axis.var);
  search.visit(nest.body, false);
  return search.all_found() ? std::move(search).panels() : std::vector<Panel>();
}

std::vector<Panel> row_panels(const Nest& nest, const Axis& vector_axis, const Axis& row_axis) {
  PanelSearch search(nest, row_axis.var, vector_axis.var);
  search.visit(nest.body, false);
  std::vector<Panel> found = std::move(search).panels();
  std::erase_if(found, [&](const Panel& panel) {
    const auto* load = panel.source.as<BufferLoad>();
    if (!load || !is_contiguous_along(panel, row_axis)) return true;
    Stride innermost = Stride::one;
    for (const Axis& axis : nest.reduction()) {
      const Stride stride = stride_along({load->buffer, load->indices}, axis.var);
      if (stride != Stride::none) innermost = stride;
    }
    return innermost != Stride::other;
  });
  return found;
}

bool is_contiguous_along(const Panel& panel, const Axis& axis) {
  return std::ranges::none_of(loads_in(panel.source), [&](const NestAccess& access) {
    return stride_along(access, axis.var) == Stride::other;
  });
}

void allocate_copy(Panel& panel, const std::string& name, std::int64_t panels,
                   const std::vector<Axis>& block, std::int64_t places) {
  std::vector<Expr> shape{int_imm(i32, panels)};
  for (const std::size_t axis : panel.axes) shape.push_back(block[axis].extent);
  shape.push_back(int_imm(i32, places));
  panel.copy = decl_buffer(std::move(shape), panel.source.dtype(), name);
}

std::vector<Expr> indices_in_copy(const Panel& panel, const std::vector<Axis>& block,
                                  const Substitution& values, const Expr& number,
                                  const Expr& place) {
  std::vector<Expr> indices{number};
  for (const std::size_t axis : panel.axes) {
    indices.push_back(values.at(block[axis].var) - block[axis].min);
  }
  indices.push_back(place);
  return indices;
}

Expr with_panels(const Expr& expr, const std::vector<Panel>& panels,
                 const PanelReplacement& replace) {
  return expr.defined() ? replaced(expr, panels, replace) : expr;
}

Stmt with_panels(const Stmt& stmt, const std::vector<Panel>& panels,
                 const PanelReplacement& replace) {
  return replaced(stmt, panels, replace);
}

}  // namespace loopsmith
