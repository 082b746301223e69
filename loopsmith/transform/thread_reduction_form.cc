// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/thread_reduction_form.h"

#include <algorithm>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/arith/reduction_init.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/reduction_op.h"
#include "loopsmith/transform/thread_axes.h"

namespace loopsmith {
namespace {

using Values = std::vector<Expr>;

/// Finds the first reduction over threads by a block of a wanted name.
class ReductionFinder {
 public:
  using IsWanted = std::function<bool(const std::string&)>;

  ReductionFinder(const Stmt& body, const IsWanted& is_wanted) : is_wanted_(is_wanted) {
    visit(body);
  }
  std::optional<ThreadReduction> found;

 private:
  void visit(const Ref& ref) {
    if (found || is_expr(*ref.get())) return;
    if (const auto* realize = ref.as<BlockRealize>()) look_at(*realize);
    around_.push_back(ref);
    deep_call([&] {
      for_each_child(*ref.get(), [&](const Ref& child, Role role) {
        if (role != Role::thread && !child.is<Buffer>()) visit(child);
      });
    });
    around_.pop_back();
  }

  void look_at(const BlockRealize& realize) {
    if (!is_wanted_(realize.block->name_hint)) return;
    ThreadReduction made{.realize = Ptr<BlockRealize>(&realize)};
    // What is recorded to accumulate nothing into the results does not reduce, whatever its axes.
    const auto accumulates = [&](const For& loop) {
      const auto names = regrouped_names(loop);
      return !names || std::ranges::any_of(realize.block->writes, [&](const auto& region) {
        return std::ranges::find(*names, region->buffer->name) != names->end();
      });
    };
    for (const Ref& ref : around_) {
      const auto* loop = ref.as<For>();
      const ThreadAxis axis = loop ? thread_axis_of(*loop) : ThreadAxis::none;
      const bool is_thread = is_thread_axis(axis);
      const bool reduces =
          is_thread && arith::is_reduction_loop(realize, loop->loop_var) && accumulates(*loop);
      if (reduces && is_const_int(loop->extent, 0)) return;  // Nothing.
      if (made.threads.empty() && !reduces) {
        made.around.push_back(ref);
        made.is_in_launch |= is_block_axis(axis);
      }
      if (is_thread) (reduces ? made.threads : made.outer).emplace_back(loop);
    }
    made.is_in_launch |= !made.outer.empty();
    if (!made.threads.empty()) found = std::move(made);
  }

  const IsWanted& is_wanted_;
  std::vector<Ref> around_;
};

/// True when all threads of a block reach the loops that are reduced over, or none does.
bool is_reached_by_all(const ThreadReduction& reduction) {
  std::vector<Ptr<Var>> differing;
  for (const Ptr<For>& loop : reduction.outer) differing.push_back(loop->loop_var);
  const auto is_same = [&](const Expr& value) {
    bool loads = false;
    pre_order_visit(value, [&](const Ref& ref) {
      loads = loads || ref.is<BufferLoad>();
      return !loads;
    });
    return !loads && !uses_any_of(value, differing);
  };
  bool is_in_launch = false;
  for (const Ref& ref : reduction.around) {
    const auto* loop = ref.as<For>();
    is_in_launch |= loop && is_launch_loop(Stmt(loop));
    if (!is_in_launch) continue;
    const auto* branch = ref.as<IfThenElse>();
    if (branch && !is_same(branch->condition)) return false;
    if (loop && !(is_same(loop->min) && is_same(loop->extent))) return false;
    // What their names stand for may differ.
    if (ref.is<While>() || ref.is<BlockRealize>() || ref.is<LetStmt>()) return false;
  }
  return true;
}

}  // namespace

std::optional<ReducedTuple> reduced_tuple_of(const BlockRealize& realize) {
  const Block& block = *realize.block;
  if (!block.alloc_buffers.empty() || !block.match_buffers.empty()) return {};
  Substitution axes;
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    const Ptr<Var>& axis = block.iter_vars[i]->var;
    axes[axis] = cast(axis->dtype, realize.iter_values[i]);
  }
  const auto bound = [&](const Values& values) {
    Values result;
    for (const Expr& value : values) result.push_back(substitute(value, axes));
    return result;
  };
  ReducedTuple made;
  if (const auto known = reduction_of(block)) {
    std::vector<DataType> types;
    for (const auto& buffer : known->buffers) types.push_back(buffer->dtype);
    made.results = known->buffers;
    made.place = bound(known->indices);
    made.source = bound(known->sources);
    made.combine = known->reducer->combine;
    made.init = bound(known->init);
    made.start = made.init;
    made.is_idempotent = !known->reducer->identity;
    if (!made.is_idempotent) made.start = known->reducer->identity(types);
    const auto is_equal = StructuralEqual();
    if (std::ranges::equal(made.start, made.init, is_equal)) made.init.clear();
  } else {
    const auto* store = block.body.as<BufferStore>();
    const auto accumulation = store && !block.init ? accumulation_of(*store) : std::nullopt;
    if (!accumulation) return {};
    const Combiner combiner = accumulation->combiner;
    made.results = {store->buffer};
    made.place = bound(store->indices);
    made.source = bound({without_nans(combiner, accumulation->operand)});
    made.start = {neutral_element(combiner, store->buffer->dtype)};
    made.init = {load(store->buffer, made.place)};
    made.combine = [combiner](const Values& a, const Values& b) {
      return Values{combined(combiner, a[0], b[0])};
    };
  }
  // What it reads of its own results are other elements, which may not be there yet.
  for (const Expr& source : made.source) {
    for (const Ptr<Buffer>& buffer : free_buffers(source)) {
      const auto is_result = [&](const Ptr<Buffer>& result) {
        return result->data.same_as(buffer->data);
      };
      if (std::ranges::any_of(made.results, is_result)) return {};
    }
  }
  return made;
}

std::optional<ThreadReduction> find_thread_reduction(
    const Stmt& body, const std::function<bool(const std::string&)>& is_wanted) {
  return ReductionFinder(body, is_wanted).found;
}

std::optional<WarpGroup> warps_of(const ThreadReduction& reduction, int warp_size) {
  const Ptr<For>& threads = reduction.threads.back();
  if (thread_axis_of(*threads) != ThreadAxis::thread_x || !is_reached_by_all(reduction)) return {};
  const auto is_launch = [](const Ref& ref) {
    const auto* loop = ref.as<For>();
    return loop && is_launch_loop(Stmt(loop));
  };
  const std::int64_t* count = as_int(threads->extent);
  if (!count || (reduction.threads.size() > 1 && *count % warp_size != 0)) return {};
  const auto root = std::ranges::find_if(reduction.around, is_launch);
  const Ref kernel = root == reduction.around.end() ? Ref(threads) : *root;
  // Lanes are numbers along x, so no loop over x may have more. Where a warp has lanes of several
  // y or z, none of these may be left out either.
  const bool is_along_x = *count % warp_size == 0;
  const auto has_more = [](const For& loop, const For& other) {
    const std::int64_t *extent = as_int(loop.extent), *limit = as_int(other.extent);
    return !extent || !limit || *extent > *limit;
  };
  bool are_as_many = true;
  pre_order_visit(kernel, [&](const Ref& ref) {
    const auto* loop = ref.as<For>();
    const ThreadAxis axis = loop ? thread_axis_of(*loop) : ThreadAxis::none;
    const bool is_x = axis == ThreadAxis::thread_x;
    if (is_x || (is_thread_axis(axis) && !is_along_x)) {
      const auto is_same_axis = [&](const Ptr<For>& outer) {
        return thread_axis_of(*outer) == axis;
      };
      const auto outer = std::ranges::find_if(reduction.outer, is_same_axis);
      const Ptr<For>* around = is_x ? &threads : outer == reduction.outer.end() ? nullptr : &*outer;
      are_as_many = are_as_many && around && !has_more(*loop, **around);
    }
    return are_as_many && !is_expr(*ref.get());
  });
  if (!are_as_many) return {};
  std::int64_t all = 1;
  for (const Ptr<For>& loop : reduction.threads) all *= *as_int(loop->extent);
  return warp_group(all, warp_size);
}

Stmt in_one_block(const For& threads, Stmt body) {
  const DataType type = threads.loop_var->dtype;
  IterVar block = *threads.thread_binding;
  block.var = var("block", type);
  block.thread_tag = tag_of(ThreadAxis::block_x);
  block.dom = nullptr;
  return make(For{.loop_var = var("block", type),
                  .min = int_imm(type, 0),
                  .extent = int_imm(type, 1),
                  .step = int_imm(type, 1),
                  .kind = ForKind::thread_binding,
                  .thread_binding = make(std::move(block)),
                  .body = std::move(body)});
}

bool uses_any_of(const Ref& expr, const std::vector<Ptr<Var>>& variables) {
  return std::ranges::any_of(variables,
                             [&](const auto& each) { return uses_variable(expr, each); });
}

}  // namespace loopsmith
