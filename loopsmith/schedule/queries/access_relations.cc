// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/access_relations.h"

#include <algorithm>
#include <utility>

#include "loopsmith/arith/reducers.h"
#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/memory_reads.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/trusted_calls.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/any_statement.h"
#include "loopsmith/schedule/queries/changed_accesses.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/plain_index.h"

namespace loopsmith {
namespace {

template <class Fn>
bool loads_from(const Expr& expr, Fn is_wanted) {
  bool found = false;
  pre_order_visit(expr, [&](const Ref& ref) {
    const auto* load = ref.as<BufferLoad>();
    found = found || (load && is_wanted(*load));
    return !found && !ref.is<Buffer>();
  });
  return found;
}

/// True when the value stored is made of what is stored elsewhere: then the order counts.
bool reads_other_results(const BufferStore& store, const std::vector<const BufferStore*>& all) {
  return loads_from(store.value, [&](const BufferLoad& load) {
    return !load.buffer->data.same_as(store.buffer->data) &&
           std::ranges::any_of(all, [&](const BufferStore* other) {
             return other->buffer->data.same_as(load.buffer->data);
           });
  });
}

/// True when a block with `init` may combine its elements in any order, by what it does or says.
bool is_reduction(const Block& block) {
  if (!block.init) return false;
  std::vector<const BufferStore*> stores;
  const bool has_other_store = any_statement(block.body, [&](const Stmt& stmt) {
    const auto* store = stmt.as<BufferStore>();
    if (store) stores.push_back(store);
    return store && !may_combine(*store);
  });
  const bool has_order =
      has_other_store || std::ranges::any_of(stores, [&](const BufferStore* store) {
        return reads_other_results(*store, stores);
      });
  return !has_order || declared_reduction_of(block);
}

class Collector {
 public:
  explicit Collector(ElementAccesses& found, const ChangedAccesses* wanted = nullptr)
      : found_(found), wanted_(wanted) {}

  void visit(const Stmt& stmt) {
    deep_call([&] { enter(stmt); });
  }

  /// What is accessed through a pointer with a name may be anything.
  void add_pointer(const LetStmt& let) {
    if (let.var->dtype.is_handle()) pointers_.insert(let.var.get());
  }

  void add_pointers_around(const Schedule& schedule, NodeId node) {
    for (; node != no_node; node = schedule.at(node).parent) {
      if (const auto* let = schedule.as<LetStmt>(node)) add_pointer(*let);
    }
  }

  /// The body and init of a block whose axes have been bound.
  void enter_block(const Block& block) {
    const Group outer = group_;
    const Block* around = std::exchange(block_, &block);
    for (const auto& buffer : block.alloc_buffers) {
      found_.owned.insert(buffer.get());
      allocated_.insert(buffer->data.get());
    }
    for (const auto& match : block.match_buffers) add_view(block, *match);
    group_ = is_reduction(block) ? Group{&block, stores_of(block.init)} : Group{};
    if (block.init) visit(block.init);
    group_.updates = group_.reduction ? stores_of(block.body) : Stores{};
    visit(block.body);
    group_ = outer;
    block_ = around;
  }

 private:
  using Stores = std::vector<const BufferStore*>;

  /// The reduction that is read, and the stores that update its results.
  struct Group {
    const Object* reduction = nullptr;
    Stores updates = {};

    /// True for its own results: other elements of their buffers are only read.
    bool has(const Buffer& buffer, const std::vector<Expr>& indices) const {
      bool is_updated = false;
      for (const BufferStore* store : updates) {
        if (store->buffer.get() != &buffer) continue;
        if (!are_same_indices(store->indices, indices)) return false;
        is_updated = true;
      }
      return is_updated;
    }
  };

  static Stores stores_of(const Stmt& stmt) {
    Stores found;
    any_statement(stmt, [&](const Stmt& inside) {
      if (const auto* store = inside.as<BufferStore>()) found.push_back(store);
      return false;
    });
    return found;
  }

  /// What goes through a view accesses any element of its region, and is not looked at again.
  void add_view(const Block& block, const MatchBufferRegion& match) {
    if (wanted_) {
      found_.by_pointer = true;
      return;
    }
    const BufferRegion& source = *match.source;
    const bool is_known = views_.contains(source.buffer->data.get());
    views_.insert(match.buffer->data.get());
    if (is_known) return;
    bool is_written = std::ranges::any_of(
        block.writes, [&](const auto& region) { return region->buffer.same_as(source.buffer); });
    pre_order_visit(block.body, [&](const Ref& ref) {
      const auto* store = ref.as<BufferStore>();
      is_written = is_written || (store && store->buffer->data.same_as(match.buffer->data));
      return !is_written;
    });
    const Group outer = std::exchange(group_, Group{});
    add_region(source, false);
    if (is_written) add_region(source, true);
    group_ = outer;
  }

  void add_region(const BufferRegion& region, bool is_write) {
    if (views_.contains(region.buffer->data.get())) return;
    add(*region.buffer, {}, is_write);
    ElementAccess& access = found_.all.back();
    for (const auto& side : region.region) {
      const std::int64_t* extent = as_int(side->extent);
      if (!extent || *extent < 1) {
        access.indices.emplace_back();
      } else if (*extent == 1) {
        access.indices.push_back(found_.forms.read(side->min));
      } else {
        const Ptr<Var>& offset = found_.offsets.emplace_back(var("offset", side->min.dtype()));
        found_.inside.insert(offset.get());
        found_.forms.add_range({offset.get(), 0, *extent - 1});
        access.indices.push_back(found_.forms.read(side->min + offset));
      }
    }
  }

  void enter(const Stmt& stmt) {
    if (const auto* loop = stmt.as<For>()) {
      for (const Expr* bound : {&loop->min, &loop->extent, &loop->step}) steer(*bound);
      found_.inside.insert(loop->loop_var.get());
      if (const auto range = range_of(*loop)) found_.forms.add_range(*range);
      visit(loop->body);
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      for (const Expr& value : realize->iter_values) steer(value);
      steer(realize->predicate);
      const Block& block = *realize->block;
      if (wanted_ && !wanted_->are_in(realize->block)) return;
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        const Ptr<Var>& axis = block.iter_vars[i]->var;
        // An axis bound to more than a sum is inside, and unknown.
        if (!found_.forms.bind_sum(axis, realize->iter_values[i])) found_.inside.insert(axis.get());
      }
      enter_block(block);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      const Group outer = group_;
      if (!group_.reduction && accumulation_of(*store)) group_ = {store, {store}};
      read(store->value);
      for (const Expr& index : store->indices) steer(index);
      add(*store->buffer.get(), store->indices, true);
      group_ = outer;
    } else if (const auto* let = stmt.as<LetStmt>()) {
      steer(let->value);
      found_.inside.insert(let->var.get());
      add_pointer(*let);
      visit(let->body);
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      steer(branch->condition);
      visit(branch->then_case);
      if (branch->else_case) visit(branch->else_case);
    } else if (const auto* sequence = stmt.as<SeqStmt>()) {
      for (const Stmt& part : sequence->seq) visit(part);
    } else if (stmt.is<Break>() || stmt.is<Return>()) {
      found_.opaque = "a break or return decides what runs";
    } else if (stmt.is<Evaluate>()) {
      read(stmt.as<Evaluate>()->value);
    } else {
      if (const auto* allocate = stmt.as<Allocate>()) allocated_.insert(allocate->buffer_var.get());
      // A view of memory from outside is no memory of its own.
      const auto* declared = stmt.as<DeclBuffer>();
      if (declared && allocated_.contains(declared->buffer->data.get())) {
        found_.owned.insert(declared->buffer.get());
      }
      for_each_child(*stmt.get(), [&](const Ref& child, Role) {
        if (const Stmt part = Stmt::from(child)) visit(part);
        if (const Expr part = Expr::from(child); part.defined()) steer(part);
      });
    }
  }

  /// Reads what decides which elements are accessed, or whether.
  void steer(const Expr& expr) {
    const std::size_t count = loads_;
    read(expr);
    found_.is_steered = found_.is_steered || loads_ > count;
  }

  void read(const Expr& expr) {
    if (is_plain_index(expr)) return;
    pre_order_visit(expr, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) {
        add(*load->buffer.get(), load->indices, false);
        if (wanted_) found_.is_steered |= std::ranges::any_of(load->indices, reads_memory);
      } else if (const auto* let = ref.as<Let>()) {
        found_.inside.insert(let->var.get());
      } else if (const auto* call = ref.as<Call>(); call && is_opaque(*call)) {
        if (block_ && is_trusted_call(*block_, *call)) {
          add_trusted(*block_, *call);
          return false;
        }
        found_.opaque = "a call may access anything";
      }
      return !is_plain_index(ref);
    });
  }

  /// A call that keeps to what its block declares; its other arguments are read here.
  void add_trusted(const Block& block, const Call& call) {
    for (const Expr& argument : call.args) {
      if (!argument.dtype().is_handle()) read(argument);
    }
    // What was accessed before it is not looked at again.
    if (wanted_) found_.by_pointer = true;
    if (wanted_) return;
    const Group outer = std::exchange(group_, Group{});
    for (const auto& region : block.reads) add_region(*region, false);
    for (const auto& region : block.writes) add_region(*region, true);
    group_ = outer;
  }

  /// `x // n`, or `x % n` where the buffer has n elements there, of a variable n that stays: an
  /// atom, by 0, that together with the other tells x, since an access means that n is positive.
  std::optional<IndexForm> digit_by_size(const Expr& index, const Expr& extent) const {
    const auto* quotient = index.as<FloorDiv>();
    const auto* remainder = index.as<FloorMod>();
    if (!quotient && !remainder) return {};
    const Expr& by = quotient ? quotient->b : remainder->b;
    const bool stays =
        by.is<Var>() && !found_.inside.contains(by.get()) && !found_.forms.uses_bound(by);
    if (!stays || (remainder && !extent.same_as(by))) return {};
    const Expr number = found_.forms(quotient ? quotient->a : remainder->a);
    IndexTerm digit{.by = 0};
    digit.kind = quotient ? IndexTerm::Kind::quotient : IndexTerm::Kind::remainder;
    digit.atom = quotient ? Expr(make(FloorDiv{.a = number, .b = by}))
                          : Expr(make(FloorMod{.a = number, .b = by}));
    return IndexForm{.terms = {std::move(digit)}};
  }

  static bool is_opaque(const Call& call) { return !call.op.is_pure(); }

  void add(const Buffer& buffer, const std::vector<Expr>& indices, bool is_write) {
    if (views_.contains(buffer.data.get())) return;
    if (!pointers_.empty() && pointers_.contains(buffer.data.get())) found_.by_pointer = true;
    if (wanted_ && !wanted_->has(buffer)) return;
    if (!is_write) ++loads_;
    ElementAccess& access = found_.all.emplace_back();
    access.buffer = &buffer;
    access.is_write = is_write;
    access.group = group_.has(buffer, indices) ? group_.reduction : nullptr;
    access.indices.reserve(indices.size());
    for (std::size_t d = 0; d < indices.size(); ++d) {
      auto form = found_.forms.read(indices[d]);
      const bool is_digit = !form && d < buffer.shape.size();
      access.indices.push_back(is_digit ? digit_by_size(indices[d], buffer.shape[d])
                                        : std::move(form));
    }
  }

  ElementAccesses& found_;
  const ChangedAccesses* wanted_;
  const Block* block_ = nullptr;  ///< The innermost around what is read.
  std::size_t loads_ = 0;         ///< Of the memory that is wanted, so far.
  Group group_;
  std::unordered_set<const Object*> views_;      ///< Pointers of views.
  std::unordered_set<const Object*> allocated_;  ///< Pointers of memory that is allocated inside.
  std::unordered_set<const Object*> pointers_;   ///< Those with a name.
};

}  // namespace

ElementAccesses accesses_inside(const Schedule& schedule, NodeId node,
                                const ChangedAccesses* changed) {
  ElementAccesses found;
  found.forms = IndexForms(ranges_around(schedule, schedule.at(node).parent));
  Collector collector(found, changed);
  collector.add_pointers_around(schedule, schedule.at(node).parent);
  collector.visit(schedule.statement(node));
  return found;
}

namespace {

void collect(const Block& block, ElementAccesses& found, Collector& collector) {
  for (const auto& axis : block.iter_vars) {
    found.inside.insert(axis->var.get());
    const auto* min = axis->dom->min.as<IntImm>();
    const auto* extent = axis->dom->extent.as<IntImm>();
    if (min && extent && extent->value > 0) {
      found.forms.add_range({axis->var.get(), min->value, min->value + extent->value - 1});
    }
  }
  collector.enter_block(block);
}

}  // namespace

ElementAccesses accesses_of_block(const Block& block) {
  ElementAccesses found;
  Collector collector(found);
  collect(block, found, collector);
  return found;
}

ElementAccesses accesses_of_block(const Schedule& schedule, BlockRV handle) {
  ElementAccesses found;
  Collector collector(found);
  collector.add_pointers_around(schedule, schedule.node(handle));
  collect(schedule.get(handle), found, collector);
  return found;
}

}  // namespace loopsmith
