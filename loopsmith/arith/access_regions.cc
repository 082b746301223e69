// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/access_regions.h"

#include <algorithm>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/reduction_start.h"
#include "loopsmith/arith/relax.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

using arith::Interval;
using Box = std::vector<Interval>;

Expr one_like(const Expr& expr) {
  return int_imm(expr.dtype(), 1);
}

/// The values of min, min + 1, ..., min + extent - 1.
Interval interval_of(const Range& range) {
  if (is_const_int(range.extent, 1)) return {range.min, range.min};
  return {range.min, range.min + range.extent - one_like(range.extent)};
}

/// All elements of a buffer.
Box whole(const Buffer& buffer) {
  Box box;
  for (const Expr& extent : buffer.shape) {
    box.push_back({zero_of(extent.dtype()), extent - one_like(extent)});
  }
  return box;
}

/// The regions of some buffers, by first appearance.
class Regions {
 public:
  explicit Regions(Analyzer& analyzer) : analyzer_(analyzer) {}

  void add(const Ptr<Buffer>& buffer, Box box) {
    for (auto& [known, region] : regions_) {
      if (!known.same_as(buffer)) continue;
      for (std::size_t i = 0; i < box.size(); ++i) region[i] = join(region[i], box[i]);
      return;
    }
    regions_.emplace_back(buffer, std::move(box));
  }

  /// The regions of all buffers but those left out, as they are before `changing` is written.
  std::vector<Ptr<BufferRegion>> except(const std::vector<Ptr<Buffer>>& left_out,
                                        const std::vector<Ptr<Buffer>>& changing) const {
    std::vector<Ptr<BufferRegion>> results;
    for (const auto& [buffer, box] : regions_) {
      const auto is_this = [&](const auto& other) { return other.same_as(buffer); };
      if (std::ranges::any_of(left_out, is_this)) continue;
      results.push_back(make(BufferRegion{
          .buffer = buffer,
          .region = ranges_of(*buffer, without_changing_ends(*buffer, box, changing))}));
    }
    return results;
  }

  std::vector<Ptr<Buffer>> buffers() const {
    std::vector<Ptr<Buffer>> all;
    for (const auto& [buffer, box] : regions_) all.push_back(buffer);
    return all;
  }

 private:
  Expr smaller(const Expr& a, const Expr& b) const {
    if (a.same_as(b) || analyzer_.can_prove(a <= b)) return a;
    return analyzer_.can_prove(b <= a) ? b : min(a, b);
  }
  Expr larger(const Expr& a, const Expr& b) const {
    if (a.same_as(b) || analyzer_.can_prove(a >= b)) return a;
    return analyzer_.can_prove(b >= a) ? b : max(a, b);
  }
  Interval join(const Interval& a, const Interval& b) const {
    return {smaller(a.min, b.min), larger(a.max, b.max)};
  }

  /// The box, but all of each dimension whose ends are read from memory that changes.
  static Box without_changing_ends(const Buffer& buffer, Box box,
                                   const std::vector<Ptr<Buffer>>& changing) {
    const auto changes = [&](const Expr& end) {
      bool found = false;
      pre_order_visit(end, [&](const Ref& ref) {
        const auto* load = ref.as<BufferLoad>();
        found = found || (load && std::ranges::any_of(changing, [&](const auto& each) {
                            return each.same_as(load->buffer);
                          }));
        return !found && !ref.is<Buffer>();
      });
      return found;
    };
    for (std::size_t i = 0; i < box.size(); ++i) {
      if (changes(box[i].min) || changes(box[i].max)) box[i] = whole(buffer)[i];
    }
    return box;
  }

  /// A point as it was written; a longer range simplified, and no larger than the dimension.
  std::vector<Ptr<Range>> ranges_of(const Buffer& buffer, const Box& box) const {
    std::vector<Ptr<Range>> ranges;
    for (std::size_t i = 0; i < box.size(); ++i) {
      const auto& [low, high] = box[i];
      if (low.same_as(high) || analyzer_.can_prove_equal(low, high)) {
        ranges.push_back(range(low, one_like(low)));
        continue;
      }
      const Expr last = cast(high.dtype(), buffer.shape[i]) - one_like(high);
      const Expr first = zero_of(low.dtype());
      const Expr from =
          analyzer_.can_prove(low >= first) ? low : analyzer_.simplify(max(low, first));
      const Expr to = analyzer_.can_prove(high <= last) ? high : min(high, last);
      ranges.push_back(range(from, analyzer_.simplify(to - from + one_like(to))));
    }
    return ranges;
  }

  Analyzer& analyzer_;
  std::vector<std::pair<Ptr<Buffer>, Box>> regions_;
};

/// Walks the body of a block, with what its inner loops and variables may be.
class Detector {
 public:
  Detector(const Block& block, const BufferOfPointer& buffers) : buffers_(buffers) {
    for (const auto& axis : block.iter_vars) bind_axis(*axis);
    for (const auto& match : block.match_buffers) views_[match->buffer] = match->source;
    own_ = block.alloc_buffers;
    if (block.init) visit(block.init);
    visit(block.body);
    if (block.init) unread_ = reduced_in(block);
  }

  AccessRegions result() && {
    unread_.insert(unread_.end(), own_.begin(), own_.end());
    std::vector<Ptr<Buffer>> changing = writes_.buffers();
    changing.insert(changing.end(), own_.begin(), own_.end());
    return {.reads = reads_.except(unread_, changing),
            .writes = writes_.except(own_, changing),
            .opaque = std::move(opaque_)};
  }

 private:
  void visit(const Stmt& stmt) {
    deep_call([&] { enter(stmt); });
  }

  /// What the block writes, and reads nothing of but what its init started and it updates: neither
  /// in its init.
  std::vector<Ptr<Buffer>> reduced_in(const Block& block) const {
    std::vector<const BufferStore*> stores;
    std::vector<const BufferLoad*> loads;
    pre_order_visit(block.body, [&](const Ref& ref) {
      if (const auto* store = ref.as<BufferStore>()) stores.push_back(store);
      if (const auto* load = ref.as<BufferLoad>()) loads.push_back(load);
      return !ref.is<Buffer>();
    });
    std::vector<const Buffer*> inputs;  // Of the init.
    pre_order_visit(block.init, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) inputs.push_back(load->buffer.get());
      return !ref.is<Buffer>();
    });
    std::vector<Ptr<Buffer>> reduced = writes_.buffers();
    std::erase_if(reduced, [&](const Ptr<Buffer>& buffer) {
      if (std::ranges::find(inputs, buffer.get()) != inputs.end()) return true;
      if (!arith::init_starts(block, *buffer)) return true;
      const auto is_stored = [&](const BufferLoad* load) {
        return std::ranges::any_of(stores, [&](const BufferStore* store) {
          return store->buffer.same_as(buffer) && are_same_indices(store->indices, load->indices);
        });
      };
      const bool has_stores = std::ranges::any_of(
          stores, [&](const BufferStore* store) { return store->buffer.same_as(buffer); });
      return has_stores && std::ranges::any_of(loads, [&](const BufferLoad* load) {
               return load->buffer.same_as(buffer) && !is_stored(load);
             });
    });
    return reduced;
  }

  void enter(const Stmt& stmt) {
    if (const auto* node = stmt.as<For>()) {
      for (const Expr& bound : {node->min, node->extent, node->step}) visit(bound);
      ranges_[node->loop_var] = values_of(*node);
      visit(node->body);
    } else if (const auto* node = stmt.as<LetStmt>()) {
      visit(node->value);
      bind(node->var, node->value);
      visit(node->body);
    } else if (const auto* node = stmt.as<IfThenElse>()) {
      visit(node->condition);
      under(node->condition, [&] { visit(node->then_case); });
      if (node->else_case) visit(node->else_case);
    } else if (const auto* node = stmt.as<BufferStore>()) {
      visit(node->value);
      for (const Expr& index : node->indices) visit(index);
      if (node->predicate.defined()) visit(node->predicate);
      add(writes_, node->buffer, node->indices);
    } else if (const auto* node = stmt.as<BlockRealize>()) {
      visit_child(*node);
    } else {
      if (const auto* declared = stmt.as<DeclBuffer>()) own_.push_back(declared->buffer);
      for_each_child(*stmt.get(), [&](const Ref& child, Role) {
        if (const Stmt part = Stmt::from(child)) visit(part);
        if (const Expr part = Expr::from(child); part.defined()) visit(part);
      });
    }
  }

  void visit(const Expr& expr) {
    pre_order_visit(expr, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) {
        add(reads_, load->buffer, load->indices);
      } else if (const auto* let = ref.as<Let>()) {
        bind(let->var, let->value);
      } else if (const auto* call = ref.as<Call>()) {
        return !visit_call(*call);
      } else if (const auto buffer = buffers_.find(ref); buffer != buffers_.end()) {
        opaque_.push_back(buffer->second);
      }
      return !ref.is<Buffer>();
    });
  }

  /// True when the arguments have been visited here.
  bool visit_call(const Call& call) {
    // One that stands in many places is not worth a visit for each.
    if (call.op == op("if_then_else") && call.is_unique()) {
      visit(call.args[0]);
      under(call.args[0], [&] { visit(call.args[1]); });
      visit(call.args[2]);
      return true;
    }
    return call.op == op("tvm_access_ptr") && add_pointer(call);
  }

  /// What a loop variable runs through.
  std::optional<Interval> values_of(const For& loop) const {
    const Expr last = loop.min + (loop.extent - one_like(loop.extent)) * loop.step;
    const auto first = relaxed(loop.min);
    const auto end = relaxed(last);
    const std::int64_t* step = as_int(loop.step);
    if (!first || !end || !step) return {};
    return *step > 0 ? Interval{first->min, end->max} : Interval{end->min, first->max};
  }

  /// An instance has a value of each spatial axis, so that none of their domains is empty. (An init
  /// runs where there is nothing to reduce.)
  void bind_axis(const IterVar& axis) {
    analyzer_.bind(axis.var, axis.dom);
    const auto size = Ptr<Var>::from(axis.dom->extent);
    if (size && axis.iter_type == IterType::data_par) analyzer_.update(size, {.min_value = 1});
  }

  void bind(const Ptr<Var>& variable, const Expr& value) {
    if (variable->dtype.is_integer()) {
      ranges_[variable] = relaxed(value);
    } else {
      numbers_[variable] = substitute(value, numbers_);
    }
  }

  std::optional<Interval> relaxed(const Expr& expr) const {
    return arith::relax(numbers_.empty() ? expr : substitute(expr, numbers_), ranges_);
  }

  /// Calls `visit_inside` while variables that `condition` compares run through less.
  template <class Fn>
  void under(const Expr& condition, Fn visit_inside) {
    const arith::Intervals outside = ranges_;
    narrow(condition);
    visit_inside();
    for (const auto& [variable, values] : outside) ranges_[variable] = values;
  }

  void narrow(const Expr& condition) {
    if (const auto* both = condition.as<And>()) {
      narrow(both->a);
      narrow(both->b);
    } else if (const auto* call = condition.as<Call>(); call && call->op == op("likely")) {
      narrow(call->args[0]);
    } else if (const auto* node = condition.as<LT>(); node && is_index(node->a)) {
      at_most(node->a, node->b - one_like(node->b));
      at_least(node->b, node->a + one_like(node->a));
    } else if (const auto* node = condition.as<LE>(); node && is_index(node->a)) {
      at_most(node->a, node->b);
      at_least(node->b, node->a);
    } else if (const auto* node = condition.as<GT>(); node && is_index(node->a)) {
      at_least(node->a, node->b + one_like(node->b));
      at_most(node->b, node->a - one_like(node->a));
    } else if (const auto* node = condition.as<GE>(); node && is_index(node->a)) {
      at_least(node->a, node->b);
      at_most(node->b, node->a);
    } else if (const auto* node = condition.as<EQ>(); node && is_index(node->a)) {
      at_least(node->a, node->b);
      at_most(node->a, node->b);
    }
  }
  static bool is_index(const Expr& expr) {
    return expr.dtype().is_index() && expr.dtype().is_scalar();
  }
  void at_most(const Expr& variable, const Expr& limit) {
    const auto found = ranges_.find(variable);
    const auto limits = relaxed(limit);
    if (found == ranges_.end() || !found->second || !limits) return;
    found->second->max = analyzer_.simplify(min(found->second->max, limits->max));
  }
  void at_least(const Expr& variable, const Expr& limit) {
    const auto found = ranges_.find(variable);
    const auto limits = relaxed(limit);
    if (found == ranges_.end() || !found->second || !limits) return;
    found->second->min = analyzer_.simplify(max(found->second->min, limits->min));
  }

  /// A child block: its declared regions, its axes replaced by what they are bound to.
  void visit_child(const BlockRealize& realize) {
    for (const Expr& value : realize.iter_values) visit(value);
    visit(realize.predicate);
    Substitution values;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      values[realize.block->iter_vars[i]->var] = realize.iter_values[i];
    }
    const auto& allocated = realize.block->alloc_buffers;
    own_.insert(own_.end(), allocated.begin(), allocated.end());
    const auto add = [&](Regions& regions, const Ptr<BufferRegion>& region) {
      Box box = whole(*region->buffer);
      for (std::size_t i = 0; i < box.size(); ++i) {
        const Interval bounds = interval_of(*region->region[i]);
        const auto low = relaxed(substitute(bounds.min, values));
        const auto high = relaxed(substitute(bounds.max, values));
        if (low && high) box[i] = {low->min, high->max};
      }
      add_box(regions, region->buffer, std::move(box));
    };
    under(realize.predicate, [&] {
      for (const auto& region : realize.block->reads) add(reads_, region);
      for (const auto& region : realize.block->writes) add(writes_, region);
    });
  }

  /// `tvm_access_ptr(type, data, offset, extent, mask)`: the whole buffer, as the mask says.
  bool add_pointer(const Call& call) {
    const auto buffer = buffers_.find(call.args[1]);
    const std::int64_t* mask = as_int(call.args[4]);
    if (buffer == buffers_.end() || !mask) return false;
    for (const Expr& argument : {call.args[2], call.args[3]}) visit(argument);
    if (*mask & 1) add_box(reads_, buffer->second, whole(*buffer->second));
    if (*mask & 2) add_box(writes_, buffer->second, whole(*buffer->second));
    return true;
  }

  void add(Regions& regions, const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) {
    Box box = whole(*buffer);
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (const auto values = values_of(indices[i])) box[i] = *values;
    }
    add_box(regions, buffer, std::move(box));
  }

  std::optional<Interval> values_of(const Expr& index) const {
    if (index.dtype().is_scalar()) return relaxed(index);
    if (const auto* same = index.as<Broadcast>()) return relaxed(same->value);
    const auto* ramp = index.as<Ramp>();
    if (!ramp || !as_int(ramp->stride) || *as_int(ramp->stride) < 0) return {};
    if (ramp->dtype.is_scalable()) return {};
    const Expr last = ramp->base + ramp->stride * int_imm(ramp->stride.dtype(), ramp->lanes - 1);
    const auto low = relaxed(ramp->base);
    const auto high = relaxed(last);
    return low && high ? std::optional(Interval{low->min, high->max}) : std::nullopt;
  }

  /// The region; that of its source for a view.
  void add_box(Regions& regions, const Ptr<Buffer>& buffer, Box box) {
    const auto view = views_.find(buffer);
    if (view == views_.end()) return regions.add(buffer, std::move(box));
    Box source;
    for (const auto& range : view->second->region) source.push_back(interval_of(*range));
    regions.add(view->second->buffer, std::move(source));
  }

  const BufferOfPointer& buffers_;
  Analyzer analyzer_;
  Regions reads_{analyzer_};
  Regions writes_{analyzer_};
  std::vector<Ptr<Buffer>> opaque_;
  std::vector<Ptr<Buffer>> own_;     ///< Defined inside: no other statement sees them.
  std::vector<Ptr<Buffer>> unread_;  ///< Those that a reduction writes.
  std::unordered_map<Ref, Ptr<BufferRegion>, RefHash, RefEqual> views_;
  arith::Intervals ranges_;
  Substitution numbers_;  ///< What variables that are no integers stand for.
};

}  // namespace

BufferOfPointer buffers_by_pointer(const PrimFunc& func) {
  BufferOfPointer buffers;
  for (const auto& buffer : func.buffer_map) {
    if (buffer) buffers.emplace(buffer->data, buffer);
  }
  pre_order_visit(func.body, [&](const Ref& ref) {
    if (const auto* block = ref.as<Block>()) {
      for (const auto& buffer : block->alloc_buffers) buffers.emplace(buffer->data, buffer);
      for (const auto& match : block->match_buffers) {
        buffers.emplace(match->buffer->data, match->buffer);
      }
    }
    return Stmt::from(ref).defined();
  });
  return buffers;
}

AccessRegions access_regions(const Block& block, const BufferOfPointer& buffers) {
  return Detector(block, buffers).result();
}

}  // namespace loopsmith
