// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/access_relations.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "loopsmith/ir/accumulation.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"

namespace loopsmith {
namespace {

/// True when a block with `init` may combine its elements in any order.
bool is_reduction(const Block& block) {
  if (!block.init) return false;
  bool is_plain = true;
  pre_order_visit(block.body, [&](const Ref& ref) {
    const auto* store = ref.as<BufferStore>();
    is_plain = is_plain && (!store || may_combine(*store));
    return Stmt::from(ref).defined();
  });
  return is_plain;
}

class Collector {
 public:
  explicit Collector(ElementAccesses& found) : found_(found) {}

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
    pre_order_visit(stmt, [&](const Ref& ref) {
      if (const auto* store = ref.as<BufferStore>()) found.push_back(store);
      return !is_expr(*ref.get());
    });
    return found;
  }

  /// What goes through a view accesses any element of its region, and is not looked at again.
  void add_view(const Block& block, const MatchBufferRegion& match) {
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
      for (const Expr& bound : {loop->min, loop->extent, loop->step}) read(bound);
      found_.inside.insert(loop->loop_var.get());
      if (const auto range = range_of(*loop)) found_.forms.add_range(*range);
      visit(loop->body);
    } else if (const auto* realize = stmt.as<BlockRealize>()) {
      for (const Expr& value : realize->iter_values) read(value);
      read(realize->predicate);
      const Block& block = *realize->block;
      for (std::size_t i = 0; i < realize->iter_values.size(); ++i) {
        const Ptr<Var>& axis = block.iter_vars[i]->var;
        // An axis bound to more than a sum is inside, and unknown.
        if (found_.forms.read(realize->iter_values[i])) {
          found_.forms.bind(axis, realize->iter_values[i]);
        } else {
          found_.inside.insert(axis.get());
        }
      }
      enter_block(block);
    } else if (const auto* store = stmt.as<BufferStore>()) {
      const Group outer = group_;
      if (!group_.reduction && accumulation_of(*store)) group_ = {store, {store}};
      read(store->value);
      for (const Expr& index : store->indices) read(index);
      add(*store->buffer.get(), store->indices, true);
      group_ = outer;
    } else if (const auto* let = stmt.as<LetStmt>()) {
      read(let->value);
      found_.inside.insert(let->var.get());
      add_pointer(*let);
      visit(let->body);
    } else if (const auto* branch = stmt.as<IfThenElse>()) {
      read(branch->condition);
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
        if (const Expr part = Expr::from(child); part.defined()) read(part);
      });
    }
  }

  void read(const Expr& expr) {
    if (expr.is<IntImm>() || expr.is<Var>()) return;
    pre_order_visit(expr, [&](const Ref& ref) {
      if (const auto* load = ref.as<BufferLoad>()) {
        add(*load->buffer.get(), load->indices, false);
      } else if (const auto* let = ref.as<Let>()) {
        found_.inside.insert(let->var.get());
      } else if (const auto* call = ref.as<Call>(); call && is_opaque(*call)) {
        found_.opaque = "a call may access anything";
      }
      return !ref.is<Buffer>();
    });
  }

  static bool is_opaque(const Call& call) { return !call.op.is_pure(); }

  void add(const Buffer& buffer, const std::vector<Expr>& indices, bool is_write) {
    if (views_.contains(buffer.data.get())) return;
    if (!pointers_.empty() && pointers_.contains(buffer.data.get())) found_.by_pointer = true;
    ElementAccess& access = found_.all.emplace_back();
    access.buffer = &buffer;
    access.is_write = is_write;
    access.group = group_.has(buffer, indices) ? group_.reduction : nullptr;
    access.indices.reserve(indices.size());
    for (const Expr& index : indices) access.indices.push_back(found_.forms.read(index));
  }

  ElementAccesses& found_;
  Group group_;
  std::unordered_set<const Object*> views_;      ///< Pointers of views.
  std::unordered_set<const Object*> allocated_;  ///< Pointers of memory that is allocated inside.
  std::unordered_set<const Object*> pointers_;   ///< Those with a name.
};

/// True when the atom moves with variables that are defined inside.
bool is_inner(const ElementAccesses& accesses, const IndexTerm& term) {
  if (term.kind == IndexTerm::Kind::variable) return accesses.inside.contains(term.atom.get());
  for (const auto& variable : free_variables(term.inner)) {
    if (accesses.inside.contains(variable.get())) return true;
  }
  return false;
}

bool same_form(const IndexForm& a, const IndexForm& b) {
  if (a.constant != b.constant || a.terms.size() != b.terms.size()) return false;
  return std::ranges::all_of(a.terms, [&](const IndexTerm& term) {
    return std::ranges::any_of(b.terms, [&](const auto& other) { return same_term(term, other); });
  });
}

/// A dimension in which steps of what `is_it` says are larger than all else that differs.
template <class IsIt>
bool separates(const ElementAccesses& accesses, const IndexForm& a, const IndexForm& b,
               std::int64_t step, const IsIt& is_it) {
  std::int64_t weight_a = 0, weight_b = 0;
  std::int64_t low = a.constant - b.constant;
  std::int64_t high = low;
  const auto take = [&](const IndexTerm& term, std::int64_t sign) {
    std::int64_t bounds[] = {term.min, term.max};
    if (!term.is_bounded || std::abs(term.coefficient) > INT32_MAX) return false;
    for (std::int64_t& bound : bounds) {
      if (std::abs(bound) > INT32_MAX) return false;
      bound *= term.coefficient * sign;
    }
    low += std::min(bounds[0], bounds[1]);
    high += std::max(bounds[0], bounds[1]);
    return true;
  };
  for (const IndexTerm& term : a.terms) {
    if (is_it(term)) {
      weight_a = term.coefficient;
    } else if (is_inner(accesses, term)) {
      if (!take(term, 1)) return false;
    } else if (std::ranges::none_of(b.terms, [&](const auto& o) { return same_term(term, o); })) {
      return false;
    }
  }
  for (const IndexTerm& term : b.terms) {
    if (is_it(term)) {
      weight_b = term.coefficient;
    } else if (is_inner(accesses, term)) {
      if (!take(term, -1)) return false;
    } else if (std::ranges::none_of(a.terms, [&](const auto& o) { return same_term(term, o); })) {
      return false;
    }
  }
  if (weight_a != weight_b || weight_a == 0 || std::abs(weight_a) > INT32_MAX) return false;
  return std::abs(weight_a) * std::abs(step) > std::max(std::abs(low), std::abs(high));
}

/// Adds the quotients and remainders that are equal wherever two indices are.
void add_separated_digits(const ElementAccesses& accesses, const IndexForm& a, const IndexForm& b,
                          std::vector<IndexForm>& found) {
  for (const IndexTerm& digit : a.terms) {
    if (digit.kind == IndexTerm::Kind::variable || !is_inner(accesses, digit)) continue;
    const auto is_it = [&](const IndexTerm& term) {
      return term.kind == digit.kind && structural_equal(term.atom, digit.atom);
    };
    if (separates(accesses, a, b, /*step=*/1, is_it)) found.push_back({.terms = {digit}});
  }
}

/// The atoms that equal values of all `forms` make equal.
class Determined {
 public:
  Determined(const ElementAccesses& accesses, std::vector<IndexForm> forms)
      : accesses_(accesses), forms_(std::move(forms)) {
    bool changed = true;
    while (changed) {
      changed = false;
      for (std::size_t i = 0; i < forms_.size(); ++i) changed |= canonicalize(IndexForm(forms_[i]));
      changed |= join();
    }
  }

  bool has(const Var& var) const {
    return std::ranges::any_of(known_, [&](const auto& t) { return t.atom.get() == &var; });
  }

 private:
  bool is_known(const IndexTerm& term) const {
    return std::ranges::any_of(known_, [&](const IndexTerm& known) {
      return known.kind == term.kind &&
             (known.atom.same_as(term.atom) || structural_equal(known.atom, term.atom));
    });
  }

  /// Mixed radix: a sum tells its terms apart where each weighs more than all lighter ones.
  bool canonicalize(IndexForm form) {
    std::erase_if(form.terms, [&](const IndexTerm& term) {
      const bool is_one_value = term.is_bounded && term.min == term.max;
      return is_one_value || !is_inner(accesses_, term) || is_known(term);
    });
    if (form.terms.empty()) return false;
    std::ranges::sort(form.terms, {}, [](const auto& t) { return std::abs(t.coefficient); });
    __int128 lighter = 0;
    for (std::size_t i = 0; i < form.terms.size(); ++i) {
      const IndexTerm& term = form.terms[i];
      if (static_cast<__int128>(std::abs(term.coefficient)) <= lighter) return false;
      if (i + 1 == form.terms.size()) break;
      if (!term.is_bounded) return false;
      lighter += static_cast<__int128>(std::abs(term.coefficient)) * (term.max - term.min);
    }
    known_.insert(known_.end(), form.terms.begin(), form.terms.end());
    return true;
  }

  /// True when `low`, x % c, is number % c: the number is x, or x % (c * k).
  static bool has_digit(const Expr& number, const IndexTerm& low) {
    if (structural_equal(number, low.inner)) return true;
    const auto* remainder = number.as<FloorMod>();
    const std::int64_t* by = remainder ? as_int(remainder->b) : nullptr;
    return by && *by % low.by == 0 && structural_equal(remainder->a, low.inner);
  }

  /// x // c and x % c make x.
  bool join() {
    for (const IndexTerm& high : known_) {
      if (high.kind != IndexTerm::Kind::quotient || joined_.contains(high.atom.get())) continue;
      for (const IndexTerm& low : known_) {
        if (low.kind != IndexTerm::Kind::remainder || low.by != high.by ||
            !has_digit(high.inner, low)) {
          continue;
        }
        joined_.insert(high.atom.get());
        if (auto inner = accesses_.forms.read(high.inner)) {
          forms_.push_back(*std::move(inner));
          return true;
        }
      }
    }
    return false;
  }

  const ElementAccesses& accesses_;
  std::vector<IndexForm> forms_;
  std::vector<IndexTerm> known_;
  std::unordered_set<const Object*> joined_;
};

}  // namespace

ElementAccesses accesses_inside(const Schedule& schedule, NodeId node) {
  ElementAccesses found;
  found.forms = IndexForms(ranges_around(schedule, schedule.at(node).parent));
  Collector collector(found);
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

bool has_zero_distance(const ElementAccesses& accesses, const ElementAccess& a,
                       const ElementAccess& b, const Var& var, std::int64_t step) {
  bool is_same = true;
  std::vector<IndexForm> forms;
  const auto is_var = [&](const IndexTerm& term) { return term.atom.get() == &var; };
  for (std::size_t d = 0; d < a.indices.size(); ++d) {
    if (!a.indices[d] || !b.indices[d]) {
      is_same = false;
      continue;
    }
    if (separates(accesses, *a.indices[d], *b.indices[d], step, is_var)) return true;
    is_same = is_same && same_form(*a.indices[d], *b.indices[d]);
    add_separated_digits(accesses, *a.indices[d], *b.indices[d], forms);
  }
  if (is_same) {
    forms.clear();
    for (const auto& index : a.indices) forms.push_back(*index);
  }
  return !forms.empty() && Determined(accesses, std::move(forms)).has(var);
}

}  // namespace loopsmith
