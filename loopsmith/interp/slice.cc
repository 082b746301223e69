// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/interp/slice.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::interp {
namespace {

using namespace arith;

/// The elements of a piece of memory that are needed, and in which iterations of the loops that
/// count apart.
struct Need {
  std::vector<std::size_t> loops;         ///< That count apart.
  std::optional<LoopRanges> ranges = {};  ///< Of those loops; none: nothing is needed.
  Box box = {};                           ///< Empty: all elements.
  int growths = 0;

  /// Adds what is needed; true when it was not needed before.
  bool add(const LoopRanges& all, const Box& more) {
    LoopRanges own;
    for (const std::size_t id : loops) own.push_back(all[id]);
    if (!ranges) {
      ranges = own;
      box = more;
      return true;
    }
    // What grows without end soon counts as everything.
    constexpr int max_growths = 12;
    const bool is_wild = growths > max_growths;
    const bool has_more_turns = grow(*ranges, own, is_wild);
    const bool has_grown = grow(box, more, is_wild) || has_more_turns;
    growths += has_grown ? 1 : 0;
    return has_grown;
  }

 private:
  static bool grow(std::vector<ConstIntBound>& known, const std::vector<ConstIntBound>& more,
                   bool is_wild) {
    bool has_grown = false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const ConstIntBound both = unite(known[i], more[i]);
      if (both == known[i]) continue;
      known[i] = is_wild ? ConstIntBound{} : both;
      has_grown = true;
    }
    return has_grown;
  }
};

/// Where a scalar must lie for a store to matter.
struct Condition {
  Expr value;
  ConstIntBound wanted;
};

/// Finds what an element depends on.
class SliceFinder {
 public:
  SliceFinder(const Slicer& slicer, std::size_t kept) : slicer_(slicer) {
    for (const Slicer::Loop& loop : slicer.loops()) declared_.push_back(loop.range);
    for (const Slicer::Memory& memory : slicer.memories()) {
      needs_.push_back({.loops = slicer.loops_apart(memory, kept)});
    }
    iterations_.resize(slicer.all_stores().size());
    cut_.resize(declared_.size());
  }

  void find(std::size_t memory, const std::vector<std::int64_t>& element) {
    std::vector<ConstIntBound> indices;
    for (const std::int64_t index : element) indices.push_back(point(index));
    const Slicer::Memory& target = slicer_.memories()[memory];
    needs_[memory].add(declared_, slicer_.box_of(target, *target.buffer, indices));
    for (bool has_grown = true; has_grown;) {
      has_grown = add_stores();
      has_grown = add_path_values() || has_grown;
    }
  }

  const std::vector<Need>& needs() const { return needs_; }
  /// The iterations of a loop that anything needs; none: it is not needed.
  const std::optional<ConstIntBound>& cut(std::size_t loop) const { return cut_[loop]; }
  bool is_needed(std::size_t store) const { return iterations_[store].has_value(); }

  /// What must hold for a store to matter.
  std::vector<Condition> conditions(const Slicer::Store& store) const {
    const Need& need = needs_[store.memory];
    std::vector<Condition> made;
    for (std::size_t i = 0; i < need.loops.size(); ++i) {
      made.push_back({slicer_.loops()[need.loops[i]].loop->loop_var, (*need.ranges)[i]});
    }
    for (std::size_t d = 0; d < need.box.size() && d < store.places.size(); ++d) {
      const std::optional<Slicer::Place>& place = store.places[d];
      if (!place) continue;
      made.push_back({place->base,
                      {subtract(need.box[d], point(place->span.max_value)).min_value,
                       subtract(need.box[d], point(place->span.min_value)).max_value}});
    }
    return made;
  }

  /// The ranges of the loops, cut as far as anything needs.
  LoopRanges cut_ranges() const {
    LoopRanges ranges = declared_;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      if (cut_[i]) ranges[i] = *cut_[i];
    }
    return ranges;
  }

 private:
  /// Finds the iterations of each store that matter, and adds what they load.
  bool add_stores() {
    bool has_grown = false;
    for (std::size_t s = 0; s < slicer_.all_stores().size(); ++s) {
      const Slicer::Store& store = slicer_.all_stores()[s];
      if (!needs_[store.memory].ranges) continue;
      LoopRanges ranges = declared_;
      if (!narrow_all(conditions(store), ranges)) continue;
      if (store.region) {
        has_grown |= add_region(slicer_.regions()[*store.region], ranges);
        continue;
      }
      iterations_[s] = ranges;
      for (const std::size_t id : store.loops) {
        const bool is_cut = slicer_.loops()[id].can_be_cut;
        const ConstIntBound range = is_cut ? ranges[id] : declared_[id];
        cut_[id] = cut_[id] ? unite(*cut_[id], range) : range;
      }
      has_grown |= add_loads(store.node->value, ranges);
      has_grown |= add_loads(store.node->predicate, ranges);
    }
    return has_grown;
  }

  /// Adds all that a region loads in those iterations of the loops around it, and in others that it
  /// was needed in before.
  bool add_region(const Slicer::Region& region, const LoopRanges& needed) {
    LoopRanges ranges = declared_;
    for (const std::size_t id : region.loops) {
      if (!slicer_.loops()[id].can_be_cut) continue;
      ranges[id] = cut_[id] ? unite(*cut_[id], needed[id]) : needed[id];
    }
    bool has_grown = false;
    for (std::size_t s = region.first_store; s < region.last_store; ++s) {
      const Slicer::Store& store = slicer_.all_stores()[s];
      iterations_[s] = ranges;
      for (const std::size_t id : store.loops) cut_[id] = ranges[id];
      has_grown |= add_loads(store.node->value, ranges);
      has_grown |= add_loads(store.node->predicate, ranges);
    }
    for (std::size_t v = region.first_value; v < region.last_value; ++v) {
      has_grown |= add_loads(slicer_.path_values()[v].value, ranges);
    }
    return has_grown;
  }

  bool narrow_all(const std::vector<Condition>& conditions, LoopRanges& ranges) const {
    constexpr int rounds = 3;
    for (int round = 0; round < rounds; ++round) {
      const LoopRanges before = ranges;
      for (const Condition& each : conditions) {
        if (!narrow(each.value, each.wanted, slicer_.known(), ranges)) return false;
      }
      if (ranges == before) break;
    }
    return true;
  }

  /// Adds what is loaded on the way to stores, in all iterations that are left.
  bool add_path_values() {
    const LoopRanges ranges = cut_ranges();
    bool has_grown = false;
    for (std::size_t s = 0; s < slicer_.all_stores().size(); ++s) {
      if (!iterations_[s]) continue;
      for (const std::size_t id : slicer_.all_stores()[s].path) {
        has_grown |= add_loads(slicer_.path_values()[id].value, ranges);
      }
    }
    return has_grown;
  }

  bool add_loads(const Expr& value, const LoopRanges& ranges) {
    if (!value.defined()) return false;
    bool has_grown = false;
    pre_order_visit(value, [&](const Ref& node) {
      const auto* load = node.as<BufferLoad>();
      if (!load) return true;
      const std::size_t id = slicer_.known_memory(*load->buffer);
      std::vector<ConstIntBound> indices;
      for (const Expr& index : load->indices) {
        indices.push_back(bounds_of(index, slicer_.known(), ranges));
      }
      has_grown |=
          needs_[id].add(ranges, slicer_.box_of(slicer_.memories()[id], *load->buffer, indices));
      return true;
    });
    return has_grown;
  }

  const Slicer& slicer_;
  LoopRanges declared_;
  std::vector<Need> needs_;                            ///< By memory.
  std::vector<std::optional<LoopRanges>> iterations_;  ///< By store; none: it does not matter.
  std::vector<std::optional<ConstIntBound>> cut_;      ///< By loop.
};

/// Writes the program of a slice.
class SliceWriter {
 public:
  SliceWriter(const Slicer& slicer, const SliceFinder& found)
      : slicer_(slicer), found_(found), ranges_(found.cut_ranges()) {
    for (std::size_t m = 0; m < slicer.memories().size(); ++m) {
      const std::vector<std::size_t>& loops = found.needs()[m].loops;
      if (loops.size() > slicer.memories()[m].depth && found.needs()[m].ranges) {
        moved_.emplace(loops.back(), m);
        moves_.insert(slicer.memories()[m].buffer->data.get());
      }
    }
    for (std::size_t s = 0; s < slicer.all_stores().size(); ++s) {
      store_ids_.emplace(slicer.all_stores()[s].node, s);
    }
    rewrite_.on<BufferStore>([&](const BufferStore& node) { return store(node); });
    rewrite_.on<For>([&](const For& node) { return loop(node); });
    rewrite_.on<Block>([&](const Block& node) { return block(node); });
    rewrite_.on<BlockRealize>([&](const BlockRealize& node) -> Stmt {
      const Ptr<BlockRealize> made = rewrite_.children(node);
      return is_no_op(made->block->body) && !made->block->init ? no_op() : Stmt(made);
    });
    rewrite_.on<Allocate>([&](const Allocate& node) -> Stmt {
      return moves_.contains(node.buffer_var.get()) ? rewrite_(node.body)
                                                    : around(rewrite_.children(node));
    });
    rewrite_.on<DeclBuffer>([&](const DeclBuffer& node) -> Stmt {
      return moves_.contains(node.buffer->data.get()) ? rewrite_(node.body)
                                                      : around(rewrite_.children(node));
    });
    rewrite_.on<LetStmt>([&](const LetStmt& node) { return around(rewrite_.children(node)); });
    rewrite_.on<AttrStmt>([&](const AttrStmt& node) { return around(rewrite_.children(node)); });
    rewrite_.on<AssertStmt>([&](const AssertStmt& node) { return rewrite_(node.body); });
    rewrite_.on<Evaluate>([](const Evaluate&) { return no_op(); });
    rewrite_.on<Prefetch>([](const Prefetch&) { return no_op(); });
    rewrite_.on<While>([&](const While& node) -> Stmt {
      const std::size_t before = kept_stores_;
      const Ptr<While> made = rewrite_.children(node);
      return kept_stores_ == before ? no_op() : Stmt(made);
    });
    rewrite_.on<SeqStmt>([&](const SeqStmt& node) {
      std::vector<Stmt> made;
      for (const Stmt& each : node.seq) made.push_back(rewrite_(each));
      return seq(std::move(made));
    });
    rewrite_.on<IfThenElse>([&](const IfThenElse& node) -> Stmt {
      const Ptr<IfThenElse> made = rewrite_.children(node);
      const bool has_else = made->else_case && !is_no_op(made->else_case);
      return is_no_op(made->then_case) && !has_else ? no_op() : Stmt(made);
    });
  }

  Ptr<PrimFunc> write(const Ptr<PrimFunc>& func) { return rewrite_.body_of(func); }

 private:
  template <class T>
  static Stmt around(const Ptr<T>& made) {
    return is_no_op(made->body) ? no_op() : Stmt(made);
  }

  Stmt store(const BufferStore& node) {
    const std::size_t id = store_ids_.at(&node);
    if (!found_.is_needed(id)) return no_op();
    ++kept_stores_;
    const Stmt same = Ptr<BufferStore>::from(Ref(&node));
    if (slicer_.all_stores()[id].region) return same;
    Expr condition;
    for (const auto& [value, wanted] : found_.conditions(slicer_.all_stores()[id])) {
      const ConstIntBound bounds = bounds_of(value, slicer_.known(), ranges_);
      const auto add = [&](const Expr& more) {
        condition = condition.defined() ? condition && more : more;
      };
      const DataType dtype = value.dtype();
      const ConstIntBound possible{min_int(dtype), max_int(dtype)};
      if (wanted.min_value > possible.max_value || wanted.max_value < possible.min_value) {
        return no_op();
      }
      if (std::max(bounds.min_value, possible.min_value) < wanted.min_value) {
        add(value >= int_imm(dtype, wanted.min_value));
      }
      if (std::min(bounds.max_value, possible.max_value) > wanted.max_value) {
        add(value <= int_imm(dtype, wanted.max_value));
      }
    }
    if (!condition.defined()) return same;
    return make(IfThenElse{.condition = condition, .then_case = same});
  }

  Stmt loop(const For& node) {
    const auto id = slicer_.known().loops.at(node.loop_var.get());
    if (!found_.cut(id)) return no_op();
    For copy = node;
    copy.body = rewrite_(node.body);
    if (is_no_op(copy.body)) return no_op();
    const auto [first, last] = moved_.equal_range(id);
    for (auto each = first; each != last; ++each) {
      const Ptr<Buffer>& buffer = slicer_.memories()[each->second].buffer;
      copy.body = make(Allocate{.dtype = buffer->dtype,
                                .extents = buffer->shape,
                                .condition = true,
                                .buffer_var = buffer->data,
                                .body = make(DeclBuffer{.buffer = buffer, .body = copy.body})});
    }
    const ConstIntBound& declared = slicer_.loops()[id].range;
    const ConstIntBound& cut = *found_.cut(id);
    if (cut == declared) return make(std::move(copy));
    // Its ends may depend on the loops around it.
    const DataType dtype = node.loop_var->dtype;
    const Expr end = node.min + node.extent;
    const std::int64_t* extent = as_int(node.extent);
    const bool is_constant = as_int(node.min) && extent && *extent > 0;
    // Bounds that memory gives may be known less well than by their type.
    const auto in_type = [&](std::int64_t value) {
      return int_imm(dtype, std::clamp(value, min_int(dtype), max_int(dtype)));
    };
    const Expr low = in_type(cut.min_value);
    const Expr high = in_type(cut.max_value + 1);
    copy.min = is_constant ? low : max(node.min, low);
    copy.extent = is_constant ? int_imm(dtype, cut.max_value - cut.min_value + 1)
                              : max(min(end, high) - copy.min, int_imm(dtype, 0));
    return make(std::move(copy));
  }

  Ptr<Block> block(const Block& node) {
    Block copy = node;
    copy.body = rewrite_(node.body);
    if (copy.init) copy.init = rewrite_(node.init);
    if (copy.init && is_no_op(copy.init)) copy.init = {};
    std::erase_if(copy.alloc_buffers,
                  [&](const Ptr<Buffer>& buffer) { return moves_.contains(buffer->data.get()); });
    return make(std::move(copy));
  }

  const Slicer& slicer_;
  const SliceFinder& found_;
  LoopRanges ranges_;
  std::unordered_multimap<std::size_t, std::size_t> moved_;  ///< Memory, by its innermost loop.
  std::unordered_set<const Object*> moves_;                  ///< The pointers of moved memory.
  std::unordered_map<const Object*, std::size_t> store_ids_;
  std::size_t kept_stores_ = 0;
  Rewriter rewrite_;
};

/// How many bytes the memory that moves into loops takes, over all iterations.
double moved_bytes(const Slicer& slicer, const SliceFinder& found) {
  double bytes = 0;
  for (std::size_t m = 0; m < slicer.memories().size(); ++m) {
    const Need& need = found.needs()[m];
    const Slicer::Memory& memory = slicer.memories()[m];
    if (!need.ranges || need.loops.size() <= memory.depth) continue;
    double size = sizeof(std::uint64_t);
    for (const Expr& extent : memory.buffer->shape) {
      const std::int64_t* constant = as_int(extent);
      size *= constant ? static_cast<double>(*constant) : 1;
    }
    for (const ConstIntBound& range : *need.ranges) {
      size *= static_cast<double>(range.max_value) - static_cast<double>(range.min_value) + 1;
    }
    bytes += size;
  }
  return bytes;
}

}  // namespace

Slice Slicer::slice(std::size_t parameter, const std::vector<std::int64_t>& element,
                    std::size_t kept) const {
  SliceFinder found(*this, kept);
  std::size_t target = 0;
  while (memories_[target].parameter != parameter) ++target;
  found.find(target, element);
  constexpr double max_moved = 1e9;
  if (kept != all_loops && moved_bytes(*this, found) > max_moved) {
    return slice(parameter, element, all_loops);
  }
  Slice made{.func = SliceWriter(*this, found).write(func_), .written = {}};
  made.written.resize(func_->params.size());
  std::vector<bool> is_whole(memories_.size());
  for (std::size_t s = 0; s < stores_found_.size(); ++s) {
    const std::size_t memory = stores_found_[s].memory;
    if (!found.is_needed(s) || !memories_[memory].parameter) continue;
    const Need& need = found.needs()[memory];
    // A region may write any of it.
    is_whole[memory] = is_whole[memory] || need.box.empty() || stores_found_[s].region;
    Box box = need.box;
    if (is_whole[memory]) {
      box.assign(memories_[memory].is_flat ? 1 : memories_[memory].buffer->shape.size(), {});
    }
    made.written[*memories_[memory].parameter] = box;
  }
  return made;
}

}  // namespace loopsmith::interp
