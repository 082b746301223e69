// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/rewrites/producer_consumer_inlining.h"

#include <algorithm>

#include "loopsmith/arith/access_regions.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/schedule/legality/quick_answers.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/buffer_accesses.h"
#include "loopsmith/schedule/rewrites/edits.h"
#include "loopsmith/schedule/rewrites/inlined_versions.h"
#include "loopsmith/schedule/rewrites/places.h"

namespace loopsmith {
namespace {

bool has(const std::vector<Ptr<BufferRegion>>& regions, const Buffer* buffer) {
  return std::ranges::any_of(regions,
                             [&](const auto& region) { return region->buffer.get() == buffer; });
}

/// The block with its spatial axes alone.
Block spatial_part(const Block& block) {
  Block part = block;
  std::erase_if(part.iter_vars,
                [](const auto& axis) { return axis->iter_type != IterType::data_par; });
  return part;
}

class Pairer {
 public:
  Pairer(const Schedule& schedule, BlockRV consumer, bool is_reduction)
      : schedule_(schedule),
        block_(schedule.get(consumer)),
        here_{schedule.node(consumer)},
        is_reduction_(is_reduction) {
    pairing_.consumer = consumer;
  }

  Planned<ProducerConsumerPair> find() && {
    const BlockRV consumer = pairing_.consumer;
    if (auto refusal = refuse_root(schedule_, consumer)) return *std::move(refusal);
    if (auto refusal = refuse_loops_in_body(schedule_, consumer)) return *std::move(refusal);
    uses_ = accesses_in_scope(schedule_, scope_of(schedule_, here_.node));
    const BlockKinds kinds = kinds_of(schedule_, consumer, uses_);
    if (!kinds.is_complete()) {
      return Refusal{&block_is_complete,
                     {Argument(consumer), Argument(std::int64_t{kinds.breaks_complete})}};
    }
    auto stored = element_value_of(schedule_, consumer);
    if (auto* refusal = std::get_if<Refusal>(&stored)) return std::move(*refusal);
    pairing_.stored = std::get<ElementValue>(std::move(stored));
    if (auto refusal = find_producer()) return *std::move(refusal);
    if (auto refusal = find_reads()) return *std::move(refusal);
    if (auto refusal = match_instances()) return *std::move(refusal);
    if (auto refusal = refuse_changes()) return *std::move(refusal);
    return std::move(pairing_);
  }

 private:
  std::optional<Refusal> find_producer() {
    std::vector<const Buffer*> computed;
    for (const BufferAccess& use : uses_.all) {
      if (!use.is_write || use.place.node == here_.node || !has(block_.reads, use.buffer) ||
          !is_before(schedule_, use.place, here_)) {
        continue;
      }
      if (std::ranges::find(computed, use.buffer) == computed.end()) computed.push_back(use.buffer);
    }
    if (computed.size() != 1) {
      return Refusal{
          &one_input_is_computed,
          {Argument(pairing_.consumer), Argument(static_cast<std::int64_t>(computed.size()))}};
    }
    pairing_.buffer = Ptr<Buffer>(computed[0]);
    const Refusal alone{&producer_is_alone,
                        {Argument(Ref(pairing_.buffer)), Argument(pairing_.consumer)}};
    NodeId producer = no_node;
    for (const BufferAccess& use : uses_.all) {
      if (use.buffer != computed[0] || use.place.node == here_.node) continue;
      if (!use.is_write || !use.is_block || producer != no_node) return alone;
      producer = use.place.node;
    }
    pairing_.producer = schedule_.block_at(producer);
    const BlockKinds kinds = kinds_of(schedule_, pairing_.producer, uses_);
    if (is_output_block(schedule_, pairing_.producer)) return alone;
    if (is_reduction_) {
      const auto reduction = reduction_of(schedule_.get(pairing_.producer));
      if (!kinds.is_reduction() || !reduction || reduction->buffers.size() != 1) return alone;
      pairing_.written = reduction->indices;
      return {};
    }
    if (!kinds.is_complete()) return alone;
    auto element = element_value_of(schedule_, pairing_.producer);
    if (auto* refusal = std::get_if<Refusal>(&element)) return std::move(*refusal);
    pairing_.written = std::get<ElementValue>(element).indices;
    return {};
  }

  std::optional<Refusal> find_reads() {
    bool is_one = true;
    pre_order_visit(block_.body, [&](const Ref& ref) {
      is_one = is_one && !ref.same_as(pairing_.buffer->data) && !is_view_of(ref, *pairing_.buffer);
      const auto* load = ref.as<BufferLoad>();
      if (load && load->buffer.same_as(pairing_.buffer)) {
        if (pairing_.read.empty()) pairing_.read = load->indices;
        is_one = is_one && std::ranges::equal(pairing_.read, load->indices, StructuralEqual());
      }
      return is_one && !ref.is<Buffer>();
    });
    if (is_one && (!pairing_.read.empty() || pairing_.buffer->shape.empty())) return {};
    return Refusal{&reads_one_element,
                   {Argument(pairing_.consumer), Argument(Ref(pairing_.buffer))}};
  }

  std::optional<Refusal> match_instances() {
    const Block producer = spatial_part(schedule_.get(pairing_.producer));
    const auto forth = axes_from_indices(block_, pairing_.read, pairing_.written);
    if (forth.size() != block_.iter_vars.size()) {
      Argument::List indices;
      for (const Expr& index : pairing_.read) indices.emplace_back(Ref(index));
      return Refusal{&indices_tell_axes,
                     {indices, Argument(Ref(pairing_.buffer)), Argument(pairing_.consumer)}};
    }
    const auto back = axes_from_indices(producer, pairing_.written, pairing_.read);
    const Refusal unserved = changed_results(
        producer_serves_all,
        {Argument(pairing_.producer), Argument(Ref(pairing_.buffer)), Argument(pairing_.consumer)});
    if (back.size() != producer.iter_vars.size()) return unserved;
    const Instances here = instances_of(schedule_, pairing_.consumer);
    const Instances there = instances_of(schedule_, pairing_.producer);
    for (const auto& [instances, block] :
         {std::pair(&here, pairing_.consumer), std::pair(&there, pairing_.producer)}) {
      if (instances->unknown.empty()) continue;
      return Refusal{&instances_are_known, {Argument(block), Argument(instances->unknown)}};
    }

    // Each instance here has one there,
    Analyzer analyzer;
    for (const auto& axis : block_.iter_vars) analyzer.bind(axis->var, axis->dom);
    std::vector<Expr> served = running(producer, back, there.conditions);
    Substitution values;
    for (std::size_t i = 0; i < back.size(); ++i) {
      const Ptr<Var>& axis = producer.iter_vars[i]->var;
      values[axis] = cast(axis->dtype, back[i]);
    }
    for (std::size_t d = 0; d < pairing_.read.size(); ++d) {
      const Expr written = substitute(pairing_.written[d], values);
      served.push_back(pairing_.read[d] == cast(pairing_.read[d].dtype(), written));
    }
    for (const Expr& condition : served) {
      if (is_under(here.conditions, condition, analyzer)) continue;
      return unserved;
    }
    // and where one there has none here, it need not run.
    Analyzer inside;
    for (const auto& axis : producer.iter_vars) inside.bind(axis->var, axis->dom);
    for (const Expr& condition : running(block_, forth, here.conditions)) {
      if (!is_under(there.conditions, condition, inside)) pairing_.guards.push_back(condition);
    }
    for (std::size_t i = 0; i < forth.size(); ++i) {
      const Ptr<Var>& axis = block_.iter_vars[i]->var;
      pairing_.axes[axis] = cast(axis->dtype, forth[i]);
    }
    // So is it where that one reads another element.
    for (std::size_t d = 0; d < pairing_.read.size(); ++d) {
      const Expr& written = pairing_.written[d];
      const Expr read = cast(written.dtype(), substitute(pairing_.read[d], pairing_.axes));
      const Expr is_read = read == written;
      if (!is_under(there.conditions, is_read, inside)) pairing_.guards.push_back(is_read);
    }
    return {};
  }

  /// The conditions under which an instance with these axes runs.
  static std::vector<Expr> running(const Block& block, const std::vector<Expr>& axes,
                                   const std::vector<Expr>& conditions) {
    std::vector<Expr> all;
    Substitution values;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const IterVar& axis = *block.iter_vars[i];
      values[axis.var] = cast(axis.var->dtype, axes[i]);
      all.push_back(axes[i] >= axis.dom->min);
      all.push_back(axes[i] < axis.dom->min + axis.dom->extent);
    }
    for (const Expr& condition : conditions) all.push_back(substitute(condition, values));
    return all;
  }

  static bool is_under(const std::vector<Expr>& known, const Expr& condition, Analyzer& analyzer) {
    std::vector<ConstraintScope> scopes;
    for (const Expr& each : known) scopes.push_back(analyzer.constraint_scope(each));
    const bool holds = analyzer.can_prove(condition, ProofStrength::symbolic_bound);
    while (!scopes.empty()) scopes.pop_back();
    return holds;
  }

  /// The consumer must find and do at the producer's place what it found and did.
  ///
  /// Theorem. A block that may run at two places may run throughout: no access that conflicts with
  /// it runs between them, since the order that the one place needs the other forbids. So the
  /// consumer of a reduction whose results it combines with others may start each of them, in its
  /// own buffer: no other statement uses the element from before the first update until after the
  /// last.
  std::optional<Refusal> refuse_changes() const {
    const Place place{schedule_.node(pairing_.producer)};
    if (does_the_same_at(schedule_, pairing_.consumer, place, pairing_.buffer.get(), uses_)) {
      return {};
    }
    const NodeId scope = scope_of(schedule_, here_.node);
    for (const AtResult at : {AtResult::start, AtResult::end}) {
      if (!is_reduction_) break;
      const auto [before, after] =
          with_epilogue_at(at, schedule_, scope, pairing_.consumer, pairing_.producer,
                           pairing_.buffer, pairing_.axes, pairing_.guards);
      auto refusal = refuse_changed_results(schedule_, scope, before, after);
      if (refusal || at == AtResult::end) return refusal;
    }
    const Stmt after = with_block_after(schedule_, scope, pairing_.consumer, pairing_.producer,
                                        pairing_.axes, pairing_.guards);
    return refuse_changed_results(schedule_, scope, after, false);
  }

  const Schedule& schedule_;
  const Block& block_;
  const Place here_;
  const bool is_reduction_;
  ScopeAccesses uses_;
  ProducerConsumerPair pairing_;
};

}  // namespace

Planned<ProducerConsumerPair> pair_with_producer(const Schedule& schedule, BlockRV consumer,
                                                 bool is_reduction) {
  return Pairer(schedule, consumer, is_reduction).find();
}

Expr in_producer(const ProducerConsumerPair& pair, const Expr& expr, const Expr& value) {
  Rewriter rewrite;
  rewrite.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
    if (!load.buffer.same_as(pair.buffer)) return rewrite.children(load);
    return value;
  });
  return clone_with(rewrite(clone_with(expr, pair.axes)), {});
}

void merge_into_producer(Schedule& schedule, const ProducerConsumerPair& pair, Stmt body,
                         Stmt init) {
  const NodeId node = schedule.node(pair.producer);
  const NodeId consumer = schedule.node(pair.consumer);
  BlockRealize realize = schedule.realize(pair.producer);
  const Ptr<Block> old = realize.block;
  Block block = *old;
  block.body = std::move(body);
  block.init = std::move(init);
  AccessRegions regions = access_regions(block);
  block.reads = std::move(regions.reads);
  block.writes = std::move(regions.writes);
  Substitution bindings;
  for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
    bindings[block.iter_vars[i]->var] = realize.iter_values[i];
  }
  for (const Expr& guard : pair.guards) {
    realize.predicate = realize.predicate && substitute(guard, bindings);
  }
  realize.block = make(std::move(block));
  const Schedule::Renewed renewed{{old.get(), realize.block.get()}};
  const BlockRV owner = *block_around(schedule, node);
  schedule.replace(node, make(std::move(realize)), renewed);
  schedule.remove(consumer);
  free_in(schedule, owner, pair.buffer);
}

}  // namespace loopsmith
