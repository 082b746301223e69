// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/tiles_in_registers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/dependence/dependence.h"
#include "loopsmith/arith/iter_map.h"
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

/// A tile is not to be larger than the registers of the largest processors.
constexpr std::int64_t max_tile_bits = 32 * 512;

/// More loops than these are not looked at together.
constexpr std::size_t max_step_loops = 8;

/// Loops that update a tile.
struct KeptTile {
  std::vector<const For*> steps;  ///< Each step of all of them updates the tile.
  std::vector<const For*> loops;  ///< Over the tile.
  std::vector<Expr> conditions;   ///< Those of an element, which are the same in each iteration.
  const BufferStore* store = nullptr;
  Expr start;  ///< What the elements are set to right before; null where that is not known.
  Ptr<Buffer> registers;
};

/// True where a loop of `loops` is that over which `expr` moves.
bool moves_with(const Expr& expr, const std::vector<const For*>& loops) {
  return std::ranges::any_of(loops,
                             [&](const For* loop) { return uses_variable(expr, loop->loop_var); });
}

/// The value to which a statement sets the elements of a tile, and no others, at a point of it;
/// null where it is not seen to.
Expr value_set_by(const Stmt& statement, const KeptTile& tile) {
  Substitution point;
  std::vector<Expr> conditions;
  std::size_t count = 0;
  const Stmt* body = &statement;
  for (;; body = body->is<For>() ? &body->as<For>()->body : &body->as<IfThenElse>()->then_case) {
    if (const auto* loop = body->as<For>()) {
      if (count == tile.loops.size() ||
          !structural_equal(loop->extent, tile.loops[count]->extent) ||
          !is_const_int(loop->min, 0) || !is_const_int(loop->step, 1)) {
        return nullptr;
      }
      point[loop->loop_var] = tile.loops[count++]->loop_var;
    } else if (const auto* branch = body->as<IfThenElse>(); branch && !branch->else_case) {
      const std::vector<Expr> own = arith::conjuncts(branch->condition);
      conditions.insert(conditions.end(), own.begin(), own.end());
    } else {
      break;
    }
  }
  const auto* store = body->as<BufferStore>();
  if (!store || count < tile.loops.size() || !store->buffer.same_as(tile.store->buffer) ||
      store->predicate.defined() || !is_timeless(store->value)) {
    return nullptr;
  }
  const auto is_at_point = [&](const Expr& own, const Expr& of_tile) {
    return structural_equal(substitute(own, point), of_tile);
  };
  if (!std::ranges::is_permutation(conditions, tile.conditions, is_at_point) ||
      !std::ranges::equal(store->indices, tile.store->indices, is_at_point)) {
    return nullptr;
  }
  return substitute(store->value, point);
}

class TileKeeper {
 public:
  explicit TileKeeper(const PrimFunc& func) : distinct_(func, rewrite_) {
    rewrite_.on<SeqStmt>([this](const SeqStmt& sequence) -> Stmt {
      std::vector<Stmt> statements;
      for (std::size_t i = 0; i < sequence.seq.size(); ++i) {
        const Stmt& statement = sequence.seq[i];
        if (i > 0) before_[statement.get()] = sequence.seq[i - 1];
        const Stmt rewritten = rewrite_(statement);
        // Registers start with what it sets, and end in memory.
        if (starts_registers_.contains(statement.get())) statements.pop_back();
        statements.push_back(rewritten);
      }
      return std::ranges::equal(statements, sequence.seq,
                                [](const Stmt& a, const Stmt& b) { return a.same_as(b); })
                 ? Stmt(&sequence)
                 : seq(std::move(statements));
    });
    rewrite_.on<For>([this](const For& loop) -> Stmt {
      if (const auto tile = tile_of(loop)) {
        if (tile->start.defined()) starts_registers_.insert(&loop);
        return kept(*tile);
      }
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
    KeptTile tile{.steps = {&loop}};
    std::vector<Expr> conditions;
    const Stmt* body = &loop.body;
    for (const For* step = body->as<For>(); step && step->kind == ForKind::serial;
         body = &step->body, step = body->as<For>()) {
      if (tile.steps.size() == max_step_loops || !is_timeless(step->extent) ||
          moves_with(step->extent, tile.steps))
        return {};
      tile.steps.push_back(step);
    }
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
    if (tile.loops.empty() || !tile.store ||
        bits > max_tile_bits / tile.store->value.dtype().bits) {
      return {};
    }
    if (!std::ranges::all_of(conditions, is_timeless) || !is_timeless(loop.extent)) return {};
    if (!updates_elements_of_its_own(tile)) return {};
    if (!set_conditions(conditions, tile)) return {};
    if (const auto before = before_.find(&loop); before != before_.end()) {
      tile.start = value_set_by(before->second, tile);
    }
    // Of a vector, other passes take care where it is loaded whole.
    const bool may_be_vector =
        tile.start.defined() && (tile.steps.size() > 1 || !tile.conditions.empty());
    if (!has_unrolled && !may_be_vector) return {};
    std::vector<Expr> shape;
    for (const For* inner : tile.loops) shape.push_back(inner->extent);
    tile.registers = decl_buffer(std::move(shape), tile.store->buffer->dtype,
                                 tile.store->buffer->name + "_tile", "local");
    return tile;
  }

  /// Notes the conditions that do not change with the loop; the others have to follow of them, or
  /// an element may be loaded that there is not.
  bool set_conditions(const std::vector<Expr>& conditions, KeptTile& tile) {
    std::vector<Expr> changing;
    for (const Expr& condition : conditions) {
      (moves_with(condition, tile.steps) ? changing : tile.conditions).push_back(condition);
    }
    if (changing.empty()) return true;
    std::vector<ConstraintScope> known;
    for (const For* step : tile.steps) known.push_back(enter_loop(analyzer_, *step));
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
  /// time, and nothing else in the loop accesses them.
  bool updates_elements_of_its_own(const KeptTile& tile) {
    const BufferStore& store = *tile.store;
    const auto moves = [&](const Expr& index) {
      return !is_timeless(index) || !index.dtype().is_scalar() || moves_with(index, tile.steps);
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
    const For& loop = *tile.steps[0];
    Dependences dependences(in_turn_inside(loop, around_));
    return dependences.accumulator_is_private(loop.loop_var, store.buffer).verdict ==
           Verdict::proved;
  }

  /// The conditions that are masks of lanes, or those that are not.
  static std::vector<Expr> conditions_of(const KeptTile& tile, bool are_masks) {
    std::vector<Expr> found;
    for (const Expr& condition : tile.conditions) {
      const bool is_mask = std::ranges::any_of(tile.loops, [&](const For* loop) {
        return loop->kind == ForKind::vectorized && uses_variable(condition, loop->loop_var);
      });
      if (is_mask == are_masks) found.push_back(condition);
    }
    return found;
  }

  /// `value`, which combines what a register holds, where lanes have elements. What stands there
  /// else must not be evaluated.
  static Expr masked_update(const Expr& value, const Expr& own, const Expr& masks) {
    Expr masked;
    const auto mask_other = [&]<class Node>(const Node* node) {
      if (!node || (!node->a.same_as(own) && !node->b.same_as(own))) return;
      Node copy = *node;
      Expr& other = node->a.same_as(own) ? copy.b : copy.a;
      other = if_then_else(masks, other, zero_of(other.dtype()));
      masked = make(std::move(copy));
    };
    mask_other(value.as<Add>());
    mask_other(value.as<Sub>());
    mask_other(value.as<Mul>());
    mask_other(value.as<Min>());
    mask_other(value.as<Max>());
    return masked.defined() ? masked : if_then_else(masks, value, own);
  }

  static Stmt kept(const KeptTile& tile) {
    std::vector<Expr> point;
    for (const For* inner : tile.loops) point.emplace_back(inner->loop_var);
    const BufferStore& update = *tile.store;
    const Expr element = load(update.buffer, update.indices), own = load(tile.registers, point);
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      return is_old_value(update, node) ? own : rewrite.children(node);
    });
    // Registers are stored whole: lanes without an element hold anything.
    const Expr masks = conjunction(conditions_of(tile, true));
    const auto where = [&](const Expr& value, const Expr& other) {
      return is_const_int(masks, 1) ? value : if_then_else(masks, value, other);
    };
    const auto set = [&](const Expr& value) {
      return over_tile(tile, conditions_of(tile, false), store(tile.registers, value, point));
    };
    Stmt steps = set(is_const_int(masks, 1) ? rewrite(update.value)
                                            : masked_update(rewrite(update.value), own, masks));
    Expr runs = true;
    for (std::size_t i = tile.steps.size(); i-- > 0;) {
      For copy = *tile.steps[i];
      copy.body = std::move(steps);
      steps = make(std::move(copy));
      const Expr& extent = tile.steps[i]->extent;
      runs = runs && extent > int_imm(extent.dtype(), 0);
    }
    const Expr start = tile.start.defined() ? tile.start : where(element, zero_of(element.dtype()));
    const Stmt all = with_register(
        tile.registers,
        seq({set(start), std::move(steps),
             over_tile(tile, tile.conditions, store(update.buffer, own, update.indices))}));
    if (tile.start.defined()) return all;
    // Where the loops do not run, the elements may not be there.
    return guarded(Analyzer().simplify(runs), all);
  }

  /// The loops over the tile around a statement, with variables of their own.
  static Stmt over_tile(const KeptTile& tile, const std::vector<Expr>& conditions, Stmt body) {
    Stmt nest = guarded(conjunction(conditions), std::move(body));
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
  std::unordered_map<const Object*, Stmt> before_;  ///< What stands right before a statement.
  /// Loops of tiles to which the statement before belongs.
  std::unordered_set<const Object*> starts_registers_;
};

}  // namespace

Ptr<PrimFunc> tiles_in_registers(const Ptr<PrimFunc>& func) {
  return TileKeeper(*func).run(func);
}

}  // namespace loopsmith
