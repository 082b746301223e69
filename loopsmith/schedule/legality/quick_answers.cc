// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/legality/quick_answers.h"

#include <algorithm>

#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/legality.h"
#include "loopsmith/schedule/legality/private_memory.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/block_kinds.h"
#include "loopsmith/schedule/queries/index_form.h"
#include "loopsmith/schedule/queries/input_invariance.h"
#include "loopsmith/schedule/queries/jumps.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/must_write_region.h"
#include "loopsmith/schedule/rewrites/cache_coverage.h"

namespace loopsmith {
namespace {

/// True when no loop of the scope is around both.
bool have_no_loop_in_common(const Schedule& schedule, const Place& a, const Place& b) {
  return common_loop(schedule, a.node, b.node) == no_node;
}

bool has_memory_of(const std::vector<Ptr<BufferRegion>>& regions, const Buffer& buffer) {
  return std::ranges::any_of(
      regions, [&](const auto& region) { return region->buffer->data.same_as(buffer.data); });
}

void add_memory_read_by(const Ref& node, std::vector<const Object*>& found) {
  pre_order_visit(node, [&](const Ref& ref) {
    if (const auto* load = ref.as<BufferLoad>()) found.push_back(load->buffer->data.get());
    return !ref.is<Buffer>();
  });
}

std::vector<const Object*> memory_read_by_init(const Block& block) {
  std::vector<const Object*> found;
  if (block.init) add_memory_read_by(block.init, found);
  return found;
}

/// The memory by which a block of one store finds out what it stores to.
std::vector<const Object*> memory_read_by_index(const Block& block) {
  std::vector<const Object*> found;
  if (const auto* store = block.body.as<BufferStore>()) {
    for (const Expr& index : store->indices) add_memory_read_by(index, found);
  }
  return found;
}

/// True when the init of the block, which runs outside of its loops where there is nothing to
/// reduce, reads the memory of the buffer.
bool init_reads(const Block& block, const Buffer& buffer) {
  const auto read = memory_read_by_init(block);
  return std::ranges::find(read, buffer.data.get()) != read.end();
}

/// A block and another place in its scope, one after the other, in all of the scope or in one
/// iteration of the loop around both.
class TwoPlaces {
 public:
  TwoPlaces(const Schedule& schedule, BlockRV block, const Place& there)
      : schedule_(schedule),
        here_{schedule.node(block)},
        there_(there),
        around_(common_loop(schedule, here_.node, there.node)) {}

  /// The innermost loop around both; no_node: there is none.
  NodeId around() const { return around_; }
  bool is_here_first() const { return is_before(schedule_, here_, there_); }
  bool are_apart(const ScopeAccesses& uses) const {
    return !uses.is_dynamic() && !uses.has_jumps && around_ == no_node;
  }
  /// True when the block is of a plain kind, and what runs between is known.
  bool are_plain(BlockRV block, const ScopeAccesses& uses) const {
    return !uses.is_dynamic() && !uses.has_jumps && writes_each_once(schedule_, block, uses);
  }
  bool is_here(const BufferAccess& use) const { return use.place.node == here_.node; }
  bool is_there(const BufferAccess& use) const {
    return is_inside(schedule_, use.place, there_.node);
  }
  /// True when the use runs before all of both places, or after; outside of the loop around both,
  /// it does not run meanwhile.
  bool is_before_or_after_both(const BufferAccess& use) const {
    if (around_ != no_node && !is_inside(schedule_, use.place, around_)) return true;
    return (run_in_turn(use.place, here_) && run_in_turn(use.place, there_)) ||
           (run_in_turn(here_, use.place) && run_in_turn(there_, use.place));
  }

 private:
  bool run_in_turn(const Place& first, const Place& second) const {
    return is_before(schedule_, first, second) &&
           common_loop(schedule_, first.node, second.node) == around_;
  }

  const Schedule& schedule_;
  const Place here_, there_;
  const NodeId around_;
};

/// True when values of reduction axes are all there are.
bool are_whole_reductions(const Block& block, std::span<const AxisValues> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const IterVar& axis = *block.iter_vars[i];
    if (axis.iter_type != IterType::comm_reduce) continue;
    if (!structural_equal(values[i].min, axis.dom->min) ||
        !structural_equal(values[i].extent, axis.dom->extent)) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool moves_past_nothing(const Schedule& schedule, BlockRV handle, LoopRV loop,
                        const ScopeAccesses& uses, std::span<const AxisValues> values) {
  const TwoPlaces places(schedule, handle, Place{schedule.node(loop)});
  if (!places.are_plain(handle, uses)) return false;
  const Block& block = schedule.get(handle);
  if (places.around() != no_node &&
      !(places.is_here_first() && are_whole_reductions(block, values) &&
        runs_in_iteration(schedule, handle, places.around(), schedule.node(loop), values))) {
    return false;
  }
  const auto is_read_by_init = [&](BlockRV reader) {
    return std::ranges::any_of(block.writes, [&](const auto& region) {
      return init_reads(schedule.get(reader), *region->buffer);
    });
  };
  const auto inside = child_blocks(schedule, schedule.node(loop));
  if (std::ranges::any_of(inside, is_read_by_init)) return false;
  return std::ranges::all_of(uses.all, [&](const BufferAccess& use) {
    if (places.is_here(use)) return true;
    if (has_memory_of(block.writes, *use.buffer)) return !use.is_write && places.is_there(use);
    if (!use.is_write || !has_memory_of(block.reads, *use.buffer)) return true;
    return places.is_before_or_after_both(use);
  });
}

bool lags_behind_nothing(const Schedule& schedule, BlockRV handle, LoopRV loop,
                         const ScopeAccesses& uses) {
  const TwoPlaces places(schedule, handle, Place{schedule.node(loop)});
  if (!places.are_plain(handle, uses)) return false;
  const Block& block = schedule.get(handle);
  const bool is_complete = std::ranges::all_of(
      block.iter_vars, [](const auto& axis) { return axis->iter_type == IterType::data_par; });
  if (places.around() != no_node && (places.is_here_first() || !is_complete)) return false;
  return std::ranges::all_of(uses.all, [&](const BufferAccess& use) {
    if (places.is_here(use)) return true;
    const bool is_of_output = has_memory_of(block.writes, *use.buffer);
    const bool changes_input = use.is_write && has_memory_of(block.reads, *use.buffer);
    if (places.is_there(use)) return !is_of_output;
    return (!is_of_output && !changes_input) || places.is_before_or_after_both(use);
  });
}

bool reads_the_same_at(const Schedule& schedule, BlockRV handle, const Place& place,
                       const ScopeAccesses& uses) {
  const TwoPlaces places(schedule, handle, place);
  if (!places.are_apart(uses)) return false;
  const Block& block = schedule.get(handle);
  return std::ranges::all_of(uses.all, [&](const BufferAccess& use) {
    return !use.is_write || places.is_here(use) || !has_memory_of(block.reads, *use.buffer) ||
           places.is_before_or_after_both(use);
  });
}

bool does_the_same_at(const Schedule& schedule, BlockRV handle, const Place& place,
                      const Buffer* between, const ScopeAccesses& uses) {
  const TwoPlaces places(schedule, handle, place);
  if (!places.are_apart(uses)) return false;
  const Block& block = schedule.get(handle);
  return std::ranges::all_of(uses.all, [&](const BufferAccess& use) {
    if (places.is_here(use) || use.buffer == between) return true;
    const bool is_of_output = has_memory_of(block.writes, *use.buffer);
    const bool changes_input = use.is_write && has_memory_of(block.reads, *use.buffer);
    return (!is_of_output && !changes_input) || places.is_before_or_after_both(use);
  });
}

bool is_unchanged_for(const Schedule& schedule, const Buffer& buffer,
                      std::span<const BlockRV> readers, NodeId around, const ScopeAccesses& uses) {
  if (uses.is_dynamic() || uses.has_jumps) return false;
  const bool is_read_by_init = std::ranges::any_of(
      readers, [&](BlockRV reader) { return init_reads(schedule.get(reader), buffer); });
  if (is_read_by_init) return false;
  return std::ranges::all_of(uses.all, [&](const BufferAccess& use) {
    if (!use.is_write || !use.buffer->data.same_as(buffer.data)) return true;
    return have_no_loop_in_common(schedule, use.place, Place{around}) &&
           std::ranges::all_of(readers, [&](BlockRV reader) {
             return have_no_loop_in_common(schedule, use.place, Place{schedule.node(reader)});
           });
  });
}

bool has_unchanged_inputs(const Schedule& schedule, BlockRV block, const Expr& value, NodeId nest,
                          const ScopeAccesses& uses) {
  return std::ranges::all_of(free_buffers(value), [&](const Ptr<Buffer>& buffer) {
    const bool is_written_inside = std::ranges::any_of(uses.all, [&](const BufferAccess& use) {
      return use.is_write && use.buffer == buffer.get() && is_inside(schedule, use.place, nest);
    });
    return !is_written_inside &&
           is_unchanged_for(schedule, *buffer, std::span(&block, 1), nest, uses);
  });
}

bool is_used_apart_from(const Schedule& schedule, const Buffer& buffer, NodeId nest,
                        const ScopeAccesses& uses) {
  if (uses.is_dynamic() || uses.has_jumps) return false;
  if (holds_jumps(schedule.statement(nest))) return false;
  if (!have_no_loop_in_common(schedule, Place{schedule.at(nest).parent}, Place{nest})) return false;
  return std::ranges::all_of(uses.all, [&](const BufferAccess& use) {
    return !use.buffer->data.same_as(buffer.data) || is_inside(schedule, use.place, nest) ||
           have_no_loop_in_common(schedule, use.place, Place{nest});
  });
}

bool is_finished_in(const Schedule& schedule, BlockRV handle, const Buffer& buffer, LoopRV loop,
                    const ScopeAccesses& uses) {
  if (uses.is_dynamic() || uses.has_jumps) return false;
  if (holds_jumps(schedule.get(loop).body)) return false;
  if (!writes_each_once(schedule, handle, uses)) return false;
  const NodeId nest = schedule.node(loop);
  const bool is_apart = std::ranges::all_of(uses.all, [&](const BufferAccess& use) {
    return !use.buffer->data.same_as(buffer.data) || is_inside(schedule, use.place, nest) ||
           have_no_loop_in_common(schedule, use.place, Place{nest});
  });
  if (!is_apart) return false;
  const BlockRealize& realize = schedule.realize(handle);
  Handles<LoopRV> around = loops_around(schedule, nest);
  around.push_back(loop);
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    if (realize.block->iter_vars[i]->iter_type != IterType::comm_reduce) continue;
    const bool is_driven = std::ranges::any_of(around, [&](LoopRV each) {
      return uses_variable(realize.iter_values[i], schedule.get(each).loop_var);
    });
    if (is_driven) return false;
  }
  return true;
}

bool computes_alone(const Schedule& schedule, NodeId nest, BlockRV block, const Ptr<Buffer>& buffer,
                    const ScopeAccesses& uses) {
  if (uses.is_dynamic() || !schedule.as<For>(nest)) return false;
  if (holds_jumps(schedule.statement(nest))) return false;
  const NodeId own = schedule.node(block);
  bool is_read = false;
  for (const BufferAccess& use : uses.all) {
    if (!use.buffer->data.same_as(buffer->data)) continue;
    if (use.place.node != own && is_inside(schedule, use.place, nest)) return false;
    is_read = is_read || (use.place.node == own && !use.is_write);
  }
  if (!schedule.get(block).init) return !is_read;
  const auto loops = loops_around(schedule, own);
  const auto first = std::ranges::find(loops, schedule.loop_at(nest));
  return first != loops.end() &&
         reads_what_it_started(schedule, block, buffer, std::span(first, loops.end()));
}

bool computes_throughout(const Schedule& schedule, const CacheSubject& subject, BlockRV block,
                         NodeId nest, const std::vector<Ptr<IterVar>>& axes,
                         const ScopeAccesses& uses) {
  return writes_each_once(schedule, block, uses) &&
         !continues_reduction(schedule, subject.scope, block) &&
         stores_throughout(schedule, nest, subject.selected.buffer, axes);
}

bool starts_before_loop(const Schedule& schedule, BlockRV handle, LoopRV loop,
                        const ScopeAccesses& uses) {
  const NodeId own = schedule.node(handle), nest = schedule.node(loop);
  if (uses.is_dynamic()) return false;
  if (uses.has_jumps && holds_jumps(schedule.get(loop).body)) return false;
  ScopeAccesses inside = uses;
  std::erase_if(inside.all, [&](const BufferAccess& use) {
    return use.place.node != own && !is_inside(schedule, use.place, nest);
  });
  if (!kinds_of(schedule, handle, inside).is_reduction()) return false;
  const Block& block = schedule.get(handle);
  const auto loops = loops_around(schedule, own);
  const std::span inner(std::ranges::find(loops, loop), loops.end());
  std::vector<const Object*> inputs = memory_read_by_init(block);
  std::ranges::copy(memory_read_by_index(block), std::back_inserter(inputs));
  const auto is_input = [&](const Buffer& buffer) {
    return std::ranges::find(inputs, buffer.data.get()) != inputs.end();
  };
  const bool reads_own = std::ranges::any_of(
      block.writes, [&](const auto& region) { return is_input(*region->buffer); });
  if (reads_own) return false;
  const bool is_alone = std::ranges::all_of(inside.all, [&](const BufferAccess& use) {
    if (use.place.node == own) return true;
    const bool changes_input = use.is_write && is_input(*use.buffer);
    return !changes_input && !has_memory_of(block.writes, *use.buffer);
  });
  if (!is_alone) return false;
  return runs_each_once(schedule, handle, inner);
}

bool writes_each_once(const Schedule& schedule, BlockRV block, const ScopeAccesses& uses) {
  if (uses.decides_on_own_writes) return false;
  const BlockKinds kinds = kinds_of(schedule, block, uses);
  if (kinds.is_complete()) return true;
  return kinds.is_reduction() &&
         is_injective(schedule, block, loops_around(schedule, schedule.node(block)));
}

bool fills_before_loop(const Schedule& schedule, BlockRV handle, LoopRV loop,
                       const ScopeAccesses& uses) {
  const NodeId own = schedule.node(handle), nest = schedule.node(loop);
  if (uses.is_dynamic()) return false;
  if (uses.has_jumps && holds_jumps(schedule.get(loop).body)) return false;
  if (!kinds_of(schedule, handle, uses).is_complete()) return false;
  const Block& block = schedule.get(handle);
  const auto inputs = memory_read_by_index(block);
  const bool changes_place = std::ranges::any_of(uses.all, [&](const BufferAccess& use) {
    return use.is_write && is_inside(schedule, use.place, nest) &&
           std::ranges::find(inputs, use.buffer->data.get()) != inputs.end();
  });
  if (changes_place) return false;
  const bool is_alone = std::ranges::none_of(uses.all, [&](const BufferAccess& use) {
    return use.place.node != own && is_inside(schedule, use.place, nest) &&
           has_memory_of(block.writes, *use.buffer);
  });
  return is_alone || std::ranges::all_of(block.writes, [&](const auto& region) {
           return writes_what_it_reads(schedule, loop, region->buffer);
         });
}

namespace {

/// True when a sum is `sign` times another, and a constant.
bool is_sum_of(const IndexForm& form, const IndexForm& other, std::int64_t sign) {
  return form.terms.size() == other.terms.size() &&
         std::ranges::all_of(other.terms, [&](IndexTerm term) {
           term.coefficient *= sign;
           return std::ranges::any_of(form.terms,
                                      [&](const IndexTerm& each) { return same_term(each, term); });
         });
}

/// True when a comparison is one of an index of the element that is written with a constant.
bool is_of_element(const IndexForms& forms, const BufferAccess& written, const Expr& condition) {
  const auto comparison = arith::comparison_of(condition);
  const auto form = comparison ? forms.read(comparison->left - comparison->right) : std::nullopt;
  return form && std::ranges::any_of(written.region->region, [&](const Ptr<Range>& part) {
           const auto index = forms.read(part->min);
           return index && (is_sum_of(*form, *index, 1) || is_sum_of(*form, *index, -1));
         });
}

/// True when a condition depends on no loop around this one.
bool is_of_loops_inside(const Schedule& schedule, const Expr& condition, LoopRV outermost) {
  return std::ranges::none_of(loops_around(schedule, schedule.node(outermost)), [&](LoopRV loop) {
    return loop != outermost && uses_variable(condition, schedule.get(loop).loop_var);
  });
}

/// True when an element that the block computes in one run of the loops is computed in each other.
bool runs_alike(const Schedule& schedule, BlockRV block, const BufferAccess& written,
                std::span<const WindowLoops> windows) {
  const BlockRealize& realize = schedule.realize(block);
  IndexForms forms(ranges_around(schedule, schedule.node(block)));
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    forms.bind(realize.block->iter_vars[i]->var, realize.iter_values[i]);
  }
  return std::ranges::all_of(arith::conjuncts(realize.predicate), [&](const Expr& condition) {
    if (is_const_int(condition, 1)) return true;
    if (reads_memory(condition)) return false;
    if (is_of_element(forms, written, condition)) return true;
    return std::ranges::all_of(windows, [&](const WindowLoops& window) {
      return window.lag && is_of_loops_inside(schedule, condition, window.loops[0]);
    });
  });
}

}  // namespace

bool computes_alike(const Schedule& schedule, BlockRV block, const BufferAccess& written,
                    std::span<const WindowLoops> windows, const ScopeAccesses& uses) {
  return runs_alike(schedule, block, written, windows) &&
         std::ranges::all_of(windows, [&](const WindowLoops& window) {
           return window.lag ||
                  is_idempotent(schedule, written, schedule.node(window.loops[0]), uses);
         });
}

}  // namespace loopsmith
