// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/keep_accumulators.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loop_body.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// An element that a loop updates.
struct Kept {
  const BufferStore* store = nullptr;
  Ptr<Buffer> register_buffer;
};

/// Elements of an array that code generation keeps in registers, if any.
constexpr std::int64_t max_register_elements = 256;

/// True of what no other buffer overlaps and registers may hold as it is.
bool is_register(const Buffer& buffer) {
  const Expr count = element_count(buffer);
  const std::int64_t* elements = as_int(count);
  return memory_scope(buffer) == MemoryScope::local && elements &&
         *elements <= max_register_elements;
}

class Keeper {
 public:
  explicit Keeper(const PrimFunc& func)
      : distinct_(func, rewrite_), arguments_are_apart_(func.attrs.get_int("tir.noalias", 0) != 0) {
    rewrite_.on<For>([this](const For& loop) -> Stmt {
      const bool is_inner = !contains<For>(loop.body);
      const bool is_serial = loop.kind == ForKind::serial || loop.kind == ForKind::unrolled;
      if (is_inner && is_serial) return with_registers(loop);
      around_.push_back(&loop);
      Stmt result = rewrite_.children(loop);
      around_.pop_back();
      return result;
    });
  }

  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) { return rewrite_.body_of(func); }

 private:
  bool is_same_place(const BufferStore& store, const Expr& index) const {
    return structural_equal(store.indices[0], index) || distance(store, index) == 0;
  }

  /// True when a load reads what the store writes, in the same lanes.
  bool reads_back(const BufferStore& store, const BufferLoad& load) const {
    return load.buffer.same_as(store.buffer) && is_same_place(store, load.indices[0]) &&
           structural_equal(store.predicate, load.predicate);
  }

  /// The first of neighbours in memory, with its terms in the type of all; null for other vectors.
  static Expr first_of(const Expr& index) {
    const auto* ramp = index.as<Ramp>();
    if (index.dtype().is_vector() && !(ramp && is_const_int(ramp->stride, 1))) return nullptr;
    Rewriter widen;
    widen.on<Cast>([&](const Cast& node) -> Expr {
      if (!node.dtype.is_index() || node.value.dtype() != i32) return Ptr<Cast>(&node);
      const auto wide = [&](const Expr& part) { return widen(cast(node.dtype, part)); };
      if (const auto* sum = node.value.as<Add>()) return wide(sum->a) + wide(sum->b);
      if (const auto* difference = node.value.as<Sub>()) {
        return wide(difference->a) - wide(difference->b);
      }
      return Ptr<Cast>(&node);
    });
    return widen(ramp ? ramp->base : index);
  }

  /// How far a store's first element is behind that at the index, where this is a number.
  std::optional<std::int64_t> distance(const BufferStore& store, const Expr& index) const {
    if (store.indices[0].dtype() != index.dtype()) return {};
    const Expr own = first_of(store.indices[0]), other = first_of(index);
    if (!own.defined() || !other.defined()) return {};
    const Expr difference = analyzer_.simplify(own - other);
    const std::int64_t* known = as_int(difference);
    return known ? std::optional(*known) : std::nullopt;
  }

  /// True for elements a known distance apart, as those of an unrolled loop are.
  bool is_another_place(const BufferStore& store, const Expr& index) const {
    const auto known = distance(store, index);
    return known && std::abs(*known) >= index.dtype().lanes;
  }

  /// True when a loop updates the element by its own store alone, and code generation does not see
  /// so itself: it knows what arguments of a function are apart, but no indices.
  bool is_untouched(const For& loop, const LoopBody& body, const BufferStore& store) const {
    bool asks_indices = false, has_neighbours = false;
    for (const BufferStore* other : body.stores) {
      if (other == &store || distinct_.are_apart(store.buffer, other->buffer)) continue;
      if (!other->buffer.same_as(store.buffer) || !is_another_place(store, other->indices[0])) {
        return false;
      }
      has_neighbours = true;
    }
    for (const BufferLoad* load : body.loads) {
      if (distinct_.are_apart(store.buffer, load->buffer)) continue;
      if (!load->buffer.same_as(store.buffer)) return false;
      const Expr& index = load->indices[0];
      if (is_same_place(store, index)) {
        if (!reads_back(store, *load)) return false;
        continue;
      }
      (is_another_place(store, index) ? has_neighbours : asks_indices) = true;
    }
    // What is stored under a mask, it leaves in memory.
    const bool is_masked = store.predicate.defined();
    if (!asks_indices) return has_neighbours || is_masked || !arguments_are_apart_;
    if (!accumulation_of(store)) return false;
    Dependences dependences(in_turn_inside(loop, around_));
    return dependences.accumulator_is_private(loop.loop_var, store.buffer).verdict ==
           Verdict::proved;
  }

  Stmt with_registers(const For& loop) {
    const LoopBody body(loop.body);
    if (!body.is_simple || !is_timeless(loop.extent)) return Stmt(&loop);
    std::vector<Kept> all;
    std::vector<const BufferStore*> stores = body.sure_stores;
    std::ranges::copy(body.masked_stores, std::back_inserter(stores));
    for (const BufferStore* store : stores) {
      // An unrolled loop may do one and the same statement several times.
      const auto is_kept = [&](const Kept& each) { return each.store == store; };
      if (std::ranges::any_of(all, is_kept)) continue;
      const Expr& index = store->indices[0];
      const auto stays_the_same = [&](const Expr& expr) {
        return !uses_variable(expr, loop.loop_var) && body.is_fixed(expr);
      };
      const bool stays = store->indices.size() == 1 && stays_the_same(index) &&
                         (!store->predicate.defined() || stays_the_same(store->predicate));
      const bool is_read = stays && std::ranges::any_of(body.loads, [&](const BufferLoad* load) {
                             return reads_back(*store, *load);
                           });
      if (!is_read || is_register(*store->buffer)) continue;
      if (!is_untouched(loop, body, *store)) continue;
      const DataType type = store->value.dtype();
      all.push_back({store, decl_buffer({int{type.lanes}}, type.element(),
                                        store->buffer->name + "_kept", "local")});
    }
    return all.empty() ? Stmt(&loop) : rewritten(loop, all);
  }

  static std::vector<Expr> all_of(const Kept& kept) {
    const int lanes = kept.store->value.dtype().lanes;
    if (lanes == 1) return {0};
    return {make(Ramp{.base = 0, .stride = 1, .lanes = lanes})};
  }

  Stmt rewritten(const For& loop, const std::vector<Kept>& all) const {
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      for (const Kept& each : all) {
        if (reads_back(*each.store, node)) return load(each.register_buffer, all_of(each));
      }
      return rewrite.children(node);
    });
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      for (const Kept& each : all) {
        if (each.store == &node)
          return store(each.register_buffer, rewrite(node.value), all_of(each));
      }
      return rewrite.children(node);
    });
    For copy = loop;
    copy.body = rewrite(loop.body);
    std::vector<Stmt> statements;
    for (const Kept& each : all) {
      const BufferStore& kept = *each.store;
      statements.push_back(
          store(each.register_buffer,
                make(BufferLoad{
                    .buffer = kept.buffer, .indices = kept.indices, .predicate = kept.predicate}),
                all_of(each)));
    }
    statements.push_back(make(std::move(copy)));
    for (const Kept& each : all) {
      BufferStore after = *each.store;
      after.value = load(each.register_buffer, all_of(each));
      statements.push_back(make(std::move(after)));
    }
    // Where the loop does not run, the element may not be there.
    const Expr runs = Analyzer().simplify(loop.extent > int_imm(loop.extent.dtype(), 0));
    Stmt result = guarded(runs, seq(std::move(statements)));
    for (const Kept& each : all) result = with_register(each.register_buffer, std::move(result));
    return result;
  }

  Rewriter rewrite_;
  DistinctMemory distinct_;
  bool arguments_are_apart_;
  mutable Analyzer analyzer_;
  std::vector<const For*> around_;
};

}  // namespace

Ptr<PrimFunc> keep_accumulators(const Ptr<PrimFunc>& func) {
  return Keeper(*func).run(func);
}

}  // namespace loopsmith
