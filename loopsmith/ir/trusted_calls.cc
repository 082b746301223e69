// SPDX-License-Identifier: Apache-2.0
#include "loopsmith/ir/trusted_calls.h"

#include <algorithm>

#include "loopsmith/ir/packed_array.h"

namespace loopsmith {

std::string_view host_function_of(const Call& call) {
  const bool is_host = call.op == op("call_extern") || is_packed_call(call.op);
  const auto* name = is_host && !call.args.empty() ? call.args[0].as<StringImm>() : nullptr;
  return name ? std::string_view(name->value) : std::string_view();
}

std::vector<std::string_view> trusted_calls(const Block& block) {
  std::vector<std::string_view> names;
  const Ref listed = block.annotations.get(trusted_calls_key);
  const auto* list = listed.as<List>();
  if (!list) return names;
  for (const Ref& item : list->items) {
    if (const auto* name = item.as<StringImm>()) names.push_back(name->value);
  }
  return names;
}

bool is_trusted_call(const Block& block, const Call& call) {
  if (block.annotations.empty()) return false;
  const std::string_view name = host_function_of(call);
  const auto listed = trusted_calls(block);
  return !name.empty() && std::ranges::find(listed, name) != listed.end();
}

}  // namespace loopsmith
