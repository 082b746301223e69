// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/schedule/primitives/redefine_buffer.h"

#include <algorithm>

#include "loopsmith/ir/find_data_type.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"
#include "loopsmith/schedule/rewrites/pointer_uses.h"

namespace loopsmith {
namespace {

/// The other buffers that are declared on the memory of one.
std::vector<Ptr<Buffer>> aliases_of(const Schedule& schedule, NodeId owner, const Buffer& buffer) {
  std::vector<Ptr<Buffer>> found;
  const Ref root = schedule.as<PrimFunc>(owner) ? Ref(schedule.as<PrimFunc>(owner))
                                                : Ref(schedule.statement(owner));
  pre_order_visit(root, [&](const Ref& ref) {
    const auto* other = ref.as<Buffer>();
    const bool is_alias = other && other != &buffer && other->data.same_as(buffer.data);
    const auto is_it = [&](const Ptr<Buffer>& known) { return known.get() == other; };
    if (is_alias && std::ranges::none_of(found, is_it)) found.emplace_back(other);
    return true;
  });
  return found;
}

/// The buffer, its owner and its uses; `to` is left to the caller.
std::variant<RedefinePlan, Refusal> redefinition(const Schedule& schedule, BlockRV block,
                                                 const BufferSelector& selector,
                                                 bool allows_parameters) {
  const auto selected = select_buffer(schedule.get(block), selector, BufferSelector::Side::write);
  if (!selected || (!selected->is_write && !allows_parameters)) {
    return Refusal{&block_has_the_buffer, {Argument(block), Argument("writes")}};
  }
  RedefinePlan plan{.from = selected->buffer};
  plan.owner = owner_of(schedule, schedule.node(block), plan.from);
  const bool is_parameter = plan.owner != no_node && schedule.as<PrimFunc>(plan.owner);
  if (plan.owner == no_node || (is_parameter && !allows_parameters)) {
    return Refusal{&buffer_is_allocated, {Argument(Ref(plan.from))}};
  }
  plan.uses = uses_of(schedule, plan.owner, plan.from);
  // Where elements are does not change with the physical axes of one buffer.
  if (allows_parameters) return plan;
  if (plan.uses.by_view) plan.aliases = aliases_of(schedule, plan.owner, *plan.from);
  // Conversions are those of one buffer.
  const auto is_another = [&](const Ptr<Buffer>& alias) {
    return alias->dtype != plan.from->dtype;
  };
  if (std::ranges::any_of(plan.aliases, is_another)) {
    return Refusal{&buffer_has_no_views, {Argument(Ref(plan.from))}};
  }
  return plan;
}

/// Declares `to` where `from` is declared inside a node.
void redeclare(Schedule& schedule, NodeId root, const Ptr<Buffer>& from, const Ptr<Buffer>& to) {
  std::vector<NodeId> open = {root};
  while (!open.empty()) {
    const NodeId node = open.back();
    open.pop_back();
    const auto* declared = schedule.as<DeclBuffer>(node);
    if (declared && declared->buffer.same_as(from)) {
      static_cast<DeclBuffer&>(schedule.edit(node)).buffer = to;
    }
    for (NodeId child = schedule.at(node).first_child; child != no_node;
         child = schedule.at(child).next) {
      open.push_back(child);
    }
  }
}

/// Lemma. All buffers on the memory move to the new one, each with its shape and offset in elements
/// of one type: so those elements that were one stay one, and each is kept as all others are.
void redefine(Schedule& schedule, const RedefinePlan& plan, const Ptr<Buffer>& to,
              const AccessChange& change) {
  for (const Ptr<Buffer>& alias : plan.aliases) {
    Buffer moved = *alias;
    moved.data = to->data;
    moved.dtype = to->dtype;
    const Ptr<Buffer> view = make(std::move(moved));
    change_with_views(schedule, uses_of(schedule, plan.owner, alias), change, alias, view);
    redeclare(schedule, plan.owner, alias, view);
  }
  change_with_views(schedule, plan.uses, change, plan.from, to);
  replace_definition(schedule, plan.owner, plan.from, to);
}

}  // namespace

Planned<RedefinePlan> plan_set_scope(const Schedule& schedule, const SetScopeArguments& arguments) {
  auto found = redefinition(schedule, arguments.block, arguments.buffer_index, false);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  auto& plan = std::get<RedefinePlan>(found);
  if (!is_storage_scope(arguments.storage_scope)) {
    return Refusal{&storage_scope_is_known, {Argument(arguments.storage_scope)}};
  }
  if (plan.from->scope() != arguments.storage_scope) {
    plan.to =
        make(with_pointer(*plan.from, plan.from->name, plan.from->dtype, arguments.storage_scope));
  }
  return std::move(plan);
}

Planned<RedefinePlan> plan_unsafe_set_dtype(const Schedule& schedule,
                                            const UnsafeSetDtypeArguments& arguments) {
  auto found = redefinition(schedule, arguments.block, arguments.buffer_index, false);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  auto& plan = std::get<RedefinePlan>(found);
  if (plan.uses.by_pointer) {
    return Refusal{&buffer_is_used_by_index, {Argument(Ref(plan.from))}};
  }
  const auto dtype = find_data_type(arguments.dtype);
  if (!dtype || dtype->is_void() || dtype->is_handle() || !dtype->is_scalar()) {
    return Refusal{&dtype_is_known, {Argument(arguments.dtype)}};
  }
  if (plan.from->dtype != *dtype) {
    plan.to = make(with_pointer(*plan.from, plan.from->name, *dtype, plan.from->scope()));
  }
  return std::move(plan);
}

Planned<RedefinePlan> plan_set_axis_separator(const Schedule& schedule,
                                              const SetAxisSeparatorArguments& arguments) {
  auto found = redefinition(schedule, arguments.block, arguments.buffer, true);
  if (auto* refusal = std::get_if<Refusal>(&found)) return std::move(*refusal);
  auto& plan = std::get<RedefinePlan>(found);
  const auto& separators = arguments.axis_separators;
  const auto rank = static_cast<std::int64_t>(plan.from->shape.size());
  const bool is_ordered =
      std::ranges::adjacent_find(separators, std::ranges::greater_equal()) == separators.end();
  if (!is_ordered ||
      (!separators.empty() && (separators.front() < 0 || separators.back() > rank))) {
    return Refusal{&separators_fit,
                   {Argument(Ref(plan.from)), Argument(rank), to_argument(separators)}};
  }
  if (plan.from->axis_separators != separators) {
    Buffer copy = *plan.from;
    copy.axis_separators = separators;
    plan.to = make(std::move(copy));
  }
  return std::move(plan);
}

Nothing commit_set_scope(Schedule& schedule, RedefinePlan&& plan) {
  if (!plan.to) return {};
  std::string name = fmt::format("{}_{}", plan.from->name, plan.to->scope());
  std::ranges::replace(name, '.', '_');
  const std::uint32_t function = schedule.function_of(plan.owner);
  const Ptr<Buffer> to = make(with_pointer(*plan.to, schedule.fresh_buffer_name(function, name),
                                           plan.to->dtype, plan.to->scope()));
  redefine(schedule, plan, to, {});
  return {};
}

Nothing commit_unsafe_set_dtype(Schedule& schedule, RedefinePlan&& plan) {
  if (!plan.to) return {};
  const DataType before = plan.from->dtype;
  const DataType after = plan.to->dtype;
  redefine(schedule, plan, plan.to,
           {.loaded = [before](const Expr& load) { return cast(before, load); },
            .stored = [after](const Expr& value) { return cast(after, value); }});
  return {};
}

Nothing commit_set_axis_separator(Schedule& schedule, RedefinePlan&& plan) {
  if (plan.to) redefine(schedule, plan, plan.to, {});
  return {};
}

}  // namespace loopsmith
