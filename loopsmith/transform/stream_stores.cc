// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/stream_stores.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/linear.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loop_body.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

constexpr std::int64_t prefetched_bytes = 64;

/// A serial loop over vectors.
struct VectorLoop {
  const For& loop;
  const For* lane = nullptr;
  std::int64_t lanes = 0;
  std::vector<Expr> conditions;  ///< Of a vector, or of an element.
  Stmt body;                     ///< Of an element for which they hold.
};

/// What a statement does where the conditions hold that it asks first, which are added.
Stmt without_conditions(const Stmt& stmt, std::vector<Expr>& conditions) {
  const auto* branch = stmt.as<IfThenElse>();
  if (!branch || branch->else_case) return stmt;
  const std::vector<Expr> own = arith::conjuncts(branch->condition);
  conditions.insert(conditions.end(), own.begin(), own.end());
  return branch->then_case;
}

std::optional<VectorLoop> vector_loop(const For& loop) {
  VectorLoop found{.loop = loop, .conditions = {}, .body = nullptr};
  const Stmt vector = without_conditions(loop.body, found.conditions);
  found.lane = vector.as<For>();
  if (loop.kind != ForKind::serial || !is_const_int(loop.step, 1) || !found.lane) return {};
  const std::int64_t* lanes = as_int(found.lane->extent);
  const bool is_vector = found.lane->kind == ForKind::vectorized && lanes && *lanes > 1 &&
                         is_const_int(found.lane->min, 0) && is_const_int(found.lane->step, 1);
  if (!is_vector) return {};
  found.lanes = *lanes;
  found.body = without_conditions(found.lane->body, found.conditions);
  return found;
}

/// How an expression moves from element to element; null where it does not do so evenly.
Expr slope_of(const VectorLoop& vectors, const Expr& expr) {
  const std::array variables{vectors.loop.loop_var, vectors.lane->loop_var};
  const std::vector<Expr> linear = detect_linear_equation(expr, variables);
  if (linear.empty()) return nullptr;
  const Expr width = int_imm(linear[1].dtype(), vectors.lanes);
  return Analyzer().can_prove_equal(linear[0], linear[1] * width) ? linear[1] : nullptr;
}

/// Where an expression is at the first element.
Expr at_first(const VectorLoop& vectors, const Expr& expr) {
  return substitute(expr, {{vectors.loop.loop_var, vectors.loop.min},
                           {vectors.lane->loop_var, zero_of(vectors.lane->loop_var->dtype)}});
}

/// How many elements there are; null where conditions do not only bound their number.
Expr element_count(const VectorLoop& vectors) {
  const DataType type = vectors.loop.extent.dtype();
  const Expr width = int_imm(type, vectors.lanes);
  Expr count = vectors.loop.extent * width;
  for (const Expr& condition : vectors.conditions) {
    const auto* less = condition.as<LT>();
    if (!less || less->a.dtype() != type) return nullptr;
    const Expr difference = less->a - less->b;
    const bool is_of_vectors = !uses_variable(condition, vectors.lane->loop_var);
    const Ptr<Var>& along = is_of_vectors ? vectors.loop.loop_var : vectors.lane->loop_var;
    const std::vector<Expr> linear = detect_linear_equation(difference, std::array{along});
    if (linear.empty() || !is_const_int(linear[0], 1)) return nullptr;
    if (!is_of_vectors && !slope_of(vectors, difference).defined()) return nullptr;
    const Expr bound = at_first(vectors, less->b - less->a);
    count = min(count, is_of_vectors ? bound * width : bound);
  }
  return Analyzer().simplify(count);
}

/// Whether elements may be computed twice, and are stored one after another.
bool may_overlap(const VectorLoop& vectors) {
  const LoopBody body(vectors.body);
  const auto is_read = [&](const BufferStore* store) {
    return std::ranges::any_of(body.loads, [&](const BufferLoad* load) {
      return load->buffer->data.same_as(store->buffer->data);
    });
  };
  const auto moves = [&](const BufferStore* store) {
    const Expr slope = store->indices.size() == 1 ? slope_of(vectors, store->indices[0]) : Expr();
    return slope.defined() && is_const_int(slope, 1) && !store->predicate.defined();
  };
  return body.is_simple && !body.stores.empty() && std::ranges::all_of(body.stores, moves) &&
         std::ranges::none_of(body.stores, is_read);
}

/// How many elements the first store is past memory that is aligned for a vector.
Expr elements_past_aligned(const VectorLoop& vectors, std::int64_t vector_bytes) {
  const BufferStore& store = *LoopBody(vectors.body).stores[0];
  const std::int64_t bytes = store.buffer->dtype.bytes();
  const std::int64_t aligned = std::min(vector_bytes, bytes * vectors.lanes);
  if ((bytes & (bytes - 1)) != 0 || (aligned & (aligned - 1)) != 0) return nullptr;
  const Expr place = load(store.buffer, {at_first(vectors, store.indices[0])});
  const Expr address = call(i64, op("reinterpret"), {call(op("address_of"), {place})});
  return floormod(floordiv(address, int_imm(i64, bytes)), int_imm(i64, aligned / bytes));
}

/// Asks for what a vector reads `bytes` ahead of `element`, from buffers that are as large as what
/// is stored.
std::vector<Stmt> prefetches(const VectorLoop& vectors, const Expr& element, std::int64_t bytes) {
  const LoopBody body(vectors.body);
  const std::int64_t* stored = as_int(body.stores[0]->buffer->shape[0]);
  std::vector<const BufferLoad*> known;
  std::vector<Stmt> all;
  for (const BufferLoad* each : body.loads) {
    const std::int64_t* count = as_int(each->buffer->shape[0]);
    const Expr slope = each->indices.size() == 1 ? slope_of(vectors, each->indices[0]) : Expr();
    const bool is_stream = stored && count && *count >= *stored && slope.defined();
    const bool is_known = std::ranges::any_of(known, [&](const BufferLoad* other) {
      return other->buffer.same_as(each->buffer) &&
             structural_equal(other->indices[0], each->indices[0]);
    });
    if (!is_stream || is_known || !is_const_int(slope, 1)) continue;
    known.push_back(each);
    const Expr first = at_first(vectors, each->indices[0]);
    const std::int64_t size = each->buffer->dtype.bytes();
    for (std::int64_t done = 0; done < vectors.lanes * size; done += prefetched_bytes) {
      const Expr place =
          first + cast(first.dtype(), element) + int_imm(first.dtype(), (bytes + done) / size);
      const Expr address = call(op("address_of"), {load(each->buffer, {place})});
      // To be read, once: into the second cache.
      all.push_back(make(Evaluate{.value = call(op("prefetch"), {address, 0, 2, 1})}));
    }
  }
  return all;
}

/// The loop with vectors that start where memory is aligned; null where it is of another form.
Stmt aligned(const For& loop, std::int64_t vector_bytes, std::int64_t bytes_ahead) {
  const auto vectors = vector_loop(loop);
  if (!vectors || !may_overlap(*vectors)) return nullptr;
  const Expr count = element_count(*vectors);
  const Expr behind = count.defined() ? elements_past_aligned(*vectors, vector_bytes) : Expr();
  if (!behind.defined()) return nullptr;
  const DataType type = count.dtype();
  const Expr width = int_imm(type, vectors->lanes);
  const std::string& name = loop.loop_var->name;
  const Ptr<Var> past = var(name + "_past", type), begin = var(name + "_begin", type);
  const Ptr<Var> number = var(name, type), lane = var(vectors->lane->loop_var->name, type);
  const auto at = [&](const Stmt& stmt, const Expr& element) {
    const DataType outer = loop.loop_var->dtype, inner = vectors->lane->loop_var->dtype;
    return clone_with(stmt, {{loop.loop_var, loop.min + cast(outer, floordiv(element, width))},
                             {vectors->lane->loop_var, cast(inner, floormod(element, width))}});
  };
  std::vector<Stmt> parts;
  if (bytes_ahead > 0) parts = prefetches(*vectors, begin, bytes_ahead);
  For inside = *vectors->lane;
  inside.loop_var = lane;
  inside.min = zero_of(type);
  inside.extent = width;
  inside.step = int_imm(type, 1);
  inside.body = at(vectors->body, begin + lane);
  parts.push_back(make(std::move(inside)));
  const Expr last = count - width;
  For outside = loop;
  outside.loop_var = number;
  outside.min = zero_of(type);
  outside.step = int_imm(type, 1);
  outside.extent = ceildiv(count + past, width);
  outside.body = make(LetStmt{.value = max(min(number * width - past, last), zero_of(type)),
                              .var = begin,
                              .body = seq(std::move(parts))});
  const Stmt all =
      make(LetStmt{.value = cast(type, behind), .var = past, .body = make(std::move(outside))});
  const Expr fits = Analyzer().simplify(count >= width);
  if (is_const_int(fits, 1)) return all;
  return make(IfThenElse{
      .condition = fits, .then_case = all, .else_case = clone_with(Ptr<For>(&loop), {})});
}

/// `stmt` with its loops over vectors aligned; null where one of them is of another form.
Stmt all_aligned(const Stmt& stmt, std::int64_t vector_bytes, std::int64_t bytes_ahead) {
  bool are_all = true;
  Rewriter rewrite;
  rewrite.on<For>([&](const For& loop) -> Stmt {
    if (const Stmt done = aligned(loop, vector_bytes, bytes_ahead)) return done;
    are_all = are_all && loop.kind != ForKind::vectorized;
    return rewrite.children(loop);
  });
  Stmt result = rewrite(stmt);
  return are_all ? result : nullptr;
}

/// Lets code generation write past the caches what the statement stores.
Stmt marked(Stmt stmt) {
  std::vector<Ptr<Buffer>> written;
  pre_order_visit(stmt, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    const bool is_new = store && std::ranges::none_of(written, [&](const auto& each) {
                          return each->data.same_as(store->buffer->data);
                        });
    if (is_new) written.push_back(store->buffer);
    return true;
  });
  for (const Ptr<Buffer>& buffer : written) {
    stmt = make(
        AttrStmt{.node = buffer, .attr_key = "nontemporal", .value = 1, .body = std::move(stmt)});
  }
  return stmt;
}

}  // namespace

Ptr<PrimFunc> stream_stores(const Ptr<PrimFunc>& func, int vector_bits) {
  bool are_apart = func->attrs.get_int("tir.noalias", 0) != 0;
  Rewriter rewrite;
  rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
    if (node.attr_key == "tir.noalias") {
      const bool around = std::exchange(are_apart, true);
      Stmt inside = rewrite.children(node);
      are_apart = around;
      return inside;
    }
    if (node.attr_key != "pragma_nontemporal") return rewrite.children(node);
    const std::int64_t* bytes_ahead = as_int(node.value);
    const bool may_stream = are_apart && vector_bits > 0 && bytes_ahead;
    Stmt body = may_stream ? all_aligned(node.body, vector_bits / 8, *bytes_ahead) : nullptr;
    return body ? marked(std::move(body)) : rewrite(node.body);
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
