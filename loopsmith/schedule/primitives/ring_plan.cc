// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/ring_plan.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/legality/result_preservation.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/region_relaxation.h"

namespace loopsmith {
namespace {

/// A dimension over which a loop moves what is written and read.
struct Slide {
  std::size_t dimension;
  LoopRV loop;
  std::int64_t extent;  ///< From the first element that is written or read to the last.
  Expr is_new;          ///< What no iteration before has computed; null: all is.
};

/// What is accessed of the buffer, and where.
struct Uses {
  const BufferAccess* written = nullptr;
  std::vector<const BufferAccess*> reads;
  NodeId inner = no_node;  ///< The innermost loop around all of them.
};

class RingPlanner {
 public:
  RingPlanner(const Schedule& schedule, BlockRV block, std::optional<LoopRV> storage,
              Ptr<Buffer> buffer)
      : schedule_(schedule),
        block_(block),
        place_(storage ? Argument(*storage) : Argument(block)),
        storage_(storage ? schedule.node(*storage) : scope_of(schedule, schedule.node(block))) {
    ring_.buffer = std::move(buffer);
    ring_.blocks.push_back(block);
  }

  Planned<RollingBufferPlan> find() && {
    const NodeId scope = scope_of(schedule_, schedule_.node(block_));
    const ScopeAccesses accesses = accesses_in_scope(schedule_, scope);
    if (auto refusal = collect(accesses)) return *std::move(refusal);
    const auto slides = find_slides();
    Refusal refusal{&window_slides, {place_, Argument(Ref(ring_.buffer))}};
    if (slides.empty()) return refusal;
    // The ring lies along the outermost loop; inside of it, more may have been computed before.
    const std::size_t most = slides.size();
    for (std::size_t count = most; count > 0; --count) {
      RollingBufferPlan ring = ring_with(std::span(slides).first(count));
      auto judged = refuse_ring(schedule_, {scope}, ring);
      if (!judged) {
        fold_more(scope, std::span(slides).subspan(1), ring);
        return ring;
      }
      if (count == most) refusal = *std::move(judged);
    }
    return refusal;
  }

 private:
  std::optional<Refusal> collect(const ScopeAccesses& accesses) {
    uses_.inner = schedule_.node(block_);
    for (const BufferAccess& use : accesses.all) {
      if (use.buffer != ring_.buffer.get()) continue;
      const Argument buffer{Ref(ring_.buffer)};
      if (!use.is_block) {
        return Refusal{&readers_read_elements, {buffer, name_of_place(schedule_, use.place)}};
      }
      const BlockRV user = schedule_.block_at(use.place.node);
      if (!accesses_elements(schedule_.get(user), *ring_.buffer)) {
        return Refusal{&readers_read_elements, {buffer, Argument(user)}};
      }
      uses_.inner = common_ancestor(schedule_, uses_.inner, use.place.node);
      if (use.is_write && user == block_) {
        uses_.written = &use;
      } else if (user != block_) {
        uses_.reads.push_back(&use);
        if (std::ranges::find(ring_.blocks, user) == ring_.blocks.end()) {
          ring_.blocks.push_back(user);
        }
      }
    }
    if (uses_.reads.empty()) return Refusal{&block_has_consumers, {Argument(block_)}};
    while (schedule_.as<SeqStmt>(uses_.inner)) uses_.inner = schedule_.at(uses_.inner).parent;
    if (uses_.inner == storage_ || !schedule_.as<For>(uses_.inner) ||
        !is_inside(schedule_, uses_.inner, storage_)) {
      return Refusal{&storage_is_outside, {place_, Argument(block_)}};
    }
    return {};
  }

  /// The slides along each dimension by loops inside that of the storage, the outermost first.
  std::vector<Slide> find_slides() const {
    std::vector<Slide> found;
    const IndexForms forms(ranges_around(schedule_, uses_.inner));
    const LoopRV inner = schedule_.loop_at(uses_.inner);
    const ElementRegion written = window_of(*uses_.written, inner);
    for (std::size_t d = 0; d < written.size(); ++d) {
      if (auto slide = slide_along(forms, written, d)) found.push_back(*std::move(slide));
    }
    std::ranges::stable_sort(found, [&](const Slide& a, const Slide& b) {
      return a.loop != b.loop &&
             is_inside(schedule_, schedule_.node(b.loop), schedule_.node(a.loop));
    });
    return found;
  }

  /// The window that an iteration accesses, as it is where no border clamps it: within the border,
  /// it is a part of that.
  ElementRegion window_of(const BufferAccess& use, LoopRV inner) const {
    ElementRegion window = accessed_region(schedule_, use, inner, MemoryScope::local);
    for (auto& side : window) {
      for (Expr* end : {&side.min, &side.max}) {
        if (end->defined()) *end = unclamped(substitute(*end, single_values()));
      }
    }
    return window;
  }

  /// The values of the loops around that have one.
  Substitution single_values() const {
    Substitution values;
    for (NodeId node = uses_.inner; node != no_node; node = schedule_.at(node).parent) {
      const auto* loop = schedule_.as<For>(node);
      if (loop && is_const_int(loop->extent, 1)) values[loop->loop_var] = loop->min;
    }
    return values;
  }

  /// Of `max(y - 1, 0)` what moves with the loops inside of the storage, y - 1.
  Expr unclamped(const Expr& end) const {
    const auto moves = [&](const Expr& side) {
      for (NodeId node = uses_.inner; node != storage_; node = schedule_.at(node).parent) {
        const auto* loop = schedule_.as<For>(node);
        if (loop && uses_variable(side, loop->loop_var)) return true;
      }
      return false;
    };
    bool is_clamped = false;
    Rewriter rewrite;
    const auto moving_side = [&](const auto& node) -> Expr {
      const auto kept = rewrite.children(node);
      if (moves(kept->a) == moves(kept->b)) return kept;
      is_clamped = true;
      return moves(kept->a) ? kept->a : kept->b;
    };
    rewrite.on<Max>([&](const Max& node) { return moving_side(node); });
    rewrite.on<Min>([&](const Min& node) { return moving_side(node); });
    const Expr moving = rewrite(end);
    return is_clamped ? Analyzer().simplify(moving) : end;
  }

  std::optional<Slide> slide_along(const IndexForms& forms, const ElementRegion& written,
                                   std::size_t d) const {
    const auto width = constant_difference(forms, written[d].max, written[d].min);
    const auto start = width ? forms.read(written[d].min) : std::nullopt;
    if (!start) return {};
    const auto mover = mover_of(*start);
    if (!mover) return {};
    const auto& [loop, step] = *mover;
    std::int64_t first = 0, last = *width;
    for (const BufferAccess* read : uses_.reads) {
      const ElementRegion used = window_of(*read, schedule_.loop_at(uses_.inner));
      const auto before = constant_difference(forms, used[d].min, written[d].min);
      const auto after = constant_difference(forms, used[d].max, written[d].min);
      if (!before || !after) return {};
      first = std::min(first, *before);
      last = std::max(last, *after);
    }
    Slide slide{d, loop, last - first + 1, {}};
    if (step <= *width) slide.is_new = is_new(loop, written[d].min, d, *width + 1 - step);
    return slide;
  }

  /// The loop inside that of the storage that moves a window, the innermost, and by how much.
  std::optional<std::pair<LoopRV, std::int64_t>> mover_of(const IndexForm& start) const {
    for (NodeId node = uses_.inner; node != storage_; node = schedule_.at(node).parent) {
      const auto* loop = schedule_.as<For>(node);
      if (!loop || loop->kind != ForKind::serial || !is_const_int(loop->step, 1)) continue;
      const auto term = std::ranges::find_if(start.terms, [&](const IndexTerm& each) {
        return each.kind == IndexTerm::Kind::variable && each.atom.same_as(loop->loop_var);
      });
      if (term == start.terms.end()) continue;
      if (term->coefficient < 1) return {};
      return std::pair(schedule_.loop_at(node), term->coefficient);
    }
    return {};
  }

  /// True of the instances in the first iteration of a loop, and of those whose element is at
  /// least `old` elements after `first`; null where that cannot be written.
  Expr is_new(LoopRV handle, const Expr& first, std::size_t d, std::int64_t old) const {
    const For& loop = schedule_.get(handle);
    const BlockRealize& realize = schedule_.realize(block_);
    IndexForms inside(ranges_around(schedule_, schedule_.node(block_)));
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      inside.bind(realize.block->iter_vars[i]->var, realize.iter_values[i]);
    }
    const Range& part = *uses_.written->region->region[d];
    if (!is_const_int(part.extent, 1)) return {};
    const DataType type = part.min.dtype();
    const Expr is_first = loop.loop_var < loop.min + int_imm(loop.loop_var->dtype, 1);
    if (const auto place = inside.read(part.min - first)) {
      return is_first || int_imm(type, old) <= inside.write(*place, type);
    }
    const Expr element = inside(part.min);
    if (unclamped(element).same_as(element)) return {};
    return is_first || first + int_imm(type, old) <= element;
  }

  RollingBufferPlan ring_with(std::span<const Slide> slides) const {
    RollingBufferPlan ring = ring_;
    ring.sides.push_back({slides[0].dimension, slides[0].extent});
    ring.is_new = true;
    for (const Slide& slide : slides) {
      ring.loops.push_back(slide.loop);
      if (slide.is_new.defined()) ring.is_new = ring.is_new && slide.is_new;
    }
    return ring;
  }

  /// Folds the dimensions of further slides, where what they leave behind is not read again.
  void fold_more(NodeId scope, std::span<const Slide> slides, RollingBufferPlan& ring) const {
    for (const Slide& slide : slides) {
      ring.sides.push_back({slide.dimension, slide.extent});
      if (refuse_ring(schedule_, {scope}, ring)) ring.sides.pop_back();
    }
  }

  const Schedule& schedule_;
  const BlockRV block_;
  const Argument place_;  ///< What is said to be around: a loop, or of which block the scope.
  const NodeId storage_;  ///< That loop, or the scope.
  RollingBufferPlan ring_;
  Uses uses_;
};

}  // namespace

std::optional<Refusal> refuse_ring(const Schedule& schedule, const Preservation& asked,
                                   const RollingBufferPlan& ring) {
  Schedule trimmed = schedule.snapshot();
  trimmed.report() = {};  // That of the step before.
  if (!is_const_int(ring.is_new, 1)) {
    leave_out_old(trimmed, ring);
    if (auto refusal = refuse_changed_results(schedule, trimmed, asked)) return refusal;
  }
  Schedule folded = trimmed.snapshot();
  fold_into_ring(folded, ring);
  return refuse_changed_results(trimmed, folded, asked);
}

Planned<RollingBufferPlan> plan_ring(const Schedule& schedule, BlockRV block,
                                     std::optional<LoopRV> storage, const Ptr<Buffer>& buffer) {
  return RingPlanner(schedule, block, storage, buffer).find();
}

}  // namespace loopsmith
