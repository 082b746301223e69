// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/accumulators.h"

#include <algorithm>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/atomics.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

/// Enough parts for the threads of large machines to share them evenly.
constexpr std::int64_t max_parts = 64;
/// A part is to be more work than its combination.
constexpr std::int64_t min_in_part = 8;
/// Of all partial results of a loop together.
constexpr std::int64_t max_elements = std::int64_t{1} << 22;
/// Copies of this many elements together cost little, however few iterations there are.
constexpr std::int64_t max_small_copies = std::int64_t{1} << 16;

/// Looks for all that a loop does to some buffers.
class AccumulatorSearch {
 public:
  AccumulatorSearch(const For& loop, std::span<const Ptr<Buffer>> buffers)
      : loop_(loop), buffers_(buffers) {
    enter_loop(loop);
  }

  /// `nest` is null where nothing else is known to access the elements.
  std::optional<std::vector<Accumulator>> run(const Stmt& nest) && {
    visit(loop_.body);
    const bool is_all = std::ranges::all_of(buffers_, [&](const Ptr<Buffer>& buffer) {
      return std::ranges::any_of(found_, [&](const auto& each) { return is_in(each, buffer); });
    });
    const bool is_known = is_plain_ && is_all && (!nest || are_apart() || are_proved_apart(nest));
    return is_known ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  static bool is_in(const Accumulator& each, const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(each.buffers, [&](const auto& one) { return one.same_as(buffer); });
  }

  bool is_accumulator(const Ptr<Buffer>& buffer) const {
    return std::ranges::any_of(buffers_, [&](const auto& each) { return each.same_as(buffer); });
  }

  /// True when elements that are combined alike are used in no other way.
  bool are_apart() {
    for (std::size_t i = 0; i < found_.size(); ++i) {
      const auto is_apart = [&](const Accumulator& other) { return are_apart(found_[i], other); };
      const std::span<const Accumulator> before(found_.data(), i);
      if (!std::ranges::all_of(before, is_apart) || !std::ranges::all_of(others_, is_apart)) {
        return false;
      }
    }
    return true;
  }

  bool are_apart(const Accumulator& a, const Accumulator& b) {
    const auto is_in_a = [&](const Ptr<Buffer>& buffer) { return is_in(a, buffer); };
    if (std::ranges::none_of(b.buffers, is_in_a)) return true;
    for (std::size_t d = 0; d < a.box.size(); ++d) {
      if (analyzer_.can_prove(a.box[d].max < b.box[d].min) ||
          analyzer_.can_prove(b.box[d].max < a.box[d].min)) {
        return true;
      }
    }
    return false;
  }

  /// The same by all that is known of indices: boxes may overlap where no elements do.
  bool are_proved_apart(const Stmt& nest) const {
    Dependences dependences(nest);
    return std::ranges::all_of(buffers_, [&](const Ptr<Buffer>& buffer) {
      return dependences.accumulator_is_private(loop_.loop_var, buffer).verdict == Verdict::proved;
    });
  }

  void visit(const Stmt& stmt) {
    if (is_plain_) deep_call([&] { enter(stmt); });
  }

  void enter(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      for (const Expr& bound : {loop->min, loop->extent, loop->step}) read(bound);
      enter_loop(*loop);
      const std::int64_t* extent = as_int(loop->extent);
      const std::int64_t outside = updates_;
      if (!extent || __builtin_mul_overflow(updates_, *extent, &updates_)) updates_ = outside;
      visit(loop->body);
      updates_ = outside;
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      enter_block(*realize);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      enter_store(*store);
    } else if (const auto* combines = stmt.as<AttrStmt>();
               combines && combines->attr_key == combines_key) {
      enter_tuples(combines->body, combines->node);
    } else if (const auto* let = stmt.as<LetStmt>()) {
      read(let->value);
      values_[let->var] = substitute(let->value, values_);
      visit(let->body);
    } else {
      const bool is_certain = stmt.is<SeqStmt>() || stmt.is<Allocate>() || stmt.is<DeclBuffer>();
      const int outside = conditions_;
      if (!is_certain) ++conditions_;
      for_each_child(*stmt.get(), [&](const Ref& child, Role) {
        if (const Stmt part = Stmt::from(child)) visit(part);
        if (const Expr part = Expr::from(child); part.defined()) read(part);
      });
      conditions_ = outside;
    }
  }

  void enter_loop(const For& loop) {
    const Expr last = loop.min + (loop.extent - int_imm(loop.extent.dtype(), 1)) * loop.step;
    const auto first = arith::relax(substitute(loop.min, values_), ranges_);
    const auto end = arith::relax(substitute(last, values_), ranges_);
    const std::int64_t* step = as_int(loop.step);
    auto& range = ranges_[loop.loop_var];
    if (first && end && step) {
      range =
          *step > 0 ? arith::Interval{first->min, end->max} : arith::Interval{end->min, first->max};
    }
    const std::int64_t* extent = as_int(loop.extent);
    runs_ = runs_ && extent && *extent > 0 && as_int(loop.min) && step && *step == 1;
  }

  void enter_block(const BlockRealize& realize) {
    const Block& block = *realize.block;
    for (const Expr& value : realize.iter_values) read(value);
    read(realize.predicate);
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      values_[block.iter_vars[i]->var] = substitute(realize.iter_values[i], values_);
    }
    for (const auto& match : block.match_buffers) {
      if (is_accumulator(match->source->buffer)) is_plain_ = false;
    }
    const int outside = conditions_;
    if (!is_const_int(realize.predicate, 1)) ++conditions_;
    if (block.init) {
      const bool was_init = std::exchange(is_init_, true);
      visit(block.init);
      is_init_ = was_init;
    }
    const auto* store = block.body.as<BufferStore>();
    const bool is_plain = store && accumulation_of(*store);
    if (!is_plain && std::ranges::any_of(block.iter_vars, reduces)) {
      enter_tuples(block.body, block.annotations.get(reducer_annotation));
    } else {
      visit(block.body);
    }
    conditions_ = outside;
  }

  static bool reduces(const Ptr<IterVar>& axis) { return axis->iter_type == IterType::comm_reduce; }

  /// What a block does that reduces in a way which its stores may not say one by one.
  void enter_tuples(const Stmt& body, const Ref& declared) {
    const auto reduction = updates_of(body, declared);
    const auto is_wanted = [&](const Ptr<Buffer>& buffer) { return is_accumulator(buffer); };
    if (!reduction || !std::ranges::all_of(reduction->buffers, is_wanted)) return visit(body);
    for (const Expr& index : reduction->indices) read(index);
    for (const Expr& source : reduction->sources) read(source);
    Accumulator& found =
        found_.emplace_back(Accumulator{.buffers = reduction->buffers, .reduction = reduction});
    found.updates = updates_;
    found.is_exact = conditions_ == 0 && runs_;
    add_box(found, reduction->indices, true);
  }

  void enter_store(const BufferStore& store) {
    for (const Expr& index : store.indices) read(index);
    if (store.predicate.defined()) read(store.predicate);
    if (!is_accumulator(store.buffer)) {
      is_plain_ = is_plain_ && !is_other_name(store.buffer);
      return read(store.value);
    }
    if (is_init_) return read(store.value);
    const auto accumulation = accumulation_of(store);
    if (!accumulation) {
      add_other(store.buffer, store.indices);
      return read(store.value);
    }
    read(accumulation->operand);
    const auto known = std::ranges::find_if(found_, [&](const Accumulator& each) {
      return is_in(each, store.buffer) && !each.reduction &&
             each.combiner == accumulation->combiner;
    });
    const bool is_first = known == found_.end();
    Accumulator& found =
        is_first ? found_.emplace_back(Accumulator{{store.buffer}, accumulation->combiner})
                 : *known;
    found.updates = std::max(found.updates, updates_);
    found.is_exact = is_first && conditions_ == 0 && runs_;
    add_box(found, store.indices, is_first);
  }

  /// A use that is no accumulation.
  void add_other(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) {
    Accumulator& other = others_.emplace_back(Accumulator{{buffer}});
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Expr index = substitute(indices[d], values_);
      if (!index.dtype().is_scalar()) is_plain_ = false;
      const auto box = reads_memory(index) ? std::nullopt : arith::relax(index, ranges_);
      other.box.push_back(inside(buffer->shape[d], box));
    }
  }

  /// The part of a dimension of `extent` that `box` says; all of it where that is not known.
  arith::Interval inside(const Expr& extent, const std::optional<arith::Interval>& box) {
    const DataType type = extent.dtype();
    const arith::Interval whole{int_imm(type, 0), extent - int_imm(type, 1)};
    if (!box) return whole;
    return {analyzer_.simplify(max(cast(type, box->min), whole.min)),
            analyzer_.simplify(min(cast(type, box->max), whole.max))};
  }

  void add_box(Accumulator& found, const std::vector<Expr>& indices, bool is_first) {
    std::unordered_set<Ref, RefHash, RefEqual> moving;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Expr index = substitute(indices[d], values_);
      if (!index.dtype().is_scalar()) is_plain_ = false;
      std::optional<arith::Interval> box;
      bool is_fixed = false;
      if (reads_memory(index)) {
        found.is_indirect = true;
        found.is_exact = false;
      } else {
        box = arith::relax(index, ranges_);
        found.moves = found.moves || uses_variable(index, loop_.loop_var);
        is_fixed = std::ranges::none_of(free_variables(index),
                                        [&](const auto& each) { return ranges_.contains(each); });
        const bool is_row = index.is<Var>() && moving.insert(index).second;
        found.is_exact = found.is_exact && !found.moves && (is_fixed || is_row);
      }
      // What is updated in one place is in bounds, or is not updated, and then left alone.
      const bool is_safe = is_fixed && (!found.reduction || conditions_ == 0);
      const DataType type = found.buffers[0]->shape[d].dtype();
      const arith::Interval side = is_safe ? arith::Interval{cast(type, index), cast(type, index)}
                                           : inside(found.buffers[0]->shape[d], box);
      if (is_first) {
        found.box.push_back(side);
      } else {
        arith::Interval& known = found.box[d];
        known = {analyzer_.simplify(min(known.min, side.min)),
                 analyzer_.simplify(max(known.max, side.max))};
      }
    }
  }

  /// True for another buffer on the memory of one that is looked for.
  bool is_other_name(const Ptr<Buffer>& buffer) const {
    return std::ranges::any_of(buffers_, [&](const Ptr<Buffer>& each) {
      return each->data.same_as(buffer->data) && !each.same_as(buffer);
    });
  }

  void read(const Expr& expr) {
    pre_order_visit(expr, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>(); load && is_accumulator(load->buffer)) {
        add_other(load->buffer, load->indices);
        for (const Expr& index : load->indices) read(index);
        return false;
      }
      if (const auto buffer = Ptr<Buffer>::from(ref)) {
        is_plain_ = is_plain_ && !is_accumulator(buffer) && !is_other_name(buffer);
        return false;
      }
      const bool is_pointer = ref.is<Var>() && std::ranges::any_of(buffers_, [&](const auto& each) {
                                return each->data.same_as(ref);
                              });
      is_plain_ = is_plain_ && !is_pointer;
      return is_plain_;
    });
  }

  const For& loop_;
  const std::span<const Ptr<Buffer>> buffers_;
  Analyzer analyzer_;
  std::vector<Accumulator> found_;
  std::vector<Accumulator> others_;  ///< Elements that are used in another way.
  Substitution values_;              ///< Of axes and names, in terms of loops.
  arith::Intervals ranges_;
  std::int64_t updates_ = 1;  ///< Of a store here, by an iteration of the loop.
  int conditions_ = 0;        ///< How many of them are around.
  bool runs_ = true;          ///< All loops so far have iterations.
  bool is_init_ = false;
  bool is_plain_ = true;
};

/// How many elements the box has, symbolic sides left out; nullopt where they are too many to
/// count.
std::optional<std::int64_t> element_count(const Accumulator& accumulator) {
  Analyzer analyzer;
  auto size = static_cast<std::int64_t>(accumulator.buffers.size());
  for (const auto& [min, max] : accumulator.box) {
    const Expr width = analyzer.simplify(max - min + int_imm(max.dtype(), 1));
    const std::int64_t* number = as_int(width);
    if (number && __builtin_mul_overflow(size, std::max<std::int64_t>(*number, 1), &size)) {
      return {};
    }
  }
  return size;
}

}  // namespace

std::optional<std::vector<Accumulator>> accumulators_of(const For& loop,
                                                        std::span<const Ptr<Buffer>> buffers) {
  return AccumulatorSearch(loop, buffers).run(nullptr);
}

std::optional<std::vector<Accumulator>> accumulators_of(const For& loop,
                                                        std::span<const Ptr<Buffer>> buffers,
                                                        const Stmt& nest) {
  return AccumulatorSearch(loop, buffers).run(nest);
}

std::int64_t part_count(std::int64_t extent, std::int64_t work) {
  const std::int64_t fewest =
      std::clamp<std::int64_t>((min_in_part + work - 1) / work, 1, min_in_part);
  return std::clamp<std::int64_t>(extent / fewest, 1, max_parts);
}

std::int64_t partial_result_count(const For& loop, std::span<const Accumulator> accumulators) {
  std::int64_t elements = 0, work = min_in_part;
  for (const Accumulator& each : accumulators) {
    const auto size = element_count(each);
    if (!size || __builtin_add_overflow(elements, *size, &elements)) return 0;
    work = std::min(work, std::max<std::int64_t>(each.updates / *size, 1));
  }
  const std::int64_t* extent = as_int(loop.extent);
  std::int64_t count = extent ? part_count(*extent, work) : max_parts;
  if (count == 1) return 1;
  count = std::min(count, max_elements / std::max<std::int64_t>(elements, 1));
  if (count > partial_result_group) count -= count % partial_result_group;
  return count > 1 ? count : 0;
}

bool copies_pay(const For& loop, std::span<const Accumulator> accumulators) {
  const std::int64_t count = partial_result_count(loop, accumulators);
  if (count < 2) return false;
  const std::int64_t* extent = as_int(loop.extent);
  return std::ranges::all_of(accumulators, [&](const Accumulator& each) {
    const std::int64_t size = element_count(each).value_or(max_elements);
    if (!extent) return size * count <= max_small_copies;
    std::int64_t updates = 0;
    if (__builtin_mul_overflow(*extent, each.updates, &updates)) return true;
    return updates / count >= size;
  });
}

bool prefers_atomic_updates(const For& loop, const std::vector<Accumulator>* accumulators) {
  if (loop.kind != ForKind::parallel || !accumulators) return true;
  if (loop.annotations.contains(atomic_updates_key)) return true;
  const bool is_elsewhere = std::ranges::any_of(
      *accumulators, [](const Accumulator& each) { return each.is_indirect || each.moves; });
  return is_elsewhere && !copies_pay(loop, *accumulators);
}

}  // namespace loopsmith
