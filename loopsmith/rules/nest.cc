// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/rules/nest.h"

#include <algorithm>
#include <ranges>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reduction_start.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/block_span.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"

namespace loopsmith {
namespace {

/// True when the block does nothing but compute and store: no calls with effects, no pointers, no
/// inner loops or blocks.
bool is_plain(const Stmt& stmt) {
  bool plain = true;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (is_stmt(*ref.get())) {
      plain = plain && (ref.is<BufferStore>() || ref.is<SeqStmt>() || ref.is<LetStmt>() ||
                        ref.is<IfThenElse>());
    }
    if (const auto* call = ref.as<Call>()) plain = plain && call->op.is_pure();
    if (const auto* load = ref.as<BufferLoad>()) plain = plain && !load->predicate.defined();
    if (const auto* store = ref.as<BufferStore>()) plain = plain && !store->predicate.defined();
    if (const auto* variable = ref.as<Var>()) plain = plain && !variable->dtype.is_handle();
    return plain;
  });
  return plain;
}

/// True when the axis, and nothing else, is an index of the access.
bool is_index(const NestAccess& access, const Ptr<Var>& axis) {
  return std::ranges::any_of(access.indices,
                             [&](const Expr& index) { return index.same_as(axis); });
}

/// Two points that differ in a spatial axis access different elements of every buffer stored to;
/// and what is loaded of such a buffer is what the point itself stores.
bool spatial_axes_are_independent(const Nest& nest) {
  const std::vector<NestAccess> accesses = accesses_in(nest);
  const std::vector<Axis> spatial = nest.spatial();
  for (const NestAccess& store : accesses) {
    if (!store.is_store) continue;
    for (const Axis& axis : spatial) {
      if (!is_const_int(axis.extent, 1) && !is_index(store, axis.var)) return false;
    }
    for (const NestAccess& other : accesses) {
      if (other.buffer.same_as(store.buffer) && !are_same_indices(other.indices, store.indices)) {
        return false;
      }
      // Another view of the same memory.
      if (!other.buffer.same_as(store.buffer) && other.buffer->data.same_as(store.buffer->data)) {
        return false;
      }
    }
  }
  return true;
}

/// Extents that may be below zero, as those of range(3, 1), as 0 then. Those of buffers are not.
void keep_extents_from_below(Nest& nest) {
  const std::vector<NestAccess> accesses = accesses_in(nest);
  for (Axis& axis : nest.axes) {
    const bool is_shape = std::ranges::any_of(accesses, [&](const NestAccess& access) {
      return std::ranges::any_of(access.buffer->shape, [&](const Expr& extent) {
        return structural_equal(extent, axis.extent);
      });
    });
    const Expr zero = zero_of(axis.extent.dtype());
    if (!is_shape && !Analyzer().can_prove(axis.extent >= zero)) {
      axis.extent = max(axis.extent, zero);
    }
  }
}

struct LoopOver {
  const For* loop;
  bool used = false;
};

/// True when the ends of an axis are the same wherever the block runs: a triangle is no box.
bool is_side_of_box(const IterVar& axis, const Block& block, const std::vector<LoopOver>& loops) {
  return std::ranges::none_of(free_variables(axis.dom), [&](const Ptr<Var>& used) {
    return std::ranges::any_of(loops,
                               [&](const auto& l) { return used.same_as(l.loop->loop_var); }) ||
           std::ranges::any_of(block.iter_vars,
                               [&](const auto& a) { return used.same_as(a->var); });
  });
}

bool uses_reduction(const Stmt& init, const Nest& nest) {
  return std::ranges::any_of(nest.reduction(),
                             [&](const Axis& axis) { return uses_variable(init, axis.var); });
}

/// True when an init starts from what is in a result: tiles in registers begin empty.
bool starts_from_results(const Nest& nest) {
  const std::vector<Ptr<Buffer>> written = written_buffers(nest);
  bool found = false;
  pre_order_visit(nest.init, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && std::ranges::any_of(written, [&](const Ptr<Buffer>& buffer) {
                        return buffer->data.same_as(load->buffer->data);
                      }));
    return !found;
  });
  return found;
}

std::optional<Nest> nest_of(const BlockRealize& realize, std::vector<LoopOver> loops) {
  const Block& block = *realize.block;
  if (!is_const_int(realize.predicate, 1) || !block.alloc_buffers.empty() ||
      !block.match_buffers.empty() || !block.annotations.empty() || !is_plain(block.body) ||
      (block.init && (!is_plain(block.init) || !arith::init_starts_all(block)))) {
    return std::nullopt;
  }
  Nest nest{.name = block.name_hint,
            .axes = {},
            .init = block.init ? of_block(block.init, block.name_hint + "_init") : nullptr,
            .body = of_block(block.body, block.name_hint)};
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    const bool reduce = axis.iter_type == IterType::comm_reduce;
    if (!axis.dom || (!reduce && axis.iter_type != IterType::data_par)) return std::nullopt;
    if (!is_side_of_box(axis, block, loops)) return std::nullopt;
    const Expr& value = realize.iter_values[i];
    if (!is_const_int(axis.dom->extent, 1) || !structural_equal(value, axis.dom->min)) {
      const auto over = std::ranges::find_if(
          loops, [&](const LoopOver& l) { return value.same_as(l.loop->loop_var) && !l.used; });
      if (over == loops.end() || !structural_equal(over->loop->min, axis.dom->min) ||
          !structural_equal(over->loop->extent, axis.dom->extent)) {
        return std::nullopt;
      }
      over->used = true;
    }
    nest.axes.push_back({axis.var, axis.dom->min, axis.dom->extent, reduce});
  }
  const bool all_used = std::ranges::all_of(
      loops, [](const LoopOver& l) { return l.used || is_const_int(l.loop->extent, 1); });
  std::vector<Axis> reduction = nest.reduction();
  nest.axes = nest.spatial();
  std::ranges::move(reduction, std::back_inserter(nest.axes));
  const bool is_init_of_point =
      !block.init ||
      (!nest.reduction().empty() && !uses_reduction(nest.init, nest) && !starts_from_results(nest));
  if (!all_used || !is_init_of_point || !spatial_axes_are_independent(nest)) return std::nullopt;
  // A reduction without an init keeps its order: it may be a scan.
  if (!block.init && !nest.reduction().empty()) return std::nullopt;
  keep_extents_from_below(nest);
  return nest;
}

/// No nest accesses what another one writes.
bool are_unrelated(const std::vector<Nest>& nests) {
  for (const Nest& writer : nests) {
    for (const Ptr<Buffer>& buffer : written_buffers(writer)) {
      for (const Nest& other : nests) {
        if (&other != &writer && (reads(other, buffer) || writes(other, buffer))) return false;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<Axis> Nest::spatial() const {
  std::vector<Axis> found;
  std::ranges::copy_if(axes, std::back_inserter(found), [](const Axis& a) { return !a.reduce; });
  return found;
}

std::vector<Axis> Nest::reduction() const {
  std::vector<Axis> found;
  std::ranges::copy_if(axes, std::back_inserter(found), [](const Axis& a) { return a.reduce; });
  return found;
}

std::vector<NestAccess> accesses_in(const Stmt& stmt) {
  std::vector<NestAccess> accesses;
  pre_order_visit(stmt, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) {
      accesses.push_back({load->buffer, load->indices, false});
    } else if (const auto* store = ref.as<BufferStore>()) {
      accesses.push_back({store->buffer, store->indices, true});
    }
    return true;
  });
  return accesses;
}

std::vector<NestAccess> accesses_in(const Nest& nest) {
  std::vector<NestAccess> accesses = accesses_in(nest.body);
  if (nest.init) std::ranges::move(accesses_in(nest.init), std::back_inserter(accesses));
  return accesses;
}

std::vector<Ptr<Buffer>> written_buffers(const Nest& nest) {
  std::vector<Ptr<Buffer>> buffers;
  for (const NestAccess& access : accesses_in(nest)) {
    const bool known =
        std::ranges::any_of(buffers, [&](const auto& b) { return b.same_as(access.buffer); });
    if (access.is_store && !known) buffers.push_back(access.buffer);
  }
  return buffers;
}

bool reads(const Nest& nest, const Ptr<Buffer>& buffer) {
  return std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
    return !access.is_store && access.buffer->data.same_as(buffer->data);
  });
}

bool writes(const Nest& nest, const Ptr<Buffer>& buffer) {
  return std::ranges::any_of(accesses_in(nest), [&](const NestAccess& access) {
    return access.is_store && access.buffer->data.same_as(buffer->data);
  });
}

std::vector<Nest> nests_of(const Stmt& stmt) {
  std::vector<LoopOver> loops;
  Stmt inside = stmt;
  while (const auto* loop = inside.as<For>()) {
    if (loop->kind != ForKind::serial || !loop->annotations.empty() ||
        !is_const_int(loop->step, 1)) {
      return {};
    }
    loops.push_back({loop});
    inside = loop->body;
  }
  std::vector<Stmt> realizes{inside};
  if (const auto* sequence = inside.as<SeqStmt>()) realizes = sequence->seq;
  std::vector<Nest> nests;
  for (const Stmt& realize : realizes) {
    const auto* block = realize.as<BlockRealize>();
    std::optional<Nest> nest = block ? nest_of(*block, loops) : std::nullopt;
    if (!nest) return {};
    nests.push_back(*std::move(nest));
  }
  return are_unrelated(nests) ? nests : std::vector<Nest>();
}

Stmt at(const Stmt& stmt, const Substitution& values) {
  return clone_with(stmt, values);
}

namespace {

/// True when `index` grows by one where `variable`, which it uses, does.
bool moves_by_one(const Expr& index, const Ptr<Var>& variable) {
  if (index.same_as(variable)) return true;
  if (const auto* sum = index.as<Add>()) {
    const bool left = uses_variable(sum->a, variable), right = uses_variable(sum->b, variable);
    if (left != right) return moves_by_one(left ? sum->a : sum->b, variable);
  }
  const Expr next = substitute(index, {{variable, variable + int_imm(variable->dtype, 1)}});
  return Analyzer().can_prove_equal(next, index + int_imm(index.dtype(), 1));
}

}  // namespace

Stride stride_along(const NestAccess& access, const Ptr<Var>& variable) {
  Stride stride = Stride::none;
  for (std::size_t i = 0; i < access.indices.size(); ++i) {
    if (!uses_variable(access.indices[i], variable)) continue;
    const std::vector<Expr>& shape = access.buffer->shape;
    const bool last = std::all_of(shape.begin() + static_cast<std::ptrdiff_t>(i) + 1, shape.end(),
                                  [](const Expr& extent) { return is_const_int(extent, 1); });
    const bool compact =
        access.buffer->strides.empty() || is_const_int(access.buffer->strides[i], 1);
    if (!last || !compact) return Stride::other;
    stride = moves_by_one(access.indices[i], variable) ? Stride::one : Stride::other;
  }
  return stride;
}

std::optional<std::int64_t> constant_extent(const Axis& axis) {
  const std::int64_t* extent = as_int(axis.extent);
  return extent ? std::optional(*extent) : std::nullopt;
}

std::optional<std::int64_t> point_count(const std::vector<Axis>& axes) {
  std::int64_t count = 1;
  for (const Axis& axis : axes) {
    const auto extent = constant_extent(axis);
    if (!extent || __builtin_mul_overflow(count, *extent, &count)) return std::nullopt;
  }
  return count;
}

}  // namespace loopsmith
