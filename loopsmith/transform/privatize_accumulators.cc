// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/privatize_accumulators.h"

#include <algorithm>
#include <unordered_map>

#include "loopsmith/arith/accumulators.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/own_elements.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// Results of two parts share no line of the cache.
constexpr std::int64_t line_bits = 512;

/// The buffers in which a loop may accumulate across its iterations: they do not move with it, nor
/// does each iteration have its own.
std::vector<Ptr<Buffer>> candidates(const For& loop) {
  const std::vector<Ptr<Buffer>> own = allocated_buffers(loop.body);
  std::vector<Ptr<Buffer>> found;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    if (!store) return !is_expr(*ref.get());
    const bool moves = std::ranges::any_of(store->indices, [&](const Expr& index) {
      return uses_variable(index, loop.loop_var) && !reads_memory(index);
    });
    const auto is_it = [&](const Ptr<Buffer>& other) { return other.same_as(store->buffer); };
    if (!moves && accumulation_of(*store) && std::ranges::none_of(found, is_it) &&
        std::ranges::none_of(own, is_it)) {
      found.push_back(store->buffer);
    }
    return false;
  });
  return found;
}

/// True when each update of the buffer in the loop is by an index that moves with a loop whose
/// bounds are read from memory.
bool moves_by_memory(const For& loop, const Ptr<Buffer>& buffer) {
  std::vector<Ptr<Var>> moving;
  bool all = true;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* inner = ref.as<For>();
    if (inner && (reads_memory(inner->min) || reads_memory(inner->extent))) {
      moving.push_back(inner->loop_var);
    }
    const auto* store = ref.as<BufferStore>();
    if (store && store->buffer.same_as(buffer)) {
      all = all && std::ranges::any_of(moving, [&](const Ptr<Var>& variable) {
              const auto uses = [&](const Expr& index) { return uses_variable(index, variable); };
              return std::ranges::any_of(store->indices, uses);
            });
    }
    return all && !is_expr(*ref.get());
  });
  return all;
}

/// True when all updates of the buffer in the loop can be atomic.
bool is_atomic(const For& loop, const Ptr<Buffer>& buffer) {
  bool all = true;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    if (store && store->buffer.same_as(buffer)) all = all && atomic_update_in(loop, *store);
    return all && !is_expr(*ref.get());
  });
  return all;
}

/// True when iterations accumulate in an element whose index neither moves nor is read from memory:
/// all of them in the same one.
bool has_common_element(const For& loop, const Ptr<Buffer>& buffer) {
  bool found = false;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    if (store && store->buffer.same_as(buffer) && accumulation_of(*store)) {
      found = found || std::ranges::none_of(store->indices, [&](const Expr& index) {
                return reads_memory(index) || uses_variable(index, loop.loop_var);
              });
    }
    return !found && !is_expr(*ref.get());
  });
  return found;
}

/// What the iterations of a parallel loop update together and can have for themselves instead.
struct Accumulators {
  std::vector<Accumulator> usable = {};
  bool has_others = false;  ///< What is neither usable nor updated atomically.
};

/// Those of a loop; `nest` is that loop inside of what stands around it.
Accumulators accumulators_in(const For& loop, const Stmt& nest, const Stmt& function) {
  std::vector<Accumulator> usable;
  std::vector<Ptr<Buffer>> others;
  const bool is_requested_atomic = loop.annotations.contains(atomic_updates_key);
  const bool has_own_elements = loop.annotations.contains(own_elements_key);
  for (const Ptr<Buffer>& buffer : candidates(loop)) {
    if (has_own_elements && moves_by_memory(loop, buffer)) continue;
    const Ptr<Buffer> one[] = {buffer};
    const auto found = accumulators_of(loop, one, nest);
    const bool any_indirect =
        found && std::ranges::any_of(*found, [](const auto& each) { return each.is_indirect; });
    const bool may_be_atomic =
        found && (is_requested_atomic || any_indirect) && is_atomic(loop, buffer);
    const bool is_usable =
        found && !(may_be_atomic && (is_requested_atomic || !copies_pay(loop, *found)));
    if (is_usable) {
      usable.insert(usable.end(), found->begin(), found->end());
    } else if (!is_atomic(loop, buffer)) {
      others.push_back(buffer);
    }
  }
  if (usable.empty() && others.empty()) return {};
  Dependences dependences(nest, {.local_buffers = allocated_buffers(function)});
  const DependenceAnswer answer = dependences.parallelizable(loop.loop_var);
  if (answer && !answer.reductions) return {};
  if (!answer) {
    // Whoever wrote the loop is believed where nothing is known, as of indices from memory; but all
    // iterations accumulate in an element whose index does not move.
    std::erase_if(usable, [](const Accumulator& each) { return each.is_indirect; });
    std::erase_if(others, [&](const Ptr<Buffer>& each) { return !has_common_element(loop, each); });
  }
  const auto carried = dependences.carried(loop.loop_var);
  const auto is_shared = [&](const Ptr<Buffer>& shared) {
    const auto is_it = [&](const Ptr<Buffer>& buffer) { return buffer.same_as(shared); };
    return std::ranges::none_of(answer.private_buffers, is_it) &&
           std::ranges::any_of(carried, [&](const CarriedDependence& dependence) {
             return dependence.is_reduction && is_it(dependence.buffer);
           });
  };
  std::erase_if(usable, [&](const Accumulator& each) { return !is_shared(each.buffer); });
  return {std::move(usable), std::ranges::any_of(others, is_shared)};
}

/// One loop, cut into parts.
class Privatization {
 public:
  Privatization(const For& loop, std::vector<Accumulator> accumulators, std::int64_t count)
      : loop_(loop), accumulators_(std::move(accumulators)), count_(count) {
    for (const Accumulator& each : accumulators_) partial_.push_back(partial_results(each));
  }

  Stmt run() {
    std::vector<Stmt> statements{parts()};
    for (std::size_t i = 0; i < accumulators_.size(); ++i) combine(i, statements);
    Stmt result = seq(std::move(statements));
    for (std::size_t i = partial_.size(); i-- > 0;) {
      const Ptr<Buffer>& buffer = partial_[i];
      result = make(DeclBuffer{.buffer = buffer, .body = std::move(result)});
      result = make(Allocate{.dtype = buffer->dtype,
                             .extents = buffer->shape,
                             .condition = true,
                             .buffer_var = buffer->data,
                             .body = std::move(result)});
    }
    return result;
  }

 private:
  /// Nothing where loops inside do not run.
  static Expr width(const arith::Interval& side) {
    Analyzer analyzer;
    const DataType type = side.max.dtype();
    const Expr width = analyzer.simplify(side.max - side.min + int_imm(type, 1));
    return analyzer.can_prove(width >= int_imm(type, 0)) ? width : max(width, int_imm(type, 0));
  }

  /// A row of results for each part, at least a line of the cache long.
  Ptr<Buffer> partial_results(const Accumulator& of) const {
    std::vector<Expr> shape{int_imm(loop_.loop_var->dtype, count_)};
    std::int64_t bits = of.buffer->dtype.bits;  // Of a row, up to a line.
    for (const arith::Interval& side : of.box) {
      shape.push_back(width(side));
      const std::int64_t* number = as_int(shape.back());
      bits = number && *number < line_bits ? std::min(bits * *number, line_bits) : line_bits;
    }
    const std::int64_t copies = (line_bits + bits - 1) / bits;
    if (of.box.empty()) {
      shape.push_back(int_imm(i32, copies));
    } else if (copies > 1) {
      shape.back() = int_imm(shape.back().dtype(), *as_int(shape.back()) * copies);
    }
    return decl_buffer(std::move(shape), of.buffer->dtype, of.buffer->name + "_parts");
  }

  /// The element of part `part` at `place` in the box.
  static std::vector<Expr> place_of(const Ptr<Buffer>& partial, const Expr& part,
                                    const std::vector<Expr>& place) {
    std::vector<Expr> indices{part};
    indices.insert(indices.end(), place.begin(), place.end());
    if (indices.size() < partial->shape.size()) indices.emplace_back(0);
    return indices;
  }

  /// Does something for each element of a box.
  template <class Body>
  static Stmt each_element(const Accumulator& of, Body&& body) {
    std::vector<For> loops;
    std::vector<Expr> place;
    for (const arith::Interval& side : of.box) {
      const Ptr<Var> variable = var("e", side.min.dtype());
      place.push_back(variable);
      loops.push_back({.loop_var = variable,
                       .min = int_imm(side.min.dtype(), 0),
                       .extent = width(side),
                       .step = int_imm(side.min.dtype(), 1)});
    }
    Stmt result = body(place);
    for (std::size_t i = loops.size(); i-- > 0;) {
      loops[i].body = std::move(result);
      result = make(std::move(loops[i]));
    }
    return result;
  }

  Stmt parts() const {
    const DataType type = loop_.loop_var->dtype;
    const Ptr<Var> part = var(loop_.loop_var->name + "_part", type);
    std::vector<Stmt> body;
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      body.push_back(each_element(accumulators_[i], [&](const std::vector<Expr>& place) {
        const Expr start = neutral_element(accumulators_[i].combiner, partial_[i]->dtype);
        return store(partial_[i], start, place_of(partial_[i], part, place));
      }));
    }
    const Expr length = Analyzer().simplify(ceildiv(loop_.extent, int_imm(type, count_)));
    const Ptr<Var> inside = var(loop_.loop_var->name + "_in_part", type);
    const Expr iteration = part * length + inside;
    Stmt once =
        substitute(redirected(part), {{loop_.loop_var, loop_.min + iteration * loop_.step}});
    const std::int64_t* extent = as_int(loop_.extent);
    if (!extent || *extent % count_ != 0) once = guarded(iteration < loop_.extent, once);
    body.push_back(for_loop(inside, int_imm(type, 0), length, std::move(once)));
    For all = loop_;
    all.loop_var = part;
    all.min = int_imm(type, 0);
    all.extent = int_imm(type, count_);
    all.step = int_imm(type, 1);
    all.body = seq(std::move(body));
    return make(std::move(all));
  }

  /// The body, which updates the results of a part.
  Stmt redirected(const Ptr<Var>& part) const {
    Rewriter rewrite;
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      for (std::size_t i = 0; i < accumulators_.size(); ++i) {
        const Accumulator& of = accumulators_[i];
        if (!of.buffer.same_as(node.buffer)) continue;
        const auto accumulation = accumulation_of(node);
        if (!accumulation || accumulation->combiner != of.combiner) continue;
        std::vector<Expr> place;
        for (std::size_t d = 0; d < of.box.size(); ++d) {
          place.push_back(cast(of.box[d].min.dtype(), node.indices[d]) - of.box[d].min);
        }
        const auto indices = place_of(partial_[i], part, place);
        const Expr old = load(partial_[i], indices);
        return store(partial_[i], combined(of.combiner, old, accumulation->operand), indices);
      }
      return rewrite.children(node);
    });
    return rewrite(loop_.body);
  }

  /// Adds up the rows: those of a group in its first one, then these in the buffer.
  void combine(std::size_t i, std::vector<Stmt>& statements) const {
    const Accumulator& of = accumulators_[i];
    const Ptr<Buffer>& partial = partial_[i];
    const DataType type = loop_.loop_var->dtype;
    std::int64_t step = 1;
    if (count_ > partial_result_group) {
      step = partial_result_group;
      const Ptr<Var> group = var("group", type), other = var("other", type);
      const Expr first = group * int_imm(type, step);
      const Stmt add = each_element(of, [&](const std::vector<Expr>& place) {
        const auto into = place_of(partial, first, place);
        const auto from = place_of(partial, first + other, place);
        return store(partial, combined(of.combiner, load(partial, into), load(partial, from)),
                     into);
      });
      const Stmt rows = for_loop(other, int_imm(type, 1), int_imm(type, step - 1), add);
      statements.push_back(for_loop(group, int_imm(type, 0), int_imm(type, count_ / step), rows));
    }
    const Ptr<Var> row = var("row", type);
    const Stmt add = each_element(of, [&](const std::vector<Expr>& place) {
      const Expr more = load(partial, place_of(partial, row * int_imm(type, step), place));
      std::vector<Expr> indices;
      for (std::size_t d = 0; d < place.size(); ++d) indices.push_back(of.box[d].min + place[d]);
      const Expr old = load(of.buffer, indices);
      const Stmt update = store(of.buffer, combined(of.combiner, old, more), indices);
      if (of.is_exact) return update;
      // What no iteration updated may be another's, or was never written.
      return guarded(more != neutral_element(of.combiner, partial->dtype), update);
    });
    statements.push_back(for_loop(row, int_imm(type, 0), int_imm(type, count_ / step), add));
  }

  const For& loop_;
  std::vector<Accumulator> accumulators_;
  std::int64_t count_;
  std::vector<Ptr<Buffer>> partial_;
};

}  // namespace

Ptr<PrimFunc> privatize_accumulators(const Ptr<PrimFunc>& func) {
  std::unordered_map<const Object*, Accumulators> found;
  const auto is_parallel = [](const For& loop) { return loop.kind == ForKind::parallel; };
  each_loop_alone(func->body, is_parallel, [&](const For& loop, const Stmt& nest) {
    auto accumulators = accumulators_in(loop, nest, func->body);
    if (!accumulators.usable.empty() || accumulators.has_others) {
      found.emplace(loop.loop_var.get(), std::move(accumulators));
    }
  });
  if (found.empty()) return func;

  Rewriter rewrite;
  rewrite.on<For>([&](const For& node) -> Stmt {
    const Ptr<For> loop = rewrite.children(node);
    const auto accumulators = found.find(node.loop_var.get());
    if (accumulators == found.end()) return loop;
    const auto& [usable, has_others] = accumulators->second;
    const std::int64_t count = has_others ? 0 : partial_result_count(*loop, usable);
    if (count > 1) return Privatization(*loop, usable, count).run();
    For serial = *loop;
    serial.kind = ForKind::serial;
    return make(std::move(serial));
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
