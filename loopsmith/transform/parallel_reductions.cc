// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/parallel_reductions.h"

#include <algorithm>

#include "loopsmith/arith/accumulators.h"
#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/atomic_update.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/regroups.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/error.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/thread_reduction_form.h"

namespace loopsmith {
namespace {

using Values = std::vector<Expr>;
using Buffers = std::vector<Ptr<Buffer>>;

/// Results of two parts share no line of the cache.
constexpr std::int64_t line_bits = 512;

/// What two values, or tuples of them, combine to.
Values combined(const Accumulator& of, const Values& old, const Values& more) {
  if (of.reduction) return loopsmith::combined(*of.reduction, old, more);
  return {loopsmith::combined(of.combiner, old[0], more[0])};
}

/// The values that change nothing; nullopt where what the results hold does, as x with x is x.
std::optional<Values> neutral_of(const Accumulator& of) {
  if (of.reduction) return loopsmith::neutral_of(*of.reduction);
  return Values{neutral_element(of.combiner, of.buffers[0]->dtype)};
}

Values loads(const Buffers& buffers, const Values& place) {
  Values values;
  for (const Ptr<Buffer>& buffer : buffers) values.push_back(load(buffer, place));
  return values;
}

bool is_among(const Buffers& buffers, const Ptr<Buffer>& buffer) {
  return std::ranges::any_of(buffers, [&](const auto& each) { return each.same_as(buffer); });
}

/// What a statement combines that a block has marked.
std::optional<KnownReduction> tuples_of(const AttrStmt& stmt) {
  return stmt.attr_key == combines_key ? updates_of(stmt.body, stmt.node) : std::nullopt;
}

/// True where some of the values differ.
Expr differ(const Values& a, const Values& b) {
  Expr result = a[0] != b[0];
  for (std::size_t i = 1; i < a.size(); ++i) result = result || a[i] != b[i];
  return result;
}

/// One loop whose iterations have partial results.
class PartialResults {
 public:
  /// In `count` parts of a parallel loop.
  PartialResults(const For& loop, std::vector<Accumulator> accumulators, std::int64_t count)
      : loop_(loop), accumulators_(std::move(accumulators)), count_(count) {
    const Ptr<Var> part = var(loop_.loop_var->name + "_part", loop_.loop_var->dtype);
    part_ = {part};
    for (const Accumulator& each : accumulators_) partial_.push_back(rows(each));
  }
  /// For each thread; `around` are the loops over other threads of the block.
  PartialResults(const For& loop, std::vector<Accumulator> accumulators,
                 const std::vector<Ptr<For>>& around)
      : loop_(loop), accumulators_(std::move(accumulators)) {
    std::vector<Expr> extents;
    for (const Ptr<For>& each : around) {
      part_.push_back(each->loop_var - each->min);
      extents.push_back(each->extent);
    }
    part_.push_back(loop_.loop_var - loop_.min);
    extents.push_back(loop_.extent);
    for (const Accumulator& each : accumulators_) {
      Buffers shared;
      for (const Ptr<Buffer>& buffer : each.buffers) {
        std::vector<Expr> shape = extents;
        for (const arith::Interval& side : each.box) shape.push_back(width(side));
        shared.push_back(decl_buffer(std::move(shape), buffer->dtype, buffer->name + "_parts",
                                     std::string(name_of(MemoryScope::shared))));
      }
      partial_.push_back(std::move(shared));
    }
  }

  Stmt run() {
    std::vector<Stmt> statements{count_ ? parts() : threads()};
    for (std::size_t i = 0; i < accumulators_.size(); ++i) combine(i, statements);
    Stmt result = seq(std::move(statements));
    for (std::size_t i = partial_.size(); i-- > 0;) {
      for (std::size_t j = partial_[i].size(); j-- > 0;) {
        const Ptr<Buffer>& buffer = partial_[i][j];
        result = make(Allocate{.dtype = buffer->dtype,
                               .extents = buffer->shape,
                               .condition = true,
                               .buffer_var = buffer->data,
                               .body = make(DeclBuffer{.buffer = buffer, .body = result})});
      }
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
  Buffers rows(const Accumulator& of) const {
    Buffers made;
    for (const Ptr<Buffer>& buffer : of.buffers) made.push_back(row(of, *buffer));
    return made;
  }

  Ptr<Buffer> row(const Accumulator& of, const Buffer& buffer) const {
    std::vector<Expr> shape{int_imm(loop_.loop_var->dtype, count_)};
    std::int64_t bits = buffer.dtype.bits;  // Of a row, up to a line.
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
    return decl_buffer(std::move(shape), buffer.dtype, buffer.name + "_parts");
  }

  /// The element of part `part` at `place` in the box.
  static Values place_of(const Buffers& partial, Values part, const Values& place) {
    part.insert(part.end(), place.begin(), place.end());
    if (part.size() < partial[0]->shape.size()) part.emplace_back(0);
    return part;
  }

  /// The element of the results at `place` in the box.
  static Values result_at(const Accumulator& of, const Values& place) {
    Values indices;
    for (std::size_t d = 0; d < place.size(); ++d) indices.push_back(of.box[d].min + place[d]);
    return indices;
  }

  /// The part of that number; of a thread, along the last of the axes.
  Values part_at(const Expr& number) const {
    Values part = part_;
    part.back() = number;
    return part;
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

  /// What each part begins with.
  std::vector<Stmt> starts() const {
    std::vector<Stmt> statements;
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      const Accumulator& of = accumulators_[i];
      statements.push_back(each_element(of, [&](const Values& place) {
        const auto neutral = neutral_of(of);
        const Values start = neutral ? *neutral : loads(of.buffers, result_at(of, place));
        return store_tuple(partial_[i], place_of(partial_[i], part_, place), start);
      }));
    }
    return statements;
  }

  Stmt threads() const {
    For all = loop_;
    std::vector<Stmt> body = starts();
    body.push_back(redirected());
    all.body = seq(std::move(body));
    return make(std::move(all));
  }

  Stmt parts() const {
    const DataType type = loop_.loop_var->dtype;
    const Expr& part = part_[0];
    std::vector<Stmt> body = starts();
    const Expr length = Analyzer().simplify(ceildiv(loop_.extent, int_imm(type, count_)));
    const Ptr<Var> inside = var(loop_.loop_var->name + "_in_part", type);
    const Expr iteration = part * length + inside;
    Stmt once = substitute(redirected(), {{loop_.loop_var, loop_.min + iteration * loop_.step}});
    const std::int64_t* extent = as_int(loop_.extent);
    if (!extent || *extent % count_ != 0) once = guarded(iteration < loop_.extent, once);
    body.push_back(for_loop(inside, int_imm(type, 0), length, std::move(once)));
    For all = loop_;
    all.loop_var = Ptr<Var>::from(part);
    all.min = int_imm(type, 0);
    all.extent = int_imm(type, count_);
    all.step = int_imm(type, 1);
    all.body = seq(std::move(body));
    return make(std::move(all));
  }

  /// What a loop inside records, of the results of a part.
  Stmt recorded(const Ptr<For>& inner) const {
    auto names = regrouped_names(*inner);
    if (!names) return inner;
    for (std::size_t i = 0; i < accumulators_.size(); ++i) {
      for (std::size_t j = 0; j < partial_[i].size(); ++j) {
        std::ranges::replace(*names, accumulators_[i].buffers[j]->name, partial_[i][j]->name);
      }
    }
    return make(with_regrouped(*inner, *names));
  }

  /// The body, which updates the results of a part.
  Stmt redirected() const {
    Rewriter rewrite;
    rewrite.on<For>([&](const For& node) { return recorded(rewrite.children(node)); });
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      for (std::size_t i = 0; i < accumulators_.size(); ++i) {
        const Accumulator& of = accumulators_[i];
        const auto accumulation = of.reduction || !of.buffers[0].same_as(node.buffer)
                                      ? std::nullopt
                                      : accumulation_of(node);
        if (!accumulation || accumulation->combiner != of.combiner) continue;
        return update(i, node.indices, {accumulation->operand});
      }
      return rewrite.children(node);
    });
    rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
      const auto updates = tuples_of(node);
      for (std::size_t i = 0; updates && i < accumulators_.size(); ++i) {
        const auto& reduction = accumulators_[i].reduction;
        if (reduction && is_among(updates->buffers, reduction->buffers[0])) {
          return update(i, updates->indices, updates->sources);
        }
      }
      return rewrite.children(node);
    });
    return rewrite(loop_.body);
  }

  /// An update of a part's results in place of one of element `at`.
  Stmt update(std::size_t i, const Values& at, const Values& more) const {
    const Accumulator& of = accumulators_[i];
    Values place;
    for (std::size_t d = 0; d < of.box.size(); ++d) {
      place.push_back(cast(of.box[d].min.dtype(), at[d]) - of.box[d].min);
    }
    return add(i, part_, place, more);
  }

  /// Combines the element at `place` of a part with more.
  Stmt add(std::size_t i, const Values& part, const Values& place, const Values& more) const {
    const Buffers& partial = partial_[i];
    const Values at = place_of(partial, part, place);
    return store_tuple(partial, at, combined(accumulators_[i], loads(partial, at), more));
  }

  /// Adds up the rows: those of a group in its first one, then these in the buffer.
  void combine(std::size_t i, std::vector<Stmt>& statements) const {
    const Accumulator& of = accumulators_[i];
    const Buffers& partial = partial_[i];
    const DataType type = loop_.loop_var->dtype;
    std::int64_t step = 1;
    const Expr rows = count_ ? int_imm(type, count_) : loop_.extent;
    if (count_ > partial_result_group) {
      step = partial_result_group;
      const Ptr<Var> group = var("group", type), other = var("other", type);
      const Expr first = group * int_imm(type, step);
      const Stmt all = each_element(of, [&](const Values& place) {
        const auto from = place_of(partial, part_at(first + other), place);
        return add(i, part_at(first), place, loads(partial, from));
      });
      const Stmt others = for_loop(other, int_imm(type, 1), int_imm(type, step - 1), all);
      statements.push_back(for_loop(group, int_imm(type, 0), int_imm(type, count_ / step), others));
    }
    const Ptr<Var> row = var("row", type);
    const Stmt all = each_element(of, [&](const Values& place) {
      const Values more =
          loads(partial, place_of(partial, part_at(row * int_imm(type, step)), place));
      const Values indices = result_at(of, place);
      const Values old = loads(of.buffers, indices);
      const Stmt update = store_tuple(of.buffers, indices, combined(of, old, more));
      if (of.is_exact) return update;
      // What no iteration updated may be another's, or was never written.
      return guarded(differ(more, neutral_of(of).value_or(old)), update);
    });
    const Expr count = step == 1 ? rows : int_imm(type, count_ / step);
    statements.push_back(for_loop(row, int_imm(type, 0), count, all));
  }

  const For& loop_;
  std::vector<Accumulator> accumulators_;
  std::int64_t count_ = 0;        ///< Of the parts; 0: each thread is one.
  Values part_;                   ///< The numbers of a part.
  std::vector<Buffers> partial_;  ///< The partial results of each accumulator.
};

/// What a loop accumulates apart, and what it updates atomically.
struct Treatment {
  std::vector<Accumulator> apart = {};
  std::vector<std::string> atomic = {};
};

/// What a block in the loop combines together with what the buffer has.
Buffers tuple_with(const For& loop, const Ptr<Buffer>& buffer) {
  Buffers tuple;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    const auto* attribute = ref.as<AttrStmt>();
    const auto updates = attribute ? tuples_of(*attribute) : std::nullopt;
    if (updates && is_among(updates->buffers, buffer)) tuple = updates->buffers;
    return tuple.empty() && !is_expr(*ref.get());
  });
  return tuple;
}

Treatment treatment_of(const For& loop) {
  Treatment result;
  Buffers done;
  for (const Ptr<Buffer>& buffer : regrouped_buffers(loop)) {
    if (is_among(done, buffer)) continue;
    Buffers tuple{buffer};
    auto found = accumulators_of(loop, tuple);
    if (prefers_atomic_updates(loop, found ? &*found : nullptr) &&
        updates_are_atomic(loop, buffer)) {
      result.atomic.push_back(buffer->name);
      continue;
    }
    if (!found) {
      tuple = tuple_with(loop, buffer);
      if (!tuple.empty()) found = accumulators_of(loop, tuple);
    }
    require(found.has_value(), ErrorKind::lower, "record_fits",
            hint("leave the annotation out: what the loop regroups is then found out"), loop.span,
            "loop {}: annotation \"{}\" names {}, whose updates have no partial results",
            loop.loop_var->name, regroups_key, buffer->name);
    result.apart.insert(result.apart.end(), found->begin(), found->end());
    done.insert(done.end(), tuple.begin(), tuple.end());
  }
  return result;
}

/// The function without the marks of blocks.
Ptr<PrimFunc> without_marks(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  rewrite.on<AttrStmt>([&](const AttrStmt& node) -> Stmt {
    const Ptr<AttrStmt> inner = rewrite.children(node);
    return node.attr_key == combines_key ? inner->body : Stmt(inner);
  });
  return rewrite.body_of(func);
}

}  // namespace

Ptr<PrimFunc> parallel_reductions(const Ptr<PrimFunc>& func) {
  Rewriter rewrite;
  std::vector<Ptr<For>> threads;  // The loops over threads of the block that are around.
  bool is_in_launch = false;
  rewrite.on<For>([&](const For& node) -> Stmt {
    const bool is_thread = is_thread_axis(thread_axis_of(node));
    const bool was_in_launch = std::exchange(
        is_in_launch, is_in_launch || is_thread || is_block_axis(thread_axis_of(node)));
    if (is_thread) threads.emplace_back(&node);
    const Ptr<For> loop = rewrite.children(node);
    if (is_thread) threads.pop_back();
    is_in_launch = was_in_launch;
    if (!runs_in_threads(node) || regrouped_buffers(node).empty()) return loop;
    auto [apart, atomic] = treatment_of(*loop);
    if (apart.empty()) return loop;
    For rest = with_regrouped(*loop, atomic);
    if (is_thread) {
      const Stmt made = PartialResults(rest, std::move(apart), threads).run();
      return is_in_launch ? made : in_one_block(*loop, made);
    }
    const std::int64_t count = partial_result_count(rest, apart);
    if (count > 1) return PartialResults(rest, std::move(apart), count).run();
    rest.kind = ForKind::serial;
    return make(std::move(rest));
  });
  return without_marks(rewrite.body_of(func));
}

}  // namespace loopsmith
