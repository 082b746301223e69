// SPDX-License-Identifier: Apache-2.0
// How the loops of a stage run, and what else is said of them.
#include <algorithm>
#include <iterator>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/script_printer.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/support/error.h"
#include "loopsmith/te_schedule/replay.h"

namespace loopsmith::te {
namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

std::string_view word_of(const AxisMark& mark) {
  if (const auto* kind = std::get_if<KindMark>(&mark.what)) {
    if (kind->kind == ForKind::parallel) return "parallel";
    return kind->kind == ForKind::vectorized ? "vectorize" : "unroll";
  }
  if (std::holds_alternative<BindMark>(mark.what)) return "bind";
  if (std::holds_alternative<PrefetchMark>(mark.what)) return "prefetch";
  if (std::holds_alternative<TensorizeMark>(mark.what)) return "tensorize";
  return "pragma";
}

}  // namespace

LoopRV Replay::leaf_loop(StageId id, const Nest& nest, const AxisMark& mark,
                         std::string_view call) const {
  const auto& leaves = stage(id).leaf_iter_vars;
  require(std::ranges::any_of(leaves, [&](const IterVar& leaf) { return leaf.same_as(mark.axis); }),
          ErrorKind::schedule, "marked_axis_is_loop", hint("say it of what the axis has become"),
          {}, "{}: axis {} of stage {} is no loop any more when all is done", call,
          mark.axis->var->name, label_of(data_, id));
  return own_loop(id, nest, mark.axis, call);
}

void Replay::mark(StageId id) {
  for (const Nest& nest : nests_[id]) {
    for (const AxisMark& mark : stage(id).marks) {
      if (nest.is_init && !nest.loops.contains(mark.axis)) continue;
      const LoopRV loop = leaf_loop(id, nest, mark, word_of(mark));
      if (const auto* pragma = std::get_if<PragmaMark>(&mark.what)) {
        annotate.apply(schedule_,
                       {.block_or_loop = loop, .ann_key = pragma->key, .ann_val = pragma->value});
      }
      const auto* kind = std::get_if<KindMark>(&mark.what);
      if (!kind) continue;
      const For& node = schedule_.get(loop);
      require(kind->kind != ForKind::vectorized || as_int(node.extent), ErrorKind::schedule,
              "vector_has_constant_extent",
              hint("split it by a constant, and vectorize the inner loop"), {},
              "vectorize: axis {} of stage {} has {} iterations, which is no constant",
              mark.axis->var->name, label_of(data_, id), to_string(node.extent));
      if (kind->kind == ForKind::parallel) {
        loopsmith::parallel.apply(schedule_, {.loop = loop});
      } else if (kind->kind == ForKind::vectorized) {
        loopsmith::vectorize.apply(schedule_, {.loop = loop});
      } else {
        loopsmith::unroll.apply(schedule_, {.loop = loop});
      }
    }
  }
}

/// Last of all, as a loop that it is put into holds more than another one then.
/// A block inside a loop of a stage that reads a buffer: the stage's own, or a copy for it.
BlockRV Replay::reader_in(LoopRV loop, BlockRV own, const std::string& buffer) {
  const auto reads = [&](BlockRV block) {
    return std::ranges::any_of(schedule_.get(block).reads,
                               [&](const auto& region) { return region->buffer->name == buffer; });
  };
  if (reads(own)) return own;
  const auto inside = get_child_blocks.apply(schedule_, {.block_or_loop = loop});
  const auto reader = std::ranges::find_if(inside, reads);
  return reader == inside.end() ? own : *reader;
}

void Replay::prefetch(StageId id) {
  for (const AxisMark& mark : stage(id).marks) {
    const auto* asked = std::get_if<PrefetchMark>(&mark.what);
    if (!asked) continue;
    const std::string name = data_.current(asked->tensor).name();
    for (const Nest& nest : nests_[id]) {
      if (nest.is_init) continue;
      const LoopRV loop = leaf_loop(id, nest, mark, "prefetch");
      loopsmith::prefetch.apply(schedule_, {.block = reader_in(loop, nest.blocks[0], name),
                                            .read_buffer_index = name,
                                            .loop = loop,
                                            .offset = asked->offset});
    }
  }
}

/// Stops where axes of different extents are bound to the same thread axis.
void Replay::require_same_threads(StageId id, const AxisMark& mark, const std::int64_t* extent) {
  if (!extent) return;
  const auto& thread = std::get<BindMark>(mark.what).thread;
  const auto [known, is_new] = threads_.emplace(thread, BoundThread{id, mark.axis, *extent});
  const BoundThread& other = known->second;
  require(is_new || other.extent == *extent, ErrorKind::schedule, "threads_are_as_many",
          hint("split them to the same extent, or make a thread axis for each"), {},
          "bind: axis {} of stage {} has {} iterations, axis {} of stage {}, which is bound to the "
          "same thread axis, {}",
          mark.axis->var->name, label_of(data_, id), *extent, other.axis->var->name,
          label_of(data_, other.stage), other.extent);
}

void Replay::bind(StageId id, const AxisMark& mark) {
  const auto& thread = std::get<BindMark>(mark.what).thread;
  for (const Nest& nest : nests_[id]) {
    if (nest.is_init && !nest.loops.contains(mark.axis)) continue;
    const LoopRV loop = leaf_loop(id, nest, mark, "bind");
    const For& node = schedule_.get(loop);
    if (node.kind == ForKind::thread_binding) continue;
    // It runs on that thread axis already: what is left of it is one iteration.
    if (is_const_int(node.extent, 1) &&
        is_run_around(data_, attachments_, attachments_[id], mark)) {
      continue;
    }
    const std::int64_t* asked = thread->dom ? as_int(thread->dom->extent) : nullptr;
    const std::int64_t* extent = as_int(node.extent);
    require(!asked || !extent || *asked == *extent, ErrorKind::schedule, "threads_fit_the_loop",
            hint("split the axis so that it fits, or leave out the extent of the thread axis"), {},
            "bind: axis {} of stage {} has {} iterations, {} has {} threads", mark.axis->var->name,
            label_of(data_, id), extent ? *extent : 0, thread->thread_tag, asked ? *asked : 0);
    require_same_threads(id, mark, extent);
    loopsmith::bind.apply(schedule_, {.loop = loop, .thread_axis = thread->thread_tag});
  }
}

/// Stops where a scan has threads that run nothing: its steps share those that their axes are bound
/// to.
void Replay::require_env_threads(StageId id) const {
  for (const IterVar& thread : stage(id).env_threads) {
    const auto binds = [&](const AxisMark& mark) {
      const auto* bound = std::get_if<BindMark>(&mark.what);
      return bound && bound->thread.same_as(thread);
    };
    const bool is_bound = std::ranges::any_of(
        data_.order, [&](StageId other) { return std::ranges::any_of(stage(other).marks, binds); });
    require(is_bound, ErrorKind::schedule, "env_threads_are_bound",
            hint("bind an axis of each step to it, with as many iterations"), {},
            "env_threads: no step of scan {} has an axis that is bound to {}", label_of(data_, id),
            thread->var->name);
  }
}

/// Binds the loops around a place to the threads of a block; not to blocks of threads.
void Replay::bind_around(const Attachment& at) {
  for (const BoundAxis& axis : bound_around(data_, attachments_, at)) {
    const std::string& tag = std::get<BindMark>(axis.mark->what).thread->thread_tag;
    if (!is_block_axis(thread_axis_of(tag))) bind(axis.stage, *axis.mark);
  }
}

void Replay::bind_all(StageId id) {
  for (const AxisMark& mark : stage(id).marks) {
    if (std::holds_alternative<BindMark>(mark.what)) bind(id, mark);
  }
}

/// Stops where a predicate would keep elements from being stored: where it does not, there is
/// nothing to do.
void Replay::check_predicate(StageId id) {
  const StageData& data = stage(id);
  if (!data.store_predicate.defined()) return;
  Analyzer analyzer;
  Substitution first_thread;
  const auto bind_loop = [&](const IterVar& axis, const Nest& nest) {
    const auto loop = nest.loops.find(axis);
    if (loop == nest.loops.end()) return;
    const For& node = schedule_.get(loop->second);
    analyzer.bind_range(axis->var, node.min, node.extent);
  };
  for (const IterVar& axis : root_axes(data.op)) analyzer.bind(axis->var, axis->dom, true);
  for (const Nest& nest : nests_[id]) {
    for (const IterVar& leaf : data.leaf_iter_vars) bind_loop(leaf, nest);
  }
  std::vector<Ptr<Var>> known;
  for (const IterVar& axis : data.all_iter_vars) known.push_back(axis->var);
  for (const AxisMark& mark : data.marks) {
    const auto* bound = std::get_if<BindMark>(&mark.what);
    if (!bound) continue;
    known.push_back(bound->thread->var);
    // All threads of a reduction have its result; one of them stores it.
    const bool reduces = mark.axis->iter_type == IterType::comm_reduce;
    first_thread[bound->thread->var] =
        reduces ? zero_of(bound->thread->var->dtype) : Expr(mark.axis->var);
  }
  for (const Ptr<Var>& variable : free_variables(data.store_predicate)) {
    const bool is_known =
        std::ranges::any_of(known, [&](const Ptr<Var>& other) { return other.same_as(variable); });
    require(
        is_known, ErrorKind::schedule, "predicate_is_of_stage",
        hint("bind an axis of the stage to that thread, or leave the predicate out"), {},
        "set_store_predicate: {} of stage {} speaks of {}, which is neither one of its axes nor "
        "a thread that one of them is bound to",
        to_string(data.store_predicate), label_of(data_, id), variable->name);
  }
  const Expr condition = substitute(data.store_predicate, first_thread);
  require(analyzer.can_prove(condition, ProofStrength::symbolic_bound), ErrorKind::schedule,
          "predicate_keeps_elements",
          hint("write it into the compute with te.if_then_else, if that is what is to be computed"),
          {}, "set_store_predicate: {} of stage {} would keep elements from being stored",
          to_string(data.store_predicate), label_of(data_, id));
}

/// True when a spatial axis of the block is bound to the loop.
bool Replay::binds_output_axis(BlockRV block, LoopRV loop) const {
  const BlockRealize& realize = schedule_.realize(block);
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    const bool is_spatial = realize.block->iter_vars[i]->iter_type == IterType::data_par;
    if (is_spatial && uses_variable(realize.iter_values[i], schedule_.get(loop).loop_var)) {
      return true;
    }
  }
  return false;
}

/// Lets the init of a reduction run before its first loop, where nothing runs concurrently.
void Replay::start_reduction(StageId id) {
  const auto* compute = stage(id).op.as<ComputeOp>();
  if (!compute || !compute->body[0].is<Reduce>()) return;
  const StageData& data = stage(id);
  const auto is_of_reduction = [](const IterVar& axis) {
    return axis->iter_type == IterType::comm_reduce;
  };
  const bool runs_concurrently = std::ranges::any_of(data.marks, [&](const AxisMark& mark) {
    const auto* kind = std::get_if<KindMark>(&mark.what);
    return is_of_reduction(mark.axis) && (std::holds_alternative<BindMark>(mark.what) ||
                                          (kind && kind->kind != ForKind::unrolled));
  });
  const auto first = std::ranges::find_if(data.leaf_iter_vars, is_of_reduction);
  if (runs_concurrently || first == data.leaf_iter_vars.end()) return;
  std::vector<Nest> starts;
  for (const Nest& nest : nests_[id]) {
    const auto loop = nest.loops.find(*first);
    if (loop == nest.loops.end()) continue;
    const DecomposeReductionArguments arguments{.block = nest.blocks[0], .loop = loop->second};
    if (!decompose_reduction.can_apply(schedule_, arguments)) continue;
    // Loops that are bound to axes of the output inside of the reduction have a copy in the start.
    std::vector<IterVar> inner;
    std::copy_if(first, data.leaf_iter_vars.end(), std::back_inserter(inner),
                 [&](const IterVar& axis) {
                   const auto own = nest.loops.find(axis);
                   return own != nest.loops.end() && binds_output_axis(nest.blocks[0], own->second);
                 });
    const BlockRV init = decompose_reduction.apply(schedule_, arguments);
    if (inner.empty()) continue;
    const auto loops = get_loops.apply(schedule_, {.block = init});
    const std::size_t around = loops_around(schedule_, schedule_.node(loop->second)).size();
    check(loops.size() == around + inner.size(), "te_schedule",
          "the start of {} has {} loops, not {}", label_of(data_, id), loops.size(),
          around + inner.size());
    Nest start{.blocks = {init}, .is_init = true};
    for (std::size_t i = 0; i < inner.size(); ++i) {
      start.loops[inner[i]] = loops[around + i];
    }
    starts.push_back(std::move(start));
  }
  nests_[id].insert(nests_[id].end(), starts.begin(), starts.end());
}

}  // namespace loopsmith::te
