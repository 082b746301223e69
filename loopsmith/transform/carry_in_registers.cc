// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/carry_in_registers.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/multiply_out.h"
#include "loopsmith/ir/effects.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/conditions.h"
#include "loopsmith/transform/loop_body.h"
#include "loopsmith/transform/loops.h"
#include "loopsmith/transform/rewrite_branch.h"

namespace loopsmith {
namespace {

/// How many iterations a value is kept at most.
constexpr int max_distance = 2;
/// Of more stores, each is asked about all others.
constexpr std::size_t max_stores = 16;

/// A load of what a store stored some iterations before: lane l is its lane l - shift.
struct Reuse {
  int distance = 0;
  int shift = 0;
};

/// A store whose value later iterations read.
struct Carried {
  const BufferStore* store = nullptr;
  int distance = 0;                                     ///< The largest.
  std::unordered_map<const Object*, Reuse> loads = {};  ///< Those of its values.
  std::vector<int> starts = {};  ///< By distance: how far the load that starts it is shifted.
};

/// The first element that an index is of, and how far the next lane's is.
Ramp lanes_of(const Expr& index) {
  if (const auto* ramp = index.as<Ramp>()) return *ramp;
  return {.base = index, .stride = zero_of(index.dtype()), .lanes = 1};
}

Expr index_of(const Ramp& lanes) {
  return lanes.lanes == 1 ? lanes.base : make(Ramp(lanes));
}

/// The same lanes, of elements that are so many lanes behind.
Ramp shifted(Ramp lanes, int shift) {
  lanes.base = lanes.base - lanes.stride * int_imm(lanes.stride.dtype(), shift);
  return lanes;
}

/// Lane l of the result is lane l - shift of `vector`; others are `rest`, or any.
Expr shifted_vector(const Expr& vector, int shift, const Expr& rest = {}) {
  const int lanes = vector.dtype().lanes;
  std::vector<Expr> vectors{vector}, order;
  if (rest.defined()) vectors.push_back(broadcast(rest, lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    const int from = lane - shift;
    const bool is_inside = from >= 0 && from < lanes;
    order.push_back(int_imm(i32, is_inside ? from : rest.defined() ? lanes : lane));
  }
  return make(Shuffle{.vectors = std::move(vectors), .indices = std::move(order)});
}

class Carrier {
 public:
  explicit Carrier(const PrimFunc& func) : distinct_(func, rewrite_) {
    rewrite_.on<For>([this](const For& node) -> Stmt {
      const bool is_innermost = node.kind == ForKind::serial && !contains<For>(node.body);
      return is_innermost ? with_carries(node) : rewrite_loop(rewrite_, analyzer_, node);
    });
    rewrite_.on<IfThenElse>(
        [this](const IfThenElse& node) { return rewrite_branch(rewrite_, analyzer_, node); });
  }

  Ptr<PrimFunc> run(const Ptr<PrimFunc>& func) { return rewrite_.body_of(func); }

 private:
  /// True when nothing that the loop stores changes what this store has stored, so many iterations
  /// long; the store itself for so many.
  bool stays(const For& loop, const LoopBody& body, const BufferStore& store, int distance,
             int own_distance) {
    return std::ranges::all_of(body.stores, [&](const BufferStore* other) {
      if (other == &store) return misses(loop, store, store, 1, own_distance);
      return distinct_.are_apart(store.buffer, other->buffer) ||
             (body.stores.size() <= max_stores && body.is_fixed(other->indices[0]) &&
              misses(loop, store, *other, 0, distance));
    });
  }

  /// True when a store is to other elements than those that one has stored so many iterations
  /// before.
  bool misses(const For& loop, const BufferStore& store, const BufferStore& other, int first,
              int last) {
    const Ramp now = lanes_of(other.indices[0]);
    const bool has_form = other.indices[0].dtype().lanes == now.lanes;
    if (!other.buffer.same_as(store.buffer) || !has_form) return false;
    for (int i = first; i <= last; ++i) {
      const Ramp before = lanes_of(earlier(loop, store.indices[0], i));
      if (now.lanes != before.lanes || !analyzer_.can_prove_equal(now.stride, before.stride)) {
        return false;
      }
      for (int lane = 1 - now.lanes; lane < now.lanes; ++lane) {
        const Expr apart = multiply_out(shifted(now, lane).base - before.base);
        const ConstIntBound bound = analyzer_.const_int_bound(analyzer_.simplify(apart));
        if (bound.min_value <= 0 && bound.max_value >= 0) return false;
      }
    }
    return true;
  }

  /// The index of the store, `iterations` before.
  static Expr earlier(const For& loop, const Expr& index, int iterations) {
    const DataType type = loop.loop_var->dtype;
    const Expr before = loop.loop_var - loop.step * int_imm(type, iterations);
    return substitute(index, {{loop.loop_var, before}});
  }

  std::optional<Reuse> reuse_of(const For& loop, const BufferStore& store, const BufferLoad& load) {
    const bool is_alike = load.buffer.same_as(store.buffer) && load.dtype == store.value.dtype() &&
                          !load.predicate.defined();
    if (!is_alike) return {};
    const Ramp read = lanes_of(load.indices[0]);
    if (read.lanes != load.dtype.lanes) return {};
    for (int distance = 1; distance <= max_distance; ++distance) {
      const Ramp stored = lanes_of(earlier(loop, store.indices[0], distance));
      if (!analyzer_.can_prove_equal(read.stride, stored.stride)) return {};
      for (const int shift : {0, 1, -1}) {
        if (shift != 0 && read.lanes == 1) break;
        if (analyzer_.can_prove_equal(read.base, shifted(stored, shift).base))
          return Reuse{distance, shift};
      }
    }
    return {};
  }

  std::optional<Carried> carried(const For& loop, const LoopBody& body, const BufferStore& store) {
    if (store.indices.size() != 1 || store.buffer->dtype.is_vector()) return {};
    const Expr& index = store.indices[0];
    const Ramp lanes = lanes_of(index);
    if (lanes.lanes != index.dtype().lanes) return {};
    if (!uses_variable(index, loop.loop_var) || !body.is_fixed(index)) return {};
    if (lanes.lanes > 1 && !analyzer_.can_prove(lanes.stride != zero_of(lanes.stride.dtype()))) {
      return {};
    }
    if (!stays(loop, body, store, 0, 0)) return {};
    Carried found{.store = &store};
    std::vector<Reuse> sure;
    const auto number = std::ranges::find(body.stores, &store) - body.stores.begin();
    // Before the store, its own value of this iteration is not in the way.
    bool are_before = true;
    for (std::size_t i = 0; i < body.loads.size(); ++i) {
      const BufferLoad* load = body.loads[i];
      const auto reuse = reuse_of(loop, store, *load);
      if (!reuse) continue;
      are_before = are_before && i < body.loads_before[static_cast<std::size_t>(number)];
      found.loads.emplace(load, *reuse);
      if (body.sure_loads.contains(load)) sure.push_back(*reuse);
    }
    const int own = are_before ? 1 : 0;
    for (int distance = 1; stays(loop, body, store, distance, distance - own); ++distance) {
      const auto start = start_of(found, sure, distance);
      if (!start) break;
      found.starts.push_back(*start);
    }
    found.distance = static_cast<int>(found.starts.size());
    std::erase_if(found.loads,
                  [&](const auto& load) { return load.second.distance > found.distance; });
    if (found.distance == 0) return {};
    return found;
  }

  /// How far the load is shifted by which a value of that distance starts: what the first
  /// iterations find is loaded before the loop, and only what they load anyway.
  static std::optional<int> start_of(const Carried& carried, const std::vector<Reuse>& sure,
                                     int distance) {
    std::optional<int> start;
    for (const Reuse& load : sure) {
      if (load.distance == distance && start != 0) start = load.shift;
    }
    const bool has_all_lanes =
        start && std::ranges::all_of(carried.loads, [&](const auto& load) {
          return *start == 0 || load.second.distance < distance || load.second.shift == *start;
        });
    return has_all_lanes ? start : std::nullopt;
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

  /// What a load reads: lanes of `carry`, and the one element that is at an end.
  static Expr with_end_loaded(const BufferLoad& read, const Expr& carry, int shift) {
    Ramp lanes = lanes_of(read.indices[0]);
    const int end = shift > 0 ? 0 : lanes.lanes - 1;
    return shifted_vector(carry, shift, load(read.buffer, {shifted(lanes, -end).base}));
  }

  static Stmt rewritten(const For& loop, const std::vector<Carried>& all) {
    std::vector<Ptr<Buffer>> registers;
    const auto new_register = [&](const Carried& of, const char* what) {
      const Ptr<Buffer>& buffer = of.store->buffer;
      const int lanes = of.store->value.dtype().lanes;
      const std::string name = buffer->name + "_" + what;
      registers.push_back(decl_buffer({int{lanes}}, buffer->dtype, name, "local"));
      return registers.back();
    };
    const auto whole = [](const Ptr<Buffer>& buffer) {
      return index_of(
          {.base = 0, .stride = 1, .lanes = static_cast<int>(*as_int(buffer->shape[0]))});
    };
    const auto value_of = [&](const Ptr<Buffer>& buffer) { return load(buffer, {whole(buffer)}); };
    std::unordered_map<const Object*, Expr> values;        // Of loads that are replaced.
    std::unordered_map<const Object*, Ptr<Buffer>> nexts;  // By store.
    std::vector<Stmt> before, after;
    for (const Carried& each : all) {
      const Ptr<Buffer> next = new_register(each, "next");
      nexts[each.store] = next;
      std::vector<Ptr<Buffer>> carries;
      for (int i = 0; i < each.distance; ++i) carries.push_back(new_register(each, "carry"));
      for (const auto& [node, reuse] : each.loads) {
        const auto& read = *static_cast<const BufferLoad*>(node);
        const Expr carry = value_of(carries[static_cast<std::size_t>(reuse.distance - 1)]);
        values[node] = reuse.shift == 0 ? carry : with_end_loaded(read, carry, reuse.shift);
      }
      for (int i = each.distance; i-- > 0;) {
        const auto at = static_cast<std::size_t>(i);
        const Expr place =
            substitute(earlier(loop, each.store->indices[0], i + 1), {{loop.loop_var, loop.min}});
        const int shift = each.starts[at];
        const Expr first = load(each.store->buffer, {index_of(shifted(lanes_of(place), shift))});
        const auto set = [&](const Expr& value) {
          return store(carries[at], value, {whole(carries[at])});
        };
        before.push_back(set(shift == 0 ? first : shifted_vector(first, -shift)));
        after.push_back(set(value_of(i > 0 ? carries[at - 1] : next)));
      }
    }
    Rewriter rewrite;
    rewrite.on<BufferLoad>([&](const BufferLoad& node) -> Expr {
      const auto found = values.find(&node);
      return found == values.end() ? Expr(rewrite.children(node)) : found->second;
    });
    rewrite.on<BufferStore>([&](const BufferStore& node) -> Stmt {
      const Ptr<BufferStore> inside = rewrite.children(node);
      const auto found = nexts.find(&node);
      if (found == nexts.end()) return inside;
      return seq({store(found->second, inside->value, {whole(found->second)}),
                  store(inside->buffer, value_of(found->second), inside->indices)});
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
