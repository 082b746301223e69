// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/transform/shared_accesses.h"

#include <algorithm>

#include "loopsmith/ir/memory_scope.h"
#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {
namespace {

class AccessReader {
 public:
  std::optional<std::vector<SharedAccess>> read(const Stmt& nest) && {
    look(nest);
    return is_by_elements_ ? std::optional(std::move(found_)) : std::nullopt;
  }

 private:
  void look(const Ref& node) {
    deep_call([&] { look_inside(node); });
  }

  void look_inside(const Ref& node) {
    if (const auto* loop = node.as<For>()) {
      for (const Expr& end : {loop->min, loop->extent, loop->step}) look(end);
      around_.loops.emplace_back(loop);
      look(loop->body);
      around_.loops.pop_back();
    } else if (const auto* branch = node.as<IfThenElse>()) {
      look(branch->condition);
      look_where(branch->condition, branch->then_case);
      if (branch->else_case) look_where(!branch->condition, branch->else_case);
    } else if (const auto* store = node.as<BufferStore>()) {
      add(store->buffer, store->indices, true);
      look_at_children(node);
    } else if (const auto* load = node.as<BufferLoad>()) {
      add(load->buffer, load->indices, false);
      look_at_children(node);
    } else {
      const auto* call = node.as<Call>();
      // What is reached from an address is not known.
      if (call && call->op == op("address_of")) is_by_elements_ = false;
      const bool is_choice = node.is<While>() || node.is<Select>() || node.is<And>() ||
                             node.is<Or>() || (call && call->op == op("if_then_else"));
      const bool was_certain = around_.is_certain;
      around_.is_certain = was_certain && !is_choice;
      look_at_children(node);
      around_.is_certain = was_certain;
    }
  }

  void look_at_children(const Ref& node) {
    for_each_child(*node.get(), [&](const Ref& child, Role) {
      if (!child.is<Buffer>()) look(child);
    });
  }

  void look_where(const Expr& condition, const Stmt& body) {
    around_.conditions.push_back(condition);
    look(body);
    around_.conditions.pop_back();
  }

  void add(const Ptr<Buffer>& buffer, const std::vector<Expr>& indices, bool is_write) {
    if (is_of_each_thread(memory_scope(*buffer))) return;
    is_by_elements_ = is_by_elements_ && std::ranges::all_of(indices, [](const Expr& index) {
                        return index.dtype().is_scalar();
                      });
    SharedAccess access = around_;
    access.buffer = buffer;
    access.indices = indices;
    access.is_write = is_write;
    found_.push_back(std::move(access));
  }

  SharedAccess around_;  ///< Of the place that is looked at.
  std::vector<SharedAccess> found_;
  bool is_by_elements_ = true;
};

}  // namespace

std::optional<std::vector<SharedAccess>> shared_accesses(const Stmt& nest) {
  return AccessReader().read(nest);
}

std::optional<bool> has_elements_apart(const Buffer& buffer) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;
  for (std::size_t d = 0; d < buffer.strides.size(); ++d) {
    const std::int64_t *stride = as_int(buffer.strides[d]), *extent = as_int(buffer.shape[d]);
    if (!stride || !extent) return {};
    if (*extent > 1) dimensions.emplace_back(*stride, *extent);
  }
  std::ranges::sort(dimensions);
  std::int64_t reach = 0;  // How far apart elements are that those before lead to.
  for (const auto& [stride, extent] : dimensions) {
    std::int64_t length = 0;
    if (stride <= reach || __builtin_mul_overflow(stride, extent - 1, &length) ||
        __builtin_add_overflow(reach, length, &reach)) {
      return false;
    }
  }
  return true;
}

}  // namespace loopsmith
