// SPDX-License-Identifier: Apache-2.0
// What a function stores, where, and on what that depends.
#include <fmt/format.h>
#include <algorithm>
#include <ranges>

#include "loopsmith/interp/slice.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith::interp {
namespace {

/// The scalar that decides where the lanes of an index lie.
std::optional<std::pair<Expr, ConstIntBound>> base_of(const Expr& index) {
  if (index.dtype().is_scalar()) return std::pair(index, arith::point(0));
  if (const auto* broadcast = index.as<Broadcast>()) {
    return std::pair(broadcast->value, arith::point(0));
  }
  const auto* ramp = index.as<Ramp>();
  const std::int64_t* stride = ramp ? as_int(ramp->stride) : nullptr;
  if (!stride || !ramp->base.dtype().is_scalar()) return std::nullopt;
  const ConstIntBound lanes{0, index.dtype().lanes - 1};
  return std::pair(ramp->base, arith::multiply(lanes, arith::point(*stride)));
}

bool has_same_shape(const Buffer& a, const Buffer& b) {
  return a.shape.size() == b.shape.size() &&
         std::ranges::equal(a.shape, b.shape, StructuralEqual());
}

/// Row-major from the pointer on, with constant strides.
bool is_row_major(const Buffer& buffer) {
  const bool has_sizes = std::ranges::all_of(buffer.shape | std::views::drop(1),
                                             [](const Expr& extent) { return as_int(extent); });
  return has_sizes && buffer.strides.empty() && buffer.dtype.is_scalar() &&
         (!buffer.elem_offset.defined() || is_const_int(buffer.elem_offset, 0));
}

/// How many elements lie between neighbours of each dimension.
std::vector<std::int64_t> row_major_strides(const Buffer& buffer) {
  std::vector<std::int64_t> strides(buffer.shape.size(), 1);
  for (std::size_t d = strides.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * *as_int(buffer.shape[d]);
  }
  return strides;
}

/// The scalar that decides where a row-major access begins, and its lanes.
std::optional<std::pair<Expr, ConstIntBound>> flat_base_of(const Buffer& buffer,
                                                           const std::vector<Expr>& indices) {
  const std::vector<std::int64_t> strides = row_major_strides(buffer);
  Expr flat;
  ConstIntBound span = arith::point(0);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto base = base_of(indices[d]);
    if (!base) return std::nullopt;
    const DataType dtype = base->first.dtype();
    const Expr step = base->first * int_imm(dtype, strides[d]);
    flat = flat.defined() ? flat + cast(flat.dtype(), step) : step;
    span = arith::add(span, arith::multiply(base->second, arith::point(strides[d])));
  }
  if (!flat.defined()) return std::nullopt;
  return std::pair(flat, span);
}

/// How long an expression takes in the time of a store, by measurement.
double work_of(const Expr& value) {
  constexpr double node_work = 0.15, call_work = 0.5, division_work = 4;
  double work = 0;
  if (!value.defined()) return work;
  pre_order_visit(value, [&](const Ref& node) {
    if (!is_expr(*node.get())) return true;
    const DataType dtype = Expr::from(node).dtype();
    const bool is_field_division = node.is<Div>() && dtype.is_float();
    work += dtype.lanes * (is_field_division ? division_work
                           : node.is<Call>() ? call_work
                                             : node_work);
    return true;
  });
  return work;
}

/// Whether a loop with this body has a `break` or `continue` of its own.
bool has_jump(const Stmt& body) {
  bool found = false;
  pre_order_visit(body, [&](const Ref& node) {
    found = found || node.is<Break>() || node.is<Continue>();
    return !found && !node.is<For>() && !node.is<While>();
  });
  return found;
}

}  // namespace

Slicer::Slicer(const Ptr<PrimFunc>& func) : func_(func) {
  look_for_obstacles();
  look_for_views();
  for (std::size_t i = 0; i < func->params.size(); ++i) {
    if (!func->buffer_map[i]) continue;
    define(func->buffer_map[i], /*can_move=*/false);
    memories_.back().parameter = i;
  }
  visit(func->body);
}

void Slicer::look_for_obstacles() {
  const auto refuse = [&](std::string_view what) {
    if (obstacle_.empty()) obstacle_ = fmt::format("{} {}", func_->name(), what);
  };
  pre_order_visit(func_->body, [&](const Ref& node) {
    if (node.is<Return>()) refuse("returns before its end");
    const auto* call = node.as<Call>();
    if (call && !call->op.is_pure()) refuse(fmt::format("calls {}", call->op.name()));
    if (call && call->dtype.is_handle()) refuse("uses pointers");
    const auto* attr = node.as<AttrStmt>();
    const bool is_plain =
        !attr || (attr->attr_key != "thread_extent" && attr->attr_key != "virtual_thread" &&
                  attr->attr_key != "reduce_scope");
    if (!is_plain) refuse("launches threads");
    if (const auto* let = node.as<Let>()) known_.values.emplace(let->var.get(), let->value);
    return obstacle_.empty();
  });
}

/// Finds memory that buffers of several shapes lie in.
void Slicer::look_for_views() {
  std::unordered_map<const Object*, Ptr<Buffer>> first;
  std::unordered_set<const Object*> odd, several;
  const auto note = [&](const Ptr<Buffer>& buffer) {
    const Object* data = buffer->data.get();
    if (!is_row_major(*buffer)) odd.insert(data);
    const auto [known, is_new] = first.try_emplace(data, buffer);
    if (is_new) return;
    if (known->second->dtype != buffer->dtype) odd.insert(data);
    if (!has_same_shape(*known->second, *buffer)) several.insert(data);
  };
  for (const Ptr<Buffer>& buffer : func_->buffer_map) {
    if (buffer) note(buffer);
  }
  pre_order_visit(func_->body, [&](const Ref& node) {
    if (const auto* load = node.as<BufferLoad>()) note(load->buffer);
    if (const auto* store = node.as<BufferStore>()) note(store->buffer);
    return true;
  });
  std::erase_if(several, [&](const Object* data) { return odd.contains(data); });
  flat_ = std::move(several);
}

Box Slicer::box_of(const Memory& memory, const Buffer& buffer,
                   const std::vector<ConstIntBound>& indices) const {
  if (memory.is_whole) return {};
  if (!memory.is_flat) return indices;
  const std::vector<std::int64_t> strides = row_major_strides(buffer);
  ConstIntBound place = arith::point(0);
  for (std::size_t d = 0; d < indices.size(); ++d) {
    place = arith::add(place, arith::multiply(indices[d], arith::point(strides[d])));
  }
  return {place};
}

double Slicer::elements() const {
  double sum = 0;
  for (const Memory& memory : memories_) {
    double size = memory.parameter ? 0 : 1;
    for (const Expr& extent : memory.buffer->shape) {
      const std::int64_t* constant = as_int(extent);
      size *= constant ? static_cast<double>(*constant) : 1;
    }
    sum += size;
  }
  return sum;
}

bool Slicer::writes(std::size_t parameter) const {
  return std::ranges::any_of(stores_found_, [&](const Store& store) {
    return memories_[store.memory].parameter == parameter;
  });
}

void Slicer::define(const Ptr<Buffer>& buffer, bool can_move) {
  const auto [place, is_new] = memory_ids_.try_emplace(buffer->data.get(), memories_.size());
  if (!is_new) return;
  const bool is_plain = buffer->strides.empty() &&
                        (!buffer->elem_offset.defined() || is_const_int(buffer->elem_offset, 0));
  memories_.push_back({.buffer = buffer,
                       .is_flat = flat_.contains(buffer->data.get()),
                       .can_move = can_move && is_plain,
                       .depth = open_loops_.size()});
}

std::size_t Slicer::memory_of(const Ptr<Buffer>& buffer) {
  const auto known = memory_ids_.find(buffer->data.get());
  if (known == memory_ids_.end()) {
    // A pointer that comes from nowhere we know.
    define(buffer, /*can_move=*/false);
    memories_.back().depth = 0;
    return memories_.size() - 1;
  }
  Memory& memory = memories_[known->second];
  const bool is_same = memory.buffer.same_as(buffer) || has_same_shape(*memory.buffer, *buffer);
  if (!is_same && !memory.is_flat) memory.is_whole = true;
  return known->second;
}

void Slicer::use(const Ptr<Buffer>& buffer) {
  Memory& memory = memories_[memory_of(buffer)];
  if (!memory.loops) {
    memory.loops = open_loops_;
    return;
  }
  const auto apart = std::ranges::mismatch(*memory.loops, open_loops_);
  memory.loops->erase(apart.in1, memory.loops->end());
}

void Slicer::use_loads(const Expr& value) {
  if (!value.defined()) return;
  pre_order_visit(value, [&](const Ref& node) {
    if (const auto* load = node.as<BufferLoad>()) use(load->buffer);
    return true;
  });
}

void Slicer::in_path(const std::vector<Expr>& values, const std::function<void()>& body) {
  const std::size_t before = open_path_.size();
  for (const Expr& value : values) {
    use_loads(value);
    work_ += open_iterations_ * work_of(value);
    open_path_.push_back(path_values_.size());
    path_values_.push_back({value, open_loops_});
  }
  body();
  open_path_.resize(before);
}

void Slicer::visit(const Stmt& stmt) {
  deep_call([&] {
    if (const auto* n = stmt.as<SeqStmt>()) {
      for (const Stmt& each : n->seq) visit(each);
    } else if (const auto* n = stmt.as<BufferStore>()) {
      visit_store(*n);
    } else if (const auto* n = stmt.as<For>()) {
      has_jump(n->body) ? in_region([&] { visit_loop(*n); }) : visit_loop(*n);
    } else if (const auto* n = stmt.as<While>()) {
      in_region([&] { in_path({n->condition}, [&] { visit(n->body); }); });
    } else if (const auto* n = stmt.as<BlockRealize>()) {
      visit_block(*n);
    } else if (const auto* n = stmt.as<IfThenElse>()) {
      in_path({n->condition}, [&] {
        visit(n->then_case);
        if (n->else_case) visit(n->else_case);
      });
    } else if (const auto* n = stmt.as<LetStmt>()) {
      known_.values.emplace(n->var.get(), n->value);
      in_path({n->value}, [&] { visit(n->body); });
    } else if (const auto* n = stmt.as<Allocate>()) {
      // Its buffer is the first that is declared on the pointer.
      const auto* declared = n->body.as<DeclBuffer>();
      const bool is_own = declared && declared->buffer->data.same_as(n->buffer_var) &&
                          is_const_int(n->condition, 1);
      if (declared && is_own) define(declared->buffer, /*can_move=*/true);
      in_path(n->extents, [&] { visit(n->body); });
    } else if (const auto* n = stmt.as<AllocateConst>()) {
      visit(n->body);
    } else if (const auto* n = stmt.as<DeclBuffer>()) {
      visit(n->body);
    } else if (const auto* n = stmt.as<AttrStmt>()) {
      visit(n->body);
    } else if (const auto* n = stmt.as<AssertStmt>()) {
      visit(n->body);
    }
    // An Evaluate without an effect, and a Prefetch, decide nothing.
  });
}

void Slicer::in_region(const std::function<void()>& body) {
  if (is_in_region_) return body();
  const std::size_t id = regions_.size();
  regions_.push_back({.loops = open_loops_,
                      .first_store = stores_found_.size(),
                      .first_value = path_values_.size()});
  is_in_region_ = true;
  body();
  is_in_region_ = false;
  regions_[id].last_store = stores_found_.size();
  regions_[id].last_value = path_values_.size();
}

void Slicer::visit_loop(const For& loop) {
  LoopRanges outer;
  for (const Loop& each : loops_) outer.push_back(each.range);
  const ConstIntBound first = bounds_of(loop.min, known_, outer);
  const ConstIntBound extent = bounds_of(loop.extent, known_, outer);
  const bool is_plain = is_const_int(loop.step, 1);
  const std::int64_t* stride = as_int(loop.step);
  const ConstIntBound last = arith::subtract(extent, arith::point(1));
  const ConstIntBound reach =
      stride ? arith::multiply(last, arith::point(*stride)) : ConstIntBound{};
  const ConstIntBound range = arith::unite(first, arith::add(first, reach));
  const std::size_t id = loops_.size();
  known_.loops.emplace(loop.loop_var.get(), id);
  in_path({loop.min, loop.extent, loop.step}, [&] {
    const bool can_be_cut = is_plain && !is_in_region_ && loop.kind != ForKind::thread_binding;
    loops_.push_back({&loop, range, can_be_cut, is_in_region_});
    open_loops_.push_back(id);
    const double iterations = std::exchange(
        open_iterations_,
        open_iterations_ * static_cast<double>(std::max<std::int64_t>(extent.max_value, 0)));
    visit(loop.body);
    open_iterations_ = iterations;
    open_loops_.pop_back();
  });
}

void Slicer::visit_block(const BlockRealize& realize) {
  const Block& block = *realize.block;
  const std::size_t reductions = open_reductions_.size();
  std::vector<Expr> values = realize.iter_values;
  values.push_back(realize.predicate);
  for (std::size_t i = 0; i < block.iter_vars.size(); ++i) {
    known_.values.emplace(block.iter_vars[i]->var.get(), realize.iter_values[i]);
    if (block.iter_vars[i]->iter_type != IterType::comm_reduce) continue;
    for (const auto& var : free_variables(realize.iter_values[i])) {
      const auto loop = known_.loops.find(var.get());
      if (loop != known_.loops.end()) open_reductions_.push_back(loop->second);
    }
  }
  for (const Ptr<Buffer>& buffer : block.alloc_buffers) define(buffer, /*can_move=*/true);
  for (const Ptr<MatchBufferRegion>& match : block.match_buffers) {
    const std::size_t source = memory_of(match->source->buffer);
    use(match->source->buffer);
    memories_[source].is_whole = true;
    memory_ids_.emplace(match->buffer->data.get(), source);
    for (const Ptr<Range>& range : match->source->region) values.push_back(range->min);
  }
  in_path(values, [&] {
    if (block.init) visit(block.init);
    visit(block.body);
  });
  open_reductions_.resize(reductions);
}

void Slicer::visit_store(const BufferStore& store) {
  work_ += open_iterations_ * (store.value.dtype().lanes + work_of(store.value));
  if (!store_ids_.emplace(&store, stores_found_.size()).second) {
    obstacle_ = fmt::format("{} has one statement in two places", func_->name());
    return;
  }
  use(store.buffer);
  use_loads(store.value);
  use_loads(store.predicate);
  const std::size_t id = memory_of(store.buffer);
  Memory& memory = memories_[id];
  memory.reduced.insert(open_reductions_.begin(), open_reductions_.end());
  Store made{.node = &store, .memory = id, .loops = open_loops_, .path = {}, .places = {}};
  in_path(store.indices, [&] { made.path = open_path_; });
  const auto add_place = [&](const std::optional<std::pair<Expr, ConstIntBound>>& base) {
    made.places.push_back(base ? std::optional(Place{base->first, base->second}) : std::nullopt);
  };
  if (memory.is_flat) {
    add_place(flat_base_of(*store.buffer, store.indices));
  } else {
    for (const Expr& index : store.indices) add_place(base_of(index));
  }
  if (is_in_region_) made.region = regions_.size() - 1;
  stores_found_.push_back(std::move(made));
}

std::vector<std::size_t> Slicer::loops_apart(const Memory& memory, std::size_t kept) const {
  if (memory.parameter || !memory.loops) return {};
  std::vector<std::size_t> apart = *memory.loops;
  const std::size_t outside = std::min(apart.size(), memory.depth);
  std::size_t count = outside;
  if (memory.can_move && !memory.is_whole) {
    const auto end = std::find_if(apart.begin() + static_cast<std::ptrdiff_t>(outside), apart.end(),
                                  [&](std::size_t id) {
                                    return memory.reduced.contains(id) || loops_[id].is_in_region ||
                                           loops_[id].loop->kind == ForKind::thread_binding;
                                  });
    count = static_cast<std::size_t>(end - apart.begin());
  }
  apart.resize(std::max(outside, count - std::min(count, kept)));
  return apart;
}

}  // namespace loopsmith::interp
