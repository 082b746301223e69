// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/regroups.h"

#include <algorithm>

#include "loopsmith/ir/operators.h"
#include "loopsmith/ir/thread_axis.h"
#include "loopsmith/ir/walk.h"

namespace loopsmith {

std::optional<std::vector<std::string>> regrouped_names(const For& loop) {
  const Ref value = loop.annotations.get(regroups_key);
  const auto* list = value.as<List>();
  if (!list) return {};
  std::vector<std::string> names;
  for (const Ref& item : list->items) {
    if (const auto* name = item.as<StringImm>()) names.push_back(name->value);
  }
  return names;
}

For with_regrouped(For loop, const std::vector<std::string>& names) {
  List list;
  for (const std::string& name : names) list.items.push_back(make(StringImm{.value = name}));
  loop.annotations = loop.annotations.with(regroups_key, make(std::move(list)));
  return loop;
}

bool is_annotated(const For& loop) {
  const std::size_t records = loop.annotations.contains(regroups_key) ? 1 : 0;
  return loop.annotations.size() > records;
}

std::vector<Ptr<Buffer>> regrouped_buffers(const For& loop) {
  const auto names = regrouped_names(loop);
  if (!names || names->empty()) return {};
  std::vector<Ptr<Buffer>> found;
  std::vector<Ptr<Var>> own;
  pre_order_visit(loop.body, [&](const Ref& ref) {
    if (const auto* allocate = ref.as<Allocate>()) own.push_back(allocate->buffer_var);
    if (const auto* block = ref.as<Block>()) {
      for (const Ptr<Buffer>& buffer : block->alloc_buffers) own.push_back(buffer->data);
    }
    const auto* store = ref.as<BufferStore>();
    const auto is_it = [&](const auto& each) { return each.same_as(store->buffer); };
    if (store && std::ranges::find(*names, store->buffer->name) != names->end() &&
        std::ranges::none_of(found, is_it)) {
      found.push_back(store->buffer);
    }
    return !is_expr(*ref.get());
  });
  std::erase_if(found, [&](const Ptr<Buffer>& buffer) {
    return std::ranges::any_of(own, [&](const auto& data) { return data.same_as(buffer->data); });
  });
  return found;
}

bool runs_in_threads(const For& loop) {
  if (loop.kind != ForKind::thread_binding) return loop.kind == ForKind::parallel;
  return thread_axis_of(loop) != ThreadAxis::virtual_thread;
}

}  // namespace loopsmith
