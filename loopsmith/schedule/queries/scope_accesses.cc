// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/scope_accesses.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/analysis.h"
#include "loopsmith/schedule/queries/jumps.h"
#include "loopsmith/schedule/queries/plain_index.h"

namespace loopsmith {
namespace {

class ScopeCollector {
 public:
  ScopeCollector(const Schedule& schedule, ScopeAccesses& found)
      : schedule_(schedule), found_(found) {}

  void inside(NodeId node) {
    const Object& object = *schedule_.at(node).object;
    NodeId child = schedule_.at(node).first_child;
    const Stmt* part = nullptr;
    for (std::uint32_t slot = 0; (part = statement_in(object, slot)); ++slot) {
      if (child != no_node && schedule_.at(child).slot == slot) {
        const NodeId here = child;
        child = schedule_.at(child).next;
        deep_call([&] { visit(here); });
      } else if (part->defined()) {
        read(*part, {node, slot});
      }
    }
  }

 private:
  void visit(NodeId node) {
    const Object& object = *schedule_.at(node).object;
    if (object.kind == kind_of<BlockRealize>) {
      const auto& realize = static_cast<const BlockRealize&>(object);
      for (const Expr& value : realize.iter_values) read(value, {node});
      read(realize.predicate, {node});
      for (const auto& region : realize.block->reads) declare(*region, false, node);
      for (const auto& region : realize.block->writes) declare(*region, true, node);
      found_.has_jumps = found_.has_jumps || holds_jumps(realize.block->body);
      return;
    }
    // A pointer with a name leads to memory of another one, or to memory that is not known.
    const auto* let = schedule_.as<LetStmt>(node);
    found_.has_foreign_calls |= let && let->var->dtype.is_handle();
    if (object.kind != kind_of<SeqStmt>) {
      for_each_child(object, [&](const Ref& child, Role) {
        if (is_expr(*child.get())) read(child, {node});
      });
    }
    inside(node);
  }

  void declare(const BufferRegion& region, bool is_write, NodeId node) {
    found_.all.push_back({.buffer = region.buffer.get(),
                          .is_write = is_write,
                          .is_block = true,
                          .place = {node},
                          .region = &region});
  }

  void read(const Ref& ref, const Place& place) {
    if (is_plain_index(ref)) return;
    const auto add = [&](const auto& access, bool is_write) {
      found_.all.push_back({.buffer = access.buffer.get(),
                            .is_write = is_write,
                            .place = place,
                            .indices = &access.indices});
    };
    pre_order_visit(ref, [&](const Ref& node) {
      if (node.is<Break>() || node.is<Continue>() || node.is<Return>()) found_.has_jumps = true;
      if (const auto* store = node.as<BufferStore>())
        add(*store, true);
      else if (const auto* load = node.as<BufferLoad>())
        add(*load, false);
      else if (const auto* call = node.as<Call>()) {
        found_.has_foreign_calls = found_.has_foreign_calls || !call->op.is_pure();
      }
      return !is_plain_index(node);
    });
  }

  const Schedule& schedule_;
  ScopeAccesses& found_;
};

/// Adds what blocks with an init read without a declaration: what they update, where others write
/// it as well, and what these wrote is there when the init does not run.
void add_undeclared_reads(const Schedule& schedule, ScopeAccesses& found) {
  std::unordered_map<const Object*, std::unordered_set<NodeId>> writers;
  for (const BufferAccess& use : found.all) {
    if (use.is_write) writers[use.buffer->data.get()].insert(use.place.node);
  }
  std::vector<BufferAccess> all;
  all.reserve(found.all.size());
  for (const BufferAccess& use : found.all) {
    if (use.is_write && use.is_block && writers[use.buffer->data.get()].size() > 1 &&
        schedule.get(schedule.block_at(use.place.node)).init) {
      BufferAccess read = use;
      read.is_write = false;
      all.push_back(read);
    }
    all.push_back(use);
  }
  found.all = std::move(all);
}

bool has_views(const ScopeAccesses& found) {
  std::vector<const Buffer*> buffers;
  for (const BufferAccess& use : found.all) {
    const auto same = std::ranges::find_if(
        buffers, [&](const Buffer* each) { return each->data.same_as(use.buffer->data); });
    if (same == buffers.end()) {
      buffers.push_back(use.buffer);
    } else if (*same != use.buffer) {
      return true;
    }
  }
  return false;
}

void add_uses_by_views(ScopeAccesses& found) {
  if (!has_views(found)) return;
  std::unordered_map<const Object*, std::vector<Ptr<BufferRegion>>> by_memory;
  for (const BufferAccess& use : found.all) {
    std::vector<Ptr<BufferRegion>>& views = by_memory[use.buffer->data.get()];
    const auto is_it = [&](const auto& each) { return each->buffer.get() == use.buffer; };
    if (std::ranges::none_of(views, is_it)) views.push_back(whole_region(Ptr<Buffer>(use.buffer)));
  }
  const std::vector<BufferAccess> direct = found.all;
  for (const BufferAccess& use : direct) {
    for (const Ptr<BufferRegion>& view : by_memory[use.buffer->data.get()]) {
      if (view->buffer.get() == use.buffer) continue;
      BufferAccess other = use;
      other.buffer = view->buffer.get();
      other.by_view = true;
      other.region = view.get();
      other.indices = nullptr;
      found.all.push_back(other);
      found.whole.push_back(view);
    }
  }
}

/// True for a read by which a loop, a branch or a block finds out what to run.
bool is_decision(const BufferAccess& use) {
  return !use.is_write && !use.is_block && use.place.slot == no_node;
}

bool decides_on_writes(const ScopeAccesses& found) {
  return std::ranges::any_of(found.all, [&](const BufferAccess& decision) {
    return is_decision(decision) && std::ranges::any_of(found.all, [&](const BufferAccess& use) {
             return use.is_write && use.buffer->data.same_as(decision.buffer->data);
           });
  });
}

/// Where a place is among what is directly inside `ancestor`.
std::uint32_t slot_in(const Schedule& schedule, const Place& place, NodeId ancestor) {
  if (place.node == ancestor) return place.slot;
  return schedule.at(child_towards(schedule, place.node, ancestor)).slot;
}

}  // namespace

ScopeAccesses accesses_in_scope(const Schedule& schedule, NodeId scope) {
  ScopeAccesses found;
  ScopeCollector(schedule, found).inside(scope);
  for (NodeId node = scope; node != no_node; node = schedule.at(node).parent) {
    const auto* let = schedule.as<LetStmt>(node);
    found.has_foreign_calls |= let && let->var->dtype.is_handle();
  }
  add_undeclared_reads(schedule, found);
  found.decides_on_own_writes = decides_on_writes(found);
  add_uses_by_views(found);
  return found;
}

bool is_before(const Schedule& schedule, const Place& a, const Place& b) {
  const NodeId common = common_ancestor(schedule, a.node, b.node);
  const bool a_holds_b = a.node == common && a.slot == no_node;
  const bool b_holds_a = b.node == common && b.slot == no_node;
  return !a_holds_b && !b_holds_a && slot_in(schedule, a, common) < slot_in(schedule, b, common);
}

bool is_inside(const Schedule& schedule, const Place& place, NodeId ancestor) {
  return is_inside(schedule, place.node, ancestor);
}

}  // namespace loopsmith
