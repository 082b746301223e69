// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/queries/buffer_accesses.h"

#include <algorithm>
#include <utility>

#include "loopsmith/ir/trusted_calls.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/queries/loop_var_substitution.h"
#include "loopsmith/schedule/queries/plain_index.h"

namespace loopsmith {
namespace {

/// Visits what a block has itself, all but its body and the buffers that it defines.
template <class Realize, class Inside, class Visit>
void visit_own_parts(Realize& realize, Inside& block, const Visit& visit) {
  for (auto& value : realize.iter_values) visit(value);
  visit(realize.predicate);
  for (auto& axis : block.iter_vars) visit(axis);
  // What a region is may be said by indices that are read.
  for (auto& region : block.reads) visit(region);
  for (auto& region : block.writes) visit(region);
  for (auto& match : block.match_buffers) visit(match);
  if (block.init) visit(block.init);
}

class Finder {
 public:
  Finder(const Schedule& schedule, const Buffer& buffer) : schedule_(schedule), buffer_(buffer) {}

  void visit(NodeId node) {
    const TreeNode& place = schedule_.at(node);
    const Object& object = *place.object;
    found_ = false;
    look_at(object);
    NodeId child = place.first_child;
    const Stmt* inside = nullptr;
    for (std::uint32_t slot = 0; (inside = statement_in(object, slot)); ++slot) {
      if (child != no_node && schedule_.at(child).slot == slot) {
        child = schedule_.at(child).next;
      } else if (inside->defined()) {
        look_into(*inside);
      }
    }
    if (found_) uses.nodes.push_back(node);
    for (child = place.first_child; child != no_node; child = schedule_.at(child).next) {
      deep_call([&] { visit(child); });
    }
  }

  BufferAccesses uses;

 private:
  /// What belongs to the node itself.
  void look_at(const Object& object) {
    if (object.kind == kind_of<LetStmt>) look_at_pointer(static_cast<const LetStmt&>(object));
    if (object.kind == kind_of<SeqStmt> || object.kind == kind_of<PrimFunc>) return;
    if (object.kind == kind_of<BlockRealize>) {
      const auto& realize = static_cast<const BlockRealize&>(object);
      const Block& block = *realize.block;
      visit_own_parts(realize, block, [&](const auto& part) { look_into(part); });
      for (const auto& match : block.match_buffers) {
        uses.by_view |= match->source->buffer.get() == &buffer_;
      }
      return;
    }
    for (const FieldInfo& field : node_info(object).fields) {
      const auto look = [&](const Ref& ref) {
        if (ref.defined() && !is_stmt(*ref.get()) && !is_definition(field.role_of(ref))) {
          look_into(ref);
        }
      };
      if (field.type == FieldType::ref) look(field.ref(object));
      if (field.type == FieldType::refs) {
        for (const Ref& ref : field.refs(object)) look(ref);
      }
    }
  }

  void look_into(const Ptr<IterVar>& axis) { look_into(*axis->dom); }
  void look_into(const Ptr<BufferRegion>& region) {
    found_ |= region->buffer.get() == &buffer_;
    for (const auto& side : region->region) look_into(*side);
  }
  void look_into(const Range& range) {
    look_into(range.min);
    look_into(range.extent);
  }

  void look_into(const Ref& root) {
    if (is_plain_index(root)) return;
    pre_order_visit(root, [&](const Ref& ref) {
      if (ref.get() == &buffer_) found_ = true;
      const auto* load = ref.as<BufferLoad>();
      const auto* store = ref.as<BufferStore>();
      if (load && load->buffer.get() == &buffer_) look_at_indices(load->indices);
      if (store && store->buffer.get() == &buffer_) look_at_indices(store->indices);
      const auto* call = ref.as<Call>();
      if (call && !host_function_of(*call).empty()) look_at_addresses(*call);
      if (is_view_of(ref, buffer_)) found_ = uses.by_view = true;
      if (ref.same_as(buffer_.data)) found_ = uses.by_pointer = true;
      return !is_plain_index(ref);
    });
  }

  void look_at_addresses(const Call& call) {
    for (const Expr& argument : call.args) {
      const auto* address = argument.as<Call>();
      const bool is_one = address && address->op == op("address_of");
      const auto* element = is_one ? address->args[0].as<BufferLoad>() : nullptr;
      uses.by_callee |= element && element->buffer.get() == &buffer_;
    }
  }

  /// The address of an element, kept, leads to others.
  void look_at_pointer(const LetStmt& let) {
    if (!let.var->dtype.is_handle()) return;
    pre_order_visit(let.value, [&](const Ref& ref) {
      if (ref.get() == &buffer_) uses.by_pointer = true;
      return true;
    });
  }

  void look_at_indices(const std::vector<Expr>& indices) {
    if (!indices.empty() && !indices.back().dtype().is_scalar()) uses.by_vector = true;
  }

  const Schedule& schedule_;
  const Buffer& buffer_;
  bool found_ = false;
};

/// Applies a change to what a node has itself.
class Changer {
 public:
  Changer(Schedule& schedule, const AccessChange& change) : schedule_(schedule), change_(change) {
    rewrite_.on<BufferLoad>([&](const BufferLoad& load) -> Expr {
      const Ptr<BufferLoad> inside = rewrite_.children(load);
      if (!change_.reads || !inside->buffer.same_as(change_.from)) return inside;
      BufferLoad copy = *inside;
      copy.buffer = change_.to;
      if (change_.indices) copy.indices = change_.indices(copy.indices, known_);
      const Expr made = make(std::move(copy));
      return change_.loaded ? change_.loaded(made) : made;
    });
    rewrite_.on<BufferStore>([&](const BufferStore& store) -> Stmt {
      const Ptr<BufferStore> inside = rewrite_.children(store);
      if (!change_.writes || !inside->buffer.same_as(change_.from)) return inside;
      BufferStore copy = *inside;
      copy.buffer = change_.to;
      if (change_.indices) copy.indices = change_.indices(copy.indices, known_);
      if (change_.stored) copy.value = change_.stored(copy.value);
      return make(std::move(copy));
    });
    rewrite_.on<Prefetch>([&](const Prefetch& prefetch) -> Stmt {
      const Ptr<Prefetch> inside = rewrite_.children(prefetch);
      if (!change_.reads || !change_.writes || !inside->buffer.same_as(change_.from)) return inside;
      Prefetch copy = *inside;
      copy.buffer = change_.to;
      if (change_.region) copy.bounds = change_.region(copy.bounds, known_);
      return make(std::move(copy));
    });
    // Inside of an init, whose blocks are no nodes of the schedule.
    rewrite_.on<Block>([&](const Block& block) -> Ptr<Block> {
      Block copy = *rewrite_.children(block);
      change_regions(copy);
      return make(std::move(copy));
    });
    if (!change_.from->data.same_as(change_.to->data)) {
      rewrite_.on<Var>([&](const Var& var) -> Expr {
        const bool is_pointer = &var == change_.from->data.get();
        return is_pointer && change_.reads && change_.writes ? Expr(change_.to->data)
                                                             : Expr(Ptr<Var>(&var));
      });
    }
  }

  void apply(NodeId node) {
    known_ = known_inside(schedule_, node);
    rewrite_.forget();
    Object& object = schedule_.edit(node);
    if (object.kind == kind_of<BlockRealize>) {
      auto& realize = static_cast<BlockRealize&>(object);
      auto& block = const_cast<Block&>(*realize.block);
      visit_own_parts(realize, block, [&](auto& part) { part = rewrite_(part); });
      change_regions(block);
    } else if (object.kind != kind_of<SeqStmt>) {
      change_fields(object);
    }
    NodeId child = schedule_.at(node).first_child;
    Stmt* place = nullptr;
    for (std::uint32_t slot = 0; (place = const_cast<Stmt*>(statement_in(object, slot))) != nullptr;
         ++slot) {
      if (child != no_node && schedule_.at(child).slot == slot) {
        child = schedule_.at(child).next;
      } else if (place->defined()) {
        *place = rewrite_(*place);
      }
    }
  }

 private:
  void change_fields(Object& object) {
    for (const FieldInfo& field : node_info(object).fields) {
      const auto renew = [&](Ref& ref) {
        const Expr expr = Expr::from(ref);
        if (expr.defined() && !is_definition(field.role_of(ref))) ref = rewrite_(expr);
      };
      if (field.type == FieldType::ref) renew(field.ref(object));
      if (field.type == FieldType::refs) {
        for (Ref& ref : field.refs(object)) renew(ref);
      }
    }
  }

  void change_regions(Block& block) {
    if (change_.reads) change_regions(block.reads);
    if (!change_.writes) return;
    if (change_.from->shape.size() != change_.to->shape.size()) forget_alignment(block);
    change_regions(block.writes);
  }

  /// Drops what storage_align said of dimensions that the new buffer does not have.
  void forget_alignment(Block& block) {
    const Ref given = block.annotations.get(alignments_key);
    const auto* rows = given.as<List>();
    if (!rows) return;
    List left;
    for (const Ref& row : rows->items) {
      const auto* numbers = row.as<List>();
      const Expr first =
          numbers && !numbers->items.empty() ? Expr::from(numbers->items[0]) : Expr();
      const std::int64_t* index = first.defined() ? as_int(first) : nullptr;
      const bool is_of_it = index && *index >= 0 && std::cmp_less(*index, block.writes.size()) &&
                            block.writes[*index]->buffer.same_as(change_.from);
      if (!is_of_it) left.items.push_back(row);
    }
    const Ref kept = left.items.empty() ? Ref() : Ref(make(std::move(left)));
    block.annotations = block.annotations.with(alignments_key, kept);
  }

  void change_regions(std::vector<Ptr<BufferRegion>>& regions) {
    for (auto& region : regions) {
      if (!region->buffer.same_as(change_.from)) continue;
      BufferRegion copy = *region;
      copy.buffer = change_.to;
      if (change_.region) copy.region = change_.region(copy.region, known_);
      region = make(std::move(copy));
    }
  }

  Schedule& schedule_;
  const AccessChange& change_;
  IndexForms known_;
  Rewriter rewrite_;
};

}  // namespace

bool is_view_of(const Ref& ref, const Buffer& buffer) {
  const auto* other = ref.as<Buffer>();
  return other && other != &buffer && other->data.same_as(buffer.data);
}

BufferAccesses uses_of(const Schedule& schedule, NodeId node, const Ptr<Buffer>& buffer) {
  Finder finder(schedule, *buffer);
  finder.visit(node);
  return std::move(finder.uses);
}

void change_accesses(Schedule& schedule, const BufferAccesses& uses, const AccessChange& change) {
  Changer changer(schedule, change);
  for (const NodeId node : uses.nodes) changer.apply(node);
}

NodeId owner_of(const Schedule& schedule, NodeId node, const Ptr<Buffer>& buffer) {
  const auto is_this = [&](const Ptr<Buffer>& other) { return other.same_as(buffer); };
  for (; node != no_node; node = schedule.at(node).parent) {
    if (const auto* realize = schedule.as<BlockRealize>(node)) {
      if (std::ranges::any_of(realize->block->alloc_buffers, is_this)) return node;
    } else if (const auto* func = schedule.as<PrimFunc>(node)) {
      if (std::ranges::any_of(func->buffer_map, is_this)) return node;
    }
  }
  return no_node;
}

std::vector<DefinedBuffer> buffers_of(const Schedule& schedule, std::uint32_t function) {
  const NodeId root = schedule.root(function);
  std::vector<DefinedBuffer> found;
  for (const Ptr<Buffer>& buffer : schedule.as<PrimFunc>(root)->buffer_map) {
    if (buffer.defined()) found.push_back({root, buffer});
  }
  std::vector<NodeId> nodes{root};
  while (!nodes.empty()) {
    const NodeId node = nodes.back();
    nodes.pop_back();
    if (const auto* realize = schedule.as<BlockRealize>(node)) {
      for (const Ptr<Buffer>& buffer : realize->block->alloc_buffers) {
        found.push_back({node, buffer});
      }
    }
    const std::size_t first = nodes.size();
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      nodes.push_back(child);
    }
    std::reverse(nodes.begin() + static_cast<std::ptrdiff_t>(first), nodes.end());
  }
  return found;
}

void replace_definition(Schedule& schedule, NodeId owner, const Ptr<Buffer>& from,
                        const Ptr<Buffer>& to) {
  Object& object = schedule.edit(owner);
  const auto is_function = object.kind == kind_of<PrimFunc>;
  auto& buffers = is_function
                      ? static_cast<PrimFunc&>(object).buffer_map
                      : const_cast<Block&>(*static_cast<BlockRealize&>(object).block).alloc_buffers;
  std::ranges::replace_if(
      buffers, [&](const Ptr<Buffer>& other) { return other.same_as(from); }, to);
}

IndexForms known_inside(const Schedule& schedule, NodeId node) {
  std::vector<VarRange> ranges = ranges_around(schedule, node);
  for (NodeId above = node; above != no_node; above = schedule.at(above).parent) {
    const auto* realize = schedule.as<BlockRealize>(above);
    if (!realize) continue;
    for (const auto& axis : realize->block->iter_vars) {
      const std::int64_t* min = as_int(axis->dom->min);
      const std::int64_t* extent = as_int(axis->dom->extent);
      if (!min || !extent || *extent < 1) continue;
      ranges.push_back({axis->var.get(), *min, *min + *extent - 1});
    }
  }
  return IndexForms(std::move(ranges));
}

Ptr<Buffer> buffer_like(const Buffer& buffer, std::string name, std::string_view scope) {
  return decl_buffer(buffer.shape, buffer.dtype, std::move(name), std::string(scope));
}

}  // namespace loopsmith
