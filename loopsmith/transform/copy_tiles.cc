// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/copy_tiles.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/async_copy.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/fragments.h"
#include "loopsmith/transform/thread_axes.h"
#include "loopsmith/transform/warp_instruction.h"

namespace loopsmith {
namespace {

/// Rows of a box are 128 bytes, of which eight take turns; it has at most 256 of them.
constexpr std::int64_t bytes_of_row = 128, rows_in_turn = 8, max_rows = 256;
constexpr std::int64_t bytes_aligned = 16;
constexpr std::size_t max_dimensions = 5;

/// The part of a tile that one thread copies.
struct TileCopy {
  Expr condition;  ///< Of the thread.
  Ptr<Buffer> tile, source;
  std::vector<Expr> into, from;   ///< Where its first elements lie.
  std::size_t row_dimension = 0;  ///< Of the source.
  std::int64_t rows = 0;
};

Expr address(const Ptr<Buffer>& buffer, std::vector<Expr> indices) {
  return call(op("address_of"), {load(buffer, std::move(indices))});
}

/// How many elements lie between neighbours along a dimension.
Expr stride_of(const Buffer& buffer, std::size_t dimension) {
  if (!buffer.strides.empty()) return buffer.strides[dimension];
  Expr stride = int_imm(i64, 1);
  for (std::size_t d = dimension + 1; d < buffer.shape.size(); ++d) {
    stride = stride * cast(i64, buffer.shape[d]);
  }
  return stride;
}

/// A pointer to an element, behind which nothing is written.
Expr read_pointer(const Buffer& buffer, const Expr& offset) {
  Expr count = int_imm(i64, 1);
  for (const Expr& extent : buffer.shape) count = count * cast(i64, extent);
  constexpr int reads_only = 1;
  return call(handle_type, op("tvm_access_ptr"),
              {zero_of(buffer.dtype), buffer.data, offset, count, int_imm(i32, reads_only)});
}

/// Finds the copies of a launch.
class TileCopies {
 public:
  TileCopies(const PrimFunc& func, const Launch& launch) : func_(func) {
    pre_order_visit(launch.body, [&](const Ref& ref) {
      const auto* mark = ref.as<AttrStmt>();
      if (mark && mark->attr_key == warp_instruction && instruction_of(*mark) == "wgmma") {
        add_operands(mark->body);
        return false;
      }
      if (const auto* loop = ref.as<For>()) {
        analyzer_.bind(loop->loop_var, range(loop->min, loop->extent));
      }
      return !is_expr(*ref.get());
    });
  }

  /// What stands under `async_scope`; none where that is something else.
  std::optional<TileCopy> find(const Stmt& body) {
    const auto* branch = body.as<IfThenElse>();
    const auto* of_rows = branch && !branch->else_case ? branch->then_case.as<For>() : nullptr;
    const auto* of_columns = of_rows ? of_rows->body.as<For>() : nullptr;
    const auto* store = of_columns ? of_columns->body.as<BufferStore>() : nullptr;
    if (!store || !operands_.contains(store->buffer->data.get())) return {};
    const auto copied = copy_into_shared(*store);
    const std::int64_t *rows = as_int(of_rows->extent), *columns = as_int(of_columns->extent);
    if (!copied || copied->exists.defined() || !rows || !columns) return {};
    TileCopy copy{.condition = branch->condition,
                  .tile = store->buffer,
                  .source = copied->source->buffer,
                  .rows = *rows};
    const Ptr<Var>&row = of_rows->loop_var, &column = of_columns->loop_var;
    const bool is_box = *columns * copy.tile->dtype.bytes() == bytes_of_row &&
                        *rows % rows_in_turn == 0 && *rows <= max_rows &&
                        is_const_int(of_rows->min, 0) && is_const_int(of_columns->min, 0);
    if (!is_box || !is_array_of_engine(*copy.source)) return {};
    const std::size_t last = store->indices.size() - 1;
    if (last == 0 || dimension_along(store->indices, column, copy.into) != last) return {};
    std::vector<Expr> first = std::move(copy.into);
    if (dimension_along(first, row, copy.into) != last - 1) return {};
    const std::vector<Expr>& from = copied->source->indices;
    if (dimension_along(from, column, copy.from) != from.size() - 1) return {};
    first = std::move(copy.from);
    const auto along = dimension_along(first, row, copy.from);
    if (!along || *along == from.size() - 1) return {};
    copy.row_dimension = *along;
    const bool begins_a_turn =
        is_multiple(copy.into[last - 1], rows_in_turn) && is_multiple(copy.into[last], *columns);
    return begins_a_turn ? std::optional(std::move(copy)) : std::nullopt;
  }

 private:
  void add_operands(const Stmt& body) {
    pre_order_visit(body, [&](const Ref& ref) {
      const auto* read = ref.as<BufferLoad>();
      if (read && is_shared(memory_scope(*read->buffer))) {
        operands_.insert(read->buffer->data.get());
      }
      return true;
    });
  }

  bool is_multiple(const Expr& value, std::int64_t factor) {
    return analyzer_.can_prove(floormod(value, int_imm(value.dtype(), factor)) == 0);
  }

  /// The one dimension in which `indices` grow by one with a variable; what they are where it is 0.
  std::optional<std::size_t> dimension_along(const std::vector<Expr>& indices,
                                             const Ptr<Var>& variable, std::vector<Expr>& first) {
    std::optional<std::size_t> found;
    first.clear();
    for (std::size_t d = 0; d < indices.size(); ++d) {
      first.push_back(
          analyzer_.simplify(substitute(indices[d], {{variable, int_imm(variable->dtype, 0)}})));
      if (analyzer_.can_prove_equal(indices[d], first[d])) continue;
      const Expr next = first[d] + cast(first[d].dtype(), variable);
      if (found || !analyzer_.can_prove_equal(indices[d], next)) return std::nullopt;
      found = d;
    }
    return found;
  }

  /// An array of the caller that can be described to the engine.
  bool is_array_of_engine(const Buffer& source) {
    const std::size_t rank = source.shape.size();
    const bool is_known = std::ranges::any_of(func_.buffer_map, [&](const Ptr<Buffer>& buffer) {
      return buffer && buffer.get() == &source;
    });
    const bool begins = !source.elem_offset.defined() || is_const_int(source.elem_offset, 0);
    if (!is_known || !begins || rank < 2 || rank > max_dimensions) return false;
    if (!source.strides.empty() && !is_const_int(source.strides.back(), 1)) return false;
    for (std::size_t d = 0; d + 1 < rank; ++d) {
      if (!is_multiple(stride_of(source, d), bytes_aligned / source.dtype.bytes())) return false;
    }
    return true;
  }

  const PrimFunc& func_;
  Analyzer analyzer_;
  std::unordered_set<const Object*> operands_;  ///< The pointers to what warps multiply.
};

/// How many threads fulfil a condition that holds of the first along some axes; none of others.
std::optional<std::int64_t> threads_of(const Expr& condition, const Launch& launch) {
  std::unordered_set<const Object*> first;
  for (const Expr& part : arith::conjuncts(condition)) {
    const auto* equal = part.as<EQ>();
    if (!equal || !equal->a.is<Var>() || !is_const_int(equal->b, 0)) return {};
    first.insert(equal->a.get());
  }
  std::int64_t threads = 1;
  for (const Ptr<For>& loop : launch.threads) {
    const std::int64_t* extent = as_int(loop->extent);
    if (!extent) return {};
    if (first.erase(loop->loop_var.get()) == 0) threads *= *extent;
  }
  return first.empty() ? std::optional(threads) : std::nullopt;
}

/// Rewrites one launch.
class TileCopier {
 public:
  TileCopier(const PrimFunc& func, Launch launch) : launch_(std::move(launch)) {
    TileCopies copies(func, launch_);
    bool is_alike = true;
    pre_order_visit(launch_.body, [&](const Ref& ref) {
      const auto* mark = ref.as<AttrStmt>();
      if (mark && mark->attr_key == async_done) {
        const std::int64_t* groups = as_int(mark->value);
        is_alike = is_alike && groups;
        under_way_ = std::max(under_way_, groups ? *groups : 0);
        return false;
      }
      if (!mark || mark->attr_key != async_scope) return !is_expr(*ref.get());
      auto found = copies.find(mark->body);
      is_alike = is_alike && found &&
                 (copies_.empty() ||
                  structural_equal(found->condition, copies_.begin()->second.condition));
      if (found) copies_.emplace(mark, *std::move(found));
      return false;
    });
    if (is_alike && !copies_.empty()) threads_ = threads_of(condition(), launch_);
  }

  bool applies() const { return threads_.has_value(); }

  Stmt run() {
    // A power of two, so that no division is left.
    const auto count =
        static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(under_way_ + 2)));
    arrived_ = decl_buffer({int_imm(i32, count)}, u64, "arrived", "shared");
    groups_ = decl_buffer({int_imm(i32, 1)}, u32, "groups", "local");
    Rewriter rewrite;
    rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
      if (node.attr_key == async_done) return wait(*as_int(node.value));
      if (node.attr_key == async_scope) return start(copies_.at(&node));
      return rewrite.children(node);
    });
    rewrite.on<Evaluate>([&](const Evaluate& node) -> Stmt {
      const auto* call = node.value.as<Call>();
      return call && call->op == op("ptx_commit_group") ? commit() : Stmt(&node);
    });
    Stmt body = rewrite(launch_.body);
    std::vector<Stmt> begin{store(groups_, int_imm(u32, 0), {int_imm(i32, 0)}), prepare(count),
                            barrier(MemoryScope::shared)};
    for (const Box& box : boxes_) {
      begin.push_back(make(Evaluate{.value = call(i32, op("dma_start_group"), {box.map})}));
    }
    begin.push_back(std::move(body));
    launch_.body =
        memory_of(groups_, make(DeclBuffer{.buffer = groups_, .body = seq(std::move(begin))}));
    launch_.memory.push_back(memory_of(arrived_, no_op()));
    launch_.memory.push_back(make(DeclBuffer{.buffer = arrived_, .body = no_op()}));
    Stmt result = launch_stmt(launch_);
    for (const Box& box : boxes_) {
      result = make(LetStmt{.value = described(box), .var = box.map, .body = std::move(result)});
    }
    return result;
  }

 private:
  /// What is described to the engine once.
  struct Box {
    Ptr<Buffer> source;
    std::size_t row_dimension;
    std::int64_t rows;
    Ptr<Var> map;
  };

  static Stmt memory_of(const Ptr<Buffer>& buffer, Stmt body) {
    return make(Allocate{.dtype = buffer->dtype,
                         .extents = buffer->shape,
                         .condition = true,
                         .annotations = {},
                         .buffer_var = buffer->data,
                         .body = std::move(body)});
  }

  static Expr described(const Box& box) {
    const Buffer& source = *box.source;
    const std::size_t rank = source.shape.size();
    std::vector<Expr> extents, strides, box_extents;
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t columns = bytes_of_row / source.dtype.bytes();
      const std::int64_t extent = d + 1 == rank ? columns : d == box.row_dimension ? box.rows : 1;
      extents.push_back(cast(i64, source.shape[d]));
      strides.push_back(cast(i64, stride_of(source, d)));
      box_extents.push_back(int_imm(i64, extent));
    }
    std::vector<Expr> arguments{string_imm(std::string(device_tensor_map)),
                                read_pointer(source, int_imm(i64, 0))};
    for (const auto* list : {&extents, &strides, &box_extents}) {
      arguments.insert(arguments.end(), list->begin(), list->end());
    }
    return call(i64, op("tvm_call_packed"), std::move(arguments));
  }

  const Expr& condition() const { return copies_.begin()->second.condition; }
  Expr groups() const { return load(groups_, {int_imm(i32, 0)}); }
  Expr barrier_count() const { return cast(u32, arrived_->shape[0]); }
  Expr barrier_of(const Expr& group) const {
    return address(arrived_, {cast(i32, floormod(group, barrier_count()))});
  }

  const Ptr<Var>& map_of(const TileCopy& copy) {
    for (const Box& box : boxes_) {
      const bool is_it = box.source.same_as(copy.source) && box.rows == copy.rows &&
                         box.row_dimension == copy.row_dimension;
      if (is_it) return box.map;
    }
    boxes_.push_back(
        {copy.source, copy.row_dimension, copy.rows, var(copy.source->name + "_map", i64)});
    return boxes_.back().map;
  }

  /// The first thread of all makes the barriers.
  Stmt prepare(std::int64_t count) const {
    Expr is_first = true;
    for (const Ptr<For>& loop : launch_.threads) {
      is_first = is_first && loop->loop_var == int_imm(loop->loop_var->dtype, 0);
    }
    std::vector<Stmt> made;
    for (std::int64_t i = 0; i < count; ++i) {
      made.push_back(make(Evaluate{
          .value = call(i32, op("ptx_init_barrier_thread_count"),
                        {address(arrived_, {int_imm(i32, i)}), int_imm(i32, *threads_)})}));
    }
    return make(IfThenElse{.condition = is_first, .then_case = seq(std::move(made))});
  }

  Stmt start(const TileCopy& copy) {
    Expr offset = int_imm(i64, 0);
    for (std::size_t d = 0; d < copy.from.size(); ++d) {
      offset = offset + cast(i64, copy.from[d]) * cast(i64, stride_of(*copy.source, d));
    }
    std::vector<Expr> arguments{address(copy.tile, copy.into),
                                read_pointer(*copy.source, offset),
                                map_of(copy),
                                barrier_of(groups()),
                                int_imm(i32, copy.rows),
                                cast(i64, stride_of(*copy.source, copy.row_dimension))};
    arguments.insert(arguments.end(), copy.from.rbegin(), copy.from.rend());
    const Expr started = call(i32, op("dma_copy"), std::move(arguments));
    return make(
        IfThenElse{.condition = copy.condition, .then_case = make(Evaluate{.value = started})});
  }

  Stmt commit() const {
    const Expr arrives = call(i32, op("ptx_arrive_barrier"), {barrier_of(groups())});
    return seq(
        {make(IfThenElse{.condition = condition(), .then_case = make(Evaluate{.value = arrives})}),
         store(groups_, groups() + int_imm(u32, 1), {int_imm(i32, 0)})});
  }

  /// Waits until all groups but the last `under_way` have arrived: those before the last of these
  /// were waited for before.
  Stmt wait(std::int64_t under_way) const {
    const Expr group = groups() - int_imm(u32, under_way + 1);
    const Expr phase = floormod(floordiv(group, barrier_count()), int_imm(u32, 2));
    return make(Evaluate{.value = call(i32, op("dma_wait"), {barrier_of(group), phase})});
  }

  Launch launch_;
  std::unordered_map<const AttrStmt*, TileCopy> copies_;
  std::int64_t under_way_ = 0;
  std::optional<std::int64_t> threads_;  ///< That copy.
  Ptr<Buffer> arrived_, groups_;
  std::vector<Box> boxes_;
};

}  // namespace

Ptr<PrimFunc> copy_tiles(const Ptr<PrimFunc>& func) {
  if (!has_products_of_four_warps(func->body)) return func;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    const Stmt stmt(&loop);
    if (!is_launch_loop(stmt)) return rewrite.children(loop);
    TileCopier copier(*func, launch_of(stmt));
    return copier.applies() ? copier.run() : stmt;
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
