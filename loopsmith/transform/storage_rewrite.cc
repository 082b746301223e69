// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/storage_rewrite.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/structural.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/transform/loops.h"

namespace loopsmith {
namespace {

/// Memory up to this size stays its own.
constexpr std::int64_t max_register_bytes = 512;
/// Sizes that differ by more than this factor do not share.
constexpr std::int64_t max_waste = 16;

/// The statements of a sequence between which memory is needed.
struct Life {
  const Allocate* allocate = nullptr;
  std::size_t sequence = 0;  ///< Which sequence it is allocated around.
  std::size_t place = 0;     ///< Among all allocations, from the outside in.
  std::size_t first = std::numeric_limits<std::size_t>::max();
  std::size_t last = 0;
  bool is_shared = true;  ///< May be, for all that is known.
};

/// The lives of all allocations that stand right around a sequence.
class Lives {
 public:
  explicit Lives(const Stmt& body) { visit(body); }
  std::vector<Life> all;

 private:
  void visit(const Ref& ref);
  void visit_sequence(const Stmt& stmt);
  void use(const Ref& pointer, bool is_opaque) {
    const auto found = by_pointer_.find(pointer);
    if (found == by_pointer_.end()) return;
    Life& life = all[found->second];
    const std::size_t now = positions_[life.sequence];
    life.first = std::min(life.first, now);
    life.last = std::max(life.last, now);
    if (is_opaque) life.is_shared = false;
  }

  std::unordered_map<Ref, std::size_t, RefHash, RefEqual> by_pointer_;
  std::vector<std::size_t> positions_;  // Where the walk is in each sequence.
};

/// The allocations around a sequence, then its statements one by one.
void Lives::visit_sequence(const Stmt& stmt) {
  const std::size_t sequence = positions_.size();
  positions_.push_back(0);
  Stmt inner = stmt;
  while (true) {
    if (const auto* allocate = inner.as<Allocate>()) {
      for (const Expr& extent : allocate->extents) visit(extent);
      by_pointer_[allocate->buffer_var] = all.size();
      // Between the uses of two buffers that became one, threads would have to wait.
      all.push_back({.allocate = allocate,
                     .sequence = sequence,
                     .place = all.size(),
                     .is_shared = !is_shared_by_threads(memory_scope(*allocate->buffer_var))});
      inner = allocate->body;
    } else if (const auto* decl = inner.as<DeclBuffer>()) {
      inner = decl->body;
    } else {
      break;
    }
  }
  const auto* seq = inner.as<SeqStmt>();
  if (!seq) return visit(inner);
  for (std::size_t i = 0; i < seq->seq.size(); ++i) {
    positions_[sequence] = i;
    visit(seq->seq[i]);
  }
}

void Lives::visit(const Ref& ref) {
  deep_call([&] {
    if (const Expr expr = Expr::from(ref); expr.defined()) {
      return pre_order_visit(expr, [&](const Ref& part) {
        if (part.is<Var>()) use(part, true);
        if (const auto* load = part.as<BufferLoad>()) use(load->buffer->data, false);
        return true;
      });
    }
    if (ref.is<Allocate>()) return visit_sequence(Stmt::from(ref));
    if (const auto* store = ref.as<BufferStore>()) use(store->buffer->data, false);
    for_each_child(*ref.get(), [&](const Ref& child, Role role) {
      if (role != Role::binds && !child.is<Buffer>()) visit(child);
    });
  });
}

std::int64_t constant_size(const Allocate& allocate) {
  const std::int64_t* extent = allocate.extents.size() == 1 ? as_int(allocate.extents[0]) : nullptr;
  return extent ? *extent : -1;
}

/// True when `next` may take over the memory of `old`, of which `size` elements are there.
bool can_take_over(const Life& next, const Life& old, std::int64_t size) {
  const Allocate &a = *next.allocate, &b = *old.allocate;
  if (a.dtype != b.dtype || !structural_equal(a.buffer_var->pointer, b.buffer_var->pointer)) {
    return false;
  }
  if (!a.annotations.empty() || !b.annotations.empty()) return false;
  const std::int64_t needed = constant_size(a);
  if (needed >= 0 && size >= 0) {
    return needed <= size * max_waste && size <= needed * max_waste;
  }
  return a.extents.size() == 1 && b.extents.size() == 1 &&
         structural_equal(a.extents[0], b.extents[0]);
}

/// Memory that is there, and until when it is needed.
struct Slot {
  const Life* owner;
  std::size_t free_after;
  std::int64_t size;  ///< In elements; -1: symbolic.
};

struct Plan {
  std::unordered_map<Ref, Ptr<Var>, RefHash, RefEqual> moved;  ///< Pointers, to those they become.
  std::unordered_map<Ref, std::int64_t, RefHash, RefEqual> sizes;  ///< Of those that grow.
};

Plan plan_sharing(std::vector<Life> lives) {
  Plan plan;
  std::stable_sort(lives.begin(), lives.end(), [](const Life& a, const Life& b) {
    return std::pair(a.sequence, a.first) < std::pair(b.sequence, b.first);
  });
  std::vector<Slot> slots;
  std::size_t sequence = std::numeric_limits<std::size_t>::max();
  for (const Life& life : lives) {
    if (life.sequence != sequence) slots.clear();
    sequence = life.sequence;
    const std::int64_t size = constant_size(*life.allocate);
    const bool is_small = size >= 0 && size * life.allocate->dtype.bytes() <= max_register_bytes;
    if (!life.is_shared || is_small || life.first > life.last) continue;
    const auto slot = std::ranges::find_if(slots, [&](const Slot& s) {
      // What takes over is declared where it was allocated: inside the owner.
      return s.free_after < life.first && s.owner->place < life.place &&
             can_take_over(life, *s.owner, s.size);
    });
    if (slot == slots.end()) {
      slots.push_back({.owner = &life, .free_after = life.last, .size = size});
      continue;
    }
    plan.moved[life.allocate->buffer_var] = slot->owner->allocate->buffer_var;
    slot->free_after = life.last;
    if (size > slot->size) {
      slot->size = size;
      plan.sizes[slot->owner->allocate->buffer_var] = size;
    }
  }
  return plan;
}

}  // namespace

Ptr<PrimFunc> storage_rewrite(const Ptr<PrimFunc>& func) {
  if (!contains<Allocate>(func->body)) return func;
  const Plan plan = plan_sharing(Lives(func->body).all);
  if (plan.moved.empty()) return func;

  Rewriter rewrite;
  rewrite.on<Allocate>([&](const Allocate& node) -> Stmt {
    if (plan.moved.contains(node.buffer_var)) return rewrite(node.body);
    const auto size = plan.sizes.find(node.buffer_var);
    if (size == plan.sizes.end()) return rewrite.children(node);
    Allocate copy = node;
    copy.extents = {int_imm(copy.extents[0].dtype(), size->second)};
    return rewrite.children(*make(std::move(copy)));
  });
  rewrite.on<DeclBuffer>([&](const DeclBuffer& node) -> Stmt {
    const auto moved = plan.moved.find(node.buffer->data);
    if (moved == plan.moved.end()) return rewrite.children(node);
    Buffer copy = *node.buffer;
    copy.data = moved->second;
    const Ptr<Buffer> buffer = make(std::move(copy));
    rewrite.replace_buffer(node.buffer, buffer);
    return make(DeclBuffer{.buffer = buffer, .body = rewrite(node.body)});
  });
  return rewrite.body_of(func);
}

}  // namespace loopsmith
