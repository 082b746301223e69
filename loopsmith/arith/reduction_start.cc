// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/arith/reduction_start.h"

#include <algorithm>
#include <vector>

#include "loopsmith/arith/analyzer.h"
#include "loopsmith/arith/conjuncts.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/support/deep_call.h"

namespace loopsmith::arith {
namespace {

/// An access in the body or the init of a block, in terms of its axes and of the loops inside.
struct Access {
  std::vector<Expr> indices;
  std::vector<Expr> conditions;  ///< Under which it happens, conjuncts.
  std::vector<const For*> loops;
};

bool are_equal(const Expr& a, const Expr& b) {
  return structural_equal(a, b) || Analyzer().can_prove_equal(a, b);
}

/// What a statement stores to or loads from the memory of a buffer.
class AccessReader {
 public:
  AccessReader(const Buffer& buffer, bool of_stores) : buffer_(buffer), of_stores_(of_stores) {}

  void read(const Stmt& stmt) {
    deep_call([&] { visit(stmt); });
  }

  std::vector<Access> all;
  bool is_known = true;  ///< Nothing else may access the memory.

 private:
  void visit(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      for (const Expr& bound : {loop->min, loop->extent, loop->step}) loads_of(bound);
      path_.loops.push_back(loop);
      read(loop->body);
      path_.loops.pop_back();
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      loads_of(branch->condition);
      under(branch->condition, branch->then_case);
      if (branch->else_case) under(!branch->condition, branch->else_case);
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      visit_block(*realize);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      loads_of(store->value);
      for (const Expr& index : store->indices) loads_of(index);
      const bool is_whole = !store->predicate.defined();
      if (!is_whole) loads_of(store->predicate);
      if (of_stores_ && is_whole && is_plain(store->buffer)) add(store->indices);
    } else if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& part : sequence->seq) read(part);
    } else if (const auto* let = stmt.as<LetStmt>(); let && !let->var->dtype.is_handle()) {
      loads_of(let->value);
      values_[let->var] = substitute(let->value, values_);
      read(let->body);
    } else {
      // What else a statement may be hides how often it runs, and for which values.
      is_known = is_known && !names_memory(stmt);
    }
  }

  void visit_block(const BlockRealize& realize) {
    const Block& block = *realize.block;
    for (const Expr& value : realize.iter_values) loads_of(value);
    loads_of(realize.predicate);
    for (const auto& match : block.match_buffers) {
      is_known = is_known && !match->source->buffer->data.same_as(buffer_.data);
    }
    const Substitution outside = values_;
    for (std::size_t i = 0; i < realize.iter_values.size(); ++i) {
      values_[block.iter_vars[i]->var] = substitute(realize.iter_values[i], outside);
    }
    if (block.init && !of_stores_) under(realize.predicate, block.init);
    under(realize.predicate, block.body);
    values_ = outside;
  }

  void under(const Expr& condition, const Stmt& stmt) {
    const std::size_t before = path_.conditions.size();
    for (const Expr& part : conjuncts(substitute(condition, values_))) {
      if (!is_const_int(part, 1)) path_.conditions.push_back(part);
    }
    read(stmt);
    path_.conditions.resize(before);
  }

  void loads_of(const Expr& expr) {
    if (of_stores_) return;
    pre_order_visit(expr, [&](const Ref& ref) {
      const auto* load = ref.as<BufferLoad>();
      if (load && is_plain(load->buffer)) add(load->indices);
      is_known = is_known && ref.get() != buffer_.data.get();
      return !ref.is<Buffer>();
    });
  }

  /// True for the buffer itself; another one of its memory is not known.
  bool is_plain(const Ptr<Buffer>& buffer) {
    if (buffer.get() == &buffer_) return true;
    is_known = is_known && !buffer->data.same_as(buffer_.data);
    return false;
  }

  bool names_memory(const Stmt& stmt) const {
    bool found = false;
    pre_order_visit(stmt, [&](const Ref& ref) {
      found = found || ref.get() == buffer_.data.get();
      return !found;
    });
    return found;
  }

  void add(const std::vector<Expr>& indices) {
    Access access = path_;
    for (const Expr& index : indices) access.indices.push_back(substitute(index, values_));
    all.push_back(std::move(access));
  }

  const Buffer& buffer_;
  const bool of_stores_;
  Access path_;  ///< Of what is read just now, without indices.
  Substitution values_;
};

/// True when a store happens to each element that is loaded: for the loops of the load that stand
/// for those of the store in their order, from the one at `next` on.
bool is_stored(const Access& store, const Access& load, Substitution& names, std::size_t taken,
               std::size_t next) {
  if (taken == store.loops.size()) {
    const auto is_asked = [&](const Expr& condition) {
      const Expr wanted = substitute(condition, names);
      return std::ranges::any_of(load.conditions,
                                 [&](const Expr& other) { return are_equal(wanted, other); });
    };
    return std::ranges::equal(
               store.indices, load.indices,
               [&](const Expr& a, const Expr& b) { return are_equal(substitute(a, names), b); }) &&
           std::ranges::all_of(store.conditions, is_asked);
  }
  const For& loop = *store.loops[taken];
  for (std::size_t i = next; i < load.loops.size(); ++i) {
    const For& other = *load.loops[i];
    const bool is_same = are_equal(substitute(loop.min, names), other.min) &&
                         are_equal(substitute(loop.extent, names), other.extent) &&
                         are_equal(loop.step, other.step);
    if (!is_same) continue;
    names[loop.loop_var] = other.loop_var;
    if (is_stored(store, load, names, taken + 1, i + 1)) return true;
  }
  return false;
}

/// True when a store fills a box: each loop around it moves one index, by one.
bool fills(const Access& store, const std::vector<Ptr<Range>>& box) {
  if (!store.conditions.empty() || store.indices.size() != box.size()) return false;
  std::vector<const For*> left = store.loops;
  Analyzer analyzer;
  for (std::size_t d = 0; d < box.size(); ++d) {
    Expr low = store.indices[d], extent = int_imm(low.dtype(), 1);
    const auto mover = std::ranges::find_if(
        left, [&](const For* loop) { return uses_variable(low, loop->loop_var); });
    if (mover != left.end()) {
      const For& loop = **mover;
      if (!is_const_int(loop.step, 1)) return false;
      const Expr rest = low - loop.loop_var;
      low = analyzer.simplify(rest + loop.min);
      if (uses_variable(analyzer.simplify(rest), loop.loop_var)) return false;
      extent = loop.extent;
      left.erase(mover);
    }
    if (std::ranges::any_of(store.loops, [&](const For* loop) {
          return uses_variable(low, loop->loop_var) || uses_variable(extent, loop->loop_var);
        })) {
      return false;
    }
    if (!are_equal(low, box[d]->min) || !are_equal(extent, box[d]->extent)) return false;
  }
  // Others might have no iterations.
  return std::ranges::all_of(left, [](const For* loop) {
    const std::int64_t* extent = as_int(loop->extent);
    return extent && *extent > 0;
  });
}

}  // namespace

bool init_starts(const Block& block, const Buffer& buffer) {
  if (!block.init) return false;
  AccessReader stores(buffer, true), loads(buffer, false);
  for (const auto& match : block.match_buffers) {
    loads.is_known = loads.is_known && !match->source->buffer->data.same_as(buffer.data);
  }
  loads.read(block.body);
  if (loads.is_known && loads.all.empty()) return true;
  stores.read(block.init);
  const bool has_loaded = loads.is_known && std::ranges::all_of(loads.all, [&](const Access& load) {
                            return std::ranges::any_of(stores.all, [&](const Access& store) {
                              Substitution names;
                              return is_stored(store, load, names, 0, 0);
                            });
                          });
  if (has_loaded) return true;
  bool is_declared = false;
  const bool has_declared = std::ranges::all_of(block.writes, [&](const auto& region) {
    if (!region->buffer->data.same_as(buffer.data)) return true;
    is_declared = true;
    return region->buffer.get() == &buffer &&
           std::ranges::any_of(stores.all,
                               [&](const Access& store) { return fills(store, region->region); });
  });
  return is_declared && has_declared;
}

bool init_starts_all(const Block& block) {
  return std::ranges::all_of(block.writes, [&](const Ptr<BufferRegion>& region) {
    return init_starts(block, *region->buffer);
  });
}

}  // namespace loopsmith::arith
