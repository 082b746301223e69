// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/block_axes.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/access_pairs.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/function_variables.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/plain_index.h"
#include "loopsmith/schedule/queries/radix_terms.h"
#include "loopsmith/schedule/queries/zero_distance.h"
#include "loopsmith/support/error.h"

namespace loopsmith {
namespace {

/// Whether it matters that a block reads other elements of what it reduces into.
enum class OwnReads : std::uint8_t { count, pass };

/// True when what a block does depends on its axes, not on the loops and names around it as well:
/// instances whose axes are equal are one then.
bool is_of_axes_alone(const Schedule& schedule, BlockRV handle) {
  std::vector<const Var*> around;
  NodeId node = schedule.at(schedule.node(handle)).parent;
  for (; node != no_node && !schedule.as<BlockRealize>(node); node = schedule.at(node).parent) {
    if (const auto* loop = schedule.as<For>(node)) around.push_back(loop->loop_var.get());
    if (const auto* name = schedule.as<LetStmt>(node)) around.push_back(name->var.get());
  }
  bool is_alone = true;
  const auto look = [&](const Ref& ref) {
    const auto* variable = ref.as<Var>();
    is_alone = is_alone && (!variable || std::ranges::find(around, variable) == around.end());
    return is_alone;
  };
  const Block& block = schedule.get(handle);
  pre_order_visit(block.body, look);
  if (block.init) pre_order_visit(block.init, look);
  return is_alone;
}

bool defines_pointers_around(const Schedule& schedule, NodeId node) {
  for (; node != no_node; node = schedule.at(node).parent) {
    const auto* let = schedule.as<LetStmt>(node);
    if (let && let->var->dtype.is_handle()) return true;
  }
  return false;
}

/// True for a block that writes an element for each value of its axes, seen at a glance.
///
/// Lemma. Let a block be one store of what is made of axes, sizes and memory alone, to an element
/// whose indices have each spatial axis of more than one value among them, and let it read no other
/// element of this memory. If it has an init, that is a store to the same element, and the block
/// combines values there; if it has none, it reduces over no axis. Then instances that access one
/// element of what is written have equal spatial axes, or are of one reduction, and are the same
/// where all their axes are: its axes are true ones.
bool stores_at_its_axes(const Schedule& schedule, BlockRV handle) {
  const Block& block = schedule.get(handle);
  const auto* store = block.body.as<BufferStore>();
  const auto* init = block.init.as<BufferStore>();
  if (!store || !block.alloc_buffers.empty() || !block.match_buffers.empty()) return false;
  if (block.init && !(init && init->buffer.same_as(store->buffer) &&
                      are_same_indices(init->indices, store->indices) && may_combine(*store))) {
    return false;
  }
  const bool are_indices = std::ranges::all_of(block.iter_vars, [&](const auto& axis) {
    if (is_const_int(axis->dom->extent, 1)) return true;
    if (axis->iter_type == IterType::comm_reduce) return init != nullptr;
    return axis->iter_type == IterType::data_par &&
           std::ranges::any_of(store->indices,
                               [&](const Expr& index) { return index.same_as(axis->var); });
  });
  if (!are_indices || defines_pointers_around(schedule, schedule.node(handle))) return false;
  bool is_plain = true;
  const auto look = [&](const Ref& ref) {
    if (const auto* variable = ref.as<Var>()) {
      is_plain = is_plain &&
                 (variable->is_size || std::ranges::any_of(block.iter_vars, [&](const auto& axis) {
                    return axis->var.same_as(ref);
                  }));
    } else if (const auto* load = ref.as<BufferLoad>()) {
      is_plain = is_plain && (!load->buffer->data.same_as(store->buffer->data) ||
                              (init && load->buffer.same_as(store->buffer) &&
                               are_same_indices(load->indices, store->indices)));
    } else if (const auto* call = ref.as<Call>()) {
      is_plain = is_plain && call->op.is_pure();
    } else {
      is_plain = is_plain && !ref.is<Let>();
    }
    return is_plain && !ref.is<Buffer>();
  };
  pre_order_visit(block.body, look);
  if (block.init) pre_order_visit(block.init, look);
  return is_plain;
}

bool have_true_axes(const Schedule& schedule, BlockRV handle, OwnReads own_reads) {
  if (!is_of_axes_alone(schedule, handle)) return false;
  const Block& block = schedule.get(handle);
  const ElementAccesses accesses = accesses_of_block(schedule, handle);
  if (!accesses.opaque.empty()) return false;
  // Axes of one value say nothing of other elements that an instance reads.
  const bool reads_apart = each_pair(accesses, [](const ElementAccess& a, const ElementAccess& b) {
    return b.is_write || !a.group || b.group;
  });
  if (own_reads == OwnReads::count && block.init && !reads_apart) return false;
  return std::ranges::all_of(block.iter_vars, [&](const auto& axis) {
    if (is_const_int(axis->dom->extent, 1)) return true;
    const bool is_reduction = axis->iter_type == IterType::comm_reduce;
    if (!is_reduction && axis->iter_type != IterType::data_par) return false;
    return each_pair(accesses, [&](const ElementAccess& a, const ElementAccess& b) {
      return (own_reads == OwnReads::pass && a.group && !b.is_write && !b.group) ||
             (is_reduction && is_of_one_reduction(a, b)) ||
             has_zero_distance(accesses, a, b, *axis->var.get());
    });
  });
}

/// What a region tells of its place: of sides that move in steps of their extents, where they
/// begin, as equal elements mean equal beginnings there.
ElementAccess tile_of(const BufferRegion& region, const IndexForms& forms) {
  ElementAccess tile{
      .buffer = region.buffer.get(), .is_write = true, .group = nullptr, .indices = {}};
  for (const auto& side : region.region) {
    const std::int64_t* extent = as_int(side->extent);
    auto form = forms.read(side->min);
    const bool is_aligned = extent && *extent > 0 && form &&
                            std::ranges::all_of(form->terms, [&](const IndexTerm& term) {
                              return term.coefficient % *extent == 0;
                            });
    if (is_aligned) tile.indices.push_back(std::move(form));
  }
  return tile;
}

/// True when a side of the region begins behind its own end when the axis goes on by 1, whatever
/// the other axes are.
bool is_moved_past(const BufferRegion& region, const Block& block, const IterVar& axis) {
  return std::ranges::any_of(region.region, [&](const auto& side) {
    const bool is_of_others = std::ranges::any_of(block.iter_vars, [&](const auto& other) {
      return !other->var.same_as(axis.var) &&
             (uses_variable(side->min, other->var) || uses_variable(side->extent, other->var));
    });
    if (is_of_others || uses_variable(side->extent, axis.var)) return false;
    Analyzer analyzer;
    const Expr next = substitute(side->min, {{axis.var, axis.var + 1}});
    return analyzer.can_prove(next - side->min >= side->extent);
  });
}

/// What is cast to a narrower type, where that is sure to keep its value in instances that run;
/// other values as they are.
Expr without_cast(const Schedule& schedule, BlockRV block, const Expr& value) {
  const auto* cast = value.as<Cast>();
  if (!cast || !cast->value.dtype().is_index() || !cast->dtype.is_index()) return value;
  Analyzer analyzer;
  for (const LoopRV handle : loops_around(schedule, schedule.node(block))) {
    const For& loop = schedule.get(handle);
    if (is_const_int(loop.step, 1)) analyzer.bind_range(loop.loop_var, loop.min, loop.extent);
  }
  const auto scope = analyzer.constraint_scope(schedule.realize(block).predicate);
  const ConstIntBound bound = analyzer.const_int_bound(analyzer.simplify(cast->value));
  const bool fits =
      bound.min_value >= min_int(cast->dtype) && bound.max_value <= max_int(cast->dtype);
  return fits ? cast->value : value;
}

/// True when equal values of a block's axes mean equal values of the loops in `band`, while those
/// in `moving` have any.
bool axes_tell(const Schedule& schedule, BlockRV block, std::vector<Expr> axes,
               std::span<const LoopRV> moving, std::span<const LoopRV> band) {
  ElementAccesses space;
  space.forms = IndexForms(ranges_around(schedule, schedule.node(block)));
  for (const LoopRV loop : moving) space.inside.insert(schedule.get(loop).loop_var.get());
  for (Expr& axis : axes) axis = without_cast(schedule, block, axis);
  ElementAccess instance;
  // An instance has values of its axes and loops: none has an empty range.
  std::vector<Expr> extents;
  for (const auto& axis : schedule.get(block).iter_vars) extents.push_back(axis->dom->extent);
  const NodeId node = schedule.node(block);
  const PrimFunc& func = *schedule.as<PrimFunc>(schedule.root(schedule.function_of(node)));
  std::vector<const For*> loops;  // Of as many iterations whenever they run.
  for (const LoopRV handle : loops_around(schedule, node)) {
    const For& loop = schedule.get(handle);
    // A name around may be bound anew in each iteration.
    if (!loop.extent.is<IntImm>() && !read_beside_sizes(func, loop.extent).empty()) continue;
    loops.push_back(&loop);
    const auto* product = loop.extent.as<Mul>();
    if (!product) continue;
    for (const auto& [factor, other] :
         {std::pair(product->a, product->b), {product->b, product->a}}) {
      if (const std::int64_t* number = as_int(factor); number && *number > 0)
        extents.push_back(other);
    }
  }
  for (const Expr& value : plain_radix_terms(std::move(axes), loops, extents)) {
    instance.indices.push_back(space.forms.read(value));
  }
  std::erase(instance.indices, std::nullopt);
  return std::ranges::all_of(band, [&](LoopRV handle) {
    const For& loop = schedule.get(handle);
    return is_const_int(loop.extent, 1) ||
           has_zero_distance(space, instance, instance, *loop.loop_var, step_of(loop));
  });
}

}  // namespace

bool decides_on_itself(const Schedule& schedule, BlockRV block, std::span<const LoopRV> loops) {
  const BlockRealize& realize = schedule.realize(block);
  const auto reads_result = [&](const Expr& expr) {
    if (is_plain_index(expr)) return false;
    const auto buffers = free_buffers(expr);
    return std::ranges::any_of(realize.block->writes, [&](const auto& region) {
      return std::ranges::any_of(
          buffers, [&](const auto& buffer) { return buffer->data.same_as(region->buffer->data); });
    });
  };
  return reads_result(realize.predicate) ||
         std::ranges::any_of(realize.iter_values, reads_result) ||
         std::ranges::any_of(loops, [&](LoopRV each) {
           const For& loop = schedule.get(each);
           return reads_result(loop.min) || reads_result(loop.extent) || reads_result(loop.step);
         });
}

std::optional<BlockRV> only_block(const Schedule& schedule, LoopRV loop) {
  NodeId node = schedule.node(loop);
  while (node != no_node && schedule.as<For>(node)) node = only_child(schedule, node);
  if (node == no_node || !schedule.as<BlockRealize>(node)) return {};
  return schedule.block_at(node);
}

bool is_injective(const Schedule& schedule, BlockRV block, std::span<const LoopRV> band) {
  const auto loops = loops_around(schedule, schedule.node(block));
  return axes_tell(schedule, block, schedule.realize(block).iter_values, loops, band);
}

bool runs_each_once(const Schedule& schedule, BlockRV block, std::span<const LoopRV> inner) {
  return axes_tell(schedule, block, schedule.realize(block).iter_values, inner, inner);
}

bool axes_are_injective(const Schedule& schedule, BlockRV handle) {
  const Schedule::Known known = schedule.axes_are_injective(handle);
  if (known != Schedule::Known::not_yet) return known == Schedule::Known::yes;
  schedule.set_axes_are_injective(handle, Schedule::Known::no);
  if (schedule.at(schedule.node(handle)).first_child != no_node &&
      !child_blocks(schedule, schedule.node(handle)).empty()) {
    return false;
  }
  if (decides_on_itself(schedule, handle, {})) return false;
  const bool is_plain = stores_at_its_axes(schedule, handle);
  if (!is_plain || schedule.verifies_quick_answers()) {
    const bool is_true = have_true_axes(schedule, handle, OwnReads::count);
    check(is_true || !is_plain, "quick_answers", "instances of block {} are not apart",
          schedule.get(handle).name_hint);
    if (!is_true) return false;
  }
  schedule.set_axes_are_injective(handle, Schedule::Known::yes);
  return true;
}

bool writes_are_injective(const Schedule& schedule, BlockRV handle) {
  return child_blocks(schedule, schedule.node(handle)).empty() &&
         !decides_on_itself(schedule, handle, {}) &&
         have_true_axes(schedule, handle, OwnReads::pass);
}

bool declares_own_elements(const Block& block) {
  ElementAccesses space;
  for (const auto& axis : block.iter_vars) {
    space.inside.insert(axis->var.get());
    const std::int64_t *min = as_int(axis->dom->min), *extent = as_int(axis->dom->extent);
    if (min && extent && *extent > 0) {
      space.forms.add_range({axis->var.get(), *min, *min + *extent - 1});
    }
  }
  return std::ranges::all_of(block.writes, [&](const auto& region) {
    const ElementAccess tile = tile_of(*region, space.forms);
    return std::ranges::all_of(block.iter_vars, [&](const auto& axis) {
      if (axis->iter_type == IterType::comm_reduce || is_const_int(axis->dom->extent, 1)) {
        return true;
      }
      return has_zero_distance(space, tile, tile, *axis->var) ||
             is_moved_past(*region, block, *axis);
    });
  });
}

bool has_results_apart(const Schedule& schedule, LoopRV loop) {
  const auto block = only_block(schedule, loop);
  if (!block || !axes_are_injective(schedule, *block)) return false;
  const BlockRealize& realize = schedule.realize(*block);
  std::vector<Expr> spatial;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const bool is_spatial = realize.block->iter_vars[i]->iter_type == IterType::data_par;
    if (is_spatial) spatial.push_back(realize.iter_values[i]);
  }
  const auto loops = loops_around(schedule, schedule.node(*block));
  const std::span inner(std::ranges::find(loops, loop), loops.end());
  return !decides_on_itself(schedule, *block, inner) &&
         axes_tell(schedule, *block, std::move(spatial), inner, {&loop, 1});
}

}  // namespace loopsmith
