// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/access_regions.h"

#include <algorithm>
#include <optional>

#include "loopsmith/ir/operators.h"

namespace loopsmith {
namespace {

/// The values from `min` to `max`, both included.
struct Interval {
  Expr min;
  Expr max;

  bool is_point() const { return min.same_as(max); }
};

using Ranges = std::unordered_map<Ref, Interval, RefHash, RefEqual>;
using Box = std::vector<Interval>;

Interval join(const Interval& a, const Interval& b) {
  if (a.min.same_as(b.min) && a.max.same_as(b.max)) return a;
  return {min(a.min, b.min), max(a.max, b.max)};
}

std::optional<Interval> join(const std::optional<Interval>& a, const std::optional<Interval>& b) {
  return a && b ? std::optional(join(*a, *b)) : std::nullopt;
}

/// The values of integer expressions while some variables run through intervals.
class Relaxation {
 public:
  explicit Relaxation(const Ranges& ranges) : ranges_(ranges) {}

  /// An interval that has them all; none where none is known.
  std::optional<Interval> operator()(const Expr& expr) {
    return deep_call([&] { return values(expr); });
  }

 private:
  std::optional<Interval> values(const Expr& expr) {
    if (const auto found = ranges_.find(expr); found != ranges_.end()) return found->second;
    if (!uses_range(expr)) return Interval{expr, expr};
    if (const auto* node = expr.as<Add>()) {
      return both(*node, [](const Interval& a, const Interval& b) {
        return Interval{a.min + b.min, a.max + b.max};
      });
    }
    if (const auto* node = expr.as<Sub>()) {
      return both(*node, [](const Interval& a, const Interval& b) {
        return Interval{a.min - b.max, a.max - b.min};
      });
    }
    if (const auto* node = expr.as<Min>()) {
      return both(*node, [](const Interval& a, const Interval& b) {
        return Interval{min(a.min, b.min), min(a.max, b.max)};
      });
    }
    if (const auto* node = expr.as<Max>()) {
      return both(*node, [](const Interval& a, const Interval& b) {
        return Interval{max(a.min, b.min), max(a.max, b.max)};
      });
    }
    if (const auto* node = expr.as<Mul>()) return product(*node);
    if (const auto* node = expr.as<FloorDiv>()) return quotient(*node, floordiv);
    if (const auto* node = expr.as<Div>()) return quotient(*node, truncdiv);
    if (const auto* node = expr.as<FloorMod>()) return remainder(*node);
    if (const auto* node = expr.as<Select>()) {
      return join((*this)(node->true_value), (*this)(node->false_value));
    }
    if (const auto* node = expr.as<Call>(); node && node->op == op("if_then_else")) {
      return join((*this)(node->args[1]), (*this)(node->args[2]));
    }
    if (const auto* node = expr.as<Cast>(); node && node->dtype.is_index()) {
      const auto inside = (*this)(node->value);
      if (inside) return Interval{cast(node->dtype, inside->min), cast(node->dtype, inside->max)};
    }
    return {};
  }

  template <class Node, class Combine>
  std::optional<Interval> both(const Node& node, Combine combine) {
    const auto a = (*this)(node.a);
    const auto b = (*this)(node.b);
    return a && b ? std::optional(combine(*a, *b)) : std::nullopt;
  }

  std::optional<Interval> product(const Mul& node) {
    const bool constant_left = as_int(node.a) != nullptr;
    const Expr& factor = constant_left ? node.a : node.b;
    const auto other = (*this)(constant_left ? node.b : node.a);
    const std::int64_t* value = as_int(factor);
    if (!value || !other) return {};
    Interval scaled{other->min * factor, other->max * factor};
    if (*value < 0) std::swap(scaled.min, scaled.max);
    return scaled;
  }

  std::optional<Interval> quotient(const auto& node, Expr (*divide)(const Expr&, const Expr&)) {
    const auto dividend = (*this)(node.a);
    const std::int64_t* divisor = as_int(node.b);
    if (!dividend || !divisor || *divisor <= 0) return {};
    return Interval{divide(dividend->min, node.b), divide(dividend->max, node.b)};
  }

  std::optional<Interval> remainder(const FloorMod& node) {
    const std::int64_t* divisor = as_int(node.b);
    if (!divisor || *divisor <= 0) return {};
    return Interval{zero_of(node.dtype), node.b - int_imm(node.dtype, 1)};
  }

  bool uses_range(const Expr& expr) const {
    bool found = false;
    pre_order_visit(expr, [&](const Ref& ref) {
      found = found || ranges_.contains(ref);
      return !found;
    });
    return found;
  }

  const Ranges& ranges_;
};

/// The regions of some buffers, by first appearance.
class Regions {
 public:
  void add(const Ptr<Buffer>& buffer, Box box) {
    for (auto& [known, region] : regions_) {
      if (!known.same_as(buffer)) continue;
      for (std::size_t i = 0; i < box.size(); ++i) region[i] = join(region[i], box[i]);
      return;
    }
    regions_.emplace_back(buffer, std::move(box));
  }

  std::vector<Ptr<BufferRegion>> except(const std::vector<Ptr<Buffer>>& left_out) const {
    std::vector<Ptr<BufferRegion>> results;
    for (const auto& [buffer, box] : regions_) {
      if (std::find_if(left_out.begin(), left_out.end(), [&](const auto& other) {
            return other.same_as(buffer);
          }) != left_out.end()) {
        continue;
      }
      results.push_back(make(BufferRegion{.buffer = buffer, .region = ranges_of(box)}));
    }
    return results;
  }

  std::vector<Ptr<Buffer>> buffers() const {
    std::vector<Ptr<Buffer>> all;
    for (const auto& [buffer, box] : regions_) all.push_back(buffer);
    return all;
  }

 private:
  static std::vector<Ptr<Range>> ranges_of(const Box& box) {
    std::vector<Ptr<Range>> ranges;
    for (const Interval& values : box) {
      const Expr one = int_imm(values.min.dtype(), 1);
      ranges.push_back(range(values.min, values.is_point() ? one : values.max - values.min + one));
    }
    return ranges;
  }

  std::vector<std::pair<Ptr<Buffer>, Box>> regions_;
};

/// Walks the body of a block, with what its inner loops and variables may be.
class Detector {
 public:
  Detector(const Block& block, const BufferOfPointer& buffers) : buffers_(buffers) {
    for (const auto& match : block.match_buffers) views_[match->buffer] = match->source;
    for (const auto& buffer : block.alloc_buffers) own_.push_back(buffer);
  }

  void visit(const Stmt& stmt) {
    deep_call([&] { enter(stmt); });
  }

  Regions reads;
  Regions writes;
  std::vector<Ptr<Buffer>> opaque;
  std::vector<Ptr<Buffer>> own_;  ///< Defined inside; nobody else sees them.

 private:
  void enter(const Stmt& stmt) {
    if (const auto* node = stmt.as<SeqStmt>()) {
      for (const Stmt& part : node->seq) visit(part);
    } else if (const auto* node = stmt.as<For>()) {
      for (const Expr& bound : {node->min, node->extent, node->step}) visit(bound);
      const Expr last = node->min + (node->extent - int_imm(node->extent.dtype(), 1)) * node->step;
      const std::int64_t* step = as_int(node->step);
      const auto first = relaxed(node->min);
      const auto end = relaxed(last);
      Interval values = join(first, end);
      if (step) values = *step > 0 ? Interval{first.min, end.max} : Interval{end.min, first.max};
      ranges_[node->loop_var] = values;
      visit(node->body);
    } else if (const auto* node = stmt.as<LetStmt>()) {
      visit(node->value);
      if (node->var->dtype.is_integer()) ranges_[node->var] = relaxed(node->value);
      visit(node->body);
    } else if (const auto* node = stmt.as<BufferStore>()) {
      visit(node->value);
      for (const Expr& index : node->indices) visit(index);
      if (node->predicate.defined()) visit(node->predicate);
      touch(writes, node->buffer, node->indices);
    } else if (const auto* node = stmt.as<BlockRealize>()) {
      visit_child(*node);
    } else {
      visit_parts(stmt);
    }
  }

  /// What has no rule of its own: its expressions and statements, in order.
  void visit_parts(const Ref& ref) {
    if (const auto* node = ref.as<DeclBuffer>()) own_.push_back(node->buffer);
    for_each_child(*ref.get(), [&](const Ref& child, Role) {
      if (const Stmt stmt = Stmt::from(child)) {
        visit(stmt);
      } else if (const Expr expr = Expr::from(child); expr.defined()) {
        visit(expr);
      }
    });
  }

  void visit(const Expr& expr) {
    pre_order_visit(expr, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) {
        touch(reads, load->buffer, load->indices);
      } else if (const auto* let = ref.as<Let>()) {
        if (let->var->dtype.is_integer()) ranges_[let->var] = relaxed(let->value);
      } else if (const auto* call = ref.as<Call>(); call && call->op == op("tvm_access_ptr")) {
        return !touch_pointer(*call);
      } else if (ref.is<Var>()) {
        if (const auto buffer = buffers_.find(ref); buffer != buffers_.end()) {
          opaque.push_back(buffer->second);
        }
      }
      return !ref.is<Buffer>();
    });
  }

  /// A child block: its declared regions, its axes replaced by what they are bound to.
  void visit_child(const BlockRealize& realize) {
    for (const Expr& value : realize.iter_values) visit(value);
    visit(realize.predicate);
    Substitution values;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      values[realize.block->iter_vars[i]->var] = realize.iter_values[i];
    }
    for (const auto& buffer : realize.block->alloc_buffers) own_.push_back(buffer);
    const auto add = [&](Regions& regions, const Ptr<BufferRegion>& region) {
      Box box;
      for (const auto& range : region->region) {
        const Expr low = substitute(range->min, values);
        const Expr size = substitute(range->extent, values);
        box.push_back(
            is_const_int(size, 1)
                ? relaxed(low)
                : Interval{relaxed(low).min, relaxed(low + size - int_imm(size.dtype(), 1)).max});
      }
      add_box(regions, region->buffer, std::move(box));
    };
    for (const auto& region : realize.block->reads) add(reads, region);
    for (const auto& region : realize.block->writes) add(writes, region);
  }

  /// `tvm_access_ptr(type, data, offset, extent, mask)`: the whole buffer, as the mask says.
  bool touch_pointer(const Call& call) {
    const auto buffer = buffers_.find(call.args[1]);
    const std::int64_t* mask = as_int(call.args[4]);
    if (buffer == buffers_.end() || !mask) return false;
    for (const Expr& argument : {call.args[2], call.args[3]}) visit(argument);
    if (*mask & 1) add_box(reads, buffer->second, whole(*buffer->second));
    if (*mask & 2) add_box(writes, buffer->second, whole(*buffer->second));
    return true;
  }

  void touch(Regions& regions, const Ptr<Buffer>& buffer, const std::vector<Expr>& indices) {
    const Box all = whole(*buffer);
    Box box;
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const auto values =
          indices[i].dtype().is_scalar() ? Relaxation(ranges_)(indices[i]) : lanes_of(indices[i]);
      box.push_back(values ? *values : all[i]);
    }
    add_box(regions, buffer, std::move(box));
  }

  /// The values of a vector index.
  std::optional<Interval> lanes_of(const Expr& index) {
    if (const auto* same = index.as<Broadcast>()) return Relaxation(ranges_)(same->value);
    const auto* ramp = index.as<Ramp>();
    if (!ramp || !as_int(ramp->stride)) return {};
    const Expr last = ramp->base + ramp->stride * int_imm(ramp->stride.dtype(), ramp->lanes - 1);
    return join(Relaxation(ranges_)(ramp->base), Relaxation(ranges_)(last));
  }

  void add_box(Regions& regions, const Ptr<Buffer>& buffer, Box box) {
    const auto view = views_.find(buffer);
    if (view == views_.end()) return regions.add(buffer, std::move(box));
    Box source;
    for (const auto& range : view->second->region) {
      source.push_back({range->min, range->min + range->extent - int_imm(range->min.dtype(), 1)});
    }
    regions.add(view->second->buffer, std::move(source));
  }

  static Box whole(const Buffer& buffer) {
    Box box;
    for (const Expr& extent : buffer.shape) {
      box.push_back({zero_of(extent.dtype()), extent - int_imm(extent.dtype(), 1)});
    }
    return box;
  }

  /// What an expression may be; where nothing is known, itself.
  Interval relaxed(const Expr& expr) {
    const auto values = Relaxation(ranges_)(expr);
    return values ? *values : Interval{expr, expr};
  }

  const BufferOfPointer& buffers_;
  std::unordered_map<Ref, Ptr<BufferRegion>, RefHash, RefEqual> views_;
  Ranges ranges_;
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
  Detector detector(block, buffers);
  if (block.init) detector.visit(block.init);
  detector.visit(block.body);
  std::vector<Ptr<Buffer>> unread = detector.own_;
  if (block.init) {
    const auto written = detector.writes.buffers();
    unread.insert(unread.end(), written.begin(), written.end());
  }
  return {.reads = detector.reads.except(unread),
          .writes = detector.writes.except(detector.own_),
          .opaque = std::move(detector.opaque)};
}

}  // namespace loopsmith
