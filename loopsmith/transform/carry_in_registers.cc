// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/carry_in_registers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/ir/edit.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loop_body.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// How many iterations a value is kept at most.
constexpr int max_distance = 2;
/// Of more stores, each is asked about all others.
constexpr std::size_t max_stores = 16;

/// A store whose value later iterations read.
struct Carried {
  const BufferStore* store = nullptr;
  int distance = 0;                                   ///< The largest.
  std::unordered_map<const Object*, int> loads = {};  ///< Iterations since the value was stored.
};

class Carrier {
 public:
  explicit Carrier(const PrimFunc& func) : distinct_(func, rewrite_) {
    rewrite_.on<For>([this](const For& node) -> Stmt {
      const bool is_innermost = node.kind == ForKind::serial && !contains<For>(node.body);
      return is_innermost ? with_carries(node) : rewrite_loop(rewrite_, analyzer_, node);
    });
    rewrite_.on<IfThenElse>([this](const IfThenElse& node) -> Stmt {
      Edit edit(node);
      edit.set(&IfThenElse::then_case, under(node.condition, node.then_case));
      if (node.else_case) edit.set(&IfThenElse::else_case, under(!node.condition, node.else_case));
      return std::move(edit).done();
    });
  }

  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) { return rewrite_.body_of(func); }

 private:
  Stmt under(const Expr& condition, const Stmt& body) {
    const ConstraintScope scope = analyzer_.constraint_scope(condition);
    rewrite_.forget();
    Stmt result = rewrite_(body);
    rewrite_.forget();
    return result;
  }

  /// True when nothing that the loop stores changes what this store has stored, so many iterations
  /// long.
  bool stays(const For& loop, const LoopBody& body, const BufferStore& store, int distance) {
    return std::ranges::all_of(body.stores, [&](const BufferStore* other) {
      if (other == &store) return misses(loop, store, store, 1, distance - 1);
      return distinct_.are_apart(store.buffer, other->buffer) ||
             (body.stores.size() <= max_stores && body.is_fixed(other->indices[0]) &&
              misses(loop, store, *other, 0, distance));
    });
  }

  /// True when a store is to other elements than those that one has stored so many iterations
  /// before.
  bool misses(const For& loop, const BufferStore& store, const BufferStore& other, int first,
              int last) {
    if (!other.buffer.same_as(store.buffer) || other.value.dtype().is_vector()) return false;
    for (int i = first; i <= last; ++i) {
      const Expr apart = other.indices[0] - earlier(loop, store.indices[0], i);
      const ConstIntBound bound = analyzer_.const_int_bound(analyzer_.simplify(apart));
      if (bound.min_value <= 0 && bound.max_value >= 0) return false;
    }
    return true;
  }

  /// The index of the store, `iterations` before.
  static Expr earlier(const For& loop, const Expr& index, int iterations) {
    const DataType type = loop.loop_var->dtype;
    const Expr before = loop.loop_var - loop.step * int_imm(type, iterations);
    return substitute(index, {{loop.loop_var, before}});
  }

  std::optional<Carried> carried(const For& loop, const LoopBody& body, const BufferStore& store) {
    if (store.indices.size() != 1 || store.value.dtype().is_vector()) return {};
    const Expr& index = store.indices[0];
    if (!uses_variable(index, loop.loop_var) || !body.is_fixed(index)) return {};
    if (!stays(loop, body, store, 0)) return {};
    Carried found{.store = &store};
    std::unordered_set<int> sure;
    for (const BufferLoad* load : body.loads) {
      if (!load->buffer.same_as(store.buffer) || load->dtype.is_vector()) continue;
      for (int distance = 1; distance <= max_distance; ++distance) {
        const Expr before = earlier(loop, index, distance);
        if (!analyzer_.can_prove_equal(load->indices[0], before)) continue;
        found.loads.emplace(load, distance);
        if (body.sure_loads.contains(load)) sure.insert(distance);
        break;
      }
    }
    // What the first iterations find is loaded before the loop: only what they load anyway.
    while (sure.contains(found.distance + 1) && stays(loop, body, store, found.distance + 1)) {
      ++found.distance;
    }
    std::erase_if(found.loads, [&](const auto& load) { return load.second > found.distance; });
    if (found.distance == 0) return {};
    return found;
  }

  Stmt with_carries(const For& loop) {
    const LoopBody body(loop.body);
    const bool has_feedback = std::ranges::any_of(body.sure_stores, [&](const BufferStore* store) {
      return std::ranges::any_of(
          body.loads, [&](const BufferLoad* load) { return load->buffer.same_as(store->buffer); });
    });
    if (!body.is_simple || !has_feedback || !is_timeless(loop.extent)) return Stmt(&loop);
    std::vector<Carried> all;
    for (const BufferStore* store : body.sure_stores) {
      if (auto found = carried(loop, body, *store)) all.push_back(*std::move(found));
    }
    return all.empty() ? Stmt(&loop) : rewritten(loop, all);
  }

  static Stmt rewritten(const For& loop, const std::vector<Carried>& all) {
    std::vector<Ptr<Buffer>> registers;
    const auto new_register = [&](const Carried& of, const char* what) {
      const Ptr<Buffer>& buffer = of.store->buffer;
      registers.push_back(decl_buffer({1}, buffer->dtype, buffer->name + "_" + what, "local"));
      return registers.back();
    };
    std::unordered_map<const Object*, Ptr<Buffer>> values;  // Of loads that are replaced.
    std::unordered_map<const Object*, Ptr<Buffer>> nexts;   // By store.
    std::vector<Stmt> before, after;
    for (const Carried& each : all) {
      const Ptr<Buffer> next = new_register(each, "next");
      nexts[each.store] = next;
      std::vector<Ptr<Buffer>> carries;
      for (int i = 0; i < each.distance; ++i) carries.push_back(new_register(each, "carry"));
      for (const auto& [load, distance] : each.loads) {
        values[load] = carries[static_cast<std::size_t>(distance - 1)];
      }
      for (int i = each.distance; i-- > 0;) {
        const Expr place =
            substitute(earlier(loop, each.store->indices[0], i + 1), {{loop.loop_var, loop.min}});
        const auto at = static_cast<std::size_t>(i);
        before.push_back(store(carries[at], load(each.store->buffer, {place}), {0}));
        after.push_back(store(carries[at], load(i > 0 ? carries[at - 1] : next, {0}), {0}));
      }
    }
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      const auto found = values.find(&node);
      return found == values.end() ? Expr(rewrite.children(node)) : load(found->second, {0});
    });
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      const Ptr<BufferStore> inside = rewrite.children(node);
      const auto found = nexts.find(&node);
      if (found == nexts.end()) return inside;
      return seq({store(found->second, inside->value, {0}),
                  store(inside->buffer, load(found->second, {0}), inside->indices)});
    });
    For copy = loop;
    std::vector<Stmt> body{rewrite(loop.body)};
    body.insert(body.end(), after.begin(), after.end());
    copy.body = seq(std::move(body));
    const Expr runs = Analyzer().simplify(loop.extent > int_imm(loop.extent.dtype(), 0));
    Stmt result = seq({guarded(runs, seq(std::move(before))), make(std::move(copy))});
    for (const Ptr<Buffer>& each : registers) result = with_register(each, std::move(result));
    return result;
  }

  Rewriter rewrite_;
  DistinctMemory distinct_;
  Analyzer analyzer_;
};

}  // namespace

Ptr<PrimFunc> carry_in_registers(const Ptr<PrimFunc>& func) {
  return Carrier(*func).run(func);
}

}  // namespace loopsmith
