// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/tiles_in_registers.h"

#include <algorithm>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/iter_map.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loop_body.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// A tile is not to be larger than the registers of the largest processors.
constexpr std::int64_t max_tile_bits = 32 * 512;

/// The body of a loop that updates a tile.
struct KeptTile {
  std::vector<const For*> loops;  ///< Over the tile.
  std::vector<Expr> conditions;   ///< Those of an element, which are the same in each iteration.
  const BufferStore* store = nullptr;
  Ptr<Buffer> registers;
};

class TileKeeper {
 public:
  explicit TileKeeper(const PrimFunc& func) : distinct_(func, rewrite_) {
    rewrite_.on<For>([this](const For& loop) -> Stmt {
      if (const auto tile = tile_of(loop)) return kept(loop, *tile);
      around_.push_back(&loop);
      Stmt result = rewrite_loop(rewrite_, analyzer_, loop);
      around_.pop_back();
      return result;
    });
  }

  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) { return rewrite_.body_of(func); }

 private:
  std::optional<KeptTile> tile_of(const For& loop) {
    const auto is_in_step = [](const For* outer) {
      return outer->kind == ForKind::thread_binding || outer->kind == ForKind::vectorized;
    };
    if (loop.kind != ForKind::serial || std::ranges::any_of(around_, is_in_step)) return {};
    KeptTile tile;
    std::vector<Expr> conditions;
    const Stmt* body = &loop.body;
    std::int64_t bits = 1;
    bool has_unrolled = false;
    for (;; body = body->is<For>() ? &body->as<For>()->body : &body->as<IfThenElse>()->then_case) {
      if (const auto* inner = body->as<For>()) {
        const std::int64_t* extent = as_int(inner->extent);
        const bool is_of_tile =
            inner->kind == ForKind::unrolled || inner->kind == ForKind::vectorized;
        if (!is_of_tile || !extent || *extent < 1 || !is_const_int(inner->min, 0) ||
            !is_const_int(inner->step, 1) || __builtin_mul_overflow(bits, *extent, &bits)) {
          return {};
        }
        has_unrolled = has_unrolled || inner->kind == ForKind::unrolled;
        tile.loops.push_back(inner);
      } else if (const auto* branch = body->as<IfThenElse>(); branch && !branch->else_case) {
        const std::vector<Expr> own = arith::conjuncts(branch->condition);
        conditions.insert(conditions.end(), own.begin(), own.end());
      } else {
        break;
      }
    }
    tile.store = body->as<BufferStore>();
    if (!has_unrolled || !tile.store || bits > max_tile_bits / tile.store->value.dtype().bits) {
      return {};
    }
    if (!std::ranges::all_of(conditions, is_timeless) || !is_timeless(loop.extent)) return {};
    if (!updates_elements_of_its_own(loop, tile)) return {};
    if (!set_conditions(loop, conditions, tile)) return {};
    std::vector<Expr> shape;
    for (const For* inner : tile.loops) shape.push_back(inner->extent);
    tile.registers = decl_buffer(std::move(shape), tile.store->buffer->dtype,
                                 tile.store->buffer->name + "_tile", "local");
    return tile;
  }

  /// Notes the conditions that do not change with the loop; the others have to follow of them, or
  /// an element may be loaded that there is not.
  bool set_conditions(const For& loop, const std::vector<Expr>& conditions, KeptTile& tile) {
    std::vector<Expr> changing;
    for (const Expr& condition : conditions) {
      (uses_variable(condition, loop.loop_var) ? changing : tile.conditions).push_back(condition);
    }
    if (changing.empty()) return true;
    std::vector<ConstraintScope> known;
    known.push_back(enter_loop(analyzer_, loop));
    for (const For* inner : tile.loops) known.push_back(enter_loop(analyzer_, *inner));
    for (const Expr& each : tile.conditions) known.push_back(analyzer_.constraint_scope(each));
    const bool follow = std::ranges::all_of(changing, [&](const Expr& condition) {
      const auto is_weaker = [&](const Expr& other) { return follows_from(condition, other); };
      return analyzer_.can_prove(condition) || std::ranges::any_of(tile.conditions, is_weaker);
    });
    while (!known.empty()) known.pop_back();
    return follow;
  }

  /// True when the difference that one comparison asks to be positive is not below that of another.
  bool follows_from(const Expr& condition, const Expr& other) {
    const auto asked = arith::comparison_of(condition), known = arith::comparison_of(other);
    if (!asked || !known || asked->is_equality || known->is_equality) return false;
    if (asked->left.dtype() != known->left.dtype()) return false;
    // The difference is none that a program computes, which might wrap.
    const auto excess = [](const arith::Comparison& of) {
      return of.right - of.left - int_imm(of.left.dtype(), of.is_strict ? 1 : 0);
    };
    return analyzer_.can_prove(excess(*asked) >= excess(*known));
  }

  /// True when each iteration updates one element for each point of the tile, the same ones each
  /// time, and nothing else in the loop touches them.
  bool updates_elements_of_its_own(const For& loop, const KeptTile& tile) {
    const BufferStore& store = *tile.store;
    const auto moves = [&](const Expr& index) {
      return !is_timeless(index) || !index.dtype().is_scalar() ||
             uses_variable(index, loop.loop_var);
    };
    if (store.predicate.defined() || !store.value.dtype().is_scalar() ||
        store.value.dtype() != store.buffer->dtype || !accumulation_of(store) ||
        std::ranges::any_of(store.indices, moves) ||
        memory_scope(*store.buffer) == MemoryScope::local) {
      return false;
    }
    bool is_apart = is_pure(store.value);
    pre_order_visit(store.value, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      is_apart = is_apart && (!load || load->buffer.same_as(store.buffer) ||
                              distinct_.are_apart(store.buffer, load->buffer));
      return is_apart;
    });
    if (!is_apart) return false;
    std::vector<Iterator> points;
    for (const For* inner : tile.loops) {
      points.push_back({inner->loop_var, inner->min, inner->extent});
    }
    const auto map = detect_iter_map(store.indices, points, {}, analyzer_);
    if (!map.ok() || !map.is_injective) return false;
    Dependences dependences(in_turn_inside(loop, around_));
    return dependences.accumulator_is_private(loop.loop_var, store.buffer).verdict ==
           Verdict::proved;
  }

  static Stmt kept(const For& loop, const KeptTile& tile) {
    std::vector<Expr> point;
    for (const For* inner : tile.loops) point.emplace_back(inner->loop_var);
    const BufferStore& update = *tile.store;
    const Expr element = load(update.buffer, update.indices), own = load(tile.registers, point);
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      return is_old_value(update, node) ? own : rewrite.children(node);
    });
    For copy = loop;
    copy.body = over_tile(tile, store(tile.registers, rewrite(update.value), point));
    const Stmt all =
        seq({over_tile(tile, store(tile.registers, element, point)), make(std::move(copy)),
             over_tile(tile, store(update.buffer, own, update.indices))});
    // Where the loop does not run, the elements may not be there.
    const Expr runs = Analyzer().simplify(loop.extent > int_imm(loop.extent.dtype(), 0));
    return guarded(runs, with_register(tile.registers, all));
  }

  /// The loops over the tile around a statement, with variables of their own.
  static Stmt over_tile(const KeptTile& tile, Stmt body) {
    Stmt nest = guarded(conjunction(tile.conditions), std::move(body));
    for (std::size_t i = tile.loops.size(); i-- > 0;) {
      For inner = *tile.loops[i];
      inner.body = std::move(nest);
      nest = make(std::move(inner));
    }
    return clone_with(nest, {});
  }

  Rewriter rewrite_;
  DistinctMemory distinct_;
  Analyzer analyzer_;
  std::vector<const For*> around_;
};

}  // namespace

Ptr<PrimFunc> tiles_in_registers(const Ptr<PrimFunc>& func) {
  return TileKeeper(*func).run(func);
}

}  // namespace loopsmith
